/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"

/* A stream under test: `total` bytes in slices, or lines on demand. */
struct source {
	struct kit kit;
	size_t total, made, calls;
	size_t largest; /* what out held at most when the producer had added its slice */
	struct http_exchange *x;
	bool waits;	   /* says WAIT when it has nothing, instead of END */
	bool drain_within; /* drains the server from within the producer */
	bool known;	   /* tells the length */
	size_t lost_at;	   /* from here on it is gone; 0: never */
	unsigned closed;
	int64_t closed_at;
	bool whole;
	unsigned drained;
};

static char byte_at(size_t i)
{
	return (char)('a' + i % 23);
}

static void on_drained(void *user)
{
	((struct source *)user)->drained++;
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	struct source *s = user;
	size_t n = s->total - s->made < HTTP_SLICE ? s->total - s->made : HTTP_SLICE;

	s->calls++;
	if (s->lost_at && s->made >= s->lost_at)
		return HTTP_STREAM_LOST;
	if (s->drain_within)
		http_server_drain(s->kit.server, on_drained, s);
	s->drain_within = false;
	for (size_t i = 0; i < n; i++)
		buf_addc(out, byte_at(s->made + i));
	s->made += n;
	if (out->n > s->largest)
		s->largest = out->n;
	if (s->made < s->total)
		return HTTP_STREAM_MORE;
	return s->waits ? HTTP_STREAM_WAIT : HTTP_STREAM_END;
}

static void on_closed(bool whole, void *user)
{
	struct source *s = user;

	s->closed++;
	s->closed_at = loop_monotonic();
	s->whole = whole;
	s->x = NULL;
}

static void on_stream(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct source *s = user;

	s->x = x;
	http_reply_stream(x, 200, "text/plain",
			  &(struct http_stream){ produce, on_closed, user,
						 s->known ? s->total : 0 });
}

static void on_hello(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", STR("hello\n"));
}

static const struct http_route routes[] = {
	{ HTTP_GET, "/stream", on_stream },
	{ HTTP_GET, "/hello", on_hello },
};

static void start(struct source *s, struct http_server_config config)
{
	config.routes = routes;
	config.n_routes = ARRAY_SIZE(routes);
	config.user = s;
	kit_start(&s->kit, config);
}

static bool is_closed(void *arg)
{
	return ((struct source *)arg)->closed;
}

static bool is_drained(void *arg)
{
	return ((struct source *)arg)->drained;
}

static bool is_waiting(void *arg)
{
	struct source *s = arg;

	return s->made == s->total && s->calls;
}

/* The bytes behind the head are exactly the source's. */
static void assert_content(struct source *s, const char *p, size_t n)
{
	assert_int_equal(n, s->total);
	for (size_t i = 0; i < n; i++)
		assert_true(p[i] == byte_at(i));
}

static size_t head_len(struct client *c)
{
	return (size_t)(strstr(client_text(c), "\r\n\r\n") + 4 - client_text(c));
}

/* Undoes the chunks by the parser of responses; what follows the body is *ret_rest. */
static struct buf dechunk(struct client *c, struct str *ret_rest)
{
	struct buf content = { 0 };
	struct http_head head;
	struct http_body body;
	int at = http_parse_response(c->in.p, c->in.n, NULL, &head);

	assert_true(at > 0 && head.chunked);
	http_body_init(&body, &head, STR("GET"));
	while (!body.done) {
		struct str part;
		ssize_t r = http_body_feed(&body, c->in.p + at, c->in.n - (size_t)at, &part);

		assert_true(r > 0);
		buf_add(&content, part.p, part.n);
		at += (int)r;
	}
	*ret_rest = (struct str){ c->in.p + at, c->in.n - (size_t)at };
	return content;
}

static void a_stream_is_chunked_and_the_connection_kept(void **state)
{
	struct source s = { .total = 1000 * 1000 };
	struct buf content;
	struct client *c;
	struct str rest;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"
		       "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "hello\n");
	content = dechunk(c, &rest);
	assert_content(&s, content.p, content.n);
	assert_int_equal(strncmp(rest.p, "HTTP/1.1 200 OK\r\n", 17), 0);
	assert_int_equal(s.closed, 1);
	assert_true(s.whole);
	assert_int_equal(s.calls, s.total / HTTP_SLICE + 1);
	assert_int_equal(http_server_stats(s.kit.server)->cancelled, 0);
	buf_free(&content);
	client_free(c);
	kit_stop(&s.kit);
}

static void for_http_1_0_the_end_of_the_connection_ends_it(void **state)
{
	struct source s = { .total = 300 * 1000 };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	client_expect_close(c);
	assert_false(c->reset);
	assert_int_equal(client_count(c, "Transfer-Encoding"), 0);
	assert_int_equal(client_count(c, "Connection: close\r\n"), 1);
	assert_content(&s, client_text(c) + head_len(c), c->in.n - head_len(c));
	assert_true(s.closed == 1 && s.whole);
	client_free(c);
	kit_stop(&s.kit);
}

/* Then there is no need for chunks, nor for the connection's end. */
static void a_stream_may_tell_its_length(void **state)
{
	static const char *const asks[] = {
		"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		struct source s = { .total = 300 * 1000, .known = true };
		struct client *c;

		start(&s, (struct http_server_config){ 0 });
		c = client_new(&s.kit);
		client_send(c, asks[i]);
		kit_wait(&s.kit, is_closed, &s);
		client_send(c, "GET /hello HTTP/1.0\r\n\r\n");
		client_expect_close(c);
		assert_int_equal(client_count(c, "Content-Length: 300000\r\n"), 1);
		assert_int_equal(client_count(c, "Transfer-Encoding"), 0);
		assert_content(&s, client_text(c) + head_len(c), s.total);
		assert_int_equal(client_count(c, "\r\n\r\nhello\n"), 1);
		assert_true(s.closed == 1 && s.whole);
		client_free(c);
		kit_stop(&s.kit);
	}
}

static void head_of_a_stream_may_tell_its_length(void **state)
{
	struct source s = { .total = 1000, .known = true };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "HEAD /stream HTTP/1.0\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "Content-Length: 1000\r\n"), 1);
	assert_int_equal(c->in.n, head_len(c));
	assert_int_equal(s.calls, 0);
	client_free(c);
	kit_stop(&s.kit);
}

/* The client can tell: the length is not reached, the last chunk does not come. */
static void what_is_lost_ends_the_connection_before_its_time(void **state)
{
	for (int known = 0; known <= 1; known++) {
		struct source s = { .total = 1000 * 1000, .known = known, .lost_at = 500 * 1000 };
		struct client *c;

		start(&s, (struct http_server_config){ 0 });
		c = client_new(&s.kit);
		client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
		client_expect_close(c);
		assert_int_equal(client_count(c, "\r\n0\r\n\r\n"), 0);
		assert_in_range(c->in.n, 400 * 1000, 600 * 1000);
		assert_true(s.closed == 1 && !s.whole);
		assert_int_equal(http_server_stats(s.kit.server)->cancelled, 1);
		client_free(c);
		kit_stop(&s.kit);
	}
}

static void head_of_a_stream_produces_nothing(void **state)
{
	struct source s = { .total = 1000 };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(
		c,
		"HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "\r\n\r\nhello\n");
	assert_int_equal(client_count(c, "Transfer-Encoding: chunked\r\n"), 1);
	assert_int_equal(s.calls, 0);
	assert_true(s.closed == 1 && s.whole);
	client_free(c);
	kit_stop(&s.kit);
}

static void an_empty_stream_is_an_empty_body(void **state)
{
	struct source s = { .total = 0 };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "\r\n\r\n0\r\n\r\n");
	assert_true(s.closed == 1 && s.whole);
	client_free(c);
	kit_stop(&s.kit);
}

/* Endless for all that matters: what the client does not take is not made. */
static void a_reader_that_stops_is_given_up_and_costs_no_memory(void **state)
{
	struct source s = { .total = SIZE_MAX / 2 };
	struct client *c;

	start(&s, (struct http_server_config){ .write_timeout = 100 * NSEC_PER_MSEC });
	c = client_new(&s.kit);
	client_set_reading(c, false);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	kit_wait(&s.kit, is_closed, &s);
	assert_false(s.whole);
	assert_true(s.made < (size_t)64 * 1024 * 1024); /* the kernel's buffers */
	assert_true(s.largest <= HTTP_SLICE + 1024);
	assert_int_equal(http_server_stats(s.kit.server)->timeouts, 1);
	assert_int_equal(http_server_stats(s.kit.server)->cancelled, 1);
	assert_int_equal(http_server_stats(s.kit.server)->connections, 0);
	client_free(c);
	kit_stop(&s.kit);
}

/* Slower than the write timeout over all, faster than it per slice. */
static void a_slow_reader_that_keeps_reading_gets_all(void **state)
{
	const int64_t timeout = 500 * NSEC_PER_MSEC;
	struct source s = { .total = (size_t)8 * 1024 * 1024 };
	struct client *c;
	int64_t began;

	start(&s, (struct http_server_config){ .write_timeout = timeout });
	c = client_new(&s.kit);
	client_set_slow(c);
	client_send(c, "GET /stream HTTP/1.0\r\n\r\n");
	began = loop_monotonic();
	client_expect_close(c);
	assert_true(s.closed == 1 && s.whole);
	assert_true(s.closed_at - began > timeout);
	assert_content(&s, client_text(c) + head_len(c), c->in.n - head_len(c));
	client_free(c);
	kit_stop(&s.kit);
}

static void a_client_that_leaves_cancels_its_stream(void **state)
{
	struct source s = { .total = SIZE_MAX / 2 };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "abcdefg");
	client_free(c);
	kit_wait(&s.kit, is_closed, &s);
	assert_int_equal(s.closed, 1);
	assert_false(s.whole);
	assert_int_equal(http_server_stats(s.kit.server)->cancelled, 1);
	assert_int_equal(http_server_stats(s.kit.server)->timeouts, 0);
	kit_stop(&s.kit);
	assert_int_equal(s.closed, 1);
}

/* Longer than every timeout: to wait is not to be slow. */
static void a_stream_may_wait_and_be_woken(void **state)
{
	struct source s = { .total = 0, .waits = true };
	struct client *c;
	int64_t until;

	start(&s, (struct http_server_config){ .write_timeout = 20 * NSEC_PER_MSEC,
					       .idle_timeout = 20 * NSEC_PER_MSEC,
					       .request_timeout = 20 * NSEC_PER_MSEC });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	kit_wait(&s.kit, is_waiting, &s);
	until = loop_monotonic() + 60 * NSEC_PER_MSEC;
	while (loop_monotonic() < until)
		ev_run(s.kit.loop, EVRUN_NOWAIT);
	assert_int_equal(s.calls, 1);
	s.total = 3;
	http_wake(s.x);
	assert_int_equal(s.calls, 1); /* never from within */
	client_expect(c, "00000003\r\nabc\r\n");
	s.total = 5;
	s.waits = false;
	http_wake(s.x);
	client_expect(c, "00000002\r\nde\r\n0\r\n\r\n");
	assert_true(s.closed == 1 && s.whole);
	client_free(c);
	kit_stop(&s.kit);
}

static void a_client_that_leaves_a_waiting_stream_cancels_it(void **state)
{
	struct source s = { .total = 0, .waits = true };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	kit_wait(&s.kit, is_waiting, &s);
	client_expect(c, "\r\n\r\n"); /* all that was sent is read: the close is a plain one */
	client_free(c);
	kit_wait(&s.kit, is_closed, &s);
	assert_false(s.whole);
	kit_stop(&s.kit);
}

static void freeing_the_server_cancels_streams(void **state)
{
	struct source s = { .total = SIZE_MAX / 2 };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "abcdefg");
	http_server_free(s.kit.server);
	s.kit.server = NULL;
	assert_true(s.closed == 1 && !s.whole);
	client_expect_close(c);
	client_free(c);
	kit_stop(&s.kit);
}

static void draining_finishes_what_is_under_way_and_closes_the_rest(void **state)
{
	struct source s = { .total = (size_t)20 * 1024 * 1024 };
	struct endpoint at;
	struct client *idle, *busy, *half;

	start(&s, (struct http_server_config){ 0 });
	at = http_server_endpoint(s.kit.server);
	idle = client_new(&s.kit);
	client_send(idle, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(idle, "hello\n");
	half = client_new(&s.kit);
	client_send(half, "GET /hello HTTP/1.1\r\nHost: a\r\n");
	busy = client_new(&s.kit);
	client_send(busy, "GET /stream HTTP/1.0\r\n\r\n");
	client_expect(busy, "abcdefg");
	assert_int_equal(s.closed, 0);

	http_server_drain(s.kit.server, on_drained, &s);
	assert_null(client_new_at(&s.kit, at));
	client_expect_close(idle);
	assert_int_equal(s.drained, 0);
	client_send(half, "\r\n");
	client_expect_close(half);
	assert_int_equal(client_count(half, "hello\n"), 1);
	assert_int_equal(client_count(half, "Connection: close\r\n"), 1);
	client_expect_close(busy);
	assert_true(s.closed == 1 && s.whole);
	assert_content(&s, client_text(busy) + head_len(busy), busy->in.n - head_len(busy));
	client_free(idle);
	client_free(busy);
	client_free(half);
	kit_wait(&s.kit, is_drained, &s);
	assert_int_equal(s.drained, 1);
	kit_stop(&s.kit);
}

static void draining_an_unused_server_is_told_from_the_loop(void **state)
{
	struct source s = { 0 };

	start(&s, (struct http_server_config){ 0 });
	http_server_drain(s.kit.server, on_drained, &s);
	assert_int_equal(s.drained, 0);
	kit_wait(&s.kit, is_drained, &s);
	kit_stop(&s.kit);
}

static void draining_cancels_streams_that_wait(void **state)
{
	struct source s = { .total = 3, .waits = true };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "abc\r\n");
	http_server_drain(s.kit.server, on_drained, &s);
	kit_wait(&s.kit, is_drained, &s);
	assert_true(s.closed == 1 && !s.whole);
	client_expect_close(c);
	client_free(c);
	kit_stop(&s.kit);
}

static void a_producer_may_drain_its_server(void **state)
{
	struct source s = { .total = 3 * HTTP_SLICE, .drain_within = true };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect_close(c);
	assert_true(s.closed == 1 && s.whole);
	client_free(c);
	kit_wait(&s.kit, is_drained, &s);
	kit_stop(&s.kit);
}

static void a_stream_that_comes_to_wait_while_draining_is_cancelled(void **state)
{
	struct source s = { .total = 3 * HTTP_SLICE, .drain_within = true, .waits = true };
	struct client *c;

	start(&s, (struct http_server_config){ 0 });
	c = client_new(&s.kit);
	client_send(c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	kit_wait(&s.kit, is_drained, &s);
	assert_int_equal(s.made, s.total);
	assert_true(s.closed == 1 && !s.whole);
	client_free(c);
	kit_stop(&s.kit);
}

/* A request that has arrived but was not read yet is not idleness. */
static void draining_serves_requests_that_already_arrived(void **state)
{
	struct source s = { 0 };
	struct client *kept, *fresh;

	start(&s, (struct http_server_config){ 0 });
	kept = client_new(&s.kit);
	client_send(kept, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(kept, "hello\n");
	client_send(kept, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	fresh = client_new(&s.kit);
	client_send(fresh, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	http_server_drain(s.kit.server, on_drained, &s);
	client_expect_close(kept);
	client_expect_close(fresh);
	assert_int_equal(client_count(kept, "hello\n"), 2);
	assert_int_equal(client_count(fresh, "hello\n"), 1);
	client_free(kept);
	client_free(fresh);
	kit_wait(&s.kit, is_drained, &s);
	kit_stop(&s.kit);
}

/* A client that connected just before the drain may have sent its request just after it. */
static void draining_waits_for_the_first_request_of_a_connection(void **state)
{
	struct source s = { 0 };
	struct client *fresh, *silent;

	start(&s, (struct http_server_config){ 0 });
	fresh = client_new(&s.kit);
	silent = client_new(&s.kit);
	http_server_drain(s.kit.server, on_drained, &s);
	client_send(fresh, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect_close(fresh);
	assert_int_equal(client_count(fresh, "hello\n"), 1);
	client_expect_close(silent);
	client_free(fresh);
	client_free(silent);
	kit_wait(&s.kit, is_drained, &s);
	kit_stop(&s.kit);
}

/* Many streams at once, each slice of which takes all the time that a turn has for them. */
#define CROWD 8
#define CROWD_SLICES 6

struct crowd {
	struct kit kit;
	struct member {
		struct crowd *crowd;
		unsigned made;
	} members[CROWD];
	unsigned n, ended;
	unsigned turn, in_turn, most_in_turn; /* slices */
	unsigned fewest;		      /* slices of any member when the first ended */
};

static void burn(int64_t ns)
{
	int64_t until = loop_monotonic() + ns;

	while (loop_monotonic() < until)
		;
}

static void note_turn(struct crowd *c)
{
	if (ev_iteration(c->kit.loop) != c->turn)
		c->in_turn = 0;
	c->turn = ev_iteration(c->kit.loop);
	if (++c->in_turn > c->most_in_turn)
		c->most_in_turn = c->in_turn;
}

static enum http_stream_state produce_slowly(struct buf *out, void *user)
{
	struct member *m = user;

	note_turn(m->crowd);
	burn(2 * NSEC_PER_MSEC);
	buf_addc(out, 'x');
	return ++m->made < CROWD_SLICES ? HTTP_STREAM_MORE : HTTP_STREAM_END;
}

static void on_member_closed(bool whole, void *user)
{
	struct crowd *c = ((struct member *)user)->crowd;

	assert_true(whole);
	for (size_t i = 0; !c->ended && i < CROWD; i++)
		if (c->members[i].made < c->fewest)
			c->fewest = c->members[i].made;
	c->ended++;
}

static void on_crowd(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct crowd *c = user;
	struct member *m = &c->members[c->n++];

	m->crowd = c;
	http_reply_stream(x, 200, "text/plain",
			  &(struct http_stream){ produce_slowly, on_member_closed, m, 0 });
}

static bool is_crowd_served(void *arg)
{
	return ((struct crowd *)arg)->ended == CROWD;
}

static void many_streams_take_turns_and_no_turn_of_the_loop_is_long(void **state)
{
	static const struct http_route crowd_routes[] = { { HTTP_GET, "/crowd", on_crowd } };
	struct crowd c = { .fewest = CROWD_SLICES };
	struct client *clients[CROWD];

	kit_start(&c.kit,
		  (struct http_server_config){ .routes = crowd_routes, .n_routes = 1, .user = &c });
	for (size_t i = 0; i < CROWD; i++) {
		clients[i] = client_new(&c.kit);
		client_send(clients[i], "GET /crowd HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	kit_wait(&c.kit, is_crowd_served, &c);
	assert_int_equal(c.most_in_turn, 1);
	assert_true(c.fewest >= CROWD_SLICES - 2);
	for (size_t i = 0; i < CROWD; i++)
		client_free(clients[i]);
	kit_stop(&c.kit);
}

/* Sends requests as fast as the socket takes them, throws the answers away and never closes. */
struct flooder {
	int fd;
	size_t at; /* of what it sends again and again */
	ev_io io;
};

#define FLOODERS 50
#define FLOOD_REQUESTS 200

static void on_flooder(struct ev_loop *loop, ev_io *w, int revents)
{
	static const char request[] = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
	struct flooder *f = container_of(w, struct flooder, io);
	static char many[FLOOD_REQUESTS * (sizeof(request) - 1)];
	static char nowhere[65536];
	ssize_t n;

	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = request[i % (sizeof(request) - 1)];
	if (recv(f->fd, nowhere, sizeof(nowhere), 0) == 0) {
		ev_io_stop(loop, w); /* it still does not close its side */
		return;
	}
	n = send(f->fd, many + f->at, sizeof(many) - f->at, MSG_NOSIGNAL);
	if (n > 0)
		f->at = (f->at + (size_t)n) % sizeof(many);
}

static struct flooder *flooder_start(struct flooder *f, struct kit *kit)
{
	struct endpoint at = http_server_endpoint(kit->server);
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&at, &sa);

	f->at = 0;
	f->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(f->fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(fcntl(f->fd, F_SETFL, O_NONBLOCK), 0);
	ev_io_init(&f->io, on_flooder, f->fd, EV_READ | EV_WRITE);
	ev_io_start(kit->loop, &f->io);
	return f;
}

static bool has_served_many(void *arg)
{
	return http_server_stats(((struct source *)arg)->kit.server)->requests > 5000;
}

static void draining_is_fast_while_clients_flood(void **state)
{
	struct flooder flooders[FLOODERS];
	struct source s = { 0 };
	int64_t began;

	start(&s, (struct http_server_config){ 0 });
	for (size_t i = 0; i < FLOODERS; i++)
		flooder_start(&flooders[i], &s.kit);
	kit_wait(&s.kit, has_served_many, &s);
	began = loop_monotonic();
	http_server_drain(s.kit.server, on_drained, &s);
	kit_wait(&s.kit, is_drained, &s);
	assert_true(loop_monotonic() - began < NSEC_PER_SEC);
	for (size_t i = 0; i < FLOODERS; i++) {
		ev_io_stop(s.kit.loop, &flooders[i].io);
		close(flooders[i].fd);
	}
	kit_stop(&s.kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_chunked_and_the_connection_kept),
		cmocka_unit_test(for_http_1_0_the_end_of_the_connection_ends_it),
		cmocka_unit_test(a_stream_may_tell_its_length),
		cmocka_unit_test(head_of_a_stream_may_tell_its_length),
		cmocka_unit_test(what_is_lost_ends_the_connection_before_its_time),
		cmocka_unit_test(head_of_a_stream_produces_nothing),
		cmocka_unit_test(an_empty_stream_is_an_empty_body),
		cmocka_unit_test(a_reader_that_stops_is_given_up_and_costs_no_memory),
		cmocka_unit_test(a_slow_reader_that_keeps_reading_gets_all),
		cmocka_unit_test(a_client_that_leaves_cancels_its_stream),
		cmocka_unit_test(a_stream_may_wait_and_be_woken),
		cmocka_unit_test(a_client_that_leaves_a_waiting_stream_cancels_it),
		cmocka_unit_test(freeing_the_server_cancels_streams),
		cmocka_unit_test(draining_finishes_what_is_under_way_and_closes_the_rest),
		cmocka_unit_test(draining_an_unused_server_is_told_from_the_loop),
		cmocka_unit_test(draining_cancels_streams_that_wait),
		cmocka_unit_test(a_producer_may_drain_its_server),
		cmocka_unit_test(a_stream_that_comes_to_wait_while_draining_is_cancelled),
		cmocka_unit_test(draining_serves_requests_that_already_arrived),
		cmocka_unit_test(draining_waits_for_the_first_request_of_a_connection),
		cmocka_unit_test(many_streams_take_turns_and_no_turn_of_the_loop_is_long),
		cmocka_unit_test(draining_is_fast_while_clients_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
