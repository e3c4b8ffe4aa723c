/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/testing/random.h"

static const struct schedule three = { .interval = 2000,
				       .fast_interval = 500,
				       .down_interval = 9000 };
static const struct health_rule rule = { .rise = 2, .fall = 3 };

/* FR-1.3 */
static void the_interval_follows_the_zone_of_the_counter(void **state)
{
	static const struct {
		struct health h;
		int64_t interval;
	} rows[] = {
		{ { .state = HEALTH_UNKNOWN, .counter = 0 }, 500 },
		{ { .state = HEALTH_DOWN, .counter = 0 }, 9000 },
		{ { .state = HEALTH_DOWN, .counter = 1 }, 500 },
		{ { .state = HEALTH_UP, .counter = 2 }, 500 },
		{ { .state = HEALTH_UP, .counter = 3 }, 500 },
		{ { .state = HEALTH_UP, .counter = 4 }, 2000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(schedule_interval(&three, &rows[i].h, &rule), rows[i].interval);
}

/* FR-1.3: with rise = fall = 1 there is no degraded zone */
static void rise_and_fall_of_one_have_no_fast_zone(void **state)
{
	static const struct health_rule one = { 1, 1 };
	struct health up = { .state = HEALTH_UP, .counter = 1 }, down = { .state = HEALTH_DOWN };

	assert_int_equal(schedule_interval(&three, &up, &one), 2000);
	assert_int_equal(schedule_interval(&three, &down, &one), 9000);
}

/* NFR-2.3 */
static void first_probes_are_spread_over_one_interval(void **state)
{
	assert_int_equal(schedule_first(1000, 50, 0), 50);
	assert_int_equal(schedule_first(1000, 50, UINT64_MAX / 2 + 1), 550);
	assert_int_equal(schedule_first(1000, 50, UINT64_MAX), 50 + 999);
}

/* NFR-2.3 */
static void the_next_probe_is_jittered_by_a_tenth_at_most(void **state)
{
	assert_int_equal(schedule_next(1000, 5000, 5001, 0), 5900);
	assert_int_equal(schedule_next(1000, 5000, 5001, UINT64_MAX / 2 + 1), 6000);
	assert_int_equal(schedule_next(1000, 5000, 5001, UINT64_MAX), 6100);
}

/* NFR-2.3: every tenth of the allowed range gets its share */
static void jitter_is_evenly_spread(void **state)
{
	unsigned hits[10] = { 0 };
	struct dice d = dice_of_run(0);

	for (unsigned i = 0; i < 10000; i++) {
		int64_t at = schedule_next(NSEC_PER_SEC, 0, 0, dice_u64(&d));

		assert_in_range(at, 900 * NSEC_PER_MSEC, 1100 * NSEC_PER_MSEC);
		hits[(at - 900 * NSEC_PER_MSEC) * 10 / (200 * NSEC_PER_MSEC + 1)]++;
	}
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(hits[i], 800, 1200);
}

/* FR-1.4: intervals run from start to start, so the duration of the probe is deducted */
static void latency_of_the_probe_does_not_push_the_schedule(void **state)
{
	assert_int_equal(schedule_next(1000, 5000, 5001, 0), schedule_next(1000, 5000, 5700, 0));
}

static void a_probe_that_outlived_its_interval_is_followed_at_once(void **state)
{
	assert_int_equal(schedule_next(1000, 5000, 7300, UINT64_MAX), 7300);
}

static void an_endless_interval_does_not_overflow(void **state)
{
	assert_int_equal(schedule_next(INT64_MAX, 5000, 5000, UINT64_MAX), INT64_MAX);
	assert_int_equal(schedule_first(INT64_MAX, INT64_MAX - 1, UINT64_MAX), INT64_MAX);
}

/* Thousands of probes must not wake the program one by one. */
static void planned_starts_share_slots_of_a_hundredth_of_the_interval(void **state)
{
	static const struct {
		int64_t interval, slot;
	} rows[] = {
		{ 60 * NSEC_PER_SEC, 4 * NSEC_PER_MSEC },
		{ NSEC_PER_SEC, 4 * NSEC_PER_MSEC },
		{ 400 * NSEC_PER_MSEC, 4 * NSEC_PER_MSEC },
		{ 399 * NSEC_PER_MSEC, 2 * NSEC_PER_MSEC },
		{ 100 * NSEC_PER_MSEC, 1 * NSEC_PER_MSEC },
	};
	const int64_t started = 1234567891;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(schedule_next(rows[i].interval, started, 0, UINT64_MAX / 3) %
					 rows[i].slot,
				 0);
	/* too short for slots: not rounded */
	assert_int_equal(schedule_next(99 * NSEC_PER_MSEC, started, 0, 0),
			 started + 99 * NSEC_PER_MSEC - 9900000);
}

static void slots_neither_widen_nor_shift_the_jitter(void **state)
{
	const int64_t interval = 500 * NSEC_PER_MSEC, started = 987654321;
	struct dice d = dice_of_run(0);
	int64_t sum = 0;

	for (int i = 0; i < 10000; i++) {
		int64_t gap = schedule_next(interval, started, 0, dice_u64(&d)) - started;

		assert_in_range(gap, interval - interval / 10, interval + interval / 10);
		sum += gap;
	}
	assert_in_range(sum / 10000, interval - NSEC_PER_MSEC, interval + NSEC_PER_MSEC);
}

static void a_tiny_interval_still_works(void **state)
{
	assert_int_equal(schedule_next(1, 100, 100, UINT64_MAX), 101);
	assert_int_equal(schedule_first(1, 100, UINT64_MAX), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_follows_the_zone_of_the_counter),
		cmocka_unit_test(rise_and_fall_of_one_have_no_fast_zone),
		cmocka_unit_test(first_probes_are_spread_over_one_interval),
		cmocka_unit_test(the_next_probe_is_jittered_by_a_tenth_at_most),
		cmocka_unit_test(jitter_is_evenly_spread),
		cmocka_unit_test(latency_of_the_probe_does_not_push_the_schedule),
		cmocka_unit_test(a_probe_that_outlived_its_interval_is_followed_at_once),
		cmocka_unit_test(an_endless_interval_does_not_overflow),
		cmocka_unit_test(planned_starts_share_slots_of_a_hundredth_of_the_interval),
		cmocka_unit_test(slots_neither_widen_nor_shift_the_jitter),
		cmocka_unit_test(a_tiny_interval_still_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
