/* SPDX-License-Identifier: Apache-2.0 */
/* That it finds what the table finds is in table_random_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/explain.h"

static const struct l7_condition canary = { .name = { "x-canary", 8 }, .value = { "1", 1 } };
static const struct l7_condition page = { .name = { "page", 4 }, .value = { "2", 1 } };

enum { EXACT, POST, CANARY, PAGE, API, ALL, WILD, OTHER };

#define PATH(kind_, path_) .kind = L7_##kind_, .path = { path_, sizeof(path_) - 1 }

static const struct l7_entry entries[] = {
	[EXACT] = { .host = { "a.b", 3 }, .match = { PATH(EXACT, "/api"), .order = 0 } },
	[POST] = { .host = { "a.b", 3 },
		   .match = { PATH(PREFIX, "/api"), .method = { "POST", 4 }, .order = 1 } },
	[CANARY] = { .host = { "a.b", 3 },
		     .match = { PATH(PREFIX, "/api"), .headers = &canary, .n_headers = 1,
				.order = 2 } },
	[PAGE] = { .host = { "a.b", 3 },
		   .match = { PATH(PREFIX, "/api"), .queries = &page, .n_queries = 1,
			      .order = 3 } },
	[API] = { .host = { "a.b", 3 }, .match = { PATH(PREFIX, "/api"), .order = 4 } },
	[ALL] = { .host = { "", 0 }, .match = { PATH(PREFIX, "/"), .order = 5 } },
	[WILD] = { .host = { "*.b", 3 }, .match = { PATH(PREFIX, "/"), .order = 6 } },
	[OTHER] = { .host = { "c.d", 3 }, .match = { PATH(PREFIX, "/api"), .order = 7 } },
};

static bool no_regex(const struct l7_regex *regex, struct str text)
{
	return false;
}

static struct l7_request request_of(const char *path, const char *query)
{
	return (struct l7_request){ .host = STR("A.b:80"),
				    .path = str_of(path),
				    .query = str_of(query),
				    .method = STR("GET") };
}

static struct l7_explanation explain(const struct l7_request *r, size_t most, struct arena *arena)
{
	return l7_explain(entries, ARRAY_SIZE(entries), r, no_regex, most, arena);
}

static void each_candidate_says_why_not(void **state)
{
	static const struct {
		size_t entry;
		enum l7_verdict verdict;
	} want[] = {
		{ EXACT, L7_PATH_DIFFERS },
		{ POST, L7_METHOD_DIFFERS },
		{ CANARY, L7_HEADER_MISSING },
		{ PAGE, L7_QUERY_MISSING },
		{ API, L7_FOUND },
		{ WILD, L7_LATER },
		{ ALL, L7_LATER },
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_request r = request_of("/api/x", "");
	struct l7_explanation e = explain(&r, 10, arena);

	assert_int_equal(e.found, API);
	assert_int_equal(e.n, ARRAY_SIZE(want));
	assert_int_equal(e.left_out, 0);
	for (size_t i = 0; i < e.n; i++) {
		assert_int_equal(e.candidates[i].entry, want[i].entry);
		assert_int_equal(e.candidates[i].verdict, want[i].verdict);
	}
	assert_ptr_equal(e.candidates[2].condition, &canary);
	assert_ptr_equal(e.candidates[3].condition, &page);
}

static void a_value_that_differs_is_not_missing(void **state)
{
	static const struct field headers[] = { { { "X-Canary", 8 }, { "0", 1 } } };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_request r = request_of("/api/x", "page=3");
	struct l7_explanation e;

	r.headers = headers;
	r.n_headers = 1;
	e = explain(&r, 10, arena);
	assert_int_equal(e.candidates[2].verdict, L7_HEADER_DIFFERS);
	assert_int_equal(e.candidates[3].verdict, L7_QUERY_DIFFERS);
}

static void a_host_without_rules_that_apply_gives_way_to_the_next(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_request r = request_of("/other", "");

	assert_int_equal(explain(&r, 10, arena).found, WILD);
}

/* The found one, then those with the path of the request, then others. */
static void what_says_least_is_left_out(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_request r = request_of("/api/x", "");
	struct l7_explanation e = explain(&r, 4, arena);

	assert_int_equal(e.left_out, 3);
	assert_int_equal(e.n, 4);
	assert_int_equal(e.candidates[0].entry, POST);
	assert_int_equal(e.candidates[1].entry, API);
	assert_int_equal(e.candidates[2].entry, WILD);
	assert_int_equal(e.candidates[3].entry, ALL);
}

static void without_candidates_nothing_is_found(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_request r = request_of("/", "");
	struct l7_explanation e = l7_explain(entries, 0, &r, no_regex, 1, arena);

	assert_int_equal(e.found, L7_NONE);
	assert_int_equal(e.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_candidate_says_why_not),
		cmocka_unit_test(a_value_that_differs_is_not_missing),
		cmocka_unit_test(a_host_without_rules_that_apply_gives_way_to_the_next),
		cmocka_unit_test(what_says_least_is_left_out),
		cmocka_unit_test(without_candidates_nothing_is_found),
	};

	return cmocka_run_group_tests_name("core/l7/explain", tests, NULL, NULL);
}
