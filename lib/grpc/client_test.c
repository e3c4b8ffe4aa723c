/* SPDX-License-Identifier: Apache-2.0 */
/* A client whose server is missing, goes away, or sends invalid responses. */
#include "lib/grpc/client.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/testkit.h"
#include "lib/stream/listener.h"

static const struct grpc_server_config plain;

static void a_target_that_is_none_is_refused(void **state)
{
	static const char *const targets[] = {
		"",	      "host",	"host:", ":80",	  "host:x", "host:0",
		"host:65536", "::1:80", "[]:80", "[::1]", "a:b:80",
	};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct grpc_client *c = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct grpc_client_config config = { .target = targets[i] };

		assert_int_equal(grpc_client_new(loop, &config, &c), -EINVAL);
		assert_null(c);
	}
	ev_loop_destroy(loop);
}

/* The name is looked up for each call: it may be known the next time. */
static void a_name_that_is_not_known_is_unavailable(void **state)
{
	struct kit kit;

	kit_start(&kit, plain);
	kit_reconnect(&kit, (struct grpc_client_config){ .target = "no-such-host.invalid:1" });
	for (int i = 1; i <= 2; i++) {
		struct heard h = { 0 };

		kit_call(&kit, &h, &kit_echo, "x", 0, 0);
		kit_wait_done(&kit, &h);
		assert_int_equal(h.status, GRPC_UNAVAILABLE);
		assert_non_null(strstr(h.text, "cannot reach no-such-host.invalid:1: "));
		assert_int_equal(kit.disconnected, i);
	}
	kit_stop(&kit);
}

/* Freeing the client ends the child process of the lookup. */
static void a_client_may_be_freed_while_a_name_is_looked_up(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_reconnect(&kit, (struct grpc_client_config){ .target = "localhost:1" });
	kit_call(&kit, &h, &kit_echo, "x", 0, 0);
	kit_reconnect(&kit, (struct grpc_client_config){ 0 });
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	kit_stop(&kit);
}

/* ::1 is the first address, and no server listens on it. */
static void addresses_are_tried_in_turn(void **state)
{
	struct heard h = { 0 };
	char target[64];
	struct kit kit;

	kit_start(&kit, plain);
	snprintf(target, sizeof(target), "localhost:%u",
		 (unsigned)grpc_server_endpoint(kit.server).port);
	kit_reconnect(&kit, (struct grpc_client_config){ .target = target });
	kit_call(&kit, &h, &kit_echo, "x", 0, 0);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_OK);
	kit_stop(&kit);
}

static void a_refused_connection_is_unavailable(void **state)
{
	struct heard a = { 0 }, b = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	grpc_server_free(TAKE_PTR(kit.server));
	kit_call(&kit, &a, &kit_echo, "x", 0, 0);
	kit_call(&kit, &b, &kit_echo, "x", 0, 0);
	kit_wait_done(&kit, &a);
	kit_wait_done(&kit, &b);
	assert_int_equal(a.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(a.text, "connection refused"));
	assert_int_equal(b.status, GRPC_UNAVAILABLE);
	assert_int_equal(kit.connected, 0);
	assert_int_equal(kit.disconnected, 1);
	kit_stop(&kit);
}

static struct grpc_server *server_at(struct kit *kit, struct endpoint e)
{
	const struct grpc_server_config config = { .listen = e };
	struct grpc_server *s;

	assert_int_equal(grpc_server_new(kit->loop, &config, &s), 0);
	return s;
}

static void a_lost_server_is_found_again(void **state)
{
	struct heard a = { 0 }, b = { 0 };
	struct endpoint e;
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &a, &kit_hang, "x", 0, 0);
	kit_wait_int(&kit, &kit.handled, 1);
	e = grpc_server_endpoint(kit.server);
	grpc_server_free(kit.server);
	assert_int_equal(kit.cancelled, 1);
	kit_wait_done(&kit, &a);
	assert_int_equal(a.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(a.text, "lost the connection to 127.0.0.1:"));
	assert_int_equal(kit.disconnected, 1);

	kit.server = server_at(&kit, e); /* without routes: any response is enough */
	kit_call(&kit, &b, &kit_echo, "x", 0, 0);
	kit_wait_done(&kit, &b);
	assert_int_equal(b.status, GRPC_UNIMPLEMENTED);
	assert_int_equal(kit.connected, 2);
	kit_stop(&kit);
}

static void a_call_may_be_cancelled_at_any_time(void **state)
{
	struct heard waiting = { 0 }, telling = { .cancel_on_message = true }, last = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &waiting, &kit_echo, "x", 0, 0); /* not even connected */
	grpc_client_cancel(waiting.call);
	kit_call(&kit, &telling, &kit_count, "x", 5, 0);
	kit_wait_messages(&kit, &telling, 1);
	kit_call(&kit, &last, &kit_echo, "x", 0, 0);
	kit_wait_done(&kit, &last);
	assert_int_equal(waiting.done + waiting.messages, 0);
	assert_int_equal(telling.messages, 1);
	assert_int_equal(telling.done, 0);
	kit_stop(&kit);
}

static void done_may_free_the_client(void **state)
{
	struct heard a = { .free_client_on_done = true }, b = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &a, &kit_echo, "x", 0, 0);
	kit_call(&kit, &b, &kit_hang, "x", 0, 0);
	kit_wait_done(&kit, &a);
	assert_null(kit.client);
	assert_int_equal(b.done, 0);
	kit_wait_int(&kit, &kit.cancelled, 1);
	kit_stop(&kit);
}

/* ---- a server that sends what the test wants ---- */

struct liar {
	struct stream_listener listener;
	int fd;
	struct str says; /* when a call has come */
	struct ev_loop *loop;
	ev_io io;
};

static void on_question(struct ev_loop *loop, ev_io *w, int revents)
{
	struct liar *l = container_of(w, struct liar, io);
	char bytes[4096];
	ssize_t n = recv(l->fd, bytes, sizeof(bytes), 0);

	if (n <= 0) {
		ev_io_stop(loop, w);
		close(TAKE_FD(l->fd));
		return;
	}
	/* HEADERS with END_HEADERS, of stream 1: the call has come */
	if (memmem(bytes, (size_t)n, "\1\4\0\0\0\1", 6))
		assert_true(send(l->fd, l->says.p, l->says.n, MSG_NOSIGNAL) > 0);
}

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	static const char settings[] = "\0\0\0\4\0\0\0\0\0";
	struct liar *l = user;

	l->fd = fd;
	assert_true(send(fd, settings, 9, MSG_NOSIGNAL) == 9);
	ev_io_init(&l->io, on_question, fd, EV_READ);
	ev_io_start(l->loop, &l->io);
}

static void on_starved(int error, void *user)
{
	fail_msg("starved: %d", error);
}

static void what_is_no_grpc_answer_has_a_status(void **state)
{
#define HEADERS(n, flags) "\0\0" n "\1" flags "\0\0\0\1"
	/* HPACK: 0x88 is ":status: 200", 0x8d 404, 0x08 with three bytes any other */
	static const struct {
		struct str says;
		enum grpc_status status;
		const char *words;
	} rows[] = {
		{ STR(HEADERS("\1", "\5") "\x8d"), GRPC_UNIMPLEMENTED, "HTTP status 404" },
		{ STR(HEADERS("\5", "\5") "\x08\x03"
					  "503"),
		  GRPC_UNAVAILABLE, "HTTP status 503" },
		{ STR(HEADERS("\5", "\5") "\x08\x03"
					  "418"),
		  GRPC_UNKNOWN, "HTTP status 418" },
		{ STR(HEADERS("\1", "\5") "\x88"), GRPC_UNKNOWN, "not gRPC" },
		{ STR("\0\0\4\3\0\0\0\0\1\0\0\0\x7"), GRPC_UNAVAILABLE, "HTTP/2 error 7" },
		{ STR("\0\0\4\3\0\0\0\0\1\0\0\0\xb"), GRPC_RESOURCE_EXHAUSTED, "HTTP/2 error 11" },
		{ STR("\0\0\4\3\0\0\0\0\1\0\0\0\x8"), GRPC_CANCELLED, "HTTP/2 error 8" },
		{ STR("\0\0\4\3\0\0\0\0\1\0\0\0\x2"), GRPC_INTERNAL, "HTTP/2 error 2" },
		{ STR("HTTP/1.1 400 Bad Request\r\n\r\n"), GRPC_UNAVAILABLE,
		  "lost the connection" },
		/* content-type, grpc-encoding: gzip, and a message that says it is compressed */
		{ STR(HEADERS("\x28", "\4") "\x88\x0f\x10\x10"
					    "application/grpc"
					    "\0\x0dgrpc-encoding\4gzip"
					    "\0\0\6\0\0\0\0\0\1"
					    "\1\0\0\0\1x"),
		  GRPC_INTERNAL, "compressed, which was not offered" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct stream_listener_config at = { .at.addr = { AF_INET,
									{ 127, 0, 0, 1 } } };
		struct liar l = { .fd = -1, .says = rows[i].says };
		const struct stream_listener_events events = { on_accepted, on_starved, &l, NULL };
		char target[ENDPOINT_STRLEN];
		struct heard h = { 0 };
		struct kit kit;

		kit_start(&kit, plain);
		l.loop = kit.loop;
		assert_int_equal(stream_listener_open(&l.listener, kit.loop, &at, &events), 0);
		endpoint_format(&l.listener.bound, target);
		kit_reconnect(&kit, (struct grpc_client_config){ .target = target });
		kit_call(&kit, &h, &kit_echo, "x", 0, 0);
		kit_wait_done(&kit, &h);
		assert_int_equal(h.status, rows[i].status);
		if (!strstr(h.text, rows[i].words))
			fail_msg("%zu: '%s' without '%s'", i, h.text, rows[i].words);
		stream_listener_close(&l.listener);
		ev_io_stop(kit.loop, &l.io);
		cleanup_fd(&l.fd);
		kit_stop(&kit);
	}
}

static void a_server_that_is_silent_is_given_up(void **state)
{
	const struct endpoint loopback = { .addr = { AF_INET, { 127, 0, 0, 1 } } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&loopback, &sa);
	char target[ENDPOINT_STRLEN];
	struct heard h = { 0 };
	struct endpoint e;
	struct kit kit;

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	getsockname(fd, (struct sockaddr *)&sa, &len);
	endpoint_from_sockaddr((struct sockaddr *)&sa, &e);
	endpoint_format(&e, target);
	kit_start(&kit, plain);
	kit_reconnect(&kit, (struct grpc_client_config){ .target = target,
							 .connect_timeout = 50 * NSEC_PER_MSEC });
	kit_call(&kit, &h, &kit_echo, "x", 0, 0);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(h.text, "handshake timed out"));
	kit_stop(&kit);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_is_none_is_refused),
		cmocka_unit_test(a_name_that_is_not_known_is_unavailable),
		cmocka_unit_test(a_client_may_be_freed_while_a_name_is_looked_up),
		cmocka_unit_test(addresses_are_tried_in_turn),
		cmocka_unit_test(a_refused_connection_is_unavailable),
		cmocka_unit_test(a_lost_server_is_found_again),
		cmocka_unit_test(a_call_may_be_cancelled_at_any_time),
		cmocka_unit_test(done_may_free_the_client),
		cmocka_unit_test(what_is_no_grpc_answer_has_a_status),
		cmocka_unit_test(a_server_that_is_silent_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
