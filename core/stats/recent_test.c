/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/stats/recent.h"

#define SECOND INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)

/* n further seconds with so many requests each, of which so many fail; answers take 3 ms. */
static void run(struct recent *r, struct recent_reading *now, unsigned seconds, uint64_t requests,
		uint64_t errors)
{
	for (unsigned i = 0; i < seconds; i++) {
		now->requests += requests;
		now->errors += errors;
		now->latency[buckets_index(3 * MILLISECOND)] += requests;
		recent_add(r, now, r->at + SECOND);
	}
}

static void one_reading_gives_no_rate(void **state)
{
	struct recent r = { 0 };
	struct recent_reading now = { .requests = 1000 };

	recent_add(&r, &now, SECOND);
	assert_true(recent_figures(&r).rate == 0);
	assert_int_equal(recent_figures(&r).p99, 0);
}

static void a_steady_rate_is_exact_from_the_second_reading_on(void **state)
{
	struct recent r = { .at = 0 };
	struct recent_reading now = { .requests = 5 };

	recent_add(&r, &now, SECOND);
	for (unsigned i = 0; i < 20; i++) {
		struct recent_figures f;

		run(&r, &now, 1, 100, 25);
		f = recent_figures(&r);
		assert_true(f.rate > 99.9 && f.rate < 100.1);
		assert_true(f.error_share > .249 && f.error_share < .251);
		assert_in_range(f.p50, 2500000, 5 * MILLISECOND);
		assert_true(f.p99 >= f.p50 && f.p99 <= 5 * MILLISECOND);
	}
}

static void most_of_a_change_is_seen_within_five_seconds(void **state)
{
	struct recent r = { 0 };
	struct recent_reading now = { .requests = 5 };

	recent_add(&r, &now, SECOND);
	run(&r, &now, 60, 0, 0);
	run(&r, &now, 5, 100, 0);
	assert_true(recent_figures(&r).rate > 90);
}

static void after_the_last_request_all_figures_become_zero(void **state)
{
	struct recent r = { 0 };
	struct recent_reading now = { .requests = 5 };
	struct recent_figures f;

	recent_add(&r, &now, SECOND);
	run(&r, &now, 10, 100000, 100000);
	run(&r, &now, 40, 0, 0);
	f = recent_figures(&r);
	assert_true(f.rate == 0 && f.error_share == 0);
	assert_int_equal(f.p50, 0);
	assert_int_equal(f.p99, 0);
}

static void counters_that_begin_again_make_no_rate(void **state)
{
	struct recent r = { 0 };
	struct recent_reading now = { .requests = 1000 };

	recent_add(&r, &now, SECOND);
	run(&r, &now, 3, 100, 0);
	now = (struct recent_reading){ .requests = 7 };
	recent_add(&r, &now, r.at + SECOND);
	assert_true(recent_figures(&r).rate == 0);
	run(&r, &now, 1, 10, 0);
	assert_true(recent_figures(&r).rate > 9.9);
}

/* They are not read at the same instant. */
static void more_errors_than_requests_are_a_share_of_one(void **state)
{
	struct recent r = { 0 };
	struct recent_reading now = { 0 };

	recent_add(&r, &now, SECOND);
	run(&r, &now, 1, 1, 2);
	assert_true(recent_figures(&r).error_share == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_reading_gives_no_rate),
		cmocka_unit_test(a_steady_rate_is_exact_from_the_second_reading_on),
		cmocka_unit_test(most_of_a_change_is_seen_within_five_seconds),
		cmocka_unit_test(after_the_last_request_all_figures_become_zero),
		cmocka_unit_test(counters_that_begin_again_make_no_rate),
		cmocka_unit_test(more_errors_than_requests_are_a_share_of_one),
	};

	return cmocka_run_group_tests_name("core/stats/recent", tests, NULL, NULL);
}
