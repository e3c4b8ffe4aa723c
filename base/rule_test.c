/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rule.h"
#include "base/units.h"

struct fixture {
	struct arena *arena;
	struct errs errors, warnings;
	struct rule_sink sink;
};

static const struct rule_spot root = { .name = "house" };
static const struct rule_spot doors = { .in = &root, .name = "doors" };
static const struct rule_spot second = { .in = &doors, .index = 1 };

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = arena_new();
	f->errors.arena = f->warnings.arena = f->arena;
	f->sink = (struct rule_sink){ f->arena, &f->errors, &f->warnings };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_free(f->arena);
	free(f);
	return 0;
}

/* Compares the complaints since the last call, as the operator would read them. */
static void assert_told(struct fixture *f, const char *want)
{
	struct buf out = { 0 };

	errs_print(&f->errors, "f", &out);
	assert_string_equal(buf_cstr(&out), want);
	buf_free(&out);
	f->errors.n = 0;
}

static void complaints_name_file_place_and_key(void **state)
{
	struct fixture *f = *state;

	rule_fail(&f->sink, &second, "width", (struct place){ .line = 3, .column = 4 },
		  "must be %d", 1);
	rule_fail(&f->sink, &second, NULL, (struct place){ .line = 3, .column = 5 }, "is odd");
	assert_int_equal(rule_errors(&f->sink), 2);
	assert_told(f, "f:3:4: house.doors[1].width: must be 1\n"
		       "f:3:5: house.doors[1]: is odd\n");
	rule_doubt(&f->sink, &second, NULL, (struct place){ .line = 3, .column = 4 }, "hm");
	assert_int_equal(f->errors.n, 0);
	assert_int_equal(f->warnings.n, 1);
}

static void numbers_stay_in_their_range(void **state)
{
	static const struct rule_range range = { "width", 10, 20, 15 };
	struct doc_int d = { .set = true, .at = { .line = 1, .column = 1 }, .v = 20 };
	struct fixture *f = *state;

	assert_int_equal(rule_number(&f->sink, &root, &range, &d), 20);
	d.v = 21;
	assert_int_equal(rule_number(&f->sink, &root, &range, &d), 15);
	assert_told(f, "f:1:1: house.width: must be between 10 and 20, not 21\n");
	d.set = false;
	assert_int_equal(rule_number(&f->sink, &root, &range, &d), 15);
	assert_told(f, "");
}

static void durations_stay_in_their_range(void **state)
{
	static const struct rule_range range = { "opens", 1, NSEC_PER_SEC, 7 };
	struct doc_duration d = { .set = true,
				  .at = { .line = 1, .column = 1 },
				  .v = NSEC_PER_SEC };
	struct fixture *f = *state;

	assert_int_equal(rule_duration(&f->sink, &root, &range, &d), NSEC_PER_SEC);
	d.v = 0;
	assert_int_equal(rule_duration(&f->sink, &root, &range, &d), 7);
	d.v = 2 * NSEC_PER_SEC;
	assert_int_equal(rule_duration(&f->sink, &root, &range, &d), 7);
	assert_told(f, "f:1:1: house.opens: must be more than 0, not 0s\n"
		       "f:1:1: house.opens: must be at most 1s, not 2s\n");
}

static void a_word_is_one_of_the_list(void **state)
{
	static const char *const list[] = { "in", "out" };
	static const struct rule_words words = { "swing", list, 2 };
	struct doc_text d = { .set = true, .at = { .line = 1, .column = 1 }, .v = "out" };
	struct fixture *f = *state;

	assert_int_equal(rule_choose(&f->sink, &root, &words, &d), 1);
	d.v = "up\n";
	assert_int_equal(rule_choose(&f->sink, &root, &words, &d), -1);
	assert_told(f, "f:1:1: house.swing: \"up\\x0a\" is not one of in, out\n");
}

static void an_address_can_be_talked_to(void **state)
{
	static const struct {
		const char *text, *why;
		int family;
	} bad[] = {
		{ "10.0.0.0/8", "is not a single address", AF_UNSPEC },
		{ "ten", "is not an IP address", AF_UNSPEC },
		{ "::1", "is not an IPv4 address", AF_INET },
		{ "10.0.0.1", "is not an IPv6 address", AF_INET6 },
		{ "0.0.0.0", "is the unspecified address", AF_UNSPEC },
		{ "224.0.0.1", "is a multicast address", AF_UNSPEC },
		{ "fe80::1", "is link-local, which is ambiguous without an interface", AF_INET6 },
	};
	struct fixture *f = *state;
	struct addr a = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct doc_text d = { .set = true,
				      .at = { .line = 1, .column = 1 },
				      .v = bad[i].text };
		char want[200];

		assert_false(rule_address(&f->sink, &root, "bell", bad[i].family, &d, &a));
		assert_false(addr_is_set(&a));
		snprintf(want, sizeof(want), "f:1:1: house.bell: \"%s\" %s\n", bad[i].text,
			 bad[i].why);
		assert_told(f, want);
	}
	assert_true(rule_address(&f->sink, &root, "bell", AF_INET6,
				 &(struct doc_text){ .set = true, .v = "2001:db8::1" }, &a));
	assert_int_equal(a.family, AF_INET6);
}

static void texts_are_printable_and_tokens_have_no_spaces(void **state)
{
	static const struct place at = { .line = 1, .column = 1 };
	struct fixture *f = *state;

	assert_true(rule_printable(&f->sink, &root, NULL, at, "gr\xc3\xbcn e", 7));
	assert_false(rule_printable(&f->sink, &root, NULL, at, "", 7));
	assert_false(rule_printable(&f->sink, &root, NULL, at, "12345678", 7));
	assert_false(rule_printable(&f->sink, &root, NULL, at, "a\nb", 7));
	assert_false(rule_printable(&f->sink, &root, NULL, at, "a\xe2\x80\xae", 7));
	assert_false(rule_printable(&f->sink, &root, NULL, at, "a\xff", 7));
	assert_told(f, "f:1:1: house: must not be empty\n"
		       "f:1:1: house: is longer than 7 bytes\n"
		       "f:1:1: house: holds \\x0a, which is not printable\n"
		       "f:1:1: house: holds \\u202e, which is not printable\n"
		       "f:1:1: house: holds \\xff, which is not printable\n");
	assert_true(rule_token(&f->sink, &root, NULL,
			       &(struct doc_text){ .set = true, .at = at, .v = "a/b" }, 7));
	assert_false(rule_token(&f->sink, &root, NULL,
				&(struct doc_text){ .set = true, .at = at, .v = "a b" }, 7));
	assert_told(f, "f:1:1: house: \"a b\" holds a space\n");
}

static void near_names_are_offered(void **state)
{
	struct near near = { .wanted = STR("dor"), .limit = 1, .max = 3 };
	struct fixture *f = *state;

	assert_string_equal(rule_near(&f->sink, &near), "");
	near_consider(&near, "door");
	assert_string_equal(rule_near(&f->sink, &near), "; did you mean \"door\"?");
	near_consider(&near, "for");
	assert_string_equal(rule_near(&f->sink, &near), "; did you mean \"door\" or \"for\"?");
	near_consider(&near, "doc");
	assert_string_equal(rule_near(&f->sink, &near),
			    "; did you mean \"door\", \"for\" or \"doc\"?");
}

struct doc_door {
	const char *name;
	struct place at;
};

static void entries_are_sorted_and_names_are_there_once(void **state)
{
	static const struct schema_section section = {
		.doc_size = sizeof(struct doc_door),
		.doc_name = offsetof(struct doc_door, name),
		.doc_at = offsetof(struct doc_door, at),
	};
	static const struct doc_door docs[] = { { "left", { .line = 1, .column = 1 } },
						{ "back", { .line = 2, .column = 1 } },
						{ "left", { .line = 3, .column = 1 } } };
	struct fixture *f = *state;
	const struct rule_entry *e = rule_entries(&f->sink, &doors, &section, docs, 3);

	assert_string_equal(e[0].name, "back");
	assert_ptr_equal(e[0].doc, &docs[1]);
	assert_ptr_equal(e[1].doc, &docs[0]);
	assert_int_equal(e[2].at.line, 3);
	assert_told(f, "f:3:1: house.doors.left: occurs twice, first on line 1\n");
	rule_entries(&f->sink, &doors, &section, NULL, 0);
}

static void the_innermost_code_names_a_complaint(void **state)
{
	struct fixture *f = *state;
	const struct rule_spot house = { .name = "house", .code = "InvalidHouse" };
	const struct rule_spot door = { .in = &house, .index = 1 };
	const struct rule_spot lock = { .in = &door, .name = "lock", .code = "InvalidLock" };

	rule_fail(&f->sink, &door, "width", (struct place){ .line = 1, .column = 1 },
		  "is too small");
	rule_fail(&f->sink, &lock, "key", (struct place){ .line = 2, .column = 1 }, "is lost");
	rule_fail(&f->sink, &doors, NULL, (struct place){ .line = 3, .column = 1 }, "are open");
	assert_string_equal(f->sink.errors->items[0].code, "InvalidHouse");
	assert_string_equal(f->sink.errors->items[1].code, "InvalidLock");
	assert_null(f->sink.errors->items[2].code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(complaints_name_file_place_and_key),
		TEST(numbers_stay_in_their_range),
		TEST(durations_stay_in_their_range),
		TEST(a_word_is_one_of_the_list),
		TEST(an_address_can_be_talked_to),
		TEST(texts_are_printable_and_tokens_have_no_spaces),
		TEST(near_names_are_offered),
		TEST(entries_are_sorted_and_names_are_there_once),
		TEST(the_innermost_code_names_a_complaint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
