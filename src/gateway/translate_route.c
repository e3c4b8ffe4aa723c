/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes and their parents: to which listeners a route is attached, and why not to others.
 *
 * A parent is judged in this order: is there a listener with this name and port; does one of them
 * take this kind of routes, and from this namespace; does one of them have a host name that the
 * route has, too. The first question that none of the listeners passes is the reason.
 */
#include <stdlib.h>
#include <string.h>

#include "core/l7/table.h"
#include "src/gateway/kinds.h"
#include "src/gateway/model.h"

/* ---- host names ---- */

/* Whether some host is covered by both names; each may be a wildcard, "" is everything. */
static bool intersect(const char *a, const char *b)
{
	struct str x = str_of(a), y = str_of(b);

	if (!x.n || !y.n || str_ieq(x, y))
		return true;
	if (x.p[0] == '*' && y.p[0] == '*')
		return x.n < y.n ? l7_host_covers(x, (struct str){ y.p + 2, y.n - 2 })
				 : l7_host_covers(y, (struct str){ x.p + 2, x.n - 2 });
	return l7_host_covers(x, y) || l7_host_covers(y, x);
}

static bool hosts_fit(const struct gw__listener *l, const struct k8s_list *hosts)
{
	for (size_t i = 0; i < hosts->n; i++)
		if (intersect(l->hostname, k8s_string_at(hosts, i)))
			return true;
	return !hosts->n;
}

/* ---- parents ---- */

/*
 * The Gateway of a parent, and the ListenerSet whose listeners are meant, NULL: the Gateway's own.
 */
struct place_of {
	struct gw__node *gateway;
	const char *set;
	bool refused; /* the set is not accepted by the Gateway */
};

static bool set_is_accepted(const struct gw__view *v, const char *key)
{
	for (size_t i = 0; v && i < v->n_sets; i++)
		if (strcmp(v->sets[i].key, key) == 0)
			return v->sets[i].accepted.ok;
	return false;
}

static bool find_place(struct gw *g, const struct k8s_object *route, const struct gw_ref *ref,
		       struct place_of *ret)
{
	const char *kind = gw__or(ref->kind, "Gateway");
	const char *namespace = gw__or(ref->namespace, route->namespace);
	const struct gw_listener_set *set;
	const struct gw__node *n;

	*ret = (struct place_of){ 0 };
	if (strcmp(gw__or(ref->group, GW_GROUP), GW_GROUP) != 0)
		return false;
	if (strcmp(kind, "Gateway") == 0) {
		ret->gateway = gw__need_object(g, GW_GATEWAY, namespace, gw__text(ref->name));
		return gw__view(ret->gateway);
	}
	if (strcmp(kind, "ListenerSet") != 0)
		return false;
	n = gw__need_object(g, GW_LISTENER_SET, namespace, gw__text(ref->name));
	set = (const void *)n->object;
	if (!set)
		return false;
	ret->gateway =
		gw__need_object(g, GW_GATEWAY, gw__or(set->parent.namespace, set->object.namespace),
				gw__text(set->parent.name));
	ret->set = n->key;
	ret->refused = !set_is_accepted(gw__view(ret->gateway), n->key);
	return gw__view(ret->gateway);
}

static bool is_candidate(const struct gw__listener *l, const struct place_of *place,
			 const struct gw_ref *ref)
{
	if (place->set ? !l->set || strcmp(l->set, place->set) != 0 : l->set != NULL)
		return false;
	if (ref->section && *ref->section && strcmp(ref->section, l->section) != 0)
		return false;
	return ref->port < 0 || ref->port == l->port;
}

static bool is_allowed(struct gw *g, const struct gw__listener *l, const struct gw__node *route,
		       const char *owner)
{
	return (l->kinds & GW__ROUTE_BIT(route->kind)) &&
	       gw__allows(g, &l->scope, owner, route->object->namespace);
}

/* How far the best listener came. */
enum progress { NO_LISTENER, NOT_ALLOWED, NO_HOST, ATTACHED };

static enum progress try_listener(struct gw *g, const struct gw__node *route,
				  const struct gw__listener *l, const struct place_of *place,
				  const struct gw_ref *ref)
{
	const struct gw_route *object = (const void *)route->object;
	const struct gw__view *v = gw__view(place->gateway);
	const char *owner = v->namespace;

	if (!is_candidate(l, place, ref))
		return NO_LISTENER;
	if (place->set)
		owner = arena_strndup(g->scratch, place->set, strcspn(place->set, "/"));
	if (!is_allowed(g, l, route, owner))
		return NOT_ALLOWED;
	return hosts_fit(l, &object->hostnames) ? ATTACHED : NO_HOST;
}

static void conclude_parent(const struct place_of *place, enum progress best,
			    struct gw__verdict *accepted)
{
	if (place->refused)
		gw__fail(accepted, "NoMatchingParent", "the ListenerSet is not accepted");
	if (best == NO_LISTENER)
		gw__fail(accepted, "NoMatchingParent", "no listener has this name and port");
	if (best == NOT_ALLOWED)
		gw__fail(accepted, "NotAllowedByListeners",
			 "no listener allows this kind of routes from this namespace");
	if (best == NO_HOST)
		gw__fail(accepted, "NoMatchingListenerHostname",
			 "no listener has one of the host names");
}

/* ---- attachments ---- */

static void attach(struct gw__attached *list, struct gw__node *gateway,
		   const struct gw__listener *l)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].listener == l)
			return;
	vec_push(list, (struct gw__attachment){ gateway, l });
}

static void judge_parent(struct gw *g, struct gw__node *n, const struct gw_ref *ref,
			 struct gw__parent *parent, struct gw__attached *attached)
{
	enum progress best = NO_LISTENER, now;
	struct place_of place;
	const struct gw__view *v;

	parent->ours = find_place(g, n->object, ref, &place);
	parent->accepted.ok = true;
	if (!parent->ours)
		return;
	v = gw__view(place.gateway);
	for (size_t i = 0; i < v->n_listeners && !place.refused; i++) {
		now = try_listener(g, n, &v->listeners[i], &place, ref);
		if (now == ATTACHED)
			attach(attached, place.gateway, &v->listeners[i]);
		if (now > best)
			best = now;
	}
	conclude_parent(&place, best, &parent->accepted);
}

/* ---- the result ---- */

void gw__route_free(struct gw__route *r)
{
	for (size_t i = 0; i < r->n_parents; i++)
		gw__verdict_free(&r->parents[i].accepted);
	free(r->parents);
	gw__verdict_free(&r->resolved);
	gw__verdict_free(&r->partial);
	gw__verdict_free(&r->supported);
	for (size_t i = 0; i < r->listeners.n; i++)
		free(r->listeners.items[i]);
	vec_free(&r->listeners);
	vec_free(&r->gateways);
	for (size_t i = 0; i < r->services.n; i++)
		free(r->services.items[i]);
	vec_free(&r->services);
	for (size_t i = 0; i < r->entries.n; i++)
		free(r->entries.items[i]);
	vec_free(&r->entries);
	for (size_t i = 0; i < r->streams.n; i++) {
		free(r->streams.items[i].listener);
		free(r->streams.items[i].text);
	}
	vec_free(&r->streams);
	free(r);
}

static bool has_text(char *const *items, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(items[i], text) == 0)
			return true;
	return false;
}

/* Leaves the lists that only the old result is in, and joins those that only the new one is in. */
struct texts_of {
	char *const *items;
	size_t n;
};

static void move(struct gw *g, struct gw__node *n, unsigned kind, struct texts_of old,
		 struct texts_of new)
{
	for (size_t i = 0; i < old.n; i++)
		if (!has_text(new.items, new.n, old.items[i]))
			gw__leave(g, kind, old.items[i], n);
	for (size_t i = 0; i < new.n; i++)
		if (!has_text(old.items, old.n, new.items[i]))
			gw__join(g, kind, new.items[i], n);
}

#define TEXTS(r, member)                                                                           \
	((r) ? (struct texts_of){ (r)->member.items, (r)->member.n } : (struct texts_of){ 0 })

static bool same_gateways(const struct gw__route *a, const struct gw__route *b)
{
	if (!a || !b || a->gateways.n != b->gateways.n)
		return false;
	for (size_t i = 0; i < a->gateways.n; i++)
		if (a->gateways.items[i] != b->gateways.items[i])
			return false;
	return true;
}

/* Streams are made from all routes of a listener, so a change of one of them makes them stale. */
static void touch_streams(struct gw *g, const struct gw__node *n, const struct gw__route *r)
{
	for (size_t i = 0; r && n->kind >= GW_TLS_ROUTE && i < r->listeners.n; i++) {
		struct gw__node *listener = gw__find(g, GW__LISTENER, r->listeners.items[i]);

		if (listener)
			gw__make_stale(g, listener);
	}
}

static void replace(struct gw *g, struct gw__node *n, struct gw__route *new)
{
	struct gw__route *old = n->result;

	move(g, n, GW__LISTENER, TEXTS(old, listeners), TEXTS(new, listeners));
	move(g, n, GW__CONSUMERS, TEXTS(old, services), TEXTS(new, services));
	if (!same_gateways(old, new))
		for (size_t i = 0; new &&i < new->services.n; i++)
			gw__touch_users(g, gw__find(g, GW__CONSUMERS, new->services.items[i]));
	for (size_t i = 0; old && i < old->entries.n; i++)
		if (!new || !has_text(new->entries.items, new->entries.n, old->entries.items[i]))
			gw__drop_entry(g, GW_ROUTES, old->entries.items[i]);
	n->result = new;
	touch_streams(g, n, new);
	if (old)
		gw__route_free(old);
}

static void add_gateway(struct gw__route *r, struct gw__node *gateway)
{
	for (size_t i = 0; i < r->gateways.n; i++)
		if (r->gateways.items[i] == gateway)
			return;
	vec_push(&r->gateways, gateway);
}

static void note_attachments(struct gw *g, struct gw__route *r, const struct gw__attached *attached)
{
	for (size_t i = 0; i < attached->n; i++) {
		const struct gw__attachment *a = &attached->items[i];

		vec_push(&r->listeners, mem_strdup(a->listener->name));
		gw__slot_at(g, a);
		add_gateway(r, a->gateway);
	}
}

void gw__make_route(struct gw *g, struct gw__node *n)
{
	const struct gw_route *object = (const void *)n->object;
	struct gw__attached attached = { 0 };
	struct gw__route *r;
	bool ours = false;

	if (!object) {
		replace(g, n, NULL);
		return;
	}
	r = mem_zalloc(sizeof(*r));
	r->n_parents = object->parents_wanted.n;
	r->parents = mem_zalloc(r->n_parents * sizeof(*r->parents) + 1);
	r->resolved.ok = r->partial.ok = r->supported.ok = true;
	for (size_t i = 0; i < r->n_parents; i++) {
		judge_parent(g, n, (const struct gw_ref *)object->parents_wanted.items + i,
			     &r->parents[i], &attached);
		ours |= r->parents[i].ours;
	}
	note_attachments(g, r, &attached);
	if (ours)
		gw__make_rules(g, n, r, &attached);
	replace(g, n, r);
	gw__status_due(g, n);
	vec_free(&attached);
}
