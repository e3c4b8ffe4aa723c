/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/router/words.h"

static const struct l7_condition canary = { .name = { "x-canary", 8 }, .value = { "1", 1 } };
static const struct l7_condition version = { .name = { "version", 7 },
					     .kind = L7_REGEX,
					     .value = { "[0-9]+", 6 } };

static const struct l7_match full = { .kind = L7_PREFIX,
				      .path = { "/api", 4 },
				      .method = { "GET", 3 },
				      .headers = &canary,
				      .n_headers = 1,
				      .queries = &version,
				      .n_queries = 1 };

static void a_match_names_all_conditions(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct l7_match exact = { .kind = L7_EXACT, .path = { "/", 1 } };
	const struct l7_grpc_match service = { .service = { "a.B", 3 } };
	const struct l7_grpc_match methods = { .method = { "Get.*", 5 } };
	const struct l7_match call = { .kind = L7_PREFIX, .path = { "/a.B", 4 }, .grpc = &service };
	const struct l7_match pattern = { .kind = L7_REGEX, .grpc = &methods };

	assert_string_equal(words_match(&full, arena),
			    "GET prefix /api, header x-canary: 1, query version ~ [0-9]+");
	assert_string_equal(words_match(&exact, arena), "exact /");
	assert_string_equal(words_match(&call, arena), "grpc a.B/*");
	assert_string_equal(words_match(&pattern, arena), "grpc regex */Get.*");
}

static void a_long_text_is_cut_at_a_character(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char path[2 * WORDS_MAX];
	const struct l7_match m = { .kind = L7_PREFIX, .path = { path, sizeof(path) } };
	const char *text;

	for (size_t i = 0; i < sizeof(path); i += 2)
		memcpy(path + i, "\xc3\xa4", 2);
	text = words_match(&m, arena);
	assert_true(strlen(text) <= WORDS_MAX && strlen(text) > WORDS_MAX - 4);
	assert_true(utf8_valid(text, strlen(text)));
}

static void a_redirect_says_where_to(void **state)
{
	static const struct {
		struct l7_redirect it;
		const char *text;
	} cases[] = {
		{ { .status = 301, .scheme = { "https", 5 } }, "301 to https" },
		{ { .status = 302, .scheme = { "https", 5 }, .to.host = { "a.b", 3 } },
		  "302 to https://a.b" },
		{ { .status = 307,
		    .port = 8443,
		    .to = { .edit = L7_PATH_PREFIX, .path = { "/new", 4 } } },
		  "307 to prefix /new, port 8443" },
		{ { .status = 308,
		    .to = { .host = { "a.b", 3 }, .edit = L7_PATH_REPLACED, .path = { "/x", 2 } } },
		  "308 to a.b/x" },
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(words_redirect(&cases[i].it, arena), cases[i].text);
	assert_string_equal(words_redirect(NULL, arena), "");
}

static void filters_are_listed(void **state)
{
	static const struct str removed = { "a", 1 };
	static const struct l7_rewrite strip = { .edit = L7_PATH_PREFIX, .path = { "/", 1 } };
	const struct l7_rule rule = {
		.filters = { .rewrite = &strip, .request = { .remove = &removed, .n_remove = 1 } },
		.request_timeout = INT64_C(2500000000)
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char *texts[WORDS_FILTERS];

	assert_int_equal(words_filters(&rule, texts, arena), 3);
	assert_string_equal(texts[0], "strips the prefix");
	assert_string_equal(texts[1], "changes 1 request header");
	assert_string_equal(texts[2], "within 2.5s");
	assert_int_equal(words_filters(&(struct l7_rule){ 0 }, texts, arena), 0);
}

static void a_verdict_names_what_is_missing(void **state)
{
	const struct l7_candidate header = { .verdict = L7_HEADER_MISSING, .condition = &canary };
	const struct l7_candidate method = { .verdict = L7_METHOD_DIFFERS };
	const struct l7_candidate found = { .verdict = L7_FOUND };
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	assert_string_equal(words_verdict(&header, &full, arena), "there is no header x-canary");
	assert_string_equal(words_verdict(&method, &full, arena), "the method is not GET");
	assert_string_equal(words_verdict(&found, &full, arena), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_match_names_all_conditions),
		cmocka_unit_test(a_long_text_is_cut_at_a_character),
		cmocka_unit_test(a_redirect_says_where_to),
		cmocka_unit_test(filters_are_listed),
		cmocka_unit_test(a_verdict_names_what_is_missing),
	};

	return cmocka_run_group_tests_name("src/router/words", tests, NULL, NULL);
}
