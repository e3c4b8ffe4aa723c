/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/slow.h"

#include <assert.h>

/* How many steps fit; a time that is too short for two has none. */
static int64_t steps_of(int64_t slow_start)
{
	int64_t steps = slow_start / L4_SLOW_STEP_MIN;

	return steps > L4_SLOW_STEPS ? L4_SLOW_STEPS : steps;
}

/* The number of the step at a time, from 1; a clock that went back is at the first. */
static int64_t step_at(int64_t returned, int64_t slow_start, int64_t now)
{
	int64_t steps = steps_of(slow_start), length = steps ? slow_start / steps : 0;
	int64_t step;

	if (!returned || steps < 2 || now >= returned + slow_start)
		return steps;
	step = now > returned ? (now - returned) / length + 1 : 1;
	return step < steps ? step : steps;
}

unsigned l4_slow_share(int64_t returned, int64_t slow_start, int64_t now)
{
	int64_t steps = steps_of(slow_start);

	if (steps < 2)
		return 100;
	return (unsigned)(step_at(returned, slow_start, now) * 100 / steps);
}

unsigned l4_slow_weight(unsigned weight, unsigned share)
{
	unsigned part = (weight * share + 50) / 100;

	assert(share >= 1 && share <= 100);
	return weight && !part ? 1 : part;
}

int64_t l4_slow_until(const struct l4_model *m, const struct l4_pool *p,
		      const struct l4_backend_state *b)
{
	if (b->health.state != HEALTH_UP ||
	    l4_slow_share(b->returned, p->slow_start, m->slow_now) == 100)
		return 0;
	/* the last step begins when all others are over */
	return b->returned + p->slow_start - p->slow_start / steps_of(p->slow_start);
}

/* When the share of a backend in a pool grows next. */
static int64_t next_of(const struct l4_model *m, const struct l4_pool *p,
		       const struct l4_backend_state *b)
{
	int64_t length;

	if (!l4_slow_until(m, p, b))
		return INT64_MAX;
	length = p->slow_start / steps_of(p->slow_start);
	return b->returned + step_at(b->returned, p->slow_start, m->slow_now) * length;
}

int64_t l4_model_slow_next(const struct l4_model *m)
{
	int64_t next = INT64_MAX;

	for (size_t f = 0; f < m->config->n_frontends; f++)
		for (size_t p = 0; p < m->config->frontends[f].n_pools; p++) {
			const struct l4_pool *pool = &m->config->frontends[f].pools[p];

			for (size_t i = 0; pool->slow_start && i < pool->n_members; i++) {
				int64_t at =
					next_of(m, pool, m->backends[pool->members[i].backend]);

				next = at < next ? at : next;
			}
		}
	return next;
}

static void step_pool(const struct l4_model *m, size_t frontend, const struct l4_pool *pool,
		      int64_t now, struct l4_slow_growths *ret)
{
	for (size_t i = 0; pool->slow_start && i < pool->n_members; i++) {
		size_t backend = pool->members[i].backend;
		const struct l4_backend_state *b = m->backends[backend];

		if (b->health.state == HEALTH_UP &&
		    l4_slow_share(b->returned, pool->slow_start, m->slow_now) !=
			    l4_slow_share(b->returned, pool->slow_start, now))
			vec_push(&ret->list, (struct l4_slow_growth){ frontend, backend });
	}
}

void l4_model_slow_step(struct l4_model *m, int64_t now, struct l4_slow_growths *ret)
{
	for (size_t f = 0; f < m->config->n_frontends; f++)
		for (size_t p = 0; p < m->config->frontends[f].n_pools; p++)
			step_pool(m, f, &m->config->frontends[f].pools[p], now, ret);
	m->slow_now = now;
}

/* Unknown is on the way to up or down: whether the backend was away stays as it is. */
void l4__slow_note(struct l4_backend_state *b, const struct health_change *change)
{
	switch (change->to) {
	case HEALTH_UP:
		b->returned = b->away ? change->at : 0;
		b->away = false;
		break;
	case HEALTH_DOWN:
	case HEALTH_PAUSED:
	case HEALTH_DISABLED:
	case HEALTH_REMOVED:
		b->away = true;
		b->returned = 0;
		break;
	case HEALTH_UNKNOWN:
		break;
	}
}
