/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the run-time state that belongs to a configuration.
 *
 * Two arrays run parallel to those of the configuration: pointers to backend states, each
 * allocated on its own so that it stays in place, and frontend states with their weights. The
 * model owns them and borrows the configuration. reload.c creates a model, moves it from one
 * configuration to the next, and frees it. This file has everything in between: results, commands
 * of the operator, weights, the aggregate state of a frontend.
 */
#include "core/l4/model.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "core/l4/guard.h"
#include "core/l4/override.h"
#include "core/l4/slow.h"
#include "core/l4/weight.h"

#define WEIGHT_MAX 100

static const char *const frontend_health_names[] = {
	[L4_FRONTEND_UNKNOWN] = "unknown",
	[L4_FRONTEND_UP] = "up",
	[L4_FRONTEND_DOWN] = "down",
};

/*
 * The index of the member for backend, in a list sorted by backend; SIZE_MAX if it is
 * not in the pool.
 */
static size_t find_member(const struct l4_pool *p, size_t backend)
{
	size_t at = sorted_place(p->n_members, i, p->members[i].backend < backend);

	return at < p->n_members && p->members[at].backend == backend ? at : SIZE_MAX;
}

static size_t find_pool(const struct l4_frontend *f, const char *name)
{
	for (size_t p = 0; p < f->n_pools; p++)
		if (strcmp(f->pools[p].name, name) == 0)
			return p;
	return SIZE_MAX;
}

/* Pause and resume are refused for a disabled backend. */
static bool is_off(const struct l4_backend_state *b)
{
	return b->health.state == HEALTH_DISABLED || b->health.state == HEALTH_REMOVED;
}

const char *l4_frontend_health_name(enum l4_frontend_health h)
{
	assert((size_t)h < ARRAY_SIZE(frontend_health_names));
	return frontend_health_names[h];
}

/* The history is an array and not a ring: it is usually short, and readers get it in order. */
void l4_backend_remember(struct l4_backend_state *b, const struct health_change *change,
			 const char *reason)
{
	assert(b->history_cap > 0);
	l4__slow_note(b, change);
	if (b->n_history == b->history_cap) {
		l4__forget_past(&b->history[0]);
		b->n_history--;
		memmove(b->history, b->history + 1, b->n_history * sizeof(*b->history));
	} else {
		b->history = mem_resize(b->history, b->n_history + 1, sizeof(*b->history));
	}
	b->history[b->n_history] = (struct l4_past){ .change = *change };
	l4__set_reason(&b->history[b->n_history++].reason, reason ? reason : "");
}

void l4_backend_credit(struct l4_backend_state *b, const struct who *who)
{
	struct l4_past *newest = &b->history[b->n_history - 1];

	assert(b->n_history > 0);
	free(newest->who);
	newest->who = who_dup(who);
}

bool l4_backend_record(const struct l4_model *m, struct l4_backend_state *b, enum health_code code,
		       bool local, int64_t now, struct health_change *ret)
{
	assert(!(local && health_code_is_pass(code)));
	if (health_is_operator(b->health.state))
		return false;
	/* a weight that was held all the time does not have to grow again */
	if (b->health.state == HEALTH_DOWN && health_code_is_pass(code) &&
	    (b->spared || (b->last_local && l4_guard_active(m))))
		b->away = false;
	b->has_result = true;
	b->last_code = code;
	b->last_local = local;
	/* A failure ends the sparing: from now on the backend is down by its own result. */
	b->spared = b->spared && health_code_is_pass(code);
	return health_record(&b->health, l4_backend_rule(m, b), code, now, ret);
}

void l4_backend_note_probe(struct l4_backend_state *b, const char *reason, int64_t ended,
			   int64_t duration)
{
	if (health_is_operator(b->health.state))
		return;
	l4__set_reason(&b->last_reason, reason);
	b->last_probe = ended;
	b->last_duration = duration;
}

int l4_backend_pause(struct l4_backend_state *b, int64_t now, struct health_change *ret)
{
	if (is_off(b))
		return -EPERM;
	if (!health_pause(&b->health, now, ret))
		return 0;
	l4__begin_override(&b->pause, now);
	return 1;
}

int l4_backend_resume(struct l4_backend_state *b, int64_t now, struct health_change *ret)
{
	bool cancelled = l4_backend_unplan(b);

	if (is_off(b))
		return cancelled ? 0 : -EPERM;
	if (!health_resume(&b->health, now, ret))
		return 0;
	l4__settle_overrides(b);
	return 1;
}

/*
 * Called after the state has changed: settling drops a pause that disabling has ended, and the
 * details of an override that agrees with the file.
 */
static void force(struct l4_backend_state *b, enum l4_enable enable, int64_t now)
{
	b->enable = enable;
	l4__begin_override(&b->enabling, now);
	l4__settle_overrides(b);
}

int l4_backend_disable(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		       struct health_change *ret)
{
	bool file = l4_backend_config(m, b)->enabled;

	if (!health_disable(&b->health, CODE_DISABLED, now, ret))
		return 0;
	force(b, file ? L4_ENABLE_FORCED_OFF : L4_ENABLE_CONFIGURED, now);
	return 1;
}

int l4_backend_enable(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret)
{
	bool file = l4_backend_config(m, b)->enabled;

	if (!health_enable(&b->health, CODE_ENABLED, now, ret))
		return 0;
	force(b, file ? L4_ENABLE_CONFIGURED : L4_ENABLE_FORCED_ON, now);
	return 1;
}

/* The place of a tuple; NULL if there is none. *ret_member, if given, is what the file says. */
static struct l4_weight *find_weight(const struct l4_model *m, const char *frontend,
				     const char *pool, const char *backend,
				     const struct l4_member **ret_member)
{
	size_t f = l4_config_frontend(m->config, frontend);
	size_t b = l4_config_backend(m->config, backend);
	size_t p, i;

	if (f == SIZE_MAX || b == SIZE_MAX)
		return NULL;
	p = find_pool(&m->config->frontends[f], pool);
	if (p == SIZE_MAX)
		return NULL;
	i = find_member(&m->config->frontends[f].pools[p], b);
	if (i == SIZE_MAX)
		return NULL;
	*ret_member = &m->config->frontends[f].pools[p].members[i];
	return &m->frontends[f].weights[p][i];
}

struct l4_weight *l4_model_weight(const struct l4_model *m, const char *frontend, const char *pool,
				  const char *backend)
{
	const struct l4_member *member;

	return find_weight(m, frontend, pool, backend, &member);
}

int l4_model_set_weight(struct l4_model *m, const char *frontend, const char *pool,
			const char *backend, unsigned weight)
{
	const struct l4_member *member;
	struct l4_weight *w = find_weight(m, frontend, pool, backend, &member);

	if (!w)
		return -ENOENT;
	if (weight > WEIGHT_MAX)
		return -ERANGE;
	l4__forget_weight(w);
	*w = (struct l4_weight){ .value = weight, .mutated = weight != member->weight };
	return 0;
}

const struct health_rule *l4_backend_rule(const struct l4_model *m,
					  const struct l4_backend_state *b)
{
	static const struct health_rule of_static = { .rise = 1, .fall = 1 };
	const struct l4_check *check = l4_backend_config(m, b)->check;

	return check ? &check->rule : &of_static;
}

bool l4_model_judge_frontend(struct l4_model *m, size_t i, int64_t now,
			     enum l4_frontend_health *ret_from)
{
	struct l4_frontend_state *f = &m->frontends[i];
	enum l4_frontend_health to = l4_frontend_judge(m, i);

	if (f->health == to)
		return false;
	*ret_from = f->health;
	f->health = to;
	f->since = now;
	return true;
}

bool l4_model_judge_pool(struct l4_model *m, size_t i, size_t *ret_from, size_t *ret_to)
{
	size_t *last = &m->frontends[i].last_pool;
	size_t from = *last, to = l4_active_pool(m, i);

	if (to == SIZE_MAX || to == from)
		return false;
	*last = to;
	if (from == SIZE_MAX)
		return false;
	*ret_from = from;
	*ret_to = to;
	return true;
}
