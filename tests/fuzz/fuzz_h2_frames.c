/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the input of an HTTP/2 connection, as a proxy has them: of a client or of a server.
 *
 * The first byte says which side, and in which pieces the rest comes. The second one chooses what
 * the user does: consumes at once or late, answers with trailers, with interim responses, resets,
 * leaves. A part of the input is passed as bytes that were read before. Whatever comes, each stream
 * is closed once, no account is left and the windows hold.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/h2/h2.h"
#include "lib/stream/stream.h"

#define SIZE_MAX_OF_INPUT ((size_t)64 * 1024)
#define TURNS_MAX 2000
#define WINDOW 65536u
#define SERVER 0x80

enum { LATE = 1, INTERIM = 2, TRAILERS = 4, RESET = 8, LEAVE = 16, ANSWER = 32, ABORT = 64 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static struct {
	struct ev_loop *loop;
	struct h2_host *server, *client;
	unsigned habit;
	long streams, connections; /* open, as the callbacks say */
} f;

static void check(bool fine)
{
	if (!fine)
		abort();
}

static const struct field ok[] = { { { ":status", 7 }, { "200", 3 } }, { { "a", 1 }, { "b", 1 } } };
static const struct field hint = { { ":status", 7 }, { "103", 3 } };
static const struct field get[] = { { { ":method", 7 }, { "POST", 4 } },
				    { { ":scheme", 7 }, { "http", 4 } },
				    { { ":path", 5 }, { "/", 1 } },
				    { { ":authority", 10 }, { "a", 1 } } };

static void on_lost(struct h2_conn *c, const char *why, void *user)
{
	check(why && *why && h2_conn_streams(c) == 0);
	f.connections--;
}

static void on_begin(struct h2_stream *s, void *user)
{
	check(*(int *)h2_stream_area(s) == 0);
	*(int *)h2_stream_area(s) = 1;
	f.streams++;
}

static void on_header(struct h2_stream *s, struct str name, struct str value, void *user)
{
	check(name.n && !memchr(name.p, '\r', name.n) && !memchr(value.p, '\n', value.n));
}

static void answer(struct h2_stream *s)
{
	if (f.habit & INTERIM)
		h2_inform(s, &hint, 1);
	h2_respond(s, ok, 2, false);
	h2_send(s, STR("what was asked for"));
	h2_end(s, ok + 1, !!(f.habit & TRAILERS));
}

static void on_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	if (block != H2_HEAD)
		return;
	if (f.habit & LEAVE)
		h2_leave(h2_stream_conn(s));
	if (f.habit & ABORT)
		h2_abort(h2_stream_conn(s), H2_CANCEL, "enough");
	if (f.habit & RESET) {
		f.streams--;
		h2_reset(s, H2_CANCEL);
	} else if (f.habit & ANSWER && user) {
		answer(s);
	}
}

static void on_oversized(struct h2_stream *s, void *user)
{
	if (user)
		h2_respond(s, ok, 1, true);
}

static void on_data(struct h2_stream *s, struct str bytes, void *user)
{
	check(bytes.n && h2_unread(s) >= bytes.n && h2_unread(s) <= WINDOW);
	h2_consume(s, f.habit & LATE ? h2_unread(s) / 2 : h2_unread(s));
}

static void on_end(struct h2_stream *s, void *user)
{
	check(h2_is_ended(s));
}

static void on_writable(struct h2_stream *s, void *user)
{
	check(!h2_queued(s));
}

static void on_closed(struct h2_stream *s, uint32_t error, void *user)
{
	f.streams--;
}

static const struct h2_events events = {
	.lost = on_lost,
	.begin = on_begin,
	.header = on_header,
	.headers = on_headers,
	.data = on_data,
	.end = on_end,
	.oversized = on_oversized,
	.writable = on_writable,
	.closed = on_closed,
};

/* The user of a server is not NULL. */
static void set_up(void)
{
	struct h2_config config = { .events = &events, .stream_area = sizeof(int) };

	f.loop = ev_loop_new(EVFLAG_AUTO);
	f.client = h2_host_new(f.loop, &config);
	config.server = config.connect_protocol = true;
	config.max_connections = SIZE_MAX;
	config.user = &f;
	f.server = h2_host_new(f.loop, &config);
}

/* Takes and forgets what the connection says. */
static void drain(int fd)
{
	char bytes[65536];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* False when the connection was closed. */
static bool say(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return false;
		p += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
		ev_run(f.loop, EVRUN_NOWAIT);
		drain(fd);
	}
	return true;
}

static void on_ready(struct stream *s, unsigned what)
{
}

static void on_failed(struct stream *s, int error)
{
}

static const struct stream_events raw_events = { .ready = on_ready, .closed = on_failed };

static void take(struct h2_host *h, int fd, struct str early)
{
	struct stream from;
	struct h2_conn *c;

	stream_init(&from, f.loop, TASK_ORDINARY, &raw_events);
	stream_adopt(&from, fd);
	c = h2_take(h, &from, early, (struct endpoint){ 0 });
	check(c);
	stream_end(&from);
	f.connections++;
	for (int i = 0; h == f.client && i < 3; i++) {
		struct h2_stream *s = h2_request(c, get, 4, i == 1);

		check(s);
		f.streams++;
		*(int *)h2_stream_area(s) = 1;
		if (i != 1)
			h2_send(s, STR("content"));
		if (i == 0)
			h2_end(s, NULL, 0);
	}
}

static void look(const struct h2_stats *stats)
{
	check(!stats->connections && !stats->streams && !stats->queued && !stats->unread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct h2_host *h;
	size_t piece, early;
	int fds[2];

	if (!f.loop)
		set_up();
	if (size < 3 || size > SIZE_MAX_OF_INPUT)
		return 0;
	h = data[0] & SERVER ? f.client : f.server; /* the bytes are those of a server */
	piece = (size_t)(data[0] & 0x7f) * 16 + 1;
	early = (size - 2) * (data[1] >> 7) / 2;
	f.habit = data[1] & 0x7f;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
	if (h == f.server && !early)
		say(fds[1], (const uint8_t *)preface, sizeof(preface) - 1);
	take(h, fds[0], (struct str){ (const char *)data + 2, early });
	for (size_t at = 2 + early; at < size; at += piece)
		if (!say(fds[1], data + at, size - at < piece ? size - at : piece))
			break;
	close(fds[1]);
	for (int i = 0; i < TURNS_MAX && f.connections; i++)
		ev_run(f.loop, EVRUN_NOWAIT);
	for (int i = 0; i < TURNS_MAX && h2_host_stats(h)->connections; i++)
		ev_run(f.loop, EVRUN_NOWAIT);
	check(f.connections == 0 && f.streams == 0);
	look(h2_host_stats(h));
	return 0;
}
