/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections make room for others at the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"

#define LARGE ((size_t)8 * 1024 * 1024)
#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

static struct http_exchange *put_off;

static void on_gone(void *user)
{
	put_off = NULL;
}

static void on_later(struct http_exchange *x, const struct http_request *request, void *user)
{
	put_off = x;
	http_reply_later(x, on_gone, NULL);
}

static void on_hello(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", STR("hello\n"));
}

static void on_large(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct buf body = { 0 };

	buf_reserve(&body, LARGE);
	memset(body.p, 'x', LARGE);
	http_reply(x, 200, "text/plain", (struct str){ body.p, LARGE });
	buf_free(&body);
}

static const struct http_route routes[] = {
	{ HTTP_GET, "/hello", on_hello },
	{ HTTP_GET, "/later", on_later },
	{ HTTP_GET, "/large", on_large },
};

static void start(struct kit *kit, size_t max_connections)
{
	kit_start(kit, (struct http_server_config){ .routes = routes,
						    .n_routes = ARRAY_SIZE(routes),
						    .max_connections = max_connections });
}

static void start_holding(struct kit *kit, size_t max_held)
{
	kit_start(kit, (struct http_server_config){ .routes = routes,
						    .n_routes = ARRAY_SIZE(routes),
						    .max_held = max_held });
}

struct count {
	struct http_server *server;
	uint64_t accepted;
};

static bool has_accepted(void *arg)
{
	const struct count *c = arg;

	return http_server_stats(c->server)->accepted >= c->accepted;
}

/* A client that has sent this much; returns when the server has let it in, and read it. */
static struct client *client_that_sent(struct kit *kit, const char *text)
{
	uint64_t before = http_server_stats(kit->server)->accepted;
	struct client *c = client_new(kit);

	kit_wait(kit, has_accepted, &(struct count){ kit->server, before + 1 });
	client_send(c, text);
	ev_run(kit->loop, EVRUN_NOWAIT);
	return c;
}

static void over_the_limit_an_idle_connection_makes_room(void **state)
{
	struct kit kit;
	struct client *older, *old, *new;

	start(&kit, 2);
	older = client_new(&kit);
	client_send(older, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(older, "hello\n");
	old = client_new(&kit);
	client_send(old, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(old, "hello\n");
	new = client_new(&kit);
	client_send(new, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect(new, "hello\n");
	client_expect_close(older);
	assert_false(old->closed);
	assert_int_equal(http_server_stats(kit.server)->evicted, 1);
	assert_int_equal(http_server_stats(kit.server)->refused, 0);
	client_free(older);
	client_free(old);
	client_free(new);
	kit_stop(&kit);
}

/* First the idle one; then those who have not finished asking, a trickle or not, oldest first. */
static void over_the_limit_an_unfinished_request_makes_room(void **state)
{
	struct client *silent, *half, *body, *idle, *new[3];
	struct kit kit;

	start(&kit, 4);
	silent = client_that_sent(&kit, "");
	half = client_that_sent(&kit, "GET / HT");
	body = client_that_sent(&kit,
				"POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
	idle = client_that_sent(&kit, HELLO);
	client_expect(idle, "hello\n");
	client_send(half, "TP");
	for (size_t i = 0; i < ARRAY_SIZE(new); i++) {
		new[i] = client_that_sent(&kit, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
		client_expect_close(i == 0 ? idle : i == 1 ? silent : half);
		assert_false(body->closed);
	}
	assert_int_equal(http_server_stats(kit.server)->evicted, 1);
	assert_int_equal(http_server_stats(kit.server)->cut, 2);
	assert_int_equal(http_server_stats(kit.server)->refused, 0);
	for (size_t i = 0; i < ARRAY_SIZE(new); i++)
		client_free(new[i]);
	client_free(silent);
	client_free(half);
	client_free(body);
	client_free(idle);
	kit_stop(&kit);
}

/* Ten times as many as there is room for; nobody else notices. */
static void those_who_never_finish_asking_keep_nobody_out(void **state)
{
	struct client *crowd[80], *c;
	struct kit kit;

	start(&kit, ARRAY_SIZE(crowd) / 10);
	for (size_t i = 0; i < ARRAY_SIZE(crowd); i++)
		crowd[i] = client_that_sent(&kit, "GET / HT");
	c = client_new(&kit);
	client_send(c, HELLO);
	client_expect(c, "hello\n");
	assert_int_equal(http_server_stats(kit.server)->refused, 0);
	assert_int_equal(http_server_stats(kit.server)->connections, ARRAY_SIZE(crowd) / 10);
	for (size_t i = 0; i < ARRAY_SIZE(crowd); i++)
		client_free(crowd[i]);
	client_free(c);
	kit_stop(&kit);
}

static void over_the_limit_of_those_who_wait_it_is_503(void **state)
{
	struct client *busy, *refused, *later;
	struct kit kit;

	start(&kit, 1);
	busy = client_that_sent(&kit, "GET /later HTTP/1.0\r\n\r\n");
	refused = client_new(&kit);
	client_send(refused, HELLO);
	client_expect_close(refused);
	assert_false(refused->reset);
	assert_int_equal(client_count(refused, "HTTP/1.1 503 Service Unavailable\r\n"), 1);
	assert_int_equal(http_server_stats(kit.server)->refused, 1);

	http_reply(put_off, 200, "text/plain", STR("at last\n"));
	client_expect_close(busy);
	assert_int_equal(client_count(busy, "at last\n"), 1);
	later = client_new(&kit);
	client_send(later, HELLO);
	client_expect(later, "hello\n");
	client_free(busy);
	client_free(refused);
	client_free(later);
	kit_stop(&kit);
}

/* At first he may be taking it; when nothing moves for a while, others come first. */
static void over_the_limit_a_client_that_takes_nothing_makes_room(void **state)
{
	int64_t end = loop_monotonic() + (int64_t)KIT_PATIENCE * NSEC_PER_SEC;
	struct client *stalled;
	bool served = false;
	struct kit kit;

	start(&kit, 1);
	stalled = client_that_sent(&kit, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
	client_set_reading(stalled, false);
	while (!served && loop_monotonic() < end) {
		struct client *c = client_new(&kit);

		client_send(c, "GET /hello HTTP/1.0\r\n\r\n");
		client_expect_close(c);
		served = client_count(c, "hello\n");
		client_free(c);
	}
	assert_true(served);
	assert_int_equal(http_server_stats(kit.server)->cut, 1);
	client_set_reading(stalled, true);
	client_expect_close(stalled);
	assert_true(stalled->in.n < LARGE);
	client_free(stalled);
	kit_stop(&kit);
}

struct growth {
	struct client *client;
	size_t n;
};

static bool has_grown(void *arg)
{
	const struct growth *g = arg;

	return g->client->in.n >= g->n;
}

/* Each that takes nothing costs those before it, not the one that goes on taking. */
static void of_those_who_take_nothing_only_so_many_are_held(void **state)
{
	static const char ask[] = "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	struct client *reader, *stalled[8];
	struct kit kit;

	start_holding(&kit, 6 * LARGE);
	reader = client_that_sent(&kit, ask);
	client_set_slow(reader);
	for (size_t i = 0; i < ARRAY_SIZE(stalled); i++) {
		stalled[i] = client_that_sent(&kit, ask);
		client_set_reading(stalled[i], false);
		kit_wait(&kit, has_grown, &(struct growth){ reader, reader->in.n + LARGE / 16 });
		assert_true(http_server_stats(kit.server)->held <= 6 * LARGE);
	}
	client_expect_close(reader);
	assert_true(reader->in.n > LARGE);
	assert_true(http_server_stats(kit.server)->cut >= ARRAY_SIZE(stalled) - 6);
	assert_true(http_server_stats(kit.server)->cut < ARRAY_SIZE(stalled));
	client_set_reading(stalled[0], true);
	client_expect_close(stalled[0]);
	assert_true(stalled[0]->in.n < LARGE);
	client_set_reading(stalled[7], true);
	client_expect_close(stalled[7]);
	assert_true(stalled[7]->in.n > LARGE);
	for (size_t i = 0; i < ARRAY_SIZE(stalled); i++)
		client_free(stalled[i]);
	client_free(reader);
	kit_stop(&kit);
}

/* A crowd of which each sends this, and nothing more, costs max_held; others are served. */
static void expect_bounded(const char *text, size_t each)
{
	struct client *crowd[40], *c;
	struct kit kit;

	start_holding(&kit, 10 * each);
	for (size_t i = 0; i < ARRAY_SIZE(crowd); i++) {
		crowd[i] = client_that_sent(&kit, text);
		assert_true(http_server_stats(kit.server)->held <= 10 * each);
	}
	client_expect_close(crowd[0]);
	assert_true(http_server_stats(kit.server)->held >= each);
	assert_true(http_server_stats(kit.server)->cut >= ARRAY_SIZE(crowd) - 10);
	c = client_new(&kit);
	client_send(c, HELLO);
	client_expect(c, "hello\n");
	for (size_t i = 0; i < ARRAY_SIZE(crowd); i++)
		client_free(crowd[i]);
	client_free(c);
	kit_stop(&kit);
}

static void of_requests_that_do_not_end_only_so_much_is_held(void **state)
{
	struct buf text = { 0 };

	buf_adds(&text, "GET /hello HTTP/1.1\r\nX: ");
	while (text.n < 10000)
		buf_addc(&text, 'x');
	expect_bounded(buf_cstr(&text), 10000);
	text.n = 0;
	buf_adds(&text, "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 12000\r\n\r\n");
	while (text.n < 10000)
		buf_addc(&text, 'x');
	expect_bounded(buf_cstr(&text), 9000);
	buf_free(&text);
}

static void of_requests_sent_ahead_only_so_much_is_held(void **state)
{
	struct buf text = { 0 };

	buf_adds(&text, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	while (text.n < 10000)
		buf_addc(&text, 'x');
	expect_bounded(buf_cstr(&text), 9000);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_the_limit_an_idle_connection_makes_room),
		cmocka_unit_test(over_the_limit_an_unfinished_request_makes_room),
		cmocka_unit_test(those_who_never_finish_asking_keep_nobody_out),
		cmocka_unit_test(over_the_limit_of_those_who_wait_it_is_503),
		cmocka_unit_test(over_the_limit_a_client_that_takes_nothing_makes_room),
		cmocka_unit_test(of_those_who_take_nothing_only_so_many_are_held),
		cmocka_unit_test(of_requests_that_do_not_end_only_so_much_is_held),
		cmocka_unit_test(of_requests_sent_ahead_only_so_much_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
