/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/hosts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static bool allows(char *const *items, size_t n, const char *host)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct hosts h = { 0 };
	bool allowed;

	assert_int_equal(hosts_parse(items, n, &h, &why), 0);
	allowed = hosts_allow(&h, str_of(host));
	hosts_free(&h);
	return allowed;
}

static void addresses_and_localhost_need_no_flag(void **state)
{
	static const char *const good[] = { "127.0.0.1",     "127.0.0.1:8080", "[::1]",
					    "[::1]:8080",    "192.0.2.7:80",   "[2001:db8::7]:80",
					    "localhost",     "LocalHost:8080", "localhost.:8080",
					    "app.localhost", "localhost:" };
	static const char *const bad[] = { "evil.example",
					   "evil.example:8080",
					   "",
					   ":8080",
					   ".",
					   "127.0.0.1.evil.example",
					   "localhost.evil.example",
					   "evillocalhost",
					   "[::1",
					   "[evil.example]",
					   "127.0.0.1\\@evil.example",
					   "evil.example\t127.0.0.1" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!allows(NULL, 0, good[i]))
			fail_msg("'%s' is refused", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (allows(NULL, 0, bad[i]))
			fail_msg("'%s' is allowed", bad[i]);
}

static void names_and_domains_are_allowed_by_flag(void **state)
{
	char *items[] = { (char[]){ "Balancer" }, (char[]){ ".example.net" } };

	assert_true(allows(items, 2, "balancer:8080"));
	assert_true(allows(items, 2, "BALANCER."));
	assert_true(allows(items, 2, "a.b.Example.net"));
	assert_false(allows(items, 2, "example.net"));
	assert_false(allows(items, 2, "evilexample.net"));
	assert_false(allows(items, 2, "balancer.evil.example"));
	assert_true(allows((char *[]){ (char[]){ "*" } }, 1, "evil.example"));
}

static void our_own_name_is_added(void **state)
{
	struct hosts h = { 0 };

	hosts_add(&h, "lb1.example.net");
	hosts_add(&h, "");
	hosts_add(&h, ".net");
	hosts_add(&h, "(none)");
	assert_int_equal(h.names.n, 1);
	assert_true(hosts_allow(&h, STR("lb1.example.net:80")));
	assert_false(hosts_allow(&h, STR("x.net")));
	hosts_free(&h);
}

static void what_is_no_name_is_refused(void **state)
{
	static const char *const bad[] = { "", ".", "a b", "a:8080", "http://a", "a/b", "*.a" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(buf_free) struct buf why = { 0 };
		char text[16] = "";
		char *items[] = { text };
		struct hosts h = { .all = true };

		memcpy(text, bad[i], strlen(bad[i]));
		assert_int_equal(hosts_parse(items, 1, &h, &why), -EINVAL);
		assert_true(h.all);
		assert_non_null(strstr(buf_cstr(&why), "not of the form"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_and_localhost_need_no_flag),
		cmocka_unit_test(names_and_domains_are_allowed_by_flag),
		cmocka_unit_test(our_own_name_is_added),
		cmocka_unit_test(what_is_no_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
