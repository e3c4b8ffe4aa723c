/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/l4/override.h"
#include "wire/api.h"
#include "wire/api_private.h"

static Maglev__Transition *transition(const struct health_change *change, struct arena *a)
{
	Maglev__Transition *t = API__NEW(a, Maglev__Transition, maglev__transition__init);

	t->from = wire__text(health_state_name(change->from));
	t->to = wire__text(health_state_name(change->to));
	t->code = wire__text(health_code_name(change->why));
	t->at = change->at;
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

Maglev__Override *wire__override(const struct l4_backend_state *b, struct arena *a)
{
	const struct l4_override *o;
	Maglev__Override *info;
	enum l4_act act;

	if (!l4_backend_override(b, &act, &o))
		return NULL;
	info = API__NEW(a, Maglev__Override, maglev__override__init);
	info->act = wire__text(l4_act_name(act));
	info->reason = wire__text(o->reason);
	info->at = o->at;
	info->until = o->until;
	return info;
}

static void set_frontends(Maglev__BackendInfo *info, const struct l4_model *m,
			  const struct l4_backend *config, struct arena *a)
{
	info->n_frontends = config->n_frontends;
	info->frontends = arena_array_of(a, config->n_frontends, char *);
	for (size_t i = 0; i < config->n_frontends; i++)
		info->frontends[i] = wire__text(m->config->frontends[config->frontends[i]].name);
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
