/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/page/reply.h"

static void a_parameter_is_found_by_its_name(void **state)
{
	assert_true(str_eq(page_query(STR("a=1&after=5-6&b"), STR("after")), STR("5-6")));
	assert_true(str_eq(page_query(STR("after=x=y"), STR("after")), STR("x=y")));
	assert_int_equal(page_query(STR("b"), STR("b")).n, 0);
	assert_int_equal(page_query(STR(""), STR("after")).n, 0);
	assert_int_equal(page_query(STR("afters=1"), STR("after")).n, 0);
}

static void expect_decoded(const char *part, const char *want)
{
	struct buf out = { 0 };

	assert_int_equal(page_decode(str_of(part), &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	buf_free(&out);
}

static void escapes_are_undone(void **state)
{
	expect_decoded("", "");
	expect_decoded("plain", "plain");
	expect_decoded("a%2Fb%20c%25", "a/b c%");
	expect_decoded("%5B2001%3adb8%3A%3a1%5d%3A90", "[2001:db8::1]:90");
	expect_decoded("b%C3%BCro", "b\xc3\xbcro");
	expect_decoded("a+b", "a+b");
}

static void bad_escapes_are_refused(void **state)
{
	static const char *const bad[] = { "%", "%2", "a%", "%zz", "%2x", "%00", "%C3", "%ff" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buf out = { 0 };

		assert_int_equal(page_decode(str_of(bad[i]), &out), -EINVAL);
		buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parameter_is_found_by_its_name),
		cmocka_unit_test(escapes_are_undone),
		cmocka_unit_test(bad_escapes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
