/* SPDX-License-Identifier: Apache-2.0 */
/* The all-down guard, as the data plane sees it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevd/testing.h"
#include "src/maglevd/world.h"

/* DESIGN: the guard lowers no weight while the fault is on this machine, and ends when it is not */
static void the_guard_holds_back_only_our_own_faults(void **state)
{
	struct world *w = *state;
	const struct l4_model *m;

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	m = engine_model(w->engine);
	world_fail_here(w, 3);
	assert_true(engine_guard(w->engine));
	assert_int_equal(m->backends[0]->health.state, HEALTH_DOWN);
	world_settle(w);
	reconcile_sync_all(w->reconcile);
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	assert_int_equal(world_weight(w, "10.0.0.2"), 50);

	/* the operator's actions still take effect */
	assert_int_equal(engine_disable(w->engine, "b2", NULL), 0);
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.2 50->0 flush", 0) != SIZE_MAX);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);

	/* one failure of a remote host, and each backend follows its own next result */
	world_feed(w, "b9", CODE_L4CON, 1);
	assert_false(engine_guard(w->engine));
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.9"), 0);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_feed(w, "b1", CODE_L4CON, 1);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 0);
	world_stop(w);
}

/* The machine recovers: backends that come up were never removed, and nothing was flushed. */
static void healing_takes_nothing_away(void **state)
{
	static const char *const names[] = { "b1", "b2", "b9", "other" };
	struct world *w = *state;

	world_start_warm(w);
	world_fail_here(w, 3);
	assert_true(engine_guard(w->engine));
	world_settle(w);
	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			world_feed(w, names[i], CODE_L4OK, 1);
			world_settle(w);
		}
	assert_false(engine_guard(w->engine));
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	assert_int_equal(world_weight(w, "10.0.0.2"), 50);
	assert_int_equal(world_weight(w, "10.0.0.9"), 0);
	assert_true(fake_plane_find(&w->plane, "flush", 0) == SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->0", 0) == SIZE_MAX);
	world_stop(w);
}

static void a_real_outage_of_all_backends_is_no_guard(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	world_feed(w, "b1", CODE_L4TOUT, 3);
	world_feed(w, "b2", CODE_L4CON, 3);
	world_feed(w, "b9", CODE_L7STS, 3);
	world_feed(w, "other", CODE_L4TOUT, 3);
	assert_false(engine_guard(w->engine));
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 0);
	assert_int_equal(world_weight(w, "10.0.0.9"), 0);
	world_stop(w);
}

/* The operator's actions still take effect, also on backends that are held. */
static void the_operator_may_drain_and_flush_what_is_held(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	world_fail_here(w, 3);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	fake_plane_clear_journal(&w->plane);

	/*
	 * drained: flows continue, whatever flush-on-down says, because it is not known to be
	 * down
	 */
	assert_int_equal(engine_set_weight(w->engine,
					   &(struct engine_weight){ "www", "primary", "b1", 0,
								    false, NULL }),
			 0);
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 1);
	assert_string_equal(w->plane.journal.items[0],
			    "as-weight 192.0.2.10:80/tcp 10.0.0.1 100->0");

	/* flushed, at the weight that is held */
	assert_int_equal(engine_set_weight(w->engine,
					   &(struct engine_weight){ "www", "primary", "b2", 50,
								    true, NULL }),
			 0);
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 2);
	assert_string_equal(w->plane.journal.items[1],
			    "as-weight 192.0.2.10:80/tcp 10.0.0.2 50->50 flush");
	world_stop(w);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_guard_holds_back_only_our_own_faults),
		T(healing_takes_nothing_away),
		T(a_real_outage_of_all_backends_is_no_guard),
		T(the_operator_may_drain_and_flush_what_is_held),
	};

	return cmocka_run_group_tests_name("reconcile_guard", tests, NULL, NULL);
}
