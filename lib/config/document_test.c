/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader with a small schema. wire/config_yaml_test.c has more: every shape and every error,
 * with the schema of maglev.yaml.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/units.h"
#include "lib/config/document.h"

#define DOOR_KEYS(X)                                                                               \
	X("colour", TEXT, colour, schema_text, colour)                                             \
	X("width", INT, width, schema_uint, width, .vital = true)                                  \
	X("opens", DURATION, opens, schema_duration, opens)                                        \
	X("signs", WORDS, signs, schema_texts, signs)                                              \
	X("locked", BOOL, locked, schema_bool, locked)

struct doc_door {
	const char *name;
	struct place at;
	DOOR_KEYS(SCHEMA_MEMBER)
	struct doc_pairs keys;
};

struct doc_house {
	const struct doc_door *doors;
	size_t n_doors;
};

struct door {
	const char *colour;
	unsigned width;
	int64_t opens;
	struct schema_texts signs;
	bool locked;
};

#define DOOR(...) SCHEMA_ROW(doc_door, door, __VA_ARGS__)
static const struct schema_field door_fields[] = {
	DOOR_KEYS(DOOR){
		.key = "keys", .shape = SCHEMA_PAIRS, .offset = offsetof(struct doc_door, keys) },
};
static const struct schema_section door = {
	SCHEMA_FIELDS(door_fields),
	.doc_size = sizeof(struct doc_door),
	.doc_name = offsetof(struct doc_door, name),
	.has_at = true,
	.doc_at = offsetof(struct doc_door, at),
};
static const struct schema_field house_fields[] = {
	SCHEMA_ARRAY("doors", NAMED, doc_house, doors, door, .vital = true),
};
static const struct schema_section house = { SCHEMA_FIELDS(house_fields) };
static const struct schema_section strict_house = { SCHEMA_FIELDS(house_fields),
						    .needs_first = true };

struct parsed {
	struct arena *arena;
	struct errs errors;
	struct doc_house doc;
	int r;
};

static struct parsed parse(const char *text, const struct schema_section *root,
			   enum config_mode mode)
{
	struct parsed p = { .arena = arena_new() };

	p.errors.arena = p.arena;
	p.r = config_document_parse(str_of(text), mode, root, p.arena, &p.doc, &p.errors);
	return p;
}

static struct parsed parse_json(const char *text, const struct schema_section *root)
{
	struct parsed p = { .arena = arena_new() };

	p.errors.arena = p.arena;
	p.r = config_document_parse_json(str_of(text), CONFIG_STRICT, root, p.arena, &p.doc,
					 &p.errors);
	return p;
}

static void assert_told(struct parsed p, const char *want)
{
	struct buf out = { 0 };

	errs_print(&p.errors, "f", &out);
	assert_string_equal(buf_cstr(&out), want);
	assert_int_equal(p.r, *want ? -EINVAL : 0);
	buf_free(&out);
	arena_free(p.arena);
}

static void assert_complaints(const char *text, const struct schema_section *root, const char *want)
{
	assert_told(parse(text, root, CONFIG_STRICT), want);
}

static void assert_json_complaints(const char *text, const char *want)
{
	assert_told(parse_json(text, &house), want);
}

static void values_arrive_with_their_places(void **state)
{
	struct parsed p = parse("doors:\n  front: { colour: red, width: 90, signs: [push, 1] }\n"
				"  back:\n    opens: 3s\n",
				&house, CONFIG_STRICT);

	assert_int_equal(p.r, 0);
	assert_int_equal(p.doc.n_doors, 2);
	assert_string_equal(p.doc.doors[0].name, "front");
	assert_int_equal(p.doc.doors[0].at.line, 2);
	assert_string_equal(p.doc.doors[0].colour.v, "red");
	assert_int_equal(p.doc.doors[0].width.v, 90);
	assert_int_equal(p.doc.doors[0].width.at.column, 32);
	assert_int_equal(p.doc.doors[0].signs.n, 2);
	assert_string_equal(p.doc.doors[0].signs.items[1].v, "1");
	assert_false(p.doc.doors[0].opens.set);
	assert_int_equal(p.doc.doors[1].opens.v, 3 * NSEC_PER_SEC);
	arena_free(p.arena);
}

static void all_mistakes_are_told_at_once(void **state)
{
	assert_complaints("doors:\n  front: { color: red, width: wide, opens: 3 }\n  back: 1\n",
			  &house,
			  "f:2:12: doors.front.color: unknown key; did you mean 'colour'?\n"
			  "f:2:31: doors.front.width: must be a whole number, not text\n"
			  "f:2:44: doors.front.opens: durations carry a unit: 2s, 500ms\n"
			  "f:3:9: doors.back: must be a mapping, not a number\n");
}

static void a_document_may_want_its_first_key(void **state)
{
	assert_complaints("{}", &house, "");
	assert_complaints("{}", &strict_house, "f:1:1: the key 'doors' is missing\n");
	assert_complaints("[]", &house, "f:1:1: the document must be a mapping, not a list\n");
	assert_complaints(
		"[]", &strict_house,
		"f:1:1: the document must be a mapping with the key 'doors', not a list\n");
}

static void a_lenient_reader_is_strict_about_what_is_vital(void **state)
{
	struct parsed p = parse("doors: { front: { color: red, colour: 3, width: 9 } }\n", &house,
				CONFIG_LENIENT);

	assert_int_equal(p.r, 0);
	assert_int_equal(p.doc.doors[0].width.v, 9);
	assert_false(p.doc.doors[0].colour.set);
	arena_free(p.arena);
	p = parse("doors: { front: { color: red, width: wide } }\n", &house, CONFIG_LENIENT);
	assert_int_equal(p.r, -EINVAL);
	assert_int_equal(p.errors.n, 1);
	arena_free(p.arena);
}

static void free_names_have_words(void **state)
{
	struct parsed p = parse("doors: { front: { keys: { Ann: brass, bob: 2 } } }\n", &house,
				CONFIG_STRICT);
	const struct doc_pairs *keys = &p.doc.doors[0].keys;

	assert_int_equal(p.r, 0);
	assert_true(keys->set && keys->n == 2);
	assert_string_equal(keys->items[0].name.v, "Ann");
	assert_int_equal(keys->items[0].name.at.column, 27);
	assert_string_equal(keys->items[1].value.v, "2");
	arena_free(p.arena);
	assert_complaints("doors: { front: { keys: [Ann] } }", &house,
			  "f:1:25: doors.front.keys: must be a mapping, not a list\n");
	assert_complaints("doors: { front: { keys: { Ann: [] } } }", &house,
			  "f:1:32: doors.front.keys.Ann: must be text, not a list\n");
}

static void json_fills_the_same_struct(void **state)
{
	struct parsed p =
		parse_json("{\"doors\": {\"front\": {\"colour\": \"red\", \"width\": 90,\n"
			   "\"signs\": [\"push\", 1], \"opens\": \"3s\",\n"
			   "\"locked\": true, \"keys\": {\"Ann\": \"brass\"}},\n"
			   "\"back\": {\"colour\": null, \"signs\": null}}}",
			   &house);
	const struct doc_door *d = p.doc.doors;

	assert_int_equal(p.r, 0);
	assert_int_equal(p.doc.n_doors, 2);
	assert_string_equal(d[0].name, "front");
	assert_string_equal(d[0].colour.v, "red");
	assert_true(d[0].width.set && d[0].width.v == 90);
	assert_int_equal(d[0].width.at.column, 48);
	assert_int_equal(d[0].signs.n, 2);
	assert_string_equal(d[0].signs.items[1].v, "1");
	assert_int_equal(d[0].opens.v, 3 * NSEC_PER_SEC);
	assert_true(d[0].locked.set && d[0].locked.v && d[0].locked.at.line == 3);
	assert_string_equal(d[0].keys.items[0].value.v, "brass");
	assert_false(d[1].colour.set || d[1].signs.set);
	arena_free(p.arena);
}

static void json_has_the_same_complaints(void **state)
{
	assert_json_complaints(
		"{\"doors\": {\"front\": {\"color\": 1, \"width\": \"9\", \"opens\": 3,\n"
		"\"locked\": \"yes\", \"signs\": [null]}, \"back\": 1, \"\": {}}}",
		"f:1:22: doors.front.color: unknown key; did you mean 'colour'?\n"
		"f:1:43: doors.front.width: must be a whole number, not quoted text\n"
		"f:1:57: doors.front.opens: durations carry a unit: 2s, 500ms\n"
		"f:2:11: doors.front.locked: must be true or false, not quoted text\n"
		"f:2:28: doors.front.signs[0]: has no value; write text, or leave the key out\n"
		"f:2:44: doors.back: must be a mapping, not a number\n"
		"f:2:47: doors.: a name must not be empty\n");
	assert_json_complaints("{\"doors\": {\"a\": {\"width\": 1e1}, \"b\": {\"width\": 5.0}}}",
			       "f:1:27: doors.a.width: must be a whole number, not a number with a "
			       "fraction\n"
			       "f:1:48: doors.b.width: must be a whole number, not a number with a "
			       "fraction\n");
	assert_json_complaints("[]", "f:1:1: the document must be a mapping, not a list\n");
	assert_json_complaints("{\"doors\": {}, \"doors\": {}}",
			       "f:1:15: doors: duplicate key, first at line 1, column 2\n");
	assert_json_complaints("{doors: {}}",
			       "f:1:2: a key in double quotes or '}' is wanted, not 'd'\n");
}

static void complaints_have_codes_for_programs(void **state)
{
	struct parsed p = parse_json("{\"windows\": {}, \"doors\": 1}", &house);

	assert_int_equal(p.errors.n, 2);
	assert_string_equal(p.errors.items[0].code, CONFIG_CODE_KEY);
	assert_string_equal(p.errors.items[1].code, CONFIG_CODE_VALUE);
	arena_free(p.arena);
	p = parse_json("{", &house);
	assert_null(p.errors.items[0].code);
	arena_free(p.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_arrive_with_their_places),
		cmocka_unit_test(all_mistakes_are_told_at_once),
		cmocka_unit_test(a_document_may_want_its_first_key),
		cmocka_unit_test(a_lenient_reader_is_strict_about_what_is_vital),
		cmocka_unit_test(free_names_have_words),
		cmocka_unit_test(json_fills_the_same_struct),
		cmocka_unit_test(json_has_the_same_complaints),
		cmocka_unit_test(complaints_have_codes_for_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
