/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/frontend/pace.h"

#define GAP (50 * NSEC_PER_MSEC)
#define PERIOD (200 * NSEC_PER_MSEC)

struct run {
	struct pace pace;
	struct ev_loop *loop;
	unsigned n, stop_at;
	int64_t at[8];
	bool leave_open;  /* does not end by itself */
	unsigned want_in; /* wants this many more while it is under way */
};

static void on_begin(struct pace *p)
{
	struct run *r = container_of(p, struct run, pace);

	r->at[r->n++] = loop_monotonic();
	for (; r->want_in; r->want_in--)
		pace_want(p);
	if (!r->leave_open)
		pace_end(p);
	if (r->n == r->stop_at)
		ev_break(r->loop, EVBREAK_ONE);
}

static void start(struct run *r)
{
	r->loop = ev_loop_new(EVFLAG_AUTO);
	pace_init(&r->pace, r->loop, GAP, PERIOD, on_begin);
	pace_start(&r->pace);
}

static void stop(struct run *r)
{
	pace_stop(&r->pace);
	pace_stop(&r->pace);
	ev_loop_destroy(r->loop);
}

static void it_begins_at_once_and_then_each_period(void **state)
{
	struct run r = { .stop_at = 3 };

	start(&r);
	ev_run(r.loop, 0);
	assert_true(r.at[1] - r.at[0] >= PERIOD);
	assert_true(r.at[2] - r.at[1] >= PERIOD);
	stop(&r);
}

static void who_wants_it_gets_it_after_the_gap(void **state)
{
	struct run r = { .stop_at = 1 };

	start(&r);
	ev_run(r.loop, 0);
	r.stop_at = 2;
	pace_want(&r.pace);
	pace_want(&r.pace);
	ev_run(r.loop, 0);
	assert_true(r.at[1] - r.at[0] >= GAP);
	assert_true(r.at[1] - r.at[0] < PERIOD);
	r.stop_at = 3; /* two wishes lead to one request */
	ev_run(r.loop, 0);
	assert_true(r.at[2] - r.at[1] >= PERIOD);
	stop(&r);
}

static void what_is_wanted_meanwhile_comes_once_more(void **state)
{
	struct run r = { .stop_at = 2, .want_in = 3 };

	start(&r);
	ev_run(r.loop, 0);
	assert_true(r.at[1] - r.at[0] >= GAP);
	assert_true(r.at[1] - r.at[0] < PERIOD);
	stop(&r);
}

static void it_is_never_under_way_twice(void **state)
{
	struct run r = { .stop_at = 1, .leave_open = true };

	start(&r);
	ev_run(r.loop, 0);
	pace_want(&r.pace);
	ev_run(r.loop, 0); /* nothing is left to wait for */
	assert_int_equal(r.n, 1);
	r.stop_at = 2;
	pace_end(&r.pace);
	ev_run(r.loop, 0);
	assert_int_equal(r.n, 2);
	stop(&r);
}

static void without_a_period_it_begins_only_when_wanted(void **state)
{
	struct run r = { .stop_at = 8 };

	r.loop = ev_loop_new(EVFLAG_AUTO);
	pace_init(&r.pace, r.loop, GAP, 0, on_begin);
	pace_start(&r.pace);
	ev_run(r.loop, 0); /* returns, since nothing is left to wait for */
	assert_int_equal(r.n, 1);
	pace_want(&r.pace);
	ev_run(r.loop, 0);
	assert_int_equal(r.n, 2);
	assert_true(r.at[1] - r.at[0] >= GAP);
	stop(&r);
}

static void once_stopped_it_is_silent(void **state)
{
	struct run r = { .stop_at = 1 };

	start(&r);
	ev_run(r.loop, 0);
	pace_stop(&r.pace);
	pace_want(&r.pace);
	ev_run(r.loop, 0);
	assert_int_equal(r.n, 1);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_at_once_and_then_each_period),
		cmocka_unit_test(who_wants_it_gets_it_after_the_gap),
		cmocka_unit_test(what_is_wanted_meanwhile_comes_once_more),
		cmocka_unit_test(it_is_never_under_way_twice),
		cmocka_unit_test(without_a_period_it_begins_only_when_wanted),
		cmocka_unit_test(once_stopped_it_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
