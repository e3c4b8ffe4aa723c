/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/buckets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The slow way. */
static size_t scan(int64_t ns)
{
	size_t i = 0;

	while (i < BUCKETS_BOUNDS && ns > buckets_bounds[i])
		i++;
	return i;
}

static void a_bound_belongs_to_its_own_bucket(void **state)
{
	for (size_t i = 0; i < BUCKETS_BOUNDS; i++) {
		assert_int_equal(buckets_index(buckets_bounds[i] - 1), i);
		assert_int_equal(buckets_index(buckets_bounds[i]), i);
		assert_int_equal(buckets_index(buckets_bounds[i] + 1), i + 1);
		assert_true(buckets_seconds[i] * 1e9 == (double)buckets_bounds[i]);
	}
	assert_int_equal(buckets_index(-5), 0);
	assert_int_equal(buckets_index(0), 0);
	assert_int_equal(buckets_index(INT64_MAX), BUCKETS_BOUNDS);
}

static void every_size_is_found_as_by_a_scan(void **state)
{
	for (unsigned shift = 0; shift < 62; shift++)
		for (int64_t part = 0; part < 64; part++) {
			int64_t ns = (INT64_C(1) << shift) + ((INT64_C(1) << shift) / 64) * part;

			for (int64_t near = -1; near <= 1; near++)
				assert_int_equal(buckets_index(ns + near), scan(ns + near));
		}
}

static void a_quantile_is_interpolated_in_its_bucket(void **state)
{
	uint64_t counts[BUCKETS_N] = { 0 };

	assert_int_equal(buckets_quantile(counts, 0.5), 0);
	counts[3] = 10; /* 0.5 ms to 1 ms */
	assert_int_equal(buckets_quantile(counts, 0.5), 750000);
	assert_int_equal(buckets_quantile(counts, 1), 1000000);
	counts[BUCKETS_BOUNDS] = 90;
	assert_int_equal(buckets_quantile(counts, 0.1), 1000000);
	assert_int_equal(buckets_quantile(counts, 0.99), 10000000000);
	assert_int_equal(buckets_total(counts), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_belongs_to_its_own_bucket),
		cmocka_unit_test(every_size_is_found_as_by_a_scan),
		cmocka_unit_test(a_quantile_is_interpolated_in_its_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
