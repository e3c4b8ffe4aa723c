/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct addr addr(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static void addresses_come_back_in_canonical_form(void **state)
{
	static const struct {
		const char *text, *canonical;
	} rows[] = {
		{ "192.0.2.1", "192.0.2.1" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "2001:0db8::0001", "2001:db8::1" },
		{ "::ffff:192.0.2.1", "::ffff:192.0.2.1" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};
	char buf[ADDR_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr a = addr(rows[i].text);

		assert_string_equal(addr_format(&a, buf), rows[i].canonical);
	}
}

static void every_number_of_an_ipv4_address_is_as_inet_ntop_has_it(void **state)
{
	char ours[ADDR_STRLEN], theirs[ADDR_STRLEN];

	for (unsigned n = 0; n < 256; n++) {
		struct addr a = { .family = AF_INET,
				  .bytes = { (uint8_t)n, (uint8_t)(n + 1), (uint8_t)(n * 7), 9 } };

		assert_non_null(inet_ntop(AF_INET, a.bytes, theirs, sizeof(theirs)));
		assert_string_equal(addr_format(&a, ours), theirs);
	}
}

static void what_is_not_one_plain_address_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"192.0.2",
		"192.0.2.256",
		"192.0.2.1 ",
		"192.0.02.1",
		"192.0.2.1:80",
		"192.0.2.0/24",
		"fe80::1%lo",
		"[::1]",
		"1:2:3:4:5:6",
		"::1::",
		"localhost",
		"-",
		"12345::",
		"0x7f.0.0.1",
		"127.1",
		"2001:db8::/32",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr a = addr("192.0.2.77"), before = a;

		assert_int_equal(addr_parse(rows[i], &a), -EINVAL);
		assert_memory_equal(&a, &before, sizeof(a));
	}
}

static void a_zeroed_address_is_none(void **state)
{
	struct addr none = { 0 }, some = addr("0.0.0.0");
	char buf[ADDR_STRLEN];

	assert_false(addr_is_set(&none));
	assert_true(addr_is_set(&some));
	assert_string_equal(addr_format(&none, buf), "-");
}

static void order_is_none_then_ipv4_then_ipv6_each_by_number(void **state)
{
	struct addr sorted[] = {
		{ 0 },
		addr("0.0.0.0"),
		addr("9.0.0.1"),
		addr("10.0.0.1"),
		addr("10.0.0.2"),
		addr("200.0.0.1"),
		addr("::"),
		addr("::1"),
		addr("2001:db8::9"),
		addr("2001:db8::10"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
			int cmp = addr_cmp(&sorted[i], &sorted[j]);

			assert_int_equal((cmp > 0) - (cmp < 0), (i > j) - (i < j));
		}
}

static void loopback_is_127_slash_8_and_colon_colon_1(void **state)
{
	static const struct {
		const char *text;
		bool loopback;
	} rows[] = {
		{ "127.0.0.1", true },	{ "127.255.255.254", true }, { "::1", true },
		{ "128.0.0.1", false }, { "0.0.0.0", false },	     { "::", false },
		{ "::2", false },	{ "7f00::1", false },
	};
	struct addr none = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr a = addr(rows[i].text);

		assert_int_equal(addr_is_loopback(&a), rows[i].loopback);
	}
	assert_false(addr_is_loopback(&none));
}

static void endpoints_come_back_as_they_were_written(void **state)
{
	static const char *const rows[] = {
		"192.0.2.1:80",
		"[2001:db8::1]:443",
		":9091",
		":0",
		"0.0.0.0:65535",
		"[::]:1",
		"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535",
	};
	char buf[ENDPOINT_STRLEN];
	struct endpoint e;

	for (size_t i = 0; i < ARRAY_SIZE(rows) - 1; i++) {
		assert_int_equal(endpoint_parse(rows[i], &e), 0);
		assert_string_equal(endpoint_format(&e, buf), rows[i]);
	}
	assert_int_equal(endpoint_parse(rows[ARRAY_SIZE(rows) - 1], &e), 0);
	assert_string_equal(endpoint_format(&e, buf),
			    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

static void what_is_not_an_endpoint_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"192.0.2.1",
		"192.0.2.1:",
		"192.0.2.1:65536",
		"192.0.2.1:-1",
		":http",
		"2001:db8::1:80",
		"[192.0.2.1]:1",
		"[]:80",
		"[::1]",
		"[::1]80",
		"[::1:80",
		"::1]:80",
		"localhost:80",
		"192.0.2.1 :80",
		"[::1%lo]:1",
		"*:80",
		": 80",
		"[[::1]]:80",
		"[11111111111111111111111111111111111111111111111111]:80",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct endpoint e = { .port = 7 };

		assert_int_equal(endpoint_parse(rows[i], &e), -EINVAL);
		assert_int_equal(e.port, 7);
	}
}

static void socket_addresses_there_and_back_are_the_same_endpoint(void **state)
{
	static const char *const rows[] = { "192.0.2.1:80", "[2001:db8::1]:443", "[::1]:0" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct endpoint e, back;
		struct sockaddr_storage ss;
		socklen_t len;

		assert_int_equal(endpoint_parse(rows[i], &e), 0);
		len = endpoint_to_sockaddr(&e, &ss);
		assert_int_equal(len, ss.ss_family == AF_INET ? sizeof(struct sockaddr_in)
							      : sizeof(struct sockaddr_in6));
		assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&ss, &back), 0);
		assert_memory_equal(&back.addr, &e.addr, sizeof(e.addr));
		assert_int_equal(back.port, e.port);
	}
}

static void any_address_listens_on_both_families(void **state)
{
	struct endpoint e = { .port = 9091 };
	struct sockaddr_storage ss;
	struct sockaddr_in6 in6;

	assert_int_equal(endpoint_to_sockaddr(&e, &ss), sizeof(in6));
	memcpy(&in6, &ss, sizeof(in6));
	assert_int_equal(in6.sin6_family, AF_INET6);
	assert_int_equal(in6.sin6_port, htons(9091));
	assert_true(IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr));
}

static void an_ipv4_peer_of_a_dual_stack_socket_is_an_ipv4_endpoint(void **state)
{
	struct endpoint mapped = { addr("::ffff:127.0.0.1"), 80 }, e;
	struct sockaddr_storage ss;
	char buf[ENDPOINT_STRLEN];

	endpoint_to_sockaddr(&mapped, &ss);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&ss, &e), 0);
	assert_string_equal(endpoint_format(&e, buf), "127.0.0.1:80");
	assert_true(addr_is_loopback(&e.addr));
}

static void other_families_are_refused(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct endpoint e = { .port = 7 };

	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&un, &e), -EAFNOSUPPORT);
	assert_int_equal(e.port, 7);
}

static bool is_in(const char *text, const char *network, unsigned bits)
{
	struct addr a, n;

	assert_int_equal(addr_parse(text, &a), 0);
	assert_int_equal(addr_parse(network, &n), 0);
	return addr_is_in(&a, &n, bits);
}

static void a_network_is_its_first_bits(void **state)
{
	assert_true(is_in("10.1.2.3", "10.0.0.0", 8));
	assert_false(is_in("11.1.2.3", "10.0.0.0", 8));
	assert_true(is_in("192.0.2.127", "192.0.2.64", 26));
	assert_false(is_in("192.0.2.128", "192.0.2.64", 26));
	assert_true(is_in("192.0.2.1", "192.0.2.1", 32));
	assert_false(is_in("192.0.2.0", "192.0.2.1", 32));
	assert_true(is_in("203.0.113.1", "10.9.8.7", 0));
	assert_true(is_in("2001:db8::1", "2001:db8::", 127));
	assert_false(is_in("2001:db8::2", "2001:db8::1", 127));
	assert_true(is_in("2001:db8::1", "2001:db8::1", 128));
	assert_false(is_in("::1", "0.0.0.1", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_network_is_its_first_bits),
		cmocka_unit_test(addresses_come_back_in_canonical_form),
		cmocka_unit_test(every_number_of_an_ipv4_address_is_as_inet_ntop_has_it),
		cmocka_unit_test(what_is_not_one_plain_address_is_refused),
		cmocka_unit_test(a_zeroed_address_is_none),
		cmocka_unit_test(order_is_none_then_ipv4_then_ipv6_each_by_number),
		cmocka_unit_test(loopback_is_127_slash_8_and_colon_colon_1),
		cmocka_unit_test(endpoints_come_back_as_they_were_written),
		cmocka_unit_test(what_is_not_an_endpoint_is_refused),
		cmocka_unit_test(socket_addresses_there_and_back_are_the_same_endpoint),
		cmocka_unit_test(any_address_listens_on_both_families),
		cmocka_unit_test(an_ipv4_peer_of_a_dual_stack_socket_is_an_ipv4_endpoint),
		cmocka_unit_test(other_families_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
