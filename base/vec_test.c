/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct pair {
	int a, b;
};

static void pushed_items_stay_in_order(void **state)
{
	VEC(int) v = { 0 };

	for (int i = 0; i < 1000; i++)
		vec_push(&v, i);
	assert_int_equal(v.n, 1000);
	assert_true(v.cap >= v.n);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.items[i], i);
	vec_free(&v);
	assert_null(v.items);
	assert_int_equal(v.n + v.cap, 0);
}

static void a_compound_literal_can_be_pushed(void **state)
{
	VEC(struct pair) v = { 0 };

	vec_push(&v, (struct pair){ 1, 2 });
	assert_int_equal(v.items[0].b, 2);
	vec_free(&v);
}

/* The value is read after the array has moved. */
static void an_item_of_the_vector_itself_can_be_pushed(void **state)
{
	VEC(int) v = { 0 };

	vec_push(&v, 7);
	for (int i = 0; i < 100; i++)
		vec_push(&v, v.items[0]);
	for (size_t i = 0; i < v.n; i++)
		assert_int_equal(v.items[i], 7);
	vec_free(&v);
}

static void reserving_grows_only_when_needed(void **state)
{
	VEC(int) v = { 0 };
	int *before;

	vec_reserve(&v, 100);
	assert_int_equal(v.n, 0);
	assert_true(v.cap >= 100);
	before = v.items;
	for (int i = 0; i < 100; i++)
		vec_push(&v, i);
	assert_ptr_equal(v.items, before);
	vec_free(&v);
}

static void insertion_and_removal_keep_the_others_in_order(void **state)
{
	VEC(int) v = { 0 };

	for (int i = 0; i < 20; i++) { /* evens to the back, odds to the front */
		size_t at = i % 2 ? 0 : v.n;

		vec_insert_at(&v, at);
		v.items[at] = i;
	}
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(v.items[i], i < 10 ? 19 - 2 * i : 2 * (i - 10));
	vec_remove_at(&v, 19);
	vec_remove_at(&v, 0);
	vec_remove_at(&v, 8);
	assert_int_equal(v.n, 17);
	assert_int_equal(v.items[0], 17);
	assert_int_equal(v.items[8], 0);
	assert_int_equal(v.items[16], 16);
	vec_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_items_stay_in_order),
		cmocka_unit_test(a_compound_literal_can_be_pushed),
		cmocka_unit_test(an_item_of_the_vector_itself_can_be_pushed),
		cmocka_unit_test(reserving_grows_only_when_needed),
		cmocka_unit_test(insertion_and_removal_keep_the_others_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
