/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void each_text_is_counted_and_sorted(void **state)
{
	struct values v = { .slice = 10 };

	values_add(&v, "web2", 1);
	values_add(&v, "web1", 2);
	values_add(&v, "web2", 3);
	assert_int_equal(v.n, 2);
	assert_string_equal(v.items[0].text, "web1");
	assert_int_equal(v.items[0].n, 1);
	assert_string_equal(v.items[1].text, "web2");
	assert_int_equal(v.items[1].n, 2);
	assert_int_equal(v.items[1].last, 3);
}

static void there_are_only_so_many(void **state)
{
	struct values v = { .slice = 10 };
	char text[32];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "web%02d", i);
		values_add(&v, text, i);
	}
	values_add(&v, "web00", 200);
	assert_int_equal(v.n, VALUES_MAX);
	assert_int_equal(v.others.n, 100 - VALUES_MAX);
	assert_int_equal(v.others.last, 99);
	assert_int_equal(v.items[0].n, 2);
}

static void a_long_text_is_cut(void **state)
{
	struct values v = { .slice = 10 };
	char text[200];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	values_add(&v, text, 1);
	text[100] = 'y';
	values_add(&v, text, 2);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.items[0].n, 2);
	assert_int_equal(strlen(v.items[0].text), VALUE_SIZE - 1);
}

static void the_window_forgets_and_the_start_does_not(void **state)
{
	struct values v = { .slice = 10 };

	values_add(&v, "web1", 0);
	values_add(&v, "web1", 15);
	values_add(&v, "web2", 65);
	assert_int_equal(values_recent(&v, &v.items[0], 69), 2);
	assert_int_equal(values_recent(&v, &v.items[0], 70), 1); /* the slice of 0 to 9 is gone */
	assert_int_equal(values_recent(&v, &v.items[1], 70), 1);
	assert_int_equal(values_recent(&v, &v.items[0], 1000000), 0);
	assert_int_equal(values_recent(&v, &v.items[1], 1000000), 0);
	assert_int_equal(v.items[0].n, 2);
	values_add(&v, "web1", 1000001);
	assert_int_equal(values_recent(&v, &v.items[0], 1000002), 1);
}

static void others_have_a_window_too(void **state)
{
	struct values v = { .slice = 10 };
	char text[32];

	for (int i = 0; i < VALUES_MAX + 2; i++) {
		snprintf(text, sizeof(text), "web%02d", i);
		values_add(&v, text, i);
	}
	assert_int_equal(values_recent(&v, &v.others, 50), 2);
	assert_int_equal(values_recent(&v, &v.others, 100), 0);
	assert_int_equal(v.others.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_is_counted_and_sorted),
		cmocka_unit_test(there_are_only_so_many),
		cmocka_unit_test(a_long_text_is_cut),
		cmocka_unit_test(the_window_forgets_and_the_start_does_not),
		cmocka_unit_test(others_have_a_window_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
