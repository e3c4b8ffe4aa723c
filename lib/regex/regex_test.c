/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/regex/regex.h"

static enum regex_result search(const char *pattern, const void *p, size_t n)
{
	_cleanup_(regex_freep) struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE] = "";

	if (regex_compile(pattern, &re, reason, sizeof(reason)) < 0)
		fail_msg("%s: %s", pattern, reason);
	return regex_match(re, p, n);
}

static void a_pattern_is_found_anywhere_unless_anchored(void **state)
{
	assert_int_equal(search("OK", "all OK here", 11), REGEX_MATCH);
	assert_int_equal(search("^OK", "all OK here", 11), REGEX_NO_MATCH);
	assert_int_equal(search("^OK", "OK", 2), REGEX_MATCH);
	assert_int_equal(search("^OK", "no\nOK", 5), REGEX_NO_MATCH);
	assert_int_equal(search("(?m)^OK", "no\nOK", 5), REGEX_MATCH);
	assert_int_equal(search("(?i)ok$", "all OK", 6), REGEX_MATCH);
}

static void the_subject_is_bytes_of_the_given_length(void **state)
{
	assert_int_equal(search("OK", "OK", 1), REGEX_NO_MATCH);
	assert_int_equal(search("b", "a\0b", 3), REGEX_MATCH);
	assert_int_equal(search("^.{3}$", "\xff\xfe\x80", 3), REGEX_MATCH);
	assert_int_equal(search("\xc3\xbc", "gr\xc3\xbc\xc3\x9f", 6), REGEX_MATCH);
	assert_int_equal(search("^$", NULL, 0), REGEX_MATCH);
	assert_int_equal(search("x", NULL, 0), REGEX_NO_MATCH);
}

static void a_broken_pattern_is_told_with_reason_and_offset(void **state)
{
	struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE], tiny[8];

	assert_int_equal(regex_compile("a(b", &re, reason, sizeof(reason)), -EINVAL);
	assert_string_equal(reason, "missing closing parenthesis at offset 3");
	assert_int_equal(regex_compile("*x", &re, reason, sizeof(reason)), -EINVAL);
	assert_true(strstr(reason, "at offset 0"));
	assert_int_equal(regex_compile("[z-a]", &re, tiny, sizeof(tiny)), -EINVAL);
	assert_int_equal(strlen(tiny), sizeof(tiny) - 1);
	assert_null(re);
}

static void a_pattern_cannot_switch_on_utf(void **state)
{
	struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE];

	assert_int_equal(regex_compile("(*UTF)x", &re, reason, sizeof(reason)), -EINVAL);
	assert_null(re);
}

static void a_search_without_end_meets_the_limit(void **state)
{
	char body[64 * 1024];

	memset(body, 'a', sizeof(body));
	body[39] = body[sizeof(body) - 1] = 'z';
	assert_int_equal(search("^(a+)+$", body, 40), REGEX_LIMIT);
	assert_int_equal(search("(*NO_JIT)^(a+)+$", body, 40), REGEX_LIMIT);
	assert_int_equal(search("(a|aa)+$", body + 40, sizeof(body) - 40), REGEX_LIMIT);
	assert_int_equal(search("(*NO_JIT)(a|aa)+$", body + 40, sizeof(body) - 40), REGEX_LIMIT);
}

static int64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* Each starting position stays below the limit of steps, but there are 64 Ki positions. */
static void a_search_that_is_slow_everywhere_ends_in_time(void **state)
{
	static const char *const patterns[] = { "(*NO_JIT)a.*b", "[a]{1,19000}?bc",
						"a.{0,18000}bc" };
	char body[64 * 1024];

	memset(body, 'a', sizeof(body));
	for (size_t i = 18000; i < sizeof(body); i += 18000)
		body[i] = '\n';
	memcpy(body + sizeof(body) - 3, "\nbc", 3);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		int64_t began = processor_time();

		assert_int_equal(search(patterns[i], body, sizeof(body)), REGEX_LIMIT);
		assert_true(processor_time() - began < 200 * NSEC_PER_MSEC);
	}
}

static void where_a_match_starts_does_not_matter(void **state)
{
	char body[1000];

	for (size_t i = 0; i + 2 <= sizeof(body); i++) {
		memset(body, 'a', sizeof(body));
		memcpy(body + i, "ok", 2);
		assert_int_equal(search("(?<!b)ok", body, sizeof(body)), REGEX_MATCH);
		assert_int_equal(search("^ok", body, sizeof(body)),
				 i ? REGEX_NO_MATCH : REGEX_MATCH);
		assert_int_equal(search("\\Gok", body, sizeof(body)),
				 i ? REGEX_NO_MATCH : REGEX_MATCH);
		assert_int_equal(search("no|ok$", body, i + 2), REGEX_MATCH);
		assert_int_equal(search("$", body, i), REGEX_MATCH);
	}
}

static void an_ordinary_search_of_a_large_body_stays_below_the_limit(void **state)
{
	char body[64 * 1024];

	memset(body, 'a', sizeof(body));
	memcpy(body + sizeof(body) - 8, "status:1", 8);
	assert_int_equal(search("status:[01]", body, sizeof(body)), REGEX_MATCH);
	assert_int_equal(search("status:[23]", body, sizeof(body)), REGEX_NO_MATCH);
	assert_int_equal(search("^a.*1$", body, sizeof(body)), REGEX_MATCH);
}

/*
 * A common pattern of users who do not know (?s): every byte of the body adds a backtracking
 * point.
 */
static void a_pattern_may_span_the_lines_of_a_large_body(void **state)
{
	static const struct {
		const char *pattern;
		size_t body;
	} rows[] = {
		{ "(.|\\n)*healthy", (size_t)64 * 1024 },
		{ "^(\\w|\\s)+healthy$", (size_t)64 * 1024 },
		{ "^([^<]|<)*healthy", (size_t)64 * 1024 },
		{ "(*NO_JIT)(.|\\n)*healthy", (size_t)32 * 1024 },
		{ "(*NO_JIT)^(\\w|\\s)+healthy$", (size_t)32 * 1024 },
	};
	char body[64 * 1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t at = 0; at < rows[i].body; at++)
			body[at] = "word word\n"[at % 10];
		memcpy(body + rows[i].body - 7, "healthy", 7);
		if (search(rows[i].pattern, body, rows[i].body) != REGEX_MATCH)
			fail_msg("%s", rows[i].pattern);
	}
}

static enum regex_result match_whole(const char *pattern, const char *subject)
{
	_cleanup_(regex_freep) struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE] = "";

	if (regex_compile_whole(pattern, &re, reason, sizeof(reason)) < 0)
		fail_msg("%s: %s", pattern, reason);
	return regex_match(re, subject, strlen(subject));
}

static void a_whole_pattern_matches_all_of_the_subject(void **state)
{
	static const struct {
		const char *pattern, *subject;
		enum regex_result want;
	} rows[] = {
		{ "/v[0-9]+/.*", "/v12/users", REGEX_MATCH },
		{ "/v[0-9]+", "/v12/users", REGEX_NO_MATCH },
		{ "/v[0-9]+", "/api/v12", REGEX_NO_MATCH },
		{ "a|ab", "ab", REGEX_MATCH }, /* the first alternative ends too early */
		{ "a|b", "cb", REGEX_NO_MATCH },
		{ "(*NO_JIT)a|ab", "ab", REGEX_MATCH },
		{ "(*NO_JIT)a|b", "ba", REGEX_NO_MATCH },
		{ "a?", "", REGEX_MATCH },
		{ "/x", "/x\n", REGEX_NO_MATCH }, /* $ would match before the newline */
		{ "(?m)^a$", "a\nb", REGEX_NO_MATCH },
		{ "(?i)/INDEX\\.html", "/index.HTML", REGEX_MATCH },
		{ "(a+)+", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz", REGEX_LIMIT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (match_whole(rows[i].pattern, rows[i].subject) != rows[i].want)
			fail_msg("%s on %s", rows[i].pattern, rows[i].subject);
}

static void a_pattern_serves_many_searches(void **state)
{
	_cleanup_(regex_freep) struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE], bad[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz";

	assert_int_equal(regex_compile("^(a+)+$", &re, reason, sizeof(reason)), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(regex_match(re, "aaa", 3), REGEX_MATCH);
		assert_int_equal(regex_match(re, "bba", 3), REGEX_NO_MATCH);
		assert_int_equal(regex_match(re, bad, strlen(bad)), REGEX_LIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_is_found_anywhere_unless_anchored),
		cmocka_unit_test(the_subject_is_bytes_of_the_given_length),
		cmocka_unit_test(a_broken_pattern_is_told_with_reason_and_offset),
		cmocka_unit_test(a_pattern_cannot_switch_on_utf),
		cmocka_unit_test(a_search_without_end_meets_the_limit),
		cmocka_unit_test(a_search_that_is_slow_everywhere_ends_in_time),
		cmocka_unit_test(where_a_match_starts_does_not_matter),
		cmocka_unit_test(an_ordinary_search_of_a_large_body_stays_below_the_limit),
		cmocka_unit_test(a_pattern_may_span_the_lines_of_a_large_body),
		cmocka_unit_test(a_whole_pattern_matches_all_of_the_subject),
		cmocka_unit_test(a_pattern_serves_many_searches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
