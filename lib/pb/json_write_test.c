/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "lib/pb/pb_test.pb-c.h"

static void assert_json(const ProtobufCMessage *m, enum pb_json_style style, const char *wanted)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	pb_json_write(m, style, &out);
	assert_string_equal(buf_cstr(&out), wanted);
}

static void defaults_are_written_and_absent_messages_are_not(void **state)
{
	Pbtest__Scalars scalars;
	Pbtest__Tree tree;

	pbtest__scalars__init(&scalars);
	assert_json(&scalars.base, PB_JSON_COMPACT,
		    "{\"a_int32\":0,\"a_sint32\":0,\"a_sfixed32\":0,\"a_int64\":\"0\","
		    "\"a_sint64\":\"0\",\"a_sfixed64\":\"0\",\"a_uint32\":0,\"a_fixed32\":0,"
		    "\"a_uint64\":\"0\",\"a_fixed64\":\"0\",\"a_float\":0,\"a_double\":0,"
		    "\"a_bool\":false,\"a_colour\":\"COLOUR_NONE\",\"a_string\":\"\","
		    "\"a_bytes\":\"\"}");
	pbtest__tree__init(&tree);
	assert_json(&tree.base, PB_JSON_COMPACT, "{\"name\":\"\",\"children\":[]}");
}

static void extremes_are_written_whole(void **state)
{
	uint8_t bytes[] = { 0, 0xff, 0x80, 0x3e };
	char text[] = "\"\\\n\x01gr\xc3\xbcn\xff";
	Pbtest__Scalars s;

	pbtest__scalars__init(&s);
	s.a_int32 = s.a_sint32 = s.a_sfixed32 = INT32_MIN;
	s.a_int64 = s.a_sint64 = s.a_sfixed64 = INT64_MIN;
	s.a_uint32 = s.a_fixed32 = UINT32_MAX;
	s.a_uint64 = s.a_fixed64 = UINT64_MAX;
	s.a_float = 0.1f;
	s.a_double = -INFINITY;
	s.a_bool = true;
	s.a_colour = PBTEST__COLOUR__COLOUR_NEGATIVE;
	s.a_string = text;
	s.a_bytes = (ProtobufCBinaryData){ sizeof(bytes), bytes };
	assert_json(&s.base, PB_JSON_COMPACT,
		    "{\"a_int32\":-2147483648,\"a_sint32\":-2147483648,"
		    "\"a_sfixed32\":-2147483648,\"a_int64\":\"-9223372036854775808\","
		    "\"a_sint64\":\"-9223372036854775808\","
		    "\"a_sfixed64\":\"-9223372036854775808\",\"a_uint32\":4294967295,"
		    "\"a_fixed32\":4294967295,\"a_uint64\":\"18446744073709551615\","
		    "\"a_fixed64\":\"18446744073709551615\",\"a_float\":0.1,"
		    "\"a_double\":\"-Infinity\",\"a_bool\":true,\"a_colour\":\"COLOUR_NEGATIVE\","
		    "\"a_string\":\"\\\"\\\\\\n\\u0001gr\xc3\xbcn" UTF8_REPLACEMENT
		    "\",\"a_bytes\":\"AP+APg==\"}");
}

static void only_the_chosen_member_of_a_oneof_is_written(void **state)
{
	Pbtest__Choice c;

	pbtest__choice__init(&c);
	assert_json(&c.base, PB_JSON_COMPACT, "{\"before\":\"\"}");
	c.which_case = PBTEST__CHOICE__WHICH_NUMBER;
	c.number = 0;
	assert_json(&c.base, PB_JSON_COMPACT, "{\"before\":\"\",\"number\":\"0\"}");
	c.which_case = PBTEST__CHOICE__WHICH_COLOUR;
	c.colour = 99;
	assert_json(&c.base, PB_JSON_COMPACT, "{\"before\":\"\",\"colour\":99}");
}

static Pbtest__Maps__ByNameEntry *by_name(struct arena *a, const char *key, const char *value)
{
	Pbtest__Maps__ByNameEntry *e = arena_new_of(a, Pbtest__Maps__ByNameEntry);

	pbtest__maps__by_name_entry__init(e);
	e->key = arena_strdup(a, key);
	e->value = arena_strdup(a, value);
	return e;
}

static void a_map_is_an_object_in_order_of_its_keys_and_the_last_value_counts(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	Pbtest__Maps__ByNameEntry *entries[] = { by_name(a, "b", "1"), by_name(a, "a", "2"),
						 by_name(a, "b", "3"), by_name(a, "", "4") };
	Pbtest__Maps__NumbersEntry number, *numbers[] = { &number };
	Pbtest__Maps__MessagesEntry empty, *messages[] = { &empty };
	Pbtest__Maps__ColoursEntry colour, *colours[] = { &colour };
	Pbtest__Maps__PairEntry pair, *pairs[] = { &pair };
	Pbtest__Maps m;

	pbtest__maps__init(&m);
	pbtest__maps__numbers_entry__init(&number);
	pbtest__maps__messages_entry__init(&empty);
	pbtest__maps__colours_entry__init(&colour);
	pbtest__maps__pair_entry__init(&pair);
	m = (Pbtest__Maps){ m.base, 4, entries, 1, numbers, 1, messages, 1, colours, 1, pairs };
	number.key = -1;
	number.value = 2;
	empty.key = UINT64_MAX;
	assert_json(&m.base, PB_JSON_COMPACT,
		    "{\"by_name\":{\"\":\"4\",\"a\":\"2\",\"b\":\"3\"},\"numbers\":{\"-1\":\"2\"},"
		    "\"messages\":{\"18446744073709551615\":{}},"
		    "\"colours\":{\"false\":\"COLOUR_NONE\"},"
		    "\"pairs\":[{\"key\":\"\",\"value\":\"\"}]}");
}

static void pretty_is_one_value_a_line(void **state)
{
	int32_t numbers[] = { 1, -2 };
	Pbtest__Lists l;
	Pbtest__Tree t;

	pbtest__tree__init(&t);
	pbtest__lists__init(&l);
	t.lists = &l;
	l.n_int32s = 2;
	l.int32s = numbers;
	assert_json(&t.base, PB_JSON_PRETTY,
		    "{\n  \"name\": \"\",\n  \"lists\": {\n    \"int32s\": [\n      1,\n      -2\n"
		    "    ],\n    \"sint64s\": [],\n    \"fixed64s\": [],\n    \"floats\": [],\n"
		    "    \"doubles\": [],\n    \"bools\": [],\n    \"colours\": [],\n"
		    "    \"strings\": [],\n    \"byteses\": [],\n    \"scalars\": []\n  },\n"
		    "  \"children\": []\n}");
}

static void for_display_no_value_steers_the_reader(void **state)
{
	Pbtest__Tree t;

	pbtest__tree__init(&t);
	t.name = (char[]){ "a\xe2\x80\xae\"b\n\033[2J\n" };
	assert_json(&t.base, PB_JSON_SHOWN,
		    "{\"name\":\"a\\\\u202e\\\"b\\n\\\\x1b[2J\\n\",\"children\":[]}");
	assert_json(&t.base, PB_JSON_COMPACT,
		    "{\"name\":\"a\\u202e\\\"b\\n\\u001b[2J\\n\",\"children\":[]}");
	t.name = (char[]){ "gr\xc3\xbcn" };
	assert_json(&t.base, PB_JSON_SHOWN, "{\"name\":\"gr\xc3\xbcn\",\"children\":[]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_written_and_absent_messages_are_not),
		cmocka_unit_test(extremes_are_written_whole),
		cmocka_unit_test(only_the_chosen_member_of_a_oneof_is_written),
		cmocka_unit_test(a_map_is_an_object_in_order_of_its_keys_and_the_last_value_counts),
		cmocka_unit_test(pretty_is_one_value_a_line),
		cmocka_unit_test(for_display_no_value_steers_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
