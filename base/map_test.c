/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void an_empty_map_has_nothing(void **state)
{
	_cleanup_(map_free) struct map m = { 0 };

	assert_null(map_get(&m, "a"));
	assert_null(map_remove(&m, "a"));
	assert_int_equal(m.n, 0);
}

static void put_returns_what_it_replaces(void **state)
{
	_cleanup_(map_free) struct map m = { 0 };
	char first[] = "a", second[] = "a";
	int x, y;

	assert_null(map_put(&m, first, &x));
	assert_ptr_equal(map_put(&m, second, &y), &x);
	assert_int_equal(m.n, 1);
	assert_ptr_equal(map_get(&m, "a"), &y);
	first[0] = 'z'; /* the entry now borrows the second key */
	assert_ptr_equal(map_get(&m, "a"), &y);
}

static void remove_returns_what_was_there_once(void **state)
{
	_cleanup_(map_free) struct map m = { 0 };
	int x;

	map_put(&m, "", &x);
	assert_ptr_equal(map_remove(&m, ""), &x);
	assert_null(map_remove(&m, ""));
	assert_null(map_get(&m, ""));
	assert_int_equal(m.n, 0);
}

static void ten_thousand_names_are_all_found(void **state)
{
	static char names[10000][8];
	_cleanup_(map_free) struct map m = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "be%zu", i);
		assert_null(map_put(&m, names[i], names[i]));
	}
	assert_int_equal(m.n, ARRAY_SIZE(names));
	assert_true(m.n <= m.cap / 4 * 3);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_ptr_equal(map_get(&m, names[i]), names[i]);
	assert_null(map_get(&m, "be10000"));
}

/* The slow, obvious model: one value slot per possible name. */
#define NAMES 64

static void agrees_with_model(const struct map *m, char names[NAMES][4], int *model[NAMES])
{
	size_t n = 0;

	for (size_t i = 0; i < NAMES; i++) {
		assert_ptr_equal(map_get(m, names[i]), model[i]);
		n += model[i] != NULL;
	}
	assert_int_equal(m->n, n);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/*
 * Few names and many removals: runs of neighbours form, wrap around the end of the
 * slots and get holes.
 */
static void random_puts_and_removes_agree_with_a_slow_model(void **state)
{
	for (uint32_t seed = 1; seed <= 50; seed++) {
		_cleanup_(map_free) struct map m = { 0 };
		char names[NAMES][4];
		int *model[NAMES] = { 0 }, values[NAMES];
		uint32_t random = seed;

		for (unsigned i = 0; i < NAMES; i++)
			snprintf(names[i], sizeof(names[i]), "%u", i);
		for (int step = 0; step < 500; step++) {
			size_t i = next_random(&random) % (seed % 2 ? 12 : NAMES);
			int *value = next_random(&random) % 5 < 2
					     ? NULL
					     : &values[next_random(&random) % NAMES];

			assert_ptr_equal(value ? map_put(&m, names[i], value)
					       : map_remove(&m, names[i]),
					 model[i]);
			model[i] = value;
			agrees_with_model(&m, names, model);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(put_returns_what_it_replaces),
		cmocka_unit_test(remove_returns_what_was_there_once),
		cmocka_unit_test(ten_thousand_names_are_all_found),
		cmocka_unit_test(random_puts_and_removes_agree_with_a_slow_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
