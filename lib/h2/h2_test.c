/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client and server on one loop, or one of them and a raw socket. Abuse is tested with a gRPC
 * server, in lib/grpc/abuse_test.c.
 */
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

static void a_request_is_answered_with_trailers(void **state)
{
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.answer = 5;
	pair_ask(pair_join(&p), 3);
	pair_wait(&p, &p.c.closed, 1);
	assert_string_equal(buf_cstr(&p.s.headers),
			    ":method=POST;:scheme=http;:path=/x;:authority=a;");
	assert_string_equal(buf_cstr(&p.s.data), "qqq");
	assert_string_equal(buf_cstr(&p.c.headers), ":status=200;x-a=1;x-trailer=2;");
	assert_string_equal(buf_cstr(&p.c.data), "aaaaa");
	assert_int_equal(p.c.blocks, 2);
	assert_int_equal(p.c.ended, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_int_equal(p.s.closed, 1);
	assert_int_equal(h2_host_stats(p.server)->streams, 0);
	assert_int_equal(h2_host_stats(p.server)->opened, 1);
	assert_int_equal(h2_host_stats(p.server)->resets, 0);
	pair_stop(&p);
}

/* The windows are 16 KiB, so both bodies are sent in many pieces. */
static void large_bodies_cross_small_windows(void **state)
{
	struct pair p;

	pair_start(&p, (struct h2_config){ .window = 16384 });
	p.s.answer = 2000000;
	pair_ask(pair_join(&p), 3000000);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.s.data.n, 3000000);
	assert_int_equal(p.c.data.n, 2000000);
	pair_stop(&p);
}

/* Both sides send much and read at the same time: neither may wait for the other. */
static void both_ways_at_once_do_not_lock(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ .window = 1 << 20 });
	p.s.answer = 1000000;
	c = pair_join(&p);
	for (int i = 0; i < 20; i++)
		pair_ask(c, 1000000);
	pair_wait(&p, &p.c.closed, 20);
	assert_int_equal(p.s.data.n, 20000000);
	assert_int_equal(p.c.data.n, 20000000);
	pair_stop(&p);
}

static void data_may_come_later(void **state)
{
	const struct field status = { STR(":status"), STR("200") };
	struct h2_stream *s;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	pair_ask(pair_join(&p), 0);
	pair_wait(&p, &p.s.ended, 1);
	s = p.s.stream;
	h2_respond(s, &status, 1, false);
	pair_wait(&p, &p.c.blocks, 1);
	for (int i = 0; i < 3; i++) {
		buf_add_lit(h2_out(s), "more");
		h2_sent(s);
		while (p.c.data.n < 4 * (size_t)(i + 1))
			ev_run(p.loop, EVRUN_ONCE);
	}
	h2_end(s, NULL, 0);
	pair_wait(&p, &p.c.closed, 1);
	assert_string_equal(buf_cstr(&p.c.data), "moremoremore");
	pair_stop(&p);
}

static void a_reset_is_heard_by_the_other_side_only(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	c = pair_join(&p);
	h2_reset(pair_ask(c, 1), H2_CANCEL); /* before it was sent: the server never sees it */
	h2_reset(pair_ask(c, 1), H2_CANCEL);
	pair_ask(c, 1);
	pair_wait(&p, &p.s.ended, 1);
	assert_int_equal(p.s.began, 1);
	h2_reset(p.s.stream, H2_INTERNAL_ERROR);
	pair_wait(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_INTERNAL_ERROR);
	assert_int_equal(p.s.closed, 0);
	pair_stop(&p);
}

static void a_refused_connection_is_told_from_the_loop(void **state)
{
	struct endpoint to;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	to = h2_endpoint(p.server);
	h2_host_free(TAKE_PTR(p.server));
	h2_connect(p.client, to, NULL, NULL);
	assert_int_equal(p.c.lost, 0);
	pair_wait(&p, &p.c.lost, 1);
	assert_string_equal(p.c.why, "connect: connection refused");
	pair_stop(&p);
}

static void an_address_without_a_way_is_told_from_the_loop(void **state)
{
	/* a broadcast address: connect() itself fails */
	const struct endpoint to = { .addr = { AF_INET, { 255, 255, 255, 255 } }, .port = 1 };
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	h2_connect(p.client, to, NULL, NULL);
	assert_int_equal(p.c.lost, 0);
	pair_wait(&p, &p.c.lost, 1);
	assert_memory_equal(p.c.why, "connect: ", 9);
	pair_stop(&p);
}

/* TLS with a name that cannot be verified must not fall back to plaintext. */
static void a_name_that_cannot_be_verified_is_not_connected_to_in_plaintext(void **state)
{
	struct tls_context *tls;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	assert_int_equal(tls_context_new(&(struct tls_config){ .role = TLS_CLIENT }, &tls,
					 &(struct tls_refusal){ 0 }),
			 0);
	h2_connect(p.client, h2_endpoint(p.server), tls, "");
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(p.c.open, 0);
	assert_memory_equal(p.c.why, "connect: ", 9);
	pair_stop(&p);
	tls_context_free(tls);
}

static void leaving_waits_for_the_last_stream(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	c = pair_join(&p);
	pair_ask(c, 0);
	pair_wait(&p, &p.s.ended, 1);
	h2_leave(c);
	assert_null(h2_request(c, NULL, 0, true));
	pair_answer(p.s.stream, 1);
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	pair_wait(&p, &p.s.lost, 1);
	pair_stop(&p);
}

static void on_drained(void *user)
{
	++*(int *)user;
}

static void draining_says_goodbye_and_waits(void **state)
{
	struct h2_conn *c;
	struct pair p;
	int drained = 0;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	c = pair_join(&p);
	pair_ask(c, 0);
	pair_wait(&p, &p.s.ended, 1);
	h2_drain(p.server, on_drained, &drained);
	pair_wait(&p, &p.c.going, 1);
	assert_null(h2_request(c, NULL, 0, true));
	assert_int_equal(drained + p.s.lost, 0);
	pair_answer(p.s.stream, 1);
	pair_wait(&p, &drained, 1);
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_int_equal(p.c.lost, 1);
	pair_stop(&p);
}

/* A peer that neither answers the drain's PING nor closes is closed by the server. */
static void draining_does_not_wait_for_the_deaf(void **state)
{
	struct pair p;
	int drained = 0, fd;

	pair_start(&p, (struct h2_config){ 0 });
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_wait(&p, &p.s.open, 1);
	h2_drain(p.server, on_drained, &drained);
	pair_wait(&p, &drained, 1);
	close(fd);
	pair_stop(&p);
}

static int connect_to(struct endpoint at)
{
	struct sockaddr_storage sa;
	socklen_t n = endpoint_to_sockaddr(&at, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&sa, n), 0);
	return fd;
}

/* Some client libraries do not read while idle: the drain must not wait a second for them. */
static void draining_does_not_wait_for_bystanders(void **state)
{
	static const char goaway[] = { 0, 0, 8, 7, 0, 0, 0, 0, 0 };
	struct pair p;
	char heard[4096];
	int drained = 0, fd;
	int64_t began;
	ssize_t n;

	pair_start(&p, (struct h2_config){ 0 });
	fd = connect_to(h2_endpoint(p.server));
	pair_say(fd, pair_preface);
	pair_wait(&p, &p.s.open, 1);
	began = loop_monotonic();
	h2_drain(p.server, on_drained, &drained);
	pair_wait(&p, &drained, 1);
	assert_true(loop_monotonic() - began < 900 * MS);
	assert_string_equal(p.s.why, "shutting down");
	n = recv(fd, heard, sizeof(heard), MSG_WAITALL);
	assert_true(n > 0 && memmem(heard, (size_t)n, goaway, sizeof(goaway)));
	close(fd);
	pair_stop(&p);
}

static void who_says_nothing_is_closed(void **state)
{
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ .handshake_timeout = 30 * MS });
	fd = pair_adopt(&p);
	pair_say(fd, STR("PRI * HTTP"));
	pair_wait(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "handshake timed out");
	assert_int_equal(h2_host_stats(p.server)->timeouts, 1);
	close(fd);
	pair_stop(&p);
}

/* Slowloris: HEADERS that never end. */
static void headers_that_do_not_end_are_closed(void **state)
{
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ .handshake_timeout = 30 * MS });
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_say(fd, STR("\0\0\x10\1\0\0\0\0\1\x83\x86"));
	pair_wait(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "headers did not come in time");
	assert_int_equal(p.s.began, 1);
	assert_int_equal(p.s.closed, 1);
	close(fd);
	pair_stop(&p);
}

/* A refused header block is complete, so its timeout must not end the connection. */
static void headers_that_are_refused_close_nothing_later(void **state)
{
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ .handshake_timeout = 30 * MS, .keepalive = 100 * MS });
	p.s.silent = true;
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_say(fd, pair_request);
	pair_wait(&p, &p.s.ended, 1);
	pair_say(fd, STR("\0\0\1\1\5\0\0\0\3\x83")); /* without :scheme and :path */
	pair_wait(&p, &p.s.closed, 1);
	assert_int_equal(p.s.error, H2_PROTOCOL_ERROR);
	pair_turn(&p, 60 * MS);
	assert_string_equal(p.s.why, ""); /* it was not lost */
	close(fd);
	pair_stop(&p);
}

#define GREAT_WINDOWS "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0"

/* The memory of a connection depends on what is queued, not on what was sent. */
static void a_slow_reader_of_much_costs_no_more_than_what_waits(void **state)
{
	const struct field status = { STR(":status"), STR("200") };
	char taken[16384];
	struct h2_stream *s;
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_say(fd, STR(GREAT_WINDOWS));
	pair_say(fd, pair_request);
	pair_wait(&p, &p.s.ended, 1);
	s = p.s.stream;
	h2_respond(s, &status, 1, false);
	pair_fill(h2_out(s), 'x', (size_t)1 << 20);
	for (int i = 0; i < 1000; i++) {
		pair_fill(h2_out(s), 'x', sizeof(taken));
		h2_sent(s);
		ev_run(p.loop, EVRUN_NOWAIT);
		assert_true(recv(fd, taken, sizeof(taken), 0) > 0);
	}
	assert_in_range(stream_held(&h2_stream_conn(s)->stream), 1, 512 * 1024);
	close(fd);
	pair_stop(&p);
}

struct listener {
	ev_io io;
	struct buf in;
	int pings;
};

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct listener *l = container_of(w, struct listener, io);
	char bytes[4096];
	ssize_t n = recv(w->fd, bytes, sizeof(bytes), 0);

	assert_true(n > 0);
	buf_add(&l->in, bytes, (size_t)n);
	l->pings = memmem(l->in.p, l->in.n, "\0\0\x8\6\0", 5) != NULL;
}

static void silence_is_asked_about(void **state)
{
	struct listener l = { 0 };
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ .keepalive = 30 * MS });
	fd = pair_adopt(&p);
	ev_io_init(&l.io, on_readable, fd, EV_READ);
	ev_io_start(p.loop, &l.io);
	pair_say(fd, pair_preface);
	pair_wait(&p, &l.pings, 1);
	assert_int_equal(p.s.lost, 0);
	ev_io_stop(p.loop, &l.io);
	close(fd);
	pair_wait(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "closed by the peer");
	buf_free(&l.in);
	pair_stop(&p);
}

static void idle_connections_are_told_to_go(void **state)
{
	struct pair p;

	pair_start(&p, (struct h2_config){ .idle_timeout = 30 * MS });
	pair_ask(pair_join(&p), 0);
	pair_wait(&p, &p.c.going, 1);
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	pair_stop(&p);
}

static void over_the_limit_the_longest_idle_makes_room(void **state)
{
	struct h2_conn *busy;
	struct pair p;
	int fds[3];

	pair_start(&p, (struct h2_config){ .max_connections = 2 });
	p.s.silent = true;
	busy = pair_join(&p);
	pair_ask(busy, 0);
	pair_wait(&p, &p.s.ended, 1);
	for (int i = 0; i < 3; i++) {
		fds[i] = pair_adopt(&p);
		pair_say(fds[i], pair_preface);
		pair_wait(&p, &p.s.open, 2 + i);
	}
	assert_int_equal(p.s.lost, 2);
	assert_string_equal(p.s.why, "closed to make room for other connections");
	assert_int_equal(h2_host_stats(p.server)->evicted, 2);
	assert_int_equal(p.s.closed, 0); /* a connection with a stream is not idle */
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	pair_stop(&p);
}

static void when_all_are_busy_new_ones_are_refused(void **state)
{
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_connections = 1 });
	p.s.silent = true;
	pair_ask(pair_join(&p), 0);
	pair_wait(&p, &p.s.ended, 1);
	h2_connect(p.client, h2_endpoint(p.server), NULL, NULL);
	pair_wait(&p, &p.c.lost, 1);
	assert_int_equal(h2_host_stats(p.server)->refused, 1);
	assert_int_equal(p.c.closed, 0);
	pair_stop(&p);
}

/* A connection of that peer with a request that is not answered. Its position is counted. */
static int ask_from(struct pair *p, const char *address)
{
	int fd = pair_adopt_from(p, address), before = p->s.ended;

	pair_say(fd, pair_preface);
	pair_say(fd, pair_request);
	pair_wait(p, &p->s.ended, before + 1);
	return fd;
}

static bool is_closed(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		;
	return n == 0;
}

static void one_source_does_not_take_the_room_of_others(void **state)
{
	static const char *const peers[] = { "192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1",
					     "2001:db8::2" };
	int fds[ARRAY_SIZE(peers)], more[2];
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_connections = 8, .max_per_source = 2 });
	p.s.silent = true;
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++)
		fds[i] = ask_from(&p, peers[i]);
	more[0] = pair_adopt_from(&p, "192.0.2.1");
	more[1] = pair_adopt_from(&p, "2001:db8::3");
	assert_true(is_closed(more[0]) && is_closed(more[1]));
	assert_int_equal(h2_host_stats(p.server)->refused, 2);
	assert_int_equal(h2_host_stats(p.server)->connections, 5);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_false(is_closed(fds[i]));
		close(fds[i]);
	}
	close(more[0]);
	close(more[1]);
	pair_stop(&p);
}

static void connections_with_minor_streams_make_room(void **state)
{
	int used, minor[2], fd;
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_connections = 3, .max_per_source = 3 });
	p.s.silent = true;
	used = ask_from(&p, "192.0.2.1");
	p.s.minor = true;
	minor[0] = ask_from(&p, "192.0.2.2");
	minor[1] = ask_from(&p, "192.0.2.3");
	p.s.minor = false;
	fd = ask_from(&p, "192.0.2.4");
	assert_true(is_closed(minor[0])); /* the oldest of them */
	assert_false(is_closed(minor[1]) || is_closed(used));
	assert_int_equal(h2_host_stats(p.server)->evicted, 1);
	close(minor[0]);
	minor[0] = ask_from(&p, "192.0.2.4");
	assert_true(is_closed(minor[1]));
	close(minor[1]);
	minor[1] = pair_adopt_from(&p, "192.0.2.5");
	assert_true(is_closed(minor[1])); /* all are in use */
	close(fd);
	close(used);
	close(minor[0]);
	close(minor[1]);
	pair_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered_with_trailers),
		cmocka_unit_test(large_bodies_cross_small_windows),
		cmocka_unit_test(both_ways_at_once_do_not_lock),
		cmocka_unit_test(data_may_come_later),
		cmocka_unit_test(a_reset_is_heard_by_the_other_side_only),
		cmocka_unit_test(a_refused_connection_is_told_from_the_loop),
		cmocka_unit_test(an_address_without_a_way_is_told_from_the_loop),
		cmocka_unit_test(a_name_that_cannot_be_verified_is_not_connected_to_in_plaintext),
		cmocka_unit_test(leaving_waits_for_the_last_stream),
		cmocka_unit_test(draining_says_goodbye_and_waits),
		cmocka_unit_test(draining_does_not_wait_for_the_deaf),
		cmocka_unit_test(draining_does_not_wait_for_bystanders),
		cmocka_unit_test(who_says_nothing_is_closed),
		cmocka_unit_test(headers_that_do_not_end_are_closed),
		cmocka_unit_test(headers_that_are_refused_close_nothing_later),
		cmocka_unit_test(a_slow_reader_of_much_costs_no_more_than_what_waits),
		cmocka_unit_test(silence_is_asked_about),
		cmocka_unit_test(idle_connections_are_told_to_go),
		cmocka_unit_test(over_the_limit_the_longest_idle_makes_room),
		cmocka_unit_test(one_source_does_not_take_the_room_of_others),
		cmocka_unit_test(connections_with_minor_streams_make_room),
		cmocka_unit_test(when_all_are_busy_new_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
