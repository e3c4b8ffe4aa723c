/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same is not written; the rest of kube_status is in tests/e2e/test_kspeaker_*.py. */
#include "src/speaker/kube_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void order_spaces_and_escapes_do_not_count(void **state)
{
	assert_true(kube_status_same("{\"a\":1,\"b\":[true,null]}",
				     "{ \"b\": [true, null], \"a\": 1 }"));
	assert_true(kube_status_same("{\"a\":\"\\u003cx\\u003e\"}", "{\"a\":\"<x>\"}"));
}

static void the_time_of_a_transition_does_not_count(void **state)
{
	assert_true(kube_status_same("{\"c\":[{\"lastTransitionTime\":\"1\",\"s\":\"True\"}]}",
				     "{\"c\":[{\"lastTransitionTime\":\"2\",\"s\":\"True\"}]}"));
	assert_true(kube_status_same("{\"c\":[{\"s\":\"True\"}]}",
				     "{\"c\":[{\"lastTransitionTime\":\"2\",\"s\":\"True\"}]}"));
	assert_false(kube_status_same("{\"c\":[{\"lastTransitionTime\":\"1\",\"s\":\"True\"}]}",
				      "{\"c\":[{\"lastTransitionTime\":\"1\",\"s\":\"False\"}]}"));
}

static void everything_else_counts(void **state)
{
	static const char *const texts[] = { "{\"a\":1}",
					     "{\"a\":2}",
					     "{\"a\":\"1\"}",
					     "{\"b\":1}",
					     "{}",
					     "{\"a\":[1]}",
					     "{\"a\":[1,2]}",
					     "{\"a\":[2,1]}",
					     "{\"a\":1,\"b\":1}",
					     "{\"a\":null}",
					     "{\"a\":true}",
					     "{\"a\":false}" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
			assert_int_equal(kube_status_same(texts[i], texts[k]), i == k);
}

static void a_patch_removes_what_should_not_be_there(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	kube_status_patch("{\"a\":1,\"node\":\"x\"}", "{\"a\":2}", &out);
	assert_string_equal(buf_cstr(&out), "{\"status\":{\"node\":null,\"a\":2}}");
	out.n = 0;
	kube_status_patch(NULL, "{\"a\":2}", &out);
	assert_string_equal(buf_cstr(&out), "{\"status\":{\"a\":2}}");
}

static const char *name_of(const char *text, bool hash, char name[static 256])
{
	_cleanup_(buf_free) struct buf out = { 0 };

	kube_status_name(text, hash, 0x1234abcd, &out);
	snprintf(name, 256, "%s", buf_cstr(&out));
	return name;
}

static void names_are_names_of_objects(void **state)
{
	char name[256], text[301];

	assert_string_equal(name_of("web-node1.example", false, name), "web-node1.example");
	assert_string_equal(name_of("web-node1", true, name), "web-node1-1234abcd");
	assert_string_equal(name_of("n-Ether_1", false, name), "n-ether-1-1234abcd");
	memset(text, 'x', 300);
	text[300] = '\0';
	text[243] = '.';
	assert_int_equal(strlen(name_of(text, false, name)), 253);
	assert_string_equal(name + 242, "x--1234abcd");
	text[253] = '\0';
	assert_string_equal(name_of(text, false, name), text);
}

static void values_of_labels_are_short(void **state)
{
	char label[KUBE_LABEL_SIZE], other[KUBE_LABEL_SIZE], text[254];

	assert_string_equal(kube_label("node1.example.net", label), "node1.example.net");
	assert_string_equal(kube_label("", label), "");
	memset(text, 'x', 253);
	text[253] = '\0';
	assert_int_equal(strlen(kube_label(text, label)), 63);
	text[252] = 'y';
	assert_string_not_equal(kube_label(text, other), label);
	assert_memory_equal(other, text, 54);
	text[63] = '\0';
	assert_string_equal(kube_label(text, label), text);
	assert_memory_equal(kube_label("@up:1", label), "xup-1-", 6);
}

static void what_is_not_json_is_not_the_same(void **state)
{
	assert_false(kube_status_same("{", "{"));
	assert_false(kube_status_same("", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_spaces_and_escapes_do_not_count),
		cmocka_unit_test(the_time_of_a_transition_does_not_count),
		cmocka_unit_test(everything_else_counts),
		cmocka_unit_test(a_patch_removes_what_should_not_be_there),
		cmocka_unit_test(names_are_names_of_objects),
		cmocka_unit_test(values_of_labels_are_short),
		cmocka_unit_test(what_is_not_json_is_not_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
