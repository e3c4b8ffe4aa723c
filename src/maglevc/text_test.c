/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

static void an_age_has_the_two_largest_units(void **state)
{
	static const struct {
		int64_t seconds;
		const char *want;
	} cases[] = {
		{ 0, "0s" },	    { 59, "59s" },	  { 60, "1m" },
		{ 192, "3m12s" },   { 3599, "59m59s" },	  { 3600, "1h" },
		{ 3659, "1h" },	    { 7500, "2h5m" },	  { 86399, "23h59m" },
		{ 100800, "1d4h" }, { 86400 + 59, "1d" }, { 86400 * INT64_C(400), "400d" },
		{ -5, "0s" },
	};
	char text[TEXT_AGE_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(text_age(cases[i].seconds * NSEC_PER_SEC, text), cases[i].want);
	assert_string_equal(text_age(NSEC_PER_SEC - 1, text), "0s");
	assert_string_equal(text_age(INT64_MAX, text), "106751d23h");
}

static void a_time_is_in_utc_to_the_second(void **state)
{
	char text[TEXT_TIME_LEN];

	assert_string_equal(text_time(1776245400 * NSEC_PER_SEC + 999999999, text),
			    "2026-04-15T09:30:00Z");
}

static void text_of_others_cannot_steer_the_terminal(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	text_add_clean(&out, STR("a\033[2Jb\xc2\x9b"
				 "1mc\x7f\xff\xc3\xa9\n"));
	assert_string_equal(buf_cstr(&out), "a\\x1b[2Jb\\u009b1mc\\x7f\\xff\xc3\xa9\\x0a");
}

static void lines_are_split_and_none_is_made_up(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	text_add_lines(&out, "> ", "one\ntwo\n");
	text_add_lines(&out, "> ", "");
	text_add_lines(&out, "> ", "a\n\nb");
	assert_string_equal(buf_cstr(&out), "> one\n> two\n> a\n> \n> b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_age_has_the_two_largest_units),
		cmocka_unit_test(a_time_is_in_utc_to_the_second),
		cmocka_unit_test(text_of_others_cannot_steer_the_terminal),
		cmocka_unit_test(lines_are_split_and_none_is_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
