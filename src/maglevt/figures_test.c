/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"

static void check_latency(int64_t ns, const char *expected)
{
	char buf[FIGURE_LEN];

	assert_string_equal(figure_latency(ns, buf), expected);
}

static void latencies_have_two_digits_or_three(void **state)
{
	check_latency(0, "0µs");
	check_latency(1499, "1µs");
	check_latency(999499, "999µs");
	check_latency(999500, "1.0ms");
	check_latency(1250000, "1.3ms");
	check_latency(9949999, "9.9ms");
	check_latency(9950000, "10ms");
	check_latency(123456789, "123ms");
	check_latency(999499999, "999ms");
	check_latency(999500000, "1.0s");
	check_latency(9950 * NSEC_PER_MSEC, "10s");
	check_latency(134 * NSEC_PER_SEC, "134s");
}

static void check_count(uint64_t n, const char *expected)
{
	char buf[FIGURE_LEN];

	assert_string_equal(figure_count(n, buf), expected);
}

static void counts_fit_however_long_it_runs(void **state)
{
	check_count(0, "0");
	check_count(99999, "99999");
	check_count(100000, "100k");
	check_count(99999999, "99999k");
	check_count(123456789, "123M");
}

static void check_share(double share, const char *expected)
{
	char buf[FIGURE_LEN];

	assert_string_equal(figure_share(share, buf), expected);
}

/* One failure in a million is not 100 %. */
static void all_is_only_all(void **state)
{
	check_share(1, "100%");
	check_share(0.999999, "99.99%");
	check_share(0.5, "50.00%");
	check_share(0, "0.00%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latencies_have_two_digits_or_three),
		cmocka_unit_test(counts_fit_however_long_it_runs),
		cmocka_unit_test(all_is_only_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
