/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the listening socket, the limits on connections, and the end of the server.
 *
 * The server owns its connections in a list. Those that were admitted are also members of a crowd
 * (lib/stream/crowd.h), and a connection that waits for its client has a rank there. At a limit of
 * connections, and when descriptors run out, the crowd chooses one of these, which is closed to
 * make room for the new one: an idle one; otherwise one whose request is incomplete, so that
 * clients that never finish a request do not lock out others; otherwise one whose client has taken
 * nothing of its answer for a while. If there is none, the new connection is answered with 503. At
 * most REFUSED_MAX of those are open at a time; others are closed at once.
 *
 * All work of a connection is done in steps of its stream's task (connection.c), which also gives
 * connections their turns.
 */
#include "lib/http/server.h"

#include <assert.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server_private.h"

#define REFUSED_MAX 64 /* connections above the limit that are open to be answered with 503 */
#define STALLED 1.0    /* s; an answer without progress for that long may be cut to make room */

static const struct http_server_config defaults = {
	.max_connections = 1000,
	.max_body = (size_t)64 * 1024,
	.max_held = (size_t)64 * 1024 * 1024,
	.request_timeout = 10 * NSEC_PER_SEC,
	.idle_timeout = 60 * NSEC_PER_SEC,
	.write_timeout = 30 * NSEC_PER_SEC,
};

static void apply_defaults(struct http_server_config *c)
{
	if (!c->max_connections)
		c->max_connections = defaults.max_connections;
	if (!c->max_body)
		c->max_body = defaults.max_body;
	if (!c->max_held)
		c->max_held = defaults.max_held;
	if (!c->request_timeout)
		c->request_timeout = defaults.request_timeout;
	if (!c->idle_timeout)
		c->idle_timeout = defaults.idle_timeout;
	if (!c->write_timeout)
		c->write_timeout = defaults.write_timeout;
}

/*
 * The connection whose step is running is not closed: its handler may drain the server, and
 * draining accepts connections.
 */
static const struct stream_member *running(const struct http_server *s)
{
	return s->running ? &s->running->member : NULL;
}

/* Closes a connection for another one; false if its client is just taking its answer. */
static bool close_for_another(struct http_server *s, struct stream_member *m)
{
	struct http__conn *c = container_of(m, struct http__conn, member);

	if (m->rank == HTTP__TAKING && ev_now(s->loop) - c->since < STALLED)
		return false;
	if (m->rank == HTTP__SPARE)
		s->stats.evicted++;
	else
		s->stats.cut++;
	http__conn_close(c);
	return true;
}

static bool admit(struct http_server *s, const struct endpoint *peer)
{
	struct stream_member *victim;

	return stream_crowd_admit(&s->crowd, peer, running(s), &victim) &&
	       (!victim || close_for_another(s, victim));
}

/* The connection of that list, except `but`, that holds memory and has been there the longest. */
static struct http__conn *oldest_holder(const struct stream_members *list,
					const struct http__conn *but)
{
	struct stream_member *m;

	for (m = TAILQ_FIRST(list); m; m = TAILQ_NEXT(m, ranked)) {
		struct http__conn *c = container_of(m, struct http__conn, member);

		if (c->held && c != but)
			return c;
	}
	return NULL;
}

/* NULL if only c holds memory. */
static struct http__conn *find_hoarder(const struct http_server *s, const struct http__conn *but)
{
	const struct stream_members *const lists[] = { &s->crowd.ranks[false][HTTP__ASKING],
						       &s->crowd.ranks[true][HTTP__ASKING],
						       &s->crowd.ranks[false][HTTP__TAKING],
						       &s->crowd.ranks[true][HTTP__TAKING] };
	struct http__conn *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct http__conn *c = oldest_holder(lists[i], but);

		if (c && (!first || c->since <= first->since))
			first = c;
	}
	return first;
}

void http__server_hold(struct http_server *s, struct http__conn *c, size_t bytes)
{
	struct http__conn *other;

	assert(s->stats.held >= c->held);
	s->stats.held += bytes - c->held;
	c->held = bytes;
	while (bytes && s->stats.held > s->config.max_held && (other = find_hoarder(s, c))) {
		s->stats.cut++;
		http__conn_close(other);
	}
}

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	struct http_server *s = user;

	s->stats.accepted++;
	if (admit(s, &peer)) {
		http__conn_new(s, fd, peer, false);
		return;
	}
	s->stats.refused++;
	if (s->n_refused >= REFUSED_MAX) {
		close(fd);
		return;
	}
	s->n_refused++;
	http__conn_refuse(http__conn_new(s, fd, peer, true), 503);
}

static void on_starved(int error, void *user)
{
	struct http_server *s = user;
	struct stream_member *least = stream_crowd_least(&s->crowd, running(s));

	s->stats.accept_errors++;
	if (least)
		close_for_another(s, least);
}

static void on_drained(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct http_server *s = container_of(w, struct http_server, drained);

	s->done(s->done_user); /* may free s */
}

/* After the last connection of a draining server, done() is called from the loop. */
static void tell_if_drained(struct http_server *s)
{
	if (s->draining && !s->stats.connections)
		ev_timer_start(s->loop, &s->drained);
}

void http__server_forget(struct http_server *s, struct http__conn *c)
{
	TAILQ_REMOVE(&s->conns, c, all);
	s->stats.connections--;
	s->n_refused -= c->refused;
	tell_if_drained(s);
}

int http_server_new(struct ev_loop *loop, const struct http_server_config *config,
		    struct http_server **ret)
{
	_cleanup_(cleanup_free) struct http_server *s = mem_zalloc(sizeof(*s));
	const struct stream_listener_events events = { on_accepted, on_starved, s, NULL };
	const struct stream_listener_config at = { .at = config->listen,
						   .path = config->path,
						   .mode = config->mode };
	struct stream_limits limits;
	int r;

	assert(loop && config && ret && (config->routes || !config->n_routes));
	s->loop = loop;
	s->config = *config;
	apply_defaults(&s->config);
	TAILQ_INIT(&s->conns);
	limits = stream_limits(s->config.max_connections, s->config.max_per_source);
	stream_crowd_init(&s->crowd, &limits);
	ev_timer_init(&s->drained, on_drained, 0, 0);
	if (config->inherited)
		r = stream_listener_adopt(&s->listener, loop, config->inherited, &at, &events);
	else
		r = stream_listener_open(&s->listener, loop, &at, &events);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void http_server_free(struct http_server *s)
{
	struct http__conn *c;

	if (!s)
		return;
	s->draining = false; /* done() is not called, because the caller frees the server */
	stream_listener_close(&s->listener);
	while ((c = TAILQ_FIRST(&s->conns)))
		http__conn_close(c);
	stream_crowd_end(&s->crowd);
	ev_timer_stop(s->loop, &s->drained);
	free(s);
}

struct endpoint http_server_endpoint(const struct http_server *s)
{
	return s->listener.bound;
}

int http_server_socket(const struct http_server *s)
{
	return s->listener.fd;
}

void http_server_hand_over(struct http_server *s)
{
	stream_listener_leave(&s->listener);
}

const struct http_server_stats *http_server_stats(const struct http_server *s)
{
	return &s->stats;
}

void http_server_set_tls(struct http_server *s, struct tls_context *tls)
{
	assert(s && s->config.tls && tls);
	s->config.tls = tls;
}

void http_server_drain(struct http_server *s, void (*done)(void *user), void *user)
{
	struct http__conn *c, *next;

	assert(s && done && !s->draining);
	s->draining = true;
	s->done = done;
	s->done_user = user;
	if (!s->listener.leaving)
		stream_listener_drain(&s->listener);
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, all);
		http__conn_drain(c);
	}
	tell_if_drained(s);
}
