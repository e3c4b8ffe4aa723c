/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "proto/maglev.pb-c.h"
#include "src/frontend/listing.h"

static Maglev__FrontendInfo items[3];
static ProtobufCMessage *messages[3];

static void make(const char *a, const char *b, const char *c)
{
	const char *names[] = { a, b, c };

	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		maglev__frontend_info__init(&items[i]);
		items[i].name = (char *)(uintptr_t)names[i];
		messages[i] = &items[i].base;
	}
}

static enum listing_change take(struct listing *l, size_t n, struct buf *out)
{
	out->n = 0;
	listing_begin(l);
	for (size_t i = 0; i < n; i++)
		listing_put(l, messages[i]);
	return listing_end(l, out);
}

static void the_first_list_is_all_new(void **state)
{
	struct listing l = { 0 };
	struct buf out = { 0 }, all = { 0 };

	make("a", "b", "c");
	assert_int_equal(take(&l, 3, &out), LISTING_ALL);
	listing_write(&l, &all);
	assert_string_equal(buf_cstr(&out), buf_cstr(&all));
	assert_true(strncmp(buf_cstr(&out), "[{\"name\":\"a\",", 13) == 0);
	assert_int_equal(out.p[out.n - 1], ']');
	listing_free(&l);
	buf_free(&out);
	buf_free(&all);
}

static void nothing_new_is_nothing_told(void **state)
{
	struct listing l = { 0 };
	struct buf out = { 0 };

	assert_int_equal(take(&l, 0, &out), LISTING_SAME);
	listing_write(&l, &out);
	assert_string_equal(buf_cstr(&out), "[]");
	make("a", "b", "c");
	take(&l, 3, &out);
	assert_int_equal(take(&l, 3, &out), LISTING_SAME);
	assert_int_equal(out.n, 0);
	listing_free(&l);
	buf_free(&out);
}

static void only_what_changed_is_told(void **state)
{
	static char up[] = "up", down[] = "down";
	struct listing l = { 0 };
	struct buf out = { 0 };

	make("a", "b", "c");
	take(&l, 3, &out);
	items[0].state = up;
	items[2].state = down;
	assert_int_equal(take(&l, 3, &out), LISTING_SOME);
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"a\",\"state\":\"up\"},"
					    "{\"name\":\"c\",\"state\":\"down\"}]");
	out.n = 0;
	listing_write(&l, &out); /* the whole list has the changes as well */
	assert_non_null(strstr(buf_cstr(&out), "\"state\":\"down\""));
	listing_free(&l);
	buf_free(&out);
}

/* Texts with quotes and brackets must not confuse the search for members. */
static void a_field_is_told_whole_and_only_it(void **state)
{
	static char name[] = "a\"b\\", text[] = "\\\"}],{[\"", other[] = "\"";
	struct listing l = { 0 };
	struct buf out = { 0 };

	make(name, "b", "c");
	items[0].description = text;
	take(&l, 3, &out);
	items[0].port = 80;
	assert_int_equal(take(&l, 3, &out), LISTING_SOME);
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"a\\\"b\\\\\",\"port\":80}]");
	items[0].description = other;
	items[1].port = 81;
	assert_int_equal(take(&l, 3, &out), LISTING_SOME);
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"a\\\"b\\\\\",\"description\":\"\\\"\"},"
					    "{\"name\":\"b\",\"port\":81}]");
	listing_free(&l);
	buf_free(&out);
}

static void a_field_that_goes_away_is_null(void **state)
{
	Maglev__BackendInfo backend;
	Maglev__Override override;
	static char name[] = "a";
	struct listing l = { 0 };
	struct buf out = { 0 };

	maglev__backend_info__init(&backend);
	maglev__override__init(&override);
	backend.name = name;
	backend.override = &override;
	messages[0] = &backend.base;
	take(&l, 1, &out);
	backend.override = NULL;
	assert_int_equal(take(&l, 1, &out), LISTING_SOME);
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"a\",\"override\":null}]");
	backend.override = &override;
	assert_int_equal(take(&l, 1, &out), LISTING_SOME);
	assert_non_null(strstr(buf_cstr(&out), "\"override\":{"));
	listing_free(&l);
	buf_free(&out);
}

/* The items are kept, but the changes were not published. */
static void a_list_that_did_not_end_is_in_doubt(void **state)
{
	struct listing l = { 0 };
	struct buf out = { 0 };

	make("a", "b", "c");
	take(&l, 3, &out);
	listing_begin(&l);
	items[0].port = 80;
	listing_put(&l, messages[0]);
	assert_int_equal(take(&l, 3, &out), LISTING_ALL);
	assert_non_null(strstr(buf_cstr(&out), "\"port\":80"));
	listing_begin(&l);
	listing_put(&l, messages[1]); /* another order, but nothing of it was published */
	assert_int_equal(take(&l, 3, &out), LISTING_SAME);
	listing_free(&l);
	buf_free(&out);
}

static void a_list_in_doubt_is_told_whole_once(void **state)
{
	struct listing l = { 0 };
	struct buf out = { 0 };

	make("a", "b", "c");
	take(&l, 3, &out);
	listing_doubt(&l);
	assert_int_equal(take(&l, 3, &out), LISTING_ALL);
	assert_int_equal(take(&l, 3, &out), LISTING_SAME);
	listing_free(&l);
	buf_free(&out);
}

static void another_order_or_other_names_are_a_new_list(void **state)
{
	struct listing l = { 0 };
	struct buf out = { 0 };

	make("a", "b", "c");
	take(&l, 3, &out);
	make("a", "c", "b");
	assert_int_equal(take(&l, 3, &out), LISTING_ALL);
	assert_non_null(strstr(strstr(buf_cstr(&out), "\"name\":\"c\""), "\"name\":\"b\""));
	assert_int_equal(take(&l, 2, &out), LISTING_ALL);
	assert_null(strstr(buf_cstr(&out), "\"name\":\"b\""));
	assert_int_equal(take(&l, 0, &out), LISTING_ALL);
	assert_string_equal(buf_cstr(&out), "[]");
	listing_free(&l);
	buf_free(&out);
}

static bool apply(struct listing *l, const char *name, const char *json, bool whole,
		  struct buf *out)
{
	return listing_apply(l, &(struct listing_update){ name, str_of(json), whole }, out);
}

static void one_item_is_replaced_in_its_place(void **state)
{
	_cleanup_(buf_free) struct buf json = { 0 }, out = { 0 }, all = { 0 };
	struct listing l = { 0 };

	make("a", "b", "c");
	take(&l, 3, &out);
	out.n = 0;
	items[1].port = 80;
	pb_json_write(messages[1], PB_JSON_COMPACT, &json);
	assert_true(apply(&l, "b", buf_cstr(&json), true, &out));
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"b\",\"port\":80}");
	assert_false(apply(&l, "b", buf_cstr(&json), true, &out)); /* unchanged */
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"b\",\"port\":80}");
	listing_write(&l, &all);
	assert_non_null(strstr(buf_cstr(&all), buf_cstr(&json)));
	assert_int_equal(take(&l, 3, &out), LISTING_SAME);
	listing_free(&l);
}

static void some_fields_leave_the_others_alone(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 }, all = { 0 };
	static char text[] = "public";
	struct listing l = { 0 };

	make("a", "b", "c");
	items[0].description = text;
	take(&l, 3, &out);
	out.n = 0;
	assert_true(apply(&l, "c", "{\"name\":\"c\",\"state\":\"up\",\"nothing\":1}", false, &out));
	assert_true(apply(&l, "a", "{\"name\":\"a\",\"port\":8,\"state\":\"\"}", false, &out));
	assert_string_equal(buf_cstr(&out), "[{\"name\":\"c\",\"state\":\"up\"},"
					    "{\"name\":\"a\",\"port\":8}");
	listing_write(&l, &all);
	assert_non_null(strstr(buf_cstr(&all), "\"port\":8,"));
	assert_non_null(strstr(buf_cstr(&all), "\"description\":\"public\""));
	assert_null(strstr(buf_cstr(&all), "nothing"));
	listing_free(&l);
}

/* So that events cannot add to a list without end. */
static void what_events_add_is_counted_until_the_list_is_read_again(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct listing l = { 0 };

	make("a", "b", "c");
	take(&l, 3, &out);
	assert_true(apply(&l, "a", "{\"name\":\"a\"}", true, &out));
	assert_int_equal(l.grown, 0);
	assert_true(apply(&l, "a", "{\"name\":\"a\",\"port\":80}", true, &out));
	assert_int_equal(l.grown, strlen(",\"port\":80"));
	assert_true(apply(&l, "a", "{\"name\":\"a\"}", true, &out));
	assert_true(apply(&l, "a", "{\"name\":\"a\",\"port\":81}", true, &out));
	assert_int_equal(l.grown, 2 * strlen(",\"port\":80"));
	take(&l, 3, &out);
	assert_int_equal(l.grown, 0);
	listing_free(&l);
}

static void the_memory_of_long_texts_is_not_kept_with_short_ones(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 }, text = { 0 };
	char word[20000];
	struct listing l = { 0 };

	memset(word, 'x', sizeof(word));
	make("a", "b", "c");
	take(&l, 3, &out);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		text.n = out.n = 0;
		buf_printf(&text, "{\"name\":\"%s\",\"description\":\"%.*s\"}", items[i].name,
			   (int)sizeof(word), word);
		assert_true(apply(&l, items[i].name, buf_cstr(&text), true, &out));
	}
	take(&l, 3, &out); /* all are short again */
	for (size_t i = 0; i < l.items.n; i++)
		assert_in_range(l.items.items[i].json.cap, 1, sizeof(word) / 2);
	listing_free(&l);
}

static void an_item_that_is_not_there_changes_nothing(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct listing l = { 0 };

	assert_false(apply(&l, "b", "{\"name\":\"b\"}", true, &out));
	make("a", "c", "e");
	take(&l, 3, &out);
	out.n = 0;
	for (const char *const *name = (const char *const[]){ "", "b", "d", "f", NULL }; *name;
	     name++)
		assert_false(apply(&l, *name, "{\"name\":\"x\"}", false, &out));
	assert_int_equal(out.n, 0);
	listing_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_list_is_all_new),
		cmocka_unit_test(nothing_new_is_nothing_told),
		cmocka_unit_test(only_what_changed_is_told),
		cmocka_unit_test(a_field_is_told_whole_and_only_it),
		cmocka_unit_test(a_field_that_goes_away_is_null),
		cmocka_unit_test(a_list_that_did_not_end_is_in_doubt),
		cmocka_unit_test(a_list_in_doubt_is_told_whole_once),
		cmocka_unit_test(one_item_is_replaced_in_its_place),
		cmocka_unit_test(some_fields_leave_the_others_alone),
		cmocka_unit_test(what_events_add_is_counted_until_the_list_is_read_again),
		cmocka_unit_test(the_memory_of_long_texts_is_not_kept_with_short_ones),
		cmocka_unit_test(an_item_that_is_not_there_changes_nothing),
		cmocka_unit_test(another_order_or_other_names_are_a_new_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
