/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l7/table.h"

static bool never(const struct l7_regex *regex, struct str text)
{
	return false;
}

/* A rule for a host and a prefix; the table has them in this order. */
#define RULE(name, prefix)                                                                         \
	{                                                                                          \
		.host = { name, sizeof(name) - 1 }, .match = {                                     \
			.kind = L7_PREFIX,                                                         \
			.path = { prefix, sizeof(prefix) - 1 }                                     \
		}                                                                                  \
	}

static size_t find(const struct l7_entry *entries, size_t n, const char *host, const char *path)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct l7_request r = { .host = str_of(host),
				      .path = str_of(path),
				      .method = STR("GET") };

	return l7_table_find(l7_table_build(arena, entries, n, never), &r);
}

static void the_most_specific_name_goes_first(void **state)
{
	static const struct l7_entry entries[] = {
		RULE("", "/"),
		RULE("*.com", "/"),
		RULE("*.example.com", "/"),
		RULE("www.example.com", "/"),
		RULE("*.a.example.com", "/"),
	};
	static const struct {
		const char *host;
		size_t entry;
	} rows[] = {
		{ "www.example.com", 3 },
		{ "WWW.Example.COM", 3 },
		{ "www.example.com:8080", 3 },
		{ "www.example.com.", 3 },
		{ "a.example.com", 2 },
		{ "x.y.example.com", 2 },
		{ "x.a.example.com", 4 },
		{ "y.x.a.example.com", 4 },
		{ "example.com", 1 },
		{ "com", 0 },
		{ "", 0 },
		{ "10.0.0.1", 0 },
		{ "[::1]:80", 0 },
		{ ".example.com", 1 },
		{ "example.org", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (find(entries, ARRAY_SIZE(entries), rows[i].host, "/") != rows[i].entry)
			fail_msg("host %s", rows[i].host);
}

static void a_name_without_a_rule_falls_through(void **state)
{
	static const struct l7_entry entries[] = {
		RULE("www.example.com", "/a"),
		RULE("*.example.com", "/b"),
		RULE("", "/c"),
	};

	assert_int_equal(find(entries, 3, "www.example.com", "/a/x"), 0);
	assert_int_equal(find(entries, 3, "www.example.com", "/b/x"), 1);
	assert_int_equal(find(entries, 3, "www.example.com", "/c/x"), 2);
	assert_int_equal(find(entries, 3, "www.example.com", "/d"), L7_NONE);
	assert_int_equal(find(entries, 3, "other.org", "/a"), L7_NONE);
}

static void an_empty_table_has_nothing(void **state)
{
	assert_int_equal(find(NULL, 0, "www.example.com", "/"), L7_NONE);
}

static void a_host_is_read_without_its_port(void **state)
{
	static const struct {
		const char *host, *name;
	} rows[] = {
		{ "a", "a" },  { "a:80", "a" },	     { "a.:80", "a" },
		{ "a.", "a" }, { "[::1]", "[::1]" }, { "[::1]:80", "[::1]" },
		{ "", "" },    { ".", "." },	     { ":80", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!str_eq(l7_host_name(str_of(rows[i].host)), str_of(rows[i].name)))
			fail_msg("%s", rows[i].host);
}

static void a_prefix_may_be_deep(void **state)
{
	static char deep[L7_PATH_MAX + 1], longer[L7_PATH_MAX + 2];
	struct l7_entry entries[] = { RULE("", "/"), RULE("", "/") };

	for (size_t i = 0; i < L7_PATH_MAX; i += 2)
		memcpy(deep + i, "/x", 2);
	memcpy(longer, deep, L7_PATH_MAX);
	entries[1].match.path = str_of(deep);
	assert_int_equal(find(entries, 2, "h", deep), 1);
	longer[L7_PATH_MAX] = '/';
	assert_int_equal(find(entries, 2, "h", longer), 1);
	longer[L7_PATH_MAX] = 'y';
	assert_int_equal(find(entries, 2, "h", longer), 0);
	memset(deep, '/', L7_PATH_MAX);
	assert_int_equal(find(entries, 2, "h", deep), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_specific_name_goes_first),
		cmocka_unit_test(a_name_without_a_rule_falls_through),
		cmocka_unit_test(an_empty_table_has_nothing),
		cmocka_unit_test(a_host_is_read_without_its_port),
		cmocka_unit_test(a_prefix_may_be_deep),
	};

	return cmocka_run_group_tests_name("core/l7/table", tests, NULL, NULL);
}
