/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the file; passwords and changes are told by tests/e2e/test_dashboard_users.py. */
#include "src/frontend/users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define HASH "$2y$05$abcdefghijklmnopqrstuuWm4IySIQTv6vlqzB4mFFJM2f6ZTKZcy"

static void a_line_is_a_user(void **state)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct users_list list;

	assert_int_equal(users_parse(STR("# operators\n\nalice:" HASH ":admin\n"
					 "bob:" HASH "\ncarol:" HASH ":read-only"),
				     &list, &why),
			 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.items[0].name, "alice");
	assert_string_equal(list.items[0].hash, HASH);
	assert_true(list.items[0].admin);
	assert_false(list.items[1].admin);
	assert_false(list.items[2].admin);
	users_list_free(&list);
}

static void mistakes_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "\nalice", "line 2: there is no hash" },
		{ ":" HASH, "line 1: it has to begin with a name" },
		{ "al ice:" HASH, "line 1: it has to begin with a name" },
		{ "alice:secret", "line 1: this is not a strong hash" },
		{ "alice:$apr1$abc$0123456789", "line 1: this is not a strong hash" },
		{ "alice:" HASH ":root", "line 1: the role is admin or read-only" },
		{ "alice:" HASH "\nalice:" HASH, "line 2: a user of this name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_free) struct buf why = { 0 };
		struct users_list list;

		assert_true(users_parse(str_of(rows[i].text), &list, &why) < 0);
		assert_non_null(strstr(buf_cstr(&why), rows[i].why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_user),
		cmocka_unit_test(mistakes_are_named_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
