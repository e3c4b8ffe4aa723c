/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/generation.h"

#include <stdlib.h>

#include "base/mem.h"

/* Of pools that were compiled together. Counted by the control thread. */
struct generation_memory {
	unsigned references;
	struct arena *arena;
};

static struct generation_memory *memory_new(void)
{
	struct arena *arena = arena_new();
	struct generation_memory *m = arena_new_of(arena, struct generation_memory);

	m->arena = arena;
	return m;
}

/* ---- pools ---- */

static void compile_pool(struct generation_memory *m, struct generation_pool *p,
			 const struct l7_pool *config, const struct generation_shared *shared)
{
	uint32_t *weights = arena_array_of(m->arena, config->n_servers, uint32_t);

	m->references++;
	p->memory = m;
	p->config = config;
	p->name = names_take(shared->pools, config->name);
	p->servers = arena_array_of(m->arena, config->n_servers, struct server *);
	for (size_t i = 0; i < config->n_servers; i++) {
		const struct l7_server *s = &config->servers[i];

		p->servers[i] =
			servers_take(shared->servers, config->name, s->host, s->port, s->tls);
		weights[i] = s->drain ? 0 : s->weight;
	}
	p->schedule = l7_schedule_build(m->arena, weights, config->n_servers);
}

static void share_pool(struct generation_pool *p, const struct generation_pool *from,
		       const struct l7_pool *config)
{
	*p = *from;
	p->config = config;
	p->memory->references++;
	names_hold(p->name);
	for (size_t i = 0; i < config->n_servers; i++)
		servers_hold(p->servers[i]);
}

static void release_pool(struct generation_pool *p)
{
	for (size_t i = 0; i < p->config->n_servers; i++)
		servers_release(p->servers[i]);
	names_release(p->name);
	if (--p->memory->references == 0)
		arena_free(p->memory->arena);
}

/* ---- requests ---- */

static int by_address(const void *pa, const void *pb)
{
	return endpoint_cmp(&((const struct generation_port *)pa)->at,
			    &((const struct generation_port *)pb)->at);
}

const struct generation_port *generation_port(const struct generation *g, const struct endpoint *at)
{
	const struct generation_port key = { .at = *at };

	if (!g->n_ports)
		return NULL;
	return bsearch(&key, g->ports, g->n_ports, sizeof(*g->ports), by_address);
}

/* Only the host of a request decides which listener it belongs to. */
static size_t find_listener(const struct generation_port *p, const struct l7_request *r)
{
	const struct l7_request host = { .host = r->host, .path = STR("/") };
	size_t i = p->hosts ? l7_table_find(p->hosts, &host) : 0;

	return i == L7_NONE ? L7_NONE : p->listeners[i];
}

const struct l7_target *generation_find(const struct generation *g, const struct generation_port *p,
					const struct l7_request *r,
					const struct generation_listener **ret_listener)
{
	size_t i = find_listener(p, r);
	const struct generation_listener *l = i == L7_NONE ? NULL : &g->listeners[i];
	size_t entry = l ? l7_table_find(l->table, r) : L7_NONE;

	*ret_listener = l;
	if (entry != L7_NONE)
		return &l->entries.targets[entry];
	return l && g->fallback.rule ? &g->fallback : NULL;
}

/* ---- the whole ---- */

static struct generation *make(struct plan *plan, uint64_t number)
{
	struct generation *g = mem_zalloc(sizeof(*g));

	g->number = number;
	g->plan = plan;
	g->config = plan->config;
	g->listeners = plan->tables->listeners;
	g->ports = plan->tables->ports;
	g->n_ports = plan->tables->n_ports;
	g->fallback = plan->tables->fallback;
	g->pools = mem_alloc((g->config.n_pools + 1) * sizeof(*g->pools));
	atomic_init(&g->references, 1);
	return g;
}

/* The default route has the statistics of its name; it may have none. */
static void name_routes(struct generation *g, struct names *names)
{
	g->routes = mem_alloc((g->config.n_routes + 1) * sizeof(struct name *));
	for (size_t i = 0; i < g->config.n_routes; i++)
		g->routes[i] = names_take(names, g->config.routes[i].name);
	g->fallback_name =
		names_take(names, g->fallback.rule ? g->fallback.rule->name : GENERATION_UNROUTED);
	g->unrouted = names_take(names, GENERATION_UNROUTED);
}

/* When all pools are there. */
static void finish(struct generation *g, const struct generation_shared *shared)
{
	g->n_servers = servers_bound(shared->servers);
	name_routes(g, shared->routes);
}

struct generation *generation_new(struct plan *plan, const struct generation_shared *shared,
				  uint64_t number)
{
	struct generation *g = make(plan, number);
	struct generation_memory *m = g->config.n_pools ? memory_new() : NULL;

	for (size_t i = 0; i < g->config.n_pools; i++)
		compile_pool(m, &g->pools[i], &g->config.pools[i], shared);
	finish(g, shared);
	return g;
}

struct generation *generation_with_servers(const struct generation *from, struct plan *plan,
					   size_t pool, const struct generation_shared *shared,
					   uint64_t number)
{
	struct generation *g = make(plan, number);

	for (size_t i = 0; i < g->config.n_pools; i++) {
		const struct l7_pool *config = &g->config.pools[i];

		if (i == pool)
			compile_pool(memory_new(), &g->pools[i], config, shared);
		else
			share_pool(&g->pools[i], &from->pools[i], config);
	}
	finish(g, shared);
	return g;
}

void generation_free(struct generation *g)
{
	for (size_t i = 0; i < g->config.n_pools; i++)
		release_pool(&g->pools[i]);
	for (size_t i = 0; i < g->config.n_routes; i++)
		names_release(g->routes[i]);
	names_release(g->fallback_name);
	names_release(g->unrouted);
	plan_release(g->plan);
	free(g->routes);
	free(g->pools);
	free(g);
}
