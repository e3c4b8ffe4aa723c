/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/config.h"
#include "core/l4/doc.h"
#include "core/l4/schema.h"

typedef void (*field_fn)(const struct schema_field *f, void *user);

/* The rows of one struct of the configuration. */
static void each_value(const struct schema_section *s, field_fn fn, void *user)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		if (s->fields[i].shape == SCHEMA_SECTION)
			each_value(s->fields[i].section, fn, user);
		if (s->fields[i].kind)
			fn(&s->fields[i], user);
	}
}

static size_t checked;

static void check_sizes(const struct schema_section *s)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];

		if (f->kind && f->size != f->kind->size)
			fail_msg("%s: the member has %zu bytes, its kind %zu", f->key, f->size,
				 f->kind->size);
		checked += f->kind != NULL;
		if (f->section)
			check_sizes(f->section);
	}
}

static void every_key_has_the_kind_of_its_member(void **state)
{
	check_sizes(&l4_schema);
	assert_in_range(checked, 40, 1000);
}

/* A string in struct l4_check without a row would be NULL in the prober's copy. */
static void every_member_of_a_check_has_a_row(void **state)
{
	assert_int_equal(schema_gap(&l4_schema_check), sizeof(struct l4_check));
}

/* Sets one value of a check to something that is neither zero nor equal to another member. */
struct filling {
	struct l4_check *check;
	struct arena *arena;
};

static void fill(const struct schema_field *f, void *user)
{
	static const struct l4_code_range range = { 200, 299 };
	const struct filling *to = user;
	char *value = (char *)to->check + f->at;

	if (f->kind == &schema_text)
		*(const char **)value = arena_printf(to->arena, "text of %s", f->key);
	else if (f->kind == &l4_kind_ca)
		*(struct l4_ca *)value = (struct l4_ca){ arena_strdup(to->arena, "/ca.pem"),
							 arena_strdup(to->arena, "text") };
	else if (f->kind == &l4_kind_codes)
		*(struct l4_codes *)value = (struct l4_codes){
			.items = arena_copy(to->arena, &range, sizeof(range)),
			.n = 1,
		};
	else
		memset(value, 1, f->size);
}

static struct l4_check filled_check(struct arena *arena)
{
	struct l4_check check = { .name = arena_strdup(arena, "web") };
	struct filling to = { &check, arena };

	each_value(&l4_schema_check, fill, &to);
	return check;
}

/* The address sanitizer reports a copy that still points into the freed memory. */
static void a_copy_of_a_check_outlives_its_configuration(void **state)
{
	struct arena *old = arena_new(), *own = arena_new(), *other = arena_new();
	struct l4_check original = filled_check(old), same = filled_check(other);
	const struct l4_check *copy = l4_check_copy(&original, own);

	arena_free(old);
	assert_string_equal(copy->name, "web");
	assert_string_equal(copy->http.regexp, "text of response-regexp");
	assert_true(l4_check_equal(copy, &same));
	arena_free(own);
	arena_free(other);
}

static void forget_value(const struct schema_field *f, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l4_check whole = filled_check(arena), less = whole;

	memset((char *)&less + f->at, 0, f->size);
	if (l4_check_equal(&whole, &less))
		fail_msg("%s: no difference is seen", f->key);
	++*(size_t *)user;
}

static void each_key_of_a_check_makes_another_probe(void **state)
{
	size_t n = 0;

	each_value(&l4_schema_check, forget_value, &n);
	assert_int_equal(n, l4_schema_check.n_fields - 1 + l4_schema_params.n_fields);
}

static void a_reference_does_not_outlive_its_configuration(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct l4_check *reference = &(struct l4_check){ .name = "web" };

	l4_kind_check.copy(&reference, arena);
	assert_null(reference);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_the_kind_of_its_member),
		cmocka_unit_test(every_member_of_a_check_has_a_row),
		cmocka_unit_test(a_copy_of_a_check_outlives_its_configuration),
		cmocka_unit_test(each_key_of_a_check_makes_another_probe),
		cmocka_unit_test(a_reference_does_not_outlive_its_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
