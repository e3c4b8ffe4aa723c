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

/* Turns until a timer that waits for `idle` seconds has fired; the loop then ends by itself. */
static struct loop_lag run_with_timer(double idle, int64_t busy_ns)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct loop_lag lag;
	ev_timer timer;

	spin_ns = busy_ns;
	loop_lag_start(&lag, loop);
	ev_timer_init(&timer, on_timer, idle, 0);
	ev_timer_start(loop, &timer);
	assert_false(ev_run(loop, 0));
	/* one more turn, so that the last one is counted */
	ev_run(loop, EVRUN_NOWAIT);
	loop_lag_stop(&lag, loop);
	loop_lag_stop(&lag, loop);
	ev_loop_destroy(loop);
	return lag;
}

static void a_busy_callback_is_seen_as_lag(void **state)
{
	struct loop_lag lag = run_with_timer(0, 15 * NSEC_PER_MSEC);

	assert_true(lag.max_ns >= 15 * NSEC_PER_MSEC);
	assert_true(lag.over_10ms >= 1);
	assert_true(lag.turns >= lag.over_10ms);
	assert_true(lag.sum_seconds >= 0.015);
}

static void idle_waiting_is_not_lag(void **state)
{
	int64_t before = loop_monotonic();
	struct loop_lag lag = run_with_timer(0.1, 0);
	double elapsed = loop_seconds(loop_monotonic() - before);

	assert_true(lag.turns >= 1);
	assert_true(elapsed >= 0.1);
	/* however slow the machine, the wait itself is not in the sum */
	assert_true(lag.sum_seconds <= elapsed - 0.05);
}

static void the_maximum_is_taken_once(void **state)
{
	struct loop_lag lag = run_with_timer(0, NSEC_PER_MSEC);

	assert_true(loop_lag_take_max(&lag) >= NSEC_PER_MSEC);
	assert_int_equal(loop_lag_take_max(&lag), 0);
}

static void lag_alone_does_not_keep_the_loop_running(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct loop_lag lag;

	loop_lag_start(&lag, loop);
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
		cmocka_unit_test(the_maximum_is_taken_once),
		cmocka_unit_test(lag_alone_does_not_keep_the_loop_running),
		cmocka_unit_test(clocks_are_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
