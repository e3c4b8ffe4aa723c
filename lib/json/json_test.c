/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define FFFD "\xef\xbf\xbd"

static void check_string(const char *p, size_t n, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	json_write_string(&out, p, n);
	assert_string_equal(buf_cstr(&out), want);
}

#define EXPECT(bytes, want) check_string(bytes, sizeof(bytes) - 1, want)

static void plain_text_stands_for_itself(void **state)
{
	EXPECT("", "\"\"");
	EXPECT("backend-transition", "\"backend-transition\"");
	EXPECT("a/b <&> ~", "\"a/b <&> ~\"");
	EXPECT("gr\xc3\xb6\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x99\x82",
	       "\"gr\xc3\xb6\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x99\x82\"");
	check_string(NULL, 0, "\"\"");
}

static void quotes_backslashes_and_controls_are_escaped(void **state)
{
	EXPECT("say \"hi\" \\o/", "\"say \\\"hi\\\" \\\\o/\"");
	EXPECT("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
	EXPECT("a\0b\x01\x1f\x1b[0m", "\"a\\u0000b\\u0001\\u001f\\u001b[0m\"");
	EXPECT("\x7f\xc2\x9b\xe2\x80\xae", "\"\\u007f\\u009b\\u202e\"");
	EXPECT("\xf3\xa0\x81\x81", "\"\\udb40\\udc41\""); /* U+E0041: a pair of surrogates */
}

/* Eight bytes are examined at once; a single one is not. */
static void a_byte_is_written_the_same_wherever_it_is(void **state)
{
	for (unsigned byte = 0; byte < 256; byte++)
		for (size_t at = 0; at < 24; at++) {
			_cleanup_(buf_free) struct buf alone = { 0 }, want = { 0 };
			char text[24];

			memset(text, 'x', sizeof(text));
			text[at] = (char)byte;
			json_write_string(&alone, text + at, 1);
			buf_addc(&want, '"');
			buf_add(&want, "xxxxxxxxxxxxxxxxxxxxxxxx", at);
			buf_add(&want, alone.p + 1, alone.n - 2);
			buf_add(&want, "xxxxxxxxxxxxxxxxxxxxxxxx", sizeof(text) - at - 1);
			buf_addc(&want, '"');
			check_string(text, sizeof(text), buf_cstr(&want));
		}
}

/* Examples of the Unicode standard, table 3-8, and one of each kind of invalid UTF-8. */
static void each_maximal_subpart_becomes_one_replacement(void **state)
{
	EXPECT("a\xf1\x80\x80\xe1\x80\xc2"
	       "b\x80"
	       "c\x80\xbf"
	       "d",
	       "\"a" FFFD FFFD FFFD "b" FFFD "c" FFFD FFFD "d\"");
	EXPECT("\xff", "\"" FFFD "\"");
	EXPECT("\xc0\xaf", "\"" FFFD FFFD "\"");
	EXPECT("\xe0\x80\xaf", "\"" FFFD FFFD FFFD "\"");
	EXPECT("\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"");
	EXPECT("\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"");
	EXPECT("\xf0\x9f\x99\"", "\"" FFFD "\\\"\"");
	EXPECT("\xe2\x82", "\"" FFFD "\"");
	EXPECT("\xf0\x9f\x99", "\"" FFFD "\"");
}

/* jansson is an independent check: it refuses invalid UTF-8 and invalid JSON. */
static void any_bytes_give_a_string_that_another_parser_takes(void **state)
{
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		_cleanup_(buf_free) struct buf out = { 0 };
		char bytes[24];
		size_t n = (size_t)random() % (sizeof(bytes) + 1);
		json_t *parsed;

		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)(random() % 3 ? 0x80 + random() % 0x80 : random() % 0x80);
		json_write_string(&out, bytes, n);
		parsed = json_loadb(out.p, out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(parsed);
		if (utf8_valid(bytes, n)) {
			assert_int_equal(json_string_length(parsed), n);
			assert_memory_equal(json_string_value(parsed), bytes, n);
		}
		json_decref(parsed);
	}
}

static void check_double(double v, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	json_write_double(&out, v);
	assert_string_equal(buf_cstr(&out), want);
}

static void numbers_are_the_shortest_that_read_back(void **state)
{
	check_double(0, "0");
	check_double(0.1, "0.1");
	check_double(-1.5, "-1.5");
	check_double(0.1 + 0.2, "0.30000000000000004");
	check_double(1e300, "1e+300");
	check_double(9007199254740993.0, "9007199254740992");
}

static void what_is_not_finite_becomes_a_string(void **state)
{
	check_double(NAN, "\"NaN\"");
	check_double(INFINITY, "\"+Inf\"");
	check_double(-INFINITY, "\"-Inf\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_stands_for_itself),
		cmocka_unit_test(quotes_backslashes_and_controls_are_escaped),
		cmocka_unit_test(a_byte_is_written_the_same_wherever_it_is),
		cmocka_unit_test(each_maximal_subpart_becomes_one_replacement),
		cmocka_unit_test(any_bytes_give_a_string_that_another_parser_takes),
		cmocka_unit_test(numbers_are_the_shortest_that_read_back),
		cmocka_unit_test(what_is_not_finite_becomes_a_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
