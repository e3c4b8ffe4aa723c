/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inquiry: clients are visited in the order of their age. Between two turns some may have gone, so
 * a thread goes on after the number of the last one. Connections that are in use are written with
 * their clients, kept ones after them, server by server.
 */
#include "src/router/inquiry.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/json/json.h"
#include "src/router/datagrams.h"
#include "src/router/relay.h"

#define SLICE 64 /* entries in one turn: about 50 us */

struct inquiry *inquiry_new(unsigned threads, size_t limit)
{
	struct inquiry *q = mem_zalloc(sizeof(*q) + threads * sizeof(q->parts[0]));

	q->limit = limit;
	q->n = threads;
	atomic_init(&q->left, threads);
	for (unsigned i = 0; i < threads; i++)
		q->parts[i].of = q;
	return q;
}

void inquiry_free(struct inquiry *q)
{
	for (unsigned i = 0; i < q->n; i++) {
		buf_free(&q->parts[i].text);
		vec_free(&q->parts[i].clients);
		vec_free(&q->parts[i].links);
		vec_free(&q->parts[i].sessions);
	}
	free(q);
}

bool inquiry_finish(struct inquiry_part *p)
{
	return atomic_fetch_sub_explicit(&p->of->left, 1, memory_order_acq_rel) == 1;
}

/* ---- members ---- */

static void add_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, ",\"%s\":", key);
	json_write_string(out, text, strlen(text));
}

static void begin(struct buf *out, const struct worker *w, const char *state, double since)
{
	char at[TIME_STRLEN];

	buf_printf(out, "{\"thread\":%u,\"state\":\"%s\",\"since\":\"%s\"", w->config.number, state,
		   time_format((int64_t)(since * 1e9), at));
}

static void end(struct buf *out, struct inquiry_list *list, size_t start, double since)
{
	buf_addc(out, '}');
	vec_push(list, ((struct inquiry_item){ since, start, out->n - start }));
}

/* ---- connections to servers ---- */

static const char *link_state(const struct link *l)
{
	if (l->leaving)
		return "closing";
	if (!l->x && !l->mirror && !l->relay)
		return "kept";
	return !link_is_open(l) ? "connecting" : l->mirror ? "copying" : "busy";
}

static void add_peer(struct buf *out, int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct endpoint at;
	char text[ENDPOINT_STRLEN];

	if (getpeername(fd, (struct sockaddr *)&sa, &len) == 0 &&
	    endpoint_from_sockaddr((const struct sockaddr *)&sa, &at) == 0)
		add_text(out, "server", endpoint_format(&at, text));
}

static void add_link(struct worker *w, struct inquiry_part *p, const struct link *l)
{
	struct buf *out = &p->text;
	size_t start = out->n;

	if (p->links.n >= p->of->limit)
		return;
	begin(out, w, link_state(l), l->opened);
	if (l->x && l->x->server)
		add_text(out, "server", l->x->server->authority);
	else
		add_peer(out, l->stream.fd);
	if (l->x && l->x->backend)
		add_text(out, "pool",
			 l->x->era->generation->pools[l->x->backend->pool].config->name);
	if (l->relay && l->relay->names.pool)
		add_text(out, "pool", l->relay->names.pool);
	buf_printf(out, ",\"requests\":%" PRIu64, l->served + (l->x || l->mirror || l->relay));
	end(out, &p->links, start, l->opened);
}

/* ---- connections of clients ---- */

static const char *client_state(const struct client *c)
{
	if (c->closing)
		return "closing";
	if (c->session && !c->is_stream)
		return c->session->n_streams ? "busy" : "idle";
	if (c->relay)
		return c->relay->connected ? "relay" : c->relay->wait_due ? "queued" : "connecting";
	if (!c->x)
		return c->in ? "reading" : "idle";
	if (c->x->wait_due)
		return "queued";
	if (c->x->tunnel)
		return "tunnel";
	return c->x->answering ? "answering" : "waiting";
}

static const char *listener_name(const struct client *c)
{
	const struct worker *w = c->worker;

	if (c->relay)
		return c->relay->names.listener;
	if (c->x && c->x->listener)
		return c->x->listener->name;
	if (!w->era || !c->port->rules)
		return "";
	return w->era->generation->config.listeners[c->port->rules->listeners[0]].name;
}

static void add_method(struct buf *out, const struct exchange *x)
{
	const struct str method = exchange__method(x);

	buf_add_lit(out, ",\"method\":");
	json_write_string(out, method.p, method.n);
}

static void add_request(struct buf *out, const struct exchange *x)
{
	const struct generation *g = x->era->generation;

	buf_printf(out, ",\"request\":{\"generation\":%" PRIu64 ",\"tries\":%u", g->number,
		   x->tries);
	add_method(out, x);
	if (x->target)
		add_text(out, "route", x->target->rule->name);
	if (x->backend)
		add_text(out, "pool", g->pools[x->backend->pool].config->name);
	if (x->server)
		add_text(out, "server", x->server->authority);
	buf_addc(out, '}');
}

/* Of a connection by HTTP/2. */
static void add_streams(struct buf *out, const struct session *s)
{
	const char *comma = "";
	const struct client *c;

	buf_add_lit(out, ",\"protocol\":\"HTTP/2.0\",\"streams\":[");
	TAILQ_FOREACH(c, &s->streams, all)
	{
		buf_printf(out, "%s{\"state\":\"%s\"", comma, client_state(c));
		if (c->x)
			add_request(out, c->x);
		buf_addc(out, '}');
		comma = ",";
	}
	buf_addc(out, ']');
}

static void add_links(struct worker *w, struct inquiry_part *p, const struct session *s)
{
	const struct client *c;

	TAILQ_FOREACH(c, &s->streams, all)
	{
		if (c->x && c->x->link)
			add_link(w, p, c->x->link);
	}
}

static void add_relay(struct buf *out, const struct relay *r)
{
	const char *server = r->server ? r->server->authority : r->names.server;

	buf_printf(out, ",\"relay\":{\"generation\":%" PRIu64 ",\"tries\":%u", r->generation,
		   r->tries);
	if (r->names.stream)
		add_text(out, "stream", r->names.stream);
	if (r->sni)
		add_text(out, "sni", r->sni);
	if (r->names.pool)
		add_text(out, "pool", r->names.pool);
	if (server)
		add_text(out, "server", server);
	buf_addc(out, '}');
}

static void add_client(struct worker *w, struct inquiry_part *p, const struct client *c)
{
	struct buf *out = &p->text;
	size_t start = out->n;
	char peer[ENDPOINT_STRLEN];

	begin(out, w, client_state(c), c->opened);
	add_text(out, "peer", endpoint_format(&c->peer, peer));
	add_text(out, "listener", listener_name(c));
	buf_printf(out, ",\"requests\":%" PRIu32 ",\"received\":%" PRIu64 ",\"sent\":%" PRIu64,
		   c->requests, c->received, client_transport(c)->sent);
	if (c->x)
		add_request(out, c->x);
	if (c->session)
		add_streams(out, c->session);
	if (c->relay)
		add_relay(out, c->relay);
	end(out, &p->clients, start, c->opened);
	if (c->x && c->x->link)
		add_link(w, p, c->x->link);
	if (c->session)
		add_links(w, p, c->session);
	if (c->relay && c->relay->link)
		add_link(w, p, c->relay->link);
}

/* ---- sessions of datagrams ---- */

static const char *flow_listener(const struct worker *w, const struct flow *f)
{
	const struct generation_port *rules = f->port->rules;

	return rules ? w->era->generation->config.listeners[rules->listeners[0]].name : "";
}

static void add_flow(struct worker *w, struct inquiry_part *p, const struct flow *f)
{
	struct endpoint peer = udp_peer(&f->node.path);
	struct addr local = udp_local(&f->node.path);
	struct buf *out = &p->text;
	size_t start = out->n;
	char text[ENDPOINT_STRLEN], asked[ADDR_STRLEN];

	begin(out, w, f->unconfirmed ? "new" : "confirmed", f->opened);
	add_text(out, "peer", endpoint_format(&peer, text));
	if (addr_is_set(&local))
		add_text(out, "local", addr_format(&local, asked));
	add_text(out, "listener", flow_listener(w, f));
	add_text(out, "stream", f->stream);
	add_text(out, "pool", f->pool);
	add_text(out, "server", f->server_name);
	buf_printf(out,
		   ",\"received\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"datagrams_in\":%" PRIu64
		   ",\"datagrams_out\":%" PRIu64,
		   f->in, f->out, f->received, f->sent);
	end(out, &p->sessions, start, f->opened);
}

/* Returns true if no session is left. */
static bool look_at_flows(struct worker *w, struct inquiry_part *p)
{
	const struct flow *f;
	unsigned n = 0;

	if (!w->datagrams)
		return true;
	TAILQ_FOREACH(f, &w->datagrams->flows, all)
	{
		if (f->number <= p->flow)
			continue;
		if (p->sessions.n >= p->of->limit)
			break;
		if (n++ == SLICE)
			return false;
		add_flow(w, p, f);
		p->flow = f->number;
	}
	p->sessions.total = w->datagrams->n;
	return true;
}

/* ---- slices ---- */

/* Returns true if no client is left. */
static bool look_at_clients(struct worker *w, struct inquiry_part *p)
{
	const struct client *c;
	unsigned n = 0;

	TAILQ_FOREACH(c, &w->clients, all)
	{
		if (c->number <= p->client)
			continue;
		if (p->clients.n >= p->of->limit)
			return true;
		if (n++ == SLICE)
			return false;
		add_client(w, p, c);
		p->client = c->number;
	}
	return true;
}

static bool look_at_slots(struct worker *w, struct inquiry_part *p)
{
	size_t before = p->links.n;
	const struct link *l;

	for (; p->slot < w->n_slots && p->links.n < p->of->limit; p->slot++) {
		if (p->links.n - before >= SLICE)
			return false;
		if (!w->slots[p->slot])
			continue;
		TAILQ_FOREACH(l, &w->slots[p->slot]->kept, kept)
		{
			add_link(w, p, l);
		}
	}
	return true;
}

bool inquiry_look(struct worker *w, struct inquiry_part *p)
{
	const struct mirror *m = NULL;
	const struct link *l;

	if (!look_at_clients(w, p) || !look_at_slots(w, p) || !look_at_flows(w, p))
		return false;
	TAILQ_FOREACH(l, &w->leaving, kept)
	{
		add_link(w, p, l);
	}
	while ((l = mirror_next(w, &m)))
		add_link(w, p, l);
	p->clients.total = w->n_clients;
	p->links.total = atomic_load_explicit(&w->counters.links, memory_order_relaxed);
	return true;
}
