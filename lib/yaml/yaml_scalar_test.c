/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/yaml/yaml_build.h"

static void plain_text_is_typed_by_the_core_schema(void **state)
{
	static const struct {
		const char *text;
		enum yaml_type type;
	} rows[] = {
		{ "", YAML_NULL },	{ "~", YAML_NULL },	   { "null", YAML_NULL },
		{ "Null", YAML_NULL },	{ "nULL", YAML_TEXT },	   { "true", YAML_BOOL },
		{ "FALSE", YAML_BOOL }, { "yes", YAML_TEXT },	   { "off", YAML_TEXT },
		{ "0", YAML_INT },	{ "-12", YAML_INT },	   { "+7", YAML_INT },
		{ "007", YAML_INT },	{ "0x1F", YAML_INT },	   { "0o17", YAML_INT },
		{ "0x", YAML_TEXT },	{ "0o8", YAML_TEXT },	   { "1_000", YAML_TEXT },
		{ "12:30", YAML_TEXT }, { "-", YAML_TEXT },	   { "+", YAML_TEXT },
		{ "1.5", YAML_FLOAT },	{ ".5", YAML_FLOAT },	   { "5.", YAML_FLOAT },
		{ "1e3", YAML_FLOAT },	{ "-1.5E-3", YAML_FLOAT }, { "1e", YAML_TEXT },
		{ ".", YAML_TEXT },	{ ".inf", YAML_FLOAT },	   { "-.INF", YAML_FLOAT },
		{ ".nan", YAML_FLOAT }, { "-.nan", YAML_TEXT },	   { "1.2.3.4", YAML_TEXT },
		{ "200ms", YAML_TEXT }, { "2s", YAML_TEXT },	   { "::1", YAML_TEXT },
		{ "1.5s", YAML_TEXT },	{ " 1", YAML_TEXT },
	};
	enum yaml_type type;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(yaml__scalar_type(rows[i].text, true, NULL, &type), 0);
		if (type != rows[i].type)
			fail_msg("'%s' is typed %d", rows[i].text, (int)type);
		assert_int_equal(yaml__scalar_type(rows[i].text, false, NULL, &type), 0);
		assert_int_equal(type, YAML_TEXT);
	}
}

static void a_tag_is_obeyed_or_refused_but_never_ignored(void **state)
{
	enum yaml_type type = YAML_BOOL;

	assert_int_equal(yaml__scalar_type("5", false, "tag:yaml.org,2002:int", &type), 0);
	assert_int_equal(type, YAML_INT);
	assert_int_equal(yaml__scalar_type("5", true, "tag:yaml.org,2002:float", &type), 0);
	assert_int_equal(type, YAML_FLOAT);
	assert_int_equal(yaml__scalar_type("5", true, "!", &type), 0);
	assert_int_equal(type, YAML_TEXT);
	assert_int_equal(yaml__scalar_type("x", true, "tag:yaml.org,2002:int", &type), -EINVAL);
	assert_int_equal(yaml__scalar_type("x", true, "tag:yaml.org,2002:binary", &type), -ENOENT);
	assert_int_equal(yaml__scalar_type("x", true, "!local", &type), -ENOENT);
	assert_int_equal(type, YAML_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_is_typed_by_the_core_schema),
		cmocka_unit_test(a_tag_is_obeyed_or_refused_but_never_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
