/* SPDX-License-Identifier: Apache-2.0 */
/* The weight of a backend that returns. */
#include "core/l4/slow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/desired.h"
#include "core/l4/fixture.h"
#include "core/l4/guard.h"
#include "core/l4/weight.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC

static void shares_grow_in_few_steps(void **state)
{
	static const struct {
		int64_t slow_start, elapsed;
		unsigned share;
	} rows[] = {
		{ 30 * S, 0, 10 },	{ 30 * S, 3 * S - 1, 10 },   { 30 * S, 3 * S, 20 },
		{ 30 * S, 15 * S, 60 }, { 30 * S, 27 * S, 100 },     { 30 * S, 3600 * S, 100 },
		{ 30 * S, -5 * S, 10 }, /* the clock went back */
		{ 500 * MS, 0, 20 },	{ 500 * MS, 400 * MS, 100 }, { 100 * MS, 0, 100 },
		{ 0, 0, 100 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(l4_slow_share(1000 * S, rows[i].slow_start,
					       1000 * S + rows[i].elapsed),
				 rows[i].share);
	assert_int_equal(l4_slow_share(0, 30 * S, 1), 100); /* not a return */
}

static void a_small_weight_is_never_none(void **state)
{
	assert_int_equal(l4_slow_weight(0, 10), 0);
	assert_int_equal(l4_slow_weight(1, 10), 1);
	assert_int_equal(l4_slow_weight(4, 10), 1);
	assert_int_equal(l4_slow_weight(100, 10), 10);
	assert_int_equal(l4_slow_weight(100, 100), 100);
	assert_int_equal(l4_slow_weight(55, 30), 17);
}

/* ---- with a model: two backends in a pool with 10 s ---- */

struct world {
	struct fixture *fixture;
	struct l4_model model;
	int64_t now;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fixture *f = fixture_new();

	fixture_check(f, "web", 1, 1);
	fixture_backend(f, "a", "10.0.0.1", "web");
	fixture_backend(f, "b", "10.0.0.2", "web");
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_pool(f, "all");
	fixture_member(f, "a", 100);
	fixture_member(f, "b", 50);
	w->fixture = f;
	w->now = 1000 * S;
	l4_model_init(&w->model, fixture_config(f), w->now);
	((struct l4_pool *)(uintptr_t)w->model.config->frontends[0].pools)->slow_start = 10 * S;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixture);
	free(w);
	return 0;
}

static void record(struct world *w, size_t backend, enum health_code code, bool local)
{
	struct l4_backend_state *b = w->model.backends[backend];
	struct health_change change;

	if (l4_backend_record(&w->model, b, code, local, w->now, &change))
		l4_backend_remember(b, &change, "");
}

static unsigned weight_of(const struct world *w, size_t backend)
{
	struct lb_vip vip = { 0 };
	unsigned weight;

	assert_true(l4_desired_vip(&w->model, 0, false, &vip));
	weight = vip.as.items[backend].weight;
	assert_int_equal(weight, l4_member_weight(&w->model, 0, 0, backend, true).weight);
	lb_vip_free(&vip);
	return weight;
}

/* Goes on to the next step; the number of weights that have grown. */
static size_t step(struct world *w)
{
	struct l4_slow_growths grown = { 0 };
	size_t n;

	w->now = l4_model_slow_next(&w->model);
	l4_model_slow_step(&w->model, w->now, &grown);
	n = grown.list.n;
	vec_free(&grown.list);
	return n;
}

static void begin(struct world *w)
{
	record(w, 0, CODE_L4OK, false);
	record(w, 1, CODE_L4OK, false);
}

static void the_first_start_is_not_slow(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_int_equal(weight_of(w, 0), 100);
	assert_int_equal(weight_of(w, 1), 50);
	assert_true(l4_model_slow_next(&w->model) == INT64_MAX);
}

static void a_backend_that_returns_grows_to_its_weight(void **state)
{
	struct world *w = *state;
	unsigned last = 10, changes = 0;

	begin(w);
	record(w, 0, CODE_L4CON, false);
	assert_int_equal(weight_of(w, 0), 0);
	record(w, 0, CODE_L4OK, false);
	assert_int_equal(weight_of(w, 0), 10);
	assert_int_equal(weight_of(w, 1), 50);
	assert_true(l4_slow_until(&w->model, &w->model.config->frontends[0].pools[0],
				  w->model.backends[0]) == w->now + 9 * S);
	while (l4_model_slow_next(&w->model) != INT64_MAX) {
		assert_int_equal(step(w), 1);
		assert_true(weight_of(w, 0) > last);
		last = weight_of(w, 0);
		changes++;
	}
	assert_int_equal(changes, L4_SLOW_STEPS - 1);
	assert_int_equal(last, 100);
	assert_int_equal(w->now, 1009 * S);
}

/* a failure on the way, and again from the beginning */
static void a_failure_ends_the_growth(void **state)
{
	struct world *w = *state;

	begin(w);
	record(w, 0, CODE_L4CON, false);
	record(w, 0, CODE_L4OK, false);
	step(w);
	step(w);
	assert_int_equal(weight_of(w, 0), 30);
	record(w, 0, CODE_L4CON, false);
	assert_int_equal(weight_of(w, 0), 0);
	assert_true(l4_model_slow_next(&w->model) == INT64_MAX);
	record(w, 0, CODE_L4OK, false);
	assert_int_equal(weight_of(w, 0), 10);
}

/* an operator takes a server out to restart it */
static void a_pause_is_an_absence(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *b = w->model.backends[0];
	struct health_change change;

	begin(w);
	assert_int_equal(l4_backend_pause(b, w->now, &change), 1);
	l4_backend_remember(b, &change, "");
	assert_int_equal(l4_backend_resume(b, w->now, &change), 1);
	l4_backend_remember(b, &change, "");
	record(w, 0, CODE_L4OK, false);
	assert_int_equal(weight_of(w, 0), 10);
}

/* the guard has held its weight: it must not be lowered when the probes pass again */
static void a_weight_that_was_held_stays(void **state)
{
	struct world *w = *state;

	begin(w);
	record(w, 0, CODE_SOCKERR, true);
	record(w, 1, CODE_SOCKERR, true);
	assert_true(l4_guard_active(&w->model));
	record(w, 0, CODE_L4OK, false); /* while the guard is active */
	assert_int_equal(weight_of(w, 0), 100);
	l4_guard_lowered(&w->model);
	record(w, 1, CODE_L4OK, false); /* spared */
	assert_int_equal(weight_of(w, 1), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		cmocka_unit_test(shares_grow_in_few_steps),
		cmocka_unit_test(a_small_weight_is_never_none),
		CASE(the_first_start_is_not_slow),
		CASE(a_backend_that_returns_grows_to_its_weight),
		CASE(a_failure_ends_the_growth),
		CASE(a_pause_is_an_absence),
		CASE(a_weight_that_was_held_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
