/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/ejection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/testing/random.h"

static const struct l7_ejection ten = { .failures = 5, .time = 10 * NSEC_PER_SEC, .most = 50 };

static void failures_are_those_of_the_server(void **state)
{
	static const struct {
		struct l7_try t;
		bool failed;
	} cases[] = {
		{ { .ending = L7_ANSWERED, .status = 200 }, false },
		{ { .ending = L7_ANSWERED, .status = 404 }, false },
		{ { .ending = L7_ANSWERED, .status = 499 }, false },
		{ { .ending = L7_ANSWERED, .status = 500 }, true },
		{ { .ending = L7_ANSWERED, .status = 501 }, false },
		{ { .ending = L7_ANSWERED, .status = 502 }, true },
		{ { .ending = L7_ANSWERED, .status = 503 }, true },
		{ { .ending = L7_ANSWERED, .status = 504 }, true },
		{ { .ending = L7_ANSWERED, .status = 505 }, false },
		{ { .ending = L7_NOT_REACHED }, true },
		{ { .ending = L7_NOT_TAKEN }, false },
		{ { .ending = L7_BROKEN }, true },
		{ { .ending = L7_BROKEN, .answering = true }, true },
		{ { .ending = L7_TIMED_OUT }, true },
		{ { .ending = L7_TIMED_OUT, .answering = true }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(l7_try_failed(&cases[i].t), cases[i].failed);
}

static void no_more_than_a_share_is_left_out_but_always_one(void **state)
{
	struct l7_ejection e = ten;

	assert_true(l7_ejection_allowed(&e, 4, 0));
	assert_true(l7_ejection_allowed(&e, 4, 1));
	assert_false(l7_ejection_allowed(&e, 4, 2));
	assert_false(l7_ejection_allowed(&e, 3, 1));
	e.most = 0;
	assert_true(l7_ejection_allowed(&e, 100, 0));
	assert_false(l7_ejection_allowed(&e, 100, 1));
	e.most = 100;
	assert_true(l7_ejection_allowed(&e, 3, 2));
}

static void the_time_doubles_in_a_row_up_to_a_bound(void **state)
{
	struct l7_ejected s = { 0 };
	int64_t now = 12345;
	static const int64_t seconds[] = { 10, 20, 40, 80, 160, 300, 300 };

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		l7_eject(&s, &ten, now);
		assert_int_equal(s.until - now, seconds[i] * NSEC_PER_SEC);
		now = s.until + 5 * NSEC_PER_SEC; /* back for less than the last time */
	}
	now = s.until + 300 * NSEC_PER_SEC; /* back for as long as that */
	l7_eject(&s, &ten, now);
	assert_int_equal(s.until - now, 10 * NSEC_PER_SEC);
	assert_int_equal(s.times, 1);
}

static void a_long_time_is_not_shortened_by_the_bound(void **state)
{
	const struct l7_ejection hour = { .failures = 1, .time = 3600 * NSEC_PER_SEC, .most = 50 };
	struct l7_ejected s = { 0 };

	l7_eject(&s, &hour, 0);
	l7_eject(&s, &hour, s.until);
	assert_int_equal(s.until - s.from, hour.time);
}

static void the_share_grows_evenly(void **state)
{
	struct dice d = dice_of_run(0);
	unsigned taken[4] = { 0 };

	for (unsigned i = 0; i < 10000; i++)
		for (unsigned k = 0; k < 4; k++)
			taken[k] += l7_slow_start_takes((int64_t)k * NSEC_PER_SEC, 4 * NSEC_PER_SEC,
							dice_u64(&d));
	assert_int_equal(taken[0], 0);
	for (unsigned k = 1; k < 4; k++)
		assert_in_range(taken[k], k * 2500 - 250, k * 2500 + 250);
	assert_true(l7_slow_start_takes(4 * NSEC_PER_SEC, 4 * NSEC_PER_SEC, UINT64_MAX));
	assert_true(l7_slow_start_takes(INT64_MAX, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_are_those_of_the_server),
		cmocka_unit_test(no_more_than_a_share_is_left_out_but_always_one),
		cmocka_unit_test(the_time_doubles_in_a_row_up_to_a_bound),
		cmocka_unit_test(a_long_time_is_not_shortened_by_the_bound),
		cmocka_unit_test(the_share_grows_evenly),
	};

	return cmocka_run_group_tests_name("core/l7/ejection", tests, NULL, NULL);
}
