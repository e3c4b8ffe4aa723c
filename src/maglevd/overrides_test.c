/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the file; what it does is told by tests/e2e/test_overrides.py. */
#include "src/maglevd/overrides.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void a_list_is_read_as_it_was_written(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 }, again = { 0 };
	struct who alice = { .name = "alice via dash" };
	struct l4_kept items[] = {
		{ .kind = L4_KEPT_PAUSED,
		  .backend = "a",
		  .reason = "a \"new\" disk\n",
		  .at = 10,
		  .until = INT64_MAX,
		  .who = &alice },
		{ .kind = L4_KEPT_SCHEDULED, .backend = "a", .reason = "", .at = 1, .from = 20 },
		{ .kind = L4_KEPT_WEIGHT,
		  .backend = "b",
		  .frontend = "www",
		  .pool = "p",
		  .weight = 7,
		  .reason = "" },
	};
	struct errs errors = { .arena = arena };
	struct l4_kept_list list = { items, ARRAY_SIZE(items) }, read = { 0 };

	assert_int_equal(addr_parse("2001:db8::7", &alice.address), 0);
	overrides_format(&list, &text);
	assert_int_equal(overrides_parse((struct str){ text.p, text.n }, arena, &read, &errors), 0);
	assert_int_equal(read.n, 3);
	assert_string_equal(read.items[0].reason, items[0].reason);
	assert_string_equal(read.items[0].who->name, "alice via dash");
	assert_null(read.items[1].who);
	overrides_format(&read, &again);
	assert_string_equal(buf_cstr(&again), buf_cstr(&text));
}

static void nothing_is_a_list_too(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct l4_kept_list read = { NULL, 9 };
	struct errs errors = { .arena = arena };

	overrides_format(&(struct l4_kept_list){ 0 }, &text);
	assert_int_equal(overrides_parse((struct str){ text.p, text.n }, arena, &read, &errors), 0);
	assert_int_equal(read.n, 0);
}

/* Each mistake is named with its place. */
static void mistakes_are_named(void **state)
{
#define REST "\"reason\":\"\",\"operator\":\"\",\"operator_address\":\"\",\"at\":1,\"until\":0"
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "{\"overrides\": [", "f:1:" },
		{ "{}", "overrides" },
		{ "{\"overrides\": [{\"act\": \"eaten\"}]}",
		  "f:1:24: overrides[0].act: \"eaten\"" },
		{ "{\"overrides\": [{\"act\": \"paused\"," REST "}]}", "backend" },
		{ "{\"overrides\": [{\"act\": \"scheduled\",\"backend\":\"a\"," REST "}]}",
		  "from" },
		{ "{\"overrides\": [{\"act\": \"weight\",\"backend\":\"a\",\"frontend\":\"f\","
		  "\"pool\":\"p\",\"weight\":101," REST "}]}",
		  "weight" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_freep) struct arena *arena = arena_new();
		_cleanup_(buf_free) struct buf text = { 0 };
		struct errs errors = { .arena = arena };
		struct l4_kept_list read = { NULL, 9 };

		assert_true(overrides_parse(str_of(rows[i].text), arena, &read, &errors) < 0);
		assert_int_equal(read.n, 9);
		errs_print(&errors, "f", &text);
		if (!strstr(buf_cstr(&text), rows[i].error))
			fail_msg("%s: %s", rows[i].text, buf_cstr(&text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_read_as_it_was_written),
		cmocka_unit_test(nothing_is_a_list_too),
		cmocka_unit_test(mistakes_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
