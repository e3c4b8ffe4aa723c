/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/l4/override.h"
#include "wire/api.h"
#include "wire/api_private.h"

/* An event without seq, which the stream adds. */
static Maglev__Event *event(int64_t at, Maglev__Event__EventCase kind, struct arena *a)
{
	Maglev__Event *e = API__NEW(a, Maglev__Event, maglev__event__init);

	e->at = at;
	e->event_case = kind;
	return e;
}

/*
 * The reason of a change: for a probe result that of the probe, for a command that of the operator.
 * The override is compared with the command, because a newer one may be in force by now.
 */
static const char *reason_of(const struct l4_backend_state *b, enum health_code why)
{
	static const enum l4_act acts[HEALTH_CODES] = {
		[CODE_PAUSED] = L4_ACT_PAUSED,
		[CODE_DISABLED] = L4_ACT_DISABLED,
		[CODE_ENABLED] = L4_ACT_ENABLED,
	};
	bool is_act = why == CODE_PAUSED || why == CODE_DISABLED || why == CODE_ENABLED;
	const struct l4_override *o;
	enum l4_act act;

	if (why < CODE_STATIC)
		return b->last_reason;
	return is_act && l4_backend_override(b, &act, &o) && act == acts[why] ? o->reason : "";
}

/* The operator of a change. It is in the history, unless a later change has taken its place. */
static const struct who *who_of(const struct l4_backend_state *b, const struct health_change *c)
{
	const struct l4_past *last = b->n_history ? &b->history[b->n_history - 1] : NULL;

	return last && last->change.why == c->why && last->change.at == c->at ? last->who : NULL;
}

/*
 * The current state of a backend, as a change to itself. Returns false if it never changed, so
 * that there is no code.
 */
static bool replay_of(const struct l4_backend_state *b, struct health_change *ret)
{
	const struct l4_past *last = b->n_history ? &b->history[b->n_history - 1] : NULL;

	*ret = (struct health_change){
		.from = b->health.state,
		.to = b->health.state,
		.why = last ? last->change.why : CODE_STATIC,
		.at = b->health.since,
	};
	return last != NULL;
}

static Maglev__Event *backend_event(const struct l4_backend_state *b, const char *frontend,
				    const struct health_change *change, struct arena *a)
{
	Maglev__Event *e = event(change->at, MAGLEV__EVENT__EVENT_BACKEND, a);

	e->backend = API__NEW(a, Maglev__BackendEvent, maglev__backend_event__init);
	e->backend->backend = wire__text(b->name);
	e->backend->frontend = wire__text(frontend);
	e->backend->from = wire__text(health_state_name(change->from));
	e->backend->to = wire__text(health_state_name(change->to));
	e->backend->code = wire__text(health_code_name(change->why));
	e->backend->reason = wire__text(reason_of(b, change->why));
	wire__who(who_of(b, change), &e->backend->operator_, &e->backend->operator_address, a);
	return e;
}

/* A removed backend has no configuration any more and so no frontends; it gets one event. */
struct wire_events wire_backend_events(const struct l4_model *m, const struct l4_backend_state *b,
				       const struct health_change *change, struct arena *a)
{
	bool removed = b->index == SIZE_MAX;
	const struct l4_backend *config = removed ? NULL : l4_backend_config(m, b);
	size_t n = config && config->n_frontends ? config->n_frontends : 1;
	struct wire_events events = { arena_array_of(a, n, Maglev__Event *), n };
	struct health_change replay;
	bool has_code = true;

	if (!change)
		has_code = replay_of(b, &replay);
	for (size_t i = 0; i < n; i++) {
		bool named = config && config->n_frontends;
		const char *frontend = named ? m->config->frontends[config->frontends[i]].name : "";

		events.items[i] = backend_event(b, frontend, change ? change : &replay, a);
		events.items[i]->backend->replay = !change;
		if (!has_code)
			events.items[i]->backend->code = wire__text("");
	}
	return events;
}

Maglev__Event *wire_frontend_event(const struct l4_model *m, size_t frontend,
				   enum l4_frontend_health from, struct arena *a)
{
	const struct l4_frontend_state *f = &m->frontends[frontend];
	Maglev__Event *e = event(f->since, MAGLEV__EVENT__EVENT_FRONTEND, a);

	assert(frontend < m->config->n_frontends);
	e->frontend = API__NEW(a, Maglev__FrontendEvent, maglev__frontend_event__init);
	e->frontend->frontend = wire__text(m->config->frontends[frontend].name);
	e->frontend->from = wire__text(l4_frontend_health_name(from));
	e->frontend->to = wire__text(l4_frontend_health_name(f->health));
	e->frontend->replay = from == f->health;
	return e;
}

Maglev__Event *wire_config_event(const struct wire_config_status *status, struct arena *a)
{
	Maglev__Event *e = event(status->at, MAGLEV__EVENT__EVENT_CONFIG, a);
	Maglev__ConfigEvent *c = API__NEW(a, Maglev__ConfigEvent, maglev__config_event__init);

	c->generation = status->generation;
	c->ok = !status->error;
	c->error = wire__text(status->error);
	c->errors = (uint32_t)status->n_errors;
	c->since = status->since;
	c->frontends = (uint32_t)status->config->n_frontends;
	c->backends = (uint32_t)status->config->n_backends;
	c->healthchecks = (uint32_t)status->config->n_checks;
	c->backends_added = (uint32_t)status->added;
	c->backends_removed = (uint32_t)status->removed;
	c->backends_changed = (uint32_t)status->changed;
	c->replay = status->replay;
	e->config = c;
	return e;
}

/* Kinds without any operation are left out. */
static void set_operations(Maglev__DataplaneEvent *d, const uint64_t *ops, struct arena *a)
{
	d->operations = arena_array_of(a, LB_OP_KINDS, Maglev__DataplaneEvent__OperationsEntry *);
	for (size_t i = 0; i < LB_OP_KINDS; i++) {
		Maglev__DataplaneEvent__OperationsEntry *entry;

		if (!ops[i])
			continue;
		entry = API__NEW(a, Maglev__DataplaneEvent__OperationsEntry,
				 maglev__dataplane_event__operations_entry__init);
		entry->key = wire__text(lb_op_kind_name((enum lb_op_kind)i));
		entry->value = ops[i];
		d->operations[d->n_operations++] = entry;
	}
}

Maglev__Event *wire_dataplane_event(const struct wire_dataplane_status *status, struct arena *a)
{
	Maglev__Event *e = event(status->at, MAGLEV__EVENT__EVENT_DATAPLANE, a);
	Maglev__DataplaneEvent *d =
		API__NEW(a, Maglev__DataplaneEvent, maglev__dataplane_event__init);

	d->dataplane = wire__text(status->dataplane);
	d->change = wire__text(status->change);
	d->reason = wire__text(status->reason);
	d->connected = status->connected;
	d->status = wire__text(lb_status_name(status->status));
	d->since = status->since;
	d->problem = wire__text(status->problem);
	d->warmup = wire__text(warmup_phase_name(status->warmup));
	d->held = status->guard;
	d->last_full_sync = status->last_full_sync;
	d->scope = wire__text(status->scope);
	d->vips = status->vips;
	d->replay = !status->change;
	if (status->ops)
		set_operations(d, status->ops, a);
	e->dataplane = d;
	return e;
}

Maglev__Event *wire_backend_info_event(const struct l4_model *m, size_t backend, int64_t at,
				       struct arena *a)
{
	Maglev__Event *e = event(at, MAGLEV__EVENT__EVENT_BACKEND_INFO, a);

	e->backend_info = wire_backend(m, backend, a);
	return e;
}

Maglev__Event *wire_frontend_info_event(const struct l4_model *m, size_t frontend, int64_t at,
					struct arena *a)
{
	Maglev__Event *e = event(at, MAGLEV__EVENT__EVENT_FRONTEND_INFO, a);

	e->frontend_info = wire_frontend(m, frontend, a);
	return e;
}

static Maglev__ProbeInfo *probe(const struct l4_backend_state *b, struct arena *a)
{
	Maglev__ProbeInfo *p = API__NEW(a, Maglev__ProbeInfo, maglev__probe_info__init);

	p->name = wire__text(b->name);
	p->counter = b->health.counter;
	p->last_code = wire__text(b->has_result ? health_code_name(b->last_code) : "");
	p->last_reason = wire__text(b->last_reason);
	p->last_probe = b->last_probe;
	p->last_duration = b->last_duration;
	return p;
}

Maglev__Event *wire_probes_event(const struct l4_model *m, const size_t *backends, size_t n,
				 int64_t at, struct arena *a)
{
	Maglev__Event *e = event(at, MAGLEV__EVENT__EVENT_PROBES, a);

	e->probes = API__NEW(a, Maglev__ProbesEvent, maglev__probes_event__init);
	e->probes->n_probes = n;
	e->probes->probes = arena_array_of(a, n, Maglev__ProbeInfo *);
	for (size_t i = 0; i < n; i++) {
		assert(backends[i] < m->config->n_backends);
		e->probes->probes[i] = probe(m->backends[backends[i]], a);
	}
	return e;
}
