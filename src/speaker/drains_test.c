/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/drains.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static void what_was_written_is_read(void **state)
{
	const struct drain list[] = {
		{ "www",
		  address("198.51.100.10"),
		  1767225600000000001,
		  "a \"new\" disk\n\xc3\xa9",
		  { "alice via dash", address("192.0.2.7") } },
		{ "v6", address("2001:db8::1"), 5, "", { .name = "" } },
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = arena };
	const struct drain *got = NULL;
	size_t n = 0;

	drains_format(list, ARRAY_SIZE(list), &text);
	assert_int_equal(drains_parse((struct str){ text.p, text.n }, arena, &got, &n, &errors), 0);
	assert_int_equal(n, ARRAY_SIZE(list));
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		assert_string_equal(got[i].vip, list[i].vip);
		assert_int_equal(addr_cmp(&got[i].address, &list[i].address), 0);
		assert_int_equal(got[i].at, list[i].at);
		assert_string_equal(got[i].reason, list[i].reason);
		assert_string_equal(got[i].who.name, list[i].who.name);
		assert_int_equal(addr_cmp(&got[i].who.address, &list[i].who.address), 0);
	}
}

static void no_drain_is_a_file_too(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = arena };
	const struct drain *got;
	size_t n = 7;

	drains_format(NULL, 0, &text);
	assert_string_equal(buf_cstr(&text), "{\n  \"drains\": []\n}\n");
	assert_int_equal(drains_parse(str_of(buf_cstr(&text)), arena, &got, &n, &errors), 0);
	assert_int_equal(n, 0);
}

static void other_texts_are_refused_with_a_complaint(void **state)
{
#define ONE(drain) "{\"drains\": [" drain "]}"
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"drains\": 1}",
		ONE("1"),
		ONE("{\"vip\": \"a\", \"address\": \"1.2.3.4\", \"reason\": \"\"}"),
		ONE("{\"vip\": \"a\", \"address\": \"x\", \"reason\": \"\", \"at\": 1}"),
		ONE("{\"vip\": 1, \"address\": \"1.2.3.4\", \"reason\": \"\", \"at\": 1}"),
		ONE("{\"vip\": \"a\", \"address\": \"1.2.3.4\", \"reason\": \"\", \"at\": 0}"),
	};
#undef ONE

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(arena_freep) struct arena *arena = arena_new();
		struct errs errors = { .arena = arena };
		const struct drain *got = NULL;
		size_t n = 7;

		assert_int_equal(drains_parse(str_of(texts[i]), arena, &got, &n, &errors), -EINVAL);
		assert_true(errors.n > 0);
		assert_null(got);
		assert_int_equal(n, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(no_drain_is_a_file_too),
		cmocka_unit_test(other_texts_are_refused_with_a_complaint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
