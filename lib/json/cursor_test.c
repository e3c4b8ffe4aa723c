/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/cursor.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"

struct fixture {
	struct arena *arena;
	struct errs errors;
	struct json_cursor root;
};

static const char text[] = "{\"name\": \"web\",\n"
			   " \"none\": null,\n"
			   " \"on\": true,\n"
			   " \"spec\": {\"ports\": [{\"port\": 80},\n"
			   "   {\"port\": 443, \"weight\": 1.5},\n"
			   "   {\"port\": 65536, \"big\": 1e400, \"low\": -1}]}}";

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct json_node *tree = NULL;

	f->arena = arena_new();
	f->errors.arena = f->arena;
	assert_int_equal(json_parse(str_of(text), NULL, f->arena, &tree, &f->errors), 0);
	f->root = json_cursor_of(tree, &f->errors);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_free(f->arena);
	free(f);
	return 0;
}

static void check_complaints(struct fixture *f, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	errs_print(&f->errors, "f", &out);
	assert_string_equal(buf_cstr(&out), want);
}

static void good_values_are_given_out(void **state)
{
	struct fixture *f = *state;
	struct json_cursor name = json_member(&f->root, "name"), on = json_member(&f->root, "on");
	struct json_cursor spec = json_member(&f->root, "spec"),
			   ports = json_member(&spec, "ports");
	struct json_cursor second = json_item(&ports, 1), third = json_item(&ports, 2);
	struct json_cursor port = json_member(&second, "port");
	struct json_cursor weight = json_member_at(&second, 1), low = json_member(&third, "low");
	const char *string = NULL;
	bool truth = false;
	uint64_t u = 0;
	int64_t i = 0;
	double d = 0;

	assert_int_equal(json_get_string(&name, &string), 1);
	assert_string_equal(string, "web");
	assert_int_equal(json_get_bool(&on, &truth), 1);
	assert_true(truth);
	assert_int_equal(json_get_kind(&spec, JSON_KIND_OBJECT), 1);
	assert_int_equal(json_get_kind(&ports, JSON_KIND_ARRAY), 1);
	assert_int_equal(json_get_u64(&port, 1, 65535, &u), 1);
	assert_int_equal(u, 443);
	assert_int_equal(json_get_double(&weight, &d), 1);
	assert_true(d == 1.5);
	assert_int_equal(json_get_i64(&low, -1, 1, &i), 1);
	assert_int_equal(i, -1);
	assert_int_equal(json_require(&name), 0);
	assert_string_equal(json_path(&weight, f->arena), "spec.ports[1].weight");
	assert_string_equal(json_path(&f->root, f->arena), "");
	check_complaints(f, "");
}

static void absent_and_null_are_no_complaint(void **state)
{
	struct fixture *f = *state;
	struct json_cursor none = json_member(&f->root, "none"), no = json_member(&f->root, "no");
	struct json_cursor deeper = json_member(&no, "deeper"), item = json_item(&deeper, 3);
	struct json_cursor name = json_member(&f->root, "name"), in_name = json_member(&name, "x");
	const char *string = "default";
	bool truth = true;
	uint64_t u = 7;
	int64_t i = 7;
	double d = 7;

	assert_int_equal(json_get_string(&none, &string), 0);
	assert_int_equal(json_get_string(&no, &string), 0);
	assert_int_equal(json_get_string(&in_name, &string), 0);
	assert_int_equal(json_get_bool(&deeper, &truth), 0);
	assert_int_equal(json_get_u64(&item, 0, 1, &u), 0);
	assert_int_equal(json_get_i64(&item, 0, 1, &i), 0);
	assert_int_equal(json_get_double(&item, &d), 0);
	assert_int_equal(json_get_kind(&no, JSON_KIND_ARRAY), 0);
	assert_string_equal(string, "default");
	assert_true(truth && u == 7 && i == 7 && d == 7);
	check_complaints(f, "");
}

static void wrong_values_are_named_with_place_and_path(void **state)
{
	struct fixture *f = *state;
	struct json_cursor name = json_member(&f->root, "name"), on = json_member(&f->root, "on");
	struct json_cursor spec = json_member(&f->root, "spec"),
			   ports = json_member(&spec, "ports");
	struct json_cursor second = json_item(&ports, 1), third = json_item(&ports, 2);
	struct json_cursor port = json_member(&third, "port"), big = json_member(&third, "big");
	struct json_cursor low = json_member(&third, "low"),
			   weight = json_member(&second, "weight");
	const char *string = NULL;
	bool truth = false;
	uint64_t u = 7;
	int64_t i = 7;
	double d = 7;

	assert_int_equal(json_get_kind(&name, JSON_KIND_OBJECT), -EINVAL);
	assert_int_equal(json_get_bool(&name, &truth), -EINVAL);
	assert_int_equal(json_get_string(&on, &string), -EINVAL);
	assert_int_equal(json_get_kind(&ports, JSON_KIND_OBJECT), -EINVAL);
	assert_int_equal(json_get_i64(&weight, 0, 100, &i), -EINVAL);
	assert_int_equal(json_get_u64(&port, 1, 65535, &u), -EINVAL);
	assert_int_equal(json_get_double(&big, &d), -EINVAL);
	assert_int_equal(json_get_u64(&low, 0, 9, &u), -EINVAL);
	assert_null(string);
	assert_true(u == 7 && i == 7 && d == 7);
	check_complaints(
		f,
		"f:1:10: name: an object is wanted, not a string\n"
		"f:1:10: name: true or false is wanted, not a string\n"
		"f:3:8: on: a string is wanted, not true or false\n"
		"f:4:20: spec.ports: an object is wanted, not an array\n"
		"f:5:28: spec.ports[1].weight: a whole number from 0 to 100 is wanted, not 1.5\n"
		"f:6:13: spec.ports[2].port: a whole number from 1 to 65535 is wanted, not 65536\n"
		"f:6:27: spec.ports[2].big: the number 1e400 is too large\n"
		"f:6:41: spec.ports[2].low: a whole number from 0 to 9 is wanted, not -1\n");
}

static void what_is_missing_is_told_where_it_should_be(void **state)
{
	struct fixture *f = *state;
	struct json_cursor spec = json_member(&f->root, "spec"),
			   ports = json_member(&spec, "ports");
	struct json_cursor second = json_item(&ports, 1), name = json_member(&second, "name");
	struct json_cursor none = json_member(&f->root, "none"), fourth = json_item(&ports, 3);
	struct json_cursor deep = json_member(&fourth, "a\nb");

	assert_int_equal(json_require(&name), -EINVAL);
	assert_int_equal(json_require(&none), -EINVAL);
	assert_int_equal(json_require(&deep), -EINVAL);
	check_complaints(f, "f:5:4: spec.ports[1].name: is missing\n"
			    "f:2:10: none: is missing\n"
			    "f:4:20: spec.ports[3].a\\x0ab: is missing\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_values_are_given_out),
		TEST(absent_and_null_are_no_complaint),
		TEST(wrong_values_are_named_with_place_and_path),
		TEST(what_is_missing_is_told_where_it_should_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
