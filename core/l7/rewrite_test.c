/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/rewrite.h"

static void a_prefix_is_replaced_by_segments(void **state)
{
	static const struct {
		const char *path, *prefix, *with, *result;
	} rows[] = {
		{ "/foo/bar", "/foo", "/xyz", "/xyz/bar" },
		{ "/foo/bar", "/foo", "/xyz/", "/xyz/bar" },
		{ "/foo/bar", "/foo/", "/xyz", "/xyz/bar" },
		{ "/foo/bar", "/foo/", "/xyz/", "/xyz/bar" },
		{ "/foo", "/foo", "/xyz", "/xyz" },
		{ "/foo/", "/foo", "/xyz", "/xyz/" },
		{ "/foo/bar", "/foo", "", "/bar" },
		{ "/foo/", "/foo", "", "/" },
		{ "/foo", "/foo", "", "/" },
		{ "/foo/", "/foo", "/", "/" },
		{ "/foo", "/foo", "/", "/" },
		{ "/foo", "/", "/xyz", "/xyz/foo" },
		{ "/", "/", "/xyz", "/xyz/" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct l7_rewrite w = { .edit = L7_PATH_PREFIX,
					      .path = str_of(rows[i].with) };
		_cleanup_(buf_free) struct buf out = { 0 };

		l7_rewrite_path(&w, str_of(rows[i].prefix), str_of(rows[i].path), &out);
		assert_string_equal(buf_cstr(&out), rows[i].result);
	}
}

static void a_path_is_replaced_or_kept(void **state)
{
	struct l7_rewrite w = { .edit = L7_PATH_REPLACED, .path = STR("/new") };
	_cleanup_(buf_free) struct buf out = { 0 };

	l7_rewrite_path(&w, STR("/a"), STR("/a/b"), &out);
	w.edit = L7_PATH_KEPT;
	l7_rewrite_path(&w, STR("/a"), STR("/a/b"), &out);
	assert_string_equal(buf_cstr(&out), "/new/a/b");
}

static void a_location_has_the_port_that_the_client_needs(void **state)
{
	static const struct {
		const char *to_scheme, *to_host;
		uint16_t to_port;
		const char *scheme, *host;
		uint16_t port;
		const char *result;
	} rows[] = {
		{ "", "", 0, "http", "a.org", 80, "http://a.org/p?q" },
		{ "", "", 0, "http", "a.org:8080", 8080, "http://a.org:8080/p?q" },
		{ "https", "", 0, "http", "a.org:8080", 8080, "https://a.org/p?q" },
		{ "https", "", 8443, "http", "a.org", 80, "https://a.org:8443/p?q" },
		{ "https", "", 443, "http", "a.org", 80, "https://a.org/p?q" },
		{ "http", "", 0, "https", "a.org", 443, "http://a.org/p?q" },
		{ "http", "", 80, "https", "a.org", 443, "http://a.org/p?q" },
		{ "", "b.org", 0, "https", "a.org", 443, "https://b.org/p?q" },
		{ "", "", 80, "https", "a.org", 443, "https://a.org:80/p?q" },
		{ "", "b.org", 0, "http", "[::1]:8080", 8080, "http://b.org:8080/p?q" },
		{ "", "", 0, "http", "[::1]:8080", 8080, "http://[::1]:8080/p?q" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct l7_redirect r = { .scheme = str_of(rows[i].to_scheme),
					       .port = rows[i].to_port,
					       .to = { .host = str_of(rows[i].to_host) } };
		const struct l7_place from = { .scheme = str_of(rows[i].scheme),
					       .host = str_of(rows[i].host),
					       .port = rows[i].port,
					       .path = STR("/p"),
					       .query = STR("q") };
		_cleanup_(buf_free) struct buf out = { 0 };

		l7_redirect_location(&r, STR("/"), &from, &out);
		assert_string_equal(buf_cstr(&out), rows[i].result);
	}
}

static void a_location_has_the_new_path(void **state)
{
	const struct l7_redirect r = { .to = { .edit = L7_PATH_PREFIX, .path = STR("/new") } };
	const struct l7_place from = {
		.scheme = STR("http"), .host = STR("a"), .port = 80, .path = STR("/old/x")
	};
	_cleanup_(buf_free) struct buf out = { 0 };

	l7_redirect_location(&r, STR("/old"), &from, &out);
	assert_string_equal(buf_cstr(&out), "http://a/new/x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prefix_is_replaced_by_segments),
		cmocka_unit_test(a_path_is_replaced_or_kept),
		cmocka_unit_test(a_location_has_the_port_that_the_client_needs),
		cmocka_unit_test(a_location_has_the_new_path),
	};

	return cmocka_run_group_tests_name("core/l7/rewrite", tests, NULL, NULL);
}
