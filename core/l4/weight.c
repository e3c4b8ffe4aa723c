/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight: from health to weights.
 *
 * There is no state: the active pool and the aggregate state are computed from the model each
 * time. The weight that counts is always the one in force: the operator's if set at run time,
 * else the file's.
 */
#include "core/l4/weight.h"

#include <assert.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "core/l4/slow.h"

enum flush { FLUSH_NEVER, FLUSH_IF_ASKED, FLUSH_ALWAYS };

/*
 * What each state means for new flows (serves) and for existing ones (flush): a down backend is
 * flushed if flush-on-down is set, a paused one drains, a disabled one is always flushed.
 */
static const struct {
	bool serves; /* if its pool is active */
	enum flush flush;
} table[HEALTH_STATES] = {
	[HEALTH_UNKNOWN] = { false, FLUSH_NEVER },   [HEALTH_UP] = { true, FLUSH_NEVER },
	[HEALTH_DOWN] = { false, FLUSH_IF_ASKED },   [HEALTH_PAUSED] = { false, FLUSH_NEVER },
	[HEALTH_DISABLED] = { false, FLUSH_ALWAYS }, [HEALTH_REMOVED] = { false, FLUSH_ALWAYS },
};

static enum health_state member_state(const struct l4_model *m, const struct l4_pool *p,
				      size_t member)
{
	return m->backends[p->members[member].backend]->health.state;
}

static bool pool_serves(const struct l4_model *m, size_t frontend, size_t pool)
{
	const struct l4_pool *p = &m->config->frontends[frontend].pools[pool];
	const struct l4_weight *weights = m->frontends[frontend].weights[pool];

	for (size_t i = 0; i < p->n_members; i++)
		if (weights[i].value > 0 && table[member_state(m, p, i)].serves)
			return true;
	return false;
}

size_t l4_pool_servers(const struct l4_model *m, size_t frontend, size_t pool)
{
	const struct l4_pool *p = &m->config->frontends[frontend].pools[pool];
	const struct l4_weight *weights = m->frontends[frontend].weights[pool];
	size_t n = 0;

	for (size_t i = 0; i < p->n_members; i++)
		n += weights[i].value > 0 && table[member_state(m, p, i)].serves;
	return n;
}

static bool all_unknown(const struct l4_model *m, const struct l4_frontend *f)
{
	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t i = 0; i < f->pools[p].n_members; i++)
			if (member_state(m, &f->pools[p], i) != HEALTH_UNKNOWN)
				return false;
	return true;
}

struct l4_effective l4_effective_weight(enum health_state state, bool pool_active,
					unsigned configured, bool flush_on_down)
{
	assert((size_t)state < ARRAY_SIZE(table));
	return (struct l4_effective){
		.weight = table[state].serves && pool_active ? configured : 0,
		.flush = table[state].flush == FLUSH_ALWAYS ||
			 (table[state].flush == FLUSH_IF_ASKED && flush_on_down),
	};
}

struct l4_effective l4_member_weight(const struct l4_model *m, size_t frontend, size_t pool,
				     size_t member, bool pool_active)
{
	const struct l4_frontend *f = &m->config->frontends[frontend];
	const struct l4_pool *p = &f->pools[pool];
	const struct l4_backend_state *b = m->backends[p->members[member].backend];
	struct l4_effective e =
		l4_effective_weight(b->health.state, pool_active,
				    m->frontends[frontend].weights[pool][member].value,
				    f->flush_on_down);

	e.weight = l4_slow_weight(e.weight, l4_slow_share(b->returned, p->slow_start, m->slow_now));
	return e;
}

size_t l4_active_pool(const struct l4_model *m, size_t frontend)
{
	assert(frontend < m->config->n_frontends);
	for (size_t p = 0; p < m->config->frontends[frontend].n_pools; p++)
		if (pool_serves(m, frontend, p))
			return p;
	return SIZE_MAX;
}

enum l4_frontend_health l4_frontend_judge(const struct l4_model *m, size_t frontend)
{
	/* a pool is active exactly if some tuple has an effective weight above 0 */
	if (l4_active_pool(m, frontend) != SIZE_MAX)
		return L4_FRONTEND_UP;
	return all_unknown(m, &m->config->frontends[frontend]) ? L4_FRONTEND_UNKNOWN
							       : L4_FRONTEND_DOWN;
}
