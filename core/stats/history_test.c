/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOUR HISTORY_SPAN_HOUR
#define DAY HISTORY_SPAN_DAY

static void check_gap(const struct history *h, enum history_span span, int64_t number)
{
	assert_true(isnan(history_get(h, span, number)));
}

static void a_gap_is_not_zero_and_costs_nothing_before_the_first_value(void **state)
{
	struct history h = { 0 };

	check_gap(&h, HOUR, 100);
	history_put(&h, 100, NAN, HISTORY_MEAN);
	assert_null(h.values);
	history_put(&h, 101, 0, HISTORY_MEAN);
	history_put(&h, 102, NAN, HISTORY_MEAN);
	check_gap(&h, HOUR, 100);
	assert_true(history_get(&h, HOUR, 101) == 0);
	check_gap(&h, HOUR, 102);
	check_gap(&h, HOUR, 103); /* the future */
	check_gap(&h, HOUR, -1);
	history_free(&h);
}

static void a_value_is_off_by_at_most_one_part_in_256(void **state)
{
	struct history h = { 0 };
	int64_t step = 0;
	float value = 1e-6F;

	for (; step < 150; step++) { /* up to 3e14 */
		float kept;

		history_put(&h, step, value, HISTORY_MEAN);
		kept = history_get(&h, HOUR, step);
		assert_true(fabsf(kept - value) <= value / 256);
		value *= 1.37F;
	}
	for (int i = 0; i <= 256; i++, step++) {
		history_put(&h, step, (float)i, HISTORY_MEAN);
		assert_true(history_get(&h, HOUR, step) == (float)i);
	}
	history_free(&h);
}

static void what_was_left_out_is_a_gap(void **state)
{
	struct history h = { 0 };

	for (int64_t step = 0; step < 2 * (int64_t)HISTORY_HOUR; step++)
		history_put(&h, step, 7, HISTORY_MEAN);
	history_put(&h, 800, 9, HISTORY_MEAN);
	assert_true(history_get(&h, HOUR, 719) == 7);
	for (int64_t step = 720; step < 800; step++)
		check_gap(&h, HOUR, step);
	assert_true(history_get(&h, HOUR, 800) == 9);
	history_put(&h, 799, 5, HISTORY_MEAN); /* too late */
	check_gap(&h, HOUR, 799);
	history_free(&h);
}

static void an_hour_and_a_day_are_kept_and_no_more(void **state)
{
	struct history h = { 0 };
	int64_t last = 3 * (int64_t)HISTORY_DAY * HISTORY_GROUP;

	for (int64_t step = 0; step <= last; step++)
		history_put(&h, step, (float)(step / HISTORY_GROUP % 200), HISTORY_MEAN);
	for (int64_t back = 0; back < HISTORY_HOUR; back++)
		assert_true(history_get(&h, HOUR, last - back) ==
			    (float)((last - back) / HISTORY_GROUP % 200));
	check_gap(&h, HOUR, last - HISTORY_HOUR);
	last = history_newest(DAY, last);
	for (int64_t back = 0; back < HISTORY_DAY; back++)
		assert_true(history_get(&h, DAY, last - back) == (float)((last - back) % 200));
	check_gap(&h, DAY, last - HISTORY_DAY);
	check_gap(&h, DAY, last + 1); /* the group under way */
	history_free(&h);
}

/* Values of a group: 1, a gap, 3. */
static float grouped(enum history_merge merge)
{
	struct history h = { 0 };
	float value;

	history_put(&h, 24, 1, merge);
	history_put(&h, 25, NAN, merge);
	history_put(&h, 26, 3, merge);
	history_put(&h, 36, 100, merge);
	value = history_get(&h, DAY, 2);
	history_free(&h);
	return value;
}

static void a_group_is_the_mean_or_the_largest_of_what_is_known(void **state)
{
	assert_true(grouped(HISTORY_MEAN) == 2);
	assert_true(grouped(HISTORY_LARGEST) == 3);
}

static void a_group_without_a_value_is_a_gap(void **state)
{
	struct history h = { 0 };

	history_put(&h, 0, 1, HISTORY_MEAN);
	history_put(&h, 40, 1, HISTORY_MEAN);
	assert_true(history_get(&h, DAY, 0) == 1);
	check_gap(&h, DAY, 1);
	check_gap(&h, DAY, 2);
	history_free(&h);
}

static void after_more_than_a_day_nothing_is_left(void **state)
{
	struct history h = { 0 };
	int64_t later = INT64_C(1000000000000);

	for (int64_t step = 0; step < 100; step++)
		history_put(&h, step, 1, HISTORY_MEAN);
	history_put(&h, later, 2, HISTORY_MEAN);
	assert_true(history_get(&h, HOUR, later) == 2);
	for (int64_t back = 1; back < HISTORY_HOUR; back++)
		check_gap(&h, HOUR, later - back);
	for (int64_t back = 0; back < HISTORY_DAY; back++)
		check_gap(&h, DAY, history_newest(DAY, later) - back);
	history_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_not_zero_and_costs_nothing_before_the_first_value),
		cmocka_unit_test(a_value_is_off_by_at_most_one_part_in_256),
		cmocka_unit_test(what_was_left_out_is_a_gap),
		cmocka_unit_test(an_hour_and_a_day_are_kept_and_no_more),
		cmocka_unit_test(a_group_is_the_mean_or_the_largest_of_what_is_known),
		cmocka_unit_test(a_group_without_a_value_is_a_gap),
		cmocka_unit_test(after_more_than_a_day_nothing_is_left),
	};

	return cmocka_run_group_tests_name("core/stats/history", tests, NULL, NULL);
}
