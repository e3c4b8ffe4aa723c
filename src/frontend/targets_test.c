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
	static const char *const bad[] = {
		"",
		"host",
		":9090",
		"host:0",
		"host:x",
		"::1:80",
		"=a:1",
		"x=",
		"[]:1",
		"host:70000",
		"a b:1",
		" a:1",
		"a/b:1",
		"a\nb:1",
		"a\x7f:1",
		"[::1%lo]:1",
		"[host]:1",
		"[::1\n]:1",
		"x=a=b:1",
		"x y=a:1",
		"x/y=a:1",
		"x,y=a:1",
		"x\ty=a:1",
		"x\x1b[2J=a:1",
		"\x7f=a:1",
		"\xff=a:1",
		"\xc2\x85=a:1",
		"\xc2\xa0=a:1",
		"m\xc3\xbcnchen:1",
		"[1.2.3.4]:1",
	};
	struct targets t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *item = (char *)(uintptr_t)bad[i];
		struct buf why = { 0 };

		assert_int_equal(targets_parse(&item, 1, &t, &why), -EINVAL);
		assert_true(why.n > 0);
		for (size_t k = 0; k < why.n; k++)
			assert_false((unsigned char)why.p[k] < ' ' || why.p[k] == 0x7f);
		assert_int_equal(t.items.n, 0);
		buf_free(&why);
	}
}

static void the_item_that_is_wrong_is_named(void **state)
{
	static char bad[] = "x\x1b=a:1";
	struct targets t = { 0 };
	struct buf why = { 0 };

	assert_int_equal(targets_parse(ITEMS(a9090, bad, b9090), 3, &t, &why), -EINVAL);
	assert_int_equal(strncmp(buf_cstr(&why), "x?=a:1: a name has ", 19), 0);
	buf_free(&why);
}

static void a_name_has_up_to_64_characters(void **state)
{
	static char item[64 * 2 + sizeof("=a:1") + 2];
	struct targets t = { 0 };
	struct buf why = { 0 };

	for (size_t i = 0; i < 64; i++)
		memcpy(item + 2 * i, "\xc3\xbc", 2);
	memcpy(item + 128, "=a:1", 5);
	assert_int_equal(targets_parse(ITEMS(item), 1, &t, &why), 0);
	targets_free(&t);
	memcpy(item + 128, "x=a:1", 6);
	assert_int_equal(targets_parse(ITEMS(item), 1, &t, &why), -EINVAL);
	buf_free(&why);
}

static void case_tells_no_hosts_apart(void **state)
{
	static char small[] = "a:1", large[] = "A:2", same[] = "A:1", lon[] = "lon=a:1",
		    loud[] = "LON=b:1";
	struct targets t = { 0 };
	struct buf why = { 0 };

	expect_names(ITEMS(small, large), 2, NAMES("a:1", "A:2"));
	assert_int_equal(targets_parse(ITEMS(small, same), 2, &t, &why), -EINVAL);
	assert_int_equal(targets_parse(ITEMS(lon, loud), 2, &t, &why), -EINVAL);
	buf_free(&why);
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
		cmocka_unit_test(the_item_that_is_wrong_is_named),
		cmocka_unit_test(a_name_has_up_to_64_characters),
		cmocka_unit_test(case_tells_no_hosts_apart),
		cmocka_unit_test(no_two_have_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
