/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/override.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const act_names[] = {
	[L4_ACT_PAUSED] = "paused",
	[L4_ACT_DISABLED] = "disabled",
	[L4_ACT_ENABLED] = "enabled",
};

static bool is_paused(const struct l4_backend_state *b)
{
	return b->health.state == HEALTH_PAUSED;
}

static bool is_in_force(const struct l4_backend_state *b, enum l4_act act)
{
	switch (act) {
	case L4_ACT_PAUSED:
		return is_paused(b);
	case L4_ACT_DISABLED:
		return b->enable == L4_ENABLE_FORCED_OFF;
	case L4_ACT_ENABLED:
		return b->enable == L4_ENABLE_FORCED_ON;
	}
	return false;
}

/* When an override ends. One that ends only by command, or is not in force, never does. */
static int64_t end_of(const struct l4_override *o)
{
	return o->until ? o->until : INT64_MAX;
}

static int64_t next_end(const struct l4_backend_state *b)
{
	int64_t pause = end_of(&b->pause), enabling = end_of(&b->enabling);

	return pause < enabling ? pause : enabling;
}

const char *l4_act_name(enum l4_act a)
{
	assert((size_t)a < ARRAY_SIZE(act_names));
	return act_names[a];
}

bool l4_backend_override(const struct l4_backend_state *b, enum l4_act *ret_act,
			 const struct l4_override **ret)
{
	for (size_t act = 0; act < ARRAY_SIZE(act_names); act++) {
		if (!is_in_force(b, (enum l4_act)act))
			continue;
		*ret_act = (enum l4_act)act;
		*ret = act == L4_ACT_PAUSED ? &b->pause : &b->enabling;
		return true;
	}
	return false;
}

void l4_backend_annotate(struct l4_backend_state *b, enum l4_act act, const char *reason,
			 int64_t until)
{
	struct l4_override *o = act == L4_ACT_PAUSED ? &b->pause : &b->enabling;

	assert(until >= 0);
	if (!is_in_force(b, act))
		return;
	l4__set_reason(&o->reason, reason);
	o->until = until;
}

int64_t l4_model_next_expiry(const struct l4_model *m)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < m->config->n_backends; i++) {
		int64_t end = next_end(m->backends[i]);

		first = end < first ? end : first;
	}
	return first;
}

struct l4_backend_state *l4_model_expired(const struct l4_model *m, int64_t now)
{
	for (size_t i = 0; i < m->config->n_backends; i++)
		if (next_end(m->backends[i]) <= now)
			return m->backends[i];
	return NULL;
}

/*
 * Only one override per call, so that each change of state is reported on its own; the caller
 * asks l4_model_expired() again.
 */
int l4_backend_expire(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret)
{
	bool changed = false;

	if (end_of(&b->pause) <= now) {
		changed = health_resume(&b->health, now, ret);
	} else if (end_of(&b->enabling) <= now) {
		b->enable = L4_ENABLE_CONFIGURED;
		changed = l4_backend_config(m, b)->enabled
				  ? health_enable(&b->health, CODE_ENABLED, now, ret)
				  : health_disable(&b->health, CODE_DISABLED, now, ret);
	}
	l4__settle_overrides(b);
	return changed;
}

void l4__begin_override(struct l4_override *o, int64_t now)
{
	free(o->reason);
	*o = (struct l4_override){ .at = now };
}

/* Avoids writing to pages that a forked process shares. */
static void forget(struct l4_override *o)
{
	if (o->reason || o->at || o->until)
		l4__begin_override(o, 0);
}

void l4__settle_overrides(struct l4_backend_state *b)
{
	if (!is_paused(b))
		forget(&b->pause);
	if (b->enable == L4_ENABLE_CONFIGURED)
		forget(&b->enabling);
}

/* Invalid bytes are kept here and replaced where the text is sent. */
void l4__set_reason(char **to, const char *from)
{
	size_t n = utf8_fitting(from, strlen(from), L4_REASON_SIZE - 1);

	free(*to);
	*to = NULL;
	if (!n)
		return;
	*to = mem_zalloc(n + 1);
	memcpy(*to, from, n);
}
