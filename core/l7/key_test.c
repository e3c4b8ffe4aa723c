/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/key.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define FIELD(name, value)                                                                         \
	{                                                                                          \
		{ name, sizeof(name) - 1 },                                                        \
		{                                                                                  \
			value, sizeof(value) - 1                                                   \
		}                                                                                  \
	}

static void expect_cookie(const char *line, const char *name, const char *want)
{
	const struct field f = { STR("Cookie"), str_of(line) };
	struct str value = l7_cookie(&f, 1, str_of(name));

	if (!want) {
		assert_null(value.p);
		return;
	}
	assert_non_null(value.p);
	assert_true(str_eq(value, str_of(want)));
}

static void a_cookie_is_found_by_its_name(void **state)
{
	expect_cookie("a=1", "a", "1");
	expect_cookie("a=1; b=2; c=3", "b", "2");
	expect_cookie("a=1;b=2", "b", "2");
	expect_cookie(" a=1 ;\tb=2 ", "b", "2");
	expect_cookie("a=", "a", "");
	expect_cookie("a=\"quoted\"", "a", "\"quoted\"");
	expect_cookie("a=x=y==", "a", "x=y==");
	expect_cookie("a=1; a=2", "a", "1");
}

static void what_only_looks_like_a_cookie_is_not_found(void **state)
{
	expect_cookie("", "a", NULL);
	expect_cookie("a", "a", NULL);
	expect_cookie("a; b=a", "a", NULL);
	expect_cookie("ba=1; ab=2", "a", NULL);
	expect_cookie("A=1", "a", NULL);
	expect_cookie("=1; ;;", "a", NULL);
	expect_cookie("b=\"x; a=1\"", "c", NULL);
}

static void every_cookie_field_is_read(void **state)
{
	static const struct field fields[] = { FIELD("Host", "a=0"), FIELD("cookie", "b=1"),
					       FIELD("COOKIE", "c=2; a=3"),
					       FIELD("Cookie", "a=4") };

	assert_true(str_eq(l7_cookie(fields, ARRAY_SIZE(fields), STR("a")), STR("3")));
	assert_null(l7_cookie(fields, ARRAY_SIZE(fields), STR("d")).p);
	assert_null(l7_cookie(NULL, 0, STR("a")).p);
}

static void a_key_is_a_header_or_a_cookie(void **state)
{
	static const struct field fields[] = { FIELD("X-User", "alice"), FIELD("x-user", "bob"),
					       FIELD("Cookie", "X-User=carol"),
					       FIELD("X-Empty", "") };
	size_t n = ARRAY_SIZE(fields);

	assert_true(str_eq(l7_key_value(fields, n, L7_KEY_HEADER, STR("x-USER")), STR("alice")));
	assert_true(str_eq(l7_key_value(fields, n, L7_KEY_COOKIE, STR("X-User")), STR("carol")));
	assert_int_equal(l7_key_value(fields, n, L7_KEY_COOKIE, STR("x-user")).n, 0);
	assert_int_equal(l7_key_value(fields, n, L7_KEY_HEADER, STR("X-Empty")).n, 0);
	assert_int_equal(l7_key_value(fields, n, L7_KEY_HEADER, STR("X-Other")).n, 0);
	assert_int_equal(l7_key_value(fields, n, L7_KEY_SOURCE, STR("X-User")).n, 0);
}

/* They are stored in browsers, and compared between routers of different versions. */
static void hashes_never_change(void **state)
{
	struct addr a;

	assert_int_equal(addr_parse("192.0.2.1", &a), 0);
	assert_true(l7_key_hash(STR("alice")) == UINT64_C(0xfc36e6155db12ab0));
	assert_true(l7_key_hash_source(&a) == UINT64_C(0xa1fefab93dba24b7));
	assert_true(l7_key_of_server("pool", "10.0.0.1", 80) == UINT64_C(0x624686f591d9afcb));
}

static void servers_differ_by_pool_host_and_port(void **state)
{
	const uint64_t keys[] = {
		l7_key_of_server("a", "10.0.0.1", 80),	     l7_key_of_server("b", "10.0.0.1", 80),
		l7_key_of_server("a", "10.0.0.2", 80),	     l7_key_of_server("a", "10.0.0.1", 81),
		l7_key_of_server("a", "10.0.0.1", 80 + 256), l7_key_of_server("a1", "0.0.0.1", 80)
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (size_t k = 0; k < i; k++)
			assert_true(keys[i] != keys[k]);
}

static void a_key_can_be_written_and_read(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_C(0x0123456789abcdef) };
	static const char *const bad[] = { "",
					   "0",
					   "0123456789abcde",
					   "0123456789abcdef0",
					   "0123456789ABCDEF",
					   "0123456789abcdeg",
					   "-123456789abcdef",
					   "10.0.0.1:8080000" };
	char text[L7_KEY_STRLEN];
	uint64_t key = 7;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_true(l7_key_parse(str_of(l7_key_format(keys[i], text)), &key));
		assert_true(key == keys[i]);
	}
	assert_string_equal(l7_key_format(keys[3], text), "0123456789abcdef");
	key = 7;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(l7_key_parse(str_of(bad[i]), &key));
	assert_int_equal(key, 7);
}

static void a_key_is_given_as_cookie_or_header(void **state)
{
	static const struct l7_persistence ways[] = {
		{ .key = L7_KEY_COOKIE, .name = "maglev", .path = "/" },
		{ .key = L7_KEY_COOKIE, .name = "c", .path = "/a", .lifetime = 90 * NSEC_PER_SEC },
		{ .key = L7_KEY_HEADER, .name = "X-Session" },
	};
	_cleanup_(buf_free) struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		l7_key_give(&ways[i], 0xabc, &out);
	assert_string_equal(
		buf_cstr(&out),
		"set-cookie: maglev=0000000000000abc; Path=/; HttpOnly; SameSite=Lax\r\n"
		"set-cookie: c=0000000000000abc; Path=/a; Max-Age=90; HttpOnly; SameSite=Lax\r\n"
		"X-Session: 0000000000000abc\r\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cookie_is_found_by_its_name),
		cmocka_unit_test(what_only_looks_like_a_cookie_is_not_found),
		cmocka_unit_test(every_cookie_field_is_read),
		cmocka_unit_test(a_key_is_a_header_or_a_cookie),
		cmocka_unit_test(hashes_never_change),
		cmocka_unit_test(servers_differ_by_pool_host_and_port),
		cmocka_unit_test(a_key_can_be_written_and_read),
		cmocka_unit_test(a_key_is_given_as_cookie_or_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
