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
#include "src/frontend/targets.h"

static void expect_names(char *const *items, size_t n, const char *const *names)
{
	struct targets t = { 0 };
	struct buf why = { 0 };

	assert_int_equal(targets_parse(items, n, &t, &why), 0);
	assert_int_equal(t.items.n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(t.items.items[i].name, names[i]);
	targets_free(&t);
	buf_free(&why);
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__ })
#define ITEMS(...) ((char *const[]){ __VA_ARGS__ })

static char a9090[] = "a.example.net:9090", b9090[] = "b:9090", a9091[] = "a.example.net:9091";
static char v6[] = "[2001:db8::1]:9090", named[] = "lon=192.0.2.1:9090", again[] = "lon=b:1";

static void a_name_is_the_host(void **state)
{
	expect_names(ITEMS(a9090, b9090, v6), 3, NAMES("a.example.net", "b", "2001:db8::1"));
}

static void two_of_one_host_have_their_ports_too(void **state)
{
	expect_names(ITEMS(a9090, b9090, a9091), 3,
		     NAMES("a.example.net:9090", "b", "a.example.net:9091"));
}

static void a_name_may_be_given(void **state)
{
	struct targets t = { 0 };
	struct buf why = { 0 };

	expect_names(ITEMS(named, a9090), 2, NAMES("lon", "a.example.net"));
	assert_int_equal(targets_parse(ITEMS(named), 1, &t, &why), 0);
	assert_string_equal(t.items.items[0].address, "192.0.2.1:9090");
	targets_free(&t);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const bad[] = { "",	     "host", ":9090", "host:0", "host:x",
					   "::1:80", "=a:1", "x=",    "[]:1",	"host:70000" };
	struct targets t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *item = (char *)(uintptr_t)bad[i];
		struct buf why = { 0 };

		assert_int_equal(targets_parse(&item, 1, &t, &why), -EINVAL);
		assert_true(why.n > 0);
		assert_int_equal(t.items.n, 0);
		buf_free(&why);
	}
}

static void no_two_have_one_name(void **state)
{
	struct targets t = { 0 };
	struct buf why = { 0 };

	assert_int_equal(targets_parse(ITEMS(named, again), 2, &t, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why), "two servers have the name lon");
	assert_int_equal(targets_parse(ITEMS(b9090, b9090), 2, &t, &why), -EINVAL);
	assert_int_equal(targets_parse(NULL, 0, &t, &why), -EINVAL);
	buf_free(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_the_host),
		cmocka_unit_test(two_of_one_host_have_their_ports_too),
		cmocka_unit_test(a_name_may_be_given),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(no_two_have_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
