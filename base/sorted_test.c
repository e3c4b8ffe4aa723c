/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sorted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Lists of even numbers, and every place in and between them. */
static void a_key_is_at_its_place_or_would_go_there(void **state)
{
	size_t list[40];

	for (size_t i = 0; i < 40; i++)
		list[i] = 2 * i;
	for (size_t n = 0; n <= 40; n++)
		for (size_t key = 0; key < 2 * n + 3; key++) {
			size_t want = (key + 1) / 2 < n ? (key + 1) / 2 : n;

			assert_int_equal(sorted_place(n, i, list[i] < key), want);
		}
}

static void what_is_equal_is_found_from_its_first_to_behind_its_last(void **state)
{
	static const int list[] = { 1, 3, 3, 3, 5 };

	assert_int_equal(sorted_place(5, i, list[i] < 3), 1);
	assert_int_equal(sorted_place(5, i, list[i] <= 3), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_at_its_place_or_would_go_there),
		cmocka_unit_test(what_is_equal_is_found_from_its_first_to_behind_its_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
