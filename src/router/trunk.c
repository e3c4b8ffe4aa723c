/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trunk: connections to servers that many requests share (HTTP/2).
 *
 *	connecting -> [ALPN: http/1.1: becomes a link] -> greeting -> open -> leaving -> gone
 *
 * Each thread has its own trunks, so that no request crosses threads. A request takes a link that
 * is a stream of a trunk with room; while a trunk is being connected to, links wait for it. Another
 * trunk is opened only when the server allows no more streams on those that are there.
 *
 * While it is not known whether a server speaks HTTP/2, all requests wait for the first connection:
 * if ALPN decides for HTTP/1.1, the first of them gets it and the others open their own.
 */
#include "src/router/trunk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/tls/tls.h"

#define ASSUMED 100   /* streams that a server probably allows; it says so when it is connected */
#define FRESH_TIME 1. /* s in which a connection is as good as a new one */
#define HEADER_LIST HTTP_HEAD_MAX

/* ---- the end ---- */

/* It does not count as a connection of the server any more. */
static void uncount(struct trunk *t)
{
	struct slot *slot = TAKE_PTR(t->slot);

	if (!slot)
		return;
	TAILQ_REMOVE(&slot->trunks, t, all);
	slot->n_open--;
	slot->n_trunks--;
	if (!t->n_links)
		slot->n_idle--;
	quota_unkeep(slot->side);
	link__show(slot);
	count(&t->worker->counters.trunks, -1);
	count(&t->worker->counters.links, -1);
	seats_close(slot->seats);
}

/* The links that wait for it are lost. */
static void free_trunk(struct trunk *t, enum l7_ending how, const char *why)
{
	struct link *l;

	t->leaving = t->ending = true;
	while ((l = TAILQ_FIRST(&t->waiting))) {
		l->failed = l->failed ?: how;
		l->why = l->why ?: why;
		link_lose(l, -ECONNRESET);
	}
	uncount(t);
	stream_end(&t->stream);
	free(t);
}

/* No more requests; it ends with the last one. While some wait for it, it has to stay. */
static void leave(struct trunk *t)
{
	if (!t->open && t->n_links)
		return;
	t->leaving = true;
	if (t->conn)
		h2_leave(t->conn);
	else if (!t->n_links && !t->ending)
		stream_fail(&t->stream, -ECANCELED);
}

/* ---- links that wait ---- */

static void stop_waiting(struct trunk *t, struct link *l)
{
	TAILQ_REMOVE(&t->waiting, l, kept);
	l->strand.open = true;
	t->n_promised++;
}

static bool has_room(const struct trunk *t)
{
	return t->open && !t->leaving && h2_conn_room(t->conn) > t->n_promised;
}

/* The trunk cannot serve it after all: another connection may. */
static void send_away(struct link *l)
{
	if (l->x)
		exchange_again(l->x);
	else
		link_lose(l, -ECONNRESET);
}

/* The trunk is open, or never will be. Each callback may change the list. */
static void serve_waiting(struct trunk *t)
{
	struct link *l;

	while ((l = TAILQ_FIRST(&t->waiting))) {
		if (has_room(t)) {
			stop_waiting(t, l);
			link__opened(l);
		} else {
			send_away(l);
		}
	}
}

/* ---- a connection that is no trunk ---- */

/* ALPN has decided for HTTP/1.1: the first link has the connection for itself. */
static void become_link(struct trunk *t)
{
	struct link *l = TAILQ_FIRST(&t->waiting);
	struct slot *slot = t->slot;

	slot->speaks = L7_HTTP1;
	t->leaving = t->ending = true;
	if (!l) {
		free_trunk(t, L7_NOT_REACHED, NULL);
		return;
	}
	TAILQ_REMOVE(&t->waiting, l, kept);
	if (!--t->n_links)
		slot->n_idle++;
	l->trunk = NULL;
	l->seats = slot->seats;
	seats_hold(l->seats);
	l->to = t->to;
	l->secure = t->secure;
	l->whose = t->whose;
	l->opened = t->opened;
	stream_move(&l->stream, &t->stream);
	stream_want(&l->stream, STREAM_READ);
	slot->n_open++;
	count(&t->worker->counters.links, 1);
	seats_open(slot->seats, 0); /* it takes over that of the trunk */
	while (!TAILQ_EMPTY(&t->waiting))
		send_away(TAILQ_FIRST(&t->waiting));
	free_trunk(t, L7_NOT_REACHED, NULL);
	link__opened(l);
}

/* ---- events ---- */

static struct trunk *trunk_of(struct h2_conn *c)
{
	return *(struct trunk **)h2_conn_area(c);
}

static void on_open(struct h2_conn *c, void *user)
{
	struct trunk *t = trunk_of(c);

	t->open = true;
	if (t->slot)
		t->slot->speaks = L7_H2;
	serve_waiting(t);
	if (!t->slot)
		leave(t);
}

/* The server may allow more streams: requests that wait for a connection can have them. */
static void call_waiting(const struct slot *slot)
{
	if (quota_is_crowded(slot->seats->quota))
		quota_call(slot->side);
}

static void on_settings(struct h2_conn *c, void *user)
{
	if (trunk_of(c)->slot)
		call_waiting(trunk_of(c)->slot);
}

static void on_going(struct h2_conn *c, void *user)
{
	struct trunk *t = trunk_of(c);

	t->leaving = true;
	serve_waiting(t);
}

static void on_lost(struct h2_conn *c, const char *why, void *user)
{
	struct trunk *t = trunk_of(c);

	t->conn = NULL;
	free_trunk(t, t->open ? L7_NOT_TAKEN : L7_NOT_REACHED, NULL);
}

static const struct h2_events h2_events = { .open = on_open,
					    .settings = on_settings,
					    .going = on_going,
					    .lost = on_lost,
					    .header = strand_on_header,
					    .headers = strand_on_headers,
					    .data = strand_on_data,
					    .end = strand_on_end,
					    .writable = strand_on_writable,
					    .settled = strand_on_settled,
					    .closed = strand_on_closed };

static struct h2_host *host_of(struct worker *w)
{
	const struct h2_config config = { .events = &h2_events,
					  .user = w,
					  .conn_area = sizeof(struct trunk *),
					  .stream_area = sizeof(struct strand_area),
					  .max_connections = SIZE_MAX,
					  .max_header_list = HEADER_LIST,
					  .window = 65536,
					  .keepalive = w->config.limits.stall_time / 2,
					  .ping_timeout = w->config.limits.stall_time / 2 };

	if (!w->trunks)
		w->trunks = h2_host_new(w->loop, &config);
	return w->trunks;
}

/* The socket is connected, and TLS agreed on. */
static void on_opened(struct stream *s)
{
	struct trunk *t = container_of(s, struct trunk, stream);
	struct endpoint peer = { 0 };

	if (s->tls)
		link__secured(t->slot, t->worker, s);
	if (s->tls && !str_eq(tls_protocol(s->tls), STR("h2"))) {
		if (t->decides)
			become_link(t);
		else
			free_trunk(t, L7_NOT_SECURED, "tls-alpn");
		return;
	}
	stream_set_deadline(s, 0);
	stream_peer(s, &peer);
	t->conn = h2_take(host_of(t->worker), s, (struct str){ 0 }, peer);
	*(struct trunk **)h2_conn_area(t->conn) = t;
}

static void on_closed(struct stream *s, int error)
{
	struct trunk *t = container_of(s, struct trunk, stream);
	struct link *l = TAILQ_FIRST(&t->waiting);
	enum l7_ending how = L7_NOT_REACHED;
	const char *why = NULL;

	if (l) {
		link__blame(l, s, error);
		how = l->failed ?: how;
		why = l->why;
	}
	free_trunk(t, how, why);
}

static void on_expired(struct stream *s)
{
	free_trunk(container_of(s, struct trunk, stream), L7_NOT_REACHED, NULL);
}

/* Once it is open it belongs to lib/h2. */
static void on_ready(struct stream *s, unsigned what)
{
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

/* ---- the door ---- */

static struct trunk *open_trunk(const struct link_call *c)
{
	struct trunk *t = mem_zalloc(sizeof(*t));
	struct slot *slot = c->slot;

	t->worker = c->worker;
	t->slot = slot;
	t->whose = c->whose;
	t->secure = link__secure_id(c);
	t->opened = t->since = ev_now(c->worker->loop);
	t->decides = c->wish->pool->protocol == L7_AUTO;
	t->alone = t->decides && slot->speaks == L7_HTTP1;
	TAILQ_INIT(&t->waiting);
	TAILQ_INSERT_HEAD(&slot->trunks, t, all);
	slot->n_open++;
	slot->n_trunks++;
	slot->n_idle++;
	quota_keep(slot->side, false);
	count(&t->worker->counters.trunks, 1);
	count(&t->worker->counters.links, 1);
	stream_init(&t->stream, c->worker->loop, TASK_ORDINARY, &events);
	stream_set_deadline(&t->stream, c->wish->pool->connect_timeout);
	t->to = link__connect(&t->stream, c);
	return t;
}

/* While it is being connected to, nobody knows how many streams the server allows. */
static bool takes_more(const struct trunk *t, const struct link_call *c)
{
	bool young = ev_now(c->worker->loop) - t->opened < FRESH_TIME;

	if (t->leaving || t->alone)
		return false;
	if (t->open)
		return TAILQ_EMPTY(&t->waiting) && has_room(t) && (!c->wish->fresh || young);
	return t->n_links < ASSUMED || (t->decides && c->slot->speaks == L7_AUTO);
}

static struct trunk *find_trunk(const struct link_call *c)
{
	struct trunk *t, *next;
	bool named = server_has_name(c->server);

	for (t = TAILQ_FIRST(&c->slot->trunks); t; t = next) {
		next = TAILQ_NEXT(t, all);
		if (t->leaving)
			continue;
		if (t->secure != link__secure_id(c) ||
		    (named && !link__is_current(c->slot, &t->to, &t->version)))
			leave(t);
		else if (takes_more(t, c) && endpoint_cmp(&t->whose, &c->whose) == 0)
			return t;
	}
	return NULL;
}

/* An idle trunk that this request cannot use, because it is for another client, gives way. */
static bool find_seat(const struct link_call *c)
{
	struct trunk *t;

	if (link__find_seat(c->slot, c->wish->pool->limits.connections))
		return true;
	TAILQ_FOREACH(t, &c->slot->trunks, all)
	{
		if (!t->n_links && !t->leaving) {
			leave(t); /* its seat is free as soon as it has ended */
			break;
		}
	}
	return false;
}

static struct link *make_link(const struct link_call *c)
{
	struct link *l = c->worker->spare_links;

	if (l)
		c->worker->spare_links = TAILQ_NEXT(l, kept);
	else
		l = mem_alloc(sizeof(*l));
	*l = (struct link){
		.worker = c->worker, .slot = c->slot, .id = c->server->id, .whose = c->whose
	};
	stream_init(&l->stream, c->worker->loop, TASK_ORDINARY, &link__events);
	return l;
}

static struct link *join(struct trunk *t, const struct link_call *c)
{
	const struct l7_limits *limits = &c->wish->pool->limits;
	struct link *l = make_link(c);

	l->trunk = t;
	l->opened = t->opened;
	l->secure = t->secure;
	l->strand.want = STREAM_READ;
	if (!t->n_links++)
		c->slot->n_idle--;
	t->idle_time = limits->idle ? loop_seconds(limits->idle_time) : 0;
	TAILQ_INSERT_TAIL(&t->waiting, l, kept);
	if (t->open) {
		stop_waiting(t, l);
		l->served = 1;
	}
	c->slot->active++;
	link__show(c->slot);
	return l;
}

struct link *trunk_take(const struct link_call *c)
{
	struct slot *slot = c->slot;
	struct trunk *t;
	struct link *l = NULL;

	if (!c->wish->fresh && slot->n_kept) /* of a server that speaks HTTP/1.1 */
		l = link__find_kept(c);
	if (l) {
		link__use(l);
		return l;
	}
	t = find_trunk(c);
	if (!t && find_seat(c))
		t = open_trunk(c);
	return t ? join(t, c) : NULL;
}

void trunk_release(struct link *l, bool whole)
{
	struct worker *w = l->worker;
	struct trunk *t = l->trunk;
	struct slot *slot = t->slot;

	if (t->conn)
		link__keep_session(l->slot, h2_conn_stream(t->conn), t->secure);
	if (!l->strand.open)
		TAILQ_REMOVE(&t->waiting, l, kept);
	else if (!l->strand.begun)
		t->n_promised--;
	strand_part(l, whole);
	l->slot->active--;
	t->served++;
	if (!--t->n_links) {
		t->since = ev_now(w->loop);
		if (slot)
			slot->n_idle++;
		if (!t->idle_time)
			leave(t);
	}
	link__show(l->slot);
	if (slot)
		call_waiting(slot);
	stream_end(&l->stream);
	TAILQ_NEXT(l, kept) = w->spare_links;
	w->spare_links = l;
}

bool trunk_is_spare(const struct slot *slot)
{
	const struct trunk *t;

	TAILQ_FOREACH(t, &slot->trunks, all)
	{
		if (TAILQ_EMPTY(&t->waiting) && has_room(t))
			return true;
	}
	return false;
}

/* One that is in use ends with its last request, and those that come wait like all others. */
bool trunk_yield(struct quota_side *side)
{
	struct slot *slot;
	struct trunk *t;

	TAILQ_FOREACH(slot, &side->slots, of_side)
	{
		TAILQ_FOREACH(t, &slot->trunks, all)
		{
			if (t->leaving || !t->open)
				continue;
			leave(t);
			return true;
		}
	}
	return false;
}

void trunk_sweep(struct slot *slot, ev_tstamp now)
{
	struct trunk *t, *next;

	for (t = TAILQ_FIRST(&slot->trunks); t; t = next) {
		next = TAILQ_NEXT(t, all);
		if (!t->n_links && !t->leaving && now - t->since >= t->idle_time)
			leave(t);
	}
}

void trunk_end_all(struct slot *slot)
{
	struct trunk *t, *next;

	for (t = TAILQ_FIRST(&slot->trunks); t; t = next) {
		next = TAILQ_NEXT(t, all);
		if (!t->leaving)
			leave(t);
	}
}

void trunk_detach(struct slot *slot)
{
	struct trunk *t;

	while ((t = TAILQ_FIRST(&slot->trunks))) {
		if (!t->conn) {
			free_trunk(t, L7_NOT_REACHED, NULL);
			continue;
		}
		uncount(t);
		leave(t);
	}
}

void trunk_clean_up(struct worker *w)
{
	h2_host_free(TAKE_PTR(w->trunks));
	while (w->spare_links) {
		struct link *l = w->spare_links;

		w->spare_links = TAILQ_NEXT(l, kept);
		free(l);
	}
	buf_free(&w->stage);
	free(TAKE_PTR(w->fields));
}
