/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests that a handler takes in pieces, and trailers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

/* A handler under test, and what it was told. */
struct taker {
	struct kit kit;
	struct http_exchange *x; /* while an answer is owed */
	struct buf got;
	unsigned pieces, ended, gone, closed, traced;
	char trailers[256];
	size_t takes_at_most; /* of one piece; 0: all */
	bool stops;	      /* takes nothing */
	bool early;	      /* answers when the first piece has come */
	bool echoes;	      /* answers with a stream of what comes */
	size_t echoed;
	bool whole;
};

static size_t on_piece(struct str piece, void *user)
{
	struct taker *t = user;
	size_t n = t->takes_at_most && t->takes_at_most < piece.n ? t->takes_at_most : piece.n;

	assert_true(piece.n > 0);
	t->pieces++;
	if (t->stops)
		return 0;
	buf_add(&t->got, piece.p, n);
	if (t->echoes)
		http_wake(t->x);
	if (t->early)
		http_reply(TAKE_PTR(t->x), 200, "text/plain", STR("enough\n"));
	return n;
}

static void note_trailers(struct taker *t, const struct field *trailers, size_t n)
{
	struct buf list = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "[%.*s=%.*s]", (int)trailers[i].name.n, trailers[i].name.p,
			   (int)trailers[i].value.n, trailers[i].value.p);
	snprintf(t->trailers, sizeof(t->trailers), "%s", buf_cstr(&list));
	buf_free(&list);
}

static void on_body_ends(const struct field *trailers, size_t n, void *user)
{
	struct taker *t = user;
	struct buf text = { 0 };

	t->ended++;
	note_trailers(t, trailers, n);
	if (t->echoes) {
		http_wake(t->x);
		return;
	}
	buf_printf(&text, "got %zu\n", t->got.n);
	http_reply(TAKE_PTR(t->x), 200, "text/plain", (struct str){ text.p, text.n });
	buf_free(&text);
}

static void on_gone(void *user)
{
	struct taker *t = user;

	t->gone++;
	t->x = NULL;
}

static const struct http_sink *sink_of(struct taker *t)
{
	static struct http_sink sink;

	sink = (struct http_sink){ on_piece, on_body_ends, on_gone, t };
	return &sink;
}

static void on_put(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct taker *t = user;

	assert_int_equal(request->body.n, 0);
	t->x = x;
	http_receive(x, sink_of(t));
}

static enum http_stream_state produce_echo(struct buf *out, void *user)
{
	struct taker *t = user;
	size_t n = t->got.n - t->echoed;

	buf_add(out, t->got.p + t->echoed, n);
	t->echoed += n;
	return t->ended ? HTTP_STREAM_END : HTTP_STREAM_WAIT;
}

static void on_echo_closed(bool whole, void *user)
{
	struct taker *t = user;

	t->closed++;
	t->whole = whole;
	t->x = NULL;
}

static void on_echo(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct taker *t = user;

	t->echoes = true;
	on_put(x, request, user);
	http_reply_stream(x, 200, "text/plain",
			  &(struct http_stream){ produce_echo, on_echo_closed, t, 0 });
}

static void on_refused(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply_status(x, 401);
}

static void on_whole(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct taker *t = user;

	note_trailers(t, request->trailers, request->n_trailers);
	http_reply(x, 200, "text/plain", request->body);
}

static void on_hello(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", STR("hello\n"));
}

static const struct http_route routes[] = {
	{ HTTP_PUT | HTTP_IN_PIECES, "/put", on_put },
	{ HTTP_PUT | HTTP_IN_PIECES, "/echo", on_echo },
	{ HTTP_PUT | HTTP_IN_PIECES, "/refused", on_refused },
	{ HTTP_PUT, "/whole", on_whole },
	{ HTTP_GET, "/hello", on_hello },
};

static void start(struct taker *t, struct http_server_config config)
{
	config.routes = routes;
	config.n_routes = ARRAY_SIZE(routes);
	config.user = t;
	kit_start(&t->kit, config);
}

static void stop(struct taker *t, struct client *c)
{
	if (c)
		client_free(c);
	kit_stop(&t->kit);
	buf_free(&t->got);
}

static bool is_gone(void *arg)
{
	return ((struct taker *)arg)->gone;
}

static bool has_a_piece(void *arg)
{
	return ((struct taker *)arg)->pieces;
}

static const struct http_server_stats *stats(struct taker *t)
{
	return http_server_stats(t->kit.server);
}

static char byte_at(size_t i)
{
	return (char)('a' + i % 23);
}

static char *content(size_t n)
{
	char *p = test_malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(i);
	p[n] = '\0';
	return p;
}

static void assert_got(struct taker *t, size_t n)
{
	assert_int_equal(t->got.n, n);
	for (size_t i = 0; i < n; i++)
		assert_true(t->got.p[i] == byte_at(i));
}

static void a_body_larger_than_any_buffer_is_taken_in_pieces(void **state)
{
	const size_t size = 1000 * 1000;
	struct taker t = { 0 };
	char *body = content(size);
	struct client *c;

	start(&t, (struct http_server_config){ .max_body = 1000 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
	client_send(c, body);
	client_send(c, HELLO);
	client_expect(c, "got 1000000\n");
	client_expect(c, "hello\n"); /* on the same connection */
	assert_got(&t, size);
	assert_true(t.pieces > 10);
	assert_true(t.ended == 1 && !t.gone);
	test_free(body);
	stop(&t, c);
}

static void tiny_chunks_and_trailers_arrive(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (size_t i = 0; i < 20000; i++) {
		char chunk[16];

		snprintf(chunk, sizeof(chunk), "1\r\n%c\r\n", byte_at(i));
		client_send(c, chunk);
	}
	client_send(c, "0\r\nX-Sum: 1 2\r\nX-End:\r\n\r\n" HELLO);
	client_expect(c, "hello\n");
	assert_got(&t, 20000);
	assert_string_equal(t.trailers, "[X-Sum=1 2][X-End=]");
	stop(&t, c);
}

static void a_request_without_a_body_ends_at_once(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\n\r\n" HELLO);
	client_expect(c, "got 0\n");
	client_expect(c, "hello\n");
	assert_true(t.ended == 1 && !t.pieces);
	stop(&t, c);
}

/* More than the buffers of both sockets: the client comes to a stop, and nothing is kept here. */
static void a_handler_that_takes_nothing_holds_the_client_back(void **state)
{
	const size_t size = (size_t)64 * 1024 * 1024;
	struct taker t = { .stops = true };
	char *body = content(size);
	size_t sent = 0;
	struct client *c;
	int refused = 0;

	start(&t, (struct http_server_config){ .request_timeout = 500 * NSEC_PER_MSEC });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 67108864\r\n\r\n");
	while (refused < 100) {
		ssize_t n = send(c->fd, body + sent, size - sent, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		refused = n < 0 ? refused + 1 : 0;
		ev_run(t.kit.loop, EVRUN_NOWAIT);
	}
	assert_true(sent < size);
	assert_int_equal(t.pieces, 1);
	assert_true(stats(&t)->held <= 3 * HTTP_HEAD_MAX);
	for (int64_t until = loop_monotonic() + 600 * NSEC_PER_MSEC; loop_monotonic() < until;)
		ev_run(t.kit.loop, EVRUN_NOWAIT); /* its patience is not the client's */
	t.stops = false;
	http_resume(t.x);
	assert_int_equal(t.pieces, 1); /* never from within */
	client_send(c, body + sent);
	client_expect(c, "got 67108864\n");
	assert_got(&t, size);
	test_free(body);
	stop(&t, c);
}

static bool takes_again(void *arg)
{
	struct taker *t = arg;

	if (t->x)
		http_resume(t->x);
	return t->ended;
}

static void a_handler_may_take_a_byte_at_a_time(void **state)
{
	struct taker t = { .takes_at_most = 1 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "5\r\nabcde\r\n6\r\nfghijk\r\n0\r\n\r\n" HELLO);
	kit_wait(&t.kit, takes_again, &t);
	client_expect(c, "hello\n");
	assert_got(&t, 11);
	assert_int_equal(t.pieces, 11);
	stop(&t, c);
}

static void a_client_is_told_to_continue_when_its_body_is_wanted(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
		       "Content-Length: 3\r\n\r\n");
	client_expect(c, "HTTP/1.1 100 Continue\r\n\r\n");
	client_send(c, "abc");
	client_expect(c, "got 3\n");
	stop(&t, c);
}

static void a_body_that_is_not_wanted_is_not_asked_for(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /refused HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
		       "Content-Length: 3\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "100 Continue"), 0);
	assert_int_equal(client_count(c, "HTTP/1.1 401 "), 1);
	assert_int_equal(client_count(c, "Connection: close\r\n"), 1);
	stop(&t, c);
}

static void an_early_answer_is_the_last_one(void **state)
{
	struct taker t = { .early = true };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nabc");
	client_expect(c, "enough\n");
	client_send(c, "def" HELLO);
	client_expect_close(c);
	assert_int_equal(client_count(c, "Connection: close\r\n"), 1);
	assert_int_equal(client_count(c, "hello"), 0);
	assert_true(t.pieces == 1 && !t.ended && !t.gone);
	stop(&t, c);
}

static void on_trace(const struct http_trace *trace, void *user)
{
	((struct taker *)user)->traced++;
}

static void an_answer_may_stream_while_the_body_comes(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ .trace = on_trace });
	c = client_new(&t.kit);
	client_send(c, "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "3\r\none\r\n");
	client_expect(c, "00000003\r\none\r\n");
	client_send(c, "3\r\ntwo\r\n");
	client_expect(c, "00000003\r\ntwo\r\n");
	client_send(c, "0\r\n\r\n" HELLO);
	client_expect(c, "0\r\n\r\nHTTP/1.1 200 OK\r\n");
	client_expect(c, "hello\n");
	assert_true(t.closed == 1 && t.whole && t.ended == 1 && !t.gone);
	assert_int_equal(t.traced, 2);
	stop(&t, c);
}

static void a_body_that_breaks_ends_its_streaming_answer(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "3\r\none\r\n");
	client_expect(c, "one\r\n");
	client_send(c, "nonsense\r\n");
	client_expect_close(c);
	assert_true(t.closed == 1 && !t.whole && !t.ended && !t.gone);
	assert_int_equal(client_count(c, "HTTP/1.1"), 1);
	stop(&t, c);
}

static void a_malformed_body_is_answered_400_and_told(void **state)
{
	static const char *const ends[] = { "x\r\n", "0\r\nContent-Length: 3\r\n\r\n",
					    "0\r\nbad trailer\r\n\r\n" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct taker t = { 0 };
		struct client *c;

		start(&t, (struct http_server_config){ 0 });
		c = client_new(&t.kit);
		client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
			       "3\r\nabc\r\n");
		client_send(c, ends[i]);
		client_expect_close(c);
		assert_int_equal(client_count(c, "HTTP/1.1 400 "), 1);
		assert_true(t.gone == 1 && !t.ended);
		assert_int_equal(stats(&t)->malformed, 1);
		stop(&t, c);
	}
}

static void a_client_that_leaves_is_told_once(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nabc");
	kit_wait(&t.kit, has_a_piece, &t);
	client_free(c);
	kit_wait(&t.kit, is_gone, &t);
	assert_int_equal(stats(&t)->cancelled, 1);
	stop(&t, NULL);
	assert_int_equal(t.gone, 1);
}

static void a_trickle_is_given_up_with_408(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ .request_timeout = 50 * NSEC_PER_MSEC });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
	while (!t.gone) {
		client_send(c, "a");
		ev_run(t.kit.loop, EVRUN_NOWAIT);
	}
	client_expect(c, "HTTP/1.1 408 ");
	client_expect_close(c);
	assert_int_equal(t.gone, 1);
	assert_int_equal(stats(&t)->timeouts, 1);
	stop(&t, c);
}

static void whoever_sends_a_body_makes_room_for_others(void **state)
{
	struct taker t = { 0 };
	struct client *c, *next;

	start(&t, (struct http_server_config){ .max_connections = 1 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nabc");
	kit_wait(&t.kit, has_a_piece, &t);
	next = client_new(&t.kit);
	client_send(next, HELLO);
	client_expect(next, "hello\n");
	assert_true(t.gone == 1 && stats(&t)->cut == 1);
	client_free(next);
	stop(&t, c);
}

static void freeing_the_server_tells_the_handler(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nabc");
	kit_wait(&t.kit, has_a_piece, &t);
	http_server_free(TAKE_PTR(t.kit.server));
	assert_int_equal(t.gone, 1);
	stop(&t, c);
}

static void trailers_of_a_whole_body_are_handed_over(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /whole HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "3\r\nabc\r\n0\r\nX-A: 1\r\nX-B: 2\r\n");
	client_send(c, "\r\n" HELLO);
	client_expect(c, "hello\n");
	assert_string_equal(t.trailers, "[X-A=1][X-B=2]");
	client_send(c, "PUT /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz");
	client_expect(c, "xyz");
	assert_string_equal(t.trailers, ""); /* not those of the one before */
	stop(&t, c);
}

static void too_many_trailers_are_refused(void **state)
{
	struct taker t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, "PUT /whole HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
	for (size_t i = 0; i < HTTP_HEADERS_MAX + 1; i++)
		client_send(c, "X-A: 1\r\n");
	client_send(c, "\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "HTTP/1.1 431 "), 1);
	stop(&t, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_larger_than_any_buffer_is_taken_in_pieces),
		cmocka_unit_test(tiny_chunks_and_trailers_arrive),
		cmocka_unit_test(a_request_without_a_body_ends_at_once),
		cmocka_unit_test(a_handler_that_takes_nothing_holds_the_client_back),
		cmocka_unit_test(a_handler_may_take_a_byte_at_a_time),
		cmocka_unit_test(a_client_is_told_to_continue_when_its_body_is_wanted),
		cmocka_unit_test(a_body_that_is_not_wanted_is_not_asked_for),
		cmocka_unit_test(an_early_answer_is_the_last_one),
		cmocka_unit_test(an_answer_may_stream_while_the_body_comes),
		cmocka_unit_test(a_body_that_breaks_ends_its_streaming_answer),
		cmocka_unit_test(a_malformed_body_is_answered_400_and_told),
		cmocka_unit_test(a_client_that_leaves_is_told_once),
		cmocka_unit_test(a_trickle_is_given_up_with_408),
		cmocka_unit_test(whoever_sends_a_body_makes_room_for_others),
		cmocka_unit_test(freeing_the_server_tells_the_handler),
		cmocka_unit_test(trailers_of_a_whole_body_are_handed_over),
		cmocka_unit_test(too_many_trailers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
