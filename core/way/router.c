/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the way that a router knows: listener, route, pool, server. */
#include <string.h>

#include "base/cleanup.h"
#include "core/way/way_private.h"

#define NAMED 3 /* servers that a sentence names; of others the number is given */

/* ---- servers and pools ---- */

static enum way_state server_state(const struct way_server *s)
{
	if (strcmp(s->state, "down") == 0 || strcmp(s->state, "ejected") == 0)
		return WAY_BROKEN;
	return s->share > 0 ? WAY_GOOD : WAY_IDLE;
}

static bool server_in_focus(const struct way__work *w, const struct way_server *s)
{
	const struct way_server *only = w->focus.server;

	return !only || (strcmp(only->host, s->host) == 0 && only->port == s->port);
}

static const char *server_name(struct way__work *w, const struct way_server *s)
{
	return arena_printf(w->arena, strchr(s->host, ':') ? "[%s]:%u" : "%s:%u", s->host, s->port);
}

static enum way_state add_server(struct way__work *w, const struct way_router *r,
				 const struct way_server *s)
{
	enum way_state state = server_state(s);

	way__add(w, &(struct way_step){ .kind = WAY_SERVER,
					.place = r->source.name,
					.name = server_name(w, s),
					.detail = "",
					.state = state,
					.word = s->state,
					.reason = s->reason,
					.since = s->since,
					.share = s->share,
					.traffic = s->traffic });
	return state;
}

/* "10.0.1.1:80 connection refused, 10.0.1.2:80 ejected and 3 more" */
static void add_reasons(struct way__work *w, const struct way_router_pool *p, struct buf *out)
{
	for (size_t i = 0; i < p->n_servers && i < NAMED; i++) {
		const struct way_server *s = &p->servers[i];

		buf_printf(out, "%s%s %s%s%s", i ? ", " : "", server_name(w, s), s->state,
			   *s->reason ? ": " : "", s->reason);
	}
	if (p->n_servers > NAMED)
		buf_printf(out, " and %zu more", p->n_servers - NAMED);
}

static void judge_pool(struct way__work *w, const struct way_router *r,
		       const struct way_router_pool *p, size_t step)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	if (p->usable)
		return;
	if (!p->n_servers)
		buf_adds(&why, "it has no servers");
	else
		buf_adds(&why, "none of its servers can be used: ");
	add_reasons(w, p, &why);
	way__step(w, step)->reason = arena_strdup(w->arena, buf_cstr(&why));
	way__blame(w, step, "pool %s of router %s: %s", p->name, r->source.name, buf_cstr(&why));
}

static const struct way_router_pool *find_pool(const struct way_router *r, const char *name)
{
	for (size_t i = 0; i < r->n_pools; i++)
		if (strcmp(r->pools[i].name, name) == 0)
			return &r->pools[i];
	return NULL;
}

static enum way_state add_known_pool(struct way__work *w, const struct way_router *r,
				     const struct way_router_pool *p, double share)
{
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_ROUTER_POOL,
						      .place = r->source.name,
						      .name = p->name,
						      .detail = "",
						      .word = "",
						      .reason = "",
						      .share = share,
						      .traffic = p->traffic });
	enum way_state state = p->usable ? WAY_GOOD : WAY_BROKEN;

	w->depth++;
	for (size_t i = 0; i < p->n_servers; i++) {
		if (!server_in_focus(w, &p->servers[i]))
			continue;
		if (add_server(w, r, &p->servers[i]) == WAY_BROKEN && state == WAY_GOOD)
			state = WAY_POOR;
	}
	w->depth--;
	judge_pool(w, r, p, step);
	way__step(w, step)->state = state;
	way__step(w, step)->word =
		arena_printf(w->arena, "%u of %zu usable", p->usable, p->n_servers);
	return state;
}

/* A share that goes to no pool, or to one that the router did not name. */
static enum way_state add_target(struct way__work *w, const struct way_router *r,
				 const struct way_target *t)
{
	const struct way_router_pool *p = find_pool(r, t->pool);
	bool invalid = !*t->pool;
	size_t step;

	if (p)
		return add_known_pool(w, r, p, t->share);
	step = way__add(w, &(struct way_step){ .kind = WAY_ROUTER_POOL,
					       .place = r->source.name,
					       .name = t->pool,
					       .detail = "",
					       .state = invalid ? WAY_BROKEN : WAY_UNKNOWN,
					       .word = invalid ? "invalid" : "unknown",
					       .reason = invalid ? "its share is answered with 500"
								 : "",
					       .share = t->share });
	if (invalid && t->share > 0)
		way__blame(w, step,
			   "router %s answers %.3g %% of the requests with 500: a backend "
			   "of the rule is not valid",
			   r->source.name, t->share * 100);
	return invalid ? WAY_BROKEN : WAY_UNKNOWN;
}

/* A pool that was added after the step of its route already, for another rule; NULL: it was not. */
static const struct way_step *shown(struct way__work *w, size_t route, const char *pool)
{
	for (size_t i = route + 1; i < w->steps.n; i++)
		if (way__step(w, i)->kind == WAY_ROUTER_POOL &&
		    strcmp(way__step(w, i)->name, pool) == 0)
			return way__step(w, i);
	return NULL;
}

/* What gets no share is shown, but nothing is blamed on it. */
static void add_targets(struct way__work *w, const struct way_router *r, size_t route,
			const struct way_target *targets, size_t n, struct way__sum *sum)
{
	bool idle = w->idle;

	for (size_t i = 0; i < n; i++) {
		const struct way_step *before = shown(w, route, targets[i].pool);
		bool carries = targets[i].share > 0;

		w->idle = idle || !carries;
		way__sum_add(sum, before ? before->state : add_target(w, r, &targets[i]), carries);
	}
	w->idle = idle;
}

/* ---- routes ---- */

/* The targets of all rules, each pool once. Redirects need no server. */
static enum way_state add_rules(struct way__work *w, const struct way_router *r, size_t step,
				const struct way_route *route)
{
	struct way__sum sum = { 0 };

	for (size_t i = 0; i < route->n_rules; i++) {
		const struct way_rule *rule = &route->rules[i];

		if (*rule->redirect)
			way__sum_add(&sum, WAY_GOOD, true);
		else
			add_targets(w, r, step, rule->targets, rule->n_targets, &sum);
	}
	return way__sum_state(&sum);
}

static enum way_state add_route(struct way__work *w, const struct way_router *r,
				const struct way_route *route)
{
	const char *match = route->n_rules ? route->rules[0].match : "";
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_ROUTE,
						      .place = r->source.name,
						      .name = route->name,
						      .detail = match,
						      .word = "",
						      .reason = "",
						      .share = -1,
						      .traffic = route->traffic });
	enum way_state state;

	w->depth++;
	state = add_rules(w, r, step, route);
	w->depth--;
	way__step(w, step)->state = state;
	if (state == WAY_BROKEN)
		way__blame(w, step, "route %s of router %s leads to no server", route->name,
			   r->source.name);
	return state;
}

static bool is_of(const struct way_route *route, const struct way_listener *l)
{
	for (size_t i = 0; i < route->n_listeners; i++)
		if (strcmp(route->listeners[i], l->name) == 0)
			return true;
	return !route->n_listeners;
}

static bool pool_in_focus(const struct way__work *w, const struct way_router *r, const char *name)
{
	const struct way_router_pool *p = find_pool(r, name);

	if (w->focus.pool)
		return strcmp(w->focus.pool, name) == 0;
	for (size_t i = 0; p && i < p->n_servers; i++)
		if (server_in_focus(w, &p->servers[i]))
			return true;
	return false;
}

static bool route_in_focus(const struct way__work *w, const struct way_router *r,
			   const struct way_route *route)
{
	if (w->focus.route)
		return strcmp(route->name, w->focus.route) == 0;
	if (!w->focus.pool && !w->focus.server)
		return true;
	for (size_t i = 0; i < route->n_rules; i++)
		for (size_t k = 0; k < route->rules[i].n_targets; k++)
			if (pool_in_focus(w, r, route->rules[i].targets[k].pool))
				return true;
	return false;
}

/* A query for a VIP chooses no route: some are shown, and the others are counted. */
static enum way_state add_routes(struct way__work *w, const struct way_router *r,
				 const struct way_listener *l, size_t router)
{
	struct way__sum sum = { 0 };
	size_t shown = 0;

	for (size_t i = 0; i < r->n_routes && shown < WAY_ROUTES_MAX; i++) {
		if (!is_of(&r->routes[i], l) || !route_in_focus(w, r, &r->routes[i]))
			continue;
		way__sum_add(&sum, add_route(w, r, &r->routes[i]), true);
		shown++;
	}
	if (!shown && !l->routes) {
		way__blame(w, router, "listener %s of router %s has no routes", l->name,
			   r->source.name);
		return WAY_BROKEN;
	}
	if (shown == WAY_ROUTES_MAX && l->routes > shown)
		way__note(w,
			  "listener %s of router %s has %zu more routes; ask for HOST/PATH to see "
			  "one of them",
			  l->name, r->source.name, l->routes - shown);
	return shown ? way__sum_state(&sum) : WAY_UNKNOWN;
}

/* ---- one request ---- */

static struct way_traffic traffic_of(const struct way_router *r, const char *route)
{
	for (size_t i = 0; i < r->n_routes; i++)
		if (strcmp(r->routes[i].name, route) == 0)
			return r->routes[i].traffic;
	return (struct way_traffic){ 0 };
}

/* The router answers by itself: with a redirect, which is what was configured, or an error. */
static enum way_state add_answer(struct way__work *w, const struct way_router *r, size_t router)
{
	const struct way_explanation *e = r->explanation;
	bool redirect = strcmp(e->outcome, "redirect") == 0;
	enum way_state state = redirect ? WAY_GOOD : WAY_BROKEN;
	size_t step = router;

	if (*e->route)
		step = way__add(w, &(struct way_step){ .kind = WAY_ROUTE,
						       .place = r->source.name,
						       .name = e->route,
						       .detail = e->match,
						       .state = state,
						       .word = e->outcome,
						       .reason = e->summary,
						       .share = -1,
						       .traffic = traffic_of(r, e->route) });
	if (!redirect)
		way__blame(w, step, "router %s: the request is %s", r->source.name, e->summary);
	return state;
}

static enum way_state add_request(struct way__work *w, const struct way_router *r, size_t router)
{
	const struct way_explanation *e = r->explanation;
	struct way__sum sum = { 0 };
	enum way_state state;
	size_t step;

	if (strcmp(e->outcome, "forward") != 0)
		return add_answer(w, r, router);
	step = way__add(w, &(struct way_step){ .kind = WAY_ROUTE,
					       .place = r->source.name,
					       .name = e->route,
					       .detail = e->match,
					       .word = e->outcome,
					       .reason = "",
					       .share = -1,
					       .traffic = traffic_of(r, e->route) });
	w->depth++;
	add_targets(w, r, step, e->targets, e->n_targets, &sum);
	w->depth--;
	state = way__sum_state(&sum);
	way__step(w, step)->state = state;
	return state;
}

/* ---- the router ---- */

bool way__listener_in_focus(const struct way__work *w, const struct way_router *r,
			    const struct way_listener *l)
{
	if (w->focus.request)
		return r->explanation && (!*r->explanation->listener ||
					  strcmp(r->explanation->listener, l->name) == 0);
	if (!w->focus.route && !w->focus.pool && !w->focus.server)
		return true;
	for (size_t i = 0; i < r->n_routes; i++)
		if (is_of(&r->routes[i], l) && route_in_focus(w, r, &r->routes[i]))
			return true;
	return false;
}

/* Without what stands for all of it: no contact, no configuration, no new connections. */
static enum way_state add_content(struct way__work *w, const struct way_router *r,
				  const struct way_listener *l, size_t step)
{
	if (w->focus.request)
		return add_request(w, r, step);
	if (strcmp(l->protocol, "http") == 0)
		return add_routes(w, r, l, step);
	if (l->routes)
		return WAY_GOOD;
	way__blame(w, step, "listener %s of router %s has no stream", l->name, r->source.name);
	return WAY_BROKEN;
}

enum way_state way__router(struct way__work *w, const struct way_router *r,
			   const struct way_listener *l)
{
	size_t step = way__add(w, &(struct way_step){ .kind = WAY_ROUTER,
						      .place = r->source.name,
						      .name = l->name,
						      .detail = l->address,
						      .word = l->protocol,
						      .reason = r->problem,
						      .share = -1,
						      .traffic = r->traffic });
	enum way_state state;

	if (!r->source.connected) {
		way__step(w, step)->reason = r->source.error;
		return way__step(w, step)->state = WAY_UNKNOWN;
	}
	w->depth++;
	state = add_content(w, r, l, step);
	w->depth--;
	if (r->draining) {
		way__step(w, step)->reason = "it stops and accepts no connections";
		way__blame(w, step, "router %s stops and accepts no connections", r->source.name);
		state = WAY_BROKEN;
	}
	if (*r->problem) {
		way__note(w, "router %s: %s", r->source.name, r->problem);
		state = state == WAY_GOOD ? WAY_POOR : state;
	}
	return way__step(w, step)->state = state;
}
