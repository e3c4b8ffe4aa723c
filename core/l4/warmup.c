/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmup: what may be written to the data plane after a start.
 *
 * The clock is passed as two parameters, so nothing here can reset it (NFR-1.3). The caller asks
 * for the phase, waits for warmup_next(), and marks frontends as released in the model.
 */
#include "core/l4/warmup.h"

#include <assert.h>

#include "base/cleanup.h"

static const char *const phase_names[] = {
	[WARMUP_HANDS_OFF] = "hands-off",
	[WARMUP_RELEASING] = "releasing",
	[WARMUP_DONE] = "done",
};

/* at + delay, saturated. */
static int64_t later(int64_t at, int64_t delay)
{
	int64_t sum;

	return __builtin_add_overflow(at, delay, &sum) ? INT64_MAX : sum;
}

/* Whether the backend is probed and has no result yet. */
static bool holds(const struct l4_model *m, size_t backend)
{
	return m->config->backends[backend].check != NULL &&
	       m->backends[backend]->health.state == HEALTH_UNKNOWN;
}

const char *warmup_phase_name(enum warmup_phase p)
{
	assert((size_t)p < ARRAY_SIZE(phase_names));
	return phase_names[p];
}

enum warmup_phase warmup_phase(const struct l4_lb *lb, int64_t start, int64_t now)
{
	assert(lb->startup_min_delay <= lb->startup_max_delay);
	if (now < later(start, lb->startup_min_delay))
		return WARMUP_HANDS_OFF;
	return now < later(start, lb->startup_max_delay) ? WARMUP_RELEASING : WARMUP_DONE;
}

int64_t warmup_next(const struct l4_lb *lb, int64_t start, int64_t now)
{
	switch (warmup_phase(lb, start, now)) {
	case WARMUP_HANDS_OFF:
		return later(start, lb->startup_min_delay);
	case WARMUP_RELEASING:
		return later(start, lb->startup_max_delay);
	case WARMUP_DONE:
		break;
	}
	return INT64_MAX;
}

bool warmup_vip_ready(const struct l4_model *m, size_t frontend)
{
	const struct l4_frontend *f = &m->config->frontends[frontend];

	assert(frontend < m->config->n_frontends);
	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t i = 0; i < f->pools[p].n_members; i++)
			if (holds(m, f->pools[p].members[i].backend))
				return false;
	return true;
}
