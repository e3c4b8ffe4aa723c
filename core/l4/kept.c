/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/kept.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/override.h"

static const char *const kind_names[] = {
	[L4_KEPT_DISABLED] = "disabled", [L4_KEPT_ENABLED] = "enabled",
	[L4_KEPT_PAUSED] = "paused",	 [L4_KEPT_SCHEDULED] = "scheduled",
	[L4_KEPT_WEIGHT] = "weight",
};

#define OF_BACKEND 3 /* that one backend can have: enabling, pause, scheduled pause */

const char *l4_kept_kind_name(enum l4_kept_kind k)
{
	assert((size_t)k < ARRAY_SIZE(kind_names));
	return kind_names[k];
}

bool l4_kept_kind_parse(const char *name, enum l4_kept_kind *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (strcmp(kind_names[i], name) == 0) {
			*ret = (enum l4_kept_kind)i;
			return true;
		}
	return false;
}

/* ---- from a model ---- */

static struct l4_kept *add(struct l4_kept_list *list, enum l4_kept_kind kind, const char *backend,
			   const struct l4_override *o)
{
	struct l4_kept *k = &list->items[list->n++];

	*k = (struct l4_kept){ .kind = kind, .backend = backend, .reason = "" };
	if (!o)
		return k;
	k->at = o->at;
	k->until = o->until;
	k->from = o->from;
	k->reason = o->reason ? o->reason : "";
	k->who = o->who;
	return k;
}

static void add_backend(struct l4_kept_list *list, const struct l4_backend_state *b)
{
	if (b->enable != L4_ENABLE_CONFIGURED)
		add(list, b->enable == L4_ENABLE_FORCED_ON ? L4_KEPT_ENABLED : L4_KEPT_DISABLED,
		    b->name, &b->enabling);
	if (b->health.state == HEALTH_PAUSED)
		add(list, L4_KEPT_PAUSED, b->name, &b->pause);
	if (b->planned.from)
		add(list, L4_KEPT_SCHEDULED, b->name, &b->planned);
}

static void add_weights(struct l4_kept_list *list, const struct l4_model *m, size_t frontend)
{
	const struct l4_frontend *f = &m->config->frontends[frontend];

	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t i = 0; i < f->pools[p].n_members; i++) {
			const struct l4_weight *w = &m->frontends[frontend].weights[p][i];
			struct l4_kept *k;

			if (!w->mutated)
				continue;
			k = add(list, L4_KEPT_WEIGHT,
				m->backends[f->pools[p].members[i].backend]->name, w->set);
			k->frontend = f->name;
			k->pool = f->pools[p].name;
			k->weight = w->value;
		}
}

static size_t most(const struct l4_config *c)
{
	size_t n = OF_BACKEND * c->n_backends;

	for (size_t i = 0; i < c->n_frontends; i++)
		for (size_t p = 0; p < c->frontends[i].n_pools; p++)
			n += c->frontends[i].pools[p].n_members;
	return n;
}

struct l4_kept_list l4_kept_list(const struct l4_model *m, struct arena *a)
{
	struct l4_kept_list list = {
		.items = arena_array_of(a, most(m->config), struct l4_kept),
	};

	for (size_t i = 0; i < m->config->n_backends; i++)
		add_backend(&list, m->backends[i]);
	for (size_t i = 0; i < m->config->n_frontends; i++)
		add_weights(&list, m, i);
	return list;
}

/* ---- to a model ---- */

static const char gone[] = "there is no such backend any more";
static const char no_tuple[] = "the frontend has no such pool with this backend any more";
static const char over[] = "it ended while maglevd was not running";
static const char agrees[] = "the file says the same";
static const char off[] = "the file disables the backend";
static const char not_a_weight[] = "a weight is 0 to 100";

static int refuse(int error, const char *why, const char **ret_why)
{
	*ret_why = why;
	return error;
}

static struct l4_note note_of(const struct l4_kept *k)
{
	return (struct l4_note){ k->reason, k->until, k->who, k->from };
}

static int restore_weight(struct l4_model *m, const struct l4_kept *k, const char **ret_why)
{
	struct l4_weight *w = l4_model_weight(m, k->frontend, k->pool, k->backend);
	const struct l4_note note = note_of(k);

	if (!w)
		return refuse(-ENOENT, no_tuple, ret_why);
	if (w->value == k->weight)
		return refuse(-EALREADY, agrees, ret_why);
	if (l4_model_set_weight(m, k->frontend, k->pool, k->backend, k->weight) < 0)
		return refuse(-ERANGE, not_a_weight, ret_why);
	l4_weight_annotate(w, &note, k->at);
	return 0;
}

static int restore_enabling(const struct l4_model *m, struct l4_backend_state *b,
			    const struct l4_kept *k, const char **ret_why)
{
	bool on = k->kind == L4_KEPT_ENABLED;
	const struct l4_note note = note_of(k);
	struct health_change untold;

	if ((on ? l4_backend_enable : l4_backend_disable)(m, b, k->at, &untold) <= 0)
		return refuse(-EALREADY, agrees, ret_why);
	l4_backend_annotate(b, on ? L4_ACT_ENABLED : L4_ACT_DISABLED, &note);
	return 0;
}

static int restore_pause(struct l4_backend_state *b, const struct l4_kept *k, const char **ret_why)
{
	const struct l4_note note = note_of(k);
	struct health_change untold;

	if (k->kind == L4_KEPT_SCHEDULED) {
		l4_backend_plan(b, &note, k->at);
		return 0;
	}
	if (l4_backend_pause(b, k->at, &untold) < 0)
		return refuse(-EPERM, off, ret_why);
	l4_backend_annotate(b, L4_ACT_PAUSED, &note);
	return 0;
}

int l4_kept_restore(struct l4_model *m, const struct l4_kept *k, int64_t now, const char **ret_why)
{
	size_t i = l4_config_backend(m->config, k->backend);

	if (i == SIZE_MAX)
		return refuse(-ENOENT, gone, ret_why);
	if (k->until && k->until <= now)
		return refuse(-ETIME, over, ret_why);
	if (k->kind == L4_KEPT_WEIGHT)
		return restore_weight(m, k, ret_why);
	if (k->kind == L4_KEPT_PAUSED || k->kind == L4_KEPT_SCHEDULED)
		return restore_pause(m->backends[i], k, ret_why);
	return restore_enabling(m, m->backends[i], k, ret_why);
}
