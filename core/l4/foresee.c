/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foresee: a model in which the backends of the selection are copies, and all else is shared.
 * The command is given to the copies; then each frontend that has one of them is judged twice, in
 * the model and in that one.
 */
#include "core/l4/foresee.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "core/l4/names.h"
#include "core/l4/weight.h"

static const char *const command_names[] = {
	[L4_PAUSE] = "pause",
	[L4_RESUME] = "resume",
	[L4_ENABLE] = "enable",
	[L4_DISABLE] = "disable",
};

static const char *const effect_names[] = {
	[L4_EFFECT_DOWN] = "down",   [L4_EFFECT_FAILOVER] = "failover",
	[L4_EFFECT_FEWER] = "fewer", [L4_EFFECT_MORE] = "more",
	[L4_EFFECT_UP] = "up",
};

const char *l4_command_name(enum l4_command c)
{
	assert((size_t)c < ARRAY_SIZE(command_names));
	return command_names[c];
}

bool l4_command_parse(const char *name, enum l4_command *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(command_names); i++)
		if (strcmp(command_names[i], name) == 0) {
			*ret = (enum l4_command)i;
			return true;
		}
	return false;
}

const char *l4_effect_name(enum l4_effect e)
{
	assert((size_t)e < ARRAY_SIZE(effect_names));
	return effect_names[e];
}

/* ---- selections ---- */

struct l4_selection l4_select_address(const struct l4_config *c, const struct addr *address,
				      struct arena *a)
{
	size_t first, n = l4_backends_at(c, address, &first);
	size_t *list = arena_array_of(a, n, size_t);

	/* backends with one address are sorted by name, and so are the indices */
	for (size_t i = 0; i < n; i++)
		list[i] = c->by_address[first + i];
	return (struct l4_selection){ list, n };
}

static bool matches_any(const char *name, char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (glob_match(patterns[i], name))
			return true;
	return false;
}

struct l4_selection l4_select_names(const struct l4_config *c, char *const *patterns, size_t n,
				    struct arena *a)
{
	size_t *list = arena_array_of(a, c->n_backends, size_t);
	size_t found = 0;

	for (size_t i = 0; i < c->n_backends; i++)
		if (matches_any(c->backends[i].name, patterns, n))
			list[found++] = i;
	return (struct l4_selection){ list, found };
}

/* ---- the command on copies ---- */

static bool is_off(const struct l4_backend_state *b)
{
	return b->health.state == HEALTH_DISABLED;
}

/* The state that the command leads to. -EPERM as for the command itself. */
static int command(const struct l4_model *m, struct l4_backend_state *copy, enum l4_command c)
{
	struct health_change change;

	switch (c) {
	case L4_PAUSE:
		if (is_off(copy))
			return -EPERM;
		health_pause(&copy->health, 0, &change);
		break;
	case L4_RESUME:
		if (is_off(copy) && !copy->planned.from)
			return -EPERM;
		health_resume(&copy->health, 0, &change);
		break;
	case L4_ENABLE:
		health_enable(&copy->health, CODE_ENABLED, 0, &change);
		break;
	case L4_DISABLE:
		health_disable(&copy->health, CODE_DISABLED, 0, &change);
		break;
	}
	if (!l4_backend_config(m, copy)->check)
		l4_backend_record(m, copy, CODE_STATIC, false, 0, &change);
	return 0;
}

/* Replaces the backends of the selection by copies that have had the command. */
static int command_all(struct l4_model *what_if, const struct l4_selection *s, enum l4_command c,
		       struct arena *a, size_t *ret_refused)
{
	struct l4_backend_state *copies = arena_array_of(a, s->n, struct l4_backend_state);

	for (size_t i = 0; i < s->n; i++) {
		copies[i] = *what_if->backends[s->backends[i]];
		if (command(what_if, &copies[i], c) < 0) {
			*ret_refused = i;
			return -EPERM;
		}
		what_if->backends[s->backends[i]] = &copies[i];
	}
	return 0;
}

/* ---- frontends ---- */

static size_t servers(const struct l4_model *m, size_t frontend, size_t pool)
{
	return pool == SIZE_MAX ? 0 : l4_pool_servers(m, frontend, pool);
}

/* False if the frontend does not change. */
static bool judge(const struct l4_consequence *c, enum l4_effect *ret)
{
	if (c->pool_before == c->pool_after && c->servers_before == c->servers_after)
		return false;
	if (c->pool_after == SIZE_MAX)
		*ret = L4_EFFECT_DOWN;
	else if (c->pool_before == SIZE_MAX)
		*ret = L4_EFFECT_UP;
	else if (c->pool_before != c->pool_after)
		*ret = L4_EFFECT_FAILOVER;
	else
		*ret = c->servers_after < c->servers_before ? L4_EFFECT_FEWER : L4_EFFECT_MORE;
	return true;
}

static bool compare(const struct l4_model *is, const struct l4_model *what_if, size_t frontend,
		    struct l4_consequence *ret)
{
	const struct l4_frontend *f = &is->config->frontends[frontend];
	struct l4_consequence c = { .frontend = frontend };
	size_t shown;

	c.pool_before = l4_active_pool(is, frontend);
	c.pool_after = l4_active_pool(what_if, frontend);
	c.servers_before = servers(is, frontend, c.pool_before);
	c.servers_after = servers(what_if, frontend, c.pool_after);
	shown = c.pool_after == SIZE_MAX ? c.pool_before : c.pool_after;
	c.members = shown == SIZE_MAX ? 0 : f->pools[shown].n_members;
	if (!judge(&c, &c.effect))
		return false;
	*ret = c;
	return true;
}

static int consequence_cmp(const void *a, const void *b)
{
	const struct l4_consequence *x = a, *y = b;

	if (x->effect != y->effect)
		return x->effect < y->effect ? -1 : 1;
	return (x->frontend > y->frontend) - (x->frontend < y->frontend);
}

/* Marks the frontends that have a backend of the selection, and counts them. */
static size_t mark(const struct l4_config *c, const struct l4_selection *s, bool *marks)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct l4_backend *b = &c->backends[s->backends[i]];

		for (size_t k = 0; k < b->n_frontends; k++) {
			n += !marks[b->frontends[k]];
			marks[b->frontends[k]] = true;
		}
	}
	return n;
}

static void compare_all(const struct l4_model *is, const struct l4_model *what_if,
			const struct l4_selection *s, struct arena *a, struct l4_outcome *ret)
{
	bool *marks = arena_array_of(a, is->config->n_frontends, bool);
	size_t n = mark(is->config, s, marks);

	ret->items = arena_array_of(a, n, struct l4_consequence);
	ret->n = 0;
	for (size_t i = 0; i < is->config->n_frontends; i++)
		if (marks[i] && compare(is, what_if, i, &ret->items[ret->n]))
			ret->n++;
	ret->unaffected = n - ret->n;
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(*ret->items), consequence_cmp);
}

int l4_foresee(const struct l4_model *m, const struct l4_selection *s, enum l4_command c,
	       struct arena *a, struct l4_outcome *ret, size_t *ret_refused)
{
	struct l4_model what_if = *m;
	struct l4_outcome outcome = {
		.before = arena_array_of(a, s->n, enum health_state),
		.after = arena_array_of(a, s->n, enum health_state),
	};
	int r;

	what_if.backends = arena_array_of(a, m->config->n_backends, struct l4_backend_state *);
	memcpy(what_if.backends, m->backends, m->config->n_backends * sizeof(*m->backends));
	r = command_all(&what_if, s, c, a, ret_refused);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n; i++) {
		outcome.before[i] = m->backends[s->backends[i]]->health.state;
		outcome.after[i] = what_if.backends[s->backends[i]]->health.state;
	}
	compare_all(m, &what_if, s, a, &outcome);
	*ret = outcome;
	return 0;
}
