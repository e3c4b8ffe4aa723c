/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams over a socket pair, or one stream and a raw socket that misbehaves. */
#include "lib/stream/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

#define PATIENCE 20. /* s */

/* One end: what it has read, and which callbacks were called. */
struct end {
	struct stream stream;
	struct buf in;
	unsigned opened, writable, woken, expired, reads;
	bool eof, closed;
	int error;
	bool ends_itself; /* in its next callback */
};

struct bench {
	struct ev_loop *loop;
	struct end a, b;
	int fds[2];
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

static void read_once(struct end *e)
{
	char bytes[4096];
	ssize_t n = stream_read(&e->stream, bytes, sizeof(bytes));

	e->reads++;
	if (n > 0)
		buf_add(&e->in, bytes, (size_t)n);
	else if (n != -EAGAIN) {
		e->eof = n == 0;
		e->error = (int)n;
		stream_want(&e->stream, 0);
	}
}

static void on_ready(struct stream *s, unsigned what)
{
	struct end *e = end_of(s);

	if (e->ends_itself) {
		stream_end(s);
		memset(s, 0xa5, sizeof(*s)); /* it must not be used any more */
		e->closed = true;
		return;
	}
	e->writable += (what & STREAM_WRITE) != 0;
	e->woken += (what & STREAM_WAKE) != 0;
	if (what & STREAM_READ)
		read_once(e);
}

static void on_closed(struct stream *s, int error)
{
	struct end *e = end_of(s);

	e->closed = true;
	e->error = error;
	stream_close(s);
}

static void on_expired(struct stream *s)
{
	end_of(s)->expired++;
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->loop = ev_loop_new(EVFLAG_AUTO);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b->fds),
			 0);
	stream_init(&b->a.stream, b->loop, TASK_ORDINARY, &events);
	stream_init(&b->b.stream, b->loop, TASK_ORDINARY, &events);
	*state = b;
	return 0;
}

static void finish(struct end *e)
{
	if (!e->ends_itself)
		stream_end(&e->stream);
	buf_free(&e->in);
}

static int teardown(void **state)
{
	struct bench *b = *state;

	finish(&b->a);
	finish(&b->b);
	for (int i = 0; i < 2; i++)
		cleanup_fd(&b->fds[i]);
	ev_loop_destroy(b->loop);
	free(b);
	return 0;
}

/* Both ends are streams. */
static void join(struct bench *b)
{
	stream_adopt(&b->a.stream, TAKE_FD(b->fds[0]));
	stream_adopt(&b->b.stream, TAKE_FD(b->fds[1]));
	stream_want(&b->b.stream, STREAM_READ);
}

static void turn_until(struct bench *b, bool (*cond)(const struct bench *b))
{
	int64_t end = loop_monotonic() + (int64_t)(PATIENCE * NSEC_PER_SEC);

	while (!cond(b)) {
		assert_true(loop_monotonic() < end);
		ev_run(b->loop, EVRUN_NOWAIT);
	}
}

static bool b_read_end(const struct bench *b)
{
	return b->b.eof;
}

static bool a_closed(const struct bench *b)
{
	return b->a.closed;
}

static void fill(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 2654435761u >> 24);
}

static void what_the_socket_does_not_take_follows_in_order(void **state)
{
	struct bench *b = *state;
	size_t n = (size_t)4 << 20;
	char *bytes = malloc(n);

	fill(bytes, n);
	join(b);
	assert_int_equal(stream_send(&b->a.stream, bytes, n), 0);
	assert_true(stream_unsent(&b->a.stream) > 0);
	assert_true(stream_is_full(&b->a.stream));
	stream_shutdown(&b->a.stream); /* after all of it */
	turn_until(b, b_read_end);
	assert_int_equal(b->b.in.n, n);
	assert_memory_equal(b->b.in.p, bytes, n);
	assert_int_equal(b->a.stream.sent, n);
	assert_int_equal(stream_unsent(&b->a.stream), 0);
	free(bytes);
}

static void a_stream_that_moves_takes_its_queue_along(void **state)
{
	struct bench *b = *state;
	size_t n = (size_t)4 << 20;
	char *bytes = malloc(n);
	struct stream old;

	fill(bytes, n);
	stream_init(&old, b->loop, TASK_ORDINARY, &events);
	stream_adopt(&old, TAKE_FD(b->fds[0]));
	stream_adopt(&b->b.stream, TAKE_FD(b->fds[1]));
	stream_want(&b->b.stream, STREAM_READ);
	assert_int_equal(stream_send(&old, bytes, n), 0);
	assert_true(stream_unsent(&old) > 0);
	stream_move(&b->a.stream, &old);
	assert_int_equal(old.fd, -1);
	assert_int_equal(stream_unsent(&old), 0);
	stream_end(&old);
	memset(&old, 0xa5, sizeof(old)); /* it must not be used any more */
	stream_shutdown(&b->a.stream);
	turn_until(b, b_read_end);
	assert_int_equal(b->b.in.n, n);
	assert_memory_equal(b->b.in.p, bytes, n);
	assert_int_equal(b->a.stream.sent, n);
	free(bytes);
}

static bool a_has_opened(const struct bench *b)
{
	return b->a.opened > 0;
}

static void a_stream_that_moves_keeps_its_proxy_header(void **state)
{
	static const char header[] = "PROXY TCP4 192.0.2.1 192.0.2.2 1000 80\r\n";
	struct bench *b = *state;
	struct endpoint peer;

	stream_adopt(&b->a.stream, TAKE_FD(b->fds[0]));
	stream_expect_proxy(&b->a.stream);
	assert_int_equal(write(b->fds[1], header, strlen(header)), strlen(header));
	turn_until(b, a_has_opened);
	stream_move(&b->b.stream, &b->a.stream);
	assert_null(stream_proxy_header(&b->a.stream));
	assert_int_equal(stream_peer(&b->b.stream, &peer), 0);
	assert_int_equal(peer.port, 1000);
}

static bool a_is_writable(const struct bench *b)
{
	return b->a.writable > 0;
}

static void the_low_mark_is_told_and_not_before(void **state)
{
	struct bench *b = *state;
	size_t n = (size_t)4 << 20;
	char *bytes = calloc(1, n);

	join(b);
	stream_set_marks(&b->a.stream, n, 1000);
	stream_want(&b->a.stream, STREAM_WRITE);
	assert_int_equal(stream_send(&b->a.stream, bytes, n), 0);
	turn_until(b, a_is_writable);
	assert_true(stream_unsent(&b->a.stream) <= 1000);
	free(bytes);
}

static void nothing_is_read_that_is_not_wanted(void **state)
{
	struct bench *b = *state;

	join(b);
	stream_want(&b->b.stream, 0);
	assert_int_equal(stream_send(&b->a.stream, "x", 1), 0);
	for (int i = 0; i < 5; i++)
		ev_run(b->loop, EVRUN_NOWAIT);
	assert_int_equal(b->b.reads, 0);
	stream_want(&b->b.stream, STREAM_READ);
	stream_shutdown(&b->a.stream);
	turn_until(b, b_read_end);
	assert_string_equal(buf_cstr(&b->b.in), "x");
}

/* ---- several pieces ---- */

/* Reads raw bytes from the other end until there are n; the stream sends its queue meanwhile. */
static struct buf receive(struct bench *b, size_t n)
{
	int64_t end = loop_monotonic() + (int64_t)(PATIENCE * NSEC_PER_SEC);
	struct buf in = { 0 };
	char bytes[4096];

	while (in.n < n) {
		ssize_t r = read(b->fds[1], bytes, sizeof(bytes));

		assert_true(loop_monotonic() < end);
		buf_add(&in, bytes, r > 0 ? (size_t)r : 0);
		ev_run(b->loop, EVRUN_NOWAIT);
	}
	return in;
}

/* A new pair of sockets of that type; the stream has the first one. */
static void renew(struct bench *b, int type)
{
	stream_close(&b->a.stream);
	for (int i = 0; i < 2; i++)
		cleanup_fd(&b->fds[i]);
	assert_int_equal(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b->fds), 0);
	stream_adopt(&b->a.stream, TAKE_FD(b->fds[0]));
}

static void shrink_send_buffer(int fd)
{
	int least = 1;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
}

/* Each record of this socket is one call of the kernel. */
static void pieces_are_sent_in_one_call(void **state)
{
	struct bench *b = *state;
	const struct str pieces[] = {
		str_of("HTTP/1.1 200 OK\r\n"), { 0 }, str_of("\r\n"), str_of("body")
	};
	char bytes[64];

	renew(b, SOCK_SEQPACKET);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, ARRAY_SIZE(pieces)), 0);
	assert_int_equal(stream_unsent(&b->a.stream), 0);
	assert_int_equal(b->a.stream.sent, 23);
	assert_int_equal(read(b->fds[1], bytes, sizeof(bytes)), 23);
	assert_memory_equal(bytes, "HTTP/1.1 200 OK\r\n\r\nbody", 23);
}

static void no_pieces_are_nothing_to_send(void **state)
{
	struct bench *b = *state;
	const struct str empty[STREAM_PIECES_MAX] = { { 0 } };
	char byte;

	renew(b, SOCK_STREAM);
	assert_int_equal(stream_sendv(&b->a.stream, empty, 0), 0);
	assert_int_equal(stream_sendv(&b->a.stream, empty, STREAM_PIECES_MAX), 0);
	assert_int_equal(b->a.stream.sent + stream_unsent(&b->a.stream), 0);
	assert_int_equal(read(b->fds[1], &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

/* How many bytes a socket with the smallest buffer takes at once. */
static size_t room_of_socket(struct bench *b, const char *bytes, size_t n)
{
	ssize_t taken;

	renew(b, SOCK_STREAM);
	shrink_send_buffer(b->a.stream.fd);
	taken = send(b->a.stream.fd, bytes, n, 0);
	assert_in_range(taken, 1, n - 1);
	return (size_t)taken;
}

static void send_split(struct bench *b, struct str all, size_t first, size_t second)
{
	const struct str pieces[] = { { all.p, first },
				      { all.p + first, second - first },
				      { all.p + second, all.n - second } };
	_cleanup_(buf_free) struct buf in = { 0 };

	renew(b, SOCK_STREAM);
	shrink_send_buffer(b->a.stream.fd);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, 3), 0);
	assert_true(stream_unsent(&b->a.stream) > 0);
	assert_int_equal(b->a.stream.sent + stream_unsent(&b->a.stream), all.n);
	in = receive(b, all.n);
	assert_int_equal(in.n, all.n);
	assert_memory_equal(in.p, all.p, all.n);
	assert_int_equal(b->a.stream.sent, all.n);
	assert_int_equal(stream_unsent(&b->a.stream), 0);
}

/* The socket is full in each of the pieces, between them, and one byte before and after that. */
static void whatever_piece_fills_the_socket_the_order_stays(void **state)
{
	struct bench *b = *state;
	char bytes[32 * 1024];
	size_t at[32], n = 0, room, total;

	fill(bytes, sizeof(bytes));
	room = room_of_socket(b, bytes, sizeof(bytes));
	total = 2 * room + 100;
	assert_true(total <= sizeof(bytes));
	for (size_t eighth = 0; eighth <= 16; eighth++)
		at[n++] = eighth * room / 8;
	for (size_t i = 0; i < 2; i++) {
		at[n++] = room - 1 + 2 * i;
		at[n++] = 1 + i;
		at[n++] = total - i;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (at[i] <= at[j])
				send_split(b, (struct str){ bytes, total }, at[i], at[j]);
}

/* The socket has room again, which the pieces must not use before the queue. */
static void pieces_follow_what_waits_in_the_queue(void **state)
{
	struct bench *b = *state;
	const struct str pieces[] = { str_of("first "), str_of("second "), str_of("third") };
	_cleanup_(buf_free) struct buf want = { 0 }, rest = { 0 };
	char bytes[16 * 1024], start[sizeof(bytes)];
	ssize_t n;

	fill(bytes, sizeof(bytes));
	buf_add(&want, bytes, sizeof(bytes));
	buf_adds(&want, "first second third");
	renew(b, SOCK_STREAM);
	shrink_send_buffer(b->a.stream.fd);
	assert_int_equal(stream_send(&b->a.stream, bytes, sizeof(bytes)), 0);
	n = read(b->fds[1], start, sizeof(start));
	assert_in_range(n, 1, sizeof(bytes) - 1);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, 3), 0);
	rest = receive(b, want.n - (size_t)n);
	assert_memory_equal(start, want.p, n);
	assert_int_equal(rest.n, want.n - (size_t)n);
	assert_memory_equal(rest.p, want.p + n, rest.n);
}

static void pieces_for_a_peer_that_is_gone_are_an_error(void **state)
{
	struct bench *b = *state;
	const struct str pieces[] = { str_of("first"), str_of("second") };

	renew(b, SOCK_STREAM);
	cleanup_fd(&b->fds[1]);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, 2), -EPIPE);
	assert_int_equal(b->a.stream.sent, 0);
	assert_int_equal(stream_unsent(&b->a.stream), 0);
}

/* The peer leaves after a part was sent: the queue is what fails. */
static void a_peer_that_leaves_later_is_told_from_the_loop(void **state)
{
	struct bench *b = *state;
	char bytes[16 * 1024];
	const struct str pieces[] = { { bytes, 10 }, { bytes, sizeof(bytes) } };

	fill(bytes, sizeof(bytes));
	renew(b, SOCK_STREAM);
	shrink_send_buffer(b->a.stream.fd);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, 2), 0);
	cleanup_fd(&b->fds[1]);
	turn_until(b, a_closed);
	assert_int_equal(b->a.error, -EPIPE);
}

static bool a_was_woken(const struct bench *b)
{
	return b->a.woken > 0;
}

static bool a_expired(const struct bench *b)
{
	return b->a.expired > 0;
}

static void a_stream_without_a_socket_wakes_and_expires(void **state)
{
	struct bench *b = *state;
	int64_t before = loop_monotonic();

	stream_wake(&b->a.stream);
	stream_set_deadline(&b->a.stream, 20 * NSEC_PER_MSEC);
	turn_until(b, a_was_woken);
	turn_until(b, a_expired);
	assert_true(loop_monotonic() - before >= 20 * NSEC_PER_MSEC);
	assert_int_equal(b->a.expired, 1);
}

/* Input that arrived in time is reported first, however late the loop is. */
static void input_goes_before_a_deadline_that_has_passed(void **state)
{
	struct bench *b = *state;
	int64_t end;

	stream_adopt(&b->a.stream, TAKE_FD(b->fds[0]));
	stream_want(&b->a.stream, STREAM_READ);
	stream_set_deadline(&b->a.stream, NSEC_PER_MSEC);
	b->a.ends_itself = true; /* when it reads */
	assert_int_equal(write(b->fds[1], "x", 1), 1);
	for (end = loop_monotonic() + 5 * NSEC_PER_MSEC; loop_monotonic() < end;)
		;
	turn_until(b, a_closed);
	assert_int_equal(b->a.expired, 0);
}

static void a_stream_may_end_in_its_own_callback(void **state)
{
	struct bench *b = *state;

	join(b);
	b->b.ends_itself = true;
	stream_send(&b->a.stream, "x", 1);
	for (int i = 0; i < 5; i++)
		ev_run(b->loop, EVRUN_NOWAIT);
	assert_true(b->b.closed);
}

static bool a_opened(const struct bench *b)
{
	return b->a.opened > 0;
}

static int listen_on(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void a_connection_is_opened_once(void **state)
{
	struct bench *b = *state;
	struct sockaddr_in at;
	int fd = listen_on(&at);

	stream_connect(&b->a.stream, (struct sockaddr *)&at, sizeof(at));
	stream_wake(&b->a.stream); /* kept until it is open */
	turn_until(b, a_was_woken);
	assert_int_equal(b->a.opened, 1);
	close(fd);
}

static void a_refusal_is_told_from_the_loop(void **state)
{
	struct bench *b = *state;
	struct sockaddr_in at;

	close(listen_on(&at));
	stream_connect(&b->a.stream, (struct sockaddr *)&at, sizeof(at));
	assert_false(b->a.closed);
	turn_until(b, a_closed);
	assert_int_equal(b->a.error, -ECONNREFUSED);
	assert_string_equal(stream_reason(&b->a.stream, -ECONNREFUSED), "connection refused");
}

static void an_address_that_cannot_be_is_told_from_the_loop(void **state)
{
	struct bench *b = *state;
	const struct sockaddr_storage nowhere = { .ss_family = AF_INET };

	stream_connect(&b->a.stream, (const struct sockaddr *)&nowhere, 1);
	assert_false(b->a.closed);
	turn_until(b, a_closed);
	assert_int_equal(b->a.error, -EINVAL);
}

static void a_linger_sends_the_rest_and_waits_for_the_peer(void **state)
{
	struct bench *b = *state;
	size_t n = (size_t)1 << 20;
	char *bytes = calloc(1, n);

	join(b);
	assert_int_equal(stream_send(&b->b.stream, "thrown away", 11), 0);
	assert_int_equal(stream_send(&b->a.stream, bytes, n), 0);
	stream_linger(&b->a.stream, 10 * NSEC_PER_SEC);
	turn_until(b, b_read_end);
	assert_int_equal(b->b.in.n, n);
	assert_false(b->a.closed);
	stream_close(&b->b.stream);
	turn_until(b, a_closed);
	assert_int_equal(b->a.error, 0);
	free(bytes);
}

static void a_linger_ends_by_itself(void **state)
{
	struct bench *b = *state;

	join(b);
	stream_linger(&b->a.stream, 10 * NSEC_PER_MSEC);
	turn_until(b, a_closed);
	assert_int_equal(b->a.error, 0);
	assert_int_equal(b->a.expired, 0);
}

/* Segments that the peer gets until the end of a stream that sends a few bytes. */
static unsigned count_segments(struct bench *b, bool last)
{
	struct sockaddr_in at;
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int door = listen_on(&at), peer;
	char bytes[8];

	stream_connect(&b->a.stream, (struct sockaddr *)&at, sizeof(at));
	stream_wake(&b->a.stream);
	turn_until(b, a_was_woken);
	b->a.woken = 0;
	peer = accept(door, NULL, NULL);
	if (last)
		stream_is_last(&b->a.stream);
	assert_int_equal(stream_send(&b->a.stream, "b", 1), 0);
	assert_int_equal(stream_sendv(&b->a.stream, &STR("ye"), 1), 0);
	stream_close(&b->a.stream);
	assert_int_equal(recv(peer, bytes, 3, MSG_WAITALL), 3);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 0);
	assert_int_equal(getsockopt(peer, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	close(peer);
	close(door);
	return info.tcpi_segs_in;
}

static void the_last_bytes_bring_the_end_with_them(void **state)
{
	struct bench *b = *state;

	assert_int_equal(count_segments(b, true) + 2, count_segments(b, false));
}

/* ---- TLS ---- */

static void secure(struct bench *b, struct tls_context *client, struct tls_context *server)
{
	struct tls *tls;

	stream_adopt(&b->a.stream, TAKE_FD(b->fds[0]));
	assert_int_equal(tls_connect(client, b->a.stream.fd, "localhost", NULL, &tls), 0);
	stream_secure(&b->a.stream, tls);
	if (!server)
		return;
	stream_adopt(&b->b.stream, TAKE_FD(b->fds[1]));
	stream_secure(&b->b.stream, tls_accept(server, b->b.stream.fd));
}

static struct tls_context *server_context(struct pki *pki)
{
	pki_make(pki);
	pki_issue(pki, NULL, "ca");
	pki_issue(pki, "ca", "server");
	return pki_server(pki, "server", NULL, "http/1.1,http/1.0");
}

static void bytes_go_both_ways_in_tls(void **state)
{
	struct bench *b = *state;
	struct tls_context *client = pki_client(NULL, NULL, NULL, "http/1.1");
	size_t n = (size_t)3 << 20;
	char *bytes = malloc(n);
	struct pki pki;
	struct tls_context *server = server_context(&pki);

	fill(bytes, n);
	secure(b, client, server);
	turn_until(b, a_opened);
	assert_int_equal(stream_send(&b->a.stream, bytes, n), 0);
	stream_shutdown(&b->a.stream);
	turn_until(b, b_read_end);
	assert_int_equal(b->b.opened, 1);
	assert_int_equal(b->b.in.n, n);
	assert_memory_equal(b->b.in.p, bytes, n);
	tls_context_free(client);
	tls_context_free(server);
	pki_remove(&pki);
	free(bytes);
}

/* 3 MiB are more than the sockets hold, and the pieces are larger than what one step writes. */
static void pieces_keep_their_order_in_tls(void **state)
{
	struct bench *b = *state;
	struct tls_context *client = pki_client(NULL, NULL, NULL, "http/1.1");
	size_t n = (size_t)3 << 20;
	char *bytes = malloc(n);
	const struct str pieces[] = { { bytes, 100 },
				      { NULL, 0 },
				      { bytes + 100, n / 2 },
				      { bytes + 100 + n / 2, n / 2 - 100 } };
	struct pki pki;
	struct tls_context *server = server_context(&pki);

	fill(bytes, n);
	secure(b, client, server);
	turn_until(b, a_opened);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, ARRAY_SIZE(pieces)), 0);
	assert_true(stream_unsent(&b->a.stream) > 0);
	assert_int_equal(stream_sendv(&b->a.stream, pieces, 1), 0); /* behind the queue */
	stream_shutdown(&b->a.stream);
	turn_until(b, b_read_end);
	assert_int_equal(b->b.in.n, n + 100);
	assert_memory_equal(b->b.in.p, bytes, n);
	assert_memory_equal(b->b.in.p + n, bytes, 100);
	tls_context_free(client);
	tls_context_free(server);
	pki_remove(&pki);
	free(bytes);
}

static bool both_opened(const struct bench *b)
{
	return b->a.opened && b->b.opened;
}

static bool moved_has_read(const struct bench *b)
{
	return b->b.in.n == 5;
}

/* Also decrypted bytes that the first owner did not read. */
static void a_stream_in_tls_moves(void **state)
{
	struct bench *b = *state;
	struct tls_context *client = pki_client(NULL, NULL, NULL, "http/1.1");
	struct pki pki;
	struct tls_context *server = server_context(&pki);
	struct stream old;
	char byte;

	secure(b, client, server);
	turn_until(b, both_opened);
	stream_want(&b->b.stream, 0);
	assert_int_equal(stream_send(&b->a.stream, "hello!", 6), 0);
	while (stream_read(&b->b.stream, &byte, 1) != 1)
		ev_run(b->loop, EVRUN_NOWAIT);
	stream_init(&old, b->loop, TASK_ORDINARY, &events);
	stream_move(&old, &b->b.stream);
	stream_move(&b->b.stream, &old);
	stream_end(&old);
	stream_want(&b->b.stream, STREAM_READ);
	turn_until(b, moved_has_read);
	assert_memory_equal(b->b.in.p, "ello!", 5);
	tls_context_free(client);
	tls_context_free(server);
	pki_remove(&pki);
}

static void a_peer_that_does_not_speak_tls_has_words(void **state)
{
	struct bench *b = *state;
	struct tls_context *client = pki_client(NULL, NULL, NULL, "http/1.1");
	int fd = b->fds[1];

	assert_int_equal(write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 28);
	secure(b, client, NULL);
	turn_until(b, a_closed);
	assert_int_equal(b->a.error, -EPROTO);
	tls_context_free(client);
}

/* Uses the time of the tasks of its rank in one turn, so that each of the others has one step. */
static bool use_time(struct task *t)
{
	int64_t began = loop_monotonic();

	while (loop_monotonic() - began <= TASK_STEP_TIME)
		;
	return true;
}

/* A handshake in records of one byte: a step takes 16, and the loop keeps turning. */
static void tiny_records_do_not_hold_the_loop(void **state)
{
	/* a record of one byte: handshake, TLS 1.0, length 1; a ClientHello of 100,000 bytes */
	static const unsigned char hello[] = { 1, 1, 0x86, 0xa0, 3, 3 };
	struct bench *b = *state;
	struct pki pki;
	struct tls_context *server = server_context(&pki);
	unsigned char records[6 * 4000];
	struct task other;
	unsigned turns = 0;

	for (size_t i = 0; i < sizeof(records) / 6; i++) {
		const unsigned char one[] = { 22, 3, 1, 0, 1, i < sizeof(hello) ? hello[i] : 0 };

		memcpy(records + 6 * i, one, sizeof(one));
	}
	stream_adopt(&b->a.stream, TAKE_FD(b->fds[0]));
	stream_secure(&b->a.stream, tls_accept(server, b->a.stream.fd));
	assert_int_equal(write(b->fds[1], records, sizeof(records)), sizeof(records));
	task_init(&other, b->loop, TASK_PATIENT, use_time);
	task_wake(&other);
	/* all were read without a callback, because the message is incomplete */
	for (ssize_t left = 1; left > 0 && turns < 100000; turns++) {
		char byte;

		ev_run(b->loop, EVRUN_NOWAIT);
		left = recv(b->a.stream.fd, &byte, 1, MSG_PEEK);
	}
	task_cancel(&other);
	assert_true(turns > 100); /* in 2,700 records */
	assert_false(b->a.closed);
	tls_context_free(server);
	pki_remove(&pki);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(what_the_socket_does_not_take_follows_in_order),
		test(a_stream_that_moves_takes_its_queue_along),
		test(a_stream_that_moves_keeps_its_proxy_header),
		test(the_low_mark_is_told_and_not_before),
		test(nothing_is_read_that_is_not_wanted),
		test(pieces_are_sent_in_one_call),
		test(no_pieces_are_nothing_to_send),
		test(whatever_piece_fills_the_socket_the_order_stays),
		test(pieces_follow_what_waits_in_the_queue),
		test(pieces_for_a_peer_that_is_gone_are_an_error),
		test(a_peer_that_leaves_later_is_told_from_the_loop),
		test(a_stream_without_a_socket_wakes_and_expires),
		test(input_goes_before_a_deadline_that_has_passed),
		test(a_stream_may_end_in_its_own_callback),
		test(a_connection_is_opened_once),
		test(a_refusal_is_told_from_the_loop),
		test(an_address_that_cannot_be_is_told_from_the_loop),
		test(a_linger_sends_the_rest_and_waits_for_the_peer),
		test(a_linger_ends_by_itself),
		test(the_last_bytes_bring_the_end_with_them),
		test(bytes_go_both_ways_in_tls),
		test(pieces_keep_their_order_in_tls),
		test(a_stream_in_tls_moves),
		test(a_peer_that_does_not_speak_tls_has_words),
		test(tiny_records_do_not_hold_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
