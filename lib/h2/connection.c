/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: the life of one connection.
 *
 *	OPENING -> GREETING -> OPEN [-> LINGER] -> closed
 *
 * All work is done in steps of the connection's stream (lib/stream). Input is read into the host's
 * buffer and passed to nghttp2 in pieces; nghttp2 calls the callbacks in session.c. When the step's
 * time is over, the remaining input is copied and parsed in the next step, because a piece may hold
 * thousands of header fields or dozens of requests. The output of nghttp2 is moved to the stream's
 * queue at the end of a step; h2__conn_touch() schedules a step when a user queues something
 * outside of one. Reading stops while a peer does not read our frames and too many are queued.
 *
 * One deadline serves all timeouts: it is set to the earliest (next_due), and its expiry looks at
 * all of them. A server that ends a connection lingers, because closing a socket with unread input
 * makes the kernel send RST, which may destroy the last bytes on their way to the peer. Connections
 * that were unused when the host drained do not linger: an idle client may not even be reading.
 */
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"

#define PIECE ((size_t)2 * 1024) /* input parsed between two looks at the clock */
#define UNSENT_MAX 2000		 /* frames; more than a well-behaved peer's streams and ACKs need */
#define PING_PATIENCE (20 * NSEC_PER_SEC)
#define DRAIN_PATIENCE (1 * NSEC_PER_SEC)	  /* for the ACK of a drain's PING */
#define DRAIN_PATIENCE_IDLE (100 * NSEC_PER_MSEC) /* the same without streams in a host's drain */
#define LINGER_TIME (1 * NSEC_PER_SEC)

static bool has_output(const struct h2_conn *c)
{
	return stream_unsent(&c->stream) > 0;
}

static bool has_session(const struct h2_conn *c)
{
	return c->state == H2__GREETING || c->state == H2__OPEN;
}

static void set_state(struct h2_conn *c, enum h2__state state)
{
	c->state = state;
	c->since = loop_monotonic();
	h2__conn_rearm(c);
}

static void close_streams(struct h2_conn *c, uint32_t error)
{
	struct h2_stream *s;

	while ((s = LIST_FIRST(&c->streams)))
		h2__stream_close(s, error);
}

/*
 * The only place that calls lost(). Streams are closed first, so that lost() is the connection's
 * last callback. A reason that was set earlier (abuse, GOAWAY) is kept.
 */
static void part(struct h2_conn *c, const char *why)
{
	const struct h2_config *config = &c->host->config;

	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s", why);
	close_streams(c, H2_CANCEL);
	if (config->events->lost)
		config->events->lost(c, c->why, config->user);
}

/* A connection that lingers has called lost() already, so part() is skipped then. */
void h2__conn_close(struct h2_conn *c, const char *why)
{
	assert(!c->busy);
	if (c->state != H2__LINGER)
		part(c, why);
	stream_end(&c->stream);
	nghttp2_session_del(c->session);
	h2__forget(c);
	buf_free(&c->rest);
	free(c);
}

static void fail(struct h2_conn *c, const char *doing, int error)
{
	char why[160];

	snprintf(why, sizeof(why), "%s: %s", doing, stream_reason(&c->stream, error));
	h2__conn_close(c, why);
}

/*
 * Without this limit a peer that sends PING or SETTINGS and never reads would make nghttp2 queue
 * acknowledgements without bound.
 */
static bool may_read(const struct h2_conn *c)
{
	return !has_output(c) || !c->session ||
	       nghttp2_session_get_outbound_queue_size(c->session) < UNSENT_MAX;
}

static void watch(struct h2_conn *c)
{
	stream_want(&c->stream, (may_read(c) ? STREAM_READ : 0) | STREAM_WRITE * has_output(c));
}

/* All output has been sent and the session is over. A server lingers (see the top). */
static void finish(struct h2_conn *c)
{
	if (!c->host->config.server) {
		h2__conn_close(c, "the server closed the connection");
		return;
	}
	if (c->bystander) {
		h2__conn_close(c, "shutting down");
		return;
	}
	part(c, "closed normally");
	c->state = H2__LINGER;
	stream_linger(&c->stream, LINGER_TIME);
}

/*
 * Moves the frames of nghttp2 into the stream's queue until it is full. busy is set because the
 * callbacks (finish, drained) may call functions that would flush or free the connection.
 */
static void gather(struct h2_conn *c)
{
	struct buf *out = stream_out(&c->stream);
	const uint8_t *p;
	ssize_t n;

	c->busy = true;
	while (!stream_is_full(&c->stream) && (n = nghttp2_session_mem_send(c->session, &p)) > 0)
		buf_add(out, p, (size_t)n);
	c->busy = false;
}

static void count_sent(struct h2_conn *c)
{
	c->host->stats.bytes_out += c->stream.sent - c->counted;
	c->counted = c->stream.sent;
}

/* nghttp2 wants to read no more after GOAWAY and the last stream; h2_leave() ends it earlier. */
static bool is_over(const struct h2_conn *c)
{
	if (has_output(c) || nghttp2_session_want_write(c->session))
		return false;
	return !nghttp2_session_want_read(c->session) || (c->leaving && !c->n_streams);
}

/* Sends GOAWAY with the error if the socket takes it at once; it is not waited for. */
static void end_badly(struct h2_conn *c)
{
	nghttp2_session_terminate_session(c->session, (uint32_t)c->error);
	gather(c);
	stream_flush(&c->stream);
	finish(c);
}

static void after_flush(struct h2_conn *c, int r)
{
	if (c->error)
		end_badly(c);
	else if (r < 0 && r != -EAGAIN)
		fail(c, "send", r);
	else if (is_over(c))
		finish(c);
	else
		watch(c);
}

/*
 * Sends output until there is none, the socket is full or the step's time is over. May free c.
 * A full queue ends gather() early, so gather and flush alternate.
 */
static void flush(struct h2_conn *c)
{
	bool more;
	int r = 0;

	if (!has_session(c)) {
		if (c->leaving && !c->n_streams)
			h2__conn_close(c, "left");
		return;
	}
	do {
		gather(c);
		more = has_output(c);
		if (more)
			r = stream_flush(&c->stream);
	} while (more && r == 0 && !c->error && task_has_time(c->host->loop));
	if (more && r == 0)
		stream_wake(&c->stream); /* out of time: nghttp2 may have more output */
	count_sent(c);
	after_flush(c, r);
}

void h2__conn_touch(struct h2_conn *c)
{
	if (!c->busy) /* a busy connection flushes at the end of its step */
		stream_wake(&c->stream);
}

/*
 * nghttp2_session_mem_recv() has failed. Without the client's connection preface the peer speaks
 * another protocol and would not understand GOAWAY, so the connection is just closed.
 */
static void on_refused(struct h2_conn *c, int error)
{
	if (error == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
		c->host->stats.protocol_errors++;
		h2__conn_close(c, "not HTTP/2");
		return;
	}
	if (error == NGHTTP2_ERR_FLOODED)
		c->error = H2_ENHANCE_YOUR_CALM;
	if (!c->error)
		c->error = H2_INTERNAL_ERROR;
	end_badly(c);
}

/* Passes input to nghttp2 while the step has time. Returns the bytes parsed or nghttp2's error. */
static ssize_t feed(struct h2_conn *c, const char *p, size_t n)
{
	size_t done = 0;
	ssize_t r = 0;

	c->busy = true;
	do {
		size_t piece = n - done < PIECE ? n - done : PIECE;

		r = nghttp2_session_mem_recv(c->session, (const uint8_t *)p + done, piece);
		done += r < 0 ? 0 : (size_t)r;
	} while (r >= 0 && !c->error && done < n && task_has_time(c->host->loop));
	c->busy = false;
	return r < 0 ? r : (ssize_t)done;
}

/* A header block that has begun brings the deadline nearer; unparsed input needs another step. */
static void after_feed(struct h2_conn *c, ssize_t r)
{
	if (r < 0) {
		on_refused(c, (int)r);
		return;
	}
	if (c->headers_since)
		h2__conn_rearm(c);
	if (c->rest.n)
		stream_wake(&c->stream);
	flush(c);
}

/* Parses the input that an earlier step had no time for. It comes before any new read. */
static void feed_rest(struct h2_conn *c)
{
	ssize_t r = feed(c, c->rest.p, c->rest.n);

	if (r > 0)
		buf_consume(&c->rest, (size_t)r);
	if (!c->rest.n)
		buf_free(&c->rest);
	after_feed(c, r);
}

/* Any input counts as an answer to the keepalive PING: the peer is alive. */
static void receive(struct h2_conn *c)
{
	ssize_t n = stream_read(&c->stream, c->host->input, sizeof(c->host->input));
	ssize_t r;

	if (n == -EAGAIN) {
		watch(c);
		return;
	}
	if (n <= 0) {
		if (n < 0)
			fail(c, "receive", (int)n);
		else
			h2__conn_close(c, "closed by the peer");
		return;
	}
	c->heard = loop_monotonic();
	c->pinged = 0;
	c->host->stats.bytes_in += (uint64_t)n;
	r = feed(c, c->host->input, (size_t)n);
	if (r >= 0 && r < n)
		buf_add(&c->rest, c->host->input + r, (size_t)(n - r));
	after_feed(c, r);
}

void h2__conn_greet(struct h2_conn *c)
{
	h2__session_new(c);
	set_state(c, H2__GREETING);
	flush(c);
}

/* RFC 9113 §3.2: HTTP/2 over TLS is negotiated with ALPN; without "h2" the peer means HTTP/1.1. */
static void on_opened(struct stream *s)
{
	struct h2_conn *c = container_of(s, struct h2_conn, stream);

	if (s->tls && !str_eq(tls_protocol(s->tls), STR("h2")))
		h2__conn_close(c, "TLS: the peer does not speak HTTP/2");
	else
		h2__conn_greet(c);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct h2_conn *c = container_of(s, struct h2_conn, stream);

	if (c->rest.n)
		feed_rest(c);
	else if (what & STREAM_READ)
		receive(c);
	else
		flush(c);
}

static void on_closed(struct stream *s, int error)
{
	static const char *const doing[] = {
		[STREAM_CLOSED] = "connect", /* socket() itself failed */
		[STREAM_CONNECTING] = "connect",
		[STREAM_SECURING] = "TLS",
		[STREAM_OPEN] = "send",
	};
	struct h2_conn *c = container_of(s, struct h2_conn, stream);

	if (c->state == H2__LINGER)
		h2__conn_close(c, "");
	else
		fail(c, doing[s->failed_in], error);
}

static void nearer(int64_t *due, int64_t at)
{
	if (at < *due)
		*due = at;
}

/*
 * The earliest timeout, monotonic ns. Must name the same times as on_expired() and look_after():
 * a time that only this function knew would make the deadline fire again and again.
 */
static int64_t next_due(const struct h2_conn *c)
{
	const struct h2_config *config = &c->host->config;
	int64_t due;

	if (c->state != H2__OPEN)
		return c->since + config->handshake_timeout;
	due = c->pinged ? c->pinged + PING_PATIENCE : c->heard + config->keepalive;
	if (c->headers_since)
		nearer(&due, c->headers_since + config->handshake_timeout);
	if (c->idle_since && config->server && !c->drain_since)
		nearer(&due, c->idle_since + config->idle_timeout);
	if (c->drain_since && !c->final_sent)
		nearer(&due, c->drain_due);
	return due;
}

/* A deadline of 0 would mean none, so a time in the past becomes 1 ns. */
void h2__conn_rearm(struct h2_conn *c)
{
	int64_t left = next_due(c) - loop_monotonic();

	stream_set_deadline(&c->stream, left > 0 ? left : 1);
}

static void time_out(struct h2_conn *c, const char *why)
{
	c->host->stats.timeouts++;
	h2__conn_close(c, why);
}

/* Timeouts that do not close the connection at once: idle, the second GOAWAY, keepalive. */
static void look_after(struct h2_conn *c, int64_t now)
{
	const struct h2_config *config = &c->host->config;

	if (c->idle_since && config->server && !c->drain_since &&
	    now >= c->idle_since + config->idle_timeout) {
		h2__conn_drain(c);
		return;
	}
	if (c->drain_since && now >= c->drain_due)
		h2__session_final_goaway(c);
	if (!c->pinged && now >= c->heard + config->keepalive) {
		nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
		c->pinged = now;
	}
	h2__conn_rearm(c);
	h2__conn_touch(c);
}

/* The deadline is not moved on every read, so it may fire before anything is due: then rearm. */
static void on_expired(struct stream *s)
{
	struct h2_conn *c = container_of(s, struct h2_conn, stream);
	const struct h2_config *config = &c->host->config;
	int64_t now = loop_monotonic();

	if (now < next_due(c))
		h2__conn_rearm(c);
	else if (c->state == H2__OPENING && s->state == STREAM_CONNECTING)
		time_out(c, "connect: timed out");
	else if (c->state != H2__OPEN)
		time_out(c, "handshake timed out");
	else if (c->headers_since && now >= c->headers_since + config->handshake_timeout)
		time_out(c, "headers did not come in time");
	else if (c->pinged && now >= c->pinged + PING_PATIENCE)
		time_out(c, "the peer does not answer");
	else
		look_after(c, now);
}

static const struct stream_events stream_events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

struct h2_conn *h2__conn_new(struct h2_host *h, struct endpoint peer)
{
	struct h2_conn *c = mem_zalloc(sizeof(*c) + h->config.conn_area);

	c->host = h;
	c->peer = peer;
	c->since = c->heard = loop_monotonic();
	LIST_INIT(&c->streams);
	TAILQ_INSERT_TAIL(&h->conns, c, all);
	h->stats.connections++;
	stream_init(&c->stream, h->loop, TASK_ORDINARY, &stream_events);
	h2__conn_rearm(c);
	return c;
}

/* SIOCOUTQ (tcp(7)) counts bytes that the peer's kernel has not acknowledged. */
bool h2__conn_is_bystander(const struct h2_conn *c)
{
	int unacknowledged;

	if (!c->host->draining || !c->idle_since || c->idle_since > c->drain_since)
		return false;
	return !has_output(c) && ioctl(c->stream.fd, SIOCOUTQ, &unacknowledged) == 0 &&
	       !unacknowledged;
}

/*
 * The first GOAWAY names the largest stream id: the client stops opening streams, and those that
 * are on their way are still served. The ACK of the PING shows that it has seen the GOAWAY; then
 * the second one names the real last stream (RFC 9113 §6.8).
 */
void h2__conn_drain(struct h2_conn *c)
{
	static const uint8_t mark[8] = "drain";
	bool hurry = c->host->draining && !c->n_streams;

	if (c->state == H2__LINGER || c->drain_since)
		return;
	if (c->state != H2__OPEN) {
		h2__conn_close(c, "shutting down");
		return;
	}
	c->drain_since = loop_monotonic();
	c->drain_due = c->drain_since + (hurry ? DRAIN_PATIENCE_IDLE : DRAIN_PATIENCE);
	nghttp2_submit_shutdown_notice(c->session);
	nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, mark);
	h2__conn_rearm(c);
	h2__conn_touch(c);
}

void *h2_conn_area(struct h2_conn *c)
{
	return c->area;
}

struct endpoint h2_conn_peer(const struct h2_conn *c)
{
	return c->peer;
}

const char *h2_conn_peer_name(struct h2_conn *c)
{
	return c->stream.tls ? tls_peer_name(c->stream.tls) : NULL;
}

size_t h2_conn_queued(const struct h2_conn *c)
{
	return c->queued;
}

const char *h2_conn_why(const struct h2_conn *c)
{
	return c->why;
}
