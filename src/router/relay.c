/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay: a client's connection, passed on to a server as it is, for listeners with protocol tcp.
 *
 *	begin -> [waiting] -> connecting -> bytes both ways -> end
 *	             ^            |
 *	             +-- again ---+   at another server
 *
 * Until it is connected, a relay is like a request: it holds its generation, chooses a server,
 * waits for one that has a connection to spare, and tries another one if that fails. Nothing of the
 * client is read in that time, except what named its host. From then on it needs nothing of its
 * configuration but a few names and its idle time, which it copies, and it lets go of the
 * generation: a connection may last for days, and many generations may come in that time.
 *
 * pump.c passes the bytes on.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "core/l7/key.h"
#include "core/l7/retry.h"
#include "src/router/relay.h"

#define TAKES 8 /* servers that other threads may fill before us */

/* Connections are tried at three servers, or as often at the only one, as HAProxy does. */
static const struct l7_retry policy = { .attempts = 3, .backoff = L7_RETRY_BACKOFF };

static struct worker *worker_of(const struct relay *r)
{
	return r->client->worker;
}

static const struct generation_pool *pool_of(const struct relay *r)
{
	return &r->era->generation->pools[r->backend->pool];
}

/* ---- statistics ---- */

/* The cell of a name that is gone may be another's by now. */
static void add(const struct relay_cell *c, enum stats_counter what, uint64_t by)
{
	if (c->cell && atomic_load_explicit(&c->cell->id, memory_order_relaxed) == c->id)
		stats_count(c->cell, what, by);
}

void relay__count(struct relay *r, enum stats_counter what, uint64_t bytes)
{
	add(&r->route, what, bytes);
	add(&r->pool, what, bytes);
	if (what == STATS_IN)
		r->client->received += bytes;
	r->moved = ev_now(worker_of(r)->loop);
}

static struct relay_cell open_cell(const struct relay *r, enum stats_kind kind,
				   const struct name *name)
{
	struct stats_thread *stats = worker_of(r)->config.stats;
	struct relay_cell c = { stats_cell(stats, kind, name->number, name->id), name->id };

	add(&c, STATS_REQUESTS, 1);
	add(&c, STATS_ACTIVE, 1);
	return c;
}

static void close_cell(const struct relay *r, const struct relay_cell *c)
{
	add(c, STATS_ACTIVE, (uint64_t)-1);
	add(c, r->done ? STATS_1XX : STATS_ABORTS, 1);
}

/* A try has ended. That of a connection counts when it is there no more. */
static void count_try(struct relay *r, enum stats_counter how)
{
	struct link *l = r->link;

	if (!link_is_known(l) || r->counted)
		return;
	stats_count(l->slot->stats, STATS_REQUESTS, 1);
	stats_count(l->slot->stats, how, 1);
	r->counted = true;
}

/* For the comparison of two generations: a connection that found a server is not a failure. */
static void tally(const struct relay *r, bool failed)
{
	count(&r->era->tally->answers, 1);
	if (failed)
		count(&r->era->tally->errors, 1);
}

/* ---- the end ---- */

static void release_era(struct relay *r)
{
	if (r->era)
		worker_release_era(worker_of(r), TAKE_PTR(r->era));
}

static void stop_waiting(struct relay *r)
{
	quota_leave(&r->place);
	add(&r->pool, STATS_WAITING, (uint64_t)-1);
	r->wait_due = 0;
}

/* The link has been given away or freed. */
static void release(struct relay *r)
{
	struct client *c = r->client;

	if (r->place.side)
		stop_waiting(r);
	r->ended = loop_monotonic();
	close_cell(r, &r->route);
	close_cell(r, &r->pool);
	if (r->era)
		tally(r, true);
	journal_relay(r);
	if (r->quota) {
		if (r->admitted)
			quota_dismiss(r->quota);
		quota_release(r->quota);
	}
	release_era(r);
	pump_free(r);
	c->relay = NULL;
	free(r->copies);
	free(r->sni);
	free(r);
}

static void drop_link(struct relay *r)
{
	if (!r->link)
		return;
	count_try(r, STATS_ABORTS);
	link_free(TAKE_PTR(r->link));
}

void relay_drop(struct relay *r, const char *why)
{
	struct client *c = r->client;

	if (!r->why)
		r->why = why;
	if (r->link)
		stream_reset(&r->link->stream);
	drop_link(r);
	release(r);
	stream_reset(&c->stream);
	client_free(c);
}

void relay__finish(struct relay *r)
{
	struct client *c = r->client;

	r->done = true;
	count_try(r, STATS_1XX);
	if (stream_unsent(&r->link->stream))
		link_leave(TAKE_PTR(r->link));
	else
		link_free(TAKE_PTR(r->link));
	release(r);
	c->leaves = true; /* it sends no more, so it need not be waited for */
	client_leave(c);
}

/*
 * Without a server the client gets RST, as from a closed port, also where it speaks TLS: the router
 * has no part in a connection that it passes on, so an alert would not be its to send.
 */
static void refuse(struct relay *r, const char *why)
{
	r->why = why;
	relay_drop(r, why);
}

/* ---- time ---- */

static void arm(struct relay *r)
{
	int64_t at = r->retry_at ?: r->wait_due, now = loop_monotonic();

	stream_set_deadline(&r->client->stream, !at ? 0 : at > now ? at - now : 1);
}

#define KEEPALIVE_AFTER 30. /* s of silence */

/*
 * A peer that has vanished is noticed within three minutes, and a firewall on the way does not
 * forget a connection that is only idle. Short connections do not pay for it.
 */
static void keep_alive(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = { { IPPROTO_TCP, TCP_KEEPIDLE, 60 },
			{ IPPROTO_TCP, TCP_KEEPINTVL, 15 },
			{ IPPROTO_TCP, TCP_KEEPCNT, 6 },
			{ SOL_SOCKET, SO_KEEPALIVE, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}

void relay_sweep(struct relay *r, ev_tstamp now)
{
	if (r->place.side)
		quota_call(r->place.side); /* servers may have come up */
	if (!r->connected)
		return;
	if (now - r->moved >= r->idle_time) {
		relay_drop(r, "idle");
	} else if (!r->kept_alive && now - r->moved >= KEEPALIVE_AFTER) {
		keep_alive(r->client->stream.fd);
		keep_alive(r->link->stream.fd);
		r->kept_alive = true;
	}
}

/* ---- servers ---- */

static void overflow(struct relay *r, enum worker_limit limit)
{
	count(&worker_of(r)->counters.overflows[limit], 1);
	add(&r->pool, STATS_OVERFLOW, 1);
	refuse(r, "overflow");
}

static void wait(struct relay *r)
{
	const struct l7_limits *limits = &pool_of(r)->config->limits;
	struct quota_side *side = &r->quota->sides[worker_of(r)->config.number];

	r->place.since = loop_monotonic();
	r->place.relay = true;
	if (!limits->wait || !quota_enter(side, &r->place, limits->waiting)) {
		overflow(r, WORKER_CONNECTIONS);
		return;
	}
	add(&r->pool, STATS_WAITED, 1);
	add(&r->pool, STATS_WAITING, 1);
	r->wait_due = r->place.since + limits->wait;
	arm(r);
}

static enum exchange__seat take_link(struct relay *r)
{
	const struct link_wish wish = { .pool = pool_of(r)->config,
					.secure = pool_of(r)->secure,
					.client = r->client,
					.fresh = true,
					.raw = true };
	bool full = true;

	for (unsigned i = 0; i < TAKES; i++) {
		struct server *server = choose_relay(r, &full);

		if (!server)
			return full ? SEAT_FULL : SEAT_NONE;
		r->link = link_take(worker_of(r), server, &wish);
		if (!r->link)
			continue;
		r->link->relay = r;
		r->server = server;
		return SEAT_TAKEN;
	}
	return SEAT_FULL;
}

static void begin_try(struct relay *r)
{
	r->tries++;
	r->counted = false;
	r->why = NULL;
	link_limit(r->link, pool_of(r)->config->connect_timeout);
}

static void try_server(struct relay *r)
{
	const struct generation_pool *pool = pool_of(r);
	enum exchange__seat seat = SEAT_FULL;

	if (!pool->config->limits.connections || !quota_is_crowded(pool->quota))
		seat = take_link(r);
	switch (seat) {
	case SEAT_TAKEN:
		begin_try(r);
		break;
	case SEAT_NONE:
		refuse(r, "no-server");
		break;
	case SEAT_FULL:
		wait(r);
		break;
	}
}

enum quota_result relay_serve(struct quota_place *p)
{
	struct relay *r = container_of(p, struct relay, place);
	enum exchange__seat seat = take_link(r);

	if (seat == SEAT_FULL)
		return QUOTA_FULL;
	stop_waiting(r);
	arm(r);
	if (seat == SEAT_TAKEN)
		begin_try(r);
	else
		refuse(r, "no-server");
	return QUOTA_SERVED;
}

/* No connection to the server: another one is tried. */
static void fail(struct relay *r)
{
	const struct l7_try t = { .ending = L7_NOT_REACHED,
				  .number = r->tries,
				  .repeatable = true };
	struct worker *w = worker_of(r);

	count_try(r, STATS_CONNECT);
	worker_judge(w, r->server, &pool_of(r)->config->ejection, true);
	r->why = "connect-failed";
	drop_link(r);
	if (!l7_retry_again(&policy, &t)) {
		refuse(r, r->why);
		return;
	}
	count(&w->counters.retries, 1);
	add(&r->route, STATS_RETRIES, 1);
	add(&r->pool, STATS_RETRIES, 1);
	r->retry_at = loop_monotonic() + l7_retry_wait(&policy, &t, random_next(&w->random));
	arm(r);
}

void relay_expired(struct relay *r)
{
	int64_t now = loop_monotonic();

	if (r->wait_due && r->wait_due <= now) {
		overflow(r, WORKER_CONNECTIONS);
	} else if (r->retry_at && r->retry_at <= now) {
		r->retry_at = 0;
		try_server(r);
	} else {
		arm(r);
	}
}

/* ---- connected ---- */

/* Copies a text to *at and returns the copy. */
static const char *copy_text(char **at, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;
	char *copy = *at;

	if (!text)
		return NULL;
	memcpy(copy, text, n);
	*at += n;
	return copy;
}

/* What the configuration says is needed no more; its names are, for the log. */
static void let_go(struct relay *r)
{
	const char **names[] = { &r->names.listener, &r->names.stream, &r->names.pool,
				 &r->names.server };
	size_t n = 0;
	char *at;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		n += *names[i] ? strlen(*names[i]) + 1 : 0;
	at = r->copies = mem_alloc(n + 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		*names[i] = copy_text(&at, *names[i]);
	tally(r, false);
	r->stream = NULL;
	r->backend = NULL;
	r->server = NULL;
	release_era(r);
}

void relay_connected(struct relay *r)
{
	struct client *c = r->client;
	struct worker *w = c->worker;
	struct buffer *in = TAKE_PTR(c->in);

	worker_judge(w, r->server, &pool_of(r)->config->ejection, false);
	link_limit(r->link, 0);
	r->connected = true;
	r->first = task_began(w->loop);
	stats_first(r->route.cell, r->first - r->began); /* its generation is still held */
	r->moved = ev_now(w->loop);
	r->names.server = r->server->authority;
	let_go(r);
	if (!in) {
		pump_begin(r, STR(""));
		return;
	}
	pump_begin(r, (struct str){ in->p + in->at, in->n - in->at });
	buffers_give(&w->buffers, in);
}

void relay_lost(struct relay *r, int error)
{
	if (!r->connected) {
		fail(r);
	} else {
		count_try(r, STATS_BROKEN);
		relay_drop(r, "server-broken");
	}
}

void relay_ready(struct relay *r, unsigned what)
{
	if (!r->connected)
		return;
	if (what & STREAM_WRITE)
		pump_client_took(r);
	else if (what & (STREAM_READ | STREAM_WAKE))
		pump_push(r);
}

void relay_link_ready(struct relay *r, unsigned what)
{
	if (what & STREAM_WRITE)
		pump_server_took(r);
	else if (what & STREAM_READ)
		pump_pull(r);
}

void relay_late(struct relay *r)
{
	fail(r);
}

/* ---- the beginning ---- */

static bool pick_backend(struct relay *r)
{
	const struct l7_stream *s = r->stream;
	size_t i = l7_pick_backend(s->backends, s->n_backends, random_next(&worker_of(r)->random));

	if (i == L7_NONE || s->backends[i].pool == L7_NO_POOL)
		return false;
	r->backend = &s->backends[i];
	return true;
}

static bool admit(struct relay *r)
{
	const struct generation_pool *pool = pool_of(r);
	unsigned limit = pool->config->limits.requests;

	r->quota = pool->quota;
	quota_hold(r->quota);
	r->admitted = limit && quota_admit(r->quota, limit);
	return !limit || r->admitted;
}

static char *copy_str(struct str s)
{
	char *copy = mem_alloc(s.n + 1);

	memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return copy;
}

static struct relay *make(struct client *c, struct era *era, const char *listener)
{
	struct worker *w = c->worker;
	struct relay *r = mem_zalloc(sizeof(*r));

	r->client = c;
	r->era = era;
	era->users++;
	r->generation = era->generation->number;
	r->names.listener = listener;
	r->moved = ev_now(w->loop);
	r->began = task_began(w->loop);
	c->relay = r;
	stream_want(&c->stream, 0); /* until there is a server */
	return r;
}

void relay_begin(struct client *c, const struct relay_wish *wish)
{
	const struct generation *g = wish->era->generation;
	struct relay *r = make(c, wish->era, wish->listener->config->name);
	size_t i = generation_stream(wish->listener, wish->host);

	if (wish->host.n)
		r->sni = copy_str(wish->host);
	if (i == L7_NONE) {
		refuse(r, "no-stream");
		return;
	}
	r->stream = &g->config.streams[i];
	r->names.stream = r->stream->name;
	r->idle_time = loop_seconds(r->stream->idle_timeout);
	r->route = open_cell(r, STATS_STREAM, g->streams[i]);
	if (!pick_backend(r)) {
		refuse(r, "no-backend");
		return;
	}
	r->names.pool = pool_of(r)->config->name;
	r->pool = open_cell(r, STATS_POOL, pool_of(r)->name);
	r->hash = l7_key_hash_source(&c->source.addr);
	if (!admit(r))
		overflow(r, WORKER_REQUESTS);
	else
		try_server(r);
}
