/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/service/stale.h"

static void nothing_is_in_a_new_set(void **state)
{
	struct stale s = { 0 };

	assert_int_equal(stale_take(&s), SIZE_MAX);
	stale_reset(&s, 0);
	assert_int_equal(stale_take(&s), SIZE_MAX);
	stale_reset(&s, 200);
	assert_int_equal(s.waiting, 0);
	assert_int_equal(stale_take(&s), SIZE_MAX);
	stale_free(&s);
}

/* Indexes on both sides of the boundaries of 64-bit words, some of them marked twice. */
static void each_is_taken_once_and_in_order(void **state)
{
	static const size_t marked[] = { 199, 0, 64, 63, 64, 127, 199, 128 };
	static const size_t taken[] = { 0, 63, 64, 127, 128, 199, SIZE_MAX };
	struct stale s = { 0 };

	stale_reset(&s, 200);
	for (size_t i = 0; i < sizeof(marked) / sizeof(*marked); i++)
		stale_mark(&s, marked[i]);
	assert_int_equal(s.waiting, 6);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		assert_int_equal(stale_take(&s), taken[i]);
	stale_free(&s);
}

static void one_that_changes_all_the_time_keeps_nobody_waiting(void **state)
{
	struct stale s = { 0 };

	stale_reset(&s, 100);
	stale_mark(&s, 3);
	stale_mark(&s, 90);
	assert_int_equal(stale_take(&s), 3);
	stale_mark(&s, 3);
	assert_int_equal(stale_next(&s), 90);
	assert_int_equal(stale_take(&s), 90);
	assert_int_equal(stale_take(&s), 3);
	stale_mark(&s, 99);
	assert_int_equal(stale_take(&s), 99);
	stale_mark(&s, 99);
	stale_mark(&s, 0);
	assert_int_equal(stale_take(&s), 0);
	assert_int_equal(stale_take(&s), 99);
	assert_int_equal(stale_take(&s), SIZE_MAX);
	stale_free(&s);
}

static void a_reset_forgets(void **state)
{
	struct stale s = { 0 };

	stale_reset(&s, 10);
	stale_mark(&s, 9);
	stale_reset(&s, 5);
	assert_int_equal(stale_take(&s), SIZE_MAX);
	stale_mark(&s, 4);
	assert_int_equal(stale_take(&s), 4);
	stale_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_in_a_new_set),
		cmocka_unit_test(each_is_taken_once_and_in_order),
		cmocka_unit_test(one_that_changes_all_the_time_keeps_nobody_waiting),
		cmocka_unit_test(a_reset_forgets),
	};

	return cmocka_run_group_tests_name("src/maglevd/api/stale", tests, NULL, NULL);
}
