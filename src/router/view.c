/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/vec.h"

const char *view_route_name(const struct view *v, size_t route)
{
	return route == v->g->config.n_routes ? VIEW_FALLBACK : v->g->config.routes[route].name;
}

const struct l7_rule *view_rules(const struct view *v, size_t route, size_t *ret_n)
{
	const struct l7_config *c = &v->g->config;

	*ret_n = route == c->n_routes ? 1 : c->routes[route].n_rules;
	return route == c->n_routes ? c->fallback : c->routes[route].rules;
}

/* ---- names ---- */

static const char *listener_name(const struct view *v, size_t i)
{
	return v->g->config.listeners[i].name;
}

static const char *stream_name(const struct view *v, size_t i)
{
	return v->g->config.streams[i].name;
}

static const char *pool_name(const struct view *v, size_t i)
{
	return v->g->config.pools[i].name;
}

struct named {
	const char *name;
	size_t index;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static size_t *sort(const struct view *v, size_t n,
		    const char *(*name)(const struct view *v, size_t i))
{
	size_t *sorted = arena_array_of(v->arena, n, size_t);
	struct named *names = mem_zalloc((n + 1) * sizeof(*names));

	for (size_t i = 0; i < n; i++)
		names[i] = (struct named){ name(v, i), i };
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++)
		sorted[i] = names[i].index;
	free(names);
	return sorted;
}

static size_t find(const struct view *v, const size_t *sorted, size_t n, const char *wanted,
		   const char *(*name)(const struct view *v, size_t i))
{
	size_t at = sorted_place(n, i, strcmp(name(v, sorted[i]), wanted) < 0);

	return at < n && strcmp(name(v, sorted[at]), wanted) == 0 ? at : SIZE_MAX;
}

size_t view_find_route(const struct view *v, const char *name)
{
	return find(v, v->routes, v->n_routes, name, view_route_name);
}

size_t view_find_pool(const struct view *v, const char *name)
{
	return find(v, v->pools, v->n_pools, name, pool_name);
}

/* ---- which routes and streams use a pool ---- */

typedef VEC(size_t) indices;

static void add_user(indices *users, size_t route)
{
	if (!users->n || users->items[users->n - 1] != route)
		vec_push(users, route);
}

static void collect(const struct view *v, size_t route, indices *users)
{
	size_t n;
	const struct l7_rule *rules = view_rules(v, route, &n);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rules[i].n_backends; k++)
			if (rules[i].backends[k].pool != L7_NO_POOL)
				add_user(&users[rules[i].backends[k].pool], route);
}

static void collect_stream(const struct view *v, size_t stream, indices *users)
{
	const struct l7_stream *s = &v->g->config.streams[stream];

	for (size_t k = 0; k < s->n_backends; k++)
		if (s->backends[k].pool != L7_NO_POOL)
			add_user(&users[s->backends[k].pool], stream);
}

static const size_t *take(const struct view *v, indices *users, size_t *ret_n)
{
	const size_t *list = arena_copy(v->arena, users->items, users->n * sizeof(size_t));

	*ret_n = users->n;
	users->n = 0;
	return list;
}

static void find_users(struct view *v)
{
	struct view_users *all = arena_array_of(v->arena, v->n_pools, struct view_users);
	indices *users = mem_zalloc((v->n_pools + 1) * sizeof(*users));

	for (size_t i = 0; i < v->n_routes; i++)
		collect(v, v->routes[i], users);
	for (size_t i = 0; i < v->n_pools; i++)
		all[i].routes = take(v, &users[i], &all[i].n);
	for (size_t i = 0; i < v->n_streams; i++)
		collect_stream(v, v->streams[i], users);
	for (size_t i = 0; i < v->n_pools; i++) {
		all[i].streams = take(v, &users[i], &all[i].n_streams);
		vec_free(&users[i]);
	}
	free(users);
	v->users = all;
}

/* ---- the whole ---- */

struct view *view_new(struct router *r)
{
	struct arena *arena = arena_new();
	struct view *v = arena_new_of(arena, struct view);

	*v = (struct view){ .router = r, .arena = arena, .references = 1, .g = router_hold(r) };
	if (!v->g)
		return v;
	v->n_listeners = v->g->config.n_listeners;
	v->n_routes = v->g->config.n_routes + (v->g->config.fallback != NULL);
	v->n_streams = v->g->config.n_streams;
	v->n_pools = v->g->config.n_pools;
	v->listeners = sort(v, v->n_listeners, listener_name);
	v->routes = sort(v, v->n_routes, view_route_name);
	v->streams = sort(v, v->n_streams, stream_name);
	v->pools = sort(v, v->n_pools, pool_name);
	find_users(v);
	return v;
}

struct view *view_hold(struct view *v)
{
	v->references++;
	return v;
}

void view_release(struct view *v)
{
	if (!v || --v->references)
		return;
	if (v->g)
		router_release(v->router, v->g);
	arena_free(v->arena);
}

uint64_t view_number(const struct view *v)
{
	return v->g ? v->g->number : 0;
}
