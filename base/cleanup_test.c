/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int freed;

static void count_free(char **p)
{
	freed += *p != NULL;
	free(*p);
}

static char *give_away(void)
{
	_cleanup_(count_free) char *text = strdup("kept");

	return TAKE_PTR(text);
}

static void a_taken_pointer_outlives_its_scope(void **state)
{
	_cleanup_(cleanup_free) char *text = NULL;

	freed = 0;
	text = give_away();
	assert_int_equal(freed, 0);
	assert_string_equal(text, "kept");
}

static void a_pointer_that_nobody_took_is_freed(void **state)
{
	freed = 0;
	{
		_cleanup_(count_free) char *text = strdup("lost");

		assert_non_null(text);
	}
	assert_int_equal(freed, 1);
}

static void a_descriptor_closes_with_its_scope_unless_taken(void **state)
{
	int number, taken;

	{
		_cleanup_(cleanup_fd) int none = -1, fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		_cleanup_(cleanup_fd) int kept = open("/dev/null", O_RDONLY | O_CLOEXEC);

		assert_true(none < 0 && fd >= 0 && kept >= 0);
		number = fd;
		taken = TAKE_FD(kept);
		assert_int_equal(kept, -1);
	}
	assert_int_equal(fcntl(number, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
	close(taken);
}

struct outer {
	int before;
	int member;
};

static void the_container_of_a_member_is_the_struct_around_it(void **state)
{
	struct outer o = { 1, 2 };

	assert_ptr_equal(container_of(&o.member, struct outer, member), &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_taken_pointer_outlives_its_scope),
		cmocka_unit_test(a_pointer_that_nobody_took_is_freed),
		cmocka_unit_test(a_descriptor_closes_with_its_scope_unless_taken),
		cmocka_unit_test(the_container_of_a_member_is_the_struct_around_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
