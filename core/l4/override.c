/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/override.h"

#include <assert.h>
#include <errno.h>
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

/* When there is something to do for the planned pause. */
static int64_t next_of_plan(const struct l4_backend_state *b)
{
	if (!b->planned.from)
		return INT64_MAX;
	return b->health.state == HEALTH_DISABLED ? end_of(&b->planned) : b->planned.from;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t next_turn(const struct l4_backend_state *b)
{
	return least(next_of_plan(b), least(end_of(&b->pause), end_of(&b->enabling)));
}

/* Replaces what the operator said; since when it is in force stays. */
static void annotate(struct l4_override *o, const struct l4_note *note)
{
	assert(note->until >= 0);
	l4__set_reason(&o->reason, note->reason);
	o->until = note->until;
	free(o->who);
	o->who = who_dup(note->who);
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

void l4_backend_annotate(struct l4_backend_state *b, enum l4_act act, const struct l4_note *note)
{
	if (is_in_force(b, act))
		annotate(act == L4_ACT_PAUSED ? &b->pause : &b->enabling, note);
}

void l4_weight_annotate(struct l4_weight *w, const struct l4_note *note, int64_t now)
{
	if (!w->mutated)
		return;
	if (!w->set)
		w->set = mem_zalloc(sizeof(*w->set));
	w->set->at = now;
	annotate(w->set, note);
}

void l4_backend_plan(struct l4_backend_state *b, const struct l4_note *note, int64_t now)
{
	assert(note->from > 0);
	l4__begin_override(&b->planned, now);
	annotate(&b->planned, note);
	b->planned.from = note->from;
}

bool l4_backend_unplan(struct l4_backend_state *b)
{
	bool was = b->planned.from != 0;

	if (was)
		l4__begin_override(&b->planned, 0);
	return was;
}

bool l4_backend_plan_is_due(const struct l4_backend_state *b, int64_t now)
{
	return next_of_plan(b) <= now;
}

int l4_backend_begin_planned(struct l4_backend_state *b, int64_t now, struct health_change *ret)
{
	struct l4_override plan = b->planned;
	bool paused = is_paused(b);
	int r;

	assert(l4_backend_plan_is_due(b, now));
	b->planned = (struct l4_override){ 0 };
	r = end_of(&plan) <= now ? -ETIME : health_pause(&b->health, now, ret);
	if (r < 0 || (paused && end_of(&plan) < end_of(&b->pause))) {
		l4__begin_override(&plan, 0);
		return r;
	}
	plan.at = paused ? b->pause.at : now;
	plan.from = 0;
	l4__begin_override(&b->pause, 0);
	b->pause = plan;
	return r;
}

int64_t l4_model_next_expiry(const struct l4_model *m)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < m->config->n_backends; i++) {
		int64_t end = next_turn(m->backends[i]);

		first = end < first ? end : first;
	}
	return first;
}

struct l4_backend_state *l4_model_expired(const struct l4_model *m, int64_t now)
{
	for (size_t i = 0; i < m->config->n_backends; i++)
		if (next_turn(m->backends[i]) <= now)
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
	free(o->who);
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

void l4__forget_past(struct l4_past *past)
{
	free(past->reason);
	free(past->who);
}

void l4__forget_weight(struct l4_weight *w)
{
	if (!w->set)
		return;
	l4__begin_override(w->set, 0);
	free(w->set);
	w->set = NULL;
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
