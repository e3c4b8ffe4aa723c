/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_star_stands_for_any_text(void **state)
{
	assert_true(glob_match("*", ""));
	assert_true(glob_match("web*", "web"));
	assert_true(glob_match("web*", "web12"));
	assert_true(glob_match("*-eu-*", "web-eu-3"));
	assert_true(glob_match("a*b*c", "aXbXbXc"));
	assert_false(glob_match("web*", "we"));
	assert_false(glob_match("*-eu-*", "web-us-3"));
	assert_false(glob_match("a*b", "abc"));
}

static void a_question_mark_stands_for_one_byte(void **state)
{
	assert_true(glob_match("web?", "web1"));
	assert_false(glob_match("web?", "web"));
	assert_false(glob_match("web?", "web12"));
}

static void other_text_stands_for_itself(void **state)
{
	assert_true(glob_match("web1", "web1"));
	assert_true(glob_match("", ""));
	assert_false(glob_match("", "a"));
	assert_false(glob_match("web1", "web10"));
	assert_false(glob_match("[a-z]", "b"));
}

/* A recursion for every star would take 2^60 steps here. */
static void many_stars_take_little_time(void **state)
{
	char pattern[121] = "", text[129] = "";

	for (size_t i = 0; i < 120; i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(text, 'a', 127);
	text[127] = 'b';
	assert_false(glob_match(pattern, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_stands_for_any_text),
		cmocka_unit_test(a_question_mark_stands_for_one_byte),
		cmocka_unit_test(other_text_stands_for_itself),
		cmocka_unit_test(many_stars_take_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
