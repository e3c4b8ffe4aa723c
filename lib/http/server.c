/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the listening socket, who is let in, and how it ends.
 *
 * Streams are asked for their slices one after the other, each once before any is asked again, and
 * for a bounded time in one turn of the loop, however many there are.
 *
 * The server owns its connections; they live in a list, and each that waits for its client also in
 * that of its rank, oldest first. At the limit, and when descriptors run out, one of these makes
 * room for whoever is new: an idle one, which was answered; else one whose request is not whole,
 * so that those who never finish asking keep nobody out; else one whose client has not taken
 * anything of its answer for a while. Where there is none, a few more are let in to be told 503;
 * beyond those, closing is all that is left.
 */
#include "lib/http/server.h"

#include <assert.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server_private.h"

#define REFUSED_MAX 64			/* connections over the limit that are open to be told so */
#define ASKING_TIME (2 * NSEC_PER_MSEC) /* for streams, in one turn of the loop */
#define STALLED 1.0 /* s without progress of an answer, that others do not have to wait for */

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

/* Whoever others may do without most; NULL: nobody. */
static struct http__conn *find_victim(const struct http_server *s)
{
	struct http__conn *c = NULL;

	for (enum http__rank rank = 0; !c && rank < HTTP__RANKS; rank++)
		c = TAILQ_FIRST(&s->ranks[rank]);
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

/* The one of that rank, but for c, that holds something and has been there for longest. */
static struct http__conn *oldest_holder(const struct http_server *s, enum http__rank rank,
					const struct http__conn *but)
{
	struct http__conn *c;

	for (c = TAILQ_FIRST(&s->ranks[rank]); c; c = TAILQ_NEXT(c, ranked))
		if (c->held && c != but)
			return c;
	return NULL;
}

/* NULL when c alone holds what is held. */
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

/* The time for slices runs from the first that is wanted in a turn of the loop. */
static void begin_turn(struct http_server *s)
{
	unsigned turn = ev_iteration(s->loop);

	if (turn == s->turn)
		return;
	s->turn = turn;
	s->turn_ends = loop_monotonic() + ASKING_TIME;
}

static bool has_time(const struct http_server *s)
{
	return loop_monotonic() < s->turn_ends;
}

bool http__server_turn(struct http_server *s, struct http__conn *c)
{
	begin_turn(s);
	if (TAILQ_EMPTY(&s->queue) && has_time(s))
		return true;
	if (!c->in_queue)
		TAILQ_INSERT_TAIL(&s->queue, c, queued);
	c->in_queue = true;
	if (!ev_is_active(&s->asking))
		ev_timer_start(s->loop, &s->asking);
	return false;
}

void http__server_unqueue(struct http_server *s, struct http__conn *c)
{
	if (c->in_queue)
		TAILQ_REMOVE(&s->queue, c, queued);
	c->in_queue = false;
}

/* At least one stream, and more while there is time: what is left goes on in the next turn. */
static void on_asking(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct http_server *s = container_of(w, struct http_server, asking);
	struct http__conn *c;

	begin_turn(s);
	while ((c = TAILQ_FIRST(&s->queue))) {
		http__server_unqueue(s, c);
		http__conn_produce(c);
		if (!has_time(s))
			break;
	}
	if (!TAILQ_EMPTY(&s->queue) && !ev_is_active(w))
		ev_timer_start(loop, w);
}

static void on_drained(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct http_server *s = container_of(w, struct http_server, drained);

	s->done(s->done_user); /* may free s */
}

/* When the last connection of a draining server has gone, the loop tells so. */
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
	const struct stream_listener_config at = { .at = config->listen };
	int r;

	assert(loop && config && ret && (config->routes || !config->n_routes));
	s->loop = loop;
	s->config = *config;
	apply_defaults(&s->config);
	TAILQ_INIT(&s->conns);
	for (enum http__rank rank = 0; rank < HTTP__RANKS; rank++)
		TAILQ_INIT(&s->ranks[rank]);
	TAILQ_INIT(&s->queue);
	ev_timer_init(&s->asking, on_asking, 0, 0);
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
	s->draining = false; /* whom it concerns is calling */
	stream_listener_close(&s->listener);
	while ((c = TAILQ_FIRST(&s->conns)))
		http__conn_close(c);
	ev_timer_stop(s->loop, &s->asking);
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
