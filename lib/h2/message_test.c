/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: fields, interim responses, trailers, tunnels, and what is malformed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/h2/testkit.h"

static const struct field get[] = { { { ":method", 7 }, { "GET", 3 } },
				    { { ":scheme", 7 }, { "http", 4 } },
				    { { ":path", 5 }, { "/", 1 } },
				    { { ":authority", 10 }, { "a", 1 } } };
static const struct field ok = { { ":status", 7 }, { "200", 3 } };

static void the_end_is_known_with_the_head(void **state)
{
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	assert_non_null(h2_request(pair_join(&p), get, ARRAY_SIZE(get), true));
	pair_wait(&p, &p.s.ended, 1);
	assert_true(p.s.told_last);
	assert_int_equal(p.s.kinds[H2_HEAD], 1);
	assert_int_equal(h2_respond(p.s.stream, &ok, 1, true), 0);
	pair_wait(&p, &p.c.closed, 1);
	assert_true(p.c.told_last);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_int_equal(p.c.ended, 1);
	assert_int_equal(p.c.bytes + p.s.bytes, 0);
	pair_stop(&p);
}

static void interim_responses_come_before_the_final_one(void **state)
{
	const struct field hints[] = { { STR(":status"), STR("103") }, { STR("link"), STR("x") } };
	const struct field go_on = { STR(":status"), STR("100") };
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	pair_ask(pair_join(&p), 10);
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(h2_inform(p.s.stream, &go_on, 1), 0);
	assert_int_equal(h2_inform(p.s.stream, hints, 2), 0);
	pair_answer(p.s.stream, 3);
	pair_wait(&p, &p.c.closed, 1);
	assert_string_equal(buf_cstr(&p.c.headers),
			    ":status=100;:status=103;link=x;:status=200;x-a=1;x-trailer=2;");
	assert_int_equal(p.c.kinds[H2_INTERIM], 2);
	assert_int_equal(p.c.kinds[H2_HEAD], 1);
	assert_int_equal(p.c.kinds[H2_TRAILERS], 1);
	pair_stop(&p);
}

/* The second trailer is sent when nothing is queued, and needs no window. */
static void trailers_go_both_ways(void **state)
{
	const struct field trailers[] = { { STR("x-sum"), STR("7") }, { STR("x-none"), STR("") } };
	struct h2_stream *s;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	s = h2_request(pair_join(&p), pair_post, 4, false);
	h2_send(s, STR("body"));
	assert_int_equal(h2_end(s, trailers, 2), 0);
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(p.s.kinds[H2_TRAILERS], 1);
	assert_string_equal(buf_cstr(&p.s.data), "body");
	assert_non_null(strstr(buf_cstr(&p.s.headers), ":authority=a;x-sum=7;x-none=;"));
	h2_respond(p.s.stream, &ok, 1, false);
	pair_wait(&p, &p.c.kinds[H2_HEAD], 1);
	h2_end(p.s.stream, trailers, 1);
	pair_wait(&p, &p.c.closed, 1);
	assert_string_equal(buf_cstr(&p.c.headers), ":status=200;x-sum=7;");
	assert_true(p.c.told_last);
	pair_stop(&p);
}

/* The memory of names and values is used again at once. */
static void fields_may_be_many_and_need_not_live(void **state)
{
	static struct field fields[1504];
	char *text = mem_alloc(1500 * 8);
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_header_list = 128 * 1024 });
	p.s.silent = true;
	memcpy(fields, get, sizeof(get));
	for (size_t i = 0; i < 1500; i++) {
		snprintf(text + i * 8, 8, "X-%04zu", i);
		fields[4 + i] = (struct field){ { text + i * 8, 6 }, { text + i * 8 + 2, 4 } };
	}
	assert_non_null(h2_request(pair_join(&p), fields, ARRAY_SIZE(fields), true));
	memset(text, '!', 1500 * 8);
	free(text);
	pair_wait(&p, &p.s.ended, 1);
	assert_non_null(strstr(buf_cstr(&p.s.headers), ":authority=a;x-0000=0000;x-0001=0001;"));
	assert_non_null(strstr(buf_cstr(&p.s.headers), "x-1498=1498;x-1499=1499;"));
	pair_stop(&p);
}

static void a_block_that_is_too_large_is_not_sent(void **state)
{
	struct field fields[5] = { get[0], get[1], get[2], get[3], { STR("x"), STR("") } };
	char *large = mem_zalloc(H2_BLOCK_MAX);
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	fields[4].value = (struct str){ large, H2_BLOCK_MAX };
	c = pair_join(&p);
	assert_null(h2_request(c, fields, 5, true));
	pair_ask(c, 0);
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(h2_respond(p.s.stream, fields + 4, 1, false), -EMSGSIZE);
	assert_int_equal(h2_respond(p.s.stream, &ok, 1, false), 0);
	assert_int_equal(h2_end(p.s.stream, fields + 4, 1), -EMSGSIZE);
	assert_int_equal(h2_end(p.s.stream, NULL, 0), 0);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	free(large);
	pair_stop(&p);
}

static const struct field websocket[] = { { { ":method", 7 }, { "CONNECT", 7 } },
					  { { ":protocol", 9 }, { "websocket", 9 } },
					  { { ":scheme", 7 }, { "http", 4 } },
					  { { ":path", 5 }, { "/chat", 5 } },
					  { { ":authority", 10 }, { "a", 1 } } };

static void a_tunnel_carries_both_ways_until_both_end(void **state)
{
	struct h2_conn *c;
	struct h2_stream *s;
	struct pair p;

	pair_start(&p, (struct h2_config){ .connect_protocol = true });
	p.s.silent = true;
	c = pair_join(&p);
	assert_true(h2_conn_can_connect(c));
	s = h2_request(c, websocket, ARRAY_SIZE(websocket), false);
	pair_wait(&p, &p.s.blocks, 1);
	assert_non_null(strstr(buf_cstr(&p.s.headers), ":method=CONNECT;:protocol=websocket;"));
	h2_respond(p.s.stream, &ok, 1, false);
	pair_wait(&p, &p.c.blocks, 1);
	h2_send(s, STR("ping"));
	pair_wait(&p, &p.s.bytes, 4);
	h2_send(p.s.stream, STR("pong"));
	pair_wait(&p, &p.c.bytes, 4);
	h2_end(s, NULL, 0);
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(p.c.closed + p.s.closed, 0);
	h2_end(p.s.stream, NULL, 0);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	pair_stop(&p);
}

static void a_tunnel_that_was_not_offered_is_refused(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	c = pair_join(&p);
	assert_false(h2_conn_can_connect(c));
	h2_request(c, websocket, ARRAY_SIZE(websocket), false);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_PROTOCOL_ERROR);
	assert_int_equal(p.s.blocks, 0);
	pair_stop(&p);
}

/* RFC 9113 §8.1: the client is asked to stop sending; for both sides that is an orderly end. */
static void an_answer_may_come_before_the_request_is_complete(void **state)
{
	struct h2_stream *s;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	s = h2_request(pair_join(&p), pair_post, 4, false);
	h2_send(s, STR("begin"));
	pair_wait(&p, &p.s.bytes, 5);
	h2_respond(p.s.stream, &ok, 1, false);
	h2_send(p.s.stream, STR("done"));
	h2_end(p.s.stream, NULL, 0);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_int_equal(p.c.ended, 1);
	assert_string_equal(buf_cstr(&p.c.data), "done");
	assert_int_equal(p.s.error, H2_NO_ERROR);
	assert_int_equal(h2_host_stats(p.server)->resets, 0);
	pair_stop(&p);
}

static void on_oversized(struct h2_stream *s, void *user)
{
	const struct field status = { STR(":status"), STR("431") };

	((struct side *)user)->oversized++;
	h2_respond(s, &status, 1, true);
}

static void request_with(struct h2_conn *c, size_t n)
{
	struct field fields[5] = { get[0], get[1], get[2], get[3], { STR("x-large"), STR("") } };
	char *large = mem_alloc(n);

	memset(large, 'l', n);
	fields[4].value = (struct str){ large, n };
	assert_non_null(h2_request(c, fields, 5, true));
	free(large);
}

static void too_many_fields_can_be_answered(void **state)
{
	struct h2_events events = pair_events;
	struct pair p;

	events.oversized = on_oversized;
	pair_start(&p, (struct h2_config){ .events = &events, .max_header_list = 4096 });
	p.s.silent = true;
	request_with(pair_join(&p), 8000);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_string_equal(buf_cstr(&p.c.headers), ":status=431;");
	assert_int_equal(p.s.oversized, 1);
	assert_int_equal(p.s.blocks, 0);
	assert_null(strstr(buf_cstr(&p.s.headers), "x-large"));
	pair_stop(&p);
}

static void too_many_fields_reset_the_stream_otherwise(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_header_list = 4096 });
	c = pair_join(&p);
	request_with(c, 8000);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_ENHANCE_YOUR_CALM);
	request_with(c, 20000); /* too many even to be skipped */
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(h2_host_stats(p.server)->calmed, 1);
	pair_stop(&p);
}

/* A field that is not valid makes the message malformed: it is not just left out. */
static void fields_that_are_not_valid_reset_the_stream(void **state)
{
	static const struct str bad[] = {
		{ "\0\12connection\5close", 18 }, /* about the connection */
		{ "\0\3x-a\4b\r\nc", 10 },	  /* a line break in a value */
		{ "\0\3X-A\1b", 7 },		  /* upper case */
	};
	struct pair p;
	char frame[64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct str head = STR("\x82\x86\x84\x41\1a");
		int fd;

		pair_start(&p, (struct h2_config){ 0 });
		fd = pair_adopt(&p);
		pair_say(fd, pair_preface);
		memcpy(frame, "\0\0\0\1\5\0\0\0\1", 9);
		frame[2] = (char)(head.n + bad[i].n);
		memcpy(frame + 9, head.p, head.n);
		memcpy(frame + 9 + head.n, bad[i].p, bad[i].n);
		pair_say(fd, (struct str){ frame, 9 + head.n + bad[i].n });
		pair_wait(&p, &p.s.closed, 1);
		assert_int_equal(p.s.error, H2_PROTOCOL_ERROR);
		assert_int_equal(p.s.blocks, 0);
		assert_int_equal(p.s.lost, 0);
		close(fd);
		pair_stop(&p);
	}
}

/* Every event may be NULL: messages are then taken and dropped. */
static void without_callbacks_nothing_breaks(void **state)
{
	static const struct h2_events none;
	struct h2_stream *s;
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ .events = &none });
	c = h2_connect(p.client, h2_endpoint(p.server), NULL, NULL);
	while (!h2_conn_room(c))
		ev_run(p.loop, EVRUN_ONCE);
	s = h2_request(c, pair_post, 4, false);
	pair_fill(h2_out(s), 'x', 300000);
	h2_end(s, NULL, 0);
	while (h2_host_stats(p.server)->bytes_in < 300000)
		ev_run(p.loop, EVRUN_ONCE);
	assert_int_equal(h2_host_stats(p.server)->unread, 0);
	h2_leave(c);
	h2_host_set(p.server, &(struct h2_config){ .max_streams = 1 });
	pair_stop(&p);
	h2_host_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_known_with_the_head),
		cmocka_unit_test(interim_responses_come_before_the_final_one),
		cmocka_unit_test(trailers_go_both_ways),
		cmocka_unit_test(fields_may_be_many_and_need_not_live),
		cmocka_unit_test(a_block_that_is_too_large_is_not_sent),
		cmocka_unit_test(a_tunnel_carries_both_ways_until_both_end),
		cmocka_unit_test(a_tunnel_that_was_not_offered_is_refused),
		cmocka_unit_test(an_answer_may_come_before_the_request_is_complete),
		cmocka_unit_test(too_many_fields_can_be_answered),
		cmocka_unit_test(too_many_fields_reset_the_stream_otherwise),
		cmocka_unit_test(fields_that_are_not_valid_reset_the_stream),
		cmocka_unit_test(without_callbacks_nothing_breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
