/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "base/units.h"

static int64_t spin_ns; /* how long on_timer() keeps the loop busy */

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	int64_t end = loop_monotonic() + spin_ns;

	while (loop_monotonic() < end)
		;
}

struct turns {
	size_t n;
	int64_t max_ns;
	double sum_seconds;
};

static void on_turn(int64_t ns, void *user)
{
	struct turns *t = user;

	t->n++;
	t->sum_seconds += loop_seconds(ns);
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
}

/* Runs the loop until a timer of `idle` seconds has fired; then the loop ends by itself. */
static struct turns run_with_timer(double idle, int64_t busy_ns)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct turns turns = { 0 };
	struct loop_lag lag;
	ev_timer timer;

	spin_ns = busy_ns;
	loop_lag_start(&lag, loop, on_turn, &turns);
	ev_timer_init(&timer, on_timer, idle, 0);
	ev_timer_start(loop, &timer);
	assert_false(ev_run(loop, 0));
	/* one more turn, so that the last one is counted */
	ev_run(loop, EVRUN_NOWAIT);
	loop_lag_stop(&lag, loop);
	loop_lag_stop(&lag, loop);
	ev_loop_destroy(loop);
	return turns;
}

static void a_busy_callback_is_seen_as_lag(void **state)
{
	struct turns turns = run_with_timer(0, 15 * NSEC_PER_MSEC);

	assert_true(turns.max_ns >= 15 * NSEC_PER_MSEC);
	assert_true(turns.sum_seconds >= 0.015);
}

static void idle_waiting_is_not_lag(void **state)
{
	int64_t before = loop_monotonic();
	struct turns turns = run_with_timer(0.1, 0);
	double elapsed = loop_seconds(loop_monotonic() - before);

	assert_true(turns.n >= 1);
	assert_true(elapsed >= 0.1);
	/* even on a slow machine the wait itself is not in the sum */
	assert_true(turns.sum_seconds <= elapsed - 0.05);
}

static void lag_alone_does_not_keep_the_loop_running(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct turns turns = { 0 };
	struct loop_lag lag;

	loop_lag_start(&lag, loop, on_turn, &turns);
	assert_false(ev_run(loop, 0));
	loop_lag_stop(&lag, loop);
	ev_loop_destroy(loop);
}

static void clocks_are_nanoseconds(void **state)
{
	int64_t a = loop_monotonic(), b = loop_monotonic();
	int64_t wall = (int64_t)time(NULL);

	assert_true(a > 0 && b >= a);
	assert_in_range(loop_realtime() / NSEC_PER_SEC, wall - 1, wall + 2);
	assert_true(loop_seconds(1500 * NSEC_PER_MSEC) == 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_callback_is_seen_as_lag),
		cmocka_unit_test(idle_waiting_is_not_lag),
		cmocka_unit_test(lag_alone_does_not_keep_the_loop_running),
		cmocka_unit_test(clocks_are_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
