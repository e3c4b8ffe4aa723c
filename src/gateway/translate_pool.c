/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: the servers of a port of a Service, and how they are spoken to.
 *
 * Servers come from all EndpointSlices of the Service, by the name of the port, since numbers may
 * differ between them. Only servers that are ready get requests; those that end may finish what
 * belongs to them by persistence. If no server is ready, those that still serve are used: a late
 * answer is better than none.
 *
 * The servers and the rest are made apart, so that a change of endpoints is told as such.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "src/gateway/model.h"

/* ---- servers ---- */

enum use { NO_USE, DRAIN, USE };

struct server {
	struct endpoint at;
	enum use use;
};

static int by_address(const void *a, const void *b)
{
	const struct server *x = a, *y = b;

	return endpoint_cmp(&x->at, &y->at);
}

/* What a condition says; an absent one is as Kubernetes says. */
static enum use use_of(const struct gw_endpoint *e)
{
	bool ready = e->ready != K8S_NO;
	bool serving = e->serving == K8S_UNSET ? ready : e->serving == K8S_YES;

	if (ready && e->terminating != K8S_YES)
		return USE;
	return serving ? DRAIN : NO_USE;
}

static int64_t port_of(const struct gw_slice *s, const char *name, bool udp)
{
	const struct gw_slice_port *list = s->ports.items;

	for (size_t i = 0; i < s->ports.n; i++)
		if (strcmp(gw__text(list[i].name), name) == 0 &&
		    strcmp(gw__or(list[i].protocol, "TCP"), udp ? "UDP" : "TCP") == 0)
			return list[i].port;
	return -1;
}

struct collected {
	struct server *items;
	size_t n, cap;
};

static void collect_slice(struct collected *to, const struct gw_slice *s, int64_t port)
{
	const struct gw_endpoint *list = s->endpoints.items;

	for (size_t i = 0; i < s->endpoints.n; i++) {
		enum use use = use_of(&list[i]);
		struct server server = { .at.port = (uint16_t)port, .use = use };

		for (size_t j = 0; use && j < list[i].addresses.n; j++)
			if (addr_parse(k8s_string_at(&list[i].addresses, j), &server.at.addr) == 0)
				vec_push(to, server);
	}
}

/* Sorted, each address once: the better of two entries counts. */
static void tidy(struct collected *c)
{
	bool ready = false;
	size_t n = 0;

	if (c->n)
		qsort(c->items, c->n, sizeof(c->items[0]), by_address);
	for (size_t i = 0; i < c->n; i++) {
		ready |= c->items[i].use == USE;
		if (!n || by_address(&c->items[n - 1], &c->items[i]) != 0)
			c->items[n++] = c->items[i];
		else if (c->items[i].use > c->items[n - 1].use)
			c->items[n - 1].use = c->items[i].use;
	}
	c->n = n < L7_SERVERS_MAX ? n : L7_SERVERS_MAX;
	for (size_t i = 0; i < c->n && !ready; i++)
		c->items[i].use = USE;
}

static void collect(struct gw *g, const struct gw__pool *p, const char *port_name,
		    struct collected *to)
{
	const struct gw__node *slices =
		gw__need(g, GW__SLICES, gw__key(g->scratch, p->namespace, p->service));

	for (size_t i = 0; i < slices->members.n; i++) {
		const struct gw_slice *s = (const void *)slices->members.items[i]->object;
		int64_t port = port_of(s, port_name, p->udp);

		if (port > 0 && port <= UINT16_MAX)
			collect_slice(to, s, port);
	}
	tidy(to);
}

/* The text is made here: an address and a number need no escapes. */
static void print_servers(const struct collected *c, struct buf *out)
{
	char text[ADDR_STRLEN];

	buf_add_lit(out, "{\"upstreams\":[");
	for (size_t i = 0; i < c->n; i++)
		buf_printf(out, "%s{\"host\":\"%s\",\"port\":%u%s}", i ? "," : "",
			   addr_format(&c->items[i].at.addr, text), c->items[i].at.port,
			   c->items[i].use == DRAIN ? ",\"drain\":true" : "");
	buf_add_lit(out, "]}");
}

/* ---- the rest ---- */

static struct doc_text word(const char *text)
{
	return (struct doc_text){ .set = true, .v = text };
}

static struct doc_words names_of(struct gw *g, const struct gw__policy *policy)
{
	struct doc_text *items = arena_array_of(g->scratch, policy->n_names, struct doc_text);

	for (size_t i = 0; i < policy->n_names; i++)
		items[i] = word(policy->names[i]);
	return (struct doc_words){ .set = policy->n_names, .items = items, .n = policy->n_names };
}

static void fill_tls(struct gw *g, const struct gw__pool *p, const struct gw__policy *policy,
		     struct l7_doc_pool *d)
{
	const struct gw__node *gateway = p->gateway ? gw__need(g, GW_GATEWAY, p->gateway) : NULL;
	const struct gw__view *v = gateway ? gw__view(gateway) : NULL;

	d->tls.set = true;
	d->tls.name = word(policy->hostname);
	if (policy->ca)
		d->tls.ca = word(policy->ca);
	d->tls.names = names_of(g, policy);
	if (v && v->client.certificate) {
		d->tls.certificate = word(v->client.certificate);
		d->tls.key = word(v->client.key);
	}
}

static const struct gw_service_port *service_port(struct gw *g, const struct gw__pool *p)
{
	const struct gw_service *s =
		(const void *)gw__need_object(g, GW_SERVICE, p->namespace, p->service)->object;
	const struct gw_service_port *list = s ? s->ports.items : NULL;

	for (size_t i = 0; s && i < s->ports.n; i++)
		if (list[i].port == p->port &&
		    strcmp(gw__or(list[i].protocol, "TCP"), p->udp ? "UDP" : "TCP") == 0)
			return &list[i];
	return NULL;
}

/*
 * A policy that is not valid leaves the pool without servers: the request must fail, and must not
 * be sent as plain text.
 */
static void put_pool(struct gw *g, struct gw__node *n, const struct gw_service_port *port)
{
	static const struct l7_doc_upstream none[1];
	const struct gw__pool *p = n->result;
	const struct gw__policy *policy =
		p->raw ? NULL : gw__policy_for(g, p, gw__text(port ? port->name : NULL));
	struct l7_doc_pool d = { .name = word(n->key), .upstreams = none };
	const struct l7_doc doc = { .pools = &d, .n_pools = 1 };
	_cleanup_(buf_free) struct buf text = { 0 }, endpoints = { 0 };
	struct collected servers = { 0 };
	const char *why = NULL;

	if (p->h2)
		d.protocol = word("h2");
	if (policy && policy->valid)
		fill_tls(g, p, policy, &d);
	why = gw__render(g, &doc, GW_POOLS, &text);
	if (why) {
		d = (struct l7_doc_pool){ .name = word(n->key), .upstreams = none };
		gw__render(g, &doc, GW_POOLS, &text);
	}
	if (port && !why && (!policy || policy->valid))
		collect(g, p, gw__text(port->name), &servers);
	print_servers(&servers, &endpoints);
	vec_free(&servers);
	gw__put_entry(g, &(struct gw_entry){ .kind = GW_POOLS,
					     .name = n->key,
					     .order = "",
					     .text = { text.p, text.n },
					     .endpoints = { endpoints.p, endpoints.n } });
}

void gw__make_pool(struct gw *g, struct gw__node *n)
{
	const struct gw__pool *p = n->result;

	if (!n->users) {
		gw__drop_entry(g, GW_POOLS, n->key);
		gw__free_result(g, n);
	} else if (p) {
		put_pool(g, n, service_port(g, p));
	}
}
