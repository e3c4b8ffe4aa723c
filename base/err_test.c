/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

struct fixture {
	struct errs errs;
	struct buf out;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .errs.arena = arena_new() };
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_free(f->errs.arena);
	buf_free(&f->out);
	return 0;
}

static void what_is_not_known_is_left_out(void **state)
{
	struct fixture *f = *state;

	errs_add(&f->errs, (struct place){ .line = 3, .column = 7 }, "maglev.vpp",
		 "unknown key '%s'", "lbb");
	errs_add(&f->errs, (struct place){ .line = 4, .column = 0 }, "", "no column");
	errs_add(&f->errs, (struct place){ .line = 0, .column = 0 }, "maglev", "no place");
	errs_print(&f->errs, "a.yaml", &f->out);
	assert_string_equal(buf_cstr(&f->out), "a.yaml:3:7: maglev.vpp: unknown key 'lbb'\n"
					       "a.yaml:4: no column\n"
					       "a.yaml: maglev: no place\n");
}

static void the_list_keeps_its_own_copy_of_key_and_text(void **state)
{
	struct fixture *f = *state;
	char key[] = "key", word[] = "word";

	errs_add(&f->errs, (struct place){ .line = 1, .column = 1 }, key, "%s", word);
	key[0] = word[0] = 'X';
	assert_string_equal(f->errs.items[0].key, "key");
	assert_string_equal(f->errs.items[0].text, "word");
}

static void sorting_goes_by_place_and_keeps_the_order_within_one(void **state)
{
	static const struct place places[] = {
		{ .line = 9, .column = 1 }, { .line = 2, .column = 5 }, { .line = 2, .column = 1 },
		{ .line = 2, .column = 5 }, { .line = 0, .column = 0 }, { .line = 2, .column = 5 }
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		errs_add(&f->errs, places[i], "", "%zu", i);
	errs_sort(&f->errs);
	errs_print(&f->errs, "f", &f->out);
	assert_string_equal(buf_cstr(&f->out),
			    "f: 4\nf:2:1: 2\nf:2:5: 1\nf:2:5: 3\nf:2:5: 5\nf:9:1: 0\n");
}

static void past_the_bound_complaints_are_only_counted(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ERRS_MAX + 3; i++)
		errs_add(&f->errs, (struct place){ .line = (unsigned)i + 1, .column = 1 }, "", "x");
	assert_int_equal(f->errs.n, ERRS_MAX);
	assert_int_equal(f->errs.dropped, 3);
	errs_print(&f->errs, "f", &f->out);
	assert_non_null(strstr(buf_cstr(&f->out), "\nf: and 3 more\n"));
}

static void an_empty_list_sorts_and_prints_nothing(void **state)
{
	struct fixture *f = *state;

	errs_sort(&f->errs);
	errs_print(&f->errs, "f", &f->out);
	assert_int_equal(f->out.n, 0);
}

static void a_text_is_shown_in_one_readable_line(void **state)
{
	struct fixture *f = *state;
	char text[100] = "";

	assert_string_equal(err_shown("gr\xc3\xbcn", f->errs.arena), "gr\xc3\xbcn");
	assert_string_equal(err_shown("a\nb\x7f\xc2\x85\xff", f->errs.arena),
			    "a\\x0ab\\x7f\\u0085\\xff");
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(strlen(err_shown(text, f->errs.arena)), 64 + 3);
	text[64] = '\0';
	assert_string_equal(err_shown(text, f->errs.arena), text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_not_known_is_left_out),
		TEST(the_list_keeps_its_own_copy_of_key_and_text),
		TEST(sorting_goes_by_place_and_keeps_the_order_within_one),
		TEST(past_the_bound_complaints_are_only_counted),
		TEST(an_empty_list_sorts_and_prints_nothing),
		TEST(a_text_is_shown_in_one_readable_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
