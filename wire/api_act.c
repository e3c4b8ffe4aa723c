/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "core/l4/override.h"
#include "wire/api.h"
#include "wire/api_private.h"

/* ---- what a command does ---- */

static Maglev__BackendChange *backend_change(const struct l4_model *m, size_t backend,
					     enum health_state before, enum health_state after,
					     struct arena *a)
{
	Maglev__BackendChange *c = API__NEW(a, Maglev__BackendChange, maglev__backend_change__init);

	c->name = wire__text(m->config->backends[backend].name);
	c->address = wire__addr(&m->config->backends[backend].address, a);
	c->before = wire__text(health_state_name(before));
	c->after = wire__text(health_state_name(after));
	return c;
}

static char *pool_name(const struct l4_frontend *f, size_t pool)
{
	return wire__text(pool == SIZE_MAX ? "" : f->pools[pool].name);
}

static Maglev__FrontendConsequence *consequence(const struct l4_model *m,
						const struct l4_consequence *from, struct arena *a)
{
	Maglev__FrontendConsequence *c =
		API__NEW(a, Maglev__FrontendConsequence, maglev__frontend_consequence__init);
	const struct l4_frontend *f = &m->config->frontends[from->frontend];

	c->frontend = wire__text(f->name);
	c->kind = wire__text(l4_effect_name(from->effect));
	c->pool_before = pool_name(f, from->pool_before);
	c->pool_after = pool_name(f, from->pool_after);
	c->servers_before = (uint32_t)from->servers_before;
	c->servers_after = (uint32_t)from->servers_after;
	c->members = (uint32_t)from->members;
	return c;
}

Maglev__ActOnBackendsResponse *wire_outcome(const struct l4_model *m, const struct l4_selection *s,
					    const struct l4_outcome *o, struct arena *a)
{
	Maglev__ActOnBackendsResponse *r =
		API__NEW(a, Maglev__ActOnBackendsResponse, maglev__act_on_backends_response__init);

	r->n_backends = s->n;
	r->backends = arena_array_of(a, s->n, Maglev__BackendChange *);
	for (size_t i = 0; i < s->n; i++)
		r->backends[i] = backend_change(m, s->backends[i], o->before[i], o->after[i], a);
	r->n_frontends = o->n;
	r->frontends = arena_array_of(a, o->n, Maglev__FrontendConsequence *);
	for (size_t i = 0; i < o->n; i++)
		r->frontends[i] = consequence(m, &o->items[i], a);
	r->unaffected = (uint32_t)o->unaffected;
	return r;
}

/* ---- the list of overrides ---- */

static Maglev__OverrideInfo *add(Maglev__ListOverridesResponse *list, const char *backend,
				 const char *act, const struct l4_override *o, struct arena *a)
{
	Maglev__OverrideInfo *info = API__NEW(a, Maglev__OverrideInfo, maglev__override_info__init);

	info->backend = wire__text(backend);
	info->override = wire__override_as(act, o, a);
	list->overrides[list->n_overrides++] = info;
	return info;
}

#define OF_BACKEND 3 /* overrides that one backend can have: pause, enabling, scheduled pause */

/* A pause does not hide that the backend was enabled against the file as well. */
static void add_backend(Maglev__ListOverridesResponse *list, const struct l4_backend_state *b,
			struct arena *a)
{
	if (b->health.state == HEALTH_PAUSED)
		add(list, b->name, l4_act_name(L4_ACT_PAUSED), &b->pause, a);
	if (b->enable != L4_ENABLE_CONFIGURED)
		add(list, b->name,
		    l4_act_name(b->enable == L4_ENABLE_FORCED_ON ? L4_ACT_ENABLED
								 : L4_ACT_DISABLED),
		    &b->enabling, a);
	if (b->planned.from)
		add(list, b->name, l4_act_name(L4_ACT_PAUSED), &b->planned, a);
}

static size_t members_of(const struct l4_frontend *f)
{
	size_t n = 0;

	for (size_t p = 0; p < f->n_pools; p++)
		n += f->pools[p].n_members;
	return n;
}

static void add_weight(Maglev__ListOverridesResponse *list, const struct l4_model *m,
		       const struct l4_pool *p, size_t i, const struct l4_weight *w,
		       struct arena *a)
{
	static const struct l4_override unknown;
	Maglev__OverrideInfo *info = add(list, m->backends[p->members[i].backend]->name, "weight",
					 w->set ? w->set : &unknown, a);

	info->pool = wire__text(p->name);
	info->weight = w->value;
	info->configured_weight = p->members[i].weight;
}

static void add_weights(Maglev__ListOverridesResponse *list, const struct l4_model *m,
			size_t frontend, struct arena *a)
{
	const struct l4_frontend *f = &m->config->frontends[frontend];

	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t i = 0; i < f->pools[p].n_members; i++) {
			const struct l4_weight *w = &m->frontends[frontend].weights[p][i];

			if (!w->mutated)
				continue;
			add_weight(list, m, &f->pools[p], i, w, a);
			list->overrides[list->n_overrides - 1]->frontend = wire__text(f->name);
		}
}

Maglev__ListOverridesResponse *wire_overrides(const struct l4_model *m, size_t first, size_t n,
					      struct arena *a)
{
	size_t n_backends = m->config->n_backends, total = n_backends + m->config->n_frontends;
	Maglev__ListOverridesResponse *list =
		API__NEW(a, Maglev__ListOverridesResponse, maglev__list_overrides_response__init);
	size_t end = first + wire__rows(total, first, n), room = 0;

	if (first >= total)
		return NULL;
	for (size_t i = first; i < end; i++)
		room += i < n_backends ? OF_BACKEND
				       : members_of(&m->config->frontends[i - n_backends]);
	list->kept = m->overrides_kept;
	list->overrides = arena_array_of(a, room, Maglev__OverrideInfo *);
	for (size_t i = first; i < end; i++)
		if (i < n_backends)
			add_backend(list, m->backends[i], a);
		else
			add_weights(list, m, i - n_backends, a);
	return list;
}
