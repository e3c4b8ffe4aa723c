/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: the life of one connection.
 *
 *	OPENING -> GREETING -> OPEN [-> LINGER] -> closed
 *
 * All work is done in steps of the connection's stream (lib/stream). Input is read into the host's
 * buffer and passed to nghttp2 in pieces; nghttp2 calls the callbacks in session.c. When the step's
 * time is over, the remaining input is copied and parsed in the next step, because a piece may hold
 * thousands of header fields or dozens of requests. At the end of a step the frames of nghttp2 are
 * collected in the host's other buffer and sent with one write; h2__conn_touch() schedules a step
 * when a user queues something outside of one. Only what the socket does not take is kept with the
 * connection, and no more is collected until that is sent. Reading stops while a peer does not read
 * our frames and too many are queued.
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

#define PIECE ((size_t)2 * 1024) /* input parsed between two looks at the clock, if not data */
#define UNSENT_MAX 2000		 /* frames; more than a well-behaved peer's streams and ACKs need */
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

/* A request of which nothing was framed cannot have been processed. */
static void close_streams(struct h2_conn *c)
{
	bool server = h2__config(c)->server;
	struct h2_stream *s;

	while ((s = LIST_FIRST(&c->streams)))
		h2__stream_close(s, server || s->headers_sent ? H2_LOST : H2_REFUSED_STREAM);
}

/*
 * The only place that calls lost(). Streams are closed first, so that lost() is the connection's
 * last callback. A reason that was set earlier (abuse, GOAWAY) is kept.
 */
static void part(struct h2_conn *c, const char *why)
{
	const struct h2_config *config = h2__config(c);

	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s", why);
	c->leaving = true; /* so that closed() finds no room for another try here */
	close_streams(c);
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
	free(c->resets_sent);
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
 * Collects the frames of nghttp2 in the host's buffer until there is enough for one write. busy is
 * set because nghttp2 calls closed() for streams whose last frame is collected.
 */
static void collect(struct h2_conn *c)
{
	struct buf *out = &c->host->out;
	const uint8_t *p;
	ssize_t n = 0;

	c->busy = true;
	while (out->n < H2__OUT_MAX && (n = nghttp2_session_mem_send(c->session, &p)) > 0)
		buf_add(out, p, (size_t)n);
	c->busy = false;
	if (n < 0 && !c->error)
		c->error = H2_INTERNAL_ERROR;
}

/* Streams whose queue has fallen may have more for the same write. */
static void gather(struct h2_conn *c)
{
	c->host->out.n = 0;
	do
		collect(c);
	while (h2__streams_tell(c) && c->host->out.n < H2__OUT_MAX);
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
	struct buf *out = &c->host->out;

	nghttp2_session_terminate_session(c->session, (uint32_t)c->error);
	gather(c);
	stream_send(&c->stream, out->p, out->n);
	count_sent(c);
	finish(c);
}

static void after_flush(struct h2_conn *c, int r)
{
	if (c->error || c->aborted)
		end_badly(c);
	else if (r < 0 && r != -EAGAIN)
		fail(c, "send", r);
	else if (is_over(c))
		finish(c);
	else
		watch(c);
}

/* Sends until there is no more, the socket is full or the step's time is over. */
static int send_all(struct h2_conn *c)
{
	struct buf *out = &c->host->out;
	int r = stream_flush(&c->stream);

	while (r == 0 && !has_output(c) && !c->error && !c->aborted) {
		gather(c);
		if (!out->n)
			return 0;
		r = stream_send(&c->stream, out->p, out->n);
		if (out->n < H2__OUT_MAX)
			break; /* nghttp2 has no more */
		if (!task_has_time(c->host->loop)) {
			stream_wake(&c->stream);
			break;
		}
	}
	return r;
}

/* May free c. */
static void flush(struct h2_conn *c)
{
	int r;

	if (!has_session(c)) {
		if (c->leaving && !c->n_streams)
			h2__conn_close(c, "left");
		return;
	}
	r = send_all(c);
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
	if (error == NGHTTP2_ERR_FLOODED || error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS)
		c->error = H2_ENHANCE_YOUR_CALM;
	if (!c->error)
		c->error = H2_INTERNAL_ERROR;
	end_badly(c);
}

/* The head of a frame is complete. */
static void begin_frame(struct h2_conn *c)
{
	const uint8_t *p = c->head;
	int32_t id = (int32_t)((p[5] & 0x7fu) << 24 | p[6] << 16 | p[7] << 8 | p[8]);

	c->n_head = 0;
	c->frame_left = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
	if (h2__session_is_closed(c, p[3], id)) {
		c->error = H2_STREAM_CLOSED;
		snprintf(c->why, sizeof(c->why), "a frame for a stream that is closed");
	}
}

/*
 * How many bytes nghttp2 gets next: those of one frame, so that the state of its stream is known
 * before it is parsed. The time that fields take depends on what they are, so they come in small
 * pieces; data comes as a whole.
 */
static size_t next_piece(struct h2_conn *c, const char *p, size_t n)
{
	size_t taken = 0, rest;

	while (!c->frame_left && taken < n && c->n_head < sizeof(c->head)) {
		c->head[c->n_head++] = (uint8_t)p[taken++];
		if (c->n_head == sizeof(c->head)) {
			begin_frame(c);
			break;
		}
	}
	rest = c->frame_left < n - taken ? c->frame_left : n - taken;
	if (c->head[3] != NGHTTP2_DATA && rest > PIECE)
		rest = PIECE;
	c->frame_left -= rest;
	return taken + rest;
}

/* Passes input to nghttp2 while the step has time. Returns the bytes parsed or nghttp2's error. */
static ssize_t feed(struct h2_conn *c, const char *p, size_t n)
{
	size_t done = 0, unwatched = 0;
	ssize_t r = 0;

	c->busy = true;
	while (done < n) {
		size_t piece = next_piece(c, p + done, n - done);

		if (c->error)
			break;
		r = nghttp2_session_mem_recv(c->session, (const uint8_t *)p + done, piece);
		if (r < 0)
			break;
		done += piece;
		unwatched += piece;
		if (unwatched >= PIECE && !task_has_time(c->host->loop))
			break;
		unwatched %= PIECE;
	}
	c->busy = false;
	return r < 0 ? r : (ssize_t)done;
}

static void tell_settled(struct h2_conn *c)
{
	const struct h2_config *config = h2__config(c);

	if (!config->events->settled)
		return;
	c->busy = true;
	config->events->settled(c, config->user);
	c->busy = false;
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
	tell_settled(c);
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
	c->heard = task_began(c->host->loop);
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
	c->frame_left = h2__config(c)->server ? NGHTTP2_CLIENT_MAGIC_LEN : 0;
	set_state(c, H2__GREETING);
	h2__conn_touch(c);
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

/* Whether idle_timeout counts. */
static bool may_idle(const struct h2_conn *c)
{
	return c->idle_since && !c->drain_since && !c->leaving;
}

/*
 * The earliest timeout, monotonic ns. Must name the same times as on_expired() and look_after():
 * a time that only this function knew would make the deadline fire again and again.
 */
static int64_t next_due(const struct h2_conn *c)
{
	const struct h2_config *config = h2__config(c);
	int64_t due;

	if (c->aborted)
		return 0;
	if (c->state != H2__OPEN)
		return c->since + config->handshake_timeout;
	due = c->pinged ? c->pinged + config->ping_timeout : c->heard + config->keepalive;
	if (c->headers_since)
		nearer(&due, c->headers_since + config->handshake_timeout);
	if (may_idle(c))
		nearer(&due, c->idle_since + config->idle_timeout);
	if (c->drain_since && !c->final_sent)
		nearer(&due, c->drain_due);
	return due;
}

/* A deadline of 0 would mean none, so a time in the past becomes 1 ns. */
void h2__conn_rearm(struct h2_conn *c)
{
	int64_t left = next_due(c) - loop_monotonic();

	c->armed = next_due(c);
	stream_set_deadline(&c->stream, left > 0 ? left : 1);
}

/* The deadline is moved only if it is too late. */
void h2__conn_idle(struct h2_conn *c)
{
	c->idle_since = task_began(c->host->loop);
	if (c->state == H2__OPEN && may_idle(c) &&
	    c->idle_since + h2__config(c)->idle_timeout < c->armed)
		h2__conn_rearm(c);
}

static void time_out(struct h2_conn *c, const char *why)
{
	c->host->stats.timeouts++;
	h2__conn_close(c, why);
}

/* Timeouts that do not close the connection at once: idle, the second GOAWAY, keepalive. */
static void look_after(struct h2_conn *c, int64_t now)
{
	const struct h2_config *config = h2__config(c);

	if (may_idle(c) && now >= c->idle_since + config->idle_timeout) {
		h2_leave(c);
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

/* A peer that has said nothing yet needs no GOAWAY. */
static void end_aborted(struct h2_conn *c)
{
	if (c->state == H2__OPEN)
		end_badly(c);
	else
		h2__conn_close(c, c->why);
}

/* The deadline is not moved on every read, so it may fire before anything is due: then rearm. */
static void on_expired(struct stream *s)
{
	struct h2_conn *c = container_of(s, struct h2_conn, stream);
	const struct h2_config *config = h2__config(c);
	int64_t now = loop_monotonic();

	if (now < next_due(c))
		h2__conn_rearm(c);
	else if (c->aborted)
		end_aborted(c);
	else if (c->state == H2__OPENING && s->state == STREAM_CONNECTING)
		time_out(c, "connect: timed out");
	else if (c->state != H2__OPEN)
		time_out(c, "handshake timed out");
	else if (c->headers_since && now >= c->headers_since + config->handshake_timeout)
		time_out(c, "headers did not come in time");
	else if (c->pinged && now >= c->pinged + config->ping_timeout)
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
	LIST_INIT(&c->ready);
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
static void drain(struct h2_conn *c)
{
	static const uint8_t mark[8] = "drain";
	bool hurry = c->host->draining && !c->n_streams;

	c->drain_since = loop_monotonic();
	c->drain_due = c->drain_since + (hurry ? DRAIN_PATIENCE_IDLE : DRAIN_PATIENCE);
	nghttp2_submit_shutdown_notice(c->session);
	nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, mark);
	h2__conn_rearm(c);
	h2__conn_touch(c);
}

void h2_leave(struct h2_conn *c)
{
	if (c->state == H2__LINGER || c->drain_since || c->aborted)
		return;
	if (!h2__config(c)->server) {
		c->leaving = true;
		h2__conn_touch(c);
	} else if (c->state == H2__OPEN) {
		drain(c);
	} else {
		h2_abort(c, H2_NO_ERROR, "shutting down");
	}
}

/* The deadline ends it, because a stream that is not open yet is not woken. */
void h2_abort(struct h2_conn *c, enum h2_error error, const char *why)
{
	if (c->state == H2__LINGER || c->aborted)
		return;
	c->aborted = true;
	c->error = error;
	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s", why);
	h2__conn_rearm(c);
}

void *h2_conn_area(struct h2_conn *c)
{
	return c->area;
}

struct h2_conn *h2_conn_of(void *area)
{
	return (struct h2_conn *)(void *)((char *)area - offsetof(struct h2_conn, area));
}

struct endpoint h2_conn_peer(const struct h2_conn *c)
{
	return c->peer;
}

const char *h2_conn_peer_name(struct h2_conn *c)
{
	return c->stream.tls ? tls_peer_name(c->stream.tls) : NULL;
}

struct stream *h2_conn_stream(struct h2_conn *c)
{
	return &c->stream;
}

size_t h2_conn_streams(const struct h2_conn *c)
{
	return c->n_streams;
}

/* Streams that wait for room in nghttp2 count, too. */
size_t h2_conn_room(const struct h2_conn *c)
{
	uint32_t most;

	if (!has_session(c) || c->going || c->leaving || c->aborted ||
	    nghttp2_session_get_next_stream_id(c->session) > INT32_MAX)
		return 0;
	most = nghttp2_session_get_remote_settings(c->session,
						   NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	return most > c->n_streams ? most - c->n_streams : 0;
}

bool h2_conn_can_connect(const struct h2_conn *c)
{
	return c->session && nghttp2_session_get_remote_settings(
				     c->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

int64_t h2_conn_heard(const struct h2_conn *c)
{
	return c->heard;
}

size_t h2_conn_queued(const struct h2_conn *c)
{
	return c->queued;
}

uint32_t h2_conn_error(const struct h2_conn *c)
{
	return c->ended_with;
}

const char *h2_conn_why(const struct h2_conn *c)
{
	return c->why;
}
