/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client and server on one loop, or one of them and a raw socket. Abuse is tested with a gRPC
 * server, in lib/grpc/abuse_test.c.
 */
#include "lib/h2/h2.h"

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

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"

#define PATIENCE 20.0 /* s */
#define MS NSEC_PER_MSEC

/* What the callbacks of one side have recorded. */
struct side {
	int open, going, lost, began, blocks, ended, closed;
	uint32_t error;
	char why[160];
	struct buf headers; /* "name=value;" */
	struct buf data;
	struct h2_stream *stream; /* the last one */
	bool silent;		  /* the server does not answer */
	bool minor;		  /* the server calls streams minor */
	struct ev_loop *loop;
	size_t answer; /* bytes of the answer's body */
};

struct pair {
	struct ev_loop *loop;
	struct h2_host *server, *client;
	struct side s, c;
};

static void on_open(struct h2_conn *c, void *user)
{
	((struct side *)user)->open++;
}

static void on_going(struct h2_conn *c, void *user)
{
	((struct side *)user)->going++;
}

static void on_lost(struct h2_conn *c, const char *why, void *user)
{
	struct side *side = user;

	side->lost++;
	snprintf(side->why, sizeof(side->why), "%s", why);
}

static void on_begin(struct h2_stream *s, void *user)
{
	struct side *side = user;

	side->began++;
	side->stream = s;
	*(int *)h2_stream_area(s) += side->began; /* zeroed before */
	assert_ptr_equal(h2_stream_of(h2_stream_area(s)), s);
}

static void on_header(struct h2_stream *s, struct str name, struct str value, void *user)
{
	struct side *side = user;

	buf_printf(&side->headers, "%.*s=%.*s;", (int)name.n, name.p, (int)value.n, value.p);
}

static void on_headers(struct h2_stream *s, void *user)
{
	((struct side *)user)->blocks++;
}

static void on_data(struct h2_stream *s, struct str bytes, void *user)
{
	buf_add(&((struct side *)user)->data, bytes.p, bytes.n);
}

static void add_many(struct buf *out, char c, size_t n)
{
	buf_reserve(out, n + 1);
	memset(out->p + out->n, c, n);
	out->n += n;
}

static void answer(struct h2_stream *s, size_t n)
{
	const struct h2_field fields[] = { { ":status", STR("200") }, { "x-a", STR("1") } };

	h2_respond(s, fields, 2, false);
	add_many(h2_out(s), 'a', n);
	h2_sent(s);
	h2_end(s);
}

static void on_end(struct h2_stream *s, void *user)
{
	struct side *side = user;

	side->ended++;
	if (side->minor)
		h2_set_minor(s);
	if (side->began && !side->silent)
		answer(s, side->answer);
}

static void on_finish(struct h2_stream *s, void *user)
{
	const struct h2_field field = { "x-trailer", STR("2") };

	h2_trailers(s, &field, 1);
}

static void on_closed(struct h2_stream *s, uint32_t error, void *user)
{
	struct side *side = user;

	side->closed++;
	side->error = error;
	side->stream = NULL;
}

static const struct h2_events events = {
	on_open, on_going, on_lost, on_begin,  on_header, on_headers,
	on_data, on_end,   NULL,    on_finish, on_closed,
};

static void start(struct pair *p, struct h2_config config)
{
	*p = (struct pair){ .loop = ev_loop_new(EVFLAG_AUTO) };
	config.events = &events;
	config.stream_area = sizeof(int);
	config.server = true;
	config.user = &p->s;
	p->server = h2_host_new(p->loop, &config);
	config.server = false;
	config.user = &p->c;
	config.keepalive = 0;
	p->client = h2_host_new(p->loop, &config);
	assert_int_equal(h2_listen(p->server,
				   (struct endpoint){ .addr = { AF_INET, { 127, 0, 0, 1 } } }),
			 0);
}

static void stop(struct pair *p)
{
	h2_host_free(p->client);
	h2_host_free(p->server);
	buf_free(&p->s.headers);
	buf_free(&p->s.data);
	buf_free(&p->c.headers);
	buf_free(&p->c.data);
	ev_loop_destroy(p->loop);
}

static void on_out_of_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
	*(bool *)w->data = true;
}

static void wait_for(struct pair *p, const int *number, int n)
{
	bool too_long = false;
	ev_timer patience;

	ev_timer_init(&patience, on_out_of_patience, PATIENCE, 0);
	patience.data = &too_long;
	ev_now_update(p->loop);
	ev_timer_start(p->loop, &patience);
	while (!too_long && *number < n)
		ev_run(p->loop, EVRUN_ONCE);
	ev_timer_stop(p->loop, &patience);
	assert_false(too_long);
}

static void turn_for(struct pair *p, int64_t ns)
{
	bool over = false;
	ev_timer timer;

	ev_timer_init(&timer, on_out_of_patience, loop_seconds(ns), 0);
	timer.data = &over;
	ev_now_update(p->loop);
	ev_timer_start(p->loop, &timer);
	while (!over)
		ev_run(p->loop, EVRUN_ONCE);
}

static struct h2_conn *join(struct pair *p)
{
	struct h2_conn *c = h2_connect(p->client, h2_endpoint(p->server), NULL, NULL);

	wait_for(p, &p->c.open, p->c.open + 1);
	return c;
}

static struct h2_stream *ask(struct h2_conn *c, size_t n)
{
	const struct h2_field fields[] = { { ":method", STR("POST") },
					   { ":scheme", STR("http") },
					   { ":path", STR("/x") },
					   { ":authority", STR("a") } };
	struct h2_stream *s = h2_request(c, fields, ARRAY_SIZE(fields));

	assert_non_null(s);
	add_many(h2_out(s), 'q', n);
	assert_int_equal(h2_queued(s), n);
	h2_end(s);
	return s;
}

/* A raw peer of the server: its end of a pair of sockets. */
static int adopt_from(struct pair *p, const char *address)
{
	struct endpoint peer = { 0 };
	int fds[2];

	if (address)
		assert_int_equal(addr_parse(address, &peer.addr), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
	h2_adopt(p->server, fds[0], peer);
	return fds[1];
}

static int adopt(struct pair *p)
{
	return adopt_from(p, NULL);
}

static void say(int fd, struct str bytes)
{
	assert_int_equal(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL), bytes.n);
}

static const struct str preface = STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");

/* HEADERS of a complete request. */
static const struct str request = STR("\0\0\6\1\5\0\0\0\1\x83\x86\x84\x41\1a");

/* ---- tests ---- */

static void a_request_is_answered_with_trailers(void **state)
{
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	p.s.answer = 5;
	ask(join(&p), 3);
	wait_for(&p, &p.c.closed, 1);
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
	stop(&p);
}

/* The windows are 16 KiB, so both bodies are sent in many pieces. */
static void large_bodies_cross_small_windows(void **state)
{
	struct pair p;

	start(&p, (struct h2_config){ .window = 16384 });
	p.s.answer = 2000000;
	ask(join(&p), 3000000);
	wait_for(&p, &p.c.closed, 1);
	assert_int_equal(p.s.data.n, 3000000);
	assert_int_equal(p.c.data.n, 2000000);
	stop(&p);
}

/* Both sides send much and read at the same time: neither may wait for the other. */
static void both_ways_at_once_do_not_lock(void **state)
{
	struct h2_conn *c;
	struct pair p;

	start(&p, (struct h2_config){ .window = 1 << 20 });
	p.s.answer = 1000000;
	c = join(&p);
	for (int i = 0; i < 20; i++)
		ask(c, 1000000);
	wait_for(&p, &p.c.closed, 20);
	assert_int_equal(p.s.data.n, 20000000);
	assert_int_equal(p.c.data.n, 20000000);
	stop(&p);
}

static void data_may_come_later(void **state)
{
	const struct h2_field status = { ":status", STR("200") };
	struct h2_stream *s;
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	ask(join(&p), 0);
	wait_for(&p, &p.s.ended, 1);
	s = p.s.stream;
	h2_respond(s, &status, 1, false);
	wait_for(&p, &p.c.blocks, 1);
	for (int i = 0; i < 3; i++) {
		buf_add_lit(h2_out(s), "more");
		h2_sent(s);
		while (p.c.data.n < 4 * (size_t)(i + 1))
			ev_run(p.loop, EVRUN_ONCE);
	}
	h2_end(s);
	wait_for(&p, &p.c.closed, 1);
	assert_string_equal(buf_cstr(&p.c.data), "moremoremore");
	stop(&p);
}

static void a_reset_is_heard_by_the_other_side_only(void **state)
{
	struct h2_conn *c;
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	c = join(&p);
	h2_reset(ask(c, 1), H2_CANCEL); /* before it was sent: the server never sees it */
	h2_reset(ask(c, 1), H2_CANCEL);
	ask(c, 1);
	wait_for(&p, &p.s.ended, 1);
	assert_int_equal(p.s.began, 1);
	h2_reset(p.s.stream, H2_INTERNAL_ERROR);
	wait_for(&p, &p.c.closed, 1);
	assert_int_equal(p.c.error, H2_INTERNAL_ERROR);
	assert_int_equal(p.s.closed, 0);
	stop(&p);
}

static void a_refused_connection_is_told_from_the_loop(void **state)
{
	struct endpoint to;
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	to = h2_endpoint(p.server);
	h2_host_free(TAKE_PTR(p.server));
	h2_connect(p.client, to, NULL, NULL);
	assert_int_equal(p.c.lost, 0);
	wait_for(&p, &p.c.lost, 1);
	assert_string_equal(p.c.why, "connect: connection refused");
	stop(&p);
}

static void an_address_without_a_way_is_told_from_the_loop(void **state)
{
	/* a broadcast address: connect() itself fails */
	const struct endpoint to = { .addr = { AF_INET, { 255, 255, 255, 255 } }, .port = 1 };
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	h2_connect(p.client, to, NULL, NULL);
	assert_int_equal(p.c.lost, 0);
	wait_for(&p, &p.c.lost, 1);
	assert_memory_equal(p.c.why, "connect: ", 9);
	stop(&p);
}

/* TLS with a name that cannot be verified must not fall back to plaintext. */
static void a_name_that_cannot_be_verified_is_not_connected_to_in_plaintext(void **state)
{
	struct tls_context *tls;
	char reason[128];
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	assert_int_equal(tls_h2_client_context_new(&(struct tls_files){ 0 }, &tls, reason,
						   sizeof(reason)),
			 0);
	h2_connect(p.client, h2_endpoint(p.server), tls, "");
	wait_for(&p, &p.c.lost, 1);
	assert_int_equal(p.c.open, 0);
	assert_memory_equal(p.c.why, "connect: ", 9);
	stop(&p);
	tls_context_free(tls);
}

static void leaving_waits_for_the_last_stream(void **state)
{
	struct h2_conn *c;
	struct pair p;

	start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	c = join(&p);
	ask(c, 0);
	wait_for(&p, &p.s.ended, 1);
	h2_leave(c);
	assert_null(h2_request(c, NULL, 0));
	answer(p.s.stream, 1);
	wait_for(&p, &p.c.lost, 1);
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	wait_for(&p, &p.s.lost, 1);
	stop(&p);
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

	start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	c = join(&p);
	ask(c, 0);
	wait_for(&p, &p.s.ended, 1);
	h2_drain(p.server, on_drained, &drained);
	wait_for(&p, &p.c.going, 1);
	assert_null(h2_request(c, NULL, 0));
	assert_int_equal(drained + p.s.lost, 0);
	answer(p.s.stream, 1);
	wait_for(&p, &drained, 1);
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	assert_int_equal(p.c.lost, 1);
	stop(&p);
}

/* A peer that neither answers the drain's PING nor closes is closed by the server. */
static void draining_does_not_wait_for_the_deaf(void **state)
{
	struct pair p;
	int drained = 0, fd;

	start(&p, (struct h2_config){ 0 });
	fd = adopt(&p);
	say(fd, preface);
	wait_for(&p, &p.s.open, 1);
	h2_drain(p.server, on_drained, &drained);
	wait_for(&p, &drained, 1);
	close(fd);
	stop(&p);
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

	start(&p, (struct h2_config){ 0 });
	fd = connect_to(h2_endpoint(p.server));
	say(fd, preface);
	wait_for(&p, &p.s.open, 1);
	began = loop_monotonic();
	h2_drain(p.server, on_drained, &drained);
	wait_for(&p, &drained, 1);
	assert_true(loop_monotonic() - began < 900 * MS);
	assert_string_equal(p.s.why, "shutting down");
	n = recv(fd, heard, sizeof(heard), MSG_WAITALL);
	assert_true(n > 0 && memmem(heard, (size_t)n, goaway, sizeof(goaway)));
	close(fd);
	stop(&p);
}

static void who_says_nothing_is_closed(void **state)
{
	struct pair p;
	int fd;

	start(&p, (struct h2_config){ .handshake_timeout = 30 * MS });
	fd = adopt(&p);
	say(fd, STR("PRI * HTTP"));
	wait_for(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "handshake timed out");
	assert_int_equal(h2_host_stats(p.server)->timeouts, 1);
	close(fd);
	stop(&p);
}

/* Slowloris: HEADERS that never end. */
static void headers_that_do_not_end_are_closed(void **state)
{
	struct pair p;
	int fd;

	start(&p, (struct h2_config){ .handshake_timeout = 30 * MS });
	fd = adopt(&p);
	say(fd, preface);
	say(fd, STR("\0\0\x10\1\0\0\0\0\1\x83\x86"));
	wait_for(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "headers did not come in time");
	assert_int_equal(p.s.began, 1);
	assert_int_equal(p.s.closed, 1);
	close(fd);
	stop(&p);
}

/* A refused header block is complete, so its timeout must not end the connection. */
static void headers_that_are_refused_close_nothing_later(void **state)
{
	struct pair p;
	int fd;

	start(&p, (struct h2_config){ .handshake_timeout = 30 * MS, .keepalive = 100 * MS });
	p.s.silent = true;
	fd = adopt(&p);
	say(fd, preface);
	say(fd, request);
	wait_for(&p, &p.s.ended, 1);
	say(fd, STR("\0\0\1\1\5\0\0\0\3\x83")); /* without :scheme and :path */
	wait_for(&p, &p.s.closed, 1);
	assert_int_equal(p.s.error, H2_PROTOCOL_ERROR);
	turn_for(&p, 60 * MS);
	assert_int_equal(p.s.lost, 0);
	close(fd);
	stop(&p);
}

#define GREAT_WINDOWS "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0"

/* The memory of a connection depends on what is queued, not on what was sent. */
static void a_slow_reader_of_much_costs_no_more_than_what_waits(void **state)
{
	const struct h2_field status = { ":status", STR("200") };
	char taken[16384];
	struct h2_stream *s;
	struct pair p;
	int fd;

	start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	fd = adopt(&p);
	say(fd, preface);
	say(fd, STR(GREAT_WINDOWS));
	say(fd, request);
	wait_for(&p, &p.s.ended, 1);
	s = p.s.stream;
	h2_respond(s, &status, 1, false);
	add_many(h2_out(s), 'x', (size_t)1 << 20);
	for (int i = 0; i < 1000; i++) {
		add_many(h2_out(s), 'x', sizeof(taken));
		h2_sent(s);
		ev_run(p.loop, EVRUN_NOWAIT);
		assert_true(recv(fd, taken, sizeof(taken), 0) > 0);
	}
	assert_in_range(stream_held(&h2_stream_conn(s)->stream), 1, 512 * 1024);
	close(fd);
	stop(&p);
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

	start(&p, (struct h2_config){ .keepalive = 30 * MS });
	fd = adopt(&p);
	ev_io_init(&l.io, on_readable, fd, EV_READ);
	ev_io_start(p.loop, &l.io);
	say(fd, preface);
	wait_for(&p, &l.pings, 1);
	assert_int_equal(p.s.lost, 0);
	ev_io_stop(p.loop, &l.io);
	close(fd);
	wait_for(&p, &p.s.lost, 1);
	assert_string_equal(p.s.why, "closed by the peer");
	buf_free(&l.in);
	stop(&p);
}

static void idle_connections_are_told_to_go(void **state)
{
	struct pair p;

	start(&p, (struct h2_config){ .idle_timeout = 30 * MS });
	ask(join(&p), 0);
	wait_for(&p, &p.c.going, 1);
	wait_for(&p, &p.c.lost, 1);
	assert_int_equal(p.c.closed, 1);
	assert_int_equal(p.c.error, H2_NO_ERROR);
	stop(&p);
}

static void over_the_limit_the_longest_idle_makes_room(void **state)
{
	struct h2_conn *busy;
	struct pair p;
	int fds[3];

	start(&p, (struct h2_config){ .max_connections = 2 });
	p.s.silent = true;
	busy = join(&p);
	ask(busy, 0);
	wait_for(&p, &p.s.ended, 1);
	for (int i = 0; i < 3; i++) {
		fds[i] = adopt(&p);
		say(fds[i], preface);
		wait_for(&p, &p.s.open, 2 + i);
	}
	assert_int_equal(p.s.lost, 2);
	assert_string_equal(p.s.why, "closed to make room for other connections");
	assert_int_equal(h2_host_stats(p.server)->evicted, 2);
	assert_int_equal(p.s.closed, 0); /* a connection with a stream is not idle */
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	stop(&p);
}

static void when_all_are_busy_new_ones_are_refused(void **state)
{
	struct pair p;

	start(&p, (struct h2_config){ .max_connections = 1 });
	p.s.silent = true;
	ask(join(&p), 0);
	wait_for(&p, &p.s.ended, 1);
	h2_connect(p.client, h2_endpoint(p.server), NULL, NULL);
	wait_for(&p, &p.c.lost, 1);
	assert_int_equal(h2_host_stats(p.server)->refused, 1);
	assert_int_equal(p.c.closed, 0);
	stop(&p);
}

/* A connection of that peer with a request that is not answered. Its position is counted. */
static int ask_from(struct pair *p, const char *address)
{
	int fd = adopt_from(p, address), before = p->s.ended;

	say(fd, preface);
	say(fd, request);
	wait_for(p, &p->s.ended, before + 1);
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

	start(&p, (struct h2_config){ .max_connections = 8, .max_per_source = 2 });
	p.s.silent = true;
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++)
		fds[i] = ask_from(&p, peers[i]);
	more[0] = adopt_from(&p, "192.0.2.1");
	more[1] = adopt_from(&p, "2001:db8::3");
	assert_true(is_closed(more[0]) && is_closed(more[1]));
	assert_int_equal(h2_host_stats(p.server)->refused, 2);
	assert_int_equal(h2_host_stats(p.server)->connections, 5);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_false(is_closed(fds[i]));
		close(fds[i]);
	}
	close(more[0]);
	close(more[1]);
	stop(&p);
}

static void connections_with_minor_streams_make_room(void **state)
{
	int used, minor[2], fd;
	struct pair p;

	start(&p, (struct h2_config){ .max_connections = 3, .max_per_source = 3 });
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
	minor[1] = adopt_from(&p, "192.0.2.5");
	assert_true(is_closed(minor[1])); /* all are in use */
	close(fd);
	close(used);
	close(minor[0]);
	close(minor[1]);
	stop(&p);
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
