/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/units.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/prober.h"
#include "src/maglevd/testing.h"

#define BACKENDS 1200
#define MANY 12000 /* too many for one turn of the loop */

struct fixture {
	struct ev_loop *loop;
	struct engine *engine;
	struct prober *prober;
};

/*
 * Each is probed with the timing in `times`. Nothing listens at their addresses: results do not
 * matter.
 */
static struct snapshot *many_backends(unsigned n, unsigned net, const char *times)
{
	struct snapshot *s;
	struct buf b = { 0 };

	buf_printf(&b,
		   "maglev:\n"
		   "  dataplane: none\n"
		   "  healthchecks: { c: { type: tcp, port: 1, %s } }\n"
		   "  backends:\n",
		   times);
	for (unsigned i = 0; i < n; i++)
		buf_printf(&b, "    b%u: { address: 127.%u.%u.%u, healthcheck: c }\n", i, net,
			   i / 250, 1 + i % 250);
	s = testing_snapshot(buf_cstr(&b));
	buf_free(&b);
	return s;
}

static int setup(void **state)
{
	static struct fixture f;

	f.loop = ev_loop_new(EVFLAG_AUTO);
	f.engine = engine_new(f.loop, many_backends(BACKENDS, 0, "interval: 1s, timeout: 1s"));
	f.prober = prober_new(f.loop, f.engine, "test");
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	prober_free(f->prober);
	engine_free(f->engine);
	ev_loop_destroy(f->loop);
	return 0;
}

/* Afterwards the loop's own clock, which is read once per turn, is late by that much. */
static void rest_for(int64_t duration)
{
	for (int64_t until = loop_monotonic() + duration; loop_monotonic() < until;)
		;
}

static unsigned count_workers(const struct fixture *f)
{
	const struct l4_model *m = engine_model(f->engine);
	unsigned n = 0;

	for (size_t i = 0; i < m->config->n_backends; i++)
		n += m->backends[i]->user != NULL;
	return n;
}

static bool all_have_workers(void *user)
{
	struct fixture *f = user;

	return count_workers(f) == engine_model(f->engine)->config->n_backends;
}

/* All workers have begun, and all probes are due. */
static uint64_t start_and_rest(struct fixture *f)
{
	prober_start(f->prober);
	assert_true(testing_wait(f->loop, all_have_workers, f));
	rest_for(1200 * NSEC_PER_MSEC);
	return prober_stats(f->prober)->started;
}

static void first_probes_are_spread_however_long_the_loop_rested(void **state)
{
	struct fixture *f = *state;

	rest_for(400 * NSEC_PER_MSEC);
	prober_start(f->prober);
	while (!all_have_workers(f))
		ev_run(f->loop, EVRUN_NOWAIT);
	ev_run(f->loop, EVRUN_NOWAIT);
	assert_true(prober_stats(f->prober)->started < BACKENDS / 5);
}

/* NFR-3: no turn is longer than 10 ms */
static void ten_thousand_begin_in_several_turns(void **state)
{
	struct fixture *f = *state;
	struct testing_turns turns;

	engine_reload(f->engine, many_backends(MANY, 0, "interval: 1m"));
	prober_start(f->prober);
	assert_int_equal(count_workers(f), 0);
	testing_turns_begin(&turns, f->loop);
	ev_run(f->loop, EVRUN_NOWAIT);
	assert_in_range(count_workers(f), 1, MANY / 2);
	assert_true(testing_wait(f->loop, all_have_workers, f));
	assert_in_range(testing_turns_end(&turns, f->loop), 0, 10 * NSEC_PER_MSEC);
}

static void run_turns(struct fixture *f, int n)
{
	while (n--)
		ev_run(f->loop, EVRUN_NOWAIT);
}

/* All are due: they start as fast as possible, and none waits for its interval again. */
static void expect_all_start(struct fixture *f)
{
	int64_t end = testing_cpu_time() + 500 * NSEC_PER_MSEC; /* half an interval */

	while (prober_stats(f->prober)->started < BACKENDS && testing_cpu_time() < end)
		ev_run(f->loop, EVRUN_NOWAIT);
	assert_true(prober_stats(f->prober)->started >= BACKENDS);
}

/* FR-5.3: what a reload did not change continues as it was */
static void those_that_are_due_ask_after_a_reload_of_the_same(void **state)
{
	struct fixture *f = *state;

	assert_true(start_and_rest(f) < BACKENDS / 5);
	engine_reload(f->engine, many_backends(BACKENDS, 0, "interval: 1s, timeout: 1s"));
	expect_all_start(f);
}

/* Another address: the schedule continues with the new one. */
static void those_that_are_due_ask_at_another_address(void **state)
{
	struct fixture *f = *state;

	assert_true(start_and_rest(f) < BACKENDS / 5);
	engine_reload(f->engine, many_backends(BACKENDS, 1, "interval: 1s, timeout: 1s"));
	expect_all_start(f);
}

/* NFR-3: as after the process was stopped for a while */
static void those_that_are_due_at_once_start_in_several_turns(void **state)
{
	struct fixture *f = *state;
	uint64_t before = start_and_rest(f);
	struct testing_turns turns;

	testing_turns_begin(&turns, f->loop);
	run_turns(f, 1);
	assert_in_range(testing_turns_end(&turns, f->loop), 0, 10 * NSEC_PER_MSEC);
	assert_in_range(prober_stats(f->prober)->started - before, 1, BACKENDS / 2);
	expect_all_start(f);
}

/* Another check: each worker begins again, at its review or when its timer fires. */
static void nobody_asks_by_a_check_that_is_gone(void **state)
{
	struct fixture *f = *state;
	uint64_t before = start_and_rest(f);

	engine_reload(f->engine, many_backends(BACKENDS, 0, "interval: 1m, timeout: 2s"));
	run_turns(f, 40);
	assert_true(prober_stats(f->prober)->started - before < BACKENDS / 5);
}

static void nobody_asks_for_a_backend_that_is_gone(void **state)
{
	struct fixture *f = *state;
	uint64_t before = start_and_rest(f);

	engine_reload(f->engine, many_backends(1, 0, "interval: 1s, timeout: 1s"));
	run_turns(f, 40);
	assert_in_range(prober_stats(f->prober)->started - before, 0, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(first_probes_are_spread_however_long_the_loop_rested),
		T(ten_thousand_begin_in_several_turns),
		T(those_that_are_due_ask_after_a_reload_of_the_same),
		T(those_that_are_due_ask_at_another_address),
		T(those_that_are_due_at_once_start_in_several_turns),
		T(nobody_asks_by_a_check_that_is_gone),
		T(nobody_asks_for_a_backend_that_is_gone),
	};

	return cmocka_run_group_tests_name("prober", tests, NULL, NULL);
}
