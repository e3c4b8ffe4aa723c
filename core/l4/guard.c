/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: a vote of all probed backends; a single one with a result from outside outvotes the
 * rest.
 */
#include "core/l4/guard.h"

/* Whether the backend is probed and has had a result since it last was unknown. */
static bool has_a_say(const struct l4_model *m, size_t backend)
{
	enum health_state state = m->backends[backend]->health.state;

	return m->config->backends[backend].check != NULL &&
	       (state == HEALTH_UP || state == HEALTH_DOWN);
}

bool l4_guard_active(const struct l4_model *m)
{
	bool any = false;

	if (!m->config->all_down_guard)
		return false;
	for (size_t i = 0; i < m->config->n_backends; i++) {
		if (!has_a_say(m, i))
			continue;
		if (!m->backends[i]->last_local)
			return false;
		any = true;
	}
	return any;
}

/*
 * A backend whose last result is a pass is spared, too: it is on its way up and down only because
 * of earlier local failures.
 */
void l4_guard_lowered(struct l4_model *m)
{
	for (size_t i = 0; i < m->config->n_backends; i++) {
		struct l4_backend_state *b = m->backends[i];

		b->spared = m->config->all_down_guard && has_a_say(m, i) &&
			    (b->last_local || health_code_is_pass(b->last_code));
	}
}
