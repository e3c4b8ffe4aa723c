/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/cors.h"

#define S(text)                                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static const struct str any[] = { S("*") };
static const struct str origins[] = { S("https://www.foo.com"), S("https://*.bar.com"),
				      S("http://a.org:8080") };
static const struct str methods[] = { S("GET"), S("PUT") };
static const struct str headers[] = { S("x-one"), S("x-two") };
static const struct str expose[] = { S("x-out") };

static const struct l7_cors listed = { origins, 3, methods, headers, expose, 2, 2, 1, false, 60 };
static const struct l7_cors trusted = { origins, 3, methods, headers, expose, 2, 2, 1, true, 60 };
static const struct l7_cors open_to_all = { any, 1, any, any, any, 1, 1, 1, false, 5 };
static const struct l7_cors open_with_cookies = { any, 1, any, any, any, 1, 1, 1, true, 5 };

static void origins_are_compared_as_addresses(void **state)
{
	static const struct {
		const char *origin;
		bool allowed;
	} rows[] = {
		{ "https://www.foo.com", true },
		{ "https://www.foo.com:443", true },
		{ "http://www.foo.com", false },
		{ "https://www.foo.com:444", false },
		{ "https://WWW.foo.com", true },
		{ "https://foo.com", false },
		{ "https://x.bar.com", true },
		{ "https://x.y.bar.com", true },
		{ "https://bar.com", false },
		{ "https://evilbar.com", false },
		{ "https://.bar.com", false },
		{ "http://a.org:8080", true },
		{ "http://a.org", false },
		{ "null", false },
		{ "", false },
		{ "https://", false },
		{ "https://www.foo.com:x", false },
		{ "https://www.foo.com:", false },
		{ "://www.foo.com", false },
		{ "https://x.bar.com.evil.org", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (l7_cors_allows(&listed, str_of(rows[i].origin)) != rows[i].allowed)
			fail_msg("%s", rows[i].origin);
	assert_true(l7_cors_allows(&open_to_all, STR("null")));
}

static void expect(const struct l7_cors *c, const struct l7_cors_request *r, const char *want)
{
	_cleanup_(buf_free) struct buf scratch = { 0 }, text = { 0 };
	struct field fields[L7_CORS_FIELDS];
	size_t n = l7_cors_fields(c, r, &scratch, fields);

	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%.*s: %.*s\n", (int)fields[i].name.n, fields[i].name.p,
			   (int)fields[i].value.n, fields[i].value.p);
	assert_string_equal(buf_cstr(&text), want);
}

static const struct l7_cors_request preflight = { S("OPTIONS"), S("https://x.bar.com"), S("PUT"),
						  S("x-a, x-b") };
static const struct l7_cors_request actual = { S("GET"), S("https://x.bar.com"), { 0 }, { 0 } };
static const struct l7_cors_request stranger = {
	S("OPTIONS"), S("https://evil.org"), S("PUT"), { 0 }
};

static void a_preflight_is_told_what_is_allowed(void **state)
{
	assert_true(l7_cors_is_preflight(&preflight));
	expect(&listed, &preflight,
	       "access-control-allow-origin: https://x.bar.com\n"
	       "access-control-allow-methods: GET, PUT\n"
	       "access-control-allow-headers: x-one, x-two\n"
	       "access-control-max-age: 60\n"
	       "access-control-expose-headers: x-out\n"
	       "vary: origin\n");
	expect(&trusted, &preflight,
	       "access-control-allow-origin: https://x.bar.com\n"
	       "access-control-allow-credentials: true\n"
	       "access-control-allow-methods: GET, PUT\n"
	       "access-control-allow-headers: x-one, x-two\n"
	       "access-control-max-age: 60\n"
	       "access-control-expose-headers: x-out\n"
	       "vary: origin\n");
}

static void wildcards_repeat_what_was_asked_for(void **state)
{
	expect(&open_to_all, &preflight,
	       "access-control-allow-origin: *\n"
	       "access-control-allow-methods: PUT\n"
	       "access-control-allow-headers: x-a, x-b\n"
	       "access-control-max-age: 5\n"
	       "access-control-expose-headers: *\n");
	expect(&open_with_cookies, &preflight,
	       "access-control-allow-origin: https://x.bar.com\n"
	       "access-control-allow-credentials: true\n"
	       "access-control-allow-methods: PUT\n"
	       "access-control-allow-headers: x-a, x-b\n"
	       "access-control-max-age: 5\n"
	       "vary: origin\n");
}

static void an_actual_request_is_told_what_it_may_read(void **state)
{
	assert_false(l7_cors_is_preflight(&actual));
	expect(&listed, &actual,
	       "access-control-allow-origin: https://x.bar.com\n"
	       "access-control-expose-headers: x-out\n"
	       "vary: origin\n");
	expect(&open_to_all, &actual,
	       "access-control-allow-origin: *\n"
	       "access-control-expose-headers: *\n");
	expect(&open_with_cookies, &actual,
	       "access-control-allow-origin: https://x.bar.com\n"
	       "access-control-allow-credentials: true\n"
	       "vary: origin\n");
}

static void a_stranger_is_told_nothing(void **state)
{
	expect(&listed, &stranger, "");
	expect(&trusted, &(struct l7_cors_request){ .method = S("GET") }, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins_are_compared_as_addresses),
		cmocka_unit_test(a_preflight_is_told_what_is_allowed),
		cmocka_unit_test(wildcards_repeat_what_was_asked_for),
		cmocka_unit_test(an_actual_request_is_told_what_it_may_read),
		cmocka_unit_test(a_stranger_is_told_nothing),
	};

	return cmocka_run_group_tests_name("core/l7/cors", tests, NULL, NULL);
}
