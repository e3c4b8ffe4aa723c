/* SPDX-License-Identifier: Apache-2.0 */
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

static void on_open(struct h2_conn *c, void *user)
{
	((struct side *)user)->open++;
}

static void on_settings(struct h2_conn *c, void *user)
{
	((struct side *)user)->settings++;
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
	assert_int_equal(*(int *)h2_stream_area(s), 0);
	*(int *)h2_stream_area(s) = side->began;
	assert_ptr_equal(h2_stream_of(h2_stream_area(s)), s);
}

static void on_header(struct h2_stream *s, struct str name, struct str value, void *user)
{
	struct side *side = user;

	buf_printf(&side->headers, "%.*s=%.*s;", (int)name.n, name.p, (int)value.n, value.p);
}

static void on_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	struct side *side = user;

	side->blocks++;
	side->kinds[block]++;
	side->told_last = h2_is_ended(s);
}

static void on_data(struct h2_stream *s, struct str bytes, void *user)
{
	struct side *side = user;

	buf_add(&side->data, bytes.p, bytes.n);
	side->bytes += (int)bytes.n;
	if (side->hungry != s && !side->all_hungry)
		h2_consume(s, bytes.n);
}

void pair_fill(struct buf *out, char c, size_t n)
{
	buf_reserve(out, n + 1);
	memset(out->p + out->n, c, n);
	out->n += n;
}

void pair_answer(struct h2_stream *s, size_t n)
{
	const struct field fields[] = { { STR(":status"), STR("200") }, { STR("X-A"), STR("1") } };
	const struct field trailer = { STR("x-trailer"), STR("2") };

	assert_int_equal(h2_respond(s, fields, 2, false), 0);
	pair_fill(h2_out(s), 'a', n);
	h2_sent(s);
	assert_int_equal(h2_end(s, &trailer, 1), 0);
}

static void on_end(struct h2_stream *s, void *user)
{
	struct side *side = user;

	side->ended++;
	if (side->minor)
		h2_set_minor(s);
	if (side->began && !side->silent)
		pair_answer(s, side->answer);
}

static void on_writable(struct h2_stream *s, void *user)
{
	((struct side *)user)->writable++;
}

static void on_settled(struct h2_conn *c, void *user)
{
	((struct side *)user)->settled++;
}

static void on_closed(struct h2_stream *s, uint32_t error, void *user)
{
	struct side *side = user;

	side->closed++;
	side->refused += error == H2_REFUSED_STREAM;
	side->error = error;
	side->stream = NULL;
}

const struct h2_events pair_events = {
	.open = on_open,
	.settings = on_settings,
	.going = on_going,
	.settled = on_settled,
	.lost = on_lost,
	.begin = on_begin,
	.header = on_header,
	.headers = on_headers,
	.data = on_data,
	.end = on_end,
	.writable = on_writable,
	.closed = on_closed,
};

void pair_start(struct pair *p, struct h2_config config)
{
	*p = (struct pair){ .loop = ev_loop_new(EVFLAG_AUTO) };
	if (!config.events)
		config.events = &pair_events;
	config.stream_area = sizeof(int);
	config.server = true;
	config.user = &p->s;
	p->server = h2_host_new(p->loop, &config);
	config.server = false;
	config.user = &p->c;
	config.keepalive = config.idle_timeout = 0;
	p->client = h2_host_new(p->loop, &config);
	assert_int_equal(h2_listen(p->server,
				   (struct endpoint){ .addr = { AF_INET, { 127, 0, 0, 1 } } }),
			 0);
}

void pair_stop(struct pair *p)
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

void pair_wait(struct pair *p, const int *number, int n)
{
	bool too_long = false;
	ev_timer patience;

	ev_timer_init(&patience, on_out_of_patience, PAIR_PATIENCE, 0);
	patience.data = &too_long;
	ev_now_update(p->loop);
	ev_timer_start(p->loop, &patience);
	while (!too_long && *number < n)
		ev_run(p->loop, EVRUN_ONCE);
	ev_timer_stop(p->loop, &patience);
	assert_false(too_long);
}

void pair_turn(struct pair *p, int64_t ns)
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

struct h2_conn *pair_join(struct pair *p)
{
	struct h2_conn *c = h2_connect(p->client, h2_endpoint(p->server), NULL, NULL);

	pair_wait(p, &p->c.open, p->c.open + 1);
	return c;
}

const struct field pair_post[] = { { { ":method", 7 }, { "POST", 4 } },
				   { { ":scheme", 7 }, { "http", 4 } },
				   { { ":path", 5 }, { "/x", 2 } },
				   { { ":authority", 10 }, { "a", 1 } } };

struct h2_stream *pair_ask(struct h2_conn *c, size_t n)
{
	struct h2_stream *s = h2_request(c, pair_post, ARRAY_SIZE(pair_post), false);

	assert_non_null(s);
	pair_fill(h2_out(s), 'q', n);
	assert_int_equal(h2_queued(s), n);
	h2_end(s, NULL, 0);
	return s;
}

/* A raw peer of the server: its end of a pair of sockets. */
int pair_adopt_from(struct pair *p, const char *address)
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

int pair_adopt(struct pair *p)
{
	return pair_adopt_from(p, NULL);
}

static void on_ready(struct stream *s, unsigned what)
{
}

static void on_failed(struct stream *s, int error)
{
}

static const struct stream_events raw_events = { .ready = on_ready, .closed = on_failed };

int pair_serve(struct pair *p, struct h2_conn **ret, struct str early)
{
	struct stream from;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
	stream_init(&from, p->loop, TASK_ORDINARY, &raw_events);
	stream_adopt(&from, fds[0]);
	*ret = h2_take(p->client, &from, early, (struct endpoint){ 0 });
	assert_non_null(*ret);
	assert_int_equal(from.fd, -1);
	stream_end(&from);
	return fds[1];
}

void pair_say(int fd, struct str bytes)
{
	assert_int_equal(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL), bytes.n);
}

const struct str pair_preface = STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");

/* HEADERS of a complete request. */
const struct str pair_request = STR("\0\0\6\1\5\0\0\0\1\x83\x86\x84\x41\1a");
