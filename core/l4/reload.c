/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: moves the model from one configuration to the next and keeps the state that survives.
 *
 * Backends and frontends are sorted by name in both configurations, and members of a pool by
 * backend, so each kind is one walk over two lists. Only pools, which keep the order of the file,
 * are looked up in a map. The walk yields pairs: only old was removed, only new was added, both
 * is kept. The start of a model is a reload from an empty configuration.
 *
 * State that does not change is not written, because after a fork() every page that is written
 * has to be copied.
 */
#include "core/l4/model.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/l4/desired.h"
#include "core/l4/override.h"

/*
 * strcmp() for a walk in which either side may be past its end (NULL): the rest of the other
 * side comes first.
 */
static int name_cmp(const char *old, const char *new)
{
	if (old && new)
		return strcmp(old, new);
	return old ? -1 : 1;
}

/* ---- backends ---- */

/*
 * A disabled backend starts as such; that is not a transition, so the change is dropped. One that
 * joins others starts slowly (slow.h).
 */
static struct l4_backend_state *new_backend(const struct l4_backend *config, bool joins,
					    int64_t now)
{
	struct l4_backend_state *b = mem_zalloc(sizeof(*b));
	struct health_change untold;

	b->name = mem_strdup(config->name);
	b->away = joins || !config->enabled;
	health_init(&b->health, now);
	if (!config->enabled)
		health_disable(&b->health, CODE_RELOADED, now, &untold);
	return b;
}

/* Applies a new transition-history; the newest changes are kept. */
static void bound_history(struct l4_backend_state *b, size_t cap)
{
	size_t extra = b->n_history > cap ? b->n_history - cap : 0;

	assert(cap > 0);
	if (b->history_cap != cap)
		b->history_cap = cap;
	if (extra == 0)
		return;
	for (size_t i = 0; i < extra; i++)
		l4__forget_past(&b->history[i]);
	memmove(b->history, b->history + extra, cap * sizeof(*b->history));
	b->history = mem_resize(b->history, cap, sizeof(*b->history));
	b->n_history = cap;
}

/*
 * The last comparison of two checks. Thousands of backends share a check, and the same pair need
 * not be compared for each of them.
 */
struct compared {
	const struct l4_check *old, *new;
	bool changed;
};

static bool check_changed(struct compared *last, const struct l4_check *old,
			  const struct l4_check *new)
{
	if (!old || !new)
		return old != new;
	if (last->old != old || last->new != new)
		*last = (struct compared){ old, new, !l4_check_equal(old, new) };
	return last->changed;
}

/* A change of the namespace matters only to a backend that is probed. */
static bool probe_changed(struct compared *last, const struct l4_config *old_config,
			  const struct l4_check *old, const struct l4_config *new_config,
			  const struct l4_check *new)
{
	return check_changed(last, old, new) ||
	       (old && !cstr_eq(old_config->netns, new_config->netns));
}

/* Brings the state in line with whether the backend is to be enabled now. */
static bool apply_enabled(struct l4_backend_state *b, bool file, int64_t now,
			  struct health_change *ret)
{
	bool on = b->enable == L4_ENABLE_CONFIGURED ? file : b->enable == L4_ENABLE_FORCED_ON;

	if (on)
		return health_enable(&b->health, CODE_RELOADED, now, ret);
	return health_disable(&b->health, CODE_RELOADED, now, ret);
}

/*
 * m->config and b->index are already the new ones; was is the backend's entry in the old
 * configuration.
 */
static struct l4_reload_change keep_backend(const struct l4_model *m, struct l4_backend_state *b,
					    const struct l4_config *old_config,
					    const struct l4_backend *was, struct compared *last,
					    int64_t now)
{
	const struct l4_backend *is = l4_backend_config(m, b);
	struct l4_reload_change c = { .backend = b };

	c.probe_changed = probe_changed(last, old_config, was->check, m->config, is->check);
	c.address_changed = addr_cmp(&was->address, &is->address) != 0;
	if (c.probe_changed)
		health_rule_changed(&b->health, l4_backend_rule(m, b));
	c.has_transition = apply_enabled(b, is->enabled, now, &c.transition);
	l4__settle_overrides(b);
	return c;
}

/* The state is not freed: the engine still needs it and frees it after acting on the change. */
static struct l4_reload_change remove_backend(struct l4_backend_state *b, int64_t now)
{
	struct l4_reload_change c = { .backend = b, .removed = true };

	b->index = SIZE_MAX;
	c.has_transition = health_remove(&b->health, now, &c.transition);
	return c;
}

static bool has_something_to_do(const struct l4_reload_change *c)
{
	return c->added || c->removed || c->probe_changed || c->address_changed ||
	       c->has_transition;
}

static void reload_backends(struct l4_model *m, const struct l4_config *old,
			    struct l4_backend_state **states, int64_t now, struct l4_reload *ret)
{
	const struct l4_config *new = m->config;
	struct compared last = { 0 };
	size_t o = 0, n = 0;

	while (o < old->n_backends || n < new->n_backends) {
		int order = name_cmp(o < old->n_backends ? old->backends[o].name : NULL,
				     n < new->n_backends ? new->backends[n].name : NULL);
		struct l4_reload_change c = { 0 };

		if (order < 0) {
			c = remove_backend(states[o++], now);
		} else {
			bool added = order > 0;
			struct l4_backend_state *b =
				added ? new_backend(&new->backends[n], old->n_backends, now)
				      : states[o];

			if (b->index != n)
				b->index = n;
			bound_history(b, new->transition_history);
			m->backends[n++] = b;
			if (added)
				c = (struct l4_reload_change){ .backend = b, .added = true };
			else
				c = keep_backend(m, b, old, &old->backends[o++], &last, now);
		}
		if (has_something_to_do(&c))
			vec_push(&ret->changes, c);
	}
}

/* ---- frontends and their weights ---- */

static void free_weights(const struct l4_frontend *config, struct l4_frontend_state *f)
{
	for (size_t p = 0; p < config->n_pools; p++)
		for (size_t i = 0; i < config->pools[p].n_members; i++)
			l4__forget_weight(&f->weights[p][i]);
	if (f->weights)
		free(f->weights[0]); /* one block for all pools */
	free(f->weights);
}

/* The weights of all pools are one block, of which weights[p] are slices. */
static void new_weights(const struct l4_frontend *f, struct l4_frontend_state *ret)
{
	size_t total = 0;
	struct l4_weight *next;

	if (f->n_pools == 0)
		return;
	for (size_t p = 0; p < f->n_pools; p++)
		total += f->pools[p].n_members;
	ret->weights = mem_resize(NULL, f->n_pools, sizeof(*ret->weights));
	next = mem_resize(NULL, total, sizeof(*next));
	for (size_t p = 0; p < f->n_pools; p++) {
		ret->weights[p] = next;
		for (size_t i = 0; i < f->pools[p].n_members; i++)
			*next++ = (struct l4_weight){ .value = f->pools[p].members[i].weight };
	}
}

struct old_pool {
	const struct l4_config *config;
	const struct l4_pool *pool;
	struct l4_weight *weights;
};

/* A weight set at run time wins, unless the file now says the same. */
static void keep_pool_weights(const struct old_pool *was, const struct l4_config *config,
			      const struct l4_pool *pool, struct l4_weight *weights)
{
	size_t o = 0, n = 0;

	while (o < was->pool->n_members && n < pool->n_members) {
		const char *old_name = was->config->backends[was->pool->members[o].backend].name;
		const char *new_name = config->backends[pool->members[n].backend].name;
		int order = strcmp(old_name, new_name);

		if (order == 0 && was->weights[o].mutated &&
		    was->weights[o].value != pool->members[n].weight) {
			weights[n] = was->weights[o];
			was->weights[o].set = NULL;
		}
		o += order <= 0;
		n += order >= 0;
	}
}

/* Matches pools by name, since they may have moved in the order of failover. */
static void keep_pools(const struct l4_config *old, const struct l4_frontend *was,
		       const struct l4_frontend_state *had, const struct l4_config *new,
		       const struct l4_frontend *is, struct l4_frontend_state *has)
{
	struct old_pool *pools = mem_resize(NULL, was->n_pools, sizeof(*pools));
	struct map by_name = { 0 };

	for (size_t p = 0; p < was->n_pools; p++) {
		pools[p] = (struct old_pool){ old, &was->pools[p], had->weights[p] };
		map_put(&by_name, was->pools[p].name, &pools[p]);
	}
	for (size_t p = 0; p < is->n_pools; p++) {
		const struct old_pool *match = map_get(&by_name, is->pools[p].name);

		if (!match)
			continue;
		keep_pool_weights(match, new, &is->pools[p], has->weights[p]);
		if ((size_t)(match - pools) == had->last_pool)
			has->last_pool = p;
	}
	map_free(&by_name);
	free(pools);
}

/* A VIP that changed its key is new to the data plane, so the warm-up has to release it again. */
static void keep_frontend(const struct l4_frontend *was, const struct l4_frontend_state *had,
			  const struct l4_frontend *is, struct l4_frontend_state *has)
{
	struct lb_vip_key old_key = l4_frontend_key(was), new_key = l4_frontend_key(is);

	has->health = had->health;
	has->since = had->since;
	if (lb_vip_key_cmp(&old_key, &new_key) == 0) {
		has->released = had->released;
		has->written = had->written;
	}
}

static void reload_frontends(struct l4_model *m, const struct l4_config *old,
			     struct l4_frontend_state *states, int64_t now)
{
	const struct l4_config *new = m->config;
	size_t o = 0, n = 0;

	while (o < old->n_frontends || n < new->n_frontends) {
		int order = name_cmp(o < old->n_frontends ? old->frontends[o].name : NULL,
				     n < new->n_frontends ? new->frontends[n].name : NULL);

		if (order >= 0) {
			m->frontends[n] =
				(struct l4_frontend_state){ .since = now, .last_pool = SIZE_MAX };
			new_weights(&new->frontends[n], &m->frontends[n]);
		}
		if (order == 0) {
			keep_frontend(&old->frontends[o], &states[o], &new->frontends[n],
				      &m->frontends[n]);
			keep_pools(old, &old->frontends[o], &states[o], new, &new->frontends[n],
				   &m->frontends[n]);
		}
		if (order <= 0)
			free_weights(&old->frontends[o], &states[o]);
		o += order <= 0;
		n += order >= 0;
	}
}

void l4_model_init(struct l4_model *m, const struct l4_config *config, int64_t now)
{
	static const struct l4_config nothing;
	struct l4_reload all_new;

	*m = (struct l4_model){ .config = &nothing };
	l4_model_reload(m, config, now, &all_new);
	vec_free(&all_new.changes);
}

void l4_model_free(struct l4_model *m)
{
	for (size_t i = 0; i < m->config->n_backends; i++)
		l4_backend_state_free(m->backends[i]);
	for (size_t i = 0; i < m->config->n_frontends; i++)
		free_weights(&m->config->frontends[i], &m->frontends[i]);
	free(m->backends);
	free(m->frontends);
	*m = (struct l4_model){ 0 };
}

void l4_model_reload(struct l4_model *m, const struct l4_config *config, int64_t now,
		     struct l4_reload *ret)
{
	struct l4_model was = *m;

	*ret = (struct l4_reload){ 0 };
	m->config = config;
	m->backends = mem_resize(NULL, config->n_backends, sizeof(*m->backends));
	m->frontends = mem_resize(NULL, config->n_frontends, sizeof(*m->frontends));
	reload_backends(m, was.config, was.backends, now, ret);
	reload_frontends(m, was.config, was.frontends, now);
	free(was.backends);
	free(was.frontends);
}

void l4_backend_state_free(struct l4_backend_state *b)
{
	free(b->name);
	free(b->last_reason);
	l4__begin_override(&b->pause, 0);
	l4__begin_override(&b->enabling, 0);
	l4__begin_override(&b->planned, 0);
	for (size_t i = 0; i < b->n_history; i++)
		l4__forget_past(&b->history[i]);
	free(b->history);
	free(b);
}
