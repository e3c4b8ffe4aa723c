/* SPDX-License-Identifier: Apache-2.0 */
/* The same server inside of TLS. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"
#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

#define LARGE ((size_t)4 * 1024 * 1024)

static struct pki pki;

static void on_echo(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", request->body);
}

static void on_large(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct buf body = { 0 };

	for (size_t i = 0; i < LARGE; i++)
		buf_addc(&body, (char)('a' + i % 23));
	http_reply(x, 200, "text/plain", (struct str){ body.p, body.n });
	buf_free(&body);
}

static const struct http_route routes[] = {
	{ HTTP_POST, "/echo", on_echo },
	{ HTTP_GET, "/large", on_large },
};

static struct tls_context *server_context(const char *name)
{
	return pki_server(&pki, name, NULL, "http/1.1,http/1.0");
}

static void start(struct kit *kit, struct tls_context *tls)
{
	kit_start(kit, (struct http_server_config){
			       .routes = routes, .n_routes = ARRAY_SIZE(routes), .tls = tls });
}

/* A client that turns the server's loop while it waits. */
struct secure {
	struct kit *kit;
	struct client *client;
	struct tls *tls;
	struct buf in;
	int handshake;
	bool ended;
};

static bool is_shaken(void *arg)
{
	struct secure *s = arg;

	s->handshake = tls_handshake(s->tls);
	return s->handshake != -EAGAIN;
}

static struct secure secure_new(struct kit *kit)
{
	struct secure s = { .kit = kit, .client = client_new(kit) };
	struct tls_context *c = pki_client(NULL, NULL, NULL, "http/1.1");

	client_set_reading(s.client, false);
	assert_int_equal(tls_connect(c, s.client->fd, "localhost", NULL, &s.tls), 0);
	tls_context_free(c);
	kit_wait(kit, is_shaken, &s);
	return s;
}

static void secure_free(struct secure *s)
{
	tls_free(s->tls);
	client_free(s->client);
	buf_free(&s->in);
}

static bool has_all(void *arg)
{
	struct secure *s = arg;
	char bytes[16384];
	ssize_t n;

	while ((n = tls_read(s->tls, bytes, sizeof(bytes))) > 0)
		buf_add(&s->in, bytes, (size_t)n);
	s->ended = n != -EAGAIN;
	return s->ended;
}

static void ask(struct secure *s, const char *text)
{
	assert_int_equal(s->handshake, 0);
	assert_int_equal(tls_write(s->tls, text, strlen(text)), (ssize_t)strlen(text));
	kit_wait(s->kit, has_all, s);
}

static void requests_and_answers_go_through_tls(void **state)
{
	struct tls_context *tls = server_context("server");
	struct secure s;
	struct kit kit;

	start(&kit, tls);
	s = secure_new(&kit);
	assert_true(str_eq(tls_protocol(s.tls), STR("http/1.1")));
	ask(&s, "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"
		"hello");
	assert_non_null(strstr(buf_cstr(&s.in), "\r\n\r\nhello"));
	secure_free(&s);
	kit_stop(&kit);
	tls_context_free(tls);
}

static void a_large_answer_arrives_whole(void **state)
{
	struct tls_context *tls = server_context("server");
	struct secure s;
	struct kit kit;
	size_t head;

	start(&kit, tls);
	s = secure_new(&kit);
	ask(&s, "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	head = (size_t)(strstr(buf_cstr(&s.in), "\r\n\r\n") + 4 - s.in.p);
	assert_int_equal(s.in.n - head, LARGE);
	for (size_t i = 0; i < LARGE; i++)
		assert_true(s.in.p[head + i] == (char)('a' + i % 23));
	secure_free(&s);
	kit_stop(&kit);
	tls_context_free(tls);
}

static void plaintext_is_turned_away_and_counted(void **state)
{
	struct tls_context *tls = server_context("server");
	struct client *c;
	struct kit kit;

	start(&kit, tls);
	c = client_new(&kit);
	client_send(c, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect_close(c);
	assert_int_equal(client_count(c, "HTTP/1.1"), 0);
	assert_int_equal(http_server_stats(kit.server)->tls_failures, 1);
	client_free(c);
	kit_stop(&kit);
	tls_context_free(tls);
}

/* A client that says nothing is not left there for ever. */
static void a_handshake_has_the_time_of_a_request(void **state)
{
	struct tls_context *tls = server_context("server");
	struct client *c;
	struct kit kit;

	kit_start(&kit, (struct http_server_config){ .routes = routes,
						     .n_routes = ARRAY_SIZE(routes),
						     .tls = tls,
						     .request_timeout = 50000000 });
	c = client_new(&kit);
	client_expect_close(c);
	assert_int_equal(c->in.n, 0);
	client_free(c);
	kit_stop(&kit);
	tls_context_free(tls);
}

static void connections_keep_the_certificate_they_began_with(void **state)
{
	struct tls_context *old = server_context("server");
	struct tls_context *new = server_context("other");
	struct secure before, after;
	struct kit kit;

	start(&kit, old);
	before = secure_new(&kit);
	http_server_set_tls(kit.server, new);
	tls_context_free(old);
	after = secure_new(&kit);
	assert_int_equal(after.handshake, 0);
	ask(&before, "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
		     "Content-Length: 3\r\n\r\nold");
	assert_non_null(strstr(buf_cstr(&before.in), "\r\n\r\nold"));
	secure_free(&before);
	secure_free(&after);
	kit_stop(&kit);
	tls_context_free(new);
}

static int set_up(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "server");
	pki_issue(&pki, NULL, "other");
	return 0;
}

static int tear_down(void **state)
{
	pki_remove(&pki);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_answers_go_through_tls),
		cmocka_unit_test(a_large_answer_arrives_whole),
		cmocka_unit_test(plaintext_is_turned_away_and_counted),
		cmocka_unit_test(a_handshake_has_the_time_of_a_request),
		cmocka_unit_test(connections_keep_the_certificate_they_began_with),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
