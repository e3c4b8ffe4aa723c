/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/json/json.h"

struct fixture {
	struct arena *arena;
	struct errs errors;
	struct buf out;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = arena_new();
	f->errors.arena = f->arena;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_free(f->arena);
	buf_free(&f->out);
	free(f);
	return 0;
}

static const struct json_node *parse(struct fixture *f, const char *text)
{
	const struct json_node *root = NULL;

	assert_int_equal(json_parse(str_of(text), NULL, f->arena, &root, &f->errors), 0);
	assert_int_equal(f->errors.n, 0);
	return root;
}

static void check_complaints(struct fixture *f, const char *text, const char *want)
{
	const struct json_node *root = NULL;

	f->errors.n = f->out.n = 0;
	assert_int_equal(json_parse(str_of(text), NULL, f->arena, &root, &f->errors), -EINVAL);
	assert_null(root);
	errs_sort(&f->errors);
	errs_print(&f->errors, "x.json", &f->out);
	assert_string_equal(buf_cstr(&f->out), want);
}

static void a_document_becomes_a_tree_with_places(void **state)
{
	const struct json_node *root =
		parse(*state, "{\"name\": \"gr\\u00fcn\",\n"
			      " \"list\": [1, -2.50, true, null, {}, []]}\n");
	const struct json_node *name = json_find(root, "name"), *list = json_find(root, "list");

	assert_int_equal(root->kind, JSON_KIND_OBJECT);
	assert_int_equal(root->n, 2);
	assert_string_equal(root->members[1].key, "list");
	assert_int_equal(root->members[1].at.line, 2);
	assert_int_equal(root->members[1].at.column, 2);
	assert_int_equal(name->kind, JSON_KIND_STRING);
	assert_string_equal(name->text, "gr\xc3\xbcn");
	assert_int_equal(name->n, 5);
	assert_int_equal(name->at.column, 10);
	assert_int_equal(list->kind, JSON_KIND_ARRAY);
	assert_int_equal(list->n, 6);
	assert_int_equal(list->items[1].kind, JSON_KIND_NUMBER);
	assert_string_equal(list->items[1].text, "-2.50");
	assert_int_equal(list->items[1].at.line, 2);
	assert_int_equal(list->items[1].at.column, 14);
	assert_true(list->items[2].kind == JSON_KIND_BOOL && list->items[2].truth);
	assert_int_equal(list->items[3].kind, JSON_KIND_NULL);
	assert_true(list->items[4].kind == JSON_KIND_OBJECT && list->items[4].n == 0);
	assert_true(list->items[5].kind == JSON_KIND_ARRAY && list->items[5].n == 0);
	assert_null(json_find(root, "nam"));
	assert_null(json_find(list, "name"));
	assert_null(json_find(NULL, "name"));
}

static void a_document_may_be_a_single_value(void **state)
{
	assert_int_equal(parse(*state, "false")->kind, JSON_KIND_BOOL);
	assert_string_equal(parse(*state, " 17 ")->text, "17");
	assert_string_equal(parse(*state, "\"\"")->text, "");
}

static void complaints_look_like_those_of_yaml(void **state)
{
	check_complaints(*state, "{\n \"a\": 1,\n}",
			 "x.json:3:1: a key in double quotes is wanted, not '}'\n");
	check_complaints(*state, "[1] 2", "x.json:1:5: the end of the text is wanted, not '2'\n");
	check_complaints(*state, "", "x.json:1:1: a value is wanted, not the end of the text\n");
	check_complaints(*state, "{\"a\":\"\\u0000\"}",
			 "x.json:1:7: a string must not contain NUL\n");
}

static void every_duplicate_key_is_told_with_its_path(void **state)
{
	check_complaints(*state, "{\"a\":1,\"a\":2}",
			 "x.json:1:8: a: duplicate key, first at line 1, column 2\n");
	check_complaints(*state, "{\"a\":1,\"\\u0061\":2}",
			 "x.json:1:8: a: duplicate key, first at line 1, column 2\n");
	check_complaints(*state, "{\"\":1,\"\":2}",
			 "x.json:1:7: duplicate key, first at line 1, column 2\n");
	check_complaints(
		*state,
		"{\"x\": [0, {\"b\":1,\"c\":2,\"b\":3,\"b\":4}],\n \"y\": 1, \"x\": 2, \"y\": 3}",
		"x.json:1:24: x[1].b: duplicate key, first at line 1, column 12\n"
		"x.json:1:30: x[1].b: duplicate key, first at line 1, column 12\n"
		"x.json:2:10: x: duplicate key, first at line 1, column 2\n"
		"x.json:2:18: y: duplicate key, first at line 2, column 2\n");
	/* the text after a duplicate is still checked */
	check_complaints(*state, "[{\"a\":1,\"a\":2}",
			 "x.json:1:9: [0].a: duplicate key, first at line 1, column 3\n"
			 "x.json:1:15: ',' or ']' is wanted, not the end of the text\n");
	check_complaints(*state, "{\"a\":1,\"a\":2} x",
			 "x.json:1:8: a: duplicate key, first at line 1, column 2\n"
			 "x.json:1:15: the end of the text is wanted, not 'x'\n");
}

static void many_keys_are_checked_and_keep_their_order(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_free) struct buf text = { 0 };
	const struct json_node *root;

	buf_addc(&text, '{');
	for (unsigned i = 0; i < 1000; i++)
		buf_printf(&text, "%s\"%u\":%u", i ? "," : "", i * 7919 % 1000, i);
	buf_addc(&text, '}');
	root = parse(f, buf_cstr(&text));
	assert_int_equal(root->n, 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(strtoul(root->members[i].value.text, NULL, 10) == i);
	text.n--;
	buf_adds(&text, ",\n\"21\":1,\"33\":2,\"33\":3}");
	check_complaints(f, buf_cstr(&text),
			 "x.json:2:1: 21: duplicate key, first at line 1, column 2451\n"
			 "x.json:2:8: 33: duplicate key, first at line 1, column 3915\n"
			 "x.json:2:15: 33: duplicate key, first at line 1, column 3915\n");
}

static void limits_of_the_caller_hold(void **state)
{
	struct fixture *f = *state;
	struct json_options options = { .limits = { .depth = 2, .members = 3 } };
	const struct json_node *root = NULL;

	assert_int_equal(json_parse(STR("[[1],2]"), &options, f->arena, &root, &f->errors), 0);
	root = NULL;
	assert_int_equal(json_parse(STR("[[1],2,3]"), &options, f->arena, &root, &f->errors),
			 -EINVAL);
	assert_int_equal(json_parse(STR("[[[]]]"), &options, f->arena, &root, &f->errors), -EINVAL);
	assert_null(root);
	assert_string_equal(f->errors.items[0].text, "more than 3 members and elements");
	assert_string_equal(f->errors.items[1].text, "nested deeper than 2 levels");
}

/* ---- streams ---- */

static void trees_come_out_of_a_stream_as_they_are_complete(void **state)
{
	static const char text[] =
		"{\"type\":\"ADDED\",\"object\":{\"n\":[1,2]}}\n{\"type\":\"X\"}7 ";
	struct fixture *f = *state;
	struct json_options options = { .stream = true, .no_nul = true };
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(&options);
	_cleanup_(json_builder_freep) struct json_builder *b = json_builder_new(r, &f->errors);

	for (size_t i = 0; text[i]; i++) {
		const struct json_node *root = NULL;

		json_feed(r, &text[i], 1);
		while (json_build(b, NULL, f->arena, &root) > 0)
			buf_printf(&f->out, "%zu:%s ", i, json_describe(root->kind));
	}
	assert_string_equal(buf_cstr(&f->out), "36:an object 49:an object 51:a number ");
	json_end(r);
	assert_int_equal(json_build(b, NULL, f->arena, &(const struct json_node *){ NULL }), 0);
	assert_null(json_error(r));
}

/* Only the selected values become trees; the list around them is never in memory as a whole. */
static void parts_of_a_text_can_be_built(void **state)
{
	static const char text[] =
		"{\"meta\":{\"v\":\"7\"},\"junk\":[{}],\"items\":[{\"a\":1},2,[3]]}";
	struct fixture *f = *state;

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct json_options options = { .no_nul = true };
		_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(&options);
		_cleanup_(json_builder_freep) struct json_builder *b =
			json_builder_new(r, &f->errors);
		const struct json_node *root = NULL;
		struct json_token t = { .kind = JSON_TOKEN_DOCUMENT_END };
		bool want = false, in_items = false;
		size_t at = 0;

		f->out.n = 0;
		for (;;) {
			size_t left = sizeof(text) - 1 - at, n = left < piece ? left : piece;
			int e = want ? json_build(b, in_items ? &t : NULL, f->arena, &root)
				     : json_next(r, &t);

			assert_true(e >= 0);
			if (e == 0 && !n)
				break;
			if (e == 0) {
				json_feed(r, text + at, n);
				at += n;
				continue;
			}
			if (want)
				buf_printf(&f->out, "%s ", json_describe(root->kind));
			want = !want &&
			       ((t.kind == JSON_TOKEN_KEY && str_eq(t.text, STR("meta"))) ||
				(in_items && t.kind != JSON_TOKEN_ARRAY_END));
			if (t.kind == JSON_TOKEN_KEY && str_eq(t.text, STR("junk")))
				json_skip(r);
			if (t.kind == JSON_TOKEN_ARRAY && json_depth(r) == 2)
				in_items = true;
			else if (t.kind == JSON_TOKEN_ARRAY_END)
				in_items = false;
		}
		assert_string_equal(buf_cstr(&f->out), "an object an object a number an array ");
	}
}

static void a_stream_goes_on_after_duplicate_keys(void **state)
{
	struct fixture *f = *state;
	struct json_options options = { .stream = true, .no_nul = true };
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(&options);
	_cleanup_(json_builder_freep) struct json_builder *b = json_builder_new(r, &f->errors);
	const struct json_node *root = NULL;
	struct str text = STR("{\"a\":1,\"a\":2}\n{\"a\":3}\n{");

	json_feed(r, text.p, text.n);
	json_end(r);
	assert_int_equal(json_build(b, NULL, f->arena, &root), -EINVAL);
	assert_null(json_error(r));
	assert_int_equal(json_build(b, NULL, f->arena, &root), 1);
	assert_string_equal(json_find(root, "a")->text, "3");
	assert_int_equal(json_build(b, NULL, f->arena, &root), -EINVAL);
	assert_non_null(json_error(r));
	assert_int_equal(f->errors.n, 2);
}

/* Texts of all lengths around the size of a chunk do not overwrite each other. */
static void texts_of_any_length_are_kept(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_free) struct buf text = { 0 };
	const struct json_node *root;

	buf_addc(&text, '[');
	for (size_t n = 0; n < 9000; n += 1 + n / 3) {
		_cleanup_(buf_free) struct buf one = { 0 };

		for (size_t i = 0; i < n; i++)
			buf_addc(&one, (char)('a' + (i + n) % 26));
		buf_adds(&text, n ? "," : "");
		json_write_string(&text, buf_cstr(&one), n);
	}
	buf_addc(&text, ']');
	root = parse(f, buf_cstr(&text));
	for (size_t n = 0, i = 0; n < 9000; n += 1 + n / 3, i++) {
		assert_int_equal(root->items[i].n, n);
		assert_int_equal(strlen(root->items[i].text), n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(root->items[i].text[k], 'a' + (k + n) % 26);
	}
}

static void a_tree_is_written_as_it_was_read(void **state)
{
	static const char text[] =
		"{\"a\":[1,-2.50e3,\"x\\n\\\"\",true,false,null,{}],\"b\":{\"c\":[]}}";
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf out = { 0 };
	struct errs errors = { .arena = arena };
	const struct json_node *root;

	assert_int_equal(json_parse(str_of(text), NULL, arena, &root, &errors), 0);
	json_write_tree(&out, root);
	assert_string_equal(buf_cstr(&out), text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_document_becomes_a_tree_with_places),
		TEST(a_document_may_be_a_single_value),
		TEST(a_tree_is_written_as_it_was_read),
		TEST(complaints_look_like_those_of_yaml),
		TEST(every_duplicate_key_is_told_with_its_path),
		TEST(many_keys_are_checked_and_keep_their_order),
		TEST(limits_of_the_caller_hold),
		TEST(trees_come_out_of_a_stream_as_they_are_complete),
		TEST(parts_of_a_text_can_be_built),
		TEST(a_stream_goes_on_after_duplicate_keys),
		TEST(texts_of_any_length_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
