/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status: what the status of each object should be, compared with what it is.
 *
 * Lists of a status are written as a whole, so what belongs to others is written again as it was
 * found: conditions of other types, and parents and ancestors of other controllers. Of our own the
 * place in the list and the time of a condition whose status stays are kept. If nothing differs,
 * nothing is written.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"
#include "src/gateway/kinds.h"
#include "src/gateway/model.h"

#define PARENTS_MAX 32	 /* of a route */
#define ANCESTORS_MAX 16 /* of a policy */
#define WANTED_MAX 8	 /* conditions of one list */

struct writing {
	struct gw *g;
	struct buf *out;
	const char *now;
	int64_t generation;
	bool changed;
};

/* A condition to be. */
struct wanted {
	const char *type, *status, *reason, *message;
};

struct wanted_list {
	struct wanted items[WANTED_MAX];
	size_t n;
};

/* ---- JSON ---- */

static void add_string(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

static void next(struct buf *out)
{
	char last = out->n ? out->p[out->n - 1] : '[';

	if (last != '[' && last != '{')
		buf_addc(out, ',');
}

/* ---- conditions ---- */

static void want(struct wanted_list *list, const char *type, const char *good,
		 const struct gw__verdict *v)
{
	list->items[list->n++] = (struct wanted){ type, v->ok ? "True" : "False",
						  gw__or(v->reason, good), gw__text(v->message) };
}

static void want_as(struct wanted_list *list, const char *type, const char *status,
		    const char *reason, const char *message)
{
	list->items[list->n++] = (struct wanted){ type, status, reason, message };
}

static void add_condition(struct buf *out, const struct gw_condition *c)
{
	next(out);
	buf_addc(out, '{');
	add_string(out, "type", gw__text(c->type));
	buf_addc(out, ',');
	add_string(out, "status", gw__text(c->status));
	buf_addc(out, ',');
	add_string(out, "reason", gw__text(c->reason));
	buf_addc(out, ',');
	add_string(out, "message", gw__text(c->message));
	buf_addc(out, ',');
	add_string(out, "lastTransitionTime", gw__text(c->time));
	if (c->generation >= 0)
		buf_printf(out, ",\"observedGeneration\":%" PRId64, c->generation);
	buf_addc(out, '}');
}

static const struct wanted *find_wanted(const struct wanted_list *list, const char *type)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].type, type) == 0)
			return &list->items[i];
	return NULL;
}

static bool is_own(const char *const *types, const char *type)
{
	for (; *types; types++)
		if (strcmp(*types, type) == 0)
			return true;
	return false;
}

/* One that is there already; NULL `old` if it is not. */
static void add_wanted(struct writing *w, const struct wanted *new, const struct gw_condition *old)
{
	bool same = old && old->status && strcmp(old->status, new->status) == 0;
	struct gw_condition c = { .type = new->type,
				  .status = new->status,
				  .reason = new->reason,
				  .message = new->message,
				  .time = same ? old->time : w->now,
				  .generation = w->generation };

	w->changed |= !same || !cstr_eq(old->reason, new->reason) ||
		      strcmp(gw__text(old->message), new->message) != 0 ||
		      old->generation != w->generation;
	add_condition(w->out, &c);
}

static bool has_condition(const struct k8s_list *list, const char *type)
{
	const struct gw_condition *c = list->items;

	for (size_t i = 0; i < list->n; i++)
		if (cstr_eq(c[i].type, type))
			return true;
	return false;
}

/* types are ours: one of them that is not wanted goes. */
static void add_conditions(struct writing *w, const struct k8s_list *old,
			   const struct wanted_list *wanted, const char *const *types)
{
	const struct gw_condition *c = old->items;

	buf_add_lit(w->out, "\"conditions\":[");
	for (size_t i = 0; i < old->n; i++) {
		const struct wanted *own = find_wanted(wanted, gw__text(c[i].type));

		if (own)
			add_wanted(w, own, &c[i]);
		else if (is_own(types, gw__text(c[i].type)))
			w->changed = true;
		else
			add_condition(w->out, &c[i]);
	}
	for (size_t i = 0; i < wanted->n; i++)
		if (!has_condition(old, wanted->items[i].type))
			add_wanted(w, &wanted->items[i], NULL);
	buf_addc(w->out, ']');
}

/* ---- GatewayClass ---- */

static bool same_features(const struct k8s_list *list)
{
	const struct gw_feature *f = list->items;
	size_t n = 0;

	for (; gw_features[n]; n++)
		if (n >= list->n || !cstr_eq(f[n].name, gw_features[n]))
			return false;
	return n == list->n;
}

static void write_class(struct writing *w, struct gw__node *n)
{
	static const char *const types[] = { "Accepted", NULL };
	const struct gw_class *c = (const void *)n->object;
	const struct gw__verdict *v = n->result;
	struct wanted_list wanted = { .n = 0 };

	if (!v)
		return;
	want(&wanted, "Accepted", "Accepted", v);
	add_conditions(w, &c->conditions, &wanted, types);
	w->changed |= !same_features(&c->features);
	buf_add_lit(w->out, ",\"supportedFeatures\":[");
	for (size_t i = 0; gw_features[i]; i++) {
		next(w->out);
		buf_addc(w->out, '{');
		add_string(w->out, "name", gw_features[i]);
		buf_addc(w->out, '}');
	}
	buf_addc(w->out, ']');
}

/* ---- listeners ---- */

static const struct gw_listener_status *find_listener(const struct k8s_list *list, const char *name)
{
	const struct gw_listener_status *s = list->items;

	for (size_t i = 0; i < list->n; i++)
		if (cstr_eq(s[i].name, name))
			return &s[i];
	return NULL;
}

static void add_kinds(struct writing *w, unsigned bits, const struct k8s_list *old)
{
	const struct gw_route_kind *k = old->items;
	size_t n = 0;

	buf_add_lit(w->out, "\"supportedKinds\":[");
	for (unsigned i = GW_HTTP_ROUTE; i <= GW_UDP_ROUTE; i++) {
		if (!(bits & GW__ROUTE_BIT(i)))
			continue;
		w->changed |= n >= old->n || !cstr_eq(k[n].kind, gw_kinds[i].kind);
		n++;
		next(w->out);
		buf_printf(w->out, "{\"group\":\"%s\",\"kind\":\"%s\"}", GW_GROUP,
			   gw_kinds[i].kind);
	}
	w->changed |= n != old->n;
	buf_addc(w->out, ']');
}

static void add_listener(struct writing *w, const struct gw__listener *l,
			 const struct k8s_list *old_list)
{
	static const struct gw_listener_status nothing = { .attached = -1 };
	static const char *const types[] = { "Accepted", "ResolvedRefs", "Programmed", "Conflicted",
					     NULL };
	const struct gw_listener_status *old = find_listener(old_list, l->section);
	const struct gw__node *routes = gw__find(w->g, GW__LISTENER, l->name);
	int64_t attached = routes ? (int64_t)routes->members.n : 0;
	struct wanted_list wanted = { .n = 0 };

	if (!old)
		old = &nothing;
	want(&wanted, "Accepted", "Accepted", &l->accepted);
	want(&wanted, "ResolvedRefs", "ResolvedRefs", &l->resolved);
	want(&wanted, "Programmed", "Programmed", &l->programmed);
	want_as(&wanted, "Conflicted", l->conflicted.ok ? "False" : "True",
		gw__or(l->conflicted.reason, "NoConflicts"), gw__text(l->conflicted.message));
	w->changed |= old->attached != attached;
	next(w->out);
	buf_addc(w->out, '{');
	add_string(w->out, "name", l->section);
	buf_printf(w->out, ",\"attachedRoutes\":%" PRId64 ",", attached);
	add_kinds(w, l->kinds, &old->kinds);
	buf_addc(w->out, ',');
	add_conditions(w, &old->conditions, &wanted, types);
	buf_addc(w->out, '}');
}

/* Those of a set, or the Gateway's own if set is NULL. */
static void add_listeners(struct writing *w, const struct gw__view *v, const char *set,
			  const struct k8s_list *old)
{
	size_t n = 0;

	buf_add_lit(w->out, ",\"listeners\":[");
	for (size_t i = 0; i < v->n_listeners; i++) {
		const struct gw__listener *l = &v->listeners[i];

		if (set ? !cstr_eq(l->set, set) : l->set != NULL)
			continue;
		add_listener(w, l, old);
		n++;
	}
	w->changed |= n != old->n;
	buf_addc(w->out, ']');
}

/* ---- Gateway, ListenerSet ---- */

static void add_addresses(struct writing *w, const struct gw__view *v, const struct k8s_list *old)
{
	const struct gw_address *a = old->items;
	char text[ADDR_STRLEN];

	w->changed |= old->n != v->n_addresses;
	buf_add_lit(w->out, ",\"addresses\":[");
	for (size_t i = 0; i < v->n_addresses; i++) {
		addr_format(&v->addresses[i], text);
		w->changed |= i >= old->n || !cstr_eq(a[i].value, text) ||
			      !cstr_eq(a[i].type, "IPAddress");
		next(w->out);
		buf_printf(w->out, "{\"type\":\"IPAddress\",\"value\":\"%s\"}", text);
	}
	buf_addc(w->out, ']');
}

static void write_gateway(struct writing *w, struct gw__node *n)
{
	static const char *const types[] = { "Accepted", "Programmed", "ResolvedRefs",
					     "InsecureFrontendValidationMode", NULL };
	const struct gw_gateway *object = (const void *)n->object;
	const struct gw__view *v = gw__view(n);
	struct wanted_list wanted = { .n = 0 };

	if (!v)
		return;
	want(&wanted, "Accepted", "Accepted", &v->accepted);
	want(&wanted, "Programmed", "Programmed", &v->programmed);
	if (v->has_resolved)
		want(&wanted, "ResolvedRefs", "ResolvedRefs", &v->resolved);
	if (v->insecure)
		want_as(&wanted, "InsecureFrontendValidationMode", "True", "ConfigurationChanged",
			"clients without a valid certificate are let in");
	add_conditions(w, &object->conditions, &wanted, types);
	add_addresses(w, v, &object->status_addresses);
	w->changed |= object->attached_sets != (int64_t)v->n_sets_accepted;
	buf_printf(w->out, ",\"attachedListenerSets\":%zu", v->n_sets_accepted);
	add_listeners(w, v, NULL, &object->listener_status);
}

static const struct gw__set *find_set(const struct gw__view *v, const char *key)
{
	for (size_t i = 0; v && i < v->n_sets; i++)
		if (strcmp(v->sets[i].key, key) == 0)
			return &v->sets[i];
	return NULL;
}

static void write_set(struct writing *w, struct gw__node *n)
{
	static const char *const types[] = { "Accepted", "Programmed", NULL };
	const struct gw_listener_set *object = (const void *)n->object;
	const char *key =
		gw__key(w->g->scratch, gw__or(object->parent.namespace, object->object.namespace),
			gw__text(object->parent.name));
	const struct gw__node *gateway = gw__find(w->g, GW_GATEWAY, key);
	const struct gw__view *v = gateway ? gw__view(gateway) : NULL;
	const struct gw__set *set = find_set(v, n->key);
	struct wanted_list wanted = { .n = 0 };

	if (!set)
		return;
	want(&wanted, "Accepted", "Accepted", &set->accepted);
	want(&wanted, "Programmed", "Programmed", &set->programmed);
	add_conditions(w, &object->conditions, &wanted, types);
	add_listeners(w, v, n->key, &object->listener_status);
}

/* ---- parents and ancestors ---- */

static void add_ref(struct buf *out, const char *key, const struct gw_ref *ref)
{
	buf_printf(out, "\"%s\":{", key);
	add_string(out, "group", gw__or(ref->group, GW_GROUP));
	buf_addc(out, ',');
	add_string(out, "kind", gw__or(ref->kind, "Gateway"));
	buf_addc(out, ',');
	if (ref->namespace) {
		add_string(out, "namespace", ref->namespace);
		buf_addc(out, ',');
	}
	add_string(out, "name", gw__text(ref->name));
	if (ref->section) {
		buf_addc(out, ',');
		add_string(out, "sectionName", ref->section);
	}
	if (ref->port >= 0)
		buf_printf(out, ",\"port\":%" PRId64, ref->port);
	buf_addc(out, '}');
}

static bool same_ref(const struct gw_ref *a, const struct gw_ref *b)
{
	return strcmp(gw__or(a->group, GW_GROUP), gw__or(b->group, GW_GROUP)) == 0 &&
	       strcmp(gw__or(a->kind, "Gateway"), gw__or(b->kind, "Gateway")) == 0 &&
	       cstr_eq(a->namespace, b->namespace) && cstr_eq(a->name, b->name) &&
	       cstr_eq(a->section, b->section) && a->port == b->port;
}

/* An entry to be: what it refers to, and its conditions. */
struct entry {
	struct gw_ref ref;
	struct wanted_list wanted;
	bool written;
};

struct entries {
	const char *list, *ref;	  /* keys of the JSON */
	const char *const *types; /* of conditions that are ours */
	struct entry *items;
	size_t n, most;
};

static void begin_entry(struct writing *w, const struct entries *e, const struct gw_ref *ref,
			const char *controller)
{
	next(w->out);
	buf_addc(w->out, '{');
	add_ref(w->out, e->ref, ref);
	buf_addc(w->out, ',');
	add_string(w->out, "controllerName", controller);
	buf_addc(w->out, ',');
}

static void add_foreign(struct writing *w, const struct entries *e, const struct gw_parent *p)
{
	const struct gw_condition *c = p->conditions.items;

	begin_entry(w, e, &p->ref, gw__text(p->controller));
	buf_add_lit(w->out, "\"conditions\":[");
	for (size_t i = 0; i < p->conditions.n; i++)
		add_condition(w->out, &c[i]);
	buf_add_lit(w->out, "]}");
}

static void add_entry(struct writing *w, const struct entries *e, struct entry *own,
		      const struct k8s_list *old)
{
	begin_entry(w, e, &own->ref, w->g->settings.controller);
	add_conditions(w, old, &own->wanted, e->types);
	buf_addc(w->out, '}');
	own->written = true;
}

static struct entry *find_entry(const struct entries *e, const struct gw_ref *ref)
{
	for (size_t i = 0; i < e->n; i++)
		if (same_ref(&e->items[i].ref, ref))
			return &e->items[i];
	return NULL;
}

static void write_entries(struct writing *w, const struct k8s_list *old, struct entries *e)
{
	static const struct k8s_list none = { 0 };
	const struct gw_parent *p = old->items;
	size_t n = 0;

	buf_printf(w->out, "\"%s\":[", e->list);
	for (size_t i = 0; i < old->n; i++) {
		struct entry *own = find_entry(e, &p[i].ref);

		if (!cstr_eq(p[i].controller, w->g->settings.controller))
			add_foreign(w, e, &p[i]);
		else if (own && !own->written)
			add_entry(w, e, own, &p[i].conditions);
		else {
			w->changed = true;
			continue;
		}
		n++;
	}
	for (size_t i = 0; i < e->n && n < e->most; i++) {
		if (e->items[i].written)
			continue;
		w->changed = true;
		add_entry(w, e, &e->items[i], &none);
		n++;
	}
	buf_addc(w->out, ']');
}

/* ---- routes ---- */

static void want_route(struct wanted_list *list, const struct gw__route *r,
		       const struct gw__parent *p)
{
	bool served = p->accepted.ok && r->supported.ok;

	want(list, "Accepted", "Accepted", p->accepted.ok ? &r->supported : &p->accepted);
	want(list, "ResolvedRefs", "ResolvedRefs", &r->resolved);
	if (served && !r->partial.ok)
		want_as(list, "PartiallyInvalid", "True", r->partial.reason, r->partial.message);
}

static void write_route(struct writing *w, struct gw__node *n)
{
	static const char *const types[] = { "Accepted", "ResolvedRefs", "PartiallyInvalid", NULL };
	const struct gw_route *object = (const void *)n->object;
	const struct gw__route *r = n->result;
	const struct gw_ref *refs = object->parents_wanted.items;
	struct entries e = { .list = "parents", .ref = "parentRef", .types = types };

	e.most = PARENTS_MAX;
	e.items = arena_array_of(w->g->scratch, r ? r->n_parents : 0, struct entry);
	for (size_t i = 0; r && i < r->n_parents && i < object->parents_wanted.n; i++) {
		struct entry *own = &e.items[e.n];

		if (!r->parents[i].ours || find_entry(&e, &refs[i]))
			continue;
		own->ref = refs[i];
		want_route(&own->wanted, r, &r->parents[i]);
		e.n++;
	}
	write_entries(w, &object->parents, &e);
}

/* ---- policies ---- */

static void write_policy(struct writing *w, struct gw__node *n)
{
	static const char *const types[] = { "Accepted", "ResolvedRefs", NULL };
	const struct gw_policy *object = (const void *)n->object;
	const struct gw__policy *p = n->result;
	struct entries e = { .list = "ancestors", .ref = "ancestorRef", .types = types };

	e.most = ANCESTORS_MAX;
	e.n = p ? p->gateways.n : 0;
	e.items = arena_array_of(w->g->scratch, e.n, struct entry);
	for (size_t i = 0; i < e.n; i++) {
		const char *key = p->gateways.items[i], *slash = strchr(key, '/');

		e.items[i].ref = (struct gw_ref){
			.namespace = arena_strndup(w->g->scratch, key, (size_t)(slash - key)),
			.name = slash + 1,
			.port = -1,
		};
		want(&e.items[i].wanted, "Accepted", "Accepted", &p->accepted);
		want(&e.items[i].wanted, "ResolvedRefs", "ResolvedRefs", &p->resolved);
	}
	write_entries(w, &object->ancestors, &e);
}

/* ---- out ---- */

static void (*const writers[GW_KINDS])(struct writing *w, struct gw__node *n) = {
	[GW_GATEWAY_CLASS] = write_class,	[GW_GATEWAY] = write_gateway,
	[GW_LISTENER_SET] = write_set,		[GW_HTTP_ROUTE] = write_route,
	[GW_GRPC_ROUTE] = write_route,		[GW_TLS_ROUTE] = write_route,
	[GW_TCP_ROUTE] = write_route,		[GW_UDP_ROUTE] = write_route,
	[GW_BACKEND_TLS_POLICY] = write_policy,
};

/* Appends the patch; false, with out as it was, if nothing differs. */
static bool compare(struct gw *g, struct gw__node *n, const char *now, struct buf *out)
{
	struct writing w = { .g = g, .out = out, .now = now };
	size_t start = out->n;

	if (!n->object || n->object->deleting == K8S_YES)
		return false;
	w.generation = n->object->generation;
	arena_reset(g->scratch);
	buf_printf(out, "{\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"},\"status\":{",
		   n->object->version);
	writers[n->kind](&w, n);
	buf_add_lit(out, "}}");
	if (!w.changed)
		out->n = start;
	return w.changed;
}

bool gw_take_status(struct gw *g, const char *now, struct gw_status *ret, struct buf *patch)
{
	struct gw__node *n;

	while ((n = gw__next_status(g))) {
		if (compare(g, n, now, patch)) {
			*ret = (struct gw_status){ .kind = (enum gw_kind)n->kind,
						   .namespace = n->object->namespace,
						   .name = n->object->name,
						   .version = n->object->version };
			return true;
		}
		gw__release(g, n);
	}
	return false;
}

void gw_again(struct gw *g, enum gw_kind kind, const char *namespace, const char *name)
{
	struct arena *arena = arena_new();
	struct gw__node *n = gw__find(g, kind, gw__key(arena, namespace, name));

	if (n && writers[kind])
		gw__status_due(g, n);
	arena_free(arena);
}
