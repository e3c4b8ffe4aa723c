/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"

#define S NSEC_PER_SEC

static void check_sum(struct window *w, int64_t now, uint64_t passed, uint64_t failed)
{
	struct tally t;

	window_sum(w, now, &t);
	assert_int_equal(t.passed.n, passed);
	assert_int_equal(t.failed, failed);
}

static void what_is_old_leaves_the_window_but_not_the_lifetime(void **state)
{
	struct window w = { .slice = 10 * S };

	for (int64_t second = 0; second < 100; second++)
		window_add(&w, second * S, second % 10 != 0, second);
	/* the slices that begin at 30, 40, ... 90 s */
	check_sum(&w, 99 * S, 63, 7);
	check_sum(&w, 100 * S, 54, 6);
	check_sum(&w, 160 * S, 0, 0);
	assert_int_equal(w.lifetime.passed.n, 90);
	assert_int_equal(w.lifetime.failed, 10);
}

static void a_long_silence_empties_the_window(void **state)
{
	struct window w = { .slice = S };

	window_add(&w, 5 * S, true, 1);
	check_sum(&w, 5 * S, 1, 0);
	window_add(&w, 100000 * S, false, 1);
	check_sum(&w, 100000 * S, 0, 1);
}

static void a_clock_that_stands_still_is_fine(void **state)
{
	struct window w = { .slice = S };

	window_add(&w, 5 * S, true, 1);
	window_add(&w, 5 * S, true, 3);
	check_sum(&w, 5 * S, 2, 0);
	assert_int_equal(w.lifetime.passed.max, 3);
}

static void success_is_a_share(void **state)
{
	struct tally t = { 0 };

	assert_true(tally_success(&t) == 1);
	t.failed = 1;
	assert_true(tally_success(&t) == 0);
	t.passed.n = 3;
	assert_true(tally_success(&t) == 0.75);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_old_leaves_the_window_but_not_the_lifetime),
		cmocka_unit_test(a_long_silence_empties_the_window),
		cmocka_unit_test(a_clock_that_stands_still_is_fine),
		cmocka_unit_test(success_is_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
