/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/dns_files.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

static const char *format(const struct endpoint *e)
{
	static char text[ENDPOINT_STRLEN];

	return endpoint_format(e, text);
}

static void an_empty_file_means_this_machine(void **state)
{
	struct dns_settings s;

	dns_settings_parse(STR(""), &s);
	assert_int_equal(s.n_servers, 1);
	assert_string_equal(format(&s.servers[0]), "127.0.0.1:53");
	assert_int_equal(s.n_search, 0);
	assert_int_equal(s.ndots, 1);
	assert_int_equal(s.attempts, 2);
	assert_int_equal(s.timeout, 2 * NSEC_PER_SEC);
}

static void all_that_is_known_is_read(void **state)
{
	struct dns_settings s;

	dns_settings_parse(
		STR("# a comment\n; nameserver 192.0.2.9\n"
		    "nameserver\t192.0.2.1\nnameserver fe80::1%eth0\r\n"
		    "nameserver 2001:db8::1 \nnameserver 192.0.2.3\nnameserver 192.0.2.4\n"
		    "domain example.org\nsearch a.example  b.example\n"
		    "options rotate ndots:5 timeout:7 attempts:0 ndots:x edns0\n"
		    "sortlist 1\nnameserver"),
		&s);
	assert_int_equal(s.n_servers, 3);
	assert_string_equal(format(&s.servers[0]), "192.0.2.1:53");
	assert_string_equal(format(&s.servers[1]), "[2001:db8::1]:53");
	assert_string_equal(format(&s.servers[2]), "192.0.2.3:53");
	assert_int_equal(s.n_search, 2);
	assert_string_equal(s.search[0], "a.example");
	assert_string_equal(s.search[1], "b.example");
	assert_int_equal(s.ndots, 5);
	assert_int_equal(s.attempts, 2);
	assert_int_equal(s.timeout, 7 * NSEC_PER_SEC);
}

static void numbers_have_bounds(void **state)
{
	struct dns_settings s;

	dns_settings_parse(STR("options ndots:99 timeout:9999 attempts:99\nsearch .\n"), &s);
	assert_int_equal(s.ndots, 15);
	assert_int_equal(s.attempts, 5);
	assert_int_equal(s.timeout, 30 * NSEC_PER_SEC);
	assert_int_equal(s.n_search, 0);
}

static void hosts_are_found_by_every_name(void **state)
{
	const struct str text = STR("127.0.0.1 localhost\n"
				    "::1\tlocalhost ip6-localhost\n"
				    "192.0.2.1 one.example One # two.example\n"
				    "#192.0.2.2 one\n"
				    "nonsense one\n192.0.2.3\n192.0.2.4 one");
	struct addr found[2];
	char name[ADDR_STRLEN];

	assert_int_equal(dns_hosts_find(text, "localhost", found, 2), 2);
	assert_string_equal(addr_format(&found[0], name), "127.0.0.1");
	assert_string_equal(addr_format(&found[1], name), "::1");
	assert_int_equal(dns_hosts_find(text, "ONE.", found, 2), 2);
	assert_string_equal(addr_format(&found[1], name), "192.0.2.4");
	assert_int_equal(dns_hosts_find(text, "one", found, 1), 1);
	assert_int_equal(dns_hosts_find(text, "two.example", found, 2), 0);
	assert_int_equal(dns_hosts_find(text, "on", found, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_means_this_machine),
		cmocka_unit_test(all_that_is_known_is_read),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(hosts_are_found_by_every_name),
	};

	return cmocka_run_group_tests_name("lib/net/dns_files", tests, NULL, NULL);
}
