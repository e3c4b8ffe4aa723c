/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "lib/yaml/yaml.h"

/* The result of one parse. */
struct parsed {
	struct arena *arena;
	struct errs errors;
	const struct yaml_node *root;
	int r;
};

static struct parsed parse_bytes(const char *bytes, size_t n)
{
	struct parsed p = { .arena = arena_new() };

	p.errors.arena = p.arena;
	p.r = yaml_parse(bytes, n, p.arena, &p.root, &p.errors);
	return p;
}

static struct parsed parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static struct parsed parse_good(const char *text)
{
	struct parsed p = parse(text);

	if (p.errors.n)
		fail_msg("%s: %s", text, p.errors.items[0].text);
	assert_int_equal(p.r, 0);
	assert_non_null(p.root);
	return p;
}

static void assert_error(const struct parsed *p, size_t i, unsigned line, unsigned column,
			 const char *part)
{
	assert_int_equal(p->r, -EINVAL);
	assert_null(p->root);
	assert_true(p->errors.n > i);
	if (!strstr(p->errors.items[i].text, part))
		fail_msg("'%s' has no '%s'", p->errors.items[i].text, part);
	assert_int_equal(p->errors.items[i].at.line, line);
	assert_int_equal(p->errors.items[i].at.column, column);
}

static void assert_refused(const char *text, unsigned line, unsigned column, const char *part)
{
	struct parsed p = parse(text);

	assert_int_equal(p.errors.n, 1);
	assert_error(&p, 0, line, column, part);
	arena_free(p.arena);
}

static const struct yaml_node *get(const struct yaml_node *mapping, const char *key)
{
	assert_int_equal(mapping->kind, YAML_MAPPING);
	for (size_t i = 0; i < mapping->n; i++)
		if (strcmp(mapping->pairs[i].key->text, key) == 0)
			return mapping->pairs[i].value;
	fail_msg("no key '%s'", key);
	return NULL;
}

static void a_document_becomes_a_tree_with_places(void **state)
{
	struct parsed p = parse_good("# comment\n"
				     "name: web\n"
				     "ports: [80, 443]\n"
				     "more:\n"
				     "  deep: yes\n");
	const struct yaml_node *ports = get(p.root, "ports");

	assert_int_equal(p.root->n, 3);
	assert_int_equal(p.root->at.line, 2);
	assert_string_equal(get(p.root, "name")->text, "web");
	assert_int_equal(ports->kind, YAML_SEQUENCE);
	assert_int_equal(ports->n, 2);
	assert_string_equal(ports->items[1]->text, "443");
	assert_int_equal(ports->items[1]->at.line, 3);
	assert_int_equal(ports->items[1]->at.column, 13);
	assert_int_equal(p.root->pairs[2].key->at.line, 4);
	assert_int_equal(p.root->pairs[2].key->at.column, 1);
	assert_string_equal(get(get(p.root, "more"), "deep")->text, "yes");
	arena_free(p.arena);
}

static void scalars_know_whether_they_were_quoted_and_their_type(void **state)
{
	struct parsed p =
		parse_good("[80, '80', \"80\", !!str 80, !!int '80', ! 80, ~, true, 1.5]");
	static const enum yaml_type types[] = {
		YAML_INT,  YAML_TEXT, YAML_TEXT, YAML_TEXT,  YAML_INT,
		YAML_TEXT, YAML_NULL, YAML_BOOL, YAML_FLOAT,
	};

	for (size_t i = 0; i < p.root->n; i++)
		assert_int_equal(p.root->items[i]->type, types[i]);
	assert_true(p.root->items[0]->plain);
	assert_null(p.root->items[0]->tag);
	assert_false(p.root->items[1]->plain);
	assert_string_equal(p.root->items[3]->tag, "tag:yaml.org,2002:str");
	arena_free(p.arena);
}

static void columns_count_characters_and_not_a_byte_order_mark(void **state)
{
	struct parsed p = parse_good("\xef\xbb\xbfgr\xc3\xbc\xc3\x9f: e");

	assert_string_equal(get(p.root, "gr\xc3\xbc\xc3\x9f")->text, "e");
	assert_int_equal(p.root->pairs[0].key->at.column, 1);
	assert_int_equal(p.root->pairs[0].value->at.column, 7);
	arena_free(p.arena);
}

static void aliases_share_the_node_of_their_anchor(void **state)
{
	struct parsed p = parse_good("a: &x {k: v}\nb: *x\nc: &x 2\nd: *x\n");

	assert_ptr_equal(get(p.root, "a"), get(p.root, "b"));
	assert_string_equal(get(p.root, "d")->text, "2");
	arena_free(p.arena);
}

static void merge_keys_fill_in_what_the_mapping_does_not_say(void **state)
{
	struct parsed p = parse_good("base: &base {a: 1, b: 1}\n"
				     "more: &more {b: 2, c: 2}\n"
				     "one: {<<: *base, b: 9}\n"
				     "two: {<<: [*base, *more], d: 4}\n"
				     "three: &three {<<: *base, e: 5}\n"
				     "four: {<<: *three}\n"
				     "five: {'<<': text}\n");
	const struct yaml_node *two = get(p.root, "two"), *four = get(p.root, "four");

	assert_string_equal(get(get(p.root, "one"), "b")->text, "9");
	assert_string_equal(get(get(p.root, "one"), "a")->text, "1");
	assert_int_equal(get(p.root, "one")->n, 2);
	assert_int_equal(two->n, 4);
	assert_string_equal(two->pairs[0].key->text, "d");
	assert_string_equal(get(two, "b")->text, "1");
	assert_string_equal(get(two, "c")->text, "2");
	assert_int_equal(four->n, 3);
	assert_string_equal(get(get(p.root, "five"), "<<")->text, "text");
	arena_free(p.arena);
}

static void a_merge_of_anything_but_mappings_is_refused(void **state)
{
	assert_refused("a: {<<: text}", 1, 9, "'<<' takes a mapping");
	assert_refused("a: {<<: [{b: 1}, 2]}", 1, 18, "not a number");
	assert_refused("a: {<<: {b: 1}, <<: {c: 2}}", 1, 17, "first at line 1, column 5");
}

static void every_duplicate_key_is_told_with_both_places(void **state)
{
	struct parsed p = parse("top:\n  a: 1\n  b: 2\n  a: 3\nlist:\n- x: 1\n  \"x\": 2\n");

	assert_int_equal(p.errors.n, 2);
	assert_error(&p, 0, 4, 3, "duplicate key, first at line 2, column 3");
	assert_string_equal(p.errors.items[0].key, "top.a");
	assert_error(&p, 1, 7, 3, "first at line 6, column 3");
	assert_string_equal(p.errors.items[1].key, "list[0].x");
	arena_free(p.arena);
}

static void exactly_one_document_is_taken(void **state)
{
	assert_refused("", 1, 1, "the document is empty");
	assert_refused("# only a comment\n", 1, 1, "the document is empty");
	assert_refused("---\n...\n", 1, 1, "the document is empty");
	assert_refused("a: 1\n---\nb: 2\n", 2, 1, "second document");
	arena_free(parse_good("--- {a: 1}\n...\n").arena);
}

static void broken_syntax_is_told_with_its_place(void **state)
{
	assert_refused("a: 1\n\tb: 2\n", 2, 1, "found a tab character that violates indentation");
	assert_refused("a:\n\tb: 2\n", 2, 1, "found character that cannot start any token");
	assert_refused("a: [1, 2\nb: 3\n", 2, 2, "did not find expected ',' or ']'");
	assert_refused("a: 'open\n", 2, 1, "found unexpected end of stream");
	assert_refused("a: b: c\n", 1, 5, "mapping values are not allowed");
	assert_refused("%YAML 9.9\n--- a\n", 1, 1, "incompatible YAML document");
}

static void bytes_that_are_no_text_are_told_with_their_place(void **state)
{
	static const char utf16[] = "\xff\xfe"
				    "a\0:\0";
	struct parsed p;

	assert_refused("a: 1\nb: \xc3\xbc\xff\n", 2, 5, "invalid leading UTF-8 octet");
	assert_refused("a: 1\r\nb: 1\rc: \xff\n", 3, 4, "invalid leading UTF-8 octet");
	assert_refused("a: \x01\n", 1, 4, "control characters are not allowed");
	assert_refused("a: \xed\xa0\x80\n", 1, 4, "invalid Unicode character");
	assert_refused("a: \"x\\0y\"\n", 1, 4, "must not contain NUL");
	p = parse_bytes("a: \0b\n", 6);
	assert_error(&p, 0, 1, 4, "control characters are not allowed");
	arena_free(p.arena);
	p = parse_bytes(utf16, sizeof(utf16) - 1);
	assert_error(&p, 0, 1, 1, "invalid leading UTF-8 octet");
	arena_free(p.arena);
}

static void unknown_tags_and_lying_tags_are_refused(void **state)
{
	assert_refused("a: !secret x", 1, 4, "tag '!secret' is not known");
	assert_refused("a: !!int x", 1, 4, "'x' does not read as its tag");
	assert_refused("a: !!set {x}", 1, 4, "is not known");
	assert_refused("a: !!map [x]", 1, 4, "is not known");
	arena_free(parse_good("a: !!map {b: !!seq [c]}").arena);
}

/* Escapes in a tag are the one text that libyaml does not check for UTF-8. */
static void a_tag_that_is_no_text_is_shown_escaped(void **state)
{
	assert_refused("a: !%c0%80 x", 1, 4, "tag '!\\xc0\\x80' is not known");
	assert_refused("a: !%ed%a0%80 {}", 1, 4, "tag '!\\xed\\xa0\\x80' is not known");
	assert_refused("a: !%f7%bf%bf%bf []", 1, 4, "tag '!\\xf7\\xbf\\xbf\\xbf' is not known");
	assert_refused("%TAG !e! tag:%c0%80,\n--- !e!x y", 2, 5,
		       "tag 'tag:\\xc0\\x80,x' is not known");
}

/* libyaml compares each %TAG with all previous ones, so many of them take quadratic time. */
static void tag_directives_are_few(void **state)
{
	struct buf text = { 0 };
	struct parsed p;

	for (int i = 0; i < 17; i++)
		buf_printf(&text, "%%TAG !a%d! b\n", i);
	buf_adds(&text, "--- x");
	assert_refused(buf_cstr(&text), 17, 1, "more than 16 %TAG directives");
	p = parse_good(buf_cstr(&text) + sizeof("%TAG !a0! b"));
	arena_free(p.arena);
	buf_free(&text);
}

static void keys_are_single_words_of_bounded_length(void **state)
{
	char text[YAML_MAX_KEY + 64];

	assert_refused("a: {[b]: c}", 1, 5, "a key must be a single word, not a list");
	assert_refused("? {b: 1}\n: c", 1, 3, "a key must be a single word, not a mapping");
	memset(text, 'k', sizeof(text));
	memcpy(text, "? ", 2);
	memcpy(text + YAML_MAX_KEY + 3, "\n: v", 5);
	assert_refused(text, 1, 3, "too long");
}

static void an_alias_needs_a_finished_anchor(void **state)
{
	assert_refused("a: *x", 1, 4, "there is no anchor 'x'");
	assert_refused("a: &x [1, *x]", 1, 11, "inside its own anchor");
	assert_refused("&x a: {b: 1}\nc: &y {<<: *y}", 2, 12, "inside its own anchor");
}

static void nesting_is_bounded_also_through_aliases(void **state)
{
	char text[2 * YAML_MAX_DEPTH + 3] = "", *close = text + YAML_MAX_DEPTH + 1;
	struct buf half = { 0 };

	memset(text, '[', YAML_MAX_DEPTH);
	memset(text + YAML_MAX_DEPTH, ']', YAML_MAX_DEPTH);
	arena_free(parse_good(text).arena);
	memset(text, '[', YAML_MAX_DEPTH + 1);
	memset(close, ']', YAML_MAX_DEPTH + 1);
	assert_refused(text, 1, YAML_MAX_DEPTH + 1, "nested deeper than 64 levels");

	buf_printf(&half, "a: &x %.40s%.40s\nb: %.40s*x%.40s\n", text, close, text, close);
	assert_refused(buf_cstr(&half), 2, 44, "nested deeper than 64 levels");
	buf_free(&half);
}

static void a_hundred_thousand_open_brackets_end_at_once(void **state)
{
	size_t n = 100000;
	char *text = mem_alloc(n);
	struct parsed p;

	memset(text, '[', n);
	p = parse_bytes(text, n);
	assert_error(&p, 0, 1, YAML_MAX_DEPTH + 1, "nested deeper");
	arena_free(p.arena);
	for (size_t i = 0; i < n; i++)
		text[i] = "? - "[i % 4];
	p = parse_bytes(text, n);
	assert_int_equal(p.r, -EINVAL);
	arena_free(p.arena);
	free(text);
}

/* Each level holds the previous one ten times: 10^levels values in a few hundred bytes. */
static struct buf laughs(int levels, bool maps)
{
	struct buf b = { 0 };

	buf_adds(&b, maps ? "l0: &l0 {}\n" : "l0: &l0 []\n");
	for (int i = 1; i <= levels; i++) {
		buf_printf(&b, "l%d: &l%d %s", i, i, maps ? "{" : "[");
		for (int j = 0; j < 10; j++) {
			if (maps)
				buf_printf(&b, "k%d: ", j);
			buf_printf(&b, "*l%d, ", i - 1);
		}
		buf_adds(&b, maps ? "}\n" : "]\n");
	}
	return b;
}

static void a_billion_laughs_is_an_error_and_costs_little(void **state)
{
	for (int maps = 0; maps < 2; maps++) {
		struct buf text = laughs(9, maps);
		struct parsed p = parse_bytes(text.p, text.n);

		assert_int_equal(p.errors.n, 1);
		assert_true(strstr(p.errors.items[0].text, "once aliases are followed"));
		assert_int_equal(p.errors.items[0].at.line, 7);
		assert_true(arena_used(p.arena) < 64 * 1024);
		arena_free(p.arena);
		buf_free(&text);
	}
}

static void merging_one_large_mapping_many_times_is_bounded(void **state)
{
	struct buf b = { 0 };
	struct parsed p;

	buf_adds(&b, "big: &big {");
	for (int i = 0; i < 2000; i++)
		buf_printf(&b, "k%d: v, ", i);
	buf_adds(&b, "}\n");
	for (int i = 0; i < 2000; i++)
		buf_printf(&b, "m%d: {<<: *big}\n", i);
	p = parse_bytes(b.p, b.n);
	assert_int_equal(p.r, -EINVAL);
	assert_true(strstr(p.errors.items[0].text, "once aliases are followed"));
	assert_true(arena_used(p.arena) < 32 * 1024 * 1024);
	arena_free(p.arena);
	buf_free(&b);
}

static void a_document_above_the_size_limit_is_not_even_looked_at(void **state)
{
	size_t n = 10 * 1024 * 1024;
	char *text = mem_alloc(n);
	struct parsed p;

	memset(text, 'x', n);
	p = parse_bytes(text, n);
	assert_error(&p, 0, 0, 0, "10485760 bytes are too many; the limit is 4194304");
	assert_true(arena_used(p.arena) < 32 * 1024);
	arena_free(p.arena);
	p = parse_bytes(text, YAML_MAX_BYTES);
	assert_int_equal(p.r, 0);
	arena_free(p.arena);
	free(text);
}

static void messages_repeat_the_document_only_as_one_readable_line(void **state)
{
	struct arena *a = arena_new();
	char longer[200];
	struct yaml_path up = { .key = "na\nme" }, path = { .up = &up, .index = 3 };

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_string_equal(yaml_shown("a\nb\x7f\xc2\x85\xc3\xbc", a),
			    "a\\x0ab\\x7f\\u0085\xc3\xbc");
	assert_int_equal(strlen(yaml_shown(longer, a)), 64 + 3);
	assert_string_equal(yaml_path_format(&path, a), "na\\x0ame[3]");
	assert_string_equal(yaml_path_format(NULL, a), "");
	assert_true(yaml_printable("gr\xc3\xbc\xc3\x9f"));
	assert_false(yaml_printable("a\tb"));
	assert_false(yaml_printable("\xc2\x9b"));
	arena_free(a);
}

static void errors_elsewhere_do_not_spoil_a_good_document(void **state)
{
	struct arena *a = arena_new();
	struct errs errors = { .arena = a };
	const struct yaml_node *root = NULL;

	errs_add(&errors, (struct place){ .line = 1, .column = 1 }, "", "from another file");
	assert_int_equal(yaml_parse("a: 1", 4, a, &root, &errors), 0);
	assert_non_null(root);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_becomes_a_tree_with_places),
		cmocka_unit_test(scalars_know_whether_they_were_quoted_and_their_type),
		cmocka_unit_test(columns_count_characters_and_not_a_byte_order_mark),
		cmocka_unit_test(aliases_share_the_node_of_their_anchor),
		cmocka_unit_test(merge_keys_fill_in_what_the_mapping_does_not_say),
		cmocka_unit_test(a_merge_of_anything_but_mappings_is_refused),
		cmocka_unit_test(every_duplicate_key_is_told_with_both_places),
		cmocka_unit_test(exactly_one_document_is_taken),
		cmocka_unit_test(broken_syntax_is_told_with_its_place),
		cmocka_unit_test(bytes_that_are_no_text_are_told_with_their_place),
		cmocka_unit_test(unknown_tags_and_lying_tags_are_refused),
		cmocka_unit_test(a_tag_that_is_no_text_is_shown_escaped),
		cmocka_unit_test(tag_directives_are_few),
		cmocka_unit_test(keys_are_single_words_of_bounded_length),
		cmocka_unit_test(an_alias_needs_a_finished_anchor),
		cmocka_unit_test(nesting_is_bounded_also_through_aliases),
		cmocka_unit_test(a_hundred_thousand_open_brackets_end_at_once),
		cmocka_unit_test(a_billion_laughs_is_an_error_and_costs_little),
		cmocka_unit_test(merging_one_large_mapping_many_times_is_bounded),
		cmocka_unit_test(a_document_above_the_size_limit_is_not_even_looked_at),
		cmocka_unit_test(messages_repeat_the_document_only_as_one_readable_line),
		cmocka_unit_test(errors_elsewhere_do_not_spoil_a_good_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
