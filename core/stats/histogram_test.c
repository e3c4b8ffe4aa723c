/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/units.h"
#include "core/testing/random.h"

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void check_near(int64_t got, int64_t exact)
{
	int64_t off = got > exact ? got - exact : exact - got;

	if (off > exact / HISTOGRAM_PARTS + NSEC_PER_USEC)
		fail_msg("%lld is not near %lld", (long long)got, (long long)exact);
}

static void an_empty_one_has_no_numbers(void **state)
{
	struct histogram h = { 0 };

	assert_int_equal(histogram_quantile(&h, 0.5), 0);
	assert_int_equal(histogram_mean(&h), 0);
}

static void ends_and_mean_are_exact(void **state)
{
	struct histogram h = { 0 };

	histogram_add(&h, 1234567);
	assert_int_equal(histogram_quantile(&h, 0), 1234567);
	assert_int_equal(histogram_quantile(&h, 1), 1234567);
	histogram_add(&h, 3);
	histogram_add(&h, 0);
	assert_int_equal(h.min, 0);
	assert_int_equal(h.max, 1234567);
	assert_int_equal(histogram_mean(&h), 1234570 / 3);
}

static void check_at(int64_t ns)
{
	struct histogram h = { 0 };

	histogram_add(&h, 1);
	histogram_add(&h, ns);
	histogram_add(&h, 1000 * NSEC_PER_SEC);
	check_near(histogram_quantile(&h, 0.5), ns);
}

/* Checked over the whole range and at every boundary between buckets. */
static void no_time_is_off_by_more_than_a_32nd(void **state)
{
	for (int64_t us = 1; us < 134 * 1000000; us += us / 40 + 1)
		check_at(us * NSEC_PER_USEC);
	for (unsigned bit = 0; bit < 27; bit++) {
		check_at((INT64_C(1) << bit) * NSEC_PER_USEC - 1);
		check_at((INT64_C(1) << bit) * NSEC_PER_USEC);
	}
}

static void what_is_out_of_range_counts_at_its_end(void **state)
{
	struct histogram h = { 0 };

	histogram_add(&h, 3600 * NSEC_PER_SEC);
	histogram_add(&h, INT64_MAX / 4);
	assert_int_equal(h.buckets[HISTOGRAM_BUCKETS - 1], 2);
	assert_int_equal(histogram_quantile(&h, 1), 3600 * NSEC_PER_SEC);
}

static void quantiles_are_those_of_the_sorted_list(void **state)
{
	static const double wanted[] = { 0.01, 0.5, 0.9, 0.95, 0.99, 0.999 };
	static int64_t all[10000];
	struct histogram h = { 0 };
	struct dice d = dice_of_run(0);

	for (size_t i = 0; i < 10000; i++) {
		all[i] = (int64_t)(dice_u64(&d) % (1u << (10 + i % 20))) * 100;
		histogram_add(&h, all[i]);
	}
	qsort(all, 10000, sizeof(all[0]), by_size);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		check_near(histogram_quantile(&h, wanted[i]),
			   all[(size_t)(wanted[i] * 10000 + 0.5) - 1]);
}

static void merged_ones_are_as_if_they_had_been_one(void **state)
{
	struct histogram a = { 0 }, b = { 0 }, both = { 0 }, empty = { 0 };

	for (int64_t i = 1; i < 2000; i++) {
		histogram_add(i % 3 ? &a : &b, i * i * 1000);
		histogram_add(&both, i * i * 1000);
	}
	histogram_merge(&a, &b);
	histogram_merge(&a, &empty);
	assert_memory_equal(&a, &both, sizeof(a));
	histogram_merge(&empty, &both);
	assert_memory_equal(&empty, &both, sizeof(empty));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one_has_no_numbers),
		cmocka_unit_test(ends_and_mean_are_exact),
		cmocka_unit_test(no_time_is_off_by_more_than_a_32nd),
		cmocka_unit_test(what_is_out_of_range_counts_at_its_end),
		cmocka_unit_test(quantiles_are_those_of_the_sorted_list),
		cmocka_unit_test(merged_ones_are_as_if_they_had_been_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
