/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that are handed over after 101, and servers on Unix sockets. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"
#include "lib/stream/stream.h"

#define ASK "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"

/* The owner of a tunnel: sends back what it reads, and "bye" after the client's end. */
struct tunnel {
	struct kit kit;
	struct stream stream;
	struct http_exchange *x; /* asked for, to be answered later */
	bool later, open, ended, closed;
	unsigned drained;
	int result;
};

static struct tunnel *tunnel_of(struct stream *s)
{
	return container_of(s, struct tunnel, stream);
}

static void on_tunnel_ready(struct stream *s, unsigned what)
{
	struct tunnel *t = tunnel_of(s);
	char bytes[4096];
	ssize_t n = what & STREAM_READ ? stream_read(s, bytes, sizeof(bytes)) : -EAGAIN;

	if (n > 0)
		assert_int_equal(stream_send(s, bytes, (size_t)n), 0);
	if (n != 0)
		return;
	t->ended = true;
	stream_want(s, 0);
	assert_int_equal(stream_send(s, "bye", 3), 0);
	stream_shutdown(s);
}

static void on_tunnel_closed(struct stream *s, int error)
{
	tunnel_of(s)->closed = true;
}

static const struct stream_events tunnel_events = {
	.ready = on_tunnel_ready,
	.closed = on_tunnel_closed,
};

static void upgrade(struct tunnel *t, struct http_exchange *x)
{
	struct buf early = { 0 };

	assert_int_equal(http_reply_header(x, "X-Tunnel", STR("1")), 0);
	t->result = http_upgrade(x, "echo", &t->stream, &early);
	if (t->result < 0) {
		http_reply_status(x, 400);
	} else {
		t->open = true;
		stream_want(&t->stream, STREAM_READ);
		assert_int_equal(stream_send(&t->stream, early.p, early.n), 0);
	}
	buf_free(&early);
}

static void on_gone(void *user)
{
	((struct tunnel *)user)->x = NULL;
}

static void on_tunnel(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct tunnel *t = user;

	if (t->later) {
		t->x = x;
		http_reply_later(x, on_gone, t);
	} else {
		upgrade(t, x);
	}
}

static const struct http_route routes[] = { { HTTP_GET, "/tunnel", on_tunnel } };

static void start(struct tunnel *t, struct http_server_config config)
{
	config.routes = routes;
	config.n_routes = ARRAY_SIZE(routes);
	config.user = t;
	kit_start(&t->kit, config);
	stream_init(&t->stream, t->kit.loop, TASK_ORDINARY, &tunnel_events);
}

static void stop(struct tunnel *t, struct client *c)
{
	client_free(c);
	stream_end(&t->stream);
	kit_stop(&t->kit);
}

static bool is_asked(void *arg)
{
	return ((struct tunnel *)arg)->x;
}

static bool has_no_connection(void *arg)
{
	return !http_server_stats(((struct tunnel *)arg)->kit.server)->connections;
}

static void check_tunnel(struct tunnel *t, struct client *c)
{
	client_expect(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
			 "Upgrade: echo\r\nX-Tunnel: 1\r\n\r\n");
	client_expect(c, "\r\n\r\nahead");
	client_send(c, "more");
	client_expect(c, "aheadmore");
	assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
	client_expect(c, "aheadmorebye"); /* the other half still works */
	client_expect_close(c);
	assert_false(c->reset);
	assert_true(t->ended && !t->closed);
}

static void a_tunnel_gets_what_was_sent_ahead_and_ends_by_halves(void **state)
{
	struct tunnel t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, ASK "ahead");
	check_tunnel(&t, c);
	kit_wait(&t.kit, has_no_connection, &t);
	assert_int_equal(http_server_stats(t.kit.server)->upgraded, 1);
	stop(&t, c);
}

static void an_upgrade_may_come_later(void **state)
{
	struct tunnel t = { .later = true };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, ASK "ahead");
	kit_wait(&t.kit, is_asked, &t);
	upgrade(&t, TAKE_PTR(t.x));
	check_tunnel(&t, c);
	assert_null(t.x);
	stop(&t, c);
}

static void only_clients_that_ask_are_upgraded(void **state)
{
	static const char *const asks[] = {
		"GET /tunnel HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /tunnel HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		struct tunnel t = { 0 };
		struct client *c;

		start(&t, (struct http_server_config){ 0 });
		c = client_new(&t.kit);
		client_send(c, asks[i]);
		client_expect(c, "HTTP/1.1 400 ");
		assert_int_equal(t.result, -EINVAL);
		assert_false(t.open);
		stop(&t, c);
	}
}

static void on_drained(void *user)
{
	((struct tunnel *)user)->drained++;
}

static bool is_drained(void *arg)
{
	return ((struct tunnel *)arg)->drained;
}

static void a_server_neither_waits_for_tunnels_nor_ends_them(void **state)
{
	struct tunnel t = { 0 };
	struct client *c;

	start(&t, (struct http_server_config){ 0 });
	c = client_new(&t.kit);
	client_send(c, ASK);
	client_expect(c, "HTTP/1.1 101 ");
	http_server_drain(t.kit.server, on_drained, &t);
	kit_wait(&t.kit, is_drained, &t);
	http_server_free(TAKE_PTR(t.kit.server));
	client_send(c, "ping");
	client_expect(c, "\r\n\r\nping");
	stop(&t, c);
}

static void a_server_listens_on_a_unix_socket(void **state)
{
	char path[] = "/tmp/http-upgrade-test-XXXXXX";
	struct tunnel t = { 0 };
	struct stat st;
	struct client *c;

	cleanup_fd(&(int){ mkstemp(path) });
	assert_int_equal(unlink(path), 0);
	start(&t, (struct http_server_config){ .path = path, .mode = 0600 });
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	c = client_new_unix(&t.kit, path);
	client_send(c, ASK "ahead");
	check_tunnel(&t, c);
	stop(&t, c);
	assert_int_equal(stat(path, &st), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tunnel_gets_what_was_sent_ahead_and_ends_by_halves),
		cmocka_unit_test(an_upgrade_may_come_later),
		cmocka_unit_test(only_clients_that_ask_are_upgraded),
		cmocka_unit_test(a_server_neither_waits_for_tunnels_nor_ends_them),
		cmocka_unit_test(a_server_listens_on_a_unix_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
