/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/plan.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sorted.h"

/* qsort_r's context is the configuration whose frontends are compared. */
static int frontend_cmp(const void *a, const void *b, void *config)
{
	const struct l4_config *c = config;
	struct lb_vip_key ka = l4_frontend_key(&c->frontends[*(const size_t *)a]);
	struct lb_vip_key kb = l4_frontend_key(&c->frontends[*(const size_t *)b]);

	return lb_vip_key_cmp(&ka, &kb);
}

/* qsort_r() takes a context without const, but frontend_cmp() does not write to it. */
void plan_order_build(struct plan_order *o, const struct l4_config *c)
{
	struct l4_config *context = (struct l4_config *)(uintptr_t)c;

	plan_order_free(o);
	o->frontends = mem_resize(NULL, c->n_frontends, sizeof(*o->frontends));
	o->positions = mem_resize(NULL, c->n_frontends, sizeof(*o->positions));
	for (size_t i = 0; i < c->n_frontends; i++) {
		o->positions[i] = SIZE_MAX;
		if (c->frontends[i].n_pools)
			o->frontends[o->n++] = i;
	}
	qsort_r(o->frontends, o->n, sizeof(*o->frontends), frontend_cmp, context);
	for (size_t i = 0; i < o->n; i++)
		o->positions[o->frontends[i]] = i;
}

void plan_order_free(struct plan_order *o)
{
	free(o->frontends);
	free(o->positions);
	*o = (struct plan_order){ 0 };
}

/* Compares the key at a position with another one. */
static int compare_at(const struct plan_order *o, const struct l4_config *c, size_t position,
		      const struct lb_vip_key *key)
{
	struct lb_vip_key k = l4_frontend_key(&c->frontends[o->frontends[position]]);

	return lb_vip_key_cmp(&k, key);
}

/* The first position whose key is not less than key. */
static size_t lower_bound(const struct plan_order *o, const struct l4_config *c,
			  const struct lb_vip_key *key)
{
	return sorted_place(o->n, i, compare_at(o, c, i, key) < 0);
}

static bool key_at(const struct plan_order *o, const struct l4_config *c, size_t position,
		   const struct lb_vip_key *key)
{
	return position < o->n && compare_at(o, c, position, key) == 0;
}

size_t plan_order_find(const struct plan_order *o, const struct l4_config *c,
		       const struct lb_vip_key *key)
{
	size_t position = lower_bound(o, c, key);

	return key_at(o, c, position, key) ? o->frontends[position] : SIZE_MAX;
}

void plan_flush_ask(struct plan_flushes *flushes, const struct l4_config *c, size_t frontend,
		    size_t backend)
{
	struct plan_flush one = { .vip = l4_frontend_key(&c->frontends[frontend]),
				  .as = c->backends[backend].address };

	for (size_t i = 0; i < flushes->list.n; i++) {
		struct plan_flush *f = &flushes->list.items[i];

		if (lb_vip_key_cmp(&f->vip, &one.vip) == 0 && addr_cmp(&f->as, &one.as) == 0) {
			f->under_way = false; /* the one under way was requested before */
			return;
		}
	}
	vec_push(&flushes->list, one);
}

/* Whether the AS is a member of any pool of the frontend. */
static bool has_as(const struct l4_config *c, const struct l4_frontend *f, const struct addr *as)
{
	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t i = 0; i < f->pools[p].n_members; i++)
			if (addr_cmp(&c->backends[f->pools[p].members[i].backend].address, as) == 0)
				return true;
	return false;
}

void plan_flushes_keep(struct plan_flushes *flushes, const struct plan_order *o,
		       const struct l4_config *c)
{
	for (size_t i = flushes->list.n; i-- > 0;) {
		const struct plan_flush *f = &flushes->list.items[i];
		size_t frontend = plan_order_find(o, c, &f->vip);

		if (frontend == SIZE_MAX || !has_as(c, &c->frontends[frontend], &f->as))
			vec_remove_at(&flushes->list, i);
	}
}

/*
 * Adds the waiting flushes to what is desired. One whose AS is not desired any more is marked
 * too, and so forgotten with the others.
 */
static void add_flushes(struct plan_flushes *flushes, struct lb_vip *want)
{
	for (size_t i = 0; i < flushes->list.n; i++) {
		struct plan_flush *f = &flushes->list.items[i];
		struct lb_as *as;

		if (lb_vip_key_cmp(&f->vip, &want->key) != 0)
			continue;
		f->under_way = true;
		as = lb_vip_as(want, &f->as);
		if (as)
			as->flush = true;
	}
}

/*
 * Whether a flush of this VIP waits. A repeated request is sent again, even if an earlier flush
 * still holds.
 */
static bool needs_flush(const struct plan_flushes *flushes, const struct lb_vip_key *vip)
{
	for (size_t i = 0; i < flushes->list.n; i++)
		if (lb_vip_key_cmp(&flushes->list.items[i].vip, vip) == 0)
			return true;
	return false;
}

static void copy_vip(const struct lb_vip *from, struct lb_vip *ret)
{
	*ret = *from;
	ret->as.items = NULL;
	ret->as.n = ret->as.cap = 0;
	for (size_t i = 0; i < from->as.n; i++)
		vec_push(&ret->as, from->as.items[i]);
}

/* The difference contains a flush only if the observed AS is not flushed. */
static void forget_flushed(const struct plan_flushes *flushes, struct lb_vip *have)
{
	for (size_t i = 0; i < flushes->list.n; i++) {
		const struct plan_flush *f = &flushes->list.items[i];
		struct lb_as *as = lb_vip_as(have, &f->as);

		if (as && lb_vip_key_cmp(&f->vip, &have->key) == 0)
			as->flush = false;
	}
}

/* The observed VIP is copied before it is changed, because it belongs to the caller. */
void plan_frontend(const struct plan_facts *facts, size_t frontend, struct lb_ops *out)
{
	struct lb_vip want = { 0 }, copy = { 0 };
	const struct lb_vip *have;

	if (!l4_desired_vip(facts->model, frontend, facts->guard, &want))
		return;
	have = lb_state_vip(facts->observed, &want.key);
	if (needs_flush(facts->flushes, &want.key)) {
		add_flushes(facts->flushes, &want);
		if (have) {
			copy_vip(have, &copy);
			forget_flushed(facts->flushes, &copy);
			have = &copy;
		}
	}
	diff_vip(&want, have, out);
	lb_vip_free(&want);
	lb_vip_free(&copy);
}

/* The first observed VIP after *after; NULL at the end. */
static const struct lb_vip *next_observed(const struct lb_state *s, const struct lb_vip_key *after)
{
	const struct lb_vip *vips = s->vips.items;
	size_t at = 0;

	if (after)
		at = sorted_place(s->vips.n, i, lb_vip_key_cmp(&vips[i].key, after) <= 0);
	return at < s->vips.n ? &vips[at] : NULL;
}

/* Merges the two sorted lists, configured and observed VIPs. A VIP in both is configured. */
bool plan_next(const struct plan_order *o, const struct plan_facts *facts,
	       const struct lb_vip_key *after, struct plan_step *ret)
{
	const struct l4_config *c = facts->model->config;
	const struct lb_vip *observed = next_observed(facts->observed, after);
	size_t position = after ? lower_bound(o, c, after) : 0;
	struct lb_vip_key wanted;
	int order;

	if (after && key_at(o, c, position, after))
		position++;
	if (position == o->n && !observed)
		return false;
	if (position == o->n) {
		*ret = (struct plan_step){ observed->key, SIZE_MAX };
		return true;
	}
	wanted = l4_frontend_key(&c->frontends[o->frontends[position]]);
	order = observed ? lb_vip_key_cmp(&observed->key, &wanted) : 1;
	if (order < 0)
		*ret = (struct plan_step){ observed->key, SIZE_MAX };
	else
		*ret = (struct plan_step){ wanted, o->frontends[position] };
	return true;
}

void plan_everything(const struct plan_order *o, const struct plan_facts *facts, struct lb_ops *out)
{
	const struct lb_vip_key *after = NULL;
	struct lb_conf conf;
	struct plan_step step;

	l4_desired_conf(facts->model->config, &conf);
	diff_conf(&conf, facts->observed, out);
	for (; plan_next(o, facts, after, &step); after = &step.key) {
		if (step.frontend != SIZE_MAX)
			plan_frontend(facts, step.frontend, out);
		else
			diff_remove_vip(lb_state_vip(facts->observed, &step.key), out);
	}
}
