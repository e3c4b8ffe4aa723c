/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/generation.h"

#include <stdlib.h>

#include "base/cleanup.h"

static void compile_pool(struct generation *g, struct generation_pool *p,
			 const struct l7_pool *config, struct servers *servers)
{
	uint32_t *weights = arena_array_of(g->arena, config->n_servers, uint32_t);

	p->config = config;
	p->quota = servers_take_quota(servers, config->name);
	p->servers = arena_array_of(g->arena, config->n_servers, struct server *);
	for (size_t i = 0; i < config->n_servers; i++) {
		const struct l7_server *s = &config->servers[i];

		p->servers[i] = servers_take(servers, config->name, s->host, s->port, s->tls);
		weights[i] = s->drain ? 0 : s->weight;
	}
	p->schedule = l7_schedule_build(g->arena, weights, config->n_servers);
	if (config->balance == L7_MAGLEV)
		p->table = tables_take(servers_tables(servers), config->servers, config->n_servers);
}

/* ---- sessions ---- */

static int by_key(const void *pa, const void *pb)
{
	const struct generation_session *a = pa, *b = pb;

	return a->key < b->key ? -1 : a->key > b->key;
}

static void list_sessions(struct generation *g, struct generation_pool *p)
{
	size_t n = p->config->n_servers;
	struct generation_session *list;

	if (p->sessions || !n)
		return;
	list = arena_array_of(g->arena, n, struct generation_session);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct generation_session){ p->servers[i]->key, i };
	qsort(list, n, sizeof(*list), by_key);
	p->sessions = list;
}

static void compile_sessions(struct generation *g, const struct l7_rule *rule)
{
	for (size_t i = 0; rule->persistence.enabled && i < rule->n_backends; i++)
		if (rule->backends[i].pool != L7_NO_POOL)
			list_sessions(g, &g->pools[rule->backends[i].pool]);
}

static void compile_all_sessions(struct generation *g)
{
	for (size_t i = 0; i < g->config.n_routes; i++)
		for (size_t k = 0; k < g->config.routes[i].n_rules; k++)
			compile_sessions(g, &g->config.routes[i].rules[k]);
	if (g->config.fallback)
		compile_sessions(g, g->config.fallback);
}

const struct generation_session *generation_session(const struct generation_pool *p, uint64_t key)
{
	const struct generation_session wanted = { .key = key };

	if (!p->sessions)
		return NULL;
	return bsearch(&wanted, p->sessions, p->config->n_servers, sizeof(wanted), by_key);
}

/* To servers without weight no connections are kept. */
static void compile_serving(struct generation *g, const struct servers *servers)
{
	g->n_serving = servers_bound(servers);
	g->serving = arena_array_of(g->arena, g->n_serving, uint64_t);
	for (size_t i = 0; i < g->config.n_pools; i++)
		for (size_t k = 0; k < g->pools[i].schedule.n; k++) {
			const struct server *s = g->pools[i].servers[g->pools[i].schedule.turns[k]];

			g->serving[s->number] = s->id;
		}
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

struct generation *generation_new(struct settings *settings, struct servers *servers,
				  uint64_t number)
{
	struct arena *arena = arena_new();
	struct generation *g = arena_new_of(arena, struct generation);
	const struct l7_config *config = &settings->config;

	settings_compile(settings);
	g->arena = arena;
	g->settings = settings;
	g->servers = servers;
	g->config = *config;
	g->number = number;
	atomic_init(&g->references, 1);
	g->pools = arena_array_of(arena, config->n_pools, struct generation_pool);
	for (size_t i = 0; i < config->n_pools; i++)
		compile_pool(g, &g->pools[i], &config->pools[i], servers);
	compile_serving(g, servers);
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
	compile_all_sessions(g);
	return g;
}

void generation_free(struct generation *g)
{
	for (size_t i = 0; i < g->config.n_pools; i++) {
		for (size_t k = 0; k < g->pools[i].config->n_servers; k++)
			servers_release(g->pools[i].servers[k]);
		tables_release(servers_tables(g->servers), g->pools[i].table);
		servers_release_quota(g->servers, g->pools[i].config->name);
	}
	settings_free(g->settings);
	arena_free(g->arena);
}
