/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/l4/override.h"
#include "core/l4/slow.h"
#include "wire/api.h"
#include "wire/api_private.h"

static Maglev__Transition *transition(const struct l4_past *past, struct arena *a)
{
	const struct health_change *change = &past->change;
	Maglev__Transition *t = API__NEW(a, Maglev__Transition, maglev__transition__init);

	t->from = wire__text(health_state_name(change->from));
	t->to = wire__text(health_state_name(change->to));
	t->code = wire__text(health_code_name(change->why));
	t->at = change->at;
	t->reason = wire__text(past->reason);
	wire__who(past->who, &t->operator_, &t->operator_address, a);
	return t;
}

/* The API has the newest transition first, the model has it last. */
static void set_transitions(Maglev__BackendInfo *info, const struct l4_backend_state *b,
			    struct arena *a)
{
	info->n_transitions = b->n_history;
	info->transitions = arena_array_of(a, b->n_history, Maglev__Transition *);
	for (size_t i = 0; i < b->n_history; i++)
		info->transitions[i] = transition(&b->history[b->n_history - 1 - i], a);
}

void wire__who(const struct who *w, char **ret_name, char **ret_address, struct arena *a)
{
	if (!w)
		return;
	*ret_name = wire__text(w->name);
	*ret_address = wire__addr(&w->address, a);
}

Maglev__Override *wire__override_as(const char *act, const struct l4_override *o, struct arena *a)
{
	Maglev__Override *info = API__NEW(a, Maglev__Override, maglev__override__init);

	info->act = wire__text(act);
	info->reason = wire__text(o->reason);
	info->at = o->at;
	info->until = o->until;
	info->from = o->from;
	wire__who(o->who, &info->operator_, &info->operator_address, a);
	return info;
}

Maglev__Override *wire__override(const struct l4_backend_state *b, struct arena *a)
{
	const struct l4_override *o;
	enum l4_act act;

	return l4_backend_override(b, &act, &o) ? wire__override_as(l4_act_name(act), o, a) : NULL;
}

static void set_frontends(Maglev__BackendInfo *info, const struct l4_model *m,
			  const struct l4_backend *config, struct arena *a)
{
	info->n_frontends = config->n_frontends;
	info->frontends = arena_array_of(a, config->n_frontends, char *);
	for (size_t i = 0; i < config->n_frontends; i++)
		info->frontends[i] = wire__text(m->config->frontends[config->frontends[i]].name);
}

/* The last of its slow starts, in whichever frontend; 0: none. */
static int64_t slow_until(const struct l4_model *m, const struct l4_backend_state *b,
			  const struct l4_backend *config)
{
	int64_t last = 0;

	for (size_t i = 0; i < config->n_frontends; i++) {
		const struct l4_frontend *f = &m->config->frontends[config->frontends[i]];

		for (size_t p = 0; p < f->n_pools; p++) {
			int64_t until = l4_pool_has(&f->pools[p], b->index)
						? l4_slow_until(m, &f->pools[p], b)
						: 0;

			last = until > last ? until : last;
		}
	}
	return last;
}

/* last_code is empty before the first result, because 0 is a valid code. */
static void set_health(Maglev__BackendInfo *info, const struct l4_model *m,
		       const struct l4_backend_state *b)
{
	const struct health_rule *rule = l4_backend_rule(m, b);

	info->state = wire__text(health_state_name(b->health.state));
	info->enabled = b->health.state != HEALTH_DISABLED;
	info->counter = b->health.counter;
	info->rise = rule->rise;
	info->fall = rule->fall;
	info->since = b->health.since;
	info->last_code = wire__text(b->has_result ? health_code_name(b->last_code) : "");
	info->last_reason = wire__text(b->last_reason);
	info->last_probe = b->last_probe;
	info->last_duration = b->last_duration;
}

Maglev__BackendInfo *wire_backend(const struct l4_model *m, size_t backend, struct arena *a)
{
	Maglev__BackendInfo *info = API__NEW(a, Maglev__BackendInfo, maglev__backend_info__init);
	const struct l4_backend_state *b = m->backends[backend];
	const struct l4_backend *config = &m->config->backends[backend];

	assert(backend < m->config->n_backends);
	info->name = wire__text(config->name);
	info->address = wire__addr(&config->address, a);
	info->healthcheck = wire__text(config->check ? config->check->name : "");
	set_health(info, m, b);
	set_transitions(info, b, a);
	set_frontends(info, m, config, a);
	info->override = wire__override(b, a);
	if (b->planned.from)
		info->scheduled = wire__override_as(l4_act_name(L4_ACT_PAUSED), &b->planned, a);
	info->overrides_kept = m->overrides_kept;
	info->slow_start_until = slow_until(m, b, config);
	return info;
}

Maglev__ListBackendsResponse *wire_backends(const struct l4_model *m, size_t first, size_t n,
					    struct arena *a)
{
	Maglev__ListBackendsResponse *list =
		API__NEW(a, Maglev__ListBackendsResponse, maglev__list_backends_response__init);

	list->n_backends = wire__rows(m->config->n_backends, first, n);
	list->backends = arena_array_of(a, list->n_backends, Maglev__BackendInfo *);
	for (size_t i = 0; i < list->n_backends; i++)
		list->backends[i] = wire_backend(m, first + i, a);
	return list;
}
