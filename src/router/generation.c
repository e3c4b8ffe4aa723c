/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/generation.h"

#include <stdlib.h>

#include "base/cleanup.h"

static void compile_pool(struct generation *g, struct generation_pool *p,
			 const struct l7_pool *config, const struct generation_shared *shared)
{
	uint32_t *weights = arena_array_of(g->arena, config->n_servers, uint32_t);

	p->config = config;
	p->name = names_take(shared->pools, config->name);
	p->servers = arena_array_of(g->arena, config->n_servers, struct server *);
	for (size_t i = 0; i < config->n_servers; i++) {
		const struct l7_server *s = &config->servers[i];

		p->servers[i] =
			servers_take(shared->servers, config->name, s->host, s->port, s->tls);
		weights[i] = s->drain ? 0 : s->weight;
	}
	p->schedule = l7_schedule_build(g->arena, weights, config->n_servers);
}

/* ---- ports ---- */

static int by_address(const void *pa, const void *pb)
{
	return endpoint_cmp(&((const struct generation_port *)pa)->at,
			    &((const struct generation_port *)pb)->at);
}

/* Adds the listeners of one address; the entries of its table are in the order of listeners. */
static void fill_port(struct generation *g, struct generation_port *p)
{
	size_t *listeners = arena_array_of(g->arena, g->config.n_listeners, size_t);
	struct l7_entry *entries = arena_array_of(g->arena, g->config.n_listeners, struct l7_entry);

	for (size_t i = 0; i < g->config.n_listeners; i++) {
		const struct l7_listener *l = &g->config.listeners[i];

		if (endpoint_cmp(&l->at, &p->at) != 0)
			continue;
		entries[p->n] =
			(struct l7_entry){ .host = l->host,
					   .match = { .kind = L7_PREFIX, .path = STR("/") } };
		listeners[p->n++] = i;
	}
	p->listeners = listeners;
	if (p->n > 1 || entries[0].host.n)
		p->hosts = l7_table_build(g->arena, entries, p->n, settings_matches);
}

static void compile_ports(struct generation *g)
{
	struct generation_port *ports =
		arena_array_of(g->arena, g->config.n_listeners, struct generation_port);
	size_t n = 0;

	for (size_t i = 0; i < g->config.n_listeners; i++)
		ports[i].at = g->config.listeners[i].at;
	if (g->config.n_listeners)
		qsort(ports, g->config.n_listeners, sizeof(*ports), by_address);
	for (size_t i = 0; i < g->config.n_listeners; i++)
		if (i == 0 || endpoint_cmp(&ports[i].at, &ports[n - 1].at) != 0)
			ports[n++].at = ports[i].at;
	for (size_t i = 0; i < n; i++)
		fill_port(g, &ports[i]);
	g->ports = ports;
	g->n_ports = n;
}

const struct generation_port *generation_port(const struct generation *g, const struct endpoint *at)
{
	const struct generation_port key = { .at = *at };

	if (!g->n_ports)
		return NULL;
	return bsearch(&key, g->ports, g->n_ports, sizeof(*g->ports), by_address);
}

/* ---- requests ---- */

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

/* Its path is not compared, and as a prefix it is "/". */
static void compile_fallback(struct generation *g)
{
	static const struct l7_match any = { .kind = L7_PREFIX, .path = { "/", 1 } };
	const struct l7_rule *rule = g->config.fallback;

	if (rule)
		g->fallback =
			(struct l7_target){ NULL, rule, rule->n_matches ? rule->matches : &any };
}

/* The default route has the statistics of its name; it may have none. */
static void name_routes(struct generation *g, struct names *names)
{
	g->routes = arena_array_of(g->arena, g->config.n_routes, struct name *);
	for (size_t i = 0; i < g->config.n_routes; i++)
		g->routes[i] = names_take(names, g->config.routes[i].name);
	g->fallback_name =
		names_take(names, g->fallback.rule ? g->fallback.rule->name : GENERATION_UNROUTED);
	g->unrouted = names_take(names, GENERATION_UNROUTED);
}

struct generation *generation_new(struct settings *settings, const struct generation_shared *shared,
				  uint64_t number)
{
	struct arena *arena = arena_new();
	struct generation *g = arena_new_of(arena, struct generation);
	const struct l7_config *config = &settings->config;

	settings_compile(settings);
	g->arena = arena;
	g->settings = settings;
	g->config = *config;
	g->number = number;
	atomic_init(&g->references, 1);
	g->pools = arena_array_of(arena, config->n_pools, struct generation_pool);
	for (size_t i = 0; i < config->n_pools; i++)
		compile_pool(g, &g->pools[i], &config->pools[i], shared);
	g->n_servers = servers_bound(shared->servers);
	g->listeners = arena_array_of(arena, config->n_listeners, struct generation_listener);
	for (size_t i = 0; i < config->n_listeners; i++) {
		struct generation_listener *l = &g->listeners[i];

		l->config = &config->listeners[i];
		l->entries = l7_config_entries(config, i, arena);
		l->table =
			l7_table_build(arena, l->entries.entries, l->entries.n, settings_matches);
	}
	compile_ports(g);
	compile_fallback(g);
	name_routes(g, shared->routes);
	return g;
}

void generation_free(struct generation *g)
{
	for (size_t i = 0; i < g->config.n_pools; i++) {
		for (size_t k = 0; k < g->pools[i].config->n_servers; k++)
			servers_release(g->pools[i].servers[k]);
		names_release(g->pools[i].name);
	}
	for (size_t i = 0; i < g->config.n_routes; i++)
		names_release(g->routes[i]);
	names_release(g->fallback_name);
	names_release(g->unrouted);
	settings_free(g->settings);
	arena_free(g->arena);
}
