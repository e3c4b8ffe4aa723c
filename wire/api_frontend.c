/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: converts core's structs to messages, one file for each group of them: frontends here, then
 * api_backend.c, api_check.c, api_event.c, api_config.c, api_counters.c, api_lb.c. There is no
 * state: a message and everything in it that is not borrowed lives in the caller's arena.
 */
#include <assert.h>

#include "core/l4/slow.h"
#include "core/l4/weight.h"
#include "wire/api.h"
#include "wire/api_private.h"

/* A pool of a frontend, with the properties that its members share. */
struct pool {
	size_t frontend, index;
	const struct l4_pool *config;
	const struct l4_weight *weights;
	bool active;
};

/* The effective weight is computed and not stored, so that it always fits the current health. */
static Maglev__PoolBackendInfo *member(const struct l4_model *m, const struct pool *p, size_t i,
				       struct arena *a)
{
	Maglev__PoolBackendInfo *info =
		API__NEW(a, Maglev__PoolBackendInfo, maglev__pool_backend_info__init);
	const struct l4_backend_state *b = m->backends[p->config->members[i].backend];

	info->name = wire__text(b->name);
	info->weight = p->weights[i].value;
	info->effective_weight = l4_member_weight(m, p->frontend, p->index, i, p->active).weight;
	info->slow_start_until = l4_slow_until(m, p->config, b);
	info->configured_weight = p->config->members[i].weight;
	info->state = wire__text(health_state_name(b->health.state));
	info->mutated = p->weights[i].mutated;
	info->override = wire__override(b, a);
	if (p->weights[i].set)
		info->weight_override = wire__override_as("weight", p->weights[i].set, a);
	return info;
}

static Maglev__PoolInfo *pool(const struct l4_model *m, const struct pool *p, struct arena *a)
{
	Maglev__PoolInfo *info = API__NEW(a, Maglev__PoolInfo, maglev__pool_info__init);

	info->name = wire__text(p->config->name);
	info->active = p->active;
	info->slow_start = p->config->slow_start;
	info->n_backends = p->config->n_members;
	info->backends = arena_array_of(a, info->n_backends, Maglev__PoolBackendInfo *);
	for (size_t i = 0; i < info->n_backends; i++)
		info->backends[i] = member(m, p, i, a);
	return info;
}

static void set_pools(Maglev__FrontendInfo *info, const struct l4_model *m, size_t frontend,
		      struct arena *a)
{
	const struct l4_frontend *config = &m->config->frontends[frontend];
	size_t active = l4_active_pool(m, frontend);

	info->n_pools = config->n_pools;
	info->pools = arena_array_of(a, config->n_pools, Maglev__PoolInfo *);
	for (size_t i = 0; i < config->n_pools; i++) {
		struct pool p = { frontend, i, &config->pools[i], m->frontends[frontend].weights[i],
				  i == active };

		info->pools[i] = pool(m, &p, a);
	}
	info->active_pool = wire__text(active < config->n_pools ? config->pools[active].name : "");
}

Maglev__FrontendInfo *wire_frontend(const struct l4_model *m, size_t frontend, struct arena *a)
{
	Maglev__FrontendInfo *info = API__NEW(a, Maglev__FrontendInfo, maglev__frontend_info__init);
	const struct l4_frontend *config = &m->config->frontends[frontend];
	const struct l4_frontend_state *f = &m->frontends[frontend];

	assert(frontend < m->config->n_frontends);
	info->name = wire__text(config->name);
	info->address = wire__addr(&config->address, a);
	info->protocol = wire__text(l4_protocol_name(config->protocol));
	info->port = config->port;
	info->description = wire__text(config->description);
	info->src_ip_sticky = config->src_ip_sticky;
	info->flush_on_down = config->flush_on_down;
	info->state = wire__text(l4_frontend_health_name(f->health));
	info->since = f->since;
	info->released = f->released;
	info->pending = !f->written;
	set_pools(info, m, frontend, a);
	return info;
}

Maglev__ListFrontendsResponse *wire_frontends(const struct l4_model *m, size_t first, size_t n,
					      struct arena *a)
{
	Maglev__ListFrontendsResponse *list =
		API__NEW(a, Maglev__ListFrontendsResponse, maglev__list_frontends_response__init);

	list->n_frontends = wire__rows(m->config->n_frontends, first, n);
	list->frontends = arena_array_of(a, list->n_frontends, Maglev__FrontendInfo *);
	for (size_t i = 0; i < list->n_frontends; i++)
		list->frontends[i] = wire_frontend(m, first + i, a);
	return list;
}
