/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/fixture.h"

/* nothing is written until min, VIPs are released until max, then everything is written */
static void the_phases_follow_the_two_delays(void **state)
{
	static const struct {
		int64_t min, max, now;
		enum warmup_phase phase;
		int64_t next;
	} rows[] = {
		{ 5, 30, 100, WARMUP_HANDS_OFF, 105 },
		{ 5, 30, 104, WARMUP_HANDS_OFF, 105 },
		{ 5, 30, 105, WARMUP_RELEASING, 130 },
		{ 5, 30, 129, WARMUP_RELEASING, 130 },
		{ 5, 30, 130, WARMUP_DONE, INT64_MAX },
		{ 5, 30, 9999, WARMUP_DONE, INT64_MAX },
		{ 5, 5, 104, WARMUP_HANDS_OFF, 105 },
		{ 5, 5, 105, WARMUP_DONE, INT64_MAX },
		{ 0, 30, 100, WARMUP_RELEASING, 130 },
		{ 0, 0, 100, WARMUP_DONE, INT64_MAX },
		{ 5, INT64_MAX, 200, WARMUP_RELEASING, INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct l4_lb lb = { .startup_min_delay = rows[i].min,
				    .startup_max_delay = rows[i].max };

		assert_int_equal(warmup_phase(&lb, 100, rows[i].now), rows[i].phase);
		assert_int_equal(warmup_next(&lb, 100, rows[i].now), rows[i].next);
	}
}

/* NFR-1.3: a reload may move the delays, never the start */
static void other_delays_are_measured_from_the_same_start(void **state)
{
	struct l4_lb longer = { .startup_min_delay = 50, .startup_max_delay = 60 };

	assert_int_equal(warmup_phase(&longer, 100, 131), WARMUP_HANDS_OFF);
	assert_int_equal(warmup_phase(&longer, 100, 161), WARMUP_DONE);
}

struct world {
	struct fixture *fixture;
	struct l4_model model;
};

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fixture *f = w->fixture = fixture_new();

	fixture_check(f, "tcp", 2, 3);
	fixture_backend(f, "a", "10.0.0.1", "tcp");
	fixture_backend(f, "b", "10.0.0.2", "tcp");
	fixture_backend(f, "other", "10.0.0.3", "tcp");
	fixture_backend(f, "static", "10.0.0.4", NULL);
	fixture_frontend(f, "empty", "198.51.100.2", 80);
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_pool(f, "primary");
	fixture_member(f, "a", 100);
	fixture_pool(f, "fallback");
	fixture_member(f, "b", 100);
	fixture_member(f, "static", 100);
	l4_model_init(&w->model, fixture_config(f), 1);
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

static void set(struct l4_model *m, const char *name, enum health_state s)
{
	m->backends[l4_config_backend(m->config, name)]->health.state = s;
}

/* a VIP is released once none of its backends, in any pool, is unknown */
static void a_vip_is_ready_when_all_its_backends_have_a_result(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;

	assert_false(warmup_vip_ready(m, 1));
	set(m, "a", HEALTH_UP);
	assert_false(warmup_vip_ready(m, 1));
	set(m, "b", HEALTH_DOWN);
	assert_true(warmup_vip_ready(m, 1)); /* "other" and "static" are still unknown */
}

/* paused and disabled backends are not probed, so waiting for them would never end */
static void paused_and_disabled_backends_do_not_hold(void **state)
{
	struct l4_model *m = &((struct world *)*state)->model;

	set(m, "a", HEALTH_PAUSED);
	set(m, "b", HEALTH_DISABLED);
	assert_true(warmup_vip_ready(m, 1));
}

static void a_frontend_without_pools_has_nothing_to_wait_for(void **state)
{
	assert_true(warmup_vip_ready(&((struct world *)*state)->model, 0));
}

static void phases_have_names(void **state)
{
	assert_string_equal(warmup_phase_name(WARMUP_HANDS_OFF), "hands-off");
	assert_string_equal(warmup_phase_name(WARMUP_RELEASING), "releasing");
	assert_string_equal(warmup_phase_name(WARMUP_DONE), "done");
}

#define story(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_phases_follow_the_two_delays),
		cmocka_unit_test(other_delays_are_measured_from_the_same_start),
		story(a_vip_is_ready_when_all_its_backends_have_a_result),
		story(paused_and_disabled_backends_do_not_hold),
		story(a_frontend_without_pools_has_nothing_to_wait_for),
		cmocka_unit_test(phases_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
