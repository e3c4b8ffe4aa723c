/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abusive connections: each gets an error or is closed, its memory is bounded, and other clients
 * are served meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/server.h"
#include "lib/grpc/testkit.h"
#include "lib/h2/h2.h"

#define DATA 0
#define HEADERS 1
#define PRIORITY 2
#define RST_STREAM 3
#define SETTINGS 4
#define PING 6
#define WINDOW_UPDATE 8
#define CONTINUATION 9
#define END_STREAM 1
#define END_HEADERS 4
#define ECHO_PATH "/grpc_test.Test/Echo"
#define HANG_PATH "/grpc_test.Test/Hang"

static const struct grpc_server_config plain;

static struct raw *greeted(struct kit *kit)
{
	struct raw *r = raw_new(kit);

	raw_preface(r);
	return r;
}

static void check_others_are_served(struct kit *kit)
{
	struct heard h = { 0 };

	kit_call(kit, &h, &kit_echo, "fine", 0, 0);
	kit_wait_done(kit, &h);
	assert_int_equal(h.status, GRPC_OK);
}

/* Waits until the connection is closed; returns the error of its GOAWAY. */
static int wait_goaway(struct raw *r)
{
	int error;

	raw_wait_close(r);
	error = raw_goaway(r);
	check_others_are_served(r->kit);
	raw_free(r);
	return error;
}

static void what_is_not_http2_is_closed(void **state)
{
	static const struct str rows[] = {
		STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"),
		STR("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03........"),
		STR("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	};
	struct kit kit;

	kit_start(&kit, plain);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raw *r = raw_new(&kit);

		raw_send(r, rows[i].p, rows[i].n);
		raw_wait_close(r);
		raw_free(r);
	}
	check_others_are_served(&kit);
	assert_int_equal(grpc_server_stats(kit.server)->protocol_errors, ARRAY_SIZE(rows));
	kit_stop(&kit);
}

static void a_first_frame_that_is_not_settings_is_an_error(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, plain);
	r = raw_new(&kit);
	raw_send(r, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	raw_frame(r, PING, 0, 0, STR("12345678"));
	assert_int_equal(wait_goaway(r), H2_PROTOCOL_ERROR);
	kit_stop(&kit);
}

static void frames_against_the_protocol_end_the_connection(void **state)
{
	static const struct {
		unsigned type, flags;
		uint32_t stream;
		struct str payload;
		int error;
	} rows[] = {
		{ DATA, 0, 0, STR("x"), H2_PROTOCOL_ERROR },
		{ DATA, 0, 1, STR("x"), H2_PROTOCOL_ERROR }, /* no such stream */
		{ HEADERS, END_HEADERS, 2, STR("\x83\x86"), H2_PROTOCOL_ERROR }, /* the server's */
		{ HEADERS, END_HEADERS, 1, STR("\xff\xff\xff\xff\xff"), 9 }, /* COMPRESSION_ERROR */
		{ RST_STREAM, 0, 1, STR("\0\0\0\0"), H2_PROTOCOL_ERROR },
		{ RST_STREAM, 0, 1, STR("\0"), 6 }, /* FRAME_SIZE_ERROR */
		{ SETTINGS, 0, 0, STR("\0"), 6 },
		{ SETTINGS, 0, 0, STR("\0\4\xff\xff\xff\xff"), 3 }, /* FLOW_CONTROL_ERROR */
		{ PING, 0, 0, STR("1"), 6 },
		{ WINDOW_UPDATE, 0, 0, STR("\0\0\0\0"), H2_PROTOCOL_ERROR },
		{ WINDOW_UPDATE, 0, 0, STR("\x7f\xff\xff\xff"), 3 },
		{ CONTINUATION, END_HEADERS, 1, STR(""), H2_PROTOCOL_ERROR },
	};
	struct kit kit;

	kit_start(&kit, plain);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raw *r = greeted(&kit);

		raw_frame(r, rows[i].type, rows[i].flags, rows[i].stream, rows[i].payload);
		assert_int_equal(wait_goaway(r), rows[i].error);
	}
	kit_stop(&kit);
}

static void a_frame_that_is_too_long_is_refused(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, plain);
	r = greeted(&kit);
	raw_send(r, "\xff\xff\xff\0\0\0\0\0\1", 9);
	assert_int_equal(wait_goaway(r), 6);
	kit_stop(&kit);
}

/* A field of 3000 bytes that is repeated with one byte each (HPACK bomb). */
static void add_bomb(struct buf *block, int times)
{
	buf_add_lit(block, "\x40\x01x\x7f"); /* literal, to be indexed */
	buf_add_lit(block, "\xb9\x16");	     /* 127 + 57 + 22 * 128 = 3000 */
	for (int i = 0; i < 3000; i++)
		buf_addc(block, 'x');
	for (int i = 0; i < times; i++)
		buf_addc(block, '\xbe');
}

static void headers_over_the_limit_reset_their_stream(void **state)
{
	struct buf block = { 0 };
	struct kit kit;
	struct raw *r;

	kit_start(&kit, plain);
	r = greeted(&kit);
	add_bomb(&block, 10);
	raw_request(r, 1, ECHO_PATH, (struct str){ block.p, block.n }, true);
	while (!raw_count(r, RST_STREAM, 1, NULL))
		ev_run(kit.loop, EVRUN_ONCE);
	assert_int_equal(kit.handled, 0);
	assert_int_equal(kit.traced_status, GRPC_CANCELLED);
	/* the connection goes on */
	raw_request(r, 3, ECHO_PATH, STR(""), false);
	raw_frame(r, DATA, END_STREAM, 3, STR("\0\0\0\0\0"));
	kit_wait_int(&kit, &kit.handled, 1);
	raw_free(r);
	buf_free(&block);
	check_others_are_served(&kit);
	kit_stop(&kit);
}

/* HPACK must decode refused headers as well, so too many of them end the connection. */
static void a_header_bomb_ends_the_connection(void **state)
{
	struct buf block = { 0 };
	struct kit kit;
	struct raw *r;

	kit_start(&kit, plain);
	r = greeted(&kit);
	add_bomb(&block, 10000);
	raw_request(r, 1, ECHO_PATH, (struct str){ block.p, block.n }, true);
	assert_int_equal(wait_goaway(r), H2_ENHANCE_YOUR_CALM);
	buf_free(&block);
	kit_stop(&kit);
}

static void a_continuation_flood_ends_the_connection(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, plain);
	r = greeted(&kit);
	raw_frame(r, HEADERS, 0, 1, STR("\x83\x86"));
	for (int i = 0; i < 1000 && raw_frame(r, CONTINUATION, 0, 1, STR("")); i++)
		;
	raw_wait_close(r);
	raw_free(r);
	check_others_are_served(&kit);
	kit_stop(&kit);
}

/* With any error code: NO_ERROR before the response counts as a reset as well. */
static void rapid_resets_end_the_connection(void **state)
{
	static const struct str words[] = { STR("\0\0\0\x8"), STR("\0\0\0\0") };
	struct kit kit;

	kit_start(&kit, plain);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct raw *r = greeted(&kit);
		uint32_t id = 1;

		while (id < 10000 && raw_request(r, id, HANG_PATH, STR(""), false) &&
		       raw_frame(r, RST_STREAM, 0, id, words[i]))
			id += 2;
		assert_in_range(id, 1000, 5000); /* 500 streams, and what was under way */
		assert_int_equal(wait_goaway(r), H2_ENHANCE_YOUR_CALM);
		assert_int_equal(grpc_server_stats(kit.server)->calls, 0);
	}
	kit_stop(&kit);
}

/* The same with resets by the server, which the client provokes by overflowing a window. */
static void resets_that_we_are_made_to_send_count_as_well(void **state)
{
	struct kit kit;
	struct raw *r;
	uint32_t id = 1;

	kit_start(&kit, plain);
	r = greeted(&kit);
	while (raw_request(r, id, HANG_PATH, STR(""), false) &&
	       raw_frame(r, WINDOW_UPDATE, 0, id, STR("\x7f\xff\xff\xff")))
		id += 2;
	assert_in_range(id, 1000, 5000);
	assert_int_equal(wait_goaway(r), H2_ENHANCE_YOUR_CALM);
	kit_stop(&kit);
}

static void floods_of_idle_frames_end_the_connection(void **state)
{
	static const struct {
		unsigned type;
		uint32_t stream;
		struct str payload;
	} rows[] = {
		{ SETTINGS, 0, STR("") },
		{ PING, 0, STR("12345678") },
		{ PRIORITY, 3, STR("\0\0\0\1\0") },
	};
	struct kit kit;

	kit_start(&kit, plain);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raw *r = greeted(&kit);
		int n = 0;

		while (raw_frame(r, rows[i].type, 0, rows[i].stream, rows[i].payload))
			n++;
		assert_in_range(n, 1000, 25000);
		assert_int_equal(wait_goaway(r), H2_ENHANCE_YOUR_CALM);
	}
	kit_stop(&kit);
}

/* A client that sends requests and never reads is closed, or no longer read from. */
static void answers_that_are_not_taken_are_bounded(void **state)
{
	struct kit kit;
	struct raw *r;
	int n = 0;

	kit_start(&kit, plain);
	r = greeted(&kit);
	ev_io_stop(kit.loop, &r->io);
	for (int turns = 0; turns < 1000 && n < 200000; n++) {
		char frame[17] = "\0\0\x8\6\0\0\0\0\0"
				 "12345678";
		ssize_t sent = send(r->fd, frame, sizeof(frame), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			turns++;
		if (sent < 0 || n % 100 == 0)
			kit_turn(&kit);
	}
	check_others_are_served(&kit);
	raw_free(r);
	kit_stop(&kit);
}

/* A call of Echo with 12,000 bytes, which are sent back. */
static void ask_for_much(struct raw *r, uint32_t stream)
{
	struct buf body = { 0 };

	buf_add_lit(&body, "\0\0\0\x2e\xe4\x1a\xe1\x5d"); /* 12004 bytes: 12001 of data */
	buf_reserve(&body, 12001);
	memset(body.p + body.n, 'x', 12001);
	body.n += 12001;
	raw_request(r, stream, ECHO_PATH, STR(""), false);
	raw_frame(r, DATA, END_STREAM, stream, (struct str){ body.p, body.n });
	buf_free(&body);
}

#define ANSWER 12010 /* bytes of its response on the wire, about */
#define WINDOW 65535 /* the initial window of a connection */
#define ASKED 30

static struct raw *greedy(struct kit *kit)
{
	struct raw *r = greeted(kit);

	for (uint32_t i = 0; i < ASKED; i++)
		ask_for_much(r, 2 * i + 1);
	return r;
}

/* A client without window for the responses gets no more of them; other clients do. */
static void answers_that_nobody_reads_are_bounded(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, (struct grpc_server_config){ .max_unread = 100000 });
	r = greedy(&kit);
	kit_wait_int(&kit, &kit.traced, ASKED);
	assert_int_equal(kit.traced_status, GRPC_RESOURCE_EXHAUSTED);
	assert_in_range(kit.handled, (WINDOW + 100000) / ANSWER, (WINDOW + 100000) / ANSWER + 2);
	check_others_are_served(&kit);
	raw_free(r);
	kit_stop(&kit);
}

/* Each may fill its window and have one response queued, but the sum is bounded as well. */
static void answers_that_nobody_reads_are_bounded_in_all(void **state)
{
	struct raw *clients[4];
	struct kit kit;
	int before = 0;

	kit_start(&kit, (struct grpc_server_config){ .max_unread_all = 100000 });
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		int room = WINDOW + (i == 0 ? 100000 : 0);

		clients[i] = greedy(&kit);
		kit_wait_int(&kit, &kit.traced, (int)(i + 1) * ASKED);
		assert_in_range(kit.handled - before, room / ANSWER, room / ANSWER + 2);
		before = kit.handled;
	}
	check_others_are_served(&kit);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		raw_free(clients[i]);
	kit_stop(&kit);
}

/* Sends until grpc_send() fails; returns how often it succeeded. */
static int send_all(struct kit *kit)
{
	int n = 0;

	while (kit_send(kit, "much", 50000) == 0) {
		n++;
		kit_turn(kit);
	}
	return n;
}

/* Messages queued in streams count as well; a stream with few of them may continue. */
static void streams_that_nobody_reads_are_bounded_in_all(void **state)
{
	struct raw *clients[3];
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .max_unread_all = 300000 });
	for (int i = 0; i < (int)ARRAY_SIZE(clients); i++) {
		int room = WINDOW + (i == 0 ? 300000 : 0);

		clients[i] = greeted(&kit);
		raw_request(clients[i], 1, "/grpc_test.Test/Watch", STR(""), false);
		raw_frame(clients[i], DATA, END_STREAM, 1, STR("\0\0\0\0\0"));
		kit_wait_int(&kit, &kit.handled, i + 1);
		assert_in_range(send_all(&kit), room / 50000, room / 50000 + 2);
	}
	check_others_are_served(&kit);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		raw_free(clients[i]);
	kit_stop(&kit);
}

#define LONGEST 200000 /* of a request */
#define PIECES 4       /* of 16,000 bytes that are sent of each; the rest is not */

/* Five requests that are never completed. */
static struct raw *withholding(struct kit *kit)
{
	static const char piece[16000] = "\0\0\3\x0d\x40"; /* 200,000 bytes will come */
	struct raw *r = greeted(kit);

	for (uint32_t id = 1; id < 10; id += 2) {
		raw_request(r, id, ECHO_PATH, STR(""), false);
		for (int i = 0; i < PIECES; i++)
			raw_frame(r, DATA, 0, id, (struct str){ piece, sizeof(piece) });
	}
	return r;
}

/* If incomplete requests exceed the total, a connection that holds little is still served. */
static void requests_that_do_not_end_are_bounded_and_harm_nobody_else(void **state)
{
	struct raw *clients[14];
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .max_message = LONGEST });
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		clients[i] = withholding(&kit);
	kit_wait_int(&kit, &kit.traced, 1);
	assert_int_equal(kit.traced_status, GRPC_RESOURCE_EXHAUSTED);
	check_others_are_served(&kit);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		raw_free(clients[i]);
	kit_stop(&kit);
}

static void more_streams_than_allowed_are_refused(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, (struct grpc_server_config){ .max_streams = 4 });
	r = greeted(&kit);
	while (!raw_count(r, SETTINGS, 0, NULL))
		ev_run(kit.loop, EVRUN_ONCE);
	raw_frame(r, SETTINGS, 1, 0, STR("")); /* acknowledged: from now on it binds */
	for (uint32_t id = 1; id < 20; id += 2)
		if (!raw_request(r, id, HANG_PATH, STR(""), false))
			break;
	kit_wait_int(&kit, &kit.traced, 4); /* all are dropped with the connection */
	assert_int_equal(wait_goaway(r), H2_PROTOCOL_ERROR);
	kit_stop(&kit);
}

/* ---- bad gRPC in valid HTTP/2 ---- */

/* Sends a call and waits for its end; true if text is somewhere in the response. */
static void check_answer(struct kit *kit, struct str extra, struct str body, const char *text)
{
	struct raw *r = greeted(kit);

	raw_request(r, 1, ECHO_PATH, extra, false);
	raw_frame(r, DATA, END_STREAM, 1, body);
	kit_wait_int(kit, &kit->traced, 1);
	kit->traced = 0;
	shutdown(r->fd, SHUT_WR);
	raw_wait_close(r);
	if (text && !memmem(r->in.p, r->in.n, text, strlen(text)))
		fail_msg("no '%s'", text);
	raw_free(r);
}

static void requests_that_are_none_have_a_status(void **state)
{
	static const struct {
		struct str body;
		enum grpc_status status;
	} rows[] = {
		{ STR(""), GRPC_INVALID_ARGUMENT },
		{ STR("\0\0\0"), GRPC_INVALID_ARGUMENT },	      /* cut in the prefix */
		{ STR("\0\0\0\0\5\x0a\x03"), GRPC_INVALID_ARGUMENT }, /* in the message */
		{ STR("\0\0\0\0\2\x0a\x03"), GRPC_INVALID_ARGUMENT }, /* no such message */
		{ STR("\0\0\0\0\4\x0a\x02"
		      "a\0"),
		  GRPC_INVALID_ARGUMENT }, /* NUL */
		{ STR("\0\0\0\0\4\x0a\x02"
		      "a\xff"),
		  GRPC_INVALID_ARGUMENT },				/* not UTF-8 */
		{ STR("\0\0\0\0\0\0\0\0\0\0"), GRPC_INVALID_ARGUMENT }, /* two */
		{ STR("\1\0\0\0\0"), GRPC_INTERNAL },			/* compressed, how? */
		{ STR("\7\0\0\0\0"), GRPC_INTERNAL },
		{ STR("\0\xff\xff\xff\xff"), GRPC_RESOURCE_EXHAUSTED },
	};
	struct kit kit;

	kit_start(&kit, plain);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_answer(&kit, STR(""), rows[i].body, NULL);
		assert_int_equal(kit.traced_status, rows[i].status);
	}
	assert_int_equal(kit.handled, 0);
	check_others_are_served(&kit);
	kit_stop(&kit);
}

static void headers_that_are_wrong_have_a_status(void **state)
{
	static const struct {
		const char *name, *value;
		enum grpc_status status;
	} rows[] = {
		{ "grpc-timeout", "soon", GRPC_INVALID_ARGUMENT },
		{ "grpc-encoding", "br", GRPC_UNIMPLEMENTED },
		{ "grpc-encoding", "identity", GRPC_OK },
		{ "content-type", "application/json", GRPC_UNKNOWN }, /* the last one counts */
		{ "x-other", "y", GRPC_OK },
	};
	struct kit kit;

	kit_start(&kit, plain);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf extra = { 0 };

		raw_field(&extra, rows[i].name, rows[i].value);
		check_answer(&kit, (struct str){ extra.p, extra.n }, STR("\0\0\0\0\0"), NULL);
		assert_int_equal(kit.traced_status, rows[i].status);
		buf_free(&extra);
	}
	kit_stop(&kit);
}

static void what_is_not_grpc_is_answered_in_http(void **state)
{
	struct kit kit;
	struct raw *r;
	struct buf b = { 0 };
	struct str answer;

	kit_start(&kit, plain);
	r = greeted(&kit);
	buf_add_lit(&b, "\x82\x86"); /* GET */
	raw_field(&b, ":path", ECHO_PATH);
	raw_field(&b, ":authority", "test");
	raw_frame(r, HEADERS, END_HEADERS | END_STREAM, 1, (struct str){ b.p, b.n });
	buf_free(&b);
	buf_add_lit(&b, "\x83\x86");
	raw_field(&b, ":path", ECHO_PATH);
	raw_field(&b, ":authority", "test");
	raw_frame(r, HEADERS, END_HEADERS | END_STREAM, 3, (struct str){ b.p, b.n });
	buf_free(&b);
	kit_wait_int(&kit, &kit.traced, 2);
	shutdown(r->fd, SHUT_WR);
	raw_wait_close(r);
	assert_int_equal(raw_count(r, HEADERS, 1, &answer), 1);
	assert_true(str_eq(answer, STR("\x48\x03"
				       "405"))); /* ":status" as a literal */
	assert_int_equal(raw_count(r, HEADERS, 3, &answer), 1);
	assert_true(str_eq(answer, STR("\x48\x03"
				       "415")));
	raw_free(r);
	kit_stop(&kit);
}

/* The response is sent before the request is complete, so the rest is refused. */
static void an_early_answer_stops_the_request(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, plain);
	r = greeted(&kit);
	raw_request(r, 1, "/nowhere", STR(""), false);
	while (!raw_count(r, RST_STREAM, 1, NULL))
		ev_run(kit.loop, EVRUN_ONCE);
	assert_int_equal(kit.traced_status, GRPC_UNIMPLEMENTED);
	assert_int_equal(raw_count(r, HEADERS, 1, NULL), 1);
	raw_frame(r, DATA, END_STREAM, 1, STR("\0\0\0\0\0")); /* was under way: no harm */
	raw_request(r, 3, ECHO_PATH, STR(""), false);
	raw_frame(r, DATA, END_STREAM, 3, STR("\0\0\0\0\0"));
	kit_wait_int(&kit, &kit.handled, 1);
	raw_free(r);
	kit_stop(&kit);
}

/* Ten calls that each begin a message of the largest size. */
static void requests_in_pieces_are_bounded_in_all(void **state)
{
	static char piece[16384];
	struct kit kit;
	struct raw *r;

	kit_start(&kit, (struct grpc_server_config){ .max_message = 100000 });
	r = greeted(&kit);
	for (uint32_t id = 1; id < 20; id += 2) {
		raw_request(r, id, ECHO_PATH, STR(""), false);
		raw_frame(r, DATA, 0, id, STR("\0\0\1\x86\xa0"));
		for (int i = 0; i < 3; i++)
			raw_frame(r, DATA, 0, id, (struct str){ piece, sizeof(piece) });
	}
	kit_wait_int(&kit, &kit.traced, 1);
	assert_int_equal(kit.traced_status, GRPC_RESOURCE_EXHAUSTED);
	assert_in_range(grpc_server_stats(kit.server)->calls, 3, 5);
	raw_free(r);
	check_others_are_served(&kit);
	kit_stop(&kit);
}

static void a_request_that_does_not_end_is_given_up(void **state)
{
	struct kit kit;
	struct raw *r;

	kit_start(&kit, (struct grpc_server_config){ .request_timeout = 30 * NSEC_PER_MSEC });
	r = greeted(&kit);
	raw_request(r, 1, ECHO_PATH, STR(""), false);
	raw_frame(r, DATA, 0, 1, STR("\0\0\0\0\7abc"));
	kit_wait_int(&kit, &kit.traced, 1);
	assert_int_equal(kit.traced_status, GRPC_DEADLINE_EXCEEDED);
	raw_free(r);
	kit_stop(&kit);
}

static void a_thousand_idle_connections_harm_nobody(void **state)
{
	struct raw *idle[1000];
	struct rlimit files;
	struct kit kit;

	getrlimit(RLIMIT_NOFILE, &files); /* both ends are ours */
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	kit_start(&kit, (struct grpc_server_config){ .max_connections = 500 });
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		idle[i] = raw_new(&kit);
		if (i % 2)
			raw_preface(idle[i]);
		kit_turn(&kit);
	}
	check_others_are_served(&kit);
	assert_in_range(grpc_server_stats(kit.server)->connections, 400, 500);
	raw_wait_close(idle[0]); /* the longest idle made room */
	assert_false(idle[999]->closed);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		raw_free(idle[i]);
	kit_stop(&kit);
}

/* Each has a stream, but one that its client can open again. */
static void health_watches_lock_nobody_out(void **state)
{
	struct raw *watchers[20];
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .max_connections = ARRAY_SIZE(watchers) });
	for (size_t i = 0; i < ARRAY_SIZE(watchers); i++) {
		watchers[i] = raw_new(&kit);
		raw_preface(watchers[i]);
		raw_request(watchers[i], 1, "/grpc.health.v1.Health/Watch", STR(""), false);
		raw_frame(watchers[i], DATA, 1, 1, STR("\0\0\0\0\0"));
		while (!raw_count(watchers[i], DATA, 1, NULL))
			kit_turn(&kit);
	}
	assert_int_equal(grpc_server_stats(kit.server)->evicted, 0);
	check_others_are_served(&kit);
	raw_wait_close(watchers[0]);
	assert_false(watchers[ARRAY_SIZE(watchers) - 1]->closed);
	assert_int_equal(grpc_server_stats(kit.server)->refused, 0);
	for (size_t i = 0; i < ARRAY_SIZE(watchers); i++)
		raw_free(watchers[i]);
	kit_stop(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_http2_is_closed),
		cmocka_unit_test(a_first_frame_that_is_not_settings_is_an_error),
		cmocka_unit_test(frames_against_the_protocol_end_the_connection),
		cmocka_unit_test(a_frame_that_is_too_long_is_refused),
		cmocka_unit_test(headers_over_the_limit_reset_their_stream),
		cmocka_unit_test(a_header_bomb_ends_the_connection),
		cmocka_unit_test(a_continuation_flood_ends_the_connection),
		cmocka_unit_test(rapid_resets_end_the_connection),
		cmocka_unit_test(resets_that_we_are_made_to_send_count_as_well),
		cmocka_unit_test(floods_of_idle_frames_end_the_connection),
		cmocka_unit_test(answers_that_are_not_taken_are_bounded),
		cmocka_unit_test(answers_that_nobody_reads_are_bounded),
		cmocka_unit_test(answers_that_nobody_reads_are_bounded_in_all),
		cmocka_unit_test(streams_that_nobody_reads_are_bounded_in_all),
		cmocka_unit_test(requests_that_do_not_end_are_bounded_and_harm_nobody_else),
		cmocka_unit_test(more_streams_than_allowed_are_refused),
		cmocka_unit_test(requests_that_are_none_have_a_status),
		cmocka_unit_test(headers_that_are_wrong_have_a_status),
		cmocka_unit_test(what_is_not_grpc_is_answered_in_http),
		cmocka_unit_test(an_early_answer_stops_the_request),
		cmocka_unit_test(requests_in_pieces_are_bounded_in_all),
		cmocka_unit_test(a_request_that_does_not_end_is_given_up),
		cmocka_unit_test(a_thousand_idle_connections_harm_nobody),
		cmocka_unit_test(health_watches_lock_nobody_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
