/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: nodes, the edges between them, and the queue of stale results.
 *
 * A node exists while something refers to it: it is an object of the cluster, has users, has
 * members, or has a result. So the memory of the model is bounded by the objects and what they
 * refer to.
 *
 * The edges of a result are replaced when it is made again: the new ones are added before the old
 * ones are dropped, so that what both have in common never looks unused.
 */
#include "src/gateway/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/gateway/kinds.h"

/* How results are made; kinds without a function have none. */
static const struct {
	unsigned level;
	void (*make)(struct gw *g, struct gw__node *n);
} results[GW__NODE_KINDS] = {
	[GW_GATEWAY_CLASS] = { 0, gw__make_class },	  [GW_GATEWAY] = { 1, gw__make_gateway },
	[GW_HTTP_ROUTE] = { 2, gw__make_route },	  [GW_GRPC_ROUTE] = { 2, gw__make_route },
	[GW_TLS_ROUTE] = { 2, gw__make_route },		  [GW_TCP_ROUTE] = { 2, gw__make_route },
	[GW_UDP_ROUTE] = { 2, gw__make_route },		  [GW__LISTENER] = { 3, gw__make_streams },
	[GW_BACKEND_TLS_POLICY] = { 3, gw__make_policy }, [GW__POOL] = { 4, gw__make_pool },
};

/* ---- nodes ---- */

const char *gw__key(struct arena *arena, const char *namespace, const char *name)
{
	return arena_printf(arena, "%s/%s", namespace, name);
}

static struct gw__node *node_at(struct gw *g, unsigned kind, const char *key)
{
	struct gw__node *n = map_get(&g->nodes[kind], key);
	size_t size = strlen(key) + 1;

	if (n)
		return n;
	n = mem_zalloc(sizeof(*n) + size);
	memcpy(n + 1, key, size);
	n->kind = kind;
	n->key = (const char *)(n + 1);
	map_put(&g->nodes[kind], n->key, n);
	return n;
}

struct gw__node *gw__find(const struct gw *g, unsigned kind, const char *key)
{
	return map_get(&g->nodes[kind], key);
}

static void node_free(struct gw__node *n)
{
	vec_free(&n->members);
	free(n);
}

void gw__release(struct gw *g, struct gw__node *n)
{
	if (n->object || n->users || n->needs || n->members.n || n->result || n->stale ||
	    n->status_due)
		return;
	map_remove(&g->nodes[n->kind], n->key);
	node_free(n);
}

/* ---- edges ---- */

/* Tells the program which Secrets and ConfigMaps are needed. */
static void tell_wanted(struct gw *g, const struct gw__node *n, bool wanted)
{
	const char *slash = strchr(n->key, '/');
	char namespace[GW__KEY_MAX];

	if ((n->kind != GW_SECRET && n->kind != GW_CONFIG_MAP) || !g->settings.calls.wanted)
		return;
	snprintf(namespace, sizeof(namespace), "%.*s", (int)(slash - n->key), n->key);
	g->settings.calls.wanted((enum gw_kind)n->kind, namespace, slash + 1, wanted,
				 g->settings.calls.user);
}

struct gw__node *gw__need(struct gw *g, unsigned kind, const char *key)
{
	struct gw__node *n = node_at(g, kind, key), *user = g->current;
	struct gw__edge *e;

	if (!user || n == user || n->stamp == g->stamp)
		return n;
	n->stamp = g->stamp;
	if (!n->users)
		tell_wanted(g, n, true);
	e = mem_zalloc(sizeof(*e));
	*e = (struct gw__edge){ .user = user, .need = n, .next = user->needs, .sibling = n->users };
	if (n->users)
		n->users->previous = e;
	n->users = e;
	user->needs = e;
	return n;
}

struct gw__node *gw__need_object(struct gw *g, unsigned kind, const char *namespace,
				 const char *name)
{
	return gw__need(g, kind, gw__key(g->scratch, namespace, name));
}

static void drop_edge(struct gw *g, struct gw__edge *e)
{
	struct gw__node *n = e->need;

	if (e->previous)
		e->previous->sibling = e->sibling;
	else
		n->users = e->sibling;
	if (e->sibling)
		e->sibling->previous = e->previous;
	free(e);
	if (n->users)
		return;
	tell_wanted(g, n, false);
	if (n->kind == GW__POOL)
		gw__make_stale(g, n);
	gw__release(g, n);
}

static void drop_edges(struct gw *g, struct gw__edge *list)
{
	while (list) {
		struct gw__edge *next = list->next;

		drop_edge(g, list);
		list = next;
	}
}

/* ---- what is stale ---- */

static void push(struct gw__queue *q, struct gw__node *n, struct gw__node **next)
{
	*next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = n;
	q->last = next;
}

void gw__make_stale(struct gw *g, struct gw__node *n)
{
	if (n->stale)
		return;
	n->stale = true;
	g->n_stale++;
	push(&g->stale[results[n->kind].level], n, &n->next_stale);
}

void gw__touch_users(struct gw *g, struct gw__node *n)
{
	for (struct gw__edge *e = n->users; e; e = e->sibling)
		gw__make_stale(g, e->user);
}

void gw__status_due(struct gw *g, struct gw__node *n)
{
	if (n->status_due)
		return;
	n->status_due = true;
	push(&g->statuses, n, &n->next_status);
}

struct gw__node *gw__next_status(struct gw *g)
{
	struct gw__node *n = g->statuses.first;

	if (n) {
		g->statuses.first = n->next_status;
		n->status_due = false;
	}
	return n;
}

static struct gw__node *next_stale(struct gw *g)
{
	for (size_t i = 0; i < GW__LEVELS; i++) {
		struct gw__node *n = g->stale[i].first;

		if (!n)
			continue;
		g->stale[i].first = n->next_stale;
		n->stale = false;
		g->n_stale--;
		return n;
	}
	return NULL;
}

static void make(struct gw *g, struct gw__node *n)
{
	struct gw__edge *old = n->needs;

	n->needs = NULL;
	g->current = n;
	g->stamp++;
	arena_reset(g->scratch);
	results[n->kind].make(g, n);
	g->current = NULL;
	drop_edges(g, old);
	gw__release(g, n);
}

size_t gw_work(struct gw *g, size_t most)
{
	struct gw__node *n;

	while (most-- && (n = next_stale(g)))
		make(g, n);
	return g->n_stale;
}

/* ---- lists ---- */

void gw__join(struct gw *g, unsigned kind, const char *key, struct gw__node *member)
{
	struct gw__node *n = node_at(g, kind, key);

	vec_push(&n->members, member);
	gw__touch_users(g, n);
	if (results[kind].make)
		gw__make_stale(g, n);
}

void gw__leave(struct gw *g, unsigned kind, const char *key, struct gw__node *member)
{
	struct gw__node *n = gw__find(g, kind, key);

	for (size_t i = 0; n && i < n->members.n; i++) {
		if (n->members.items[i] != member)
			continue;
		n->members.items[i] = n->members.items[--n->members.n];
		gw__touch_users(g, n);
		if (results[kind].make)
			gw__make_stale(g, n);
		gw__release(g, n);
		return;
	}
}

typedef void (*list_fn)(struct gw *g, unsigned kind, const char *key, struct gw__node *member);

static void list_slice(struct gw *g, const struct k8s_object *o, struct gw__node *n, list_fn fn)
{
	const char *service = k8s_map_get(&((const struct gw_slice *)o)->labels, GW_SERVICE_LABEL);
	char key[GW__KEY_MAX];

	if (!service)
		return;
	snprintf(key, sizeof(key), "%s/%s", o->namespace, service);
	fn(g, GW__SLICES, key, n);
}

static void list_grant(struct gw *g, const struct k8s_object *o, struct gw__node *n, list_fn fn)
{
	fn(g, GW__GRANTS, o->namespace, n);
}

static void list_set(struct gw *g, const struct k8s_object *o, struct gw__node *n, list_fn fn)
{
	const struct gw_ref *parent = &((const struct gw_listener_set *)o)->parent;
	char key[GW__KEY_MAX];

	snprintf(key, sizeof(key), "%s/%s", gw__or(parent->namespace, o->namespace),
		 gw__text(parent->name));
	fn(g, GW__SETS, key, n);
}

static void list_policy(struct gw *g, const struct k8s_object *o, struct gw__node *n, list_fn fn)
{
	const struct k8s_list *list = &((const struct gw_policy *)o)->targets;
	const struct gw_ref *targets = list->items;
	char key[GW__KEY_MAX];

	for (size_t i = 0; i < list->n; i++) {
		snprintf(key, sizeof(key), "%s/%s", o->namespace, gw__text(targets[i].name));
		fn(g, GW__POLICIES, key, n);
	}
}

/* The lists in which the objects of a kind are. */
static void (*const lists[GW_KINDS])(struct gw *g, const struct k8s_object *o, struct gw__node *n,
				     list_fn fn) = {
	[GW_ENDPOINT_SLICE] = list_slice,
	[GW_REFERENCE_GRANT] = list_grant,
	[GW_LISTENER_SET] = list_set,
	[GW_BACKEND_TLS_POLICY] = list_policy,
};

/* ---- facts ---- */

/* The API server counts changes of everything but the status in the generation. */
static bool only_status(enum gw_kind kind, const struct k8s_object *before,
			const struct k8s_object *after)
{
	return gw_kinds[kind].has_status && before && after && before->generation > 0 &&
	       before->generation == after->generation && strcmp(before->uid, after->uid) == 0 &&
	       before->deleting == after->deleting;
}

void gw_changed(struct gw *g, enum gw_kind kind, const struct k8s_object *before,
		const struct k8s_object *after)
{
	const struct k8s_object *any = after ? after : before;
	struct gw__node *n;
	char key[GW__KEY_MAX];

	assert(any);
	snprintf(key, sizeof(key), "%s/%s", any->namespace, any->name);
	n = node_at(g, kind, key);
	n->object = after;
	if (gw_kinds[kind].has_status && after)
		gw__status_due(g, n);
	if (only_status(kind, before, after))
		return;
	if (lists[kind] && before)
		lists[kind](g, before, n, gw__leave);
	if (lists[kind] && after)
		lists[kind](g, after, n, gw__join);
	if (results[kind].make)
		gw__make_stale(g, n);
	else
		gw__touch_users(g, n);
	gw__release(g, n);
}

/* ---- verdicts ---- */

void gw__fail(struct gw__verdict *v, const char *reason, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	if (!v->ok)
		return;
	v->ok = false;
	v->reason = reason;
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	v->message = mem_strdup(buf_cstr(&text));
	buf_free(&text);
}

void gw__verdict_free(struct gw__verdict *v)
{
	free(v->message);
	v->message = NULL;
}

/* ---- the translator ---- */

struct gw *gw_new(const struct gw_settings *settings)
{
	struct gw *g = mem_zalloc(sizeof(*g));

	assert(settings->calls.regex.compile && settings->calls.check_pair &&
	       settings->calls.check_ca);
	g->settings = *settings;
	if (!g->settings.controller)
		g->settings.controller = GW_CONTROLLER;
	g->scratch = arena_new();
	return g;
}

static void free_edges(struct gw__edge *list)
{
	while (list) {
		struct gw__edge *next = list->next;

		free(list);
		list = next;
	}
}

static void free_nodes(struct gw *g, struct map *nodes)
{
	for (size_t i = 0; i < nodes->cap; i++) {
		struct gw__node *n = nodes->slots[i].value;

		if (!n)
			continue;
		gw__free_result(g, n);
		free_edges(n->needs);
		node_free(n);
	}
	map_free(nodes);
}

static void free_addresses(struct gw *g)
{
	for (size_t i = 0; i < g->addresses.cap; i++)
		free(g->addresses.slots[i].value);
	map_free(&g->addresses);
}

void gw_free(struct gw *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < GW__NODE_KINDS; i++)
		free_nodes(g, &g->nodes[i]);
	gw__free_entries(g);
	free_addresses(g);
	vec_free(&g->gateways);
	arena_free(g->scratch);
	free(g);
}
