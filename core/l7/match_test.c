/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/match.h"

/* Stands for a regular expression: the text must have the length that the pointer says. */
static bool by_length(const struct l7_regex *regex, struct str text)
{
	return text.n == (size_t)(uintptr_t)regex;
}

static const struct l7_regex *length(size_t n)
{
	return (const struct l7_regex *)(uintptr_t)n;
}

static bool path_matches(enum l7_kind kind, const char *rule, const char *path)
{
	const struct l7_match m = { .kind = kind, .path = str_of(rule), .regex = length(3) };
	const struct l7_request r = { .path = str_of(path), .method = STR("GET") };

	return l7_match_all(&m, &r, by_length);
}

static void a_prefix_matches_whole_segments(void **state)
{
	static const struct {
		const char *prefix, *path;
		bool matches;
	} rows[] = {
		{ "/", "/", true },	 { "/", "/a", true },	    { "/a", "/a", true },
		{ "/a", "/a/", true },	 { "/a", "/a/b", true },    { "/a", "/ab", false },
		{ "/a", "/A", false },	 { "/a/", "/a", true },	    { "/a/", "/a/b", true },
		{ "/a/", "/ab", false }, { "/a/b", "/a", false },   { "/a/b", "/a/b/c", true },
		{ "/a", "//a", false },	 { "/a", "/a//b", true },   { "/a", "", false },
		{ "/a", "*", false },	 { "/a%2f", "/a/", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (path_matches(L7_PREFIX, rows[i].prefix, rows[i].path) != rows[i].matches)
			fail_msg("prefix %s, path %s", rows[i].prefix, rows[i].path);
}

static void an_exact_path_is_the_whole_path(void **state)
{
	assert_true(path_matches(L7_EXACT, "/a", "/a"));
	assert_false(path_matches(L7_EXACT, "/a", "/a/"));
	assert_false(path_matches(L7_EXACT, "/a/", "/a"));
	assert_false(path_matches(L7_EXACT, "/a", "/A"));
}

static void an_expression_decides_alone(void **state)
{
	assert_true(path_matches(L7_REGEX, "", "/ab"));
	assert_false(path_matches(L7_REGEX, "", "/abc"));
}

/* ---- gRPC ---- */

#define CALL(kind_, path_, service_, method_)                                                      \
	{                                                                                          \
		.kind = L7_##kind_, .path = { path_, sizeof(path_) - 1 },                          \
		.grpc = &(const struct l7_grpc_match)                                              \
		{                                                                                  \
			{ service_, sizeof(service_) - 1 }, { method_, sizeof(method_) - 1 },      \
				(const struct l7_regex *)3, (const struct l7_regex *)2             \
		}                                                                                  \
	}

static void a_call_is_a_service_and_a_method(void **state)
{
	const struct {
		struct l7_match match;
		const char *path;
		bool matches;
	} rows[] = {
		{ CALL(EXACT, "/a.B/C", "a.B", "C"), "/a.B/C", true },
		{ CALL(EXACT, "/a.B/C", "a.B", "C"), "/a.B/c", false },
		{ CALL(PREFIX, "/a.B", "a.B", ""), "/a.B/D", true },
		{ CALL(PREFIX, "/a.B", "a.B", ""), "/a.Bx/D", false },
		{ CALL(METHOD, "/C", "", "C"), "/x/C", true },
		{ CALL(METHOD, "/C", "", "C"), "/x/c", false },
		{ CALL(METHOD, "/C", "", "C"), "/C", false },
		{ CALL(METHOD, "/C", "", "C"), "/x/y/C", false },
		{ CALL(REGEX, "", "s", "m"), "/abc/de", true },
		{ CALL(REGEX, "", "s", "m"), "/abc/d", false },
		{ CALL(REGEX, "", "s", "m"), "/ab/de", false },
		{ CALL(REGEX, "", "s", ""), "/abc/d", true },
		{ CALL(REGEX, "", "", "m"), "/a/de", true },
		{ CALL(REGEX, "", "", "m"), "/a/de/f", false },
		{ CALL(PREFIX, "/", "", ""), "/a/b", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct l7_request r = { .path = str_of(rows[i].path), .method = STR("POST") };

		if (l7_match_all(&rows[i].match, &r, by_length) != rows[i].matches)
			fail_msg("row %zu", i);
	}
}

/* GRPCRoute: the service first, then the method, then the number of headers. */
static void calls_go_by_service_then_method(void **state)
{
	struct l7_match rows[] = {
		CALL(EXACT, "/a/b", "a", "b"), CALL(REGEX, "", "aaaa", "b"),
		CALL(REGEX, "", "aa", "bbbb"), CALL(REGEX, "", "aa", "b"),
		CALL(REGEX, "", "aa", ""),     CALL(PREFIX, "/a", "a", ""),
		CALL(PREFIX, "/a", "a", ""),   CALL(METHOD, "/bb", "", "bb"),
		CALL(REGEX, "", "", "bbb"),    CALL(PREFIX, "/", "", ""),
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].order = (uint32_t)(ARRAY_SIZE(rows) - i);
	rows[5].n_headers = 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = i + 1; k < ARRAY_SIZE(rows); k++) {
			assert_true(l7_match_cmp(&rows[i], &rows[k]) < 0);
			assert_true(l7_match_cmp(&rows[k], &rows[i]) > 0);
		}
}

static void a_method_is_compared_with_case(void **state)
{
	const struct l7_match m = { .kind = L7_PREFIX, .path = STR("/"), .method = STR("GET") };
	struct l7_request r = { .path = STR("/"), .method = STR("GET") };

	assert_true(l7_match_all(&m, &r, by_length));
	r.method = STR("get");
	assert_false(l7_match_all(&m, &r, by_length));
}

static bool header_matches(const struct l7_condition *c)
{
	static const struct field fields[] = { { { "X-A", 3 }, { "one", 3 } },
					       { { "x-a", 3 }, { "two", 3 } },
					       { { "Empty", 5 }, { "", 0 } } };
	const struct l7_match m = {
		.kind = L7_PREFIX, .path = STR("/"), .headers = c, .n_headers = 1
	};
	const struct l7_request r = { .path = STR("/"), .headers = fields, .n_headers = 3 };

	return l7_match_all(&m, &r, by_length);
}

static void of_headers_with_one_name_the_first_counts(void **state)
{
	assert_true(
		header_matches(&(struct l7_condition){ .name = STR("x-a"), .value = STR("one") }));
	assert_false(
		header_matches(&(struct l7_condition){ .name = STR("x-a"), .value = STR("two") }));
	assert_false(
		header_matches(&(struct l7_condition){ .name = STR("x-a"), .value = STR("ONE") }));
	assert_false(
		header_matches(&(struct l7_condition){ .name = STR("x-b"), .value = STR("") }));
	assert_true(
		header_matches(&(struct l7_condition){ .name = STR("empty"), .value = STR("") }));
	assert_true(header_matches(&(struct l7_condition){
		.name = STR("X-a"), .kind = L7_REGEX, .regex = length(3) }));
	assert_false(header_matches(&(struct l7_condition){
		.name = STR("X-a"), .kind = L7_REGEX, .regex = length(4) }));
}

static bool query_matches(const char *query, const struct l7_condition *c)
{
	const struct l7_match m = {
		.kind = L7_PREFIX, .path = STR("/"), .queries = c, .n_queries = 1
	};
	const struct l7_request r = { .path = STR("/"), .query = str_of(query) };

	return l7_match_all(&m, &r, by_length);
}

static void parameters_are_compared_decoded(void **state)
{
	static const struct {
		const char *query, *name, *value;
		bool matches;
	} rows[] = {
		{ "a=1", "a", "1", true },	 { "a=1", "a", "2", false },
		{ "a=1", "A", "1", false },	 { "b=2&a=1", "a", "1", true },
		{ "a=1&a=2", "a", "1", true },	 { "a=1&a=2", "a", "2", false },
		{ "a", "a", "", true },		 { "a=", "a", "", true },
		{ "", "a", "", false },		 { "&&a=1", "a", "1", true },
		{ "a=x%20y", "a", "x y", true }, { "a=x+y", "a", "x y", true },
		{ "%61=1", "a", "1", true },	 { "a=%zz", "a", "%zz", true },
		{ "a=%4", "a", "%4", true },	 { "a=1%", "a", "1%", true },
		{ "a=b=c", "a", "b=c", true },	 { "a=x%26y", "a", "x&y", true },
		{ "a=1;b=2", "b", "2", false },	 { "aa=1", "a", "1", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct l7_condition c = { .name = str_of(rows[i].name),
						.value = str_of(rows[i].value) };

		if (query_matches(rows[i].query, &c) != rows[i].matches)
			fail_msg("query %s, %s=%s", rows[i].query, rows[i].name, rows[i].value);
	}
}

static void an_expression_sees_a_parameter_decoded(void **state)
{
	struct l7_condition c = { .name = STR("a"), .kind = L7_REGEX, .regex = length(3) };
	char longest[2 + 1024 + 2] = "a=";

	assert_true(query_matches("a=%41bc", &c));
	memset(longest + 2, 'x', 1024);
	c.regex = length(1024);
	assert_true(query_matches(longest, &c));
	longest[2 + 1024] = 'x';
	assert_false(query_matches(longest, &c));
}

/* Each row goes before the next. */
static void the_order_is_that_of_the_gateway_api(void **state)
{
	static const struct l7_condition two[2];
	const struct l7_match rows[] = {
		{ .kind = L7_EXACT, .path = STR("/long"), .order = 20 },
		{ .kind = L7_EXACT, .path = STR("/a"), .order = 19 },
		{ .kind = L7_REGEX, .path = STR("/aaaa"), .order = 18 },
		{ .kind = L7_REGEX, .path = STR("/aa"), .order = 17 },
		{ .kind = L7_PREFIX, .path = STR("/aaaaaaaa"), .order = 16 },
		{ .kind = L7_PREFIX,
		  .path = STR("/b"),
		  .method = STR("GET"),
		  .headers = two,
		  .n_headers = 1,
		  .order = 15 },
		{ .kind = L7_PREFIX, .path = STR("/b"), .method = STR("GET"), .order = 14 },
		{ .kind = L7_PREFIX,
		  .path = STR("/b"),
		  .headers = two,
		  .n_headers = 2,
		  .order = 13 },
		{ .kind = L7_PREFIX,
		  .path = STR("/b"),
		  .headers = two,
		  .n_headers = 1,
		  .queries = two,
		  .n_queries = 2,
		  .order = 12 },
		{ .kind = L7_PREFIX,
		  .path = STR("/b"),
		  .headers = two,
		  .n_headers = 1,
		  .order = 11 },
		{ .kind = L7_PREFIX,
		  .path = STR("/b"),
		  .queries = two,
		  .n_queries = 1,
		  .order = 10 },
		{ .kind = L7_PREFIX, .path = STR("/b/"), .order = 8 },
		{ .kind = L7_PREFIX, .path = STR("/b"), .order = 9 },
		{ .kind = L7_PREFIX, .path = STR("/"), .order = 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
			int c = l7_match_cmp(&rows[i], &rows[k]);

			if ((c > 0) - (c < 0) != (i > k) - (i < k))
				fail_msg("rows %zu and %zu", i, k);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prefix_matches_whole_segments),
		cmocka_unit_test(an_exact_path_is_the_whole_path),
		cmocka_unit_test(an_expression_decides_alone),
		cmocka_unit_test(a_call_is_a_service_and_a_method),
		cmocka_unit_test(calls_go_by_service_then_method),
		cmocka_unit_test(a_method_is_compared_with_case),
		cmocka_unit_test(of_headers_with_one_name_the_first_counts),
		cmocka_unit_test(parameters_are_compared_decoded),
		cmocka_unit_test(an_expression_sees_a_parameter_decoded),
		cmocka_unit_test(the_order_is_that_of_the_gateway_api),
	};

	return cmocka_run_group_tests_name("core/l7/match", tests, NULL, NULL);
}
