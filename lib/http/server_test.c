/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/testkit.h"

static struct endpoint last_peer;

static void on_hello(struct http_exchange *x, const struct http_request *request, void *user)
{
	last_peer = request->peer;
	http_reply(x, 200, "text/plain", STR("hello\n"));
}

/* Says back what it understood. */
static void on_echo(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct buf text = { 0 };

	buf_add(&text, request->head->method.p, request->head->method.n);
	buf_add_lit(&text, "|");
	buf_add(&text, request->path.p, request->path.n);
	buf_add_lit(&text, "|");
	buf_add(&text, request->query.p, request->query.n);
	buf_add_lit(&text, "|");
	buf_add(&text, request->body.p, request->body.n);
	buf_add_lit(&text, "|end");
	http_reply(x, 200, "text/plain", (struct str){ text.p, text.n });
	buf_free(&text);
}

static void on_headers(struct http_exchange *x, const struct http_request *request, void *user)
{
	assert_int_equal(http_reply_header(x, "X-Fine", STR("yes")), 0);
	assert_int_equal(http_reply_header(x, "X-Bad", STR("a\r\nX-Injected: b")), -EINVAL);
	assert_int_equal(http_reply_header(x, "X Bad", STR("a")), -EINVAL);
	assert_int_equal(http_reply_header(x, "", STR("a")), -EINVAL);
	http_reply_status(x, 204);
}

static void on_large(struct http_exchange *x, const struct http_request *request, void *user)
{
	size_t n = (size_t)8 * 1024 * 1024;
	struct buf body = { 0 };

	buf_reserve(&body, n);
	memset(body.p, 'x', n);
	http_reply(x, 200, "text/plain", (struct str){ body.p, n });
	buf_free(&body);
}

static const struct http_route routes[] = {
	{ HTTP_GET, "/hello", on_hello }, { HTTP_GET | HTTP_POST, "/echo", on_echo },
	{ HTTP_PUT, "/echo", on_echo },	  { HTTP_GET, "/files/*", on_echo },
	{ HTTP_GET, "/", on_echo },	  { HTTP_GET, "/headers", on_headers },
	{ HTTP_GET, "/large", on_large },
};

static struct http_server_config plain(void)
{
	return (struct http_server_config){ .routes = routes, .n_routes = ARRAY_SIZE(routes) };
}

static void a_connection_is_kept_for_the_next_request(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "\r\n\r\nhello\n");
	assert_int_equal(strncmp(client_text(c), "HTTP/1.1 200 OK\r\nDate: ", 23), 0);
	assert_non_null(strstr(client_text(c), " GMT\r\n"));
	assert_non_null(strstr(client_text(c), "Content-Type: text/plain\r\n"));
	assert_non_null(strstr(client_text(c), "Content-Length: 6\r\n"));
	assert_null(strstr(client_text(c), "Connection:"));
	client_send(c, "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_expect(c, "GET|/echo|||end");
	client_expect(c, "Connection: close\r\n");
	client_expect_close(c);
	assert_false(c->reset);
	assert_int_equal(http_server_stats(kit.server)->accepted, 1);
	assert_int_equal(http_server_stats(kit.server)->requests, 2);
	client_free(c);
	kit_stop(&kit);
}

static void an_old_client_is_kept_only_if_it_asks(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	client_expect(c, "hello\n");
	assert_int_equal(client_count(c, "Connection: keep-alive\r\n"), 1);
	client_send(c, "GET /hello HTTP/1.0\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "hello\n"), 2);
	client_free(c);
	kit_stop(&kit);
}

/* More than fit into one turn, and more bytes than are read at once. */
static void requests_sent_ahead_are_answered_in_order(void **state)
{
	enum { MANY = 1000 };
	struct buf all = { 0 };
	struct kit kit;
	struct client *c;
	const char *at;

	kit_start(&kit, plain());
	c = client_new(&kit);
	for (int i = 0; i < MANY; i++)
		buf_printf(&all, "GET /echo?%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
	buf_adds(&all, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_send(c, buf_cstr(&all));
	client_expect_close(c);
	assert_false(c->reset);
	at = client_text(c);
	for (int i = 0; i < MANY; i++) {
		char want[32];

		snprintf(want, sizeof(want), "|%d||end", i);
		at = strstr(at, want);
		assert_non_null(at);
	}
	assert_non_null(strstr(at, "hello\n"));
	buf_free(&all);
	client_free(c);
	kit_stop(&kit);
}

static void head_has_the_length_but_no_content(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "Content-Length: 6\r\n"), 1);
	assert_int_equal(client_count(c, "hello"), 0);
	client_free(c);
	kit_stop(&kit);
}

static void the_table_of_routes_decides(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "HTTP/1.1 404 Not Found\r\n");
	client_expect(c, "404 Not Found\n");
	client_send(c, "DELETE /echo HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "HTTP/1.1 405 Method Not Allowed\r\n");
	client_expect(c, "Allow: GET, HEAD, POST, PUT\r\n");
	client_send(c, "BREW /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "Allow: GET, HEAD\r\n");
	client_send(c, "GET /files/a/b?q=1?2 HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "GET|/files/a/b|q=1?2||end");
	client_send(c, "GET http://a.example:80/echo?x HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "GET|/echo|x||end");
	client_send(c, "PUT /echo HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "PUT|/echo|||end");
	client_send(c, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "HTTP/1.1 404"), 2);
	client_free(c);
	kit_stop(&kit);
}

/* RFC 9112 §3.2.2: whatever stands in the authority or in the query is no path. */
static void on_user(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", str_of(user));
}

/* The mounted routes come first, have their own user, and share the 405 with the server's own. */
static void routes_can_be_mounted_beside_the_own_ones(void **state)
{
	static const struct http_route mounted[] = { { HTTP_GET, "/both", on_user },
						     { HTTP_PUT, "/split", on_user } };
	static const struct http_route own[] = { { HTTP_GET, "/both", on_user },
						 { HTTP_POST, "/split", on_user },
						 { HTTP_GET, "/own", on_user } };
	static char of_server[] = "of the server", of_mount[] = "of the mount";
	struct kit kit;
	struct client *c;

	kit_start(&kit, (struct http_server_config){
				.routes = own,
				.n_routes = ARRAY_SIZE(own),
				.user = of_server,
				.mount = { mounted, ARRAY_SIZE(mounted), of_mount } });
	c = client_new(&kit);
	client_send(c, "GET /both HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "of the mount");
	client_send(c, "GET /own HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "of the server");
	client_send(c, "POST /split HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
		       "DELETE /split HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "Allow: POST, PUT\r\n");
	assert_int_equal(client_count(c, "of the server"), 2);
	client_send(c, "GET /neither HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "HTTP/1.1 404 Not Found\r\n");
	client_free(c);
	kit_stop(&kit);
}

static void the_absolute_form_is_understood(void **state)
{
	static const struct {
		const char *target, *answer;
	} rows[] = {
		{ "http://a/echo?x", "GET|/echo|x||end" },
		{ "HTTP://a.example:80/echo", "GET|/echo|||end" },
		{ "https://[2001:db8::1]:443/echo?x=/hello", "GET|/echo|x=/hello||end" },
		{ "HttpS://a/echo", "GET|/echo|||end" },
		{ "http://a?x=/hello", "GET|/|x=/hello||end" },
		{ "https://a", "GET|/|||end" },
		{ "http://a/", "GET|/|||end" },
		{ "ftp://a/echo", "404 Not Found\n" },
		{ "?x=/hello", "404 Not Found\n" },
	};
	struct kit kit;

	kit_start(&kit, plain());
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client *c = client_new(&kit);
		char text[256];

		snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\n\r\n", rows[i].target);
		client_send(c, text);
		client_expect(c, rows[i].answer);
		client_free(c);
	}
	kit_stop(&kit);
}

static void bodies_come_by_length_and_in_chunks(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
		       "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\n"
		       "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "hello\n");
	client_expect(c, "POST|/echo||hello|end");
	client_expect(c, "POST|/echo||abcde|end");
	client_free(c);
	kit_stop(&kit);
}

static void a_request_byte_by_byte_is_the_same_request(void **state)
{
	const char text[] = "POST /echo?q HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
			    "3\r\nabc\r\n0\r\n\r\n";
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		client_send(c, (char[]){ text[i], '\0' });
		ev_run(kit.loop, EVRUN_NOWAIT);
	}
	client_expect(c, "POST|/echo|q|abc|end");
	client_free(c);
	kit_stop(&kit);
}

static void continue_is_said_before_the_body(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
		       "Content-Length: 5\r\n\r\n");
	client_expect(c, "HTTP/1.1 100 Continue\r\n\r\n");
	client_send(c, "hello");
	client_expect(c, "POST|/echo||hello|end");
	client_free(c);
	kit_stop(&kit);
}

/* Each is answered with its status, and the connection ends without a reset. */
static void bad_requests_are_told_so_and_closed(void **state)
{
	static const struct {
		const char *text;
		const char *status;
	} rows[] = {
		{ "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n" },
		{ "\x16\x03\x01\x02", "HTTP/1.1 400 Bad Request\r\n" },
		{ "GET /hello HTTP/1.1\r\nHost : a\r\n\r\nGET /hello HTTP/1.1\r\n",
		  "HTTP/1.1 400 " },
		{ "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n",
		  "HTTP/1.1 413 Content Too Large\r\n" },
		{ "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
		  "Content-Length: 101\r\n\r\n",
		  "HTTP/1.1 413 Content Too Large\r\n" },
		{ "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		  "HTTP/1.1 400 Bad Request\r\n" },
		{ "GET /hello HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\n\r\n",
		  "HTTP/1.1 417 Expectation Failed\r\n" },
	};
	struct http_server_config config = plain();
	struct kit kit;

	config.max_body = 100;
	kit_start(&kit, config);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client *c = client_new(&kit);

		client_send(c, rows[i].text);
		client_expect_close(c);
		assert_false(c->reset);
		assert_int_equal(client_count(c, "HTTP/1.1 "), 1);
		assert_int_equal(client_count(c, rows[i].status), 1);
		assert_int_equal(client_count(c, "Connection: close\r\n"), 1);
		client_free(c);
	}
	assert_int_equal(http_server_stats(kit.server)->malformed, ARRAY_SIZE(rows));
	assert_int_equal(http_server_stats(kit.server)->requests, 0);
	kit_stop(&kit);
}

static void a_body_of_the_limit_is_fine_and_one_byte_more_is_not(void **state)
{
	struct http_server_config config = plain();
	struct kit kit;
	struct client *c;

	config.max_body = 4;
	kit_start(&kit, config);
	c = client_new(&kit);
	client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n");
	client_expect(c, "|abcd|end");
	client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "HTTP/1.1 413 "), 1);
	client_free(c);
	kit_stop(&kit);
}

static void on_error(struct http_exchange *x, unsigned status, void *user)
{
	char text[64];

	snprintf(text, sizeof(text), "%s<%u>", (const char *)user, status);
	assert_int_equal(http_reply_header(x, "X-Mine", STR("yes")), 0);
	http_reply(x, status, "text/x-mine", str_of(text));
}

/* Whoever finds the error: the routes, the parser, the clock. */
static void errors_may_look_as_the_program_wants(void **state)
{
	static const struct {
		const char *text, *body;
	} rows[] = {
		{ "GET /nothing HTTP/1.0\r\n\r\n", "own<404>" },
		{ "PUT /hello HTTP/1.0\r\n\r\n", "own<405>" },
		{ "GET / HTTP/1.1\r\n\r\n", "own<400>" },
		{ "GET /hello", "own<408>" },
	};
	static char user[] = "own";
	struct http_server_config config = plain();
	struct kit kit;

	config.error = on_error;
	config.user = user;
	config.request_timeout = 100 * NSEC_PER_MSEC;
	kit_start(&kit, config);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client *c = client_new(&kit);

		client_send(c, rows[i].text);
		client_expect_close(c);
		assert_int_equal(client_count(c, rows[i].body), 1);
		assert_int_equal(client_count(c, "Content-Type: text/x-mine\r\n"), 1);
		assert_int_equal(client_count(c, "X-Mine: yes\r\n"), 1);
		assert_int_equal(client_count(c, "Allow: GET, HEAD\r\n"), i == 1);
		client_free(c);
	}
	kit_stop(&kit);
}

static void an_oversized_head_is_refused_while_it_comes(void **state)
{
	struct buf text = { 0 };
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	buf_adds(&text, "GET /hello HTTP/1.1\r\nHost: a\r\nX: ");
	while (text.n < (size_t)256 * 1024)
		buf_addc(&text, 'x');
	client_send(c, buf_cstr(&text));
	client_expect(c, "HTTP/1.1 431 Request Header Fields Too Large\r\n");
	client_expect_close(c);
	buf_free(&text);
	client_free(c);
	kit_stop(&kit);
}

static void on_trickle(struct ev_loop *loop, ev_timer *w, int revents)
{
	client_send(w->data, "x");
}

/* Each byte is progress of a kind; the deadline does not care. */
static void a_trickling_request_runs_into_its_deadline(void **state)
{
	struct http_server_config config = plain();
	ev_timer trickle;
	struct kit kit;
	struct client *c;

	config.request_timeout = 100 * NSEC_PER_MSEC;
	kit_start(&kit, config);
	c = client_new(&kit);
	client_send(c, "GET /hello HTTP/1.1\r\nX: ");
	ev_timer_init(&trickle, on_trickle, 0.005, 0.005);
	trickle.data = c;
	ev_timer_start(kit.loop, &trickle);
	client_expect(c, "HTTP/1.1 408 Request Timeout\r\n");
	ev_timer_stop(kit.loop, &trickle);
	client_expect_close(c);
	assert_int_equal(http_server_stats(kit.server)->timeouts, 1);
	client_free(c);
	kit_stop(&kit);
}

static void silent_and_idle_connections_end(void **state)
{
	struct http_server_config config = plain();
	struct kit kit;
	struct client *silent, *idle;

	config.request_timeout = 200 * NSEC_PER_MSEC;
	config.idle_timeout = 250 * NSEC_PER_MSEC;
	kit_start(&kit, config);
	silent = client_new(&kit);
	idle = client_new(&kit);
	client_send(idle, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect_close(silent);
	client_expect_close(idle);
	assert_int_equal(silent->in.n, 0);
	assert_int_equal(client_count(idle, "HTTP/1.1 "), 1);
	assert_int_equal(http_server_stats(kit.server)->timeouts, 1);
	assert_int_equal(http_server_stats(kit.server)->connections, 0);
	client_free(silent);
	client_free(idle);
	kit_stop(&kit);
}

static void half_a_close_still_gets_its_answer(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
	shutdown(c->fd, SHUT_WR);
	client_expect_close(c);
	assert_false(c->reset);
	assert_true(c->in.n > (size_t)8 * 1024 * 1024);
	client_free(c);
	kit_stop(&kit);
}

/* Slower than the write timeout over all, faster than it per HTTP_SLICE. */
static void a_large_answer_may_take_longer_than_the_timeout(void **state)
{
	struct http_server_config config = plain();
	struct kit kit;
	struct client *c;

	config.write_timeout = 300 * NSEC_PER_MSEC;
	kit_start(&kit, config);
	c = client_new(&kit);
	client_set_slow(c);
	client_send(c, "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_expect_close(c);
	assert_true(c->in.n > (size_t)8 * 1024 * 1024);
	assert_int_equal(http_server_stats(kit.server)->timeouts, 0);
	client_free(c);
	kit_stop(&kit);
}

static bool has_no_connection(void *arg)
{
	return http_server_stats(arg)->connections == 0;
}

static void a_client_that_leaves_mid_request_is_forgotten(void **state)
{
	struct kit kit;
	struct client *c, *other;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe");
	ev_run(kit.loop, EVRUN_NOWAIT);
	client_free(c);
	other = client_new(&kit);
	client_send(other, "GET /hello HTTP/1.0\r\n\r\n");
	client_expect_close(other);
	client_free(other);
	kit_wait(&kit, has_no_connection, kit.server);
	kit_stop(&kit);
}

static void handlers_may_add_headers_but_not_inject(void **state)
{
	struct kit kit;
	struct client *c;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "GET /headers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "HTTP/1.1 204 No Content\r\n"), 1);
	assert_int_equal(client_count(c, "X-Fine: yes\r\n"), 1);
	assert_int_equal(client_count(c, "X-Bad"), 0);
	assert_int_equal(client_count(c, "Injected"), 0);
	assert_int_equal(client_count(c, "Content-Length"), 0);
	client_free(c);
	kit_stop(&kit);
}

static bool has_accept_error(void *arg)
{
	return http_server_stats(arg)->accept_errors > 0;
}

/* No descriptor left: it tries a few times a second, and serves when there is one again. */
static void without_descriptors_accepting_pauses(void **state)
{
	struct rlimit before, none;
	int64_t began;
	struct kit kit;
	struct client *c;
	uint64_t tries;

	kit_start(&kit, plain());
	c = client_new(&kit);
	client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	began = loop_monotonic();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	kit_wait(&kit, has_accept_error, kit.server);
	while (loop_monotonic() - began < 350 * NSEC_PER_MSEC)
		ev_run(kit.loop, EVRUN_ONCE);
	tries = http_server_stats(kit.server)->accept_errors;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_in_range(tries, 1, 10);
	client_expect(c, "hello\n");
	client_free(c);
	kit_stop(&kit);
}

/* ":port" takes both families, and an IPv4 client is shown as one. */
static void any_address_is_both_families(void **state)
{
	static const struct addr v4 = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	static const struct addr v6 = { .family = AF_INET6, .bytes = { [15] = 1 } };
	struct http_server_config config = plain();
	struct kit kit = { .loop = ev_loop_new(EVFLAG_AUTO) };
	const struct addr *addrs[] = { &v4, &v6 };
	uint16_t port;

	assert_int_equal(endpoint_parse(":0", &config.listen), 0);
	assert_int_equal(http_server_new(kit.loop, &config, &kit.server), 0);
	assert_false(addr_is_set(&(struct addr[]){ http_server_endpoint(kit.server).addr }[0]));
	port = http_server_endpoint(kit.server).port;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct client *c = client_new_at(&kit, (struct endpoint){ *addrs[i], port });

		if (!c && addrs[i] == &v6)
			break; /* a machine without IPv6 */
		assert_non_null(c);
		client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
		client_expect(c, "hello\n");
		assert_int_equal(addr_cmp(&last_peer.addr, addrs[i]), 0);
		assert_int_not_equal(last_peer.port, 0);
		client_free(c);
	}
	kit_stop(&kit);
}

static void a_taken_port_is_an_error(void **state)
{
	struct http_server_config config = plain();
	struct http_server *other = NULL;
	struct kit kit;

	kit_start(&kit, config);
	config.listen = http_server_endpoint(kit.server);
	assert_int_equal(http_server_new(kit.loop, &config, &other), -EADDRINUSE);
	assert_null(other);
	kit_stop(&kit);
}

static void on_trace(const struct http_trace *t, void *user)
{
	buf_printf(user, "%.*s %.*s %u\n", (int)t->method.n, t->method.p, (int)t->target.n,
		   t->target.p, t->status);
}

static void answers_are_traced(void **state)
{
	struct http_server_config config = plain();
	struct buf log = { 0 };
	struct kit kit;
	struct client *c;

	config.trace = on_trace;
	config.user = &log;
	kit_start(&kit, config);
	c = client_new(&kit);
	client_send(
		c,
		"GET /hello?x HTTP/1.1\r\nHost: a\r\n\r\nGET /no HTTP/1.1\r\nHost: a\r\n\r\n?\n");
	client_expect_close(c);
	assert_string_equal(buf_cstr(&log), "GET /hello?x 200\nGET /no 404\n  400\n");
	buf_free(&log);
	client_free(c);
	kit_stop(&kit);
}

static void on_handed_over(void *user)
{
	*(bool *)user = true;
}

static bool is_true(void *arg)
{
	return *(bool *)arg;
}

/* The file of a Unix socket is the next server's, too, and so are the connections that wait. */
static void another_server_goes_on_with_the_socket(void **state)
{
	struct http_server_config config = { .routes = routes, .n_routes = ARRAY_SIZE(routes) };
	struct kit kit, next;
	struct client *c;
	bool done = false;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/http-handover-%d", getpid());
	config.path = path;
	kit_start(&kit, config);
	config.inherited = dup(http_server_socket(kit.server));
	kit_start(&next, config);
	http_server_hand_over(kit.server);
	http_server_drain(kit.server, on_handed_over, &done);
	c = client_new_unix(&next, path);
	kit_wait(&kit, is_true, &done);
	client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(c, "hello\n");
	client_free(c);
	kit_stop(&kit);
	kit_stop(&next);
	assert_int_equal(unlink(path), 0);
}

static void what_does_not_listen_cannot_be_inherited(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct http_server_config config = { .inherited = dup(0) };
	struct http_server *server;

	assert_int_equal(http_server_new(loop, &config, &server), -EINVAL);
	assert_int_equal(close(config.inherited), 0);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_server_goes_on_with_the_socket),
		cmocka_unit_test(what_does_not_listen_cannot_be_inherited),
		cmocka_unit_test(a_connection_is_kept_for_the_next_request),
		cmocka_unit_test(an_old_client_is_kept_only_if_it_asks),
		cmocka_unit_test(requests_sent_ahead_are_answered_in_order),
		cmocka_unit_test(head_has_the_length_but_no_content),
		cmocka_unit_test(the_table_of_routes_decides),
		cmocka_unit_test(routes_can_be_mounted_beside_the_own_ones),
		cmocka_unit_test(the_absolute_form_is_understood),
		cmocka_unit_test(bodies_come_by_length_and_in_chunks),
		cmocka_unit_test(a_request_byte_by_byte_is_the_same_request),
		cmocka_unit_test(continue_is_said_before_the_body),
		cmocka_unit_test(bad_requests_are_told_so_and_closed),
		cmocka_unit_test(a_body_of_the_limit_is_fine_and_one_byte_more_is_not),
		cmocka_unit_test(errors_may_look_as_the_program_wants),
		cmocka_unit_test(an_oversized_head_is_refused_while_it_comes),
		cmocka_unit_test(a_trickling_request_runs_into_its_deadline),
		cmocka_unit_test(silent_and_idle_connections_end),
		cmocka_unit_test(half_a_close_still_gets_its_answer),
		cmocka_unit_test(a_large_answer_may_take_longer_than_the_timeout),
		cmocka_unit_test(a_client_that_leaves_mid_request_is_forgotten),
		cmocka_unit_test(handlers_may_add_headers_but_not_inject),
		cmocka_unit_test(without_descriptors_accepting_pauses),
		cmocka_unit_test(any_address_is_both_families),
		cmocka_unit_test(a_taken_port_is_an_error),
		cmocka_unit_test(answers_are_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
