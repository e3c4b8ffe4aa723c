/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/proxies.h"

static char loopback[] = "127.0.0.1", inside[] = "10.8.0.0/13", six[] = "2001:db8:1::/47";
static char *const trusted[] = { loopback, inside, six };

typedef struct addr (*client_fn)(const struct proxies *p, const struct addr *peer,
				 const struct field *fields, size_t n);

/* The client of a request from peer with these header lines. */
static const char *client_by(client_fn find, const char *peer, const char *lines)
{
	static char shown[ADDR_STRLEN];
	struct field fields[16];
	struct str rest = str_of(lines), line;
	struct proxies p = { 0 };
	struct buf why = { 0 };
	struct addr from, whose;
	size_t n = 0;

	while (rest.n && str_cut(&rest, '\r', &line)) {
		rest = (struct str){ rest.p + 1, rest.n - 1 }; /* LF */
		fields[n].value = line;
		str_cut(&fields[n].value, ':', &fields[n].name);
		fields[n].value = str_trim(fields[n].value);
		n++;
	}
	assert_int_equal(addr_parse(peer, &from), 0);
	assert_int_equal(proxies_parse(trusted, ARRAY_SIZE(trusted), &p, &why), 0);
	whose = find(&p, &from, fields, n);
	proxies_free(&p);
	return addr_format(&whose, shown);
}

static const char *client(const char *peer, const char *lines)
{
	return client_by(proxies_client, peer, lines);
}

static void nobody_else_is_believed(void **state)
{
	static const char line[] = "X-Forwarded-For: 192.0.2.1\r\n";

	assert_string_equal(client("198.51.100.7", line), "198.51.100.7");
	assert_string_equal(client("127.0.0.2", line), "127.0.0.2");
	assert_string_equal(client("::1", line), "::1");
	assert_string_equal(client("127.0.0.1", line), "192.0.2.1");
	assert_string_equal(client("127.0.0.1", ""), "127.0.0.1");
}

static void a_prefix_is_as_long_as_it_says(void **state)
{
	static const char line[] = "X-Forwarded-For: 192.0.2.1\r\n";

	assert_string_equal(client("10.15.255.255", line), "192.0.2.1");
	assert_string_equal(client("10.16.0.0", line), "10.16.0.0");
	assert_string_equal(client("10.7.255.255", line), "10.7.255.255");
	assert_string_equal(client("2001:db8:1:ffff::1", line), "192.0.2.1");
	assert_string_equal(client("2001:db8:2::", line), "2001:db8:2::");
}

/* Entries to the left of the first untrusted address may be forged. */
static void the_rightmost_stranger_is_the_client(void **state)
{
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n"),
			    "192.0.2.1");
	assert_string_equal(client("127.0.0.1",
				   "X-Forwarded-For: 6.6.6.6, 192.0.2.1 ,10.8.0.1\r\n"),
			    "192.0.2.1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 6.6.6.6\r\nVia: x\r\n"
						"x-forwarded-for: 192.0.2.1\r\n"),
			    "192.0.2.1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 192.0.2.1\r\n"
						"X-Forwarded-For: 10.8.0.1\r\n"),
			    "192.0.2.1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 10.8.0.1, 10.8.0.2\r\n"),
			    "10.8.0.1");
}

static void an_entry_that_is_no_address_ends_the_way(void **state)
{
	static const char *const lines[] = {
		"X-Forwarded-For: unknown\r\n",
		"X-Forwarded-For: 192.0.2.1, \r\n",
		"X-Forwarded-For: 192.0.2.1,\r\n",
		"X-Forwarded-For: 192.0.2.1, :80\r\n",
		"X-Forwarded-For: 192.0.2.1, 1111:1111:1111:1111:1111:1111:1111:1111:1111:11\r\n",
		"X-Forwarded-For:\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_string_equal(client("127.0.0.1", lines[i]), "127.0.0.1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 192.0.2.1, _x, 10.8.0.1\r\n"),
			    "10.8.0.1");
}

static void addresses_come_in_several_forms(void **state)
{
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 2001:db8::1\r\n"), "2001:db8::1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: [2001:db8::1]:443\r\n"),
			    "2001:db8::1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: 192.0.2.1:443\r\n"), "192.0.2.1");
	assert_string_equal(client("127.0.0.1", "X-Forwarded-For: ::ffff:192.0.2.1\r\n"),
			    "192.0.2.1");
}

static void what_is_no_prefix_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	     "x",	    "10.0.0.0/33",  "::/129",
		"10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "localhost"
	};
	struct proxies p = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *items[] = { loopback, (char *)(uintptr_t)bad[i] };
		struct buf why = { 0 };

		assert_int_equal(proxies_parse(items, 2, &p, &why), -EINVAL);
		assert_non_null(strstr(buf_cstr(&why), "ADDR/LEN"));
		assert_int_equal(p.n, 0);
		buf_free(&why);
	}
}

static const char *forwarded(const char *lines)
{
	return client_by(proxies_client_forwarded, "127.0.0.1", lines);
}

/* RFC 7239, sections 4 and 6 */
static void forwarded_has_nodes_in_elements(void **state)
{
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1;proto=http;by=10.0.0.1\r\n"),
			    "192.0.2.1");
	assert_string_equal(forwarded("forwarded: proto=https; FOR=\"192.0.2.1:4711\"\r\n"),
			    "192.0.2.1");
	assert_string_equal(forwarded("Forwarded: for=\"[2001:db8:cafe::17]:4711\"\r\n"),
			    "2001:db8:cafe::17");
	assert_string_equal(forwarded("Forwarded: For=\"[2001:db8:cafe::17]\"\r\n"),
			    "2001:db8:cafe::17");
	assert_string_equal(forwarded("Forwarded: for=6.6.6.6, for=192.0.2.1, for=10.8.0.1\r\n"),
			    "192.0.2.1");
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1\r\nForwarded: for=10.8.0.1\r\n"),
			    "192.0.2.1");
	/* a comma in quotes separates nothing */
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1;host=\"a, for=6.6.6.6\"\r\n"),
			    "192.0.2.1");
	assert_string_equal(forwarded("Forwarded: for=6.6.6.6;host=\"a\\\", \", for=192.0.2.1\r\n"),
			    "192.0.2.1");
}

static void a_node_that_is_no_address_ends_the_search(void **state)
{
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1, for=unknown\r\n"), "127.0.0.1");
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1, for=_hidden\r\n"), "127.0.0.1");
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1, proto=http\r\n"), "127.0.0.1");
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1, for=10.8.0.1, for=\r\n"),
			    "127.0.0.1");
	assert_string_equal(forwarded("Forwarded: for=192.0.2.1, \"\r\n"), "127.0.0.1");
	assert_string_equal(forwarded("X-Forwarded-For: 192.0.2.1\r\n"), "127.0.0.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forwarded_has_nodes_in_elements),
		cmocka_unit_test(a_node_that_is_no_address_ends_the_search),
		cmocka_unit_test(nobody_else_is_believed),
		cmocka_unit_test(a_prefix_is_as_long_as_it_says),
		cmocka_unit_test(the_rightmost_stranger_is_the_client),
		cmocka_unit_test(an_entry_that_is_no_address_ends_the_way),
		cmocka_unit_test(addresses_come_in_several_forms),
		cmocka_unit_test(what_is_no_prefix_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
