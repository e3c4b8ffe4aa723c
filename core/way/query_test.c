/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "core/way/way.h"

static const struct {
	const char *text;
	enum way_query_kind kind;
	const char *first, *second; /* address and protocol, host and path, or name */
	uint16_t port;
} good[] = {
	{ "198.51.100.10", WAY_ADDRESS, "198.51.100.10", NULL, 0 },
	{ "198.51.100.10:80", WAY_ADDRESS, "198.51.100.10", NULL, 80 },
	{ "198.51.100.10:53/udp", WAY_ADDRESS, "198.51.100.10", "udp", 53 },
	{ "2001:db8::1", WAY_ADDRESS, "2001:db8::1", NULL, 0 },
	{ "[2001:db8::1]", WAY_ADDRESS, "2001:db8::1", NULL, 0 },
	{ "[2001:db8::1]:443/tcp", WAY_ADDRESS, "2001:db8::1", "tcp", 443 },
	{ "www.example.com/", WAY_REQUEST, "www.example.com", "/", 0 },
	{ "www.example.com:8080/a/b?c=d", WAY_REQUEST, "www.example.com:8080", "/a/b?c=d", 0 },
	{ "http://www.example.com", WAY_REQUEST, "www.example.com", "/", 0 },
	{ "https://www.example.com/a", WAY_REQUEST, "www.example.com", "/a", 0 },
	{ "http://198.51.100.10/", WAY_REQUEST, "198.51.100.10", "/", 0 },
	{ "198.51.100.10/index", WAY_REQUEST, "198.51.100.10", "/index", 0 },
	{ "www", WAY_NAME, "www", NULL, 0 },
	{ "www.example.com", WAY_NAME, "www.example.com", NULL, 0 },
	{ "pod-1:8080", WAY_NAME, "pod-1:8080", NULL, 0 },
};

static void a_query_is_an_address_a_request_or_a_name(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char address[ADDR_STRLEN];
		struct way_query q;
		const char *why;

		assert_int_equal(way_query_parse(good[i].text, arena, &q, &why), 0);
		assert_int_equal(q.kind, good[i].kind);
		assert_string_equal(q.kind == WAY_ADDRESS   ? addr_format(&q.addr, address)
				    : q.kind == WAY_REQUEST ? q.host
							    : q.name,
				    good[i].first);
		assert_true(cstr_eq(q.kind == WAY_REQUEST ? q.path : q.protocol, good[i].second));
		assert_int_equal(q.port, good[i].port);
	}
}

static void what_is_none_of_them_is_refused(void **state)
{
	static const char *const bad[] = { "", "/", "/path", "http://", "a b", "www /", "a\tb" };
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct way_query q = { .name = "untouched" };
		const char *why = NULL;

		assert_true(way_query_parse(bad[i], arena, &q, &why) < 0);
		assert_string_equal(q.name, "untouched");
		assert_non_null(strstr(why, "198.51.100.10:80"));
	}
}

/* A wrong port or protocol makes it a host, whose path is what follows the slash. */
static void a_port_that_is_none_makes_no_address(void **state)
{
	static const char *const texts[] = { "198.51.100.10:0", "198.51.100.10:", "198.51.100.10:x",
					     "[2001:db8::1]80", "[2001:db8::1]:", "1.2.3" };
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct way_query q;
		const char *why;

		assert_int_equal(way_query_parse(texts[i], arena, &q, &why), 0);
		assert_int_equal(q.kind, WAY_NAME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_an_address_a_request_or_a_name),
		cmocka_unit_test(what_is_none_of_them_is_refused),
		cmocka_unit_test(a_port_that_is_none_makes_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
