/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: connections to servers.
 *
 * A link that is kept still waits for input: a server that ends it, or sends what nobody asked for,
 * is noticed at once, and the link is closed. Answers are read into the worker's scratch memory and
 * passed on from there, so a link holds memory only for the start of a head that is not complete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "lib/stream/proxy.h"
#include "src/router/internal.h"

#define LEAVE_TIME (1 * NSEC_PER_SEC)  /* for the server to end its side */
#define FLUSH_TIME (60 * NSEC_PER_SEC) /* to take what is queued, too */

/* Other threads read them in the statistics. */
static void show(const struct slot *slot)
{
	stats_set(slot->stats, STATS_ACTIVE, slot->active);
	stats_set(slot->stats, STATS_OPEN, slot->n_open);
	stats_set(slot->stats, STATS_KEPT, slot->n_kept);
}

static void unkeep(struct link *l)
{
	TAILQ_REMOVE(&l->slot->kept, l, kept);
	l->slot->n_kept--;
	quota_unkeep(l->slot->side);
}

void link_free(struct link *l)
{
	struct seats *seats = l->leaving ? NULL : l->slot->seats;

	if (l->leaving)
		TAILQ_REMOVE(&l->worker->leaving, l, kept);
	else if (l->x || l->mirror)
		l->slot->active--;
	else
		unkeep(l);
	l->slot->n_open--;
	show(l->slot);
	count(&l->worker->counters.links, -1);
	buffers_give(&l->worker->buffers, l->in);
	stream_end(&l->stream);
	free(l);
	if (seats)
		seats_close(seats);
}

void link_limit(struct link *l, int64_t ns)
{
	if (!ns && !l->limited)
		return;
	stream_set_deadline(&l->stream, ns);
	l->limited = ns != 0;
}

/* ---- input ---- */

/* Keeps what was not used: the start of a head. */
static void hold(struct link *l, const char *p, size_t n)
{
	if (!l->in)
		l->in = buffers_take(&l->worker->buffers);
	memmove(l->in->p, p, n);
	l->in->n = n;
}

static void take(struct link *l, char *p, size_t n)
{
	struct worker *w = l->worker;
	struct buffer *in = TAKE_PTR(l->in); /* the link may be given back or freed */
	ssize_t used = l->x ? exchange_pull(l->x, p, n) : mirror_pull(l->mirror, p, n);

	if (used < 0 || (size_t)used == n) {
		buffers_give(&w->buffers, in);
		return;
	}
	l->in = in;
	hold(l, p + used, n - (size_t)used);
}

bool link_rescue(struct link *l)
{
	struct worker *w = l->worker;
	ssize_t n = l->in ? -EAGAIN : stream_read(&l->stream, w->scratch, sizeof(w->scratch));

	if (n <= 0)
		return false;
	take(l, w->scratch, (size_t)n);
	return true;
}

static void lose(struct link *l, int error)
{
	if (l->x)
		exchange_lost(l->x, error);
	else if (l->mirror)
		mirror_lost(l->mirror, error);
	else
		link_free(l);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct link *l = container_of(s, struct link, stream);
	struct worker *w = l->worker;
	size_t held = l->in ? l->in->n : 0;
	char *p = l->in ? l->in->p : w->scratch;
	size_t size = l->in ? BUFFER_SIZE : sizeof(w->scratch);
	ssize_t n;

	if ((what & STREAM_WRITE) && l->x)
		exchange_flushed(l->x);
	if (!(what & STREAM_READ))
		return;
	n = stream_read(s, p + held, size - held);
	if (n == -EAGAIN)
		return;
	if (n <= 0)
		lose(l, (int)n);
	else if (l->x || l->mirror)
		take(l, p, held + (size_t)n);
	else
		link_free(l);
}

static void on_opened(struct stream *s)
{
	struct link *l = container_of(s, struct link, stream);

	stream_want(s, STREAM_READ);
	if (l->x)
		exchange_connected(l->x);
	else
		mirror_connected(l->mirror);
}

static void on_closed(struct stream *s, int error)
{
	struct link *l = container_of(s, struct link, stream);

	lose(l, error);
}

static void on_expired(struct stream *s)
{
	struct link *l = container_of(s, struct link, stream);

	l->limited = false;
	if (l->x)
		exchange_late(l->x);
	else if (l->mirror)
		mirror_lost(l->mirror, -ETIMEDOUT);
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

/* ---- names ---- */

/* Copies the addresses of the server's name if they have changed. Each thread begins at any. */
static void look_at_name(struct worker *w, struct slot *slot, struct server *server)
{
	struct addresses *a = slot->addresses;

	if (a && a->version == atomic_load_explicit(&server->version, memory_order_relaxed))
		return;
	if (!a) {
		a = slot->addresses = mem_zalloc(sizeof(*a));
		a->turn = random_next(&w->random);
	}
	a->n = server_get_addresses(server, a->list, &a->version);
}

static bool is_current(const struct link *l)
{
	const struct addresses *a = l->slot->addresses;

	for (size_t i = 0; i < a->n; i++)
		if (addr_cmp(&a->list[i], &l->to) == 0)
			return true;
	return false;
}

static struct endpoint next_address(struct slot *slot, const struct server *server)
{
	struct addresses *a = slot->addresses;

	return (struct endpoint){ a->list[a->turn++ % a->n], server->port };
}

/* ---- the door ---- */

/* The port of a client behind a trusted proxy is not known. */
static struct endpoint source_of(const struct client *c)
{
	if (addr_cmp(&c->from, &c->source.addr) == 0)
		return c->source;
	return (struct endpoint){ .addr = c->from };
}

/*
 * The newest kept link for the client: a connection with a PROXY header serves only the client that
 * is named there. Links to addresses that the name no longer has are closed.
 */
static struct link *find_kept(struct slot *slot, const struct endpoint *whose, bool named)
{
	struct link *l = TAILQ_FIRST(&slot->kept), *next;

	for (; l; l = next) {
		next = TAILQ_NEXT(l, kept);
		if (named && !is_current(l))
			link_free(l);
		else if (endpoint_cmp(&l->whose, whose) == 0)
			break;
	}
	return l;
}

/* Where the client came to, if that is of the same family. */
static void send_proxy(struct link *l, const struct client *c)
{
	struct stream_proxy header = { .version = 2,
				       .kind = STREAM_PROXY_IP,
				       .source = l->whose,
				       .destination = {
					       .addr = { .family = l->whose.addr.family } } };
	struct endpoint local;

	if (stream_local(&c->stream, &local) == 0 && local.addr.family == header.source.addr.family)
		header.destination = local;
	if (stream_send_proxy(&l->stream, &header) < 0)
		stream_fail(&l->stream, -EINVAL);
}

struct link *link_take(struct worker *w, struct server *server, const struct link_wish *wish)
{
	struct slot *slot = worker_slot(w, server);
	bool named = server_has_name(server);
	struct endpoint at = server->at;
	struct endpoint whose = { 0 };
	struct sockaddr_storage to;
	struct link *l;
	socklen_t len;

	if (named)
		look_at_name(w, slot, server);
	if (wish->pool->send_proxy)
		whose = source_of(wish->client);
	l = wish->fresh ? NULL : find_kept(slot, &whose, named);
	if (!l && !seats_open(slot->seats, wish->pool->limits.connections))
		return NULL;
	slot->active++;
	if (l) {
		unkeep(l);
		show(slot);
		return l;
	}
	l = mem_zalloc(sizeof(*l));
	l->worker = w;
	l->opened = ev_now(w->loop);
	l->slot = slot;
	slot->n_open++;
	show(slot);
	count(&w->counters.links, 1);
	if (named)
		at = next_address(slot, server);
	l->to = at.addr;
	len = endpoint_to_sockaddr(&at, &to);
	stream_init(&l->stream, w->loop, TASK_ORDINARY, &events);
	stream_connect(&l->stream, (const struct sockaddr *)&to, len);
	l->whose = whose;
	if (wish->pool->send_proxy)
		send_proxy(l, wish->client);
	return l;
}

void link_give(struct link *l, const struct l7_limits *limits)
{
	bool keep = limits && limits->idle && !l->in && !stream_unsent(&l->stream);
	struct slot *slot = l->slot;

	link_limit(l, 0);
	l->served++;
	slot->active--;
	l->x = NULL;
	l->mirror = NULL;
	TAILQ_INSERT_HEAD(&slot->kept, l, kept);
	slot->n_kept++;
	quota_keep(slot->side, keep && limits->connections);
	if (!keep) {
		link_free(l);
		return;
	}
	l->since = ev_now(l->worker->loop);
	l->idle_time = loop_seconds(limits->idle_time);
	stream_want(&l->stream, STREAM_READ);
	if (slot->n_kept > limits->idle)
		link_free(TAILQ_LAST(&slot->kept, links));
	else
		show(slot);
}

bool link_yield(struct quota_side *side)
{
	struct slot *slot;

	TAILQ_FOREACH(slot, &side->slots, of_side)
	{
		if (TAILQ_EMPTY(&slot->kept))
			continue;
		link_free(TAILQ_LAST(&slot->kept, links));
		return true;
	}
	return false;
}

/* It has ended on both sides but for what is queued, so it does not count any more. */
void link_leave(struct link *l)
{
	seats_close(l->slot->seats);
	l->slot->active--;
	l->x = NULL;
	l->leaving = true;
	l->limited = false;
	TAILQ_INSERT_TAIL(&l->worker->leaving, l, kept);
	show(l->slot);
	stream_linger(&l->stream, stream_unsent(&l->stream) ? FLUSH_TIME : LEAVE_TIME);
}

void link_sweep(struct slot *slot, ev_tstamp now)
{
	struct link *l;

	while ((l = TAILQ_LAST(&slot->kept, links)) && now - l->since >= l->idle_time)
		link_free(l);
}
