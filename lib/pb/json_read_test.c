/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "lib/pb/pb_test.pb-c.h"

#define READ(arena, type, text)                                                                    \
	((const void *)read_as((arena), &pbtest__##type##__descriptor, (text)))

static const ProtobufCMessage *read_as(struct arena *arena, const ProtobufCMessageDescriptor *type,
				       const char *text)
{
	ProtobufCMessage *message = NULL;
	char reason[200] = "";
	int r = pb_json_read(type, str_of(text), arena, &message, reason, sizeof(reason));

	assert_string_equal(reason, "");
	assert_int_equal(r, 0);
	return message;
}

static void numbers_are_read_as_numbers_or_strings_in_either_spelling(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	const Pbtest__Scalars *s =
		READ(a, scalars,
		     "{\"a_int32\":-2147483648,\"aSint32\":\"-7\",\"a_sfixed32\":1e3,"
		     "\"a_int64\":\"-9223372036854775808\",\"a_sint64\":-5,\"a_uint32\":4294967295,"
		     "\"a_uint64\":\"18446744073709551615\",\"a_float\":\"Infinity\","
		     "\"aDouble\":\"1.5e3\"}");

	assert_int_equal(s->a_int32, INT32_MIN);
	assert_int_equal(s->a_sint32, -7);
	assert_int_equal(s->a_sfixed32, 1000);
	assert_true(s->a_int64 == INT64_MIN);
	assert_true(s->a_sint64 == -5);
	assert_int_equal(s->a_uint32, UINT32_MAX);
	assert_true(s->a_uint64 == UINT64_MAX);
	assert_true(isinf(s->a_float));
	assert_true(s->a_double == 1500);
}

static void whole_numbers_are_not_rounded(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	const Pbtest__Scalars *s = READ(a, scalars,
					"{\"a_uint64\":18446744073709551615,\"a_int64\":"
					"-9007199254740993,\"a_sint64\":9007199254740993.0}");

	assert_true(s->a_uint64 == UINT64_MAX);
	assert_true(s->a_int64 == -9007199254740993);
	assert_true(s->a_sint64 == 9007199254740993);
}

static void other_values_are_read(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	const Pbtest__Scalars *s = READ(a, scalars,
					"{\"a_bool\":true,\"a_colour\":\"COLOUR_RED\",\"a_string\":"
					"\"gr\\u00fcn \\ud83d\\ude00\","
					"\"a_bytes\":\"-_8\",\"a_int32\":null}");

	assert_true(s->a_bool);
	assert_int_equal(s->a_colour, PBTEST__COLOUR__COLOUR_RED);
	assert_string_equal(s->a_string, "gr\xc3\xbcn \xf0\x9f\x98\x80");
	assert_int_equal(s->a_bytes.len, 2);
	assert_memory_equal(s->a_bytes.data, "\xfb\xff", 2);
	assert_int_equal(s->a_int32, 0);
}

static void base64_is_read_with_and_without_padding(void **state)
{
	static const struct {
		const char *text, *bytes;
	} rows[] = {
		{ "", "" },	   { "Zg==", "f" },	   { "Zg", "f" },	  { "Zm8=", "fo" },
		{ "Zm9v", "foo" }, { "Zm9vYg==", "foob" }, { "Zm9vYmE", "fooba" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_freep) struct arena *a = arena_new();
		const char *text = arena_printf(a, "{\"a_bytes\":\"%s\"}", rows[i].text);
		const Pbtest__Scalars *s = READ(a, scalars, text);

		assert_int_equal(s->a_bytes.len, strlen(rows[i].bytes));
		assert_memory_equal(s->a_bytes.data, rows[i].bytes, s->a_bytes.len);
	}
}

static void maps_lists_and_oneofs_are_read(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	const Pbtest__Tree *t =
		READ(a, tree,
		     "{\"maps\":{\"by_name\":{\"k\":\"v\"},\"numbers\":{\"-3\":\"4\"},"
		     "\"colours\":{\"true\":7},\"messages\":{\"9\":{\"a_int32\":1}}},"
		     "\"children\":[{\"name\":\"a\"},{\"choice\":{\"number\":\"5\",\"real\":1}}]}");

	assert_string_equal(t->maps->by_name[0]->key, "k");
	assert_string_equal(t->maps->by_name[0]->value, "v");
	assert_int_equal(t->maps->numbers[0]->key, -3);
	assert_int_equal(t->maps->numbers[0]->value, 4);
	assert_true(t->maps->colours[0]->key);
	assert_int_equal(t->maps->colours[0]->value, PBTEST__COLOUR__COLOUR_ULTRAVIOLET);
	assert_int_equal(t->maps->messages[0]->value->a_int32, 1);
	assert_int_equal(t->n_children, 2);
	assert_string_equal(t->children[0]->name, "a");
	assert_int_equal(t->children[1]->choice->which_case, PBTEST__CHOICE__WHICH_NUMBER);
	assert_int_equal(t->children[1]->choice->number, 5);
	assert_true(t->children[1]->choice->real == 1);
}

static void a_mistake_is_named_with_its_place(void **state)
{
	static const struct {
		const char *json, *reason;
	} rows[] = {
		{ "[]", "an object is wanted" },
		{ "{\"nme\":1}", "nme: there is no field of this name" },
		{ "{\"name\":1}", "name: a string is wanted" },
		{ "{\"left\":[]}", "left: an object is wanted" },
		{ "{\"children\":{}}", "children: an array is wanted" },
		{ "{\"children\":[{},{\"name\":1}]}", "children[1].name: a string is wanted" },
		{ "{\"children\":[null]}", "children[0]: an object is wanted" },
		{ "{\"lists\":{\"int32s\":[1,2147483648]}}",
		  "lists.int32s[1]: the number does not fit" },
		{ "{\"lists\":{\"int32s\":[-2147483649]}}",
		  "lists.int32s[0]: the number does not fit" },
		{ "{\"lists\":{\"int32s\":[1.5]}}", "lists.int32s[0]: a number is wanted" },
		{ "{\"lists\":{\"int32s\":[\"\"]}}", "lists.int32s[0]: a number is wanted" },
		{ "{\"lists\":{\"fixed64s\":[-1]}}", "lists.fixed64s[0]: the number does not fit" },
		{ "{\"lists\":{\"fixed64s\":[1e20]}}",
		  "lists.fixed64s[0]: the number does not fit" },
		{ "{\"lists\":{\"floats\":[1e39]}}", "lists.floats[0]: the number does not fit" },
		{ "{\"lists\":{\"floats\":[\"inf\"]}}", "lists.floats[0]: a number is wanted" },
		{ "{\"lists\":{\"bools\":[1]}}", "lists.bools[0]: true or false is wanted" },
		{ "{\"lists\":{\"colours\":[\"PINK\"]}}",
		  "lists.colours[0]: there is no value of this name" },
		{ "{\"lists\":{\"colours\":[true]}}",
		  "lists.colours[0]: the name of a value is wanted, or its number" },
		{ "{\"lists\":{\"byteses\":[\"a\"]}}", "lists.byteses[0]: this is not base64" },
		{ "{\"lists\":{\"byteses\":[\"Zm=v\"]}}", "lists.byteses[0]: this is not base64" },
		{ "{\"maps\":{\"by_name\":{\"a\":1}}}", "maps.by_name.a: a string is wanted" },
		{ "{\"maps\":{\"by_name\":[]}}", "maps.by_name: an object is wanted" },
		{ "{\"maps\":{\"numbers\":{\"x\":1}}}", "maps.numbers.x: a number is wanted" },
		{ "{\"maps\":{\"colours\":{\"1\":1}}}",
		  "maps.colours.1: the key is neither true nor false" },
		{ "{\"maps\":{\"by_name\":{},\"byName\":{}}}",
		  "maps.byName: the field is there twice" },
		{ "{\"choice\":{\"text\":\"\",\"number\":1}}",
		  "choice.number: another field of the same oneof is there" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_freep) struct arena *a = arena_new();
		ProtobufCMessage *message = NULL;
		char reason[200] = "";

		assert_int_equal(pb_json_read(&pbtest__tree__descriptor, str_of(rows[i].json), a,
					      &message, reason, sizeof(reason)),
				 -EINVAL);
		assert_string_equal(reason, rows[i].reason);
		assert_null(message);
	}
}

static void what_is_no_json_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "{",
					     "{\"name\":\"\\u0000\"}",
					     "{\"name\":\"\xff\"}",
					     "{} {}",
					     "{\"name\":\"\",\"name\":\"\"}" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(arena_freep) struct arena *a = arena_new();
		ProtobufCMessage *message = NULL;
		char reason[200] = "";

		assert_int_equal(pb_json_read(&pbtest__tree__descriptor, str_of(texts[i]), a,
					      &message, reason, sizeof(reason)),
				 -EINVAL);
		assert_non_null(strstr(reason, "line 1"));
		assert_null(message);
	}
}

static void the_place_of_a_mistake_in_the_text_is_told(void **state)
{
	static const struct {
		const char *json, *reason;
	} rows[] = {
		{ "{\n \"name\": \"a\",\n}",
		  "line 3, column 1: a key in double quotes is wanted, not '}'" },
		{ "{\"left\":{\"name\":\"\",\n\"name\":\"\"}}",
		  "line 2, column 1: left.name: duplicate key, first at line 1, column 10" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(arena_freep) struct arena *a = arena_new();
		ProtobufCMessage *message = NULL;
		char reason[200] = "";

		assert_int_equal(pb_json_read(&pbtest__tree__descriptor, str_of(rows[i].json), a,
					      &message, reason, sizeof(reason)),
				 -EINVAL);
		assert_string_equal(reason, rows[i].reason);
	}
}

static void objects_nest_so_deep_and_no_deeper(void **state)
{
	for (int depth = 32; depth <= 33; depth++) {
		_cleanup_(arena_freep) struct arena *a = arena_new();
		_cleanup_(buf_free) struct buf text = { 0 };
		ProtobufCMessage *message;
		char reason[1000];

		for (int i = 1; i < depth; i++)
			buf_add_lit(&text, "{\"left\":");
		buf_add_lit(&text, "{}");
		for (int i = 1; i < depth; i++)
			buf_addc(&text, '}');
		assert_int_equal(pb_json_read(&pbtest__tree__descriptor,
					      (struct str){ text.p, text.n }, a, &message, reason,
					      sizeof(reason)),
				 depth == 32 ? 0 : -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_as_numbers_or_strings_in_either_spelling),
		cmocka_unit_test(whole_numbers_are_not_rounded),
		cmocka_unit_test(other_values_are_read),
		cmocka_unit_test(base64_is_read_with_and_without_padding),
		cmocka_unit_test(maps_lists_and_oneofs_are_read),
		cmocka_unit_test(a_mistake_is_named_with_its_place),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(the_place_of_a_mistake_in_the_text_is_told),
		cmocka_unit_test(objects_nest_so_deep_and_no_deeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
