/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the listening socket, the limits on connections, and the end of the server.
 *
 * The server owns its connections in a list. A connection that waits for its client is also in the
 * list of its rank, oldest first. At the limit of connections, and when descriptors run out, one of
 * these is closed to make room for the new one: an idle one; otherwise one whose request is
 * incomplete, so that clients that never finish a request do not lock out others; otherwise one
 * whose client has taken nothing of its answer for a while. If there is none, the new connection is
 * answered with 503. At most REFUSED_MAX of those are open at a time; others are closed at once.
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
 * The connection that has been in that rank for the longest time, except the one whose step is
 * running: a handler may drain the server, and draining accepts connections.
 */
static struct http__conn *oldest(const struct http_server *s, enum http__rank rank)
{
	struct http__conn *c = TAILQ_FIRST(&s->ranks[rank]);

	return c && c == s->running ? TAILQ_NEXT(c, ranked) : c;
}

/* The connection to be closed for a new one, or NULL. */
static struct http__conn *find_victim(const struct http_server *s)
{
	struct http__conn *c = NULL;

	for (enum http__rank rank = 0; !c && rank < HTTP__RANKS; rank++)
		c = oldest(s, rank);
	if (c && c->rank == HTTP__TAKING && ev_now(s->loop) - c->since < STALLED)
		return NULL;
	return c;
}

static bool make_room(struct http_server *s)
{
	struct http__conn *c = find_victim(s);

	if (!c)
		return false;
	if (c->rank == HTTP__SPARE)
		s->stats.evicted++;
	else
		s->stats.cut++;
	http__conn_close(c);
	return true;
}

/* The connection, except `but`, that holds memory and has been in that rank the longest. */
static struct http__conn *oldest_holder(const struct http_server *s, enum http__rank rank,
					const struct http__conn *but)
{
	struct http__conn *c;

	for (c = TAILQ_FIRST(&s->ranks[rank]); c; c = TAILQ_NEXT(c, ranked))
		if (c->held && c != but)
			return c;
	return NULL;
}

/* NULL if only c holds memory. */
static struct http__conn *find_hoarder(const struct http_server *s, const struct http__conn *but)
{
	struct http__conn *asking = oldest_holder(s, HTTP__ASKING, but);
	struct http__conn *taking = oldest_holder(s, HTTP__TAKING, but);

	if (!asking || !taking)
		return asking ? asking : taking;
	return asking->since < taking->since ? asking : taking;
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
	bool over = s->stats.connections - s->n_refused >= s->config.max_connections;
	struct http__conn *c;

	s->stats.accepted++;
	if (!over || make_room(s)) {
		http__conn_new(s, fd, peer);
		return;
	}
	s->stats.refused++;
	if (s->n_refused >= REFUSED_MAX) {
		close(fd);
		return;
	}
	c = http__conn_new(s, fd, peer);
	c->refused = true;
	s->n_refused++;
	http__conn_refuse(c, 503);
}

static void on_starved(int error, void *user)
{
	struct http_server *s = user;

	s->stats.accept_errors++;
	make_room(s);
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
	int r;

	assert(loop && config && ret && (config->routes || !config->n_routes));
	s->loop = loop;
	s->config = *config;
	apply_defaults(&s->config);
	TAILQ_INIT(&s->conns);
	for (enum http__rank rank = 0; rank < HTTP__RANKS; rank++)
		TAILQ_INIT(&s->ranks[rank]);
	ev_timer_init(&s->drained, on_drained, 0, 0);
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
	ev_timer_stop(s->loop, &s->drained);
	free(s);
}

struct endpoint http_server_endpoint(const struct http_server *s)
{
	return s->listener.bound;
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
	stream_listener_drain(&s->listener);
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, all);
		http__conn_drain(c);
	}
	tell_if_drained(s);
}
