/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The Maglev tables of all releases depend on these numbers, so they must never change. */
static void the_numbers_are_those_of_splitmix64(void **state)
{
	static const uint64_t expected[] = { 6457827717110365317u, 3203168211198807973u,
					     9817491932198370423u };
	uint64_t s = 1234567;

	for (size_t i = 0; i < 3; i++)
		assert_true(random_next(&s) == expected[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_are_those_of_splitmix64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
