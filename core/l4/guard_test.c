/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/l4/fixture.h"

struct world {
	struct fixture *fixture;
	struct l4_config *config;
	struct l4_model model;
};

/* a and b are probed, static is not. */
static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));

	w->fixture = fixture_new();
	fixture_check(w->fixture, "tcp", 1, 2);
	fixture_backend(w->fixture, "a", "10.0.0.1", "tcp");
	fixture_backend(w->fixture, "b", "10.0.0.2", "tcp");
	fixture_backend(w->fixture, "static", "10.0.0.3", NULL);
	w->config = fixture_config(w->fixture);
	l4_model_init(&w->model, w->config, 1);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixture);
	free(w);
	return 0;
}

static void result(struct l4_model *m, size_t backend, enum health_code code, bool local)
{
	struct health_change change;

	l4_backend_record(m, m->backends[backend], code, local, 2, &change);
}

static void all_local_failures_raise_the_guard(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;

	assert_false(l4_guard_active(m));
	result(m, 2, CODE_STATIC, false);
	assert_false(l4_guard_active(m));
	result(m, 0, CODE_L4CON, true);
	result(m, 1, CODE_SOCKERR, true);
	assert_true(l4_guard_active(m));
}

static void one_backend_that_sees_the_world_lowers_it(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;

	result(m, 0, CODE_L4CON, true);
	result(m, 1, CODE_L4CON, true);
	assert_true(l4_guard_active(m));
	result(m, 1, CODE_L4OK, false);
	assert_false(l4_guard_active(m));
}

static void a_real_outage_of_all_backends_never_raises_it(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;

	result(m, 0, CODE_L4TOUT, false);
	result(m, 1, CODE_L4CON, false);
	assert_false(l4_guard_active(m));
	result(m, 0, CODE_L4CON, true);
	assert_false(l4_guard_active(m));
}

static void it_is_raised_before_anything_goes_down(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;

	for (size_t i = 0; i < 2; i++) {
		result(m, i, CODE_L4OK, false);
		result(m, i, CODE_L4OK, false);
		result(m, i, CODE_SOCKERR, true);
		assert_int_equal(m->backends[i]->health.state, HEALTH_UP);
	}
	assert_true(l4_guard_active(m));
}

static void a_paused_or_disabled_backend_has_no_say(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;
	struct health_change change;

	result(m, 0, CODE_L4OK, false);
	result(m, 1, CODE_SOCKERR, true);
	assert_false(l4_guard_active(m));
	assert_int_equal(l4_backend_pause(m->backends[0], 3, &change), 1);
	assert_true(l4_guard_active(m));
	assert_int_equal(l4_backend_disable(m, m->backends[1], 3, &change), 1);
	assert_false(l4_guard_active(m));
}

/*
 * Otherwise resuming or adding a backend while the guard is active would drop every
 * weight it holds.
 */
static void an_unknown_backend_has_no_say_yet(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;
	struct health_change change;

	result(m, 1, CODE_SOCKERR, true);
	assert_int_equal(m->backends[0]->health.state, HEALTH_UNKNOWN);
	assert_true(l4_guard_active(m));
	result(m, 0, CODE_SOCKERR, true);
	l4_backend_pause(m->backends[0], 3, &change);
	assert_int_equal(l4_backend_resume(m->backends[0], 4, &change), 1);
	assert_true(l4_guard_active(m));
	result(m, 0, CODE_L4TOUT, false);
	assert_false(l4_guard_active(m));
}

static void who_heals_is_spared_until_his_own_next_failure(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;
	const struct l4_backend_state *a = m->backends[0], *b = m->backends[1];

	result(m, 0, CODE_SOCKERR, true);
	result(m, 1, CODE_SOCKERR, true);
	result(m, 1, CODE_L4TOUT, false); /* a failure seen from outside: not spared */
	l4_guard_lowered(m);
	assert_true(a->spared);
	assert_false(b->spared);
	result(m, 0, CODE_SOCKERR, true); /* other backends have results from outside by now */
	assert_false(a->spared);

	result(m, 1, CODE_SOCKERR, true);
	result(m, 1, CODE_L4OK, false);
	l4_guard_lowered(m);
	assert_true(a->spared && b->spared);
	result(m, 1, CODE_L4OK, false);
	assert_true(b->spared);
	result(m, 1, CODE_L4CON, false);
	assert_false(b->spared);
}

static void nothing_probed_means_no_guard(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;
	struct health_change change;

	for (size_t i = 0; i < 2; i++) {
		result(m, i, CODE_SOCKERR, true);
		l4_backend_disable(m, m->backends[i], 3, &change);
	}
	assert_false(l4_guard_active(m));
}

static void it_can_be_switched_off(void **state)
{
	struct world *w = *state;

	result(&w->model, 0, CODE_SOCKERR, true);
	result(&w->model, 1, CODE_SOCKERR, true);
	w->config->all_down_guard = false;
	assert_false(l4_guard_active(&w->model));
}

#define story(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		story(all_local_failures_raise_the_guard),
		story(one_backend_that_sees_the_world_lowers_it),
		story(a_real_outage_of_all_backends_never_raises_it),
		story(it_is_raised_before_anything_goes_down),
		story(a_paused_or_disabled_backend_has_no_say),
		story(an_unknown_backend_has_no_say_yet),
		story(who_heals_is_spared_until_his_own_next_failure),
		story(nothing_probed_means_no_guard),
		story(it_can_be_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
