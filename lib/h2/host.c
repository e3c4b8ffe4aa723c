/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: what the connections of one server or client share.
 *
 * The host owns its connections. Those of a server are a crowd (lib/stream/crowd.h), which decides
 * who gets in when there is no room. A connection without streams is closed first: its client loses
 * nothing and connects again when it has a request. A connection that has only minor streams comes
 * next. Others are not closed for anyone.
 */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"

#define NEVER (INT64_MAX / 4) /* a time that can be added to another */

static const struct h2_config defaults = {
	.max_connections = 4096,
	.max_streams = 128,
	.max_header_list = 16 * 1024,
	.window = 64 * 1024,
	.high = 64 * 1024,
	.handshake_timeout = 10 * NSEC_PER_SEC,
	.keepalive = 60 * NSEC_PER_SEC,
	.ping_timeout = 20 * NSEC_PER_SEC,
	.idle_timeout = 1800 * NSEC_PER_SEC,
	.max_resets = 500,
	.max_noise = 20000,
};

static void apply_defaults(struct h2_config *c)
{
	c->max_connections = c->max_connections ? c->max_connections : defaults.max_connections;
	c->max_streams = c->max_streams ? c->max_streams : defaults.max_streams;
	c->max_header_list = c->max_header_list ? c->max_header_list : defaults.max_header_list;
	c->window = c->window ? c->window : defaults.window;
	c->keepalive = c->keepalive ? c->keepalive : defaults.keepalive;
	c->high = c->high ? c->high : defaults.high;
	c->ping_timeout = c->ping_timeout ? c->ping_timeout : defaults.ping_timeout;
	if (!c->idle_timeout)
		c->idle_timeout = c->server ? defaults.idle_timeout : NEVER;
	c->max_resets = c->max_resets ? c->max_resets : defaults.max_resets;
	c->max_noise = c->max_noise ? c->max_noise : defaults.max_noise;
	if (!c->handshake_timeout)
		c->handshake_timeout = defaults.handshake_timeout;
}

static void on_drained(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct h2_host *h = container_of(w, struct h2_host, drained);

	h->done(h->done_user); /* may free h */
}

/* A timer, because the caller may be inside of a connection and done() may free the host. */
static void tell_if_drained(struct h2_host *h)
{
	if (h->draining && !h->stats.connections)
		ev_timer_start(h->loop, &h->drained);
}

struct h2_host *h2_host_new(struct ev_loop *loop, const struct h2_config *config)
{
	struct h2_host *h = mem_zalloc(sizeof(*h));
	struct stream_limits limits;

	assert(loop && config && config->events);
	h->loop = loop;
	h->config = *config;
	apply_defaults(&h->config);
	h->listener.fd = -1;
	h->crowded = config->server && config->max_connections != SIZE_MAX;
	TAILQ_INIT(&h->conns);
	LIST_INIT(&h->spare);
	limits = stream_limits(h->config.max_connections, h->config.max_per_source);
	stream_crowd_init(&h->crowd, &limits);
	h2__session_prepare(h);
	ev_timer_init(&h->drained, on_drained, 0, 0);
	return h;
}

void h2_host_free(struct h2_host *h)
{
	struct h2_conn *c;

	if (!h)
		return;
	h->draining = false; /* so that done() is not called */
	stream_listener_close(&h->listener);
	while ((c = TAILQ_FIRST(&h->conns)))
		h2__conn_close(c, "closed here");
	stream_crowd_end(&h->crowd);
	h2__streams_end(h);
	vec_free(&h->fields);
	buf_free(&h->out);
	ev_timer_stop(h->loop, &h->drained);
	nghttp2_session_callbacks_del(h->callbacks);
	nghttp2_option_del(h->option);
	free(h);
}

/* What the host was made with stays: its side, its user and the sizes of areas and crowd. */
void h2_host_set(struct h2_host *h, const struct h2_config *config)
{
	struct h2_config old = h->config;

	h->config = *config;
	h->config.server = old.server;
	h->config.events = old.events;
	h->config.user = old.user;
	h->config.conn_area = old.conn_area;
	h->config.stream_area = old.stream_area;
	h->config.max_connections = old.max_connections;
	h->config.max_per_source = old.max_per_source;
	apply_defaults(&h->config);
}

const struct h2_stats *h2_host_stats(const struct h2_host *h)
{
	return &h->stats;
}

/* What connections are worth when there is no room. */
enum rank { UNUSED, MINOR, USED = STREAM_KEPT };

void h2__rank(struct h2_conn *c)
{
	enum rank rank;

	if (!c->host->crowded)
		return;
	rank = !c->n_streams ? UNUSED : c->n_minor == c->n_streams ? MINOR : USED;

	if (rank != c->member.rank)
		stream_crowd_rank(&c->host->crowd, &c->member, rank);
}

void h2__forget(struct h2_conn *c)
{
	struct h2_host *h = c->host;

	TAILQ_REMOVE(&h->conns, c, all);
	if (c->member.joined)
		stream_crowd_leave(&h->crowd, &c->member);
	h->stats.connections--;
	tell_if_drained(h);
}

/* False: that connection cannot be closed, because its input is just being processed. */
static bool evict(struct h2_host *h, struct stream_member *m)
{
	struct h2_conn *c = container_of(m, struct h2_conn, member);

	if (c->busy)
		return false;
	h->stats.evicted++;
	h2__conn_close(c, "closed to make room for other connections");
	return true;
}

static bool admit(struct h2_host *h, const struct endpoint *peer)
{
	struct stream_member *victim = NULL;

	h->stats.accepted++;
	if (!h->crowded ||
	    (stream_crowd_admit(&h->crowd, peer, NULL, &victim) && (!victim || evict(h, victim))))
		return true;
	h->stats.refused++;
	return false;
}

/* NULL: there is no room. */
static struct h2_conn *enter(struct h2_host *h, struct endpoint peer)
{
	struct h2_conn *c;

	if (!admit(h, &peer))
		return NULL;
	c = h2__conn_new(h, peer);
	if (h->crowded)
		stream_crowd_join(&h->crowd, &c->member, &peer);
	h2__rank(c);
	return c;
}

/* The early bytes are parsed in the first step of the connection, before it reads. */
struct h2_conn *h2_take(struct h2_host *h, struct stream *from, struct str early,
			struct endpoint peer)
{
	struct h2_conn *c = h->config.server ? enter(h, peer) : h2__conn_new(h, peer);

	if (!c)
		return NULL;
	stream_move(&c->stream, from);
	c->counted = c->stream.sent;
	if (early.n)
		buf_add(&c->rest, early.p, early.n);
	h->stats.bytes_in += early.n;
	h2__conn_greet(c);
	return c;
}

void h2_adopt(struct h2_host *h, int fd, struct endpoint peer)
{
	struct h2_conn *c;

	assert(h && h->config.server && fd >= 0);
	c = enter(h, peer);
	if (!c) {
		close(fd);
		return;
	}
	stream_adopt(&c->stream, fd);
	if (h->tls)
		stream_secure(&c->stream, tls_accept(h->tls, fd));
	else
		h2__conn_greet(c);
}

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	h2_adopt(user, fd, peer);
}

/* accept() has failed, probably for lack of descriptors: the least connection gives one back. */
static void on_starved(int error, void *user)
{
	struct h2_host *h = user;
	struct stream_member *least = stream_crowd_least(&h->crowd, NULL);

	h->stats.refused++;
	if (least)
		evict(h, least);
}

int h2_listen(struct h2_host *h, struct endpoint at)
{
	const struct stream_listener_events events = { on_accepted, on_starved, h, NULL };
	const struct stream_listener_config config = { .at = at };

	assert(h && h->config.server && h->listener.fd < 0);
	return stream_listener_open(&h->listener, h->loop, &config, &events);
}

int h2_listen_on(struct h2_host *h, int fd)
{
	const struct stream_listener_events events = { on_accepted, on_starved, h, NULL };
	const struct stream_listener_config config = { 0 };

	assert(h && h->config.server && h->listener.fd < 0);
	return stream_listener_adopt(&h->listener, h->loop, fd, &config, &events);
}

int h2_socket(const struct h2_host *h)
{
	return h->listener.fd;
}

void h2_hand_over(struct h2_host *h)
{
	stream_listener_leave(&h->listener);
}

struct endpoint h2_endpoint(const struct h2_host *h)
{
	return h->listener.bound;
}

void h2_set_tls(struct h2_host *h, struct tls_context *tls)
{
	h->tls = tls;
}

void h2_drain(struct h2_host *h, void (*done)(void *user), void *user)
{
	struct h2_conn *c;

	assert(h && done && !h->draining);
	h->draining = true;
	h->done = done;
	h->done_user = user;
	if (h->listener.fd >= 0 && !h->listener.leaving)
		stream_listener_drain(&h->listener);
	TAILQ_FOREACH(c, &h->conns, all)
	h2_leave(c);
	tell_if_drained(h);
}

/* Failures are passed to the stream, so that lost() is called from the loop and not from here. */
struct h2_conn *h2_connect(struct h2_host *h, struct endpoint to, struct tls_context *tls,
			   const char *tls_name)
{
	struct h2_conn *c = h2__conn_new(h, to);
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&to, &sa);
	struct tls *secured;

	assert(!h->config.server && (!tls || tls_name));
	stream_connect(&c->stream, (struct sockaddr *)&sa, len);
	if (!tls || c->stream.fd < 0)
		return c;
	if (tls_connect(tls, c->stream.fd, tls_name, NULL, &secured) < 0)
		stream_fail(&c->stream, -EINVAL);
	else
		stream_secure(&c->stream, secured);
	return c;
}
