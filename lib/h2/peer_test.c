/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that were opened elsewhere, and what their peers do with streams. */
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

static const struct str settings = STR("\0\0\0\4\0\0\0\0\0");
/* SETTINGS with MAX_CONCURRENT_STREAMS 2 and 4. */
static const struct str two_streams = STR("\0\0\6\4\0\0\0\0\0\0\3\0\0\0\2");
static const struct str four_streams = STR("\0\0\6\4\0\0\0\0\0\0\3\0\0\0\4");
/* HEADERS with status 200 and END_STREAM as stream 1. */
static const struct str answer = STR("\0\0\1\1\5\0\0\0\1\x88");

static void on_ready(struct stream *s, unsigned what)
{
}

static void on_failed(struct stream *s, int error)
{
}

static const struct stream_events raw_events = { .ready = on_ready, .closed = on_failed };

/* Bytes that were read before count as the first input, however they are cut. */
static void a_server_takes_a_stream_and_what_was_read(void **state)
{
	static const size_t cuts[] = { 0, 1, 24, 30, 45 };
	char all[128], bytes[512];
	size_t n = pair_preface.n + pair_request.n;

	memcpy(all, pair_preface.p, pair_preface.n);
	memcpy(all + pair_preface.n, pair_request.p, pair_request.n);
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct stream from;
		struct pair p;
		int fds[2];

		pair_start(&p, (struct h2_config){ .max_connections = SIZE_MAX });
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
		pair_say(fds[1], (struct str){ all + cuts[i], n - cuts[i] });
		stream_init(&from, p.loop, TASK_ORDINARY, &raw_events);
		stream_adopt(&from, fds[0]);
		assert_non_null(h2_take(p.server, &from, (struct str){ all, cuts[i] },
					(struct endpoint){ 0 }));
		assert_int_equal(p.s.open, 0); /* nothing is called from within */
		stream_end(&from);
		pair_wait(&p, &p.s.closed, 1);
		assert_int_equal(p.s.error, H2_NO_ERROR);
		assert_int_equal(h2_host_stats(p.server)->bytes_in, n);
		assert_true(recv(fds[1], bytes, sizeof(bytes), 0) > 0);
		close(fds[1]);
		pair_stop(&p);
	}
}

static void a_full_server_leaves_the_stream_alone(void **state)
{
	struct stream from;
	struct pair p;
	int fds[2];

	pair_start(&p, (struct h2_config){ .max_connections = 1 });
	p.s.silent = true;
	pair_ask(pair_join(&p), 0);
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	stream_init(&from, p.loop, TASK_ORDINARY, &raw_events);
	stream_adopt(&from, fds[0]);
	assert_null(h2_take(p.server, &from, STR("PRI"), (struct endpoint){ 0 }));
	assert_int_equal(from.state, STREAM_OPEN);
	assert_int_equal(h2_host_stats(p.server)->refused, 1);
	stream_end(&from);
	close(fds[1]);
	pair_stop(&p);
}

/* A client need not wait for the SETTINGS of the server. */
static void a_client_takes_a_stream_and_asks_at_once(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	fd = pair_serve(&p, &c, STR(""));
	assert_int_equal(h2_conn_room(c), 100);
	pair_ask(c, 10);
	assert_int_equal(h2_conn_streams(c), 1);
	pair_turn(&p, 1 * MS);
	pair_say(fd, settings);
	pair_say(fd, answer);
	pair_wait(&p, &p.c.ended, 1);
	assert_string_equal(buf_cstr(&p.c.headers), ":status=200;");
	assert_int_equal(p.c.open, 1);
	assert_in_range(p.c.settled, 1, 2);
	close(fd);
	pair_wait(&p, &p.c.lost, 1);
	pair_stop(&p);
}

static void the_room_is_what_the_peer_allows(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	fd = pair_serve(&p, &c, two_streams);
	pair_wait(&p, &p.c.open, 1);
	assert_int_equal(h2_conn_room(c), 2);
	pair_ask(c, 0);
	pair_ask(c, 0);
	assert_int_equal(h2_conn_room(c), 0);
	pair_ask(c, 0); /* waits */
	pair_turn(&p, 1 * MS);
	pair_say(fd, answer);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(h2_conn_room(c), 0);
	pair_say(fd, four_streams);
	pair_wait(&p, &p.c.settings, 1);
	assert_int_equal(h2_conn_room(c), 2);
	h2_leave(c);
	assert_int_equal(h2_conn_room(c), 0);
	close(fd);
	pair_stop(&p);
}

/* RFC 9113 §6.8: streams above the last id were not processed and can be sent again. */
static void goaway_tells_which_requests_were_not_processed(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	fd = pair_serve(&p, &c, settings);
	pair_wait(&p, &p.c.open, 1);
	for (int i = 0; i < 3; i++)
		pair_ask(c, 0);
	pair_turn(&p, 1 * MS);
	pair_say(fd, STR("\0\0\x8\7\0\0\0\0\0\0\0\0\1\0\0\0\0"));
	pair_wait(&p, &p.c.closed, 2);
	assert_int_equal(p.c.going, 1);
	assert_int_equal(p.c.refused, 2);
	assert_int_equal(h2_conn_room(c), 0);
	pair_say(fd, answer);
	pair_wait(&p, &p.c.closed, 3);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_int_equal(p.c.refused, 2);
	close(fd);
	pair_wait(&p, &p.c.lost, 1);
	pair_stop(&p);
}

/* Only a request that was never sent is known not to have been processed. */
static void a_lost_connection_is_no_answer(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	fd = pair_serve(&p, &c, two_streams);
	pair_wait(&p, &p.c.open, 1);
	for (int i = 0; i < 3; i++)
		pair_ask(c, 0);
	pair_turn(&p, 1 * MS);
	close(fd);
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(p.c.closed, 3);
	assert_int_equal(p.c.refused, 1);
	assert_in_range(p.c.error, H2_REFUSED_STREAM, H2_LOST);
	pair_stop(&p);
}

/* As a proxy does that tries again: it must not find the connection that is ending. */
static void on_closed_try_again(struct h2_stream *s, uint32_t error, void *user)
{
	struct h2_conn *c = h2_stream_conn(s);

	((struct side *)user)->closed++;
	assert_int_equal(h2_conn_room(c), 0);
	assert_null(h2_request(c, pair_post, 4, true));
}

static void a_connection_that_ends_takes_no_requests(void **state)
{
	struct h2_events events = pair_events;
	struct h2_conn *c;
	struct pair p;
	int fd;

	events.closed = on_closed_try_again;
	pair_start(&p, (struct h2_config){ .events = &events });
	fd = pair_serve(&p, &c, two_streams);
	pair_wait(&p, &p.c.open, 1);
	for (int i = 0; i < 3; i++)
		pair_ask(c, 0);
	close(fd);
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(p.c.closed, 3);
	pair_stop(&p);
}

static void a_peer_that_answers_no_ping_is_given_up(void **state)
{
	const struct h2_config config = { .keepalive = 20 * MS, .ping_timeout = 20 * MS };
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	h2_host_set(p.client, &config);
	fd = pair_serve(&p, &c, settings);
	pair_wait(&p, &p.c.open, 1);
	pair_ask(c, 0);
	pair_wait(&p, &p.c.lost, 1);
	assert_string_equal(p.c.why, "the peer does not answer");
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_LOST);
	assert_int_equal(h2_host_stats(p.client)->timeouts, 1);
	close(fd);
	pair_stop(&p);
}

/* The reason is shown to people: control bytes in it are escaped. */
static void the_reason_of_the_peer_is_safe_to_show(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	fd = pair_serve(&p, &c, settings);
	pair_wait(&p, &p.c.open, 1);
	pair_say(fd, STR("\0\0\xc\7\0\0\0\0\0\0\0\0\0\0\0\0\xb"
			 "a\033\nb"));
	pair_wait(&p, &p.c.lost, 1);
	assert_string_equal(p.c.why, "the peer said ENHANCE_YOUR_CALM: a\\x1b\\x0ab");
	close(fd);
	pair_stop(&p);
}

static void one_connection_leaves_and_the_others_stay(void **state)
{
	struct h2_conn *c, *other;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	other = pair_join(&p);
	c = pair_join(&p);
	pair_ask(c, 0);
	pair_wait(&p, &p.s.ended, 1);
	h2_leave(h2_stream_conn(p.s.stream));
	pair_wait(&p, &p.c.going, 1);
	assert_int_equal(h2_conn_room(c), 0);
	assert_true(h2_conn_room(other) > 0);
	pair_answer(p.s.stream, 10);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	pair_wait(&p, &p.s.lost, 1);
	while (h2_host_stats(p.server)->connections > 1)
		ev_run(p.loop, EVRUN_ONCE);
	assert_int_equal(h2_host_stats(p.client)->connections, 1);
	pair_stop(&p);
}

static void an_aborted_connection_ends_from_the_loop(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	pair_ask(pair_join(&p), 0);
	pair_wait(&p, &p.s.ended, 1);
	c = h2_stream_conn(p.s.stream);
	h2_abort(c, H2_INADEQUATE_SECURITY, "the certificate was withdrawn");
	h2_abort(c, H2_NO_ERROR, "twice");
	assert_int_equal(p.s.lost + p.s.closed, 0);
	pair_wait(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "the certificate was withdrawn");
	assert_int_equal(p.s.error, H2_LOST);
	assert_int_equal(h2_host_stats(p.server)->protocol_errors, 0);
	pair_wait(&p, &p.c.lost, 1);
	assert_memory_equal(p.c.why, "the peer said INADEQUATE_SECURITY", 33);
	h2_abort(h2_connect(p.client, h2_endpoint(p.server), NULL, NULL), H2_CANCEL, "no");
	pair_wait(&p, &p.c.lost, 2);
	assert_string_equal(p.c.why, "no");
	pair_stop(&p);
}

/* The peer's resets are counted, those of the user are not. */
static void only_the_resets_of_the_peer_are_abuse(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_resets = 10 });
	p.s.silent = true;
	c = pair_join(&p);
	for (int i = 1; i <= 30; i++) {
		pair_ask(c, 0);
		pair_wait(&p, &p.s.ended, i);
		h2_reset(p.s.stream, H2_INTERNAL_ERROR);
		pair_wait(&p, &p.c.closed, i);
	}
	assert_int_equal(p.c.lost, 0);
	for (int i = 1; i <= 11; i++) {
		struct h2_stream *s = pair_ask(c, 0);

		pair_wait(&p, &p.s.ended, 30 + i);
		h2_reset(s, H2_CANCEL);
		pair_wait(&p, &p.s.closed, i);
	}
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(h2_host_stats(p.server)->calmed, 1);
	pair_stop(&p);
}

/* HEADERS with END_STREAM, DATA: both of stream 1. */
static const struct str late[] = {
	{ "\0\0\6\1\5\0\0\0\1\x83\x86\x84\x41\1a", 15 },
	{ "\0\0\1\0\1\0\0\0\1x", 10 },
};

/* RFC 9113 §5.1: the client has ended the stream itself. */
static void frames_of_a_closed_stream_end_the_connection(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
		struct pair p;
		int fd;

		pair_start(&p, (struct h2_config){ 0 });
		fd = pair_adopt(&p);
		pair_say(fd, pair_preface);
		pair_say(fd, pair_request);
		pair_wait(&p, &p.s.closed, 1);
		pair_say(fd, late[i]);
		pair_wait(&p, &p.s.lost, 1);
		assert_string_equal(p.s.why, "a frame for a stream that is closed");
		assert_int_equal(h2_host_stats(p.server)->protocol_errors, 1);
		close(fd);
		pair_stop(&p);
	}
}

/* The client may not know yet that the stream was reset. */
static void frames_of_a_stream_that_was_reset_are_ignored(void **state)
{
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_say(fd, STR("\0\0\6\1\4\0\0\0\1\x83\x86\x84\x41\1a"));
	pair_wait(&p, &p.s.blocks, 1);
	h2_reset(p.s.stream, H2_CANCEL);
	pair_turn(&p, 1 * MS);
	assert_int_equal(h2_host_stats(p.server)->streams, 0);
	pair_say(fd, late[1]);
	pair_say(fd, late[0]);
	pair_say(fd, STR("\0\0\6\1\5\0\0\0\3\x83\x86\x84\x41\1a"));
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(p.s.lost, 0);
	close(fd);
	pair_stop(&p);
}

/* A client may have a bound on idle connections of its own. */
static void an_idle_client_leaves(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	h2_host_set(p.client, &(struct h2_config){ .idle_timeout = 20 * MS });
	fd = pair_serve(&p, &c, settings);
	pair_wait(&p, &p.c.lost, 1);
	assert_string_equal(p.c.why, "the server closed the connection");
	close(fd);
	pair_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_takes_a_stream_and_what_was_read),
		cmocka_unit_test(a_full_server_leaves_the_stream_alone),
		cmocka_unit_test(a_client_takes_a_stream_and_asks_at_once),
		cmocka_unit_test(the_room_is_what_the_peer_allows),
		cmocka_unit_test(goaway_tells_which_requests_were_not_processed),
		cmocka_unit_test(a_lost_connection_is_no_answer),
		cmocka_unit_test(a_connection_that_ends_takes_no_requests),
		cmocka_unit_test(a_peer_that_answers_no_ping_is_given_up),
		cmocka_unit_test(the_reason_of_the_peer_is_safe_to_show),
		cmocka_unit_test(one_connection_leaves_and_the_others_stay),
		cmocka_unit_test(an_aborted_connection_ends_from_the_loop),
		cmocka_unit_test(only_the_resets_of_the_peer_are_abuse),
		cmocka_unit_test(frames_of_a_closed_stream_end_the_connection),
		cmocka_unit_test(frames_of_a_stream_that_was_reset_are_ignored),
		cmocka_unit_test(an_idle_client_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
