/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/generation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

/*
 * What pools that were compiled together own. Counted by the control thread: one reference for each
 * of the pools in each generation. So a pool is shared by counting up one number; a server that an
 * update of its pool has removed stays until the other pools of that time have gone, too.
 */
struct generation_memory {
	unsigned references;
	struct arena *arena;
	struct holding *holdings; /* list: of each pool */
};

struct holding {
	struct holding *next;
	struct server **servers;
	size_t n;
	struct name *name;
	struct table *table;
	struct secure *secure;
};

static struct generation_memory *memory_new(void)
{
	struct arena *arena = arena_new();
	struct generation_memory *m = arena_new_of(arena, struct generation_memory);

	m->arena = arena;
	return m;
}

static void memory_release(struct generation_memory *m)
{
	struct quota *quota;

	if (--m->references)
		return;
	for (struct holding *h = m->holdings; h; h = h->next) {
		for (size_t i = 0; i < h->n; i++)
			servers_release(h->servers[i]);
		tables_release(h->table);
		secures_release(h->secure);
		quota = names_release(h->name);
		if (quota)
			quota_release(quota);
	}
	arena_free(m->arena);
}

/* ---- pools ---- */

static void hold(struct generation_memory *m, const struct generation_pool *p)
{
	struct holding *h = arena_new_of(m->arena, struct holding);

	*h = (struct holding){ .next = m->holdings,
			       .servers = p->servers,
			       .n = p->config->n_servers,
			       .name = p->name,
			       .table = p->table,
			       .secure = p->secure };
	m->holdings = h;
	m->references++;
}

static void compile_pool(struct generation_memory *m, struct generation_pool *p,
			 const struct l7_pool *config, const struct generation_shared *shared)
{
	uint32_t *weights = arena_array_of(m->arena, config->n_servers, uint32_t);

	p->memory = m;
	p->config = config;
	p->name = names_take(shared->pools, config->name);
	if (!p->name->user)
		p->name->user = quota_new(shared->threads, shared->call, shared->user);
	p->quota = p->name->user;
	p->servers = arena_array_of(m->arena, config->n_servers, struct server *);
	for (size_t i = 0; i < config->n_servers; i++) {
		const struct l7_server *s = &config->servers[i];

		p->servers[i] = servers_take(shared->servers, p->quota, config->name, s->host,
					     s->port, s->tls);
		weights[i] = s->drain ? 0 : s->weight;
	}
	p->schedule = l7_schedule_build(m->arena, weights, config->n_servers);
	if (config->balance == L7_MAGLEV)
		p->table = tables_take(shared->tables, config->servers, config->n_servers);
	p->secure = secures_take(shared->secures, config);
	hold(m, p);
}

/* ---- sessions ---- */

static int by_key(const void *pa, const void *pb)
{
	const struct generation_session *a = pa, *b = pb;

	return a->key < b->key ? -1 : a->key > b->key;
}

static void list_sessions(struct generation_pool *p)
{
	size_t n = p->config->n_servers;
	struct generation_session *list;

	if (p->sessions || !n)
		return;
	list = arena_array_of(p->memory->arena, n, struct generation_session);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct generation_session){ p->servers[i]->key, i };
	qsort(list, n, sizeof(*list), by_key);
	p->sessions = list;
}

static void compile_sessions(struct generation *g, const struct l7_rule *rule)
{
	for (size_t i = 0; rule->persistence.enabled && i < rule->n_backends; i++)
		if (rule->backends[i].pool != L7_NO_POOL)
			list_sessions(&g->pools[rule->backends[i].pool]);
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
static void add_serving(struct generation *g, const struct generation_pool *p)
{
	for (size_t k = 0; k < p->schedule.n; k++) {
		const struct server *s = p->servers[p->schedule.turns[k]];

		g->serving[s->number] = s->id;
	}
}

static void make_serving(struct generation *g, const struct servers *servers)
{
	g->n_serving = servers_bound(servers);
	g->serving = mem_zalloc((g->n_serving + 1) * sizeof(*g->serving));
}

/* Only one pool has other servers than before. */
static void change_serving(struct generation *g, const struct generation *from, size_t pool)
{
	const struct generation_pool *old = &from->pools[pool];

	memcpy(g->serving, from->serving, from->n_serving * sizeof(*g->serving));
	for (size_t k = 0; k < old->config->n_servers; k++)
		g->serving[old->servers[k]->number] = 0;
	add_serving(g, &g->pools[pool]);
}

static void share_pool(struct generation_pool *p, const struct generation_pool *from,
		       const struct l7_pool *config)
{
	*p = *from;
	p->config = config;
	p->memory->references++;
}

/* ---- ports ---- */

static int by_address(const void *pa, const void *pb)
{
	return endpoint_cmp(&((const struct generation_port *)pa)->at,
			    &((const struct generation_port *)pb)->at);
}

static const struct generation_port *find_port(const struct generation_port *ports, size_t n,
					       const struct endpoint *at)
{
	const struct generation_port key = { .at = *at };

	return n ? bsearch(&key, ports, n, sizeof(*ports), by_address) : NULL;
}

const struct generation_port *generation_port(const struct generation *g, const struct endpoint *at)
{
	return find_port(g->ports, g->n_ports, at);
}

const struct generation_port *generation_udp_port(const struct generation *g,
						  const struct endpoint *at)
{
	return find_port(g->udp_ports, g->n_udp_ports, at);
}

/* ---- streams ---- */

size_t generation_stream(const struct generation_listener *l, struct str host)
{
	const struct l7_request r = { .host = host, .path = STR("/") };
	size_t i = l->names ? l7_table_find(l->names, &r) : 0;

	return i < l->streams.n ? l->streams.streams[i] : L7_NONE;
}

/* ---- requests ---- */

const struct generation_listener *
generation_listener(const struct generation *g, const struct generation_port *p, struct str host)
{
	const struct l7_request r = { .host = host, .path = STR("/") };
	size_t i = p->hosts ? l7_table_find(p->hosts, &r) : 0;

	return i == L7_NONE ? NULL : &g->listeners[p->listeners[i]];
}

const struct l7_target *generation_find(const struct generation *g,
					const struct generation_listener *l,
					const struct l7_request *r)
{
	size_t entry = l7_table_find(l->table, r);

	if (entry != L7_NONE)
		return &l->entries.targets[entry];
	return g->fallback.rule ? &g->fallback : NULL;
}

/* ---- names of routes ---- */

/* Shared by generations with the same routes and streams. Counted by the control thread. */
struct generation_names {
	unsigned references;
	size_t n, n_streams;
	struct name *fallback, *unrouted;
	struct name *list[]; /* of the routes, then of the streams */
};

/* The default route has the statistics of its name; it may have none. */
static struct generation_names *name_routes(const struct l7_config *c,
					    const struct generation_shared *shared)
{
	struct names *names = shared->routes;
	struct generation_names *n =
		mem_alloc(sizeof(*n) + (c->n_routes + c->n_streams) * sizeof(struct name *));

	n->references = 0;
	n->n = c->n_routes;
	n->n_streams = c->n_streams;
	for (size_t i = 0; i < n->n; i++)
		n->list[i] = names_take(names, c->routes[i].name);
	for (size_t i = 0; i < n->n_streams; i++)
		n->list[n->n + i] = names_take(shared->streams, c->streams[i].name);
	n->fallback = names_take(names, c->fallback ? c->fallback->name : GENERATION_UNROUTED);
	n->unrouted = names_take(names, GENERATION_UNROUTED);
	return n;
}

static void use_names(struct generation *g, struct generation_names *names)
{
	names->references++;
	g->names = names;
	g->routes = names->list;
	g->streams = names->list + names->n;
	g->fallback_name = names->fallback;
	g->unrouted = names->unrouted;
}

static void release_names(struct generation_names *names)
{
	if (--names->references)
		return;
	for (size_t i = 0; i < names->n + names->n_streams; i++)
		names_release(names->list[i]);
	names_release(names->fallback);
	names_release(names->unrouted);
	free(names);
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
	g->udp_ports = plan->tables->udp_ports;
	g->n_udp_ports = plan->tables->n_udp_ports;
	g->fallback = plan->tables->fallback;
	g->pools = mem_zalloc((g->config.n_pools + 1) * sizeof(*g->pools));
	atomic_init(&g->references, 1);
	return g;
}

struct generation *generation_new(struct plan *plan, const struct generation_shared *shared,
				  uint64_t number)
{
	struct generation *g = make(plan, number);
	struct generation_memory *m = g->config.n_pools ? memory_new() : NULL;

	for (size_t i = 0; i < g->config.n_pools; i++)
		compile_pool(m, &g->pools[i], &g->config.pools[i], shared);
	compile_all_sessions(g);
	make_serving(g, shared->servers);
	for (size_t i = 0; i < g->config.n_pools; i++)
		add_serving(g, &g->pools[i]);
	use_names(g, name_routes(&g->config, shared));
	return g;
}

static struct vault_item **new_secrets(const struct generation *g)
{
	return mem_zalloc((g->config.n_listeners + 1) * sizeof(struct vault_item *));
}

static void share_secrets(struct generation *g, const struct generation *from)
{
	g->secrets = new_secrets(g);
	for (size_t i = 0; from->secrets && i < g->config.n_listeners; i++)
		g->secrets[i] = vault_hold(from->secrets[i]);
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
	if (from->pools[pool].sessions)
		list_sessions(&g->pools[pool]);
	make_serving(g, shared->servers);
	change_serving(g, from, pool);
	use_names(g, from->names);
	share_secrets(g, from);
	return g;
}

int generation_secure(struct generation *g, struct vault *v, struct buf *why)
{
	for (size_t i = 0; i < g->config.n_pools; i++)
		if (g->pools[i].secure && secures_complain(g->pools[i].secure, i, why) < 0)
			return -EINVAL;
	g->secrets = new_secrets(g);
	if (vault_take_all(v, &g->config, g->secrets, why) == 0)
		return 0;
	free(TAKE_PTR(g->secrets));
	return -EINVAL;
}

static void free_secrets(struct generation *g)
{
	for (size_t i = 0; g->secrets && i < g->config.n_listeners; i++)
		vault_give(g->secrets[i]);
	free(g->secrets);
}

void generation_tally(struct generation *g, unsigned threads, const struct generation *from)
{
	size_t size = sizeof(struct tallies) + threads * sizeof(struct tally);

	if (from) {
		g->tallies = from->tallies;
	} else {
		g->tallies = mem_zalloc(size);
		g->tallies->n = threads;
	}
	g->tallies->references++;
}

struct l7_tally generation_sum(const struct generation *g)
{
	struct l7_tally sum = { 0 };

	for (unsigned i = 0; g->tallies && i < g->tallies->n; i++) {
		const struct tally *t = &g->tallies->threads[i];

		/* errors first: there are never more errors than answers */
		sum.errors += atomic_load_explicit(&t->errors, memory_order_acquire);
		sum.answers += atomic_load_explicit(&t->answers, memory_order_relaxed);
	}
	return sum;
}

void generation_free(struct generation *g)
{
	if (g->tallies && --g->tallies->references == 0)
		free(g->tallies);
	for (size_t i = 0; i < g->config.n_pools; i++)
		memory_release(g->pools[i].memory);
	free_secrets(g);
	release_names(g->names);
	plan_release(g->plan);
	free(g->serving);
	free(g->pools);
	free(g);
}
