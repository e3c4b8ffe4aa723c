/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "lib/json/json.h"
#include "lib/json/testkit.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		"" literal, sizeof(literal) - 1                                                    \
	}

/* Valid texts of one value each, with the same text after rewriting. */
static const struct {
	struct str text;
	const char *rewritten;
} accepted[] = {
	/* values alone */
	{ TEXT("null"), "null" },
	{ TEXT("true"), "true" },
	{ TEXT("false"), "false" },
	{ TEXT("0"), "0" },
	{ TEXT("\"\""), "\"\"" },
	{ TEXT("[]"), "[]" },
	{ TEXT("{}"), "{}" },
	/* white space */
	{ TEXT(" \t\r\n1 \t\r\n"), "1" },
	{ TEXT("[\n\t1 ,\r\n 2\n]\n"), "[1,2]" },
	{ TEXT("{ \"a\" : 1 , \"b\" : [ ] }"), "{\"a\":1,\"b\":[]}" },
	{ TEXT("\n\n{\n}\n\n"), "{}" },
	/* numbers, kept as they are written */
	{ TEXT("-0"), "-0" },
	{ TEXT("[10,-1,1234567890]"), "[10,-1,1234567890]" },
	{ TEXT("[0.0,-0.5,12.000]"), "[0.0,-0.5,12.000]" },
	{ TEXT("[1e0,1E1,1e+2,1E-2,0e0,0E+9,1.5e10]"), "[1e0,1E1,1e+2,1E-2,0e0,0E+9,1.5e10]" },
	{ TEXT("[1e-400]"), "[1e-400]" },
	{ TEXT("123456789012345678901234567890"), "123456789012345678901234567890" },
	{ TEXT("1e999"), "1e999" },
	{ TEXT("[9223372036854775807,-9223372036854775808]"),
	  "[9223372036854775807,-9223372036854775808]" },
	/* strings */
	{ TEXT("\"a/b\""), "\"a/b\"" },
	{ TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
	{ TEXT("\"\\u0041\\u00e4\\u20ac\""), "\"A\xc3\xa4\xe2\x82\xac\"" },
	{ TEXT("\"\\uD83D\\uDE42\""), "\"\xf0\x9f\x99\x82\"" },
	{ TEXT("\"\\ud800\\udc00\\udbff\\udfff\""), "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"" },
	{ TEXT("\"\\ud7ff\\ue000\\uffff\""), "\"\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"" },
	{ TEXT("\"\\u000a\\u001F\\u007f\\u0080\\u07ff\\u0800\""),
	  "\"\\n\\u001f\\u007f\\u0080\xdf\xbf\xe0\xa0\x80\"" },
	{ TEXT("\"\\\\u0041\""), "\"\\\\u0041\"" },
	{ TEXT("\"\x7f\""), "\"\\u007f\"" },
	{ TEXT("\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf\""),
	  "\"\\u0080 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf\"" },
	{ TEXT("\"\xf0\x90\x80\x80 \xf3\xbf\xbf\xbf \xf4\x8f\xbf\xbf\""),
	  "\"\xf0\x90\x80\x80 \xf3\xbf\xbf\xbf \xf4\x8f\xbf\xbf\"" },
	{ TEXT("\"\xef\xbb\xbf\""), "\"\\ufeff\"" },
	{ TEXT("\"\xe2\x80\xa8\xe2\x80\xa9\""), "\"\\u2028\\u2029\"" },
	{ TEXT("\"01234567\\n01234567\xc3\xa4\x30\x31\x32\x33\""),
	  "\"01234567\\n01234567\xc3\xa4\x30\x31\x32\x33\"" },
	{ TEXT("[\"[\",\"{\\\"\",\"]},:\"]"), "[\"[\",\"{\\\"\",\"]},:\"]" },
	/* arrays and objects */
	{ TEXT("[[],[[]],{}]"), "[[],[[]],{}]" },
	{ TEXT("[true,false,null,\"x\",-1.5,{\"a\":[]}]"),
	  "[true,false,null,\"x\",-1.5,{\"a\":[]}]" },
	{ TEXT("{\"\":0}"), "{\"\":0}" },
	{ TEXT("{\"a\":{\"a\":{\"a\":null}}}"), "{\"a\":{\"a\":{\"a\":null}}}" },
	{ TEXT("{\"\\u0061\\n\":\"\\u0062\"}"), "{\"a\\n\":\"b\"}" },
	{ TEXT("{\"b\":1,\"a\":2,\"c\":{\"b\":[{\"a\":1}]}}"),
	  "{\"b\":1,\"a\":2,\"c\":{\"b\":[{\"a\":1}]}}" },
};

#define NOT_UTF8 "the bytes are not UTF-8"
#define BAD_ESCAPE "a backslash must be followed by one of \" \\ / b f n r t u"
#define BAD_HEX "four hexadecimal digits are wanted after \\u"
#define LONE_FIRST "the first half of a surrogate pair is not followed by the second"
#define LONE_SECOND "the second half of a surrogate pair has no first"
#define WORDS "the only words are true, false and null"
#define RAW "a control character in a string must be escaped"

static const struct {
	struct str text;
	const char *error;
} rejected[] = {
	/* nothing, or too much */
	{ TEXT(""), "1:1: a value is wanted, not the end of the text" },
	{ TEXT(" \n  "), "2:3: a value is wanted, not the end of the text" },
	{ TEXT("1 2"), "1:3: the end of the text is wanted, not '2'" },
	{ TEXT("{}{}"), "1:3: the end of the text is wanted, not '{'" },
	{ TEXT("[]]"), "1:3: the end of the text is wanted, not ']'" },
	{ TEXT("\"a\",\n"), "1:4: the end of the text is wanted, not ','" },
	{ TEXT("1\n// no"), "2:1: the end of the text is wanted, not '/'" },
	{ TEXT("true\0"), "1:5: the end of the text is wanted, not the byte 0x00" },
	{ TEXT("\xef\xbb\xbf{}"), "1:1: a value is wanted, not the byte 0xef" },
	{ TEXT("\f1"), "1:1: a value is wanted, not the byte 0x0c" },
	{ TEXT("\xc2\xa0\x31"), "1:1: a value is wanted, not the byte 0xc2" },
	{ TEXT("/**/1"), "1:1: a value is wanted, not '/'" },
	{ TEXT("]"), "1:1: a value is wanted, not ']'" },
	{ TEXT(","), "1:1: a value is wanted, not ','" },
	{ TEXT(":"), "1:1: a value is wanted, not ':'" },
	{ TEXT("'a'"), "1:1: a value is wanted, not '''" },
	/* words */
	{ TEXT("tru"), "1:1: the text ends inside a word" },
	{ TEXT("tru]"), "1:1: " WORDS },
	{ TEXT("nul\n"), "1:1: " WORDS },
	{ TEXT("truer"), "1:5: the end of the text is wanted, not 'r'" },
	{ TEXT("True"), "1:1: a value is wanted, not 'T'" },
	{ TEXT("[nan]"), "1:2: " WORDS },
	{ TEXT("NaN"), "1:1: a value is wanted, not 'N'" },
	{ TEXT("[Infinity]"), "1:2: a value or ']' is wanted, not 'I'" },
	{ TEXT("-Infinity"), "1:2: a digit is wanted" },
	{ TEXT("undefined"), "1:1: a value is wanted, not 'u'" },
	/* numbers */
	{ TEXT("-"), "1:2: a digit is wanted, not the end of the text" },
	{ TEXT("+1"), "1:1: a value is wanted, not '+'" },
	{ TEXT("--1"), "1:2: a digit is wanted" },
	{ TEXT("01"), "1:2: a number must not begin with 0 and another digit" },
	{ TEXT("[-00]"), "1:4: a number must not begin with 0 and another digit" },
	{ TEXT(".5"), "1:1: a value is wanted, not '.'" },
	{ TEXT("[1.]"), "1:4: a digit is wanted" },
	{ TEXT("1."), "1:3: a digit is wanted, not the end of the text" },
	{ TEXT("[-.5]"), "1:3: a digit is wanted" },
	{ TEXT("[1.e1]"), "1:4: a digit is wanted" },
	{ TEXT("[1e]"), "1:4: a digit is wanted" },
	{ TEXT("1e"), "1:3: a digit is wanted, not the end of the text" },
	{ TEXT("[1e+]"), "1:5: a digit is wanted" },
	{ TEXT("[1e+-1]"), "1:5: a digit is wanted" },
	{ TEXT("[1.2.3]"), "1:5: ',' or ']' is wanted, not '.'" },
	{ TEXT("[1e2.5]"), "1:5: ',' or ']' is wanted, not '.'" },
	{ TEXT("[1e2e3]"), "1:5: ',' or ']' is wanted, not 'e'" },
	{ TEXT("[1-2]"), "1:3: ',' or ']' is wanted, not '-'" },
	{ TEXT("[1+2]"), "1:3: ',' or ']' is wanted, not '+'" },
	{ TEXT("0x10"), "1:2: the end of the text is wanted, not 'x'" },
	{ TEXT("[1 000]"), "1:4: ',' or ']' is wanted, not '0'" },
	{ TEXT("1_000"), "1:2: the end of the text is wanted, not '_'" },
	{ TEXT("[1a]"), "1:3: ',' or ']' is wanted, not 'a'" },
	{ TEXT("[1\0]"), "1:3: ',' or ']' is wanted, not the byte 0x00" },
	/* strings */
	{ TEXT("\""), "1:2: the text ends inside a string" },
	{ TEXT("\"abc"), "1:5: the text ends inside a string" },
	{ TEXT("\"abc\\"), "1:5: the text ends inside a string" },
	{ TEXT("\"abc\\\""), "1:7: the text ends inside a string" },
	{ TEXT("\"\\u12"), "1:2: the text ends inside a string" },
	{ TEXT("\"\\ud800\\u"), "1:2: the text ends inside a string" },
	{ TEXT("\"\xe2\x82"), "1:2: the text ends inside a string" },
	{ TEXT("\"\\x41\""), "1:2: " BAD_ESCAPE },
	{ TEXT("\"\\a\""), "1:2: " BAD_ESCAPE },
	{ TEXT("\"ab\\'\""), "1:4: " BAD_ESCAPE },
	{ TEXT("\"\\0\""), "1:2: " BAD_ESCAPE },
	{ TEXT("\"\\\0\""), "1:2: " BAD_ESCAPE },
	{ TEXT("\"\\\n\""), "1:2: " BAD_ESCAPE },
	{ TEXT("\"\\U0041\""), "1:2: " BAD_ESCAPE },
	{ TEXT("\"\\u004\""), "1:2: " BAD_HEX },
	{ TEXT("\"\\u004g\""), "1:2: " BAD_HEX },
	{ TEXT("\"\\u+041\""), "1:2: " BAD_HEX },
	{ TEXT("\"\\u 041\""), "1:2: " BAD_HEX },
	{ TEXT("\"\\ud800\""), "1:2: " LONE_FIRST },
	{ TEXT("\"\\ud800x\""), "1:2: " LONE_FIRST },
	{ TEXT("\"\\udbff\\n\""), "1:2: " LONE_FIRST },
	{ TEXT("\"\\ud800\\u0041\""), "1:2: " LONE_FIRST },
	{ TEXT("\"\\ud800\\ud800\""), "1:2: " LONE_FIRST },
	{ TEXT("\"\\ud800\\udc0x\""), "1:2: " LONE_FIRST },
	{ TEXT("\"\\udc00\""), "1:2: " LONE_SECOND },
	{ TEXT("\"\\udfff\\ud800\""), "1:2: " LONE_SECOND },
	{ TEXT("\"a\nb\""), "1:3: " RAW },
	{ TEXT("\"\t\""), "1:2: " RAW },
	{ TEXT("\"01234567\x1f\""), "1:10: " RAW },
	{ TEXT("\"\0\""), "1:2: " RAW },
	{ TEXT("\"\x80\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xff\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xc0\xaf\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xc1\xbf\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xc3\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xe0\x80\xaf\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xe2\x82\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xed\xa0\x80\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xed\xbf\xbf\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xf0\x80\x80\x80\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xf0\x9f\x99\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xf4\x90\x80\x80\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xf5\x80\x80\x80\""), "1:2: " NOT_UTF8 },
	{ TEXT("\"\xc3\xa4\xc3\xa4\x80\""), "1:4: " NOT_UTF8 },
	{ TEXT("[\"\xc3\xa4\xe2\x82\xac\", \"\xf0\x9f\x99\x82\", x]"),
	  "1:13: a value is wanted, not 'x'" },
	/* arrays */
	{ TEXT("["), "1:2: a value or ']' is wanted, not the end of the text" },
	{ TEXT("[1"), "1:3: ',' or ']' is wanted, not the end of the text" },
	{ TEXT("[1,"), "1:4: a value is wanted, not the end of the text" },
	{ TEXT("[1,]"), "1:4: a value is wanted, not ']'" },
	{ TEXT("[,]"), "1:2: a value or ']' is wanted, not ','" },
	{ TEXT("[,1]"), "1:2: a value or ']' is wanted, not ','" },
	{ TEXT("[1,,2]"), "1:4: a value is wanted, not ','" },
	{ TEXT("[1 2]"), "1:4: ',' or ']' is wanted, not '2'" },
	{ TEXT("[\"a\" \"b\"]"), "1:6: ',' or ']' is wanted, not '\"'" },
	{ TEXT("[1:2]"), "1:3: ',' or ']' is wanted, not ':'" },
	{ TEXT("[1}"), "1:3: ',' or ']' is wanted, not '}'" },
	{ TEXT("[}"), "1:2: a value or ']' is wanted, not '}'" },
	{ TEXT("[\n[1,\n  2],\n 3 4]"), "4:4: ',' or ']' is wanted, not '4'" },
	/* objects */
	{ TEXT("{"), "1:2: a key in double quotes or '}' is wanted, not the end of the text" },
	{ TEXT("{\"a\""), "1:5: ':' is wanted, not the end of the text" },
	{ TEXT("{\"a\":"), "1:6: a value is wanted, not the end of the text" },
	{ TEXT("{\"a\":1"), "1:7: ',' or '}' is wanted, not the end of the text" },
	{ TEXT("{\"a\":1,"), "1:8: a key in double quotes is wanted, not the end of the text" },
	{ TEXT("{\"a\":1,}"), "1:8: a key in double quotes is wanted, not '}'" },
	{ TEXT("{,}"), "1:2: a key in double quotes or '}' is wanted, not ','" },
	{ TEXT("{a:1}"), "1:2: a key in double quotes or '}' is wanted, not 'a'" },
	{ TEXT("{'a':1}"), "1:2: a key in double quotes or '}' is wanted, not '''" },
	{ TEXT("{1:1}"), "1:2: a key in double quotes or '}' is wanted, not '1'" },
	{ TEXT("{null:1}"), "1:2: a key in double quotes or '}' is wanted, not 'n'" },
	{ TEXT("{\"a\" 1}"), "1:6: ':' is wanted, not '1'" },
	{ TEXT("{\"a\"}"), "1:5: ':' is wanted, not '}'" },
	{ TEXT("{\"a\"::1}"), "1:6: a value is wanted, not ':'" },
	{ TEXT("{\"a\":}"), "1:6: a value is wanted, not '}'" },
	{ TEXT("{\"a\":1 \"b\":2}"), "1:8: ',' or '}' is wanted, not '\"'" },
	{ TEXT("{\"a\":1,,\"b\":2}"), "1:8: a key in double quotes is wanted, not ','" },
	{ TEXT("{\"a\":1]"), "1:7: ',' or '}' is wanted, not ']'" },
	{ TEXT("{]"), "1:2: a key in double quotes or '}' is wanted, not ']'" },
	{ TEXT("{\"a\n\":1}"), "1:4: " RAW },
	{ TEXT("{\r\n \"a\": 1,\r\n \"b\": tru\r\n}"), "3:7: " WORDS },
};

static const char *last_line(struct buf *out)
{
	const char *text = buf_cstr(out), *newline;

	out->p[out->n ? out->n - 1 : 0] = '\0';
	newline = strrchr(text, '\n');
	return newline ? newline + 1 : text;
}

/* The same tokens, places and errors, however the text is cut. */
static void check_pieces(struct str text, const struct json_options *options)
{
	_cleanup_(buf_free) struct buf whole = { 0 };
	int e = kit_tokens(text, 0, options, &whole);

	for (size_t piece = 1; piece <= 5; piece++) {
		_cleanup_(buf_free) struct buf pieces = { 0 };

		assert_int_equal(kit_tokens(text, piece, options, &pieces), e);
		assert_string_equal(buf_cstr(&pieces), buf_cstr(&whole));
	}
}

/* Skipping everything still finds the same errors. */
static void check_skipping(struct str text, const struct json_options *options)
{
	_cleanup_(buf_free) struct buf whole = { 0 };
	int e = kit_tokens(text, 0, options, &whole);
	const char *error = last_line(&whole);

	for (unsigned depth = 1; depth <= 2; depth++) {
		_cleanup_(buf_free) struct buf skipped = { 0 }, cut = { 0 };

		assert_int_equal(kit_tokens_skipping(text, 0, options, depth, &skipped), e);
		assert_int_equal(kit_tokens_skipping(text, 1, options, depth, &cut), e);
		assert_string_equal(buf_cstr(&skipped), buf_cstr(&cut));
		if (e < 0)
			assert_string_equal(last_line(&skipped), error);
	}
}

static void judge(struct str text, enum kit_verdict want)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *tree = NULL;

	json_parse(text, NULL, arena, &tree, &errors);
	if (kit_judge(text, tree) != want)
		fail_msg("jansson thinks otherwise: %.*s", (int)text.n, text.p);
}

static void right_texts_are_accepted(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		_cleanup_(buf_free) struct buf once = { 0 }, twice = { 0 };
		struct str text = accepted[i].text;

		assert_int_equal(kit_rewrite(text, NULL, &once), 0);
		assert_int_equal(once.p[once.n - 1], '\n');
		assert_int_equal(kit_rewrite((struct str){ once.p, once.n }, NULL, &twice), 0);
		assert_string_equal(buf_cstr(&twice), buf_cstr(&once));
		once.p[once.n - 1] = '\0';
		assert_string_equal(once.p, accepted[i].rewritten);
		check_pieces(text, NULL);
		check_skipping(text, NULL);
	}
}

/* See kit_judge(). */
static bool lost_nul(struct str text)
{
	const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;

	return nul && (nul[-1] == 'e' || nul[-1] == '1');
}

static void wrong_texts_are_refused_with_place_and_reason(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rejected); i++) {
		_cleanup_(buf_free) struct buf out = { 0 };
		struct str text = rejected[i].text;

		if (kit_tokens(text, 0, NULL, &out) != -EINVAL)
			fail_msg("accepted: %.*s", (int)text.n, text.p);
		assert_string_equal(last_line(&out), rejected[i].error);
		check_pieces(text, NULL);
		check_skipping(text, NULL);
		judge(text, lost_nul(text) ? KIT_EXCUSED : KIT_SAME);
	}
}

static void another_parser_reads_the_same_values(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		bool large = strncmp(accepted[i].rewritten, "12345678901", 11) == 0 ||
			     strcmp(accepted[i].rewritten, "1e999") == 0;

		judge(accepted[i].text, large ? KIT_EXCUSED : KIT_SAME);
	}
}

/* Every proper prefix of a valid text is refused, or is a number. */
static void a_text_that_is_cut_off_is_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
		for (size_t n = 0; n < accepted[i].text.n; n++) {
			struct str text = { accepted[i].text.p, n };

			check_pieces(text, NULL);
			judge(text, n > 19 && strncmp(text.p, "1234567", 7) == 0 ? KIT_EXCUSED
										 : KIT_SAME);
		}
}

static void tokens_have_places_and_texts(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(kit_tokens(str_of("{\"gr\xc3\xbcn\": \"\xf0\x9f\x99\x82\", \"b\\n\":\n"
					   "  [-1.50, null,true]}"),
				    0, NULL, &out),
			 0);
	assert_string_equal(buf_cstr(&out), "{ 1:1 @0 \"\"\n"
					    "key 1:2 @1 \"gr\xc3\xbcn\"\n"
					    "string 1:10 @10 \"\xf0\x9f\x99\x82\"\n"
					    "key 1:15 @18 \"b\\n\"\n"
					    "[ 2:3 @27 \"\"\n"
					    "number 2:4 @28 \"-1.50\"\n"
					    "null 2:11 @35 \"\"\n"
					    "true 2:16 @40 \"\"\n"
					    "] 2:20 @44 \"\"\n"
					    "} 2:21 @45 \"\"\n"
					    "end 2:22 @46 \"\"\n");
}

/* The address shows whether a string is a slice of the input. */
static void a_string_without_escapes_is_not_copied(void **state)
{
	static const char text[] = "[\"plain gr\xc3\xbcn\",\"esc\\n\",12]";
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(NULL);
	struct json_token t;

	json_feed(r, text, sizeof(text) - 1);
	json_end(r);
	assert_int_equal(json_next(r, &t), 1);
	assert_int_equal(json_next(r, &t), 1);
	assert_ptr_equal(t.text.p, text + 2);
	assert_int_equal(json_next(r, &t), 1);
	assert_true(str_eq(t.text, STR("esc\n")));
	assert_false(t.text.p >= text && t.text.p < text + sizeof(text));
	assert_int_equal(json_next(r, &t), 1);
	assert_ptr_equal(t.text.p, text + sizeof(text) - 4);
}

static void an_escaped_nul_is_a_character_unless_refused(void **state)
{
	struct json_options options = { .no_nul = true };
	struct str text = STR("[\"a\\u0000b\"]");
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(kit_rewrite(text, NULL, &out), 0);
	assert_string_equal(buf_cstr(&out), "[\"a\\u0000b\"]\n");
	assert_int_equal(kit_tokens(text, 0, &options, &out), -EINVAL);
	assert_string_equal(last_line(&out), "1:4: a string must not contain NUL");
	check_pieces(text, &options);
}

/* ---- streams ---- */

static void documents_follow_each_other(void **state)
{
	static const struct {
		const char *text, *rewritten;
	} rows[] = {
		{ "", "" },
		{ " \n", "" },
		{ "{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n" },
		{ "{}{}[][]\"\"\"a\"", "{}\n{}\n[]\n[]\n\"\"\n\"a\"\n" },
		{ "1 2\ttrue\nnull", "1\n2\ntrue\nnull\n" },
		{ "1{}true[]null\"\"-5", "1\n{}\ntrue\n[]\nnull\n\"\"\n-5\n" },
	};
	struct json_options options = { .stream = true };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_free) struct buf out = { 0 };

		assert_int_equal(kit_rewrite(str_of(rows[i].text), &options, &out), 0);
		assert_string_equal(buf_cstr(&out), rows[i].rewritten);
		check_pieces(str_of(rows[i].text), &options);
	}
}

static void wrong_streams_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "{}\n{\"a\"", "2:5: ':' is wanted, not the end of the text" },
		{ "{},{}", "1:3: a value is wanted, not ','" },
		{ "truefalse", "1:5: white space is wanted between two values" },
		{ "1true", "1:2: white space is wanted between two values" },
		{ "1-1", "1:2: white space is wanted between two values" },
		{ "{}\n]", "2:1: a value is wanted, not ']'" },
		{ "{}\n\"abc", "2:5: the text ends inside a string" },
		{ "{} nul", "1:4: the text ends inside a word" },
	};
	struct json_options options = { .stream = true };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_free) struct buf out = { 0 };

		assert_int_equal(kit_tokens(str_of(rows[i].text), 0, &options, &out), -EINVAL);
		assert_string_equal(last_line(&out), rows[i].error);
		check_pieces(str_of(rows[i].text), &options);
	}
}

/* The number of bytes after which the end of a document is reported; 0: only at json_end(). */
static size_t told_after(const char *text)
{
	struct json_options options = { .stream = true };
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(&options);
	struct json_token t;

	for (size_t i = 0; text[i]; i++) {
		int e;

		json_feed(r, text + i, 1);
		while ((e = json_next(r, &t)) > 0)
			if (t.kind == JSON_TOKEN_DOCUMENT_END)
				return i + 1;
		assert_int_equal(e, 0);
	}
	json_end(r);
	do
		assert_int_equal(json_next(r, &t), 1);
	while (t.kind != JSON_TOKEN_DOCUMENT_END);
	return 0;
}

static void the_end_of_a_document_is_told_with_its_last_byte(void **state)
{
	assert_int_equal(told_after("{\"type\":\"ADDED\"}{\"type\""), 16);
	assert_int_equal(told_after("{}"), 2);
	assert_int_equal(told_after("[[]]\n"), 4);
	assert_int_equal(told_after("\"ab\""), 4);
	assert_int_equal(told_after("null"), 4);
	assert_int_equal(told_after("12\n"), 3);
	assert_int_equal(told_after("12"), 0);
}

/* ---- limits ---- */

static void limits_are_kept_to_the_byte(void **state)
{
	static const struct {
		struct json_limits limits;
		const char *text;
		const char *error; /* NULL: within the limit */
	} rows[] = {
		{ { .bytes = 6 }, " [1, 2] ", NULL },
		{ { .bytes = 5 }, " [1, 2] ", "1:7: the document has more than 5 bytes" },
		{ { .bytes = 4 }, "[1, 2]", "1:5: the document has more than 4 bytes" },
		{ { .bytes = 3 }, "[1, 2]", "1:4: the document has more than 3 bytes" },
		{ { .bytes = 5 }, "\"abc\"", NULL },
		{ { .bytes = 4 }, "\"abc\"", "1:1: the document has more than 4 bytes" },
		{ { .bytes = 4 }, "1234", NULL },
		{ { .bytes = 4 }, "1234 ", NULL },
		{ { .bytes = 4 }, "12345", "1:1: the document has more than 4 bytes" },
		{ { .bytes = 4 }, "true", NULL },
		{ { .bytes = 4 }, "false", "1:1: the document has more than 4 bytes" },
		{ { .bytes = 3 }, "[\n\n]", "3:1: the document has more than 3 bytes" },
		{ { .string = 3 }, "[\"abc\",\"\xc3\xa4\x61\",123]", NULL },
		{ { .string = 3 }, "[\"abcd\"]", "1:2: longer than 3 bytes" },
		{ { .string = 3 }, "{\"abcd\":1}", "1:2: longer than 3 bytes" },
		{ { .string = 3 }, "[1,-123]", "1:4: longer than 3 bytes" },
		{ { .string = 3 }, "[\"a\\n\"]", NULL },
		{ { .string = 3 }, "[\"a\\nb\"]", "1:2: longer than 3 bytes" },
		{ { .string = 3 }, "[\"ab\\n\"]", "1:2: longer than 3 bytes" },
		{ { .string = 5 }, "[\"\\u0041\"]", "1:2: longer than 5 bytes" },
		{ { .string = 3 }, "\"abc", "1:5: the text ends inside a string" },
		{ { .string = 3 }, "\"abcd", "1:1: longer than 3 bytes" },
		{ { .members = 4 }, "[1,{\"a\":1},2]", NULL },
		{ { .members = 3 }, "[1,{\"a\":1},2]", "1:12: more than 3 members and elements" },
		{ { .members = 3 },
		  "{\"a\":[1,2],\"b\":3}",
		  "1:12: more than 3 members and elements" },
		{ { .members = 2 }, "[[],[[]]]", "1:6: more than 2 members and elements" },
		{ { .depth = 3 }, "[[[]],{\"a\":{}}]", NULL },
		{ { .depth = 2 }, "[[[]]]", "1:3: nested deeper than 2 levels" },
		{ { .depth = 2 }, "[{\"a\":[]}]", "1:7: nested deeper than 2 levels" },
		{ { .depth = 1 }, "[1,\n {}]", "2:2: nested deeper than 1 levels" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_options options = { .limits = rows[i].limits };
		_cleanup_(buf_free) struct buf out = { 0 };
		int e = kit_tokens(str_of(rows[i].text), 0, &options, &out);

		assert_int_equal(e, rows[i].error ? -EINVAL : 0);
		if (rows[i].error)
			assert_string_equal(last_line(&out), rows[i].error);
		check_pieces(str_of(rows[i].text), &options);
		check_skipping(str_of(rows[i].text), &options);
	}
}

static void limits_are_those_of_each_document(void **state)
{
	struct json_options options = { .limits = { .bytes = 6, .members = 2 }, .stream = true };
	_cleanup_(buf_free) struct buf out = { 0 };
	struct str text = STR("[1,2]\n        [3, 4][5,6]\n\n\n\n\n[7,8]");

	assert_int_equal(kit_tokens(text, 0, &options, &out), 0);
	check_pieces(text, &options);
}

static void nesting_costs_no_stack(void **state)
{
	struct json_options options = { .limits = { .depth = JSON_DEPTH_MAX } };

	for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		_cleanup_(buf_free) struct buf text = { 0 }, out = { 0 };

		for (size_t i = 0; i < depth; i++)
			buf_adds(&text, i % 3 ? "[" : "{\"a\":");
		for (size_t i = depth; i-- > 0;)
			buf_adds(&text, i % 3 ? "]" : i + 1 == depth ? "0}" : "}");
		assert_int_equal(kit_rewrite((struct str){ text.p, text.n }, &options, &out),
				 depth == JSON_DEPTH_MAX ? 0 : -EINVAL);
	}
}

/* A string of 1 MiB that arrives byte by byte is scanned once; rescanning would take minutes. */
static void a_long_token_in_bytes_takes_linear_time(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 }, out = { 0 };
	struct json_options options = { .limits = { .string = (size_t)2 << 20 } };

	buf_adds(&text, "[\"");
	for (size_t i = 0; i < (size_t)1 << 20; i++)
		buf_addc(&text, (char)('a' + i % 26));
	buf_adds(&text, "\",");
	for (size_t i = 0; i < (size_t)1 << 20; i++)
		buf_addc(&text, (char)('1' + i % 9));
	buf_adds(&text, "]");
	assert_int_equal(kit_tokens((struct str){ text.p, text.n }, 1, &options, &out), 0);
}

/* ---- skipping ---- */

static void a_skipped_value_gives_no_tokens(void **state)
{
	static const char text[] = "{\"a\":{\"x\":[1,{}]},\"b\":\"\\ud83d\\ude42\",\"c\":3}";
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(kit_tokens_skipping(str_of(text), 0, NULL, 1, &out), 0);
	/* the object itself begins at depth 1 and is skipped at once */
	assert_string_equal(buf_cstr(&out), "{ 1:1 @0 \"\"\nend 1:44 @43 \"\"\n");
}

static void skipping_goes_on_after_the_value(void **state)
{
	static const char text[] = "{\"skip\":{\"x\":[1,{}]},\"keep\":\"v\",\"skip\":[[]],"
				   "\"skip\":1,\"list\":[{\"a\":1},2,[]]}";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(NULL);
		_cleanup_(buf_free) struct buf seen = { 0 };
		size_t at = 0;

		while (at < sizeof(text) - 1) {
			size_t n = sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece;
			struct json_token t;

			json_feed(r, text + at, n);
			at += n;
			while (json_next(r, &t) > 0) {
				buf_printf(&seen, "%d%.*s ", (int)t.kind, (int)t.text.n,
					   t.text.n ? t.text.p : "");
				if (t.kind == JSON_TOKEN_KEY && str_eq(t.text, STR("skip")))
					json_skip(r);
				if (t.kind == JSON_TOKEN_OBJECT && json_depth(r) == 3)
					json_skip(r);
			}
			assert_null(json_error(r));
		}
		assert_string_equal(buf_cstr(&seen),
				    "0 4skip 4keep 5v 4skip 4skip 4list 2 0 62 2 3 3 1 10 ");
	}
}

/* ---- random texts ---- */

static uint64_t dice;

static size_t roll(size_t n)
{
	return (size_t)(random_next(&dice) % n);
}

static void add_random_value(struct buf *out, unsigned depth);

static void add_random_members(struct buf *out, unsigned depth, bool object)
{
	size_t n = roll(5);

	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s%s", i ? "," : "", roll(4) ? "" : " \n");
		if (object)
			buf_printf(out, "\"k%zu\\u00e4\"%s:", i, roll(4) ? "" : "\t");
		add_random_value(out, depth + 1);
	}
}

static void add_random_string(struct buf *out)
{
	char bytes[40];
	size_t n = roll(sizeof(bytes));

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(roll(4) ? ' ' + roll(95) : 1 + roll(255));
	json_write_string(out, bytes, n);
}

static void add_random_value(struct buf *out, unsigned depth)
{
	static const char *const scalars[] = { "true", "false", "null",	  "0",	   "-1",
					       "1e5",  "-0.5",	"1.5E-3", "65535", "\"\"" };
	size_t kind = roll(depth > 5 ? 2 : 4);

	if (kind == 0) {
		buf_adds(out, scalars[roll(ARRAY_SIZE(scalars))]);
	} else if (kind == 1) {
		add_random_string(out);
	} else {
		buf_addc(out, kind == 2 ? '[' : '{');
		add_random_members(out, depth, kind == 3);
		buf_addc(out, kind == 2 ? ']' : '}');
	}
}

/* Each text unchanged and with one byte changed: in both cases jansson must agree. */
static void random_texts_are_read_as_another_parser_does(void **state)
{
	static const char bytes[] = "{}[],:\"\\\n 0-e.tu\x80\xc3";
	size_t refused = 0;

	dice = 20260415;
	for (int round = 0; round < 1000; round++) {
		_cleanup_(arena_freep) struct arena *arena = arena_new();
		_cleanup_(buf_free) struct buf text = { 0 };
		struct errs errors = { .arena = arena };
		const struct json_node *tree = NULL;
		struct str all;

		add_random_value(&text, 0);
		all = (struct str){ text.p, text.n };
		judge(all, KIT_SAME);
		check_pieces(all, NULL);
		text.p[roll(text.n)] = bytes[roll(sizeof(bytes) - 1)];
		refused += json_parse(all, NULL, arena, &tree, &errors) < 0;
		assert_int_not_equal(kit_judge(all, tree), KIT_DIFFERENT);
		check_pieces(all, NULL);
	}
	assert_in_range(refused, 200, 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_texts_are_accepted),
		cmocka_unit_test(wrong_texts_are_refused_with_place_and_reason),
		cmocka_unit_test(another_parser_reads_the_same_values),
		cmocka_unit_test(a_text_that_is_cut_off_is_refused),
		cmocka_unit_test(tokens_have_places_and_texts),
		cmocka_unit_test(a_string_without_escapes_is_not_copied),
		cmocka_unit_test(an_escaped_nul_is_a_character_unless_refused),
		cmocka_unit_test(documents_follow_each_other),
		cmocka_unit_test(wrong_streams_are_refused),
		cmocka_unit_test(the_end_of_a_document_is_told_with_its_last_byte),
		cmocka_unit_test(limits_are_kept_to_the_byte),
		cmocka_unit_test(limits_are_those_of_each_document),
		cmocka_unit_test(nesting_costs_no_stack),
		cmocka_unit_test(a_long_token_in_bytes_takes_linear_time),
		cmocka_unit_test(a_skipped_value_gives_no_tokens),
		cmocka_unit_test(skipping_goes_on_after_the_value),
		cmocka_unit_test(random_texts_are_read_as_another_parser_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
