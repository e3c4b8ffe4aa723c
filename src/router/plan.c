/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: the tables, and the settings that own what a configuration points to.
 *
 * The configuration of a plan points into the settings of its tables; the servers of each pool
 * point into the settings of its owner, which are others after an update of that pool alone.
 */
#include "src/router/plan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

/* ---- ports ---- */

static int by_address(const void *pa, const void *pb)
{
	return endpoint_cmp(&((const struct generation_port *)pa)->at,
			    &((const struct generation_port *)pb)->at);
}

/* All listeners of an address have TLS, or none has. */
static enum generation_opening opening_of(const struct l7_listener *l,
					  enum generation_opening others)
{
	if (l->tls.mode == L7_TLS_PASSTHROUGH || others == OPENING_HELLO)
		return OPENING_HELLO;
	if (l->tls.mode == L7_TLS_TERMINATE)
		return OPENING_TLS;
	return l->protocol == L7_HTTP ? OPENING_HTTP : OPENING_TCP;
}

/* Adds the listeners of one address; the entries of its table are in the order of listeners. */
static void fill_port(struct arena *arena, const struct l7_config *c, bool udp,
		      struct generation_port *p)
{
	size_t *listeners = arena_array_of(arena, c->n_listeners, size_t);
	struct l7_entry *entries = arena_array_of(arena, c->n_listeners, struct l7_entry);

	for (size_t i = 0; i < c->n_listeners; i++) {
		const struct l7_listener *l = &c->listeners[i];

		if ((l->protocol == L7_UDP) != udp || endpoint_cmp(&l->at, &p->at) != 0)
			continue;
		entries[p->n] =
			(struct l7_entry){ .host = l->host,
					   .match = { .kind = L7_PREFIX, .path = STR("/") } };
		listeners[p->n++] = i;
		p->opening = opening_of(l, p->opening);
	}
	p->listeners = listeners;
	if (p->n > 1 || entries[0].host.n)
		p->hosts = l7_table_build(arena, entries, p->n, settings_matches);
}

/* The addresses of connections, or those of datagrams. */
static const struct generation_port *compile_ports(struct arena *arena, const struct l7_config *c,
						   bool udp, size_t *ret_n)
{
	struct generation_port *ports =
		arena_array_of(arena, c->n_listeners, struct generation_port);
	size_t all = 0, n = 0;

	for (size_t i = 0; i < c->n_listeners; i++)
		if ((c->listeners[i].protocol == L7_UDP) == udp)
			ports[all++].at = c->listeners[i].at;
	if (all)
		qsort(ports, all, sizeof(*ports), by_address);
	for (size_t i = 0; i < all; i++)
		if (i == 0 || endpoint_cmp(&ports[i].at, &ports[n - 1].at) != 0)
			ports[n++].at = ports[i].at;
	for (size_t i = 0; i < n; i++)
		fill_port(arena, c, udp, &ports[i]);
	*ret_n = n;
	return ports;
}

/* ---- tables ---- */

static void compile_listeners(struct plan_tables *t, const struct l7_config *c)
{
	struct generation_listener *list =
		arena_array_of(t->arena, c->n_listeners, struct generation_listener);

	for (size_t i = 0; i < c->n_listeners; i++) {
		struct generation_listener *l = &list[i];

		l->config = &c->listeners[i];
		l->entries = l7_config_entries(c, i, t->arena);
		l->table = l7_table_build(t->arena, l->entries.entries, l->entries.n,
					  settings_matches);
		l->streams = l7_config_streams(c, i, t->arena);
		if (l->streams.n > 1 || (l->streams.n && l->streams.entries[0].host.n))
			l->names = l7_table_build(t->arena, l->streams.entries, l->streams.n,
						  settings_matches);
	}
	t->listeners = list;
}

/* Its path is not compared, and as a prefix it is "/". */
static void compile_fallback(struct plan_tables *t, const struct l7_rule *rule)
{
	static const struct l7_match any = { .kind = L7_PREFIX, .path = { "/", 1 } };

	if (rule)
		t->fallback =
			(struct l7_target){ NULL, rule, rule->n_matches ? rule->matches : &any };
}

static struct plan_tables *compile(struct settings *settings)
{
	struct arena *arena = arena_new();
	struct plan_tables *t = arena_new_of(arena, struct plan_tables);

	settings_compile(settings);
	t->references = 1;
	t->arena = arena;
	t->settings = settings;
	compile_listeners(t, &settings->config);
	t->ports = compile_ports(arena, &settings->config, false, &t->n_ports);
	t->udp_ports = compile_ports(arena, &settings->config, true, &t->n_udp_ports);
	compile_fallback(t, settings->config.fallback);
	return t;
}

static void release_tables(struct plan_tables *t)
{
	if (--t->references)
		return;
	settings_release(t->settings);
	arena_free(t->arena);
}

/* ---- plans ---- */

static struct plan *make(const struct l7_config *config, struct plan_tables *tables)
{
	struct plan *p = mem_zalloc(sizeof(*p));

	p->config = *config;
	p->tables = tables;
	p->references = 1;
	p->owners = mem_alloc((config->n_pools + 1) * sizeof(struct settings *));
	return p;
}

struct plan *plan_new(struct settings *settings)
{
	struct plan *p = make(&settings->config, compile(settings));

	for (size_t i = 0; i < p->config.n_pools; i++)
		p->owners[i] = settings_hold(settings);
	return p;
}

struct plan *plan_with_servers(const struct plan *from, size_t pool, struct settings *settings)
{
	struct plan *p = make(&from->config, from->tables);
	size_t n = p->config.n_pools;
	struct l7_pool *pools = mem_alloc(n * sizeof(*pools));

	assert(pool < n && settings->config.n_pools == 1);
	from->tables->references++;
	memcpy(pools, from->config.pools, n * sizeof(*pools));
	pools[pool].servers = settings->config.pools[0].servers;
	pools[pool].n_servers = settings->config.pools[0].n_servers;
	p->config.pools = pools;
	for (size_t i = 0; i < n; i++)
		p->owners[i] = i == pool ? settings : settings_hold(from->owners[i]);
	return p;
}

struct plan *plan_hold(struct plan *p)
{
	p->references++;
	return p;
}

void plan_release(struct plan *p)
{
	if (--p->references)
		return;
	for (size_t i = 0; i < p->config.n_pools; i++)
		settings_release(p->owners[i]);
	/* those of a whole configuration are in its settings */
	if (p->config.pools != p->tables->settings->config.pools)
		free((void *)(uintptr_t)p->config.pools);
	release_tables(p->tables);
	free(p->owners);
	free(p);
}
