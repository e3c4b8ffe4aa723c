/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: TLSRoutes, TCPRoutes and UDPRoutes of one listener.
 *
 * The text of a stream is made with its route, so that one changed route costs the work of one.
 *
 * All routes are attached, but a host name, or a listener without host names, is served by one of
 * them: the oldest. So the streams of a listener are made together.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/gateway/kinds.h"
#include "src/gateway/model.h"

void gw__slot_at(struct gw *g, const struct gw__attachment *a)
{
	struct gw__node *n = gw__need(g, GW__LISTENER, a->listener->name);
	struct gw__slot *s = n->result;

	if (s)
		return;
	s = mem_zalloc(sizeof(*s));
	s->gateway = mem_strdup(a->gateway->key);
	s->set = a->listener->set ? mem_strdup(a->listener->set) : NULL;
	n->result = s;
}

void gw__slot_free(struct gw__slot *s)
{
	free(s->gateway);
	free(s->set);
	for (size_t i = 0; i < s->entries.n; i++)
		free(s->entries.items[i]);
	vec_free(&s->entries);
	for (size_t i = 0; i < s->listeners.n; i++)
		free(s->listeners.items[i]);
	vec_free(&s->listeners);
	free(s);
}

static int by_age(const void *a, const void *b)
{
	const struct gw__node *m = *(struct gw__node *const *)a, *n = *(struct gw__node *const *)b;
	const struct gw_route *x = (const void *)m->object, *y = (const void *)n->object;
	int diff = strcmp(gw__text(x->created), gw__text(y->created));

	return diff ? diff : strcmp(m->key, n->key);
}

static struct doc_text word(const char *text)
{
	return (struct doc_text){ .set = true, .v = text };
}

/* ---- one stream ---- */

struct making {
	struct gw *g;
	const struct gw__listener *listener;
	const struct gw__node *gateway;
	struct map hosts; /* that an older route has */
	bool all;	  /* an older route has every host */
	struct gw__names entries, listeners;
};

/* Host names have no case. */
static const char *lower(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);

	for (char *p = copy; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return copy;
}

/* The hosts that no older route has. False: none is left. */
static bool take_hosts(struct making *mk, const struct gw_route *r, struct doc_words *ret)
{
	struct doc_text *items = arena_array_of(mk->g->scratch, r->hostnames.n, struct doc_text);
	size_t n = 0;

	*ret = (struct doc_words){ 0 };
	if (!r->hostnames.n) {
		if (mk->all)
			return false;
		mk->all = true;
		return true;
	}
	for (size_t i = 0; i < r->hostnames.n; i++) {
		const char *host = lower(mk->g->scratch, k8s_string_at(&r->hostnames, i));

		if (map_get(&mk->hosts, host))
			continue;
		map_put(&mk->hosts, host, (void *)(uintptr_t)host);
		items[n++] = word(host);
	}
	*ret = (struct doc_words){ .set = true, .items = items, .n = n };
	return n;
}

/* The backends of the only rule that these kinds of routes have. */
static size_t make_backends(struct gw *g, const struct gw__consumer *c, struct l7_doc_backend *list,
			    struct l7_doc_pool *pools, size_t *n_pools)
{
	static const struct l7_doc_upstream none[1];
	const struct gw_route *object = (const void *)c->node->object;
	const struct gw_rule *rule = object->rules.items;
	const struct gw_backend *from = rule->backends.items;

	for (size_t i = 0; i < rule->backends.n; i++) {
		const char *pool = gw__resolve(g, c, &from[i].ref);
		bool known = false;

		list[i].weight = (struct doc_int){ .set = true, .v = from[i].weight };
		if (!pool) {
			list[i].invalid = (struct doc_bool){ .set = true, .v = true };
			continue;
		}
		list[i].pool = word(pool);
		for (size_t j = 0; j < *n_pools; j++)
			known |= strcmp(pools[j].name.v, pool) == 0;
		if (!known)
			pools[(*n_pools)++] =
				(struct l7_doc_pool){ .name = word(pool), .upstreams = none };
	}
	return rule->backends.n;
}

/*
 * The stream is checked alone, and the rules ask its listener for no more than this. The real
 * listener is an entry of its own.
 */
static void describe_listener(const struct gw__listener *from, const char *name,
			      struct l7_doc_listener *l)
{
	*l = (struct l7_doc_listener){ .name = word(name), .address = word("127.0.0.1:1") };
	l->protocol = word(from->protocol == GW__UDP ? "udp" : "tcp");
	if (from->protocol == GW__TLS)
		l->tls = (struct l7_doc_listener_tls){ .set = true, .mode = word("passthrough") };
}

static const char *stream_name(struct gw *g, const struct gw__node *route, const char *listener)
{
	return gw__short_name(g->scratch,
			      arena_printf(g->scratch, "%s/%s@%s", gw_kinds[route->kind].kind,
					   route->key, listener));
}

/* Appends the text of a stream. Returns NULL, or what is wrong with it. */
static const char *render(struct gw *g, const struct gw__consumer *c, const struct gw__listener *l,
			  size_t address, const struct doc_words *hosts, struct buf *out)
{
	const struct gw_route *object = (const void *)c->node->object;
	const struct gw_rule *rule = object->rules.items;
	size_t most = rule->backends.n + 1, n_pools = 0;
	struct l7_doc_backend *backends = arena_array_of(g->scratch, most, struct l7_doc_backend);
	struct l7_doc_pool *pools = arena_array_of(g->scratch, most, struct l7_doc_pool);
	const struct doc_text listener = word(l->names[address]);
	struct l7_doc_stream s = { .hosts = *hosts, .backends = backends };
	struct l7_doc doc = { .streams = &s, .n_streams = 1, .n_listeners = 1, .pools = pools };
	struct l7_doc_listener described;

	s.name = word(stream_name(g, c->node, listener.v));
	s.listeners = (struct doc_words){ .set = true, .items = &listener, .n = 1 };
	s.n_backends = make_backends(g, c, backends, pools, &n_pools);
	describe_listener(l, listener.v, &described);
	doc.listeners = &described;
	doc.n_pools = n_pools;
	return gw__render(g, &doc, GW_STREAMS, out);
}

static struct gw__consumer consumer_of(struct gw__node *route, struct gw__route *result,
				       const struct gw__node *gateway, const struct gw__listener *l)
{
	bool shows;

	assert(gateway);
	shows = gw__view(gateway)->has_client && !l->passthrough;
	return (struct gw__consumer){ .node = route,
				      .result = result,
				      .gateway = shows ? gateway->key : NULL,
				      .raw = l->passthrough };
}

/* ---- the streams of a route, as if it had all of its hosts ---- */

static void make_stream(struct gw *g, const struct gw__consumer *c, const struct gw__listener *l,
			size_t address)
{
	const struct gw_route *object = (const void *)c->node->object;
	struct doc_text *items = arena_array_of(g->scratch, object->hostnames.n, struct doc_text);
	struct doc_words hosts = { .set = object->hostnames.n, .items = items };
	_cleanup_(buf_free) struct buf text = { 0 };
	const char *why;

	for (size_t i = 0; i < object->hostnames.n; i++) {
		const char *host = lower(g->scratch, k8s_string_at(&object->hostnames, i));
		bool twice = false;

		for (size_t k = 0; k < hosts.n; k++)
			twice |= strcmp(items[k].v, host) == 0;
		if (!twice)
			items[hosts.n++] = word(host);
	}
	why = render(g, c, l, address, &hosts, &text);
	if (why)
		gw__fail(&c->result->supported, "UnsupportedValue", "%s", why);
	else
		vec_push(&c->result->streams,
			 (struct gw__stream){ .listener = mem_strdup(l->names[address]),
					      .text = mem_strdup(buf_cstr(&text)) });
}

void gw__render_streams(struct gw *g, struct gw__node *n, struct gw__route *r,
			const struct gw__attached *attached)
{
	const struct gw_route *object = (const void *)n->object;

	for (size_t i = 0; i < attached->n && object->rules.n; i++) {
		const struct gw__attachment *a = &attached->items[i];
		const struct gw__consumer c = consumer_of(n, r, a->gateway, a->listener);

		for (size_t k = 0; a->listener->served && k < a->listener->n_names; k++)
			make_stream(g, &c, a->listener, k);
	}
}

/* ---- all of a listener ---- */

static const struct gw__listener *find_listener(const struct gw__view *v, const char *name)
{
	for (size_t i = 0; v && i < v->n_listeners; i++)
		if (strcmp(v->listeners[i].name, name) == 0)
			return &v->listeners[i];
	return NULL;
}

static const char *text_of(const struct gw__route *r, const char *listener)
{
	for (size_t i = 0; r && i < r->streams.n; i++)
		if (strcmp(r->streams.items[i].listener, listener) == 0)
			return r->streams.items[i].text;
	return NULL;
}

/* A route that has all of its hosts has its text already; one that lost some gets another text. */
static void put_stream(struct making *mk, struct gw__node *n, const struct doc_words *hosts,
		       size_t address)
{
	const struct gw_route *object = (const void *)n->object;
	const char *listener = mk->listener->names[address], *text = text_of(n->result, listener);
	const char *name = stream_name(mk->g, n, listener);
	struct gw__route ignored = { .resolved.ok = false };
	const struct gw__consumer c = consumer_of(n, &ignored, mk->gateway, mk->listener);
	_cleanup_(buf_free) struct buf other = { 0 };

	if (text && hosts->n != object->hostnames.n)
		text = render(mk->g, &c, mk->listener, address, hosts, &other) ? NULL
									       : buf_cstr(&other);
	for (size_t i = 0; i < ignored.services.n; i++)
		free(ignored.services.items[i]);
	vec_free(&ignored.services);
	if (!text)
		return;
	vec_push(&mk->entries, mem_strdup(name));
	gw__put_entry(mk->g, &(struct gw_entry){ .kind = GW_STREAMS,
						 .name = name,
						 .order = "",
						 .text = str_of(text) });
}

static void make_streams(struct making *mk, struct gw__node *n)
{
	struct gw__node **routes = arena_copy(mk->g->scratch, n->members.items,
					      n->members.n * sizeof(struct gw__node *));

	if (n->members.n)
		qsort(routes, n->members.n, sizeof(routes[0]), by_age);
	for (size_t i = 0; i < n->members.n; i++) {
		const struct gw_route *object = (const void *)routes[i]->object;
		struct doc_words hosts;

		if (!object || !object->rules.n || !take_hosts(mk, object, &hosts))
			continue;
		for (size_t a = 0; a < mk->listener->n_names; a++)
			put_stream(mk, routes[i], &hosts, a);
	}
}

/* Drops the entries that are not made any more; the old list then has the new names. */
static void replace_entries(struct gw *g, enum gw_entry_kind kind, struct gw__names *old,
			    struct gw__names *new)
{
	struct map made = { 0 };

	for (size_t i = 0; i < new->n; i++)
		map_put(&made, new->items[i], new->items[i]);
	for (size_t i = 0; i < old->n; i++) {
		if (!map_get(&made, old->items[i]))
			gw__drop_entry(g, kind, old->items[i]);
		free(old->items[i]);
	}
	map_free(&made);
	vec_free(old);
	*old = *new;
	*new = (struct gw__names){ 0 };
}

/* The listeners are open while they have a stream: a client is refused at once without one. */
static void put_listeners(struct making *mk)
{
	for (size_t i = 0; mk->entries.n && i < mk->listener->n_names; i++) {
		const char *name = mk->listener->names[i], *text = mk->listener->texts[i];

		if (!text)
			continue;
		vec_push(&mk->listeners, mem_strdup(name));
		gw__put_entry(mk->g, &(struct gw_entry){ .kind = GW_LISTENERS,
							 .name = name,
							 .order = "",
							 .text = str_of(text) });
	}
}

void gw__make_streams(struct gw *g, struct gw__node *n)
{
	struct gw__slot *s = n->result;
	struct gw__node *gateway, *owner;
	const struct gw__view *v;
	struct making mk = { .g = g };

	if (!s)
		return;
	gateway = gw__need(g, GW_GATEWAY, s->gateway);
	v = gw__view(gateway);
	owner = s->set ? gw__find(g, GW_LISTENER_SET, s->set) : gateway;
	if (owner && owner->object)
		gw__status_due(g, owner);
	mk.listener = find_listener(v, n->key);
	if (mk.listener && mk.listener->served && mk.listener->protocol >= GW__TLS) {
		mk.gateway = gateway;
		make_streams(&mk, n);
		put_listeners(&mk);
	}
	replace_entries(g, GW_STREAMS, &s->entries, &mk.entries);
	replace_entries(g, GW_LISTENERS, &s->listeners, &mk.listeners);
	map_free(&mk.hosts);
	if (!n->members.n)
		gw__free_result(g, n);
}
