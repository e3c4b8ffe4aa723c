/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that come after the handler has returned, and headers that every answer has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"

struct desk {
	struct kit kit;
	struct http_exchange *x; /* of the last one that was put off */
	unsigned put_off, gone, drained;
	unsigned traces;
	unsigned traced_status;
	int64_t traced_took;
	char traced[64];
};

static void on_gone(void *user)
{
	struct desk *d = user;

	d->gone++;
	d->x = NULL;
}

static void on_later(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct desk *d = user;

	d->put_off++;
	d->x = x;
	http_reply_later(x, on_gone, d);
}

static void on_now(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", STR("now\n"));
}

static void on_trace(const struct http_trace *t, void *user)
{
	struct desk *d = user;

	d->traces++;
	d->traced_status = t->status;
	d->traced_took = t->took;
	snprintf(d->traced, sizeof(d->traced), "%.*s %.*s", (int)t->method.n, t->method.p,
		 (int)t->target.n, t->target.p);
}

static const struct http_route routes[] = {
	{ HTTP_GET | HTTP_POST, "/later", on_later },
	{ HTTP_GET, "/now", on_now },
};

static const struct field headers[] = {
	{ { "X-One", 5 }, { "1", 1 } },
	{ { "X-Two", 5 }, { "2", 1 } },
};

static void start(struct desk *d)
{
	kit_start(&d->kit, (struct http_server_config){ .routes = routes,
							.n_routes = ARRAY_SIZE(routes),
							.user = d,
							.headers = headers,
							.n_headers = ARRAY_SIZE(headers),
							.trace = on_trace });
}

static bool is_put_off(void *arg)
{
	return ((struct desk *)arg)->put_off;
}

static bool is_gone(void *arg)
{
	return ((struct desk *)arg)->gone;
}

static bool is_drained(void *arg)
{
	return ((struct desk *)arg)->drained;
}

static void on_drained(void *user)
{
	((struct desk *)user)->drained++;
}

static struct client *ask(struct desk *d, const char *text)
{
	struct client *c = client_new(&d->kit);

	client_send(c, text);
	kit_wait(&d->kit, is_put_off, d);
	return c;
}

static void an_answer_may_come_later(void **state)
{
	struct desk d = { 0 };
	struct client *c;

	start(&d);
	c = ask(&d, "GET /later?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_int_equal(c->in.n, 0);
	assert_int_equal(d.traces, 0);
	http_reply(d.x, 200, "text/plain", STR("at last\n"));
	client_expect(c, "at last\n");
	assert_int_equal(client_count(c, "HTTP/1.1 200 OK\r\n"), 1);
	assert_int_equal(d.traces, 1);
	assert_int_equal(d.traced_status, 200);
	assert_true(d.traced_took > 0); /* until the answer, not until the handler returned */
	assert_string_equal(d.traced, "GET /later?x=1");
	client_send(c, "GET /now HTTP/1.1\r\nHost: a\r\n\r\n"); /* the connection goes on */
	client_expect(c, "now\n");
	assert_int_equal(d.gone, 0);
	client_free(c);
	kit_stop(&d.kit);
	assert_int_equal(d.gone, 0);
}

static void what_is_asked_behind_it_waits(void **state)
{
	struct desk d = { 0 };
	struct client *c, *other;

	start(&d);
	c = ask(&d, "POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
		    "GET /now HTTP/1.1\r\nHost: a\r\n\r\n");
	other = client_new(&d.kit);
	client_send(other, "GET /now HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(other, "now\n"); /* nobody else waits */
	assert_int_equal(c->in.n, 0);
	http_reply_status(d.x, 409);
	client_expect(c, "now\n");
	assert_true(strstr(client_text(c), "409") < strstr(client_text(c), "now\n"));
	client_free(c);
	client_free(other);
	kit_stop(&d.kit);
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	buf_add_lit(out, "streamed");
	return HTTP_STREAM_END;
}

static void on_closed(bool whole, void *user)
{
	assert_true(whole);
}

static void a_later_answer_may_be_a_stream(void **state)
{
	struct desk d = { 0 };
	struct client *c;

	start(&d);
	c = ask(&d, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	http_reply_stream(
		d.x, 200, "text/plain",
		&(struct http_stream){ .produce = produce, .closed = on_closed, .user = &d });
	client_expect(c, "streamed\r\n0\r\n\r\n");
	client_free(c);
	kit_stop(&d.kit);
}

static void who_does_not_wait_is_told_of_once(void **state)
{
	struct desk d = { 0 };
	struct client *c;

	start(&d);
	c = ask(&d, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	http_server_free(TAKE_PTR(d.kit.server));
	assert_int_equal(d.gone, 1);
	client_free(c);
	kit_stop(&d.kit);
}

static void a_client_that_resets_is_gone(void **state)
{
	const struct linger at_once = { 1, 0 };
	struct desk d = { 0 };
	struct client *c;

	start(&d);
	c = ask(&d, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	client_free(c);
	kit_wait(&d.kit, is_gone, &d);
	assert_int_equal(http_server_stats(d.kit.server)->cancelled, 1);
	kit_stop(&d.kit);
	assert_int_equal(d.gone, 1);
}

/* shutdown() of the sending side is no goodbye. */
static void a_client_that_has_said_all_gets_its_answer(void **state)
{
	struct desk d = { 0 };
	struct client *c;

	start(&d);
	c = ask(&d, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	shutdown(c->fd, SHUT_WR);
	for (int i = 0; i < 3; i++)
		ev_run(d.kit.loop, EVRUN_NOWAIT);
	assert_int_equal(d.gone, 0);
	http_reply(d.x, 200, "text/plain", STR("at last\n"));
	client_expect(c, "at last\n");
	client_expect_close(c);
	client_free(c);
	kit_stop(&d.kit);
}

static void a_drain_waits_for_later_answers(void **state)
{
	struct desk d = { 0 };
	struct client *c;

	start(&d);
	c = ask(&d, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	http_server_drain(d.kit.server, on_drained, &d);
	for (int i = 0; i < 3; i++)
		ev_run(d.kit.loop, EVRUN_NOWAIT);
	assert_int_equal(d.drained, 0);
	http_reply(d.x, 200, "text/plain", STR("at last\n"));
	client_expect(c, "at last\n");
	client_expect_close(c);
	client_free(c);
	kit_wait(&d.kit, is_drained, &d);
	kit_stop(&d.kit);
}

static void every_answer_has_the_headers_of_the_server(void **state)
{
	static const char *const requests[] = {
		"GET /now HTTP/1.1\r\nHost: a\r\n\r\n",
		"PUT /now HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n",
		"GARBAGE\r\n\r\n",
	};
	struct desk d = { 0 };

	start(&d);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct client *c = client_new(&d.kit);

		client_send(c, requests[i]);
		client_expect(c, "\r\n\r\n");
		assert_int_equal(client_count(c, "\r\nX-One: 1\r\n"), 1);
		assert_int_equal(client_count(c, "\r\nX-Two: 2\r\n"), 1);
		client_free(c);
	}
	kit_stop(&d.kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_may_come_later),
		cmocka_unit_test(what_is_asked_behind_it_waits),
		cmocka_unit_test(a_later_answer_may_be_a_stream),
		cmocka_unit_test(who_does_not_wait_is_told_of_once),
		cmocka_unit_test(a_client_that_resets_is_gone),
		cmocka_unit_test(a_client_that_has_said_all_gets_its_answer),
		cmocka_unit_test(a_drain_waits_for_later_answers),
		cmocka_unit_test(every_answer_has_the_headers_of_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
