/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/pipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevc/words.h"

#define LINES "NAME  STATE\nweb1  up\nweb2  down\nmail  DOWN\n\n"

/* What is left of LINES behind a line such as "show x | match y". */
static void check(const char *line, const char *expected)
{
	_cleanup_(buf_free) struct buf why = { 0 }, out = { 0 };
	struct words w;
	struct pipe p;
	size_t n;

	words_split(&w, str_of(line));
	n = words_command(&w);
	assert_true(n < w.n);
	if (pipe_parse(&p, w.items + n + 1, w.n - n - 1, &why) < 0) {
		assert_string_equal(buf_cstr(&why), expected);
	} else {
		pipe_feed(&p, STR(LINES), &out);
		pipe_end(&p, &out);
		assert_string_equal(buf_cstr(&out), expected);
		pipe_free(&p);
	}
	words_free(&w);
}

static void lines_are_kept_that_match(void **state)
{
	check("show x | match down", "web2  down\nmail  DOWN\n");
	check("show x |match 'web[12]'", "web1  up\nweb2  down\n");
	check("show x | m WEB1", "web1  up\n");
	check("show x | match nothing", "");
}

static void lines_are_kept_that_do_not(void **state)
{
	check("show x | except down", "NAME  STATE\nweb1  up\n\n");
	check("show x | except name | except web", "mail  DOWN\n\n");
}

static void lines_are_counted(void **state)
{
	check("show x | match down | count", "2 lines\n");
	check("show x | match web1 | count", "1 line\n");
	check("show x | count", "5 lines\n");
	check("show x | match nothing | count", "0 lines\n");
}

/* Text in pieces, as a watch prints it. */
static void the_count_is_over_all_pieces(void **state)
{
	static const char *const words[] = { "count" };
	_cleanup_(buf_free) struct buf why = { 0 }, out = { 0 };
	struct pipe p;

	assert_int_equal(pipe_parse(&p, words, 1, &why), 0);
	pipe_feed(&p, STR("a\n"), &out);
	pipe_feed(&p, STR("b\nc\n"), &out);
	assert_int_equal(out.n, 0);
	pipe_end(&p, &out);
	assert_string_equal(buf_cstr(&out), "3 lines\n");
	pipe_free(&p);
}

static void what_is_wrong_is_said(void **state)
{
	check("show x |", "unknown word \"\" after \"|\"; possible: match, except, count");
	check("show x | grep y",
	      "unknown word \"grep\" after \"|\"; possible: match, except, count");
	check("show x | match", "\"match\" needs a text");
	check("show x | match a b",
	      "unexpected word \"b\" after \"match\": quote a text with spaces");
	check("show x | count | match y", "nothing can follow count");
	check("show x | match (",
	      "\"(\" is not a regular expression: missing closing parenthesis at offset 5");
	check("show x | match a | match", "\"match\" needs a text");
	check("show x | match a|match b | match c | match d | match e | match f | match g | match h"
	      " | match i",
	      "unexpected word \"b\" after \"match\": quote a text with spaces");
	check("show x | m a | m b | m c | m d | m e | m f | m g | m h | m i", "at most 8 filters");
}

/* A bar inside a word, or between quotes, is text. */
static void only_a_word_of_its_own_is_a_bar(void **state)
{
	struct words w;

	words_split(&w, STR("set x reason a|b \"|\" '| match'"));
	assert_int_equal(words_command(&w), w.n);
	assert_string_equal(w.items[3], "a|b");
	words_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_kept_that_match),
		cmocka_unit_test(lines_are_kept_that_do_not),
		cmocka_unit_test(lines_are_counted),
		cmocka_unit_test(the_count_is_over_all_pieces),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(only_a_word_of_its_own_is_a_bar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
