/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void equality_compares_length_and_bytes(void **state)
{
	assert_true(str_eq(STR("a\0b"), (struct str){ "a\0b", 3 }));
	assert_false(str_eq(STR("a\0b"), STR("a\0c")));
	assert_false(str_eq(STR("ab"), STR("abc")));
	assert_false(str_eq(STR("a"), STR("A")));
	assert_true(str_eq(STR(""), (struct str){ 0 }));
}

static void ascii_case_is_ignored_and_nothing_else(void **state)
{
	assert_true(str_ieq(STR("Content-LENGTH"), STR("content-length")));
	assert_true(str_ieq(STR("AZaz09"), STR("azAZ09")));
	assert_false(str_ieq(STR("["), STR("{")));
	assert_false(str_ieq(STR("@"), STR("\x60")));
	assert_false(str_ieq(STR("\xc4"), STR("\xe4")));
	assert_false(str_ieq(STR("a"), STR("ab")));
}

static bool same_letter(unsigned a, unsigned b)
{
	if (a >= 'A' && a <= 'Z')
		a += 'a' - 'A';
	if (b >= 'A' && b <= 'Z')
		b += 'a' - 'A';
	return a == b;
}

/* Texts of all lengths around that of a word, with each pair of bytes at each place. */
static void case_is_ignored_at_each_place(void **state)
{
	for (size_t n = 1; n <= 17; n++)
		for (size_t at = 0; at < n; at++)
			for (unsigned pair = 0; pair < 256 * 256; pair++) {
				char a[17], b[17];

				memset(a, 'x', sizeof(a));
				memset(b, 'X', sizeof(b));
				a[at] = (char)(pair >> 8);
				b[at] = (char)(pair & 255);
				if (str_ieq((struct str){ a, n }, (struct str){ b, n }) !=
				    same_letter(pair >> 8, pair & 255))
					fail_msg("%zu of %zu: %02x %02x", at, n, pair >> 8,
						 pair & 255);
			}
}

static void trim_takes_spaces_and_tabs_off_both_ends(void **state)
{
	assert_true(str_eq(str_trim(STR(" \t a b\t ")), STR("a b")));
	assert_true(str_eq(str_trim(STR("\r\nx")), STR("\r\nx")));
	assert_int_equal(str_trim(STR(" \t ")).n, 0);
	assert_int_equal(str_trim(STR("")).n, 0);
}

static void cut_yields_every_part_also_empty_ones(void **state)
{
	static const char *const parts[] = { "200", "", "300-399", "" };
	struct str rest = STR("200,,300-399,"), part;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		assert_true(str_cut(&rest, ',', &part));
		assert_true(str_eq(part, str_of(parts[i])));
	}
	assert_false(str_cut(&rest, ',', &part));
}

static void cut_without_the_separator_yields_all_once(void **state)
{
	struct str rest = STR("abc"), empty = STR(""), part;

	assert_true(str_cut(&rest, ',', &part));
	assert_true(str_eq(part, STR("abc")));
	assert_false(str_cut(&rest, ',', &part));
	assert_true(str_cut(&empty, ',', &part));
	assert_int_equal(part.n, 0);
	assert_false(str_cut(&empty, ',', &part));
}

static void numbers_up_to_max_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		int r;
		uint64_t value;
	} rows[] = {
		{ "0", 0, 0, 0 },
		{ "65535", 65535, 0, 65535 },
		{ "65536", 65535, -ERANGE, 0 },
		{ "007", 10, 0, 7 },
		{ "18446744073709551615", UINT64_MAX, 0, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999999", UINT64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999999x", UINT64_MAX, -EINVAL, 0 },
		{ "", 9, -EINVAL, 0 },
		{ "-1", 9, -EINVAL, 0 },
		{ "+1", 9, -EINVAL, 0 },
		{ " 1", 9, -EINVAL, 0 },
		{ "1 ", 9, -EINVAL, 0 },
		{ "0x1", 9, -EINVAL, 0 },
		{ "1.0", 9, -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t v = 4242;

		assert_int_equal(str_to_u64(str_of(rows[i].text), rows[i].max, &v), rows[i].r);
		assert_int_equal(v, rows[i].r ? 4242 : rows[i].value);
	}
}

/*
 * Encodes any value up to 0x1fffff, valid or not, in the number of bytes that its size requires.
 */
static size_t encode(uint32_t c, char out[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(leads[n] | c);
	return n;
}

static void every_unicode_character_is_valid_and_no_surrogate_is(void **state)
{
	char p[4];

	for (uint32_t c = 0; c < 0x200000; c++) {
		size_t n = encode(c, p);
		bool valid = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);

		if (utf8_char(p, n) != (valid ? n : 0))
			fail_msg("U+%04X", c);
		if (utf8_char(p, n - 1) != 0)
			fail_msg("U+%04X cut short", c);
	}
}

static void broken_and_overlong_sequences_are_not_characters(void **state)
{
	static const struct str rows[] = {
		{ "\x80", 1 },
		{ "\xbf", 1 },
		{ "\xc0\x80", 2 },
		{ "\xc1\xbf", 2 },
		{ "\xe0\x80\x80", 3 },
		{ "\xe0\x9f\xbf", 3 },
		{ "\xf0\x80\x80\x80", 4 },
		{ "\xf0\x8f\xbf\xbf", 4 },
		{ "\xf5\x80\x80\x80", 4 },
		{ "\xff", 1 },
		{ "\xfe", 1 },
		{ "\xc3(", 2 },
		{ "\xe2\x82(", 3 },
		{ "\xf0\x9f\x92(", 4 },
		{ "\xf8\x88\x80\x80\x80", 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(utf8_char(rows[i].p, rows[i].n), 0);
		assert_false(utf8_valid(rows[i].p, rows[i].n));
	}
	assert_int_equal(utf8_char("", 0), 0);
}

static void text_is_valid_when_all_its_characters_are(void **state)
{
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_true(utf8_valid("grün €\xf0\x9f\x92\xa9", 14));
	assert_false(utf8_valid("gr\xfcn", 4));
	assert_false(utf8_valid("ok\xe2\x82", 4));
	for (size_t i = 0; i < 24; i++) { /* at any position among whole words of ASCII */
		char text[] = "abcdefghijklmnopqrstuvwx";

		assert_true(utf8_valid(text, i));
		text[i] = '\xff';
		assert_false(utf8_valid(text, i + 1));
		assert_false(utf8_valid(text, sizeof(text) - 1));
	}
}

static void what_is_broken_is_replaced_once_for_each_beginning(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "gr\xc3\xbcn", "gr\xc3\xbcn" },
		{ "gr\xfcn", "gr" UTF8_REPLACEMENT "n" },
		{ "\xe2\x82", UTF8_REPLACEMENT },
		{ "\xe2\x82x", UTF8_REPLACEMENT "x" },
		{ "\xf0\x9f\x92", UTF8_REPLACEMENT },
		{ "\xe2\xe2\x82\xac", UTF8_REPLACEMENT "\xe2\x82\xac" },
		{ "\xc0\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT },
		{ "\xed\xa0\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_(buf_free) struct buf b = { 0 };

		buf_add_utf8(&b, rows[i].in, strlen(rows[i].in));
		assert_string_equal(buf_cstr(&b), rows[i].out);
	}
}

static void a_buffer_grows_and_keeps_every_byte(void **state)
{
	_cleanup_(buf_free) struct buf b = { 0 };

	for (int i = 0; i < 5000; i++)
		buf_addc(&b, (char)i);
	buf_add(&b, b.p, 0);
	buf_add_lit(&b, "end");
	assert_int_equal(b.n, 5003);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(b.p[i], (char)i);
	assert_memory_equal(b.p + 5000, "end", 3);
}

static void formatted_text_is_appended(void **state)
{
	_cleanup_(buf_free) struct buf b = { 0 };

	buf_adds(&b, "a=");
	buf_printf(&b, "%d", 1);
	buf_printf(&b, "%s", "");
	buf_addu(&b, 0);
	buf_addc(&b, ',');
	buf_addu(&b, UINT64_MAX);
	assert_string_equal(buf_cstr(&b), "a=10,18446744073709551615");
	buf_printf(&b, "%*d", 10000, 7);
	assert_int_equal(b.n, 25 + 10000);
	assert_int_equal(strlen(buf_cstr(&b)), b.n);
}

static void consuming_drops_from_the_front(void **state)
{
	_cleanup_(buf_free) struct buf b = { 0 };

	buf_consume(&b, 0);
	buf_adds(&b, "GET / HTTP/1.1");
	buf_consume(&b, 4);
	assert_string_equal(buf_cstr(&b), "/ HTTP/1.1");
	buf_consume(&b, b.n);
	assert_string_equal(buf_cstr(&b), "");
}

static void an_empty_buffer_is_the_empty_string(void **state)
{
	_cleanup_(buf_free) struct buf b = { 0 };

	assert_string_equal(buf_cstr(&b), "");
	buf_free(&b);
	buf_free(&b);
	assert_null(b.p);
}

static void reserved_room_is_not_allocated_again(void **state)
{
	_cleanup_(buf_free) struct buf b = { 0 };
	char *before;

	buf_reserve(&b, 100000);
	before = b.p;
	for (int i = 0; i < 100000; i++)
		buf_addc(&b, 'x');
	assert_ptr_equal(b.p, before);
	assert_int_equal(b.n, 100000);
}

static void a_start_is_all_of_what_it_is(void **state)
{
	assert_true(str_starts(STR("prefix"), STR("pre")));
	assert_true(str_starts(STR("pre"), STR("pre")));
	assert_true(str_starts(STR("pre"), STR("")));
	assert_true(str_starts(STR(""), STR("")));
	assert_false(str_starts(STR("pr"), STR("pre")));
	assert_false(str_starts(STR("Prefix"), STR("pre")));
}

static void nothing_is_like_nothing_only(void **state)
{
	char a[] = "a", other[] = "a";

	assert_true(cstr_eq(a, other));
	assert_false(cstr_eq(a, "b"));
	assert_false(cstr_eq(a, NULL));
	assert_false(cstr_eq(NULL, ""));
	assert_true(cstr_eq(NULL, NULL));
}

static void printable_is_what_shows_as_itself(void **state)
{
	static const char *const good[] = { "a",
					    " ",
					    "~",
					    "\xc2\xa0",
					    "\xc3\xa9",
					    "\xd8\x9b" /* U+061B */,
					    "\xd7\x90" /* alef: has a direction of its own */,
					    "\xe2\x80\x8c" /* ZWNJ */,
					    "\xe2\x80\x8d" /* ZWJ */,
					    "\xe2\x80\xaf",
					    "\xf0\x9f\x99\x82" };
	static const char *const bad[] = {
		"\n",		"\x1b",		"\x7f",		"\xc2\x80",	"\xc2\x9b",
		"\xc2\x9f",	"\xc2\xad",	"\xd8\x9c",	"\xe2\x80\x8b", "\xe2\x80\x8e",
		"\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae",
		"\xe2\x81\xa0", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf", "\xf3\xa0\x81\x81",
		"\xff",		"\xe2\x80",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(utf8_printable(good[i], strlen(good[i])), strlen(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(utf8_printable(bad[i], strlen(bad[i])), 0);
	assert_int_equal(utf8_printable("", 0), 0);
	assert_int_equal(utf8_printable_run("a\xc3\xa9\nb", 5), 3);
	assert_int_equal(utf8_printable_run("abc", 3), 3);
	assert_int_equal(utf8_fitting("abc", 3, 5), 3);
	assert_int_equal(utf8_fitting("abc", 3, 2), 2);
	assert_int_equal(utf8_fitting("a\xc3\xa9z", 4, 2), 1);
	assert_int_equal(utf8_fitting("a\xc3\xa9z", 4, 3), 3);
	assert_int_equal(utf8_fitting("a\xff\xffz", 4, 2), 2);
}

static void what_is_not_printable_is_shown_escaped(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *want;
	} cases[] = {
		{ "gr\xc3\xbcn", SIZE_MAX, "gr\xc3\xbcn" },
		{ "a\033[2Jb\xc2\x9b", SIZE_MAX, "a\\x1b[2Jb\\u009b" },
		{ "abc\xe2\x80\xaegpj.exe", SIZE_MAX, "abc\\u202egpj.exe" },
		{ "\xf3\xa0\x81\x81\xff\xe2\x80", SIZE_MAX, "\\u{e0041}\\xff\\xe2\\x80" },
		{ "12345", 5, "12345" },
		{ "123456", 5, "12345..." },
		{ "1234\xc3\xbc", 5, "1234..." },
		{ "12\n", 5, "12..." },
		{ "1\n", 5, "1\\x0a" },
		{ "", 0, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };

		buf_add_shown(&b, str_of(cases[i].text), cases[i].max);
		assert_string_equal(buf_cstr(&b), cases[i].want);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_like_nothing_only),
		cmocka_unit_test(a_start_is_all_of_what_it_is),
		cmocka_unit_test(equality_compares_length_and_bytes),
		cmocka_unit_test(ascii_case_is_ignored_and_nothing_else),
		cmocka_unit_test(case_is_ignored_at_each_place),
		cmocka_unit_test(trim_takes_spaces_and_tabs_off_both_ends),
		cmocka_unit_test(cut_yields_every_part_also_empty_ones),
		cmocka_unit_test(cut_without_the_separator_yields_all_once),
		cmocka_unit_test(numbers_up_to_max_are_read),
		cmocka_unit_test(every_unicode_character_is_valid_and_no_surrogate_is),
		cmocka_unit_test(broken_and_overlong_sequences_are_not_characters),
		cmocka_unit_test(text_is_valid_when_all_its_characters_are),
		cmocka_unit_test(what_is_broken_is_replaced_once_for_each_beginning),
		cmocka_unit_test(printable_is_what_shows_as_itself),
		cmocka_unit_test(what_is_not_printable_is_shown_escaped),
		cmocka_unit_test(a_buffer_grows_and_keeps_every_byte),
		cmocka_unit_test(formatted_text_is_appended),
		cmocka_unit_test(consuming_drops_from_the_front),
		cmocka_unit_test(an_empty_buffer_is_the_empty_string),
		cmocka_unit_test(reserved_room_is_not_allocated_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
