/* SPDX-License-Identifier: Apache-2.0 */
/* Streams with a PROXY header, over a socket pair and over TCP with a listener. */
#include "lib/stream/stream.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/stream/listener.h"
#include "lib/stream/proxy.h"
#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

#define PATIENCE (20 * NSEC_PER_SEC)
#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V2 SIGNATURE "\x21\x11\0\x0c\xc0\0\2\1\xc6\x33\x64\x0a\xdc\x04\x01\xbb"
#define V1 "PROXY TCP4 192.0.2.1 198.51.100.10 56324 443\r\n"

static const struct stream_listener_config loopback = { .at.addr = { AF_INET, { 127, 0, 0, 1 } } };

/* One end: what it has read, and which callbacks were called. */
struct end {
	struct stream stream;
	struct buf in;
	unsigned opened, expired;
	bool eof, closed;
	int error;
	char why[128];
};

struct bench {
	struct ev_loop *loop;
	struct end a, b; /* b expects the header */
	int fds[2];
	struct stream_listener listener;
	struct tls_context *server; /* of what is accepted; NULL: plain */
};

static struct end *end_of(struct stream *s)
{
	return container_of(s, struct end, stream);
}

static void on_opened(struct stream *s)
{
	end_of(s)->opened++;
	stream_want(s, STREAM_READ);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct end *e = end_of(s);
	char bytes[4096];
	ssize_t n = stream_read(s, bytes, sizeof(bytes));

	if (n > 0)
		buf_add(&e->in, bytes, (size_t)n);
	else if (n == 0)
		e->eof = true;
	if (n == 0)
		stream_want(s, 0);
}

static void on_closed(struct stream *s, int error)
{
	struct end *e = end_of(s);

	e->closed = true;
	e->error = error;
	snprintf(e->why, sizeof(e->why), "%s", stream_reason(s, error));
	stream_close(s);
}

static void on_expired(struct stream *s)
{
	end_of(s)->expired++;
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	struct bench *b = user;

	stream_adopt(&b->b.stream, fd);
	stream_expect_proxy(&b->b.stream);
	if (b->server)
		stream_secure(&b->b.stream, tls_accept(b->server, fd));
}

static void on_starved(int error, void *user)
{
	fail_msg("starved: %d", error);
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	const struct stream_listener_events listens = { on_accepted, on_starved, b, NULL };

	b->loop = ev_loop_new(EVFLAG_AUTO);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b->fds),
			 0);
	stream_init(&b->a.stream, b->loop, TASK_ORDINARY, &events);
	stream_init(&b->b.stream, b->loop, TASK_ORDINARY, &events);
	assert_int_equal(stream_listener_open(&b->listener, b->loop, &loopback, &listens), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	stream_end(&b->a.stream);
	stream_end(&b->b.stream);
	buf_free(&b->a.in);
	buf_free(&b->b.in);
	stream_listener_close(&b->listener);
	for (int i = 0; i < 2; i++)
		cleanup_fd(&b->fds[i]);
	ev_loop_destroy(b->loop);
	free(b);
	return 0;
}

static void turn_until(struct bench *b, bool (*cond)(const struct bench *b))
{
	int64_t end = loop_monotonic() + PATIENCE;

	while (!cond(b)) {
		assert_true(loop_monotonic() < end);
		ev_run(b->loop, EVRUN_NOWAIT);
	}
}

static void turn_some(struct bench *b)
{
	for (int i = 0; i < 5; i++)
		ev_run(b->loop, EVRUN_NOWAIT);
}

static bool b_opened(const struct bench *b)
{
	return b->b.opened > 0;
}

static bool b_closed(const struct bench *b)
{
	return b->b.closed;
}

static bool b_expired(const struct bench *b)
{
	return b->b.expired > 0;
}

static bool b_read_end(const struct bench *b)
{
	return b->b.eof;
}

static bool a_opened(const struct bench *b)
{
	return b->a.opened > 0;
}

/* The second of the pair expects a header; the first is a bare socket. */
static void expect(struct bench *b)
{
	stream_adopt(&b->b.stream, TAKE_FD(b->fds[1]));
	stream_expect_proxy(&b->b.stream);
}

static void say(struct bench *b, const char *p, size_t n)
{
	assert_int_equal(write(b->fds[0], p, n), n);
}

static void expect_endpoint(const struct endpoint *e, const char *text)
{
	char buf[ENDPOINT_STRLEN];

	assert_string_equal(endpoint_format(e, buf), text);
}

static void expect_addresses(const struct stream *s, const char *peer, const char *local)
{
	struct endpoint e;

	assert_int_equal(stream_peer(s, &e), 0);
	expect_endpoint(&e, peer);
	assert_int_equal(stream_local(s, &e), 0);
	expect_endpoint(&e, local);
}

/* ---- reading ---- */

static void what_follows_the_header_is_the_owners(void **state)
{
	static const struct str rows[] = { STR(V1 "hello"), STR(V2 "hello") };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench *b;

		setup((void **)&b);
		expect(b);
		say(b, rows[i].p, rows[i].n);
		shutdown(b->fds[0], SHUT_WR);
		turn_until(b, b_read_end);
		assert_int_equal(b->b.opened, 1);
		assert_string_equal(buf_cstr(&b->b.in), "hello");
		expect_addresses(&b->b.stream, "192.0.2.1:56324", "198.51.100.10:443");
		assert_int_equal(stream_proxy_header(&b->b.stream)->version, 1 + i);
		teardown((void **)&b);
	}
}

/* An incomplete header must not leave the socket readable. */
static void a_header_in_pieces_does_not_spin(void **state)
{
	static const char bytes[] = V2 "x";
	struct bench *b = *state;
	char byte;

	expect(b);
	for (size_t i = 0; i < sizeof(V2) - 2; i++) {
		say(b, bytes + i, 1);
		turn_some(b);
		assert_int_equal(b->b.opened, 0);
		assert_null(stream_proxy_header(&b->b.stream));
		assert_false(task_is_woken(&b->b.stream.task));
		assert_int_equal(recv(b->b.stream.fd, &byte, 1, MSG_PEEK), -1);
	}
	say(b, bytes + sizeof(V2) - 2, 2); /* its last byte, and one more */
	turn_until(b, b_opened);
	turn_some(b);
	assert_string_equal(buf_cstr(&b->b.in), "x");
}

static void a_connection_without_a_header_is_closed_with_words(void **state)
{
	static const struct {
		struct str in;
		const char *why;
	} rows[] = {
		{ STR("GET / HTTP/1.1\r\n\r\n"), "there is no PROXY header" },
		{ STR("\x16\x03\x01"), "there is no PROXY header" }, /* TLS */
		{ STR("PROXY TCP4 x"), "the connection ended before its PROXY header" },
		{ STR("PROXY TCP4 x\r\n"), "the PROXY header has a malformed address" },
		{ STR(SIGNATURE "\x21\x11\xff\xff"), "the PROXY header is too long" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench *b;

		setup((void **)&b);
		expect(b);
		say(b, rows[i].in.p, rows[i].in.n);
		shutdown(b->fds[0], SHUT_WR);
		turn_until(b, b_closed);
		assert_int_equal(b->b.error, -EPROTO);
		assert_string_equal(b->b.why, rows[i].why);
		assert_int_equal(b->b.opened, 0);
		teardown((void **)&b);
	}
}

static void silence_is_bounded_by_the_deadline(void **state)
{
	struct bench *b = *state;

	expect(b);
	stream_set_deadline(&b->b.stream, 10 * NSEC_PER_MSEC);
	say(b, "PROX", 4);
	turn_until(b, b_expired);
	assert_int_equal(b->b.opened, 0);
	assert_false(b->b.closed);
}

static void a_stream_is_used_again_without_its_header(void **state)
{
	struct bench *b = *state;

	expect(b);
	say(b, V1, sizeof(V1) - 1);
	turn_until(b, b_opened);
	stream_close(&b->b.stream);
	assert_null(stream_proxy_header(&b->b.stream));
	stream_adopt(&b->b.stream, TAKE_FD(b->fds[0]));
	assert_null(stream_proxy_header(&b->b.stream));
	assert_int_equal(stream_peer(&b->b.stream, &(struct endpoint){ 0 }), -EAFNOSUPPORT);
}

/* ---- writing, to a stream that reads ---- */

static const struct stream_proxy client = {
	.version = 2,
	.kind = STREAM_PROXY_IP,
	.source = { { AF_INET, { 192, 0, 2, 1 } }, 56324 },
	.destination = { { AF_INET, { 198, 51, 100, 10 } }, 443 },
	.authority = { "www.example", 11 },
	.checksum = true,
};

static void dial(struct bench *b)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&b->listener.bound, &sa);

	stream_connect(&b->a.stream, (struct sockaddr *)&sa, len);
}

static void send_and_expect(struct bench *b)
{
	turn_until(b, a_opened);
	assert_int_equal(stream_send(&b->a.stream, "hello", 5), 0);
	assert_int_equal(b->a.stream.sent, 5); /* without the header */
	stream_shutdown(&b->a.stream);
	turn_until(b, b_read_end);
	assert_string_equal(buf_cstr(&b->b.in), "hello");
}

static void a_header_goes_before_plain_bytes(void **state)
{
	struct bench *b = *state;
	const struct stream_proxy *h;

	dial(b);
	assert_int_equal(stream_send_proxy(&b->a.stream, &client), 0);
	send_and_expect(b);
	expect_addresses(&b->b.stream, "192.0.2.1:56324", "198.51.100.10:443");
	h = stream_proxy_header(&b->b.stream);
	assert_true(h->checksum);
	assert_true(str_eq(h->authority, STR("www.example")));
	assert_null(stream_proxy_header(&b->a.stream));
}

static struct tls_context *server_context(struct pki *pki)
{
	pki_make(pki);
	pki_issue(pki, NULL, "ca");
	pki_issue(pki, "ca", "server");
	return pki_server(pki, "server", NULL, "http/1.1,http/1.0");
}

static void a_header_goes_before_tls(void **state)
{
	struct bench *b = *state;
	struct tls_context *context = pki_client(NULL, NULL, NULL, "http/1.1");
	struct pki pki;
	struct tls *tls;

	b->server = server_context(&pki);
	for (uint8_t version = 1; version <= 2; version++) {
		struct stream_proxy h = client;

		h.version = version;
		dial(b);
		assert_int_equal(tls_connect(context, b->a.stream.fd, "localhost", NULL, &tls), 0);
		stream_secure(&b->a.stream, tls);
		assert_int_equal(stream_send_proxy(&b->a.stream, &h), 0);
		send_and_expect(b);
		assert_int_equal(b->b.opened, version);
		assert_true(tls_protocol(b->b.stream.tls).n > 0);
		expect_addresses(&b->b.stream, "192.0.2.1:56324", "198.51.100.10:443");
		stream_close(&b->a.stream);
		stream_close(&b->b.stream);
		b->a.opened = 0;
		b->b.eof = false;
		b->b.in.n = 0;
	}
	tls_context_free(context);
	tls_context_free(b->server);
	pki_remove(&pki);
}

/* TLS without the expected header fails before the handshake. */
static void tls_without_a_header_is_refused(void **state)
{
	struct bench *b = *state;
	struct tls_context *context = pki_client(NULL, NULL, NULL, "http/1.1");
	struct pki pki;
	struct tls *tls;

	b->server = server_context(&pki);
	dial(b);
	assert_int_equal(tls_connect(context, b->a.stream.fd, "localhost", NULL, &tls), 0);
	stream_secure(&b->a.stream, tls);
	turn_until(b, b_closed);
	assert_string_equal(b->b.why, "there is no PROXY header");
	tls_context_free(context);
	tls_context_free(b->server);
	pki_remove(&pki);
}

static void a_local_connection_has_its_own_addresses(void **state)
{
	const struct stream_proxy local = { .version = 2, .local = true };
	char a_end[ENDPOINT_STRLEN], b_end[ENDPOINT_STRLEN];
	struct bench *b = *state;
	struct endpoint e;

	dial(b);
	assert_int_equal(stream_send_proxy(&b->a.stream, &local), 0);
	send_and_expect(b);
	assert_true(stream_proxy_header(&b->b.stream)->local);
	assert_int_equal(stream_local(&b->a.stream, &e), 0);
	endpoint_format(&e, a_end);
	endpoint_format(&b->listener.bound, b_end);
	expect_addresses(&b->b.stream, a_end, b_end);
}

static void a_header_that_cannot_be_is_not_sent(void **state)
{
	struct stream_proxy h = client;
	struct bench *b = *state;

	h.source.addr = (struct addr){ AF_INET6, { 1 } };
	dial(b);
	assert_int_equal(stream_send_proxy(&b->a.stream, &h), -EINVAL);
	turn_until(b, a_opened);
	assert_int_equal(stream_send(&b->a.stream, "hello", 5), 0);
	turn_until(b, b_closed);
	assert_string_equal(b->b.why, "there is no PROXY header");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_follows_the_header_is_the_owners),
		T(a_header_in_pieces_does_not_spin),
		cmocka_unit_test(a_connection_without_a_header_is_closed_with_words),
		T(silence_is_bounded_by_the_deadline),
		T(a_stream_is_used_again_without_its_header),
		T(a_header_goes_before_plain_bytes),
		T(a_header_goes_before_tls),
		T(tls_without_a_header_is_refused),
		T(a_local_connection_has_its_own_addresses),
		T(a_header_that_cannot_be_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
