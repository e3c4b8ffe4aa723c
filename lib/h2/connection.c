/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: the life of one connection.
 *
 *	[CONNECTING ->] [SECURING ->] GREETING -> OPEN [-> LINGER] -> closed
 *
 * Bytes come in through the host's one buffer into nghttp2, which calls back; what it has to say is
 * gathered in `out` and sent, once at the end of that, or before the loop polls when somebody else
 * has queued something (h2__conn_touch). A peer that does not take our answers is not read from any
 * more once there are too many of them.
 *
 * One timer serves all that can become due; it is set to the nearest and, when it fires, looks
 * again. So that what was sent last is not destroyed by a reset, a server that ends a connection
 * shuts its own side, and for a moment throws away what comes. Who has asked nothing when the host
 * ends is not waited for like that: an idle client may not even be reading.
 */
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"
#include "lib/net/net.h"

#define OUT_MAX ((size_t)64 * 1024)
#define ROUNDS_PER_FLUSH 4
#define UNSENT_MAX 2000 /* frames; more than all streams and acknowledgements of a fair peer */
#define PING_PATIENCE (20 * NSEC_PER_SEC)
#define DRAIN_PATIENCE (1 * NSEC_PER_SEC)	  /* for the answer to the PING of a drain */
#define DRAIN_PATIENCE_IDLE (100 * NSEC_PER_MSEC) /* when everything ends and nothing is asked */
#define LINGER_TIME (1 * NSEC_PER_SEC)

static bool has_output(const struct h2_conn *c)
{
	return c->out_at < c->out.n;
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

/* The one place where a connection's user hears of its end. */
static void part(struct h2_conn *c, const char *why)
{
	const struct h2_config *config = &c->host->config;

	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s", why);
	close_streams(c, H2_CANCEL);
	if (config->events->lost)
		config->events->lost(c, c->why, config->user);
}

void h2__conn_close(struct h2_conn *c, const char *why)
{
	struct ev_loop *loop = c->host->loop;

	assert(!c->busy);
	if (c->state != H2__LINGER)
		part(c, why);
	ev_io_stop(loop, &c->io);
	ev_timer_stop(loop, &c->timer);
	nghttp2_session_del(c->session);
	tls_free(c->tls);
	cleanup_fd(&c->fd);
	h2__forget(c);
	buf_free(&c->out);
	free(c);
}

static ssize_t transport_read(struct h2_conn *c, char *p, size_t n)
{
	ssize_t r;

	if (c->tls && c->state != H2__LINGER)
		return tls_read(c->tls, p, n);
	r = recv(c->fd, p, n, 0);
	if (r >= 0)
		return r;
	return errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t transport_write(struct h2_conn *c, const char *p, size_t n)
{
	ssize_t r;

	if (c->tls)
		return tls_write(c->tls, p, n);
	r = send(c->fd, p, n, MSG_NOSIGNAL);
	if (r >= 0)
		return r;
	return errno == EINTR ? -EAGAIN : -errno;
}

static void fail(struct h2_conn *c, const char *doing, int error)
{
	char why[160];
	const char *word = c->tls ? tls_reason(c->tls) : "";

	snprintf(why, sizeof(why), "%s: %s", doing, *word ? word : net_error_word(-error));
	h2__conn_close(c, why);
}

static bool may_read(const struct h2_conn *c)
{
	return !has_output(c) || !c->session ||
	       nghttp2_session_get_outbound_queue_size(c->session) < UNSENT_MAX;
}

static int wanted_events(const struct h2_conn *c)
{
	switch (c->state) {
	case H2__CONNECTING:
		return EV_WRITE;
	case H2__SECURING:
		return tls_wants_write(c->tls) ? EV_WRITE : EV_READ;
	case H2__GREETING:
	case H2__OPEN:
		return (may_read(c) ? EV_READ : 0) |
		       (has_output(c) || nghttp2_session_want_write(c->session) ? EV_WRITE : 0);
	case H2__LINGER:
		return EV_READ;
	}
	return EV_READ;
}

static void watch(struct h2_conn *c)
{
	int events = wanted_events(c);

	if (ev_is_active(&c->io) && (c->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(c->host->loop, &c->io);
	ev_io_set(&c->io, c->fd, events);
	ev_io_start(c->host->loop, &c->io);
}

/* Everything has been said. */
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
	part(c, "closed in good order");
	buf_free(&c->out);
	c->out_at = 0;
	shutdown(c->fd, SHUT_WR);
	set_state(c, H2__LINGER);
	watch(c);
}

/* Has nghttp2 fill `out`. */
static void gather(struct h2_conn *c)
{
	const uint8_t *p;
	ssize_t n;

	if (c->out_at > c->out.n / 2) {
		buf_consume(&c->out, c->out_at);
		c->out_at = 0;
	}
	c->busy = true;
	while (c->out.n - c->out_at < OUT_MAX && (n = nghttp2_session_mem_send(c->session, &p)) > 0)
		buf_add(&c->out, p, (size_t)n);
	c->busy = false;
}

/* 0 when all of `out` has gone, -EAGAIN, or the error. */
static int send_out(struct h2_conn *c)
{
	while (has_output(c)) {
		ssize_t n = transport_write(c, c->out.p + c->out_at, c->out.n - c->out_at);

		if (n < 0)
			return (int)n;
		c->out_at += (size_t)n;
		c->host->stats.bytes_out += (uint64_t)n;
	}
	c->out.n = c->out_at = 0;
	if (c->out.cap > H2__KEEP_MAX)
		buf_free(&c->out);
	return 0;
}

static bool is_over(const struct h2_conn *c)
{
	if (has_output(c) || nghttp2_session_want_write(c->session))
		return false;
	return !nghttp2_session_want_read(c->session) || (c->leaving && !c->n_streams);
}

/* A last word, if the socket takes it at once. */
static void end_badly(struct h2_conn *c)
{
	nghttp2_session_terminate_session(c->session, (uint32_t)c->error);
	gather(c);
	send_out(c);
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

void h2__conn_flush(struct h2_conn *c)
{
	int r = 0;

	if (c->dirty)
		TAILQ_REMOVE(&c->host->dirty, c, dirties);
	c->dirty = false;
	if (!has_session(c)) {
		if (c->leaving && !c->n_streams)
			h2__conn_close(c, "left");
		return;
	}
	for (int i = 0; i < ROUNDS_PER_FLUSH && r == 0 && !c->error; i++) {
		gather(c);
		if (!has_output(c))
			break;
		r = send_out(c);
	}
	after_flush(c, r);
}

void h2__conn_touch(struct h2_conn *c)
{
	if (c->busy || c->dirty)
		return; /* who is busy flushes when done */
	TAILQ_INSERT_TAIL(&c->host->dirty, c, dirties);
	c->dirty = true;
}

/* nghttp2 has given up: its errors, or a callback's. */
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

static void receive(struct h2_conn *c)
{
	ssize_t n = transport_read(c, c->host->input, sizeof(c->host->input));
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
	c->busy = true;
	r = nghttp2_session_mem_recv(c->session, (uint8_t *)c->host->input, (size_t)n);
	c->busy = false;
	if (r < 0) {
		on_refused(c, (int)r);
		return;
	}
	if (c->headers_since)
		h2__conn_rearm(c);
	h2__conn_flush(c);
}

static void greet(struct h2_conn *c)
{
	h2__session_new(c);
	set_state(c, H2__GREETING);
	h2__conn_flush(c);
}

static void secure(struct h2_conn *c)
{
	int r = tls_handshake(c->tls);

	if (r == -EAGAIN)
		watch(c);
	else if (r < 0)
		fail(c, "TLS", r);
	else if (!str_eq(tls_protocol(c->tls), STR("h2")))
		h2__conn_close(c, "TLS: the peer does not speak HTTP/2");
	else
		greet(c);
}

static void on_connected(struct h2_conn *c)
{
	int error = c->connect_error;
	socklen_t len = sizeof(error);

	if (!error)
		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		fail(c, "connect", -error);
	else
		h2__conn_start(c, c->tls);
}

static void linger(struct h2_conn *c)
{
	ssize_t n = transport_read(c, c->host->input, sizeof(c->host->input));

	if (n <= 0 && n != -EAGAIN)
		h2__conn_close(c, "");
}

static void on_io(struct ev_loop *loop, ev_io *w, int revents)
{
	struct h2_conn *c = container_of(w, struct h2_conn, io);

	switch (c->state) {
	case H2__CONNECTING:
		on_connected(c);
		break;
	case H2__SECURING:
		secure(c);
		break;
	case H2__GREETING:
	case H2__OPEN:
		if (revents & EV_READ)
			receive(c);
		else
			h2__conn_flush(c);
		break;
	case H2__LINGER:
		linger(c);
		break;
	}
}

void h2__conn_start(struct h2_conn *c, struct tls *tls)
{
	c->tls = tls;
	if (!tls) {
		greet(c);
		return;
	}
	set_state(c, H2__SECURING);
	secure(c);
}

static void nearer(int64_t *due, int64_t at)
{
	if (at < *due)
		*due = at;
}

/* When there is something to look after. */
static int64_t next_due(const struct h2_conn *c)
{
	const struct h2_config *config = &c->host->config;
	int64_t due;

	if (c->connect_error)
		return 0;
	if (c->state == H2__LINGER)
		return c->since + LINGER_TIME;
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

void h2__conn_rearm(struct h2_conn *c)
{
	int64_t left = next_due(c) - loop_monotonic();

	ev_timer_stop(c->host->loop, &c->timer);
	ev_timer_set(&c->timer, left > 0 ? loop_seconds(left) : 0, 0);
	ev_timer_start(c->host->loop, &c->timer);
}

static void time_out(struct h2_conn *c, const char *why)
{
	c->host->stats.timeouts++;
	h2__conn_close(c, why);
}

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

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct h2_conn *c = container_of(w, struct h2_conn, timer);
	const struct h2_config *config = &c->host->config;
	int64_t now = loop_monotonic();

	if (c->connect_error)
		fail(c, "connect", -c->connect_error);
	else if (now < next_due(c))
		h2__conn_rearm(c);
	else if (c->state == H2__LINGER)
		h2__conn_close(c, "");
	else if (c->state != H2__OPEN)
		time_out(c,
			 c->state == H2__CONNECTING ? "connect: timed out" : "handshake timed out");
	else if (c->headers_since && now >= c->headers_since + config->handshake_timeout)
		time_out(c, "headers did not come in time");
	else if (c->pinged && now >= c->pinged + PING_PATIENCE)
		time_out(c, "the peer does not answer");
	else
		look_after(c, now);
}

struct h2_conn *h2__conn_new(struct h2_host *h, int fd, struct endpoint peer)
{
	struct h2_conn *c = mem_zalloc(sizeof(*c) + h->config.conn_area);

	c->host = h;
	c->fd = fd;
	c->peer = peer;
	c->since = c->heard = loop_monotonic();
	LIST_INIT(&c->streams);
	TAILQ_INSERT_TAIL(&h->conns, c, all);
	h->stats.connections++;
	h2__set_idle(c, true);
	ev_init(&c->timer, on_timer);
	ev_init(&c->io, on_io);
	ev_set_priority(&c->io, 1); /* after a stall, what has come counts before a timer */
	if (!h->config.server && fd >= 0)
		watch(c);
	return c;
}

bool h2__conn_is_bystander(const struct h2_conn *c)
{
	int unacknowledged;

	if (!c->host->draining || !c->idle_since || c->idle_since > c->drain_since)
		return false;
	return !has_output(c) && ioctl(c->fd, SIOCOUTQ, &unacknowledged) == 0 && !unacknowledged;
}

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
	return c->tls ? tls_peer_name(c->tls) : NULL;
}

size_t h2_conn_queued(const struct h2_conn *c)
{
	return c->queued;
}

const char *h2_conn_why(const struct h2_conn *c)
{
	return c->why;
}
