/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct words w;

static int stop(void **state)
{
	words_free(&w);
	return 0;
}

/* The words of a line, separated by bars. */
static void check(const char *line, const char *expected)
{
	_cleanup_(buf_free) struct buf got = { 0 };

	words_free(&w);
	words_split(&w, str_of(line));
	for (size_t i = 0; i < w.n; i++)
		buf_printf(&got, "%s%s", i ? "|" : "", w.items[i]);
	assert_string_equal(buf_cstr(&got), expected);
}

static void words_stand_between_spaces(void **state)
{
	check("show backends", "show|backends");
	check("  show\t backends \r\n", "show|backends");
	check("", "");
	check("   ", "");
	assert_int_equal(w.n, 0);
}

static void quotes_keep_spaces(void **state)
{
	check("reason \"new disk\" for", "reason|new disk|for");
	check("reason 'new \"disk\"'", "reason|new \"disk\"");
	check("a\"b c\"d''", "ab cd");
	check("'' x", "|x");
	assert_int_equal(w.n, 2);
}

static void a_backslash_takes_the_next_character(void **state)
{
	check("new\\ disk", "new disk");
	check("\"a\\\"b\\\\c\"", "a\"b\\c");
	check("'a\\b'", "a\\b");
	check("end\\", "end\\");
}

static void a_comment_begins_where_a_word_could(void **state)
{
	check("# nothing", "");
	assert_true(w.comment);
	check("show version # of us", "show|version");
	assert_true(w.comment);
	check("a#b '#c'", "a#b|#c");
	assert_false(w.comment);
}

static void the_last_word_may_still_grow(void **state)
{
	check("show ba", "show|ba");
	assert_true(w.touching);
	assert_int_equal(w.last, 5);
	check("show ba ", "show|ba");
	assert_false(w.touching);
	check("show \"a b", "show|a b");
	assert_true(w.touching && w.quote == '"');
	assert_int_equal(w.last, 5);
	check("show \"a b\"", "show|a b");
	assert_true(w.touching && !w.quote);
}

static void check_typed(const char *word, char quote, bool finished, const char *expected)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	words_add_typed(&out, word, quote, finished);
	assert_string_equal(buf_cstr(&out), expected);
	if (finished)
		check(buf_cstr(&out), word);
}

static void what_is_typed_is_read_back(void **state)
{
	check_typed("web1", 0, true, "web1");
	check_typed("fr\xc3\xbchling", 0, true, "fr\xc3\xbchling");
	check_typed("web one", 0, true, "\"web one\"");
	check_typed("web o", 0, false, "\"web o");
	check_typed("a\"b\\c", 0, true, "\"a\\\"b\\\\c\"");
	check_typed("it's", '\'', true, "\"it's\"");
	check_typed("web1", '\'', true, "'web1'");
	check_typed("#1", 0, true, "\"#1\"");
	check_typed("what?", 0, true, "\"what?\"");
	check_typed("", 0, true, "\"\"");
}

#define CASE(f) cmocka_unit_test_teardown(f, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(words_stand_between_spaces),
		CASE(quotes_keep_spaces),
		CASE(a_backslash_takes_the_next_character),
		CASE(a_comment_begins_where_a_word_could),
		CASE(the_last_word_may_still_grow),
		CASE(what_is_typed_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
