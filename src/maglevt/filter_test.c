/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/filter.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/tui/tui.h"

#define WEB "web https://192.0.2.1:443"
#define MAIL "mail tcp://192.0.2.2:25"

static struct filter f;

static int start(void **state)
{
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	f = (struct filter){ .typing = true };
	return 0;
}

static int stop(void **state)
{
	filter_clear(&f);
	return 0;
}

static void type(const char *keys)
{
	for (; *keys; keys++)
		filter_key(&f, *keys);
}

static void check(bool web, bool mail)
{
	assert_int_equal(filter_takes(&f, WEB), web);
	assert_int_equal(filter_takes(&f, MAIL), mail);
}

static void each_key_narrows_at_once(void **state)
{
	check(true, true);
	type("^");
	check(true, true);
	type("M");
	check(false, true);
	type("x");
	check(false, false);
}

static void what_is_no_pattern_yet_keeps_the_former_one(void **state)
{
	type("mail");
	type("(");
	assert_true(f.broken);
	check(false, true);
	filter_key(&f, TUI_KEY_ENTER);
	assert_true(f.typing);
	type("x|)");
	assert_false(f.broken);
	check(false, true);
	filter_key(&f, TUI_KEY_ENTER);
	assert_false(f.typing);
	assert_string_equal(f.text, "mail(x|)");
}

static void escape_clears_it_and_ctrl_u_the_line(void **state)
{
	type("mail");
	filter_key(&f, 'U' & 31);
	assert_true(f.typing);
	check(true, true);
	type("mail");
	filter_key(&f, TUI_KEY_ESCAPE);
	assert_false(f.typing || f.broken);
	assert_string_equal(f.text, "");
	check(true, true);
}

static void a_letter_is_taken_back_as_it_was_typed(void **state)
{
	filter_key(&f, 'w');
	filter_key(&f, 0xe9);
	filter_key(&f, 0x1f642);
	assert_string_equal(f.text, "wé🙂");
	check(false, false);
	filter_key(&f, TUI_KEY_BACKSPACE);
	assert_string_equal(f.text, "wé");
	filter_key(&f, TUI_KEY_BACKSPACE);
	check(true, false);
	filter_key(&f, TUI_KEY_BACKSPACE);
	filter_key(&f, TUI_KEY_BACKSPACE);
	assert_string_equal(f.text, "");
}

static void other_keys_are_no_text(void **state)
{
	filter_key(&f, 1);
	filter_key(&f, 0x9b);
	filter_key(&f, TUI_KEY_UP);
	assert_string_equal(f.text, "");
}

static void a_line_has_an_end(void **state)
{
	for (int i = 0; i < 1000; i++)
		filter_key(&f, i % 2 ? 0x20ac : 'x');
	assert_in_range(strlen(f.text), FILTER_SIZE - 3, FILTER_SIZE - 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_key_narrows_at_once),
		CASE(what_is_no_pattern_yet_keeps_the_former_one),
		CASE(escape_clears_it_and_ctrl_u_the_line),
		CASE(a_letter_is_taken_back_as_it_was_typed),
		CASE(other_keys_are_no_text),
		CASE(a_line_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
