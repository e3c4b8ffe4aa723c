/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random results, commands, weights and reloads, on the model and on a second one that is slow
 * and obvious: flat arrays over every possible name, no pointers, no sorting, rules written down
 * literally. After every step the two must agree in everything that is visible.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "core/l4/desired.h"
#include "core/l4/fixture.h"
#include "core/l4/guard.h"
#include "core/l4/model.h"
#include "core/l4/warmup.h"
#include "core/l4/weight.h"
#include "core/testing/random.h"

#define STEPS 10000
#define BACKENDS 6
#define FRONTENDS 3
#define POOLS 3
#define CHECKS 3
#define NOWHERE (-1)

/* ---- a configuration as plain numbers ---- */

static const struct health_rule rules[CHECKS] = { { 1, 1 }, { 2, 3 }, { 4, 2 } };

struct plan {
	bool there[BACKENDS], enabled[BACKENDS];
	int check[BACKENDS]; /* NOWHERE: static */
	unsigned address[BACKENDS];
	bool vip[FRONTENDS], flush_on_down[FRONTENDS];
	unsigned port[FRONTENDS];
	unsigned n_pools[FRONTENDS], pool_name[FRONTENDS][POOLS];
	int weight[FRONTENDS][POOLS][BACKENDS]; /* by place of the pool; NOWHERE: no member */
	unsigned history;
};

static void roll_pool(struct dice *d, const struct plan *p, int weight[BACKENDS])
{
	unsigned members = 0;

	while (members == 0) {
		for (unsigned b = 0; b < BACKENDS; b++) {
			bool in = p->there[b] && dice_roll(d, 2);

			weight[b] = in ? (int)(dice_roll(d, 3) * 50) : NOWHERE;
			members += in;
		}
	}
}

static void roll_frontend(struct dice *d, struct plan *p, unsigned f)
{
	unsigned first = dice_roll(d, POOLS);

	p->vip[f] = dice_roll(d, 5) > 0;
	p->flush_on_down[f] = dice_roll(d, 2);
	p->port[f] = 80 + (dice_roll(d, 6) == 0);
	p->n_pools[f] = dice_roll(d, POOLS + 1);
	for (unsigned i = 0; i < p->n_pools[f]; i++) {
		p->pool_name[f][i] = (first + i) % POOLS;
		roll_pool(d, p, p->weight[f][i]);
	}
}

static void roll_backend(struct dice *d, struct plan *p, unsigned b)
{
	p->enabled[b] = dice_roll(d, 5) > 0;
	p->check[b] = (int)dice_roll(d, CHECKS + 1) - 1;
	p->address[b] = dice_roll(d, 2);
}

static struct plan roll_plan(struct dice *d)
{
	struct plan p = { .history = 1 + dice_roll(d, 4) };

	for (unsigned b = 0; b < BACKENDS; b++) {
		p.there[b] = b == 0 || dice_roll(d, 6) > 0;
		roll_backend(d, &p, b);
	}
	for (unsigned f = 0; f < FRONTENDS; f++)
		roll_frontend(d, &p, f);
	return p;
}

/* Half of the time only one backend and one frontend change, as an operator would do it. */
static struct plan roll_next_plan(struct dice *d, const struct plan *old)
{
	struct plan p = *old;

	if (dice_roll(d, 2))
		return roll_plan(d);
	roll_backend(d, &p, dice_roll(d, BACKENDS));
	roll_frontend(d, &p, dice_roll(d, FRONTENDS));
	return p;
}

static const char *name_of(char kind, unsigned i, char buf[static 16])
{
	snprintf(buf, 16, "%c%u", kind, i);
	return buf;
}

/*
 * Each backend has two addresses of its own; a backend with a higher number has a lower address.
 */
static const char *address_of(const struct plan *p, unsigned b, char buf[static 16])
{
	snprintf(buf, 16, "10.0.%u.%u", BACKENDS - b, p->address[b]);
	return buf;
}

static void write_frontend(struct fixture *x, const struct plan *p, unsigned f)
{
	char name[16], text[16];

	snprintf(text, sizeof(text), "198.51.100.%u", f);
	fixture_frontend(x, name_of('f', f, name), text, (uint16_t)p->port[f])->flush_on_down =
		p->flush_on_down[f];
	for (unsigned i = 0; i < p->n_pools[f]; i++) {
		fixture_pool(x, name_of('p', p->pool_name[f][i], name));
		for (unsigned b = 0; b < BACKENDS; b++)
			if (p->weight[f][i][b] != NOWHERE)
				fixture_member(x, name_of('b', b, name),
					       (unsigned)p->weight[f][i][b]);
	}
}

static struct l4_config *write_down(struct fixture *x, const struct plan *p)
{
	char name[16], text[16];
	struct l4_config *c;

	for (unsigned i = 0; i < CHECKS; i++)
		fixture_check(x, name_of('c', i, name), rules[i].rise, rules[i].fall);
	for (unsigned b = 0; b < BACKENDS; b++) {
		char check[16];

		if (!p->there[b])
			continue;
		if (p->check[b] != NOWHERE)
			name_of('c', (unsigned)p->check[b], check);
		fixture_backend(x, name_of('b', b, name), address_of(p, b, text),
				p->check[b] == NOWHERE ? NULL : check)
			->enabled = p->enabled[b];
	}
	for (unsigned f = 0; f < FRONTENDS; f++)
		if (p->vip[f])
			write_frontend(x, p, f);
	c = fixture_config(x);
	c->transition_history = p->history;
	return c;
}

/* ---- the slow model ---- */

#define KEPT 4

struct slow_backend {
	enum health_state state;
	int counter;
	int64_t since;
	bool overridden, forced_on, local;
	int64_t told[KEPT]; /* times of the last transitions, newest last */
	unsigned n_told;
};

struct slow {
	struct plan plan;
	struct slow_backend b[BACKENDS];
	int set[FRONTENDS][POOLS][BACKENDS]; /* by name of the pool; NOWHERE: not mutated */
	enum l4_frontend_health health[FRONTENDS];
	int64_t since[FRONTENDS];
	bool released[FRONTENDS];
};

static struct health_rule slow_rule(const struct slow *s, unsigned b)
{
	return s->plan.check[b] == NOWHERE ? (struct health_rule){ 1, 1 } : rules[s->plan.check[b]];
}

static void slow_tell(struct slow *s, unsigned b, int64_t now)
{
	struct slow_backend *x = &s->b[b];

	if (x->n_told == s->plan.history) {
		for (unsigned i = 1; i < x->n_told; i++)
			x->told[i - 1] = x->told[i];
		x->n_told--;
	}
	x->told[x->n_told++] = now;
}

static bool slow_become(struct slow *s, unsigned b, enum health_state to, int64_t now)
{
	if (s->b[b].state == to)
		return false;
	s->b[b].state = to;
	s->b[b].since = now;
	slow_tell(s, b, now);
	return true;
}

static bool slow_result(struct slow *s, unsigned b, bool pass, bool local, int64_t now)
{
	struct slow_backend *x = &s->b[b];
	struct health_rule r = slow_rule(s, b);
	int most = (int)(r.rise + r.fall) - 1;

	if (x->state != HEALTH_UNKNOWN && x->state != HEALTH_UP && x->state != HEALTH_DOWN)
		return false;
	x->local = local;
	if (x->state == HEALTH_UNKNOWN)
		x->counter = pass ? (int)r.rise : 0;
	else
		x->counter += pass ? 1 : -1;
	if (x->counter > most)
		x->counter = most;
	if (x->counter < 0)
		x->counter = 0;
	return slow_become(s, b, x->counter >= (int)r.rise ? HEALTH_UP : HEALTH_DOWN, now);
}

static bool slow_enable(struct slow *s, unsigned b, int64_t now)
{
	if (s->b[b].state != HEALTH_DISABLED)
		return false;
	s->b[b].counter = 0;
	return slow_become(s, b, HEALTH_UNKNOWN, now);
}

/* act: 0 pause, 1 resume, 2 disable, 3 enable. Returns 1, 0 or a refusal. */
static int slow_act(struct slow *s, unsigned b, unsigned act, int64_t now)
{
	struct slow_backend *x = &s->b[b];
	bool changed;

	if (act < 2 && x->state == HEALTH_DISABLED)
		return -1;
	if (act == 0)
		return slow_become(s, b, HEALTH_PAUSED, now);
	if (act == 1) {
		if (x->state != HEALTH_PAUSED)
			return 0;
		x->counter = 0;
		return slow_become(s, b, HEALTH_UNKNOWN, now);
	}
	changed = act == 2 ? slow_become(s, b, HEALTH_DISABLED, now) : slow_enable(s, b, now);
	if (changed) {
		x->overridden = s->plan.enabled[b] != (act == 3);
		x->forced_on = act == 3;
	}
	return changed;
}

static void slow_arrive(struct slow *s, unsigned b, int64_t now)
{
	s->b[b] = (struct slow_backend){ .since = now };
	s->b[b].state = s->plan.enabled[b] ? HEALTH_UNKNOWN : HEALTH_DISABLED;
}

static void slow_trim(struct slow *s, unsigned b)
{
	struct slow_backend *x = &s->b[b];

	while (x->n_told > s->plan.history) {
		for (unsigned i = 1; i < x->n_told; i++)
			x->told[i - 1] = x->told[i];
		x->n_told--;
	}
}

/* The plan is already the new one; old_check is the check that probed it so far. */
static void slow_stay(struct slow *s, unsigned b, int old_check, int64_t now)
{
	struct slow_backend *x = &s->b[b];
	struct health_rule r = slow_rule(s, b);
	int most = (int)(r.rise + r.fall) - 1;

	slow_trim(s, b);
	if (s->plan.check[b] != old_check) {
		if (x->state == HEALTH_UP || x->counter > most)
			x->counter = most;
		if (x->state == HEALTH_DOWN)
			x->counter = 0;
	}
	if (x->overridden ? x->forced_on : s->plan.enabled[b])
		slow_enable(s, b, now);
	else
		slow_become(s, b, HEALTH_DISABLED, now);
}

/* The weight of a tuple in the file, by name of the pool; NOWHERE if there is no such tuple. */
static int written_weight(const struct plan *p, unsigned f, unsigned pool, unsigned b)
{
	for (unsigned i = 0; p->vip[f] && i < p->n_pools[f]; i++)
		if (p->pool_name[f][i] == pool)
			return p->weight[f][i][b];
	return NOWHERE;
}

static void slow_reload_frontend(struct slow *s, const struct plan *old, unsigned f, int64_t now)
{
	const struct plan *p = &s->plan;

	for (unsigned pool = 0; pool < POOLS; pool++)
		for (unsigned b = 0; b < BACKENDS; b++)
			if (written_weight(old, f, pool, b) == NOWHERE ||
			    written_weight(p, f, pool, b) == NOWHERE ||
			    written_weight(p, f, pool, b) == s->set[f][pool][b])
				s->set[f][pool][b] = NOWHERE;
	if (!old->vip[f]) {
		s->health[f] = L4_FRONTEND_UNKNOWN;
		s->since[f] = now;
	}
	if (!old->vip[f] || old->port[f] != p->port[f])
		s->released[f] = false;
}

static void slow_reload(struct slow *s, const struct plan *to, int64_t now)
{
	struct plan old = s->plan;

	s->plan = *to;
	for (unsigned b = 0; b < BACKENDS; b++) {
		if (to->there[b] && old.there[b])
			slow_stay(s, b, old.check[b], now);
		else if (to->there[b])
			slow_arrive(s, b, now);
	}
	for (unsigned f = 0; f < FRONTENDS; f++)
		slow_reload_frontend(s, &old, f, now);
}

static unsigned weight_in_force(const struct slow *s, unsigned f, unsigned place, unsigned b)
{
	int set = s->set[f][s->plan.pool_name[f][place]][b];

	return (unsigned)(set == NOWHERE ? s->plan.weight[f][place][b] : set);
}

static int slow_active(const struct slow *s, unsigned f)
{
	for (unsigned i = 0; i < s->plan.n_pools[f]; i++)
		for (unsigned b = 0; b < BACKENDS; b++)
			if (s->plan.weight[f][i][b] != NOWHERE && s->b[b].state == HEALTH_UP &&
			    weight_in_force(s, f, i, b) > 0)
				return (int)i;
	return NOWHERE;
}

static enum l4_frontend_health slow_judge(const struct slow *s, unsigned f)
{
	if (slow_active(s, f) != NOWHERE)
		return L4_FRONTEND_UP;
	for (unsigned i = 0; i < s->plan.n_pools[f]; i++)
		for (unsigned b = 0; b < BACKENDS; b++)
			if (s->plan.weight[f][i][b] != NOWHERE && s->b[b].state != HEALTH_UNKNOWN)
				return L4_FRONTEND_DOWN;
	return L4_FRONTEND_UNKNOWN;
}

static bool slow_guard(const struct slow *s)
{
	unsigned local = 0, seen = 0;

	for (unsigned b = 0; b < BACKENDS; b++) {
		if (!s->plan.there[b] || s->plan.check[b] == NOWHERE)
			continue;
		if (s->b[b].state == HEALTH_UP || s->b[b].state == HEALTH_DOWN) {
			seen++;
			local += s->b[b].local;
		}
	}
	return seen > 0 && local == seen;
}

/* "10.0.1.0=50 10.0.2.1=0!": from the lowest address, which is the highest number */
static void slow_wanted(const struct slow *s, unsigned f, struct buf *out)
{
	int active = slow_active(s, f);
	char text[16];

	for (int b = BACKENDS - 1; b >= 0; b--) {
		enum health_state state = s->b[b].state;
		bool doubted = slow_guard(s) && state == HEALTH_DOWN;
		bool member = false, weighs = false, flush;
		unsigned weight = 0;

		for (unsigned i = 0; i < s->plan.n_pools[f]; i++) {
			if (s->plan.weight[f][i][b] == NOWHERE)
				continue;
			member = true;
			weighs = weighs || weight_in_force(s, f, i, (unsigned)b) > 0;
			if ((int)i == active && state == HEALTH_UP)
				weight = weight_in_force(s, f, i, (unsigned)b);
		}
		flush = state == HEALTH_DISABLED ||
			(state == HEALTH_DOWN && s->plan.flush_on_down[f] && !doubted);
		if (member)
			buf_printf(out, "%s=%u%s%s ", address_of(&s->plan, (unsigned)b, text),
				   weight, flush ? "!" : "", doubted && weighs ? "~" : "");
	}
}

/* ---- both at once ---- */

struct pair {
	struct dice dice;
	unsigned step;
	struct slow slow;
	struct l4_model model;
	struct fixture *fixture;
};

static void check(const struct pair *t, bool holds, const char *what, unsigned which)
{
	if (!holds)
		fail_msg("seed %llu step %u: %s of %u", (unsigned long long)t->dice.seed, t->step,
			 what, which);
}

static struct l4_backend_state *state_of(const struct pair *t, unsigned b)
{
	char name[16];
	size_t i = l4_config_backend(t->model.config, name_of('b', b, name));

	check(t, (i != SIZE_MAX) == t->slow.plan.there[b], "presence", b);
	return i == SIZE_MAX ? NULL : t->model.backends[i];
}

static bool same_history(const struct slow_backend *x, const struct l4_backend_state *b)
{
	if (b->n_history != x->n_told)
		return false;
	for (unsigned i = 0; i < x->n_told; i++)
		if (b->history[i].change.at != x->told[i])
			return false;
	return true;
}

static void compare_backend(const struct pair *t, unsigned b)
{
	const struct l4_backend_state *is = state_of(t, b);
	const struct slow_backend *x = &t->slow.b[b];
	struct health_rule r = slow_rule(&t->slow, b);

	if (!is)
		return;
	check(t, is->health.state == x->state, "state", b);
	check(t, is->health.counter == (unsigned)x->counter, "counter", b);
	check(t, is->health.counter < r.rise + r.fall, "range of the counter", b);
	check(t, is->health.since == x->since, "since", b);
	check(t, (is->enable == L4_ENABLE_CONFIGURED) == !x->overridden, "override", b);
	check(t, same_history(x, is), "history", b);
}

static void compare_weights(const struct pair *t, unsigned f, size_t i)
{
	const struct plan *p = &t->slow.plan;

	for (unsigned pool = 0; pool < p->n_pools[f]; pool++) {
		const struct l4_weight *w = t->model.frontends[i].weights[pool];

		for (unsigned b = 0; b < BACKENDS; b++) {
			if (p->weight[f][pool][b] == NOWHERE)
				continue;
			check(t, w->value == weight_in_force(&t->slow, f, pool, b), "weight", b);
			check(t,
			      w->mutated == (t->slow.set[f][p->pool_name[f][pool]][b] != NOWHERE),
			      "mutation", b);
			w++;
		}
	}
}

static void compare_wanted(const struct pair *t, unsigned f, size_t i)
{
	_cleanup_(lb_vip_free) struct lb_vip v = { 0 };
	_cleanup_(buf_free) struct buf want = { 0 }, got = { 0 };
	char text[ADDR_STRLEN];
	bool programmed = l4_desired_vip(&t->model, i, l4_guard_active(&t->model), &v);

	check(t, programmed == (t->slow.plan.n_pools[f] > 0), "being programmed", f);
	for (size_t n = 0; n < v.as.n; n++)
		buf_printf(&got, "%s=%u%s%s ", addr_format(&v.as.items[n].address, text),
			   v.as.items[n].weight, v.as.items[n].flush ? "!" : "",
			   v.as.items[n].hold ? "~" : "");
	slow_wanted(&t->slow, f, &want);
	if (strcmp(buf_cstr(&want), buf_cstr(&got)) != 0)
		fail_msg("seed %llu step %u: frontend %u wants %s, not %s",
			 (unsigned long long)t->dice.seed, t->step, f, buf_cstr(&got),
			 buf_cstr(&want));
}

static bool slow_ready(const struct slow *s, unsigned f)
{
	for (unsigned i = 0; i < s->plan.n_pools[f]; i++)
		for (unsigned b = 0; b < BACKENDS; b++)
			if (s->plan.weight[f][i][b] != NOWHERE && s->plan.check[b] != NOWHERE &&
			    s->b[b].state == HEALTH_UNKNOWN)
				return false;
	return true;
}

/* Computes the health on both sides and compares everything about the frontend. */
static void compare_frontend(struct pair *t, unsigned f, int64_t now)
{
	char name[16];
	size_t i = l4_config_frontend(t->model.config, name_of('f', f, name)), active;
	enum l4_frontend_health from = 0, was = t->slow.health[f];
	bool changed;

	check(t, (i != SIZE_MAX) == t->slow.plan.vip[f], "presence of frontend", f);
	if (i == SIZE_MAX)
		return;
	changed = l4_model_judge_frontend(&t->model, i, now, &from);
	t->slow.health[f] = slow_judge(&t->slow, f);
	if (t->slow.health[f] != was)
		t->slow.since[f] = now;
	check(t, changed == (t->slow.health[f] != was), "change of frontend", f);
	check(t, !changed || from == was, "old health of frontend", f);
	check(t, t->model.frontends[i].health == t->slow.health[f], "health of frontend", f);
	check(t, t->model.frontends[i].since == t->slow.since[f], "since of frontend", f);
	check(t, t->model.frontends[i].released == t->slow.released[f], "release", f);
	active = l4_active_pool(&t->model, i);
	check(t, (active == SIZE_MAX ? NOWHERE : (int)active) == slow_active(&t->slow, f),
	      "active pool", f);
	check(t, warmup_vip_ready(&t->model, i) == slow_ready(&t->slow, f), "readiness", f);
	compare_weights(t, f, i);
	compare_wanted(t, f, i);
}

static void random_result(struct pair *t, unsigned b, int64_t now)
{
	static const enum health_code bad[] = { CODE_L4TOUT, CODE_L4CON, CODE_L7STS, CODE_SOCKERR };
	struct l4_backend_state *is = state_of(t, b);
	bool pass = dice_roll(&t->dice, 3) > 0, local = !pass && dice_roll(&t->dice, 4) > 0;
	enum health_code code = pass ? CODE_L7OK : bad[dice_roll(&t->dice, ARRAY_SIZE(bad))];
	struct health_change change;
	bool changed;

	if (!is)
		return;
	changed = l4_backend_record(&t->model, is, code, local, now, &change);
	check(t, changed == slow_result(&t->slow, b, pass, local, now), "change by a result", b);
	if (!changed)
		return;
	check(t, change.why == code && change.at == now, "cause", b);
	l4_backend_remember(is, &change, "a reason");
}

static void random_act(struct pair *t, unsigned b, int64_t now)
{
	struct l4_backend_state *is = state_of(t, b);
	unsigned act = dice_roll(&t->dice, 4);
	struct health_change change;
	int r, want;

	if (!is)
		return;
	if (act == 0)
		r = l4_backend_pause(is, now, &change);
	else if (act == 1)
		r = l4_backend_resume(is, now, &change);
	else if (act == 2)
		r = l4_backend_disable(&t->model, is, now, &change);
	else
		r = l4_backend_enable(&t->model, is, now, &change);
	want = slow_act(&t->slow, b, act, now);
	check(t, (r < 0) == (want < 0) && (r < 0 || r == want), "answer to an act", b);
	if (r == 1)
		l4_backend_remember(is, &change, "a reason");
}

static void random_weight(struct pair *t)
{
	unsigned f = dice_roll(&t->dice, FRONTENDS), pool = dice_roll(&t->dice, POOLS);
	unsigned b = dice_roll(&t->dice, BACKENDS), weight = dice_roll(&t->dice, 4) * 50;
	int written = written_weight(&t->slow.plan, f, pool, b), r;
	char frontend[16], name[16], backend[16];

	r = l4_model_set_weight(&t->model, name_of('f', f, frontend), name_of('p', pool, name),
				name_of('b', b, backend), weight);
	check(t, (r == 0) == (written != NOWHERE && weight <= 100), "answer to a weight", b);
	if (r == 0)
		t->slow.set[f][pool][b] = (int)weight == written ? NOWHERE : (int)weight;
}

/* Acts on one change of a reload as the engine would, and checks it against both plans. */
static void take_change(struct pair *t, const struct plan *old, struct l4_reload_change *c)
{
	unsigned b = (unsigned)(c->backend->name[1] - '0');
	const struct plan *new = &t->slow.plan;
	bool both = old->there[b] && new->there[b];

	check(t, c->added == (!old->there[b] && new->there[b]), "being added", b);
	check(t, c->removed == (old->there[b] && !new->there[b]), "being removed", b);
	check(t, c->probe_changed == (both && old->check[b] != new->check[b]), "probe", b);
	check(t, c->address_changed == (both && old->address[b] != new->address[b]), "address", b);
	if (c->has_transition)
		l4_backend_remember(c->backend, &c->transition, NULL);
	if (!c->removed)
		return;
	check(t, c->backend->health.state == HEALTH_REMOVED && c->backend->index == SIZE_MAX,
	      "removal", b);
	l4_backend_state_free(c->backend);
}

static unsigned differing(const struct plan *old, const struct plan *new)
{
	unsigned n = 0;

	for (unsigned b = 0; b < BACKENDS; b++)
		n += old->there[b] != new->there[b] ||
		     (old->there[b] &&
		      (old->check[b] != new->check[b] || old->address[b] != new->address[b]));
	return n;
}

static void random_reload(struct pair *t, int64_t now)
{
	struct plan old = t->slow.plan, new = roll_next_plan(&t->dice, &old);
	struct fixture *was = t->fixture;
	unsigned transitions = 0;
	struct l4_reload r;

	t->fixture = fixture_new();
	l4_model_reload(&t->model, write_down(t->fixture, &new), now, &r);
	fixture_free(was);
	slow_reload(&t->slow, &new, now);
	for (size_t i = 0; i < r.changes.n; i++) {
		const struct l4_reload_change *c = &r.changes.items[i];

		transitions += !c->added && !c->removed && !c->probe_changed && !c->address_changed;
		take_change(t, &old, &r.changes.items[i]);
	}
	check(t, r.changes.n == differing(&old, &new) + transitions, "number of changes", 0);
	vec_free(&r.changes);
}

static void random_release(struct pair *t)
{
	unsigned f = dice_roll(&t->dice, FRONTENDS);
	char name[16];
	size_t i = l4_config_frontend(t->model.config, name_of('f', f, name));

	if (i == SIZE_MAX)
		return;
	t->model.frontends[i].released = true;
	t->slow.released[f] = true;
}

static void start(struct pair *t)
{
	struct plan p = roll_plan(&t->dice);

	memset(t->slow.set, 0xff, sizeof(t->slow.set)); /* NOWHERE */
	t->fixture = fixture_new();
	l4_model_init(&t->model, write_down(t->fixture, &p), 0);
	slow_reload(&t->slow, &p, 0);
}

static void one_step(struct pair *t)
{
	unsigned roll = dice_roll(&t->dice, 100), b = dice_roll(&t->dice, BACKENDS);
	int64_t now = (int64_t)t->step + 1;

	if (roll < 75)
		random_result(t, b, now);
	else if (roll < 88)
		random_act(t, b, now);
	else if (roll < 95)
		random_weight(t);
	else if (roll < 97)
		random_release(t);
	else
		random_reload(t, now);
	for (unsigned i = 0; i < BACKENDS; i++)
		compare_backend(t, i);
	for (unsigned f = 0; f < FRONTENDS; f++)
		compare_frontend(t, f, now);
	check(t, l4_guard_active(&t->model) == slow_guard(&t->slow), "guard", 0);
}

/* FR-1.2, FR-1.6, FR-2.2 .. FR-2.4, FR-3.1 .. FR-3.4, FR-4.3, NFR-2.1 */
static void random_lives_agree_with_the_slow_and_obvious_model(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct pair t = { .dice = dice_of_run(run) };

		start(&t);
		for (; t.step < STEPS; t.step++)
			one_step(&t);
		l4_model_free(&t.model);
		fixture_free(t.fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lives_agree_with_the_slow_and_obvious_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
