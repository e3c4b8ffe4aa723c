/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/grpc.h"

static void a_path_has_two_segments(void **state)
{
	static const char *const others[] = { "",     "/",    "//",    "/a",	 "/a/",	   "//b",
					      "/a//", "*",    "a/b/c", "/a/b/",	 "/a/b/c", "/a//b",
					      "///",  "////", "a",     "/aaaaa", "abc/d" };
	struct str service = STR("?"), method = STR("?");

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (l7_grpc_split(str_of(others[i]), &service, &method))
			fail_msg("%s", others[i]);
	assert_true(str_eq(service, STR("?")) && str_eq(method, STR("?")));
	assert_true(l7_grpc_split(STR("/a.B/C"), &service, &method));
	assert_true(str_eq(service, STR("a.B")) && str_eq(method, STR("C")));
	assert_true(l7_grpc_split(STR("/a/b"), &service, &method));
}

static void a_call_is_known_by_its_type(void **state)
{
	static const struct {
		const char *type;
		bool call, web;
	} rows[] = { { "application/grpc", true, false },
		     { "application/grpc+proto", true, false },
		     { "application/grpc+json", true, false },
		     { "Application/GRPC; x=y", true, false },
		     { "application/grpc;x=y", true, false },
		     { "application/grpc-web", false, true },
		     { "application/grpc-web+proto", false, true },
		     { "application/grpc-web-text", false, false },
		     { "application/grpcx", false, false },
		     { "application/json", false, false },
		     { "", false, false } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (l7_grpc_is_call(str_of(rows[i].type)) != rows[i].call ||
		    l7_grpc_is_web(str_of(rows[i].type)) != rows[i].web)
			fail_msg("%s", rows[i].type);
}

static void each_status_has_a_code(void **state)
{
	assert_int_equal(l7_grpc_code(404), 12);
	assert_int_equal(l7_grpc_code(421), 12);
	assert_int_equal(l7_grpc_code(500), 14);
	assert_int_equal(l7_grpc_code(502), 14);
	assert_int_equal(l7_grpc_code(503), 14);
	assert_int_equal(l7_grpc_code(504), 4);
	assert_int_equal(l7_grpc_code(413), 8);
	assert_int_equal(l7_grpc_code(400), 13);
	assert_int_equal(l7_grpc_code(401), 16);
	assert_int_equal(l7_grpc_code(403), 7);
	assert_int_equal(l7_grpc_code(418), 2);
}

static void a_code_stands_for_a_status(void **state)
{
	assert_int_equal(l7_grpc_read_code(STR("0")), L7_GRPC_OK);
	assert_int_equal(l7_grpc_read_code(STR("14")), L7_GRPC_UNAVAILABLE);
	assert_int_equal(l7_grpc_read_code(STR("17")), L7_GRPC_UNKNOWN);
	assert_int_equal(l7_grpc_read_code(STR("-1")), L7_GRPC_UNKNOWN);
	assert_int_equal(l7_grpc_read_code(STR("")), L7_GRPC_UNKNOWN);
	assert_int_equal(l7_grpc_status(L7_GRPC_UNAVAILABLE), 503);
	assert_int_equal(l7_grpc_status(L7_GRPC_DEADLINE_EXCEEDED), 504);
	assert_int_equal(l7_grpc_status(L7_GRPC_INTERNAL), 500);
	assert_int_equal(l7_grpc_status(L7_GRPC_PERMISSION_DENIED), 200);
	assert_true(l7_grpc_failed(L7_GRPC_DATA_LOSS));
	assert_false(l7_grpc_failed(L7_GRPC_OK) || l7_grpc_failed(L7_GRPC_NONE) ||
		     l7_grpc_failed(L7_GRPC_UNIMPLEMENTED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_has_two_segments),
		cmocka_unit_test(a_call_is_known_by_its_type),
		cmocka_unit_test(each_status_has_a_code),
		cmocka_unit_test(a_code_stands_for_a_status),
	};

	return cmocka_run_group_tests_name("core/l7/grpc", tests, NULL, NULL);
}
