/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define ITEMS(...)                                                                                 \
	((struct l7_items){ (const struct l7_item[]){ __VA_ARGS__ },                               \
			    sizeof((const struct l7_item[]){ __VA_ARGS__ }) /                      \
				    sizeof(struct l7_item) })

static void each_name_is_in_one_list(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_items before = ITEMS({ "a", 1 }, { "b", 2 }, { "c", 3 }, { "d", 4 });
	struct l7_items after = ITEMS({ "a", 1 }, { "x", 9 }, { "c", 5 }, { "d", 4 });
	struct l7_change c = l7_change_between(before, after, arena);

	assert_int_equal(c.added.n, 1);
	assert_string_equal(c.added.names[0], "x");
	assert_int_equal(c.removed.n, 1);
	assert_string_equal(c.removed.names[0], "b");
	assert_int_equal(c.changed.n, 1);
	assert_string_equal(c.changed.names[0], "c");
	assert_false(c.moved);
}

static void the_same_lists_differ_in_nothing(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_items list = ITEMS({ "a", 1 }, { "b", 2 });
	struct l7_change c = l7_change_between(list, list, arena);

	assert_int_equal(c.added.n + c.removed.n + c.changed.n, 0);
	assert_false(c.moved);
	c = l7_change_between((struct l7_items){ 0 }, list, arena);
	assert_int_equal(c.added.n, 2);
	c = l7_change_between(list, (struct l7_items){ 0 }, arena);
	assert_int_equal(c.removed.n, 2);
}

static void another_order_is_a_change(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_items before = ITEMS({ "a", 1 }, { "b", 2 }, { "c", 3 });

	assert_true(l7_change_between(before, ITEMS({ "b", 2 }, { "a", 1 }), arena).moved);
	assert_false(l7_change_between(before, ITEMS({ "a", 1 }, { "c", 3 }), arena).moved);
	assert_false(
		l7_change_between(before, ITEMS({ "x", 1 }, { "a", 1 }, { "b", 2 }), arena).moved);
}

static void lists_are_bounded_and_counts_are_not(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_item items[L7_CHANGE_NAMES + 7];
	char names[L7_CHANGE_NAMES + 7][8];
	struct l7_change c;

	for (size_t i = 0; i < L7_CHANGE_NAMES + 7; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		items[i] = (struct l7_item){ names[i], i };
	}
	c = l7_change_between((struct l7_items){ 0 },
			      (struct l7_items){ items, L7_CHANGE_NAMES + 7 }, arena);
	assert_int_equal(c.added.n, L7_CHANGE_NAMES + 7);
	assert_int_equal(l7_names_listed(&c.added), L7_CHANGE_NAMES);
	assert_string_equal(c.added.names[L7_CHANGE_NAMES - 1], "49");
}

/* The lists may be freed before the result. */
static void names_are_copied(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char name[] = "a";
	struct l7_change c = l7_change_between((struct l7_items){ 0 }, ITEMS({ name, 1 }), arena);

	name[0] = 'z';
	assert_string_equal(c.added.names[0], "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_is_in_one_list),
		cmocka_unit_test(the_same_lists_differ_in_nothing),
		cmocka_unit_test(another_order_is_a_change),
		cmocka_unit_test(lists_are_bounded_and_counts_are_not),
		cmocka_unit_test(names_are_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
