/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "base/units.h"

static struct options o;
static struct tester tester;
static struct vip vips[2];
static const struct target targets[] = {
	{ .name = "www \"x\"", .scheme = SCHEME_HTTP, .label = "http -:0" },
	{ .name = "mail", .scheme = SCHEME_TCP, .label = "tcp -:0" }
};
static struct buf out;

/* Ten good answers of 1 ms from two backends, and one bad one of the second VIP. */
static int start(void **state)
{
	o = (struct options){ .min_success = 1, .header = "X" };
	tester = (struct tester){ .options = &o, .vips = vips, .n = 2 };
	memset(vips, 0, sizeof(vips));
	for (size_t i = 0; i < 2; i++) {
		vips[i].tester = &tester;
		vips[i].target = &targets[i];
		vips[i].window.slice = vips[i].headers.slice = NSEC_PER_SEC;
		for (int64_t n = 0; n < 10; n++)
			window_add(&vips[i].window, n, true, NSEC_PER_MSEC);
	}
	values_add(&vips[0].headers, "a", 0);
	values_add(&vips[0].headers, "b", 0);
	return 0;
}

static int stop(void **state)
{
	buf_free(&out);
	return 0;
}

static bool report(void)
{
	const struct report r = { .tester = &tester, .duration = 1500 * NSEC_PER_MSEC };

	out.n = 0;
	return report_write(&r, &out);
}

static void break_second(void)
{
	window_add(&vips[1].window, 11, false, 0);
	vips[1].troubles[TROUBLE_NET]++;
	vips[1].last = (struct trouble){ .vip = &vips[1], .text = "refused" };
}

static void one_failure_is_one_too_many_unless_it_is_allowed(void **state)
{
	assert_true(report());
	break_second();
	assert_false(report());
	o.min_success = 0.9;
	assert_true(report());
	o.min_success = 0.95;
	assert_false(report());
}

static void latency_counts_when_it_is_asked_for(void **state)
{
	o.max_p99 = NSEC_PER_MSEC;
	assert_true(report());
	o.max_p99 = NSEC_PER_MSEC - 1;
	assert_false(report());
}

/* It has no latency: 0 would look like a very good one. */
static void a_vip_that_was_never_asked_is_not_good(void **state)
{
	json_t *root, *second;

	vips[1].window = (struct window){ .slice = 1 };
	assert_false(report());
	assert_non_null(strstr(buf_cstr(&out), "\ntcp -:0        -      0      0      -"));
	o.json = true;
	assert_false(report());
	root = json_loads(buf_cstr(&out), 0, NULL);
	second = json_array_get(json_object_get(root, "vips"), 1);
	assert_true(json_is_null(json_object_get(second, "success")));
	assert_true(json_is_null(json_object_get(second, "latency_ms")));
	json_decref(root);
}

static void text_has_a_row_for_each_vip(void **state)
{
	break_second();
	report();
	assert_string_equal(
		buf_cstr(&out),
		"VIP           OK      N   FAIL    MIN    AVG    MAX    P50    P95    P99\n"
		"http -:0    100%     10      0  1.0ms  1.0ms  1.0ms  1.0ms  1.0ms  1.0ms\n"
		"  a 1, b 1\n"
		"tcp -:0   90.90%     11      1  1.0ms  1.0ms  1.0ms  1.0ms  1.0ms  1.0ms  FAILED\n"
		"  net-err 1\n"
		"  last: refused\n");
}

static void json_says_the_same(void **state)
{
	json_t *root, *first, *second;

	o.json = true;
	break_second();
	report();
	root = json_loads(buf_cstr(&out), 0, NULL);
	assert_non_null(root);
	first = json_array_get(json_object_get(root, "vips"), 0);
	second = json_array_get(json_object_get(root, "vips"), 1);
	assert_true(json_is_false(json_object_get(root, "passed")));
	assert_true(json_real_value(json_object_get(root, "duration_s")) == 1.5);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "www \"x\"");
	assert_true(json_is_true(json_object_get(first, "passed")));
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(first, "headers"), "b")), 1);
	assert_true(json_number_value(
			    json_object_get(json_object_get(first, "latency_ms"), "p99")) == 1);
	assert_int_equal(json_integer_value(json_object_get(second, "failed")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(second, "errors"), "net-err")),
		1);
	assert_string_equal(json_string_value(json_object_get(second, "last_error")), "refused");
	json_decref(root);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_failure_is_one_too_many_unless_it_is_allowed),
		CASE(latency_counts_when_it_is_asked_for),
		CASE(a_vip_that_was_never_asked_is_not_good),
		CASE(text_has_a_row_for_each_vip),
		CASE(json_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
