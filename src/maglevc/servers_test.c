/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/servers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* The names of a flag, separated by blanks; empty if it is refused. */
static void check(const char *text, const char *expected)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf got = { 0 };
	struct servers s = { 0 };

	if (servers_split(text, 9090, arena, &s) < 0)
		assert_null(s.names);
	for (size_t i = 0; s.names && i < s.n; i++)
		buf_printf(&got, "%s%s", i ? " " : "", s.names[i]);
	assert_string_equal(buf_cstr(&got), expected);
}

static void a_list_is_split_at_its_commas(void **state)
{
	check("lb1:1,lb2:2", "lb1:1 lb2:2");
	check(" lb1:1 , ,lb2:2,", "lb1:1 lb2:2");
	check("lb1:1,lb2:2,lb1:1", "lb1:1 lb2:2");
}

static void a_name_without_a_port_gets_the_default(void **state)
{
	check("lb1", "lb1:9090");
	check("192.0.2.1,lb2:1", "192.0.2.1:9090 lb2:1");
	check("lb1,lb1:9090", "lb1:9090");
	check("[2001:db8::1]", "[2001:db8::1]:9090");
	check("[2001:db8::1]:1", "[2001:db8::1]:1");
	check("2001:db8::1", "[2001:db8::1]:9090");
}

/* They are refused when a connection is made, with a complaint that names them. */
static void what_is_no_address_stays_as_it_is(void **state)
{
	check("::::", "::::");
	check("lb1:x", "lb1:x");
	check("[", "[");
}

static void a_list_without_a_name_is_refused(void **state)
{
	check("", "");
	check(" , ", "");
}

static void too_many_are_refused(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct servers s;

	for (unsigned i = 0; i < SERVERS_MAX; i++)
		buf_printf(&text, "lb%u,", i);
	assert_int_equal(servers_split(buf_cstr(&text), 1, arena, &s), 0);
	buf_adds(&text, "more");
	assert_int_equal(servers_split(buf_cstr(&text), 1, arena, &s), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_split_at_its_commas),
		cmocka_unit_test(a_name_without_a_port_gets_the_default),
		cmocka_unit_test(what_is_no_address_stays_as_it_is),
		cmocka_unit_test(a_list_without_a_name_is_refused),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
