/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/k8s/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/random.h"
#include "lib/k8s/testkit.h"

struct room {
	struct k8s_names *names;
	struct k8s_kind *kind;
	struct k8s_cache *cache;
};

static void by_class(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	const struct test_thing *t = (const struct test_thing *)o;

	(void)user;
	if (t->class)
		add(t->class, to);
	for (size_t i = 0; i < t->ips.n; i++)
		add(k8s_string_at(&t->ips, i), to);
}

static int set_up(void **state)
{
	struct room *r = mem_zalloc(sizeof(*r));

	r->names = k8s_names_new();
	r->kind = k8s_kind_new(&test_thing_layout, r->names);
	r->cache = k8s_cache_new(r->kind);
	assert_int_equal(k8s_cache_index(r->cache, by_class, NULL), 0);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct room *r = *state;

	k8s_cache_free(r->cache);
	assert_int_equal(k8s_names_count(r->names), 0);
	k8s_kind_free(r->kind);
	k8s_names_free(r->names);
	free(r);
	return 0;
}

static void put(struct room *r, const char *namespace, const char *name, const char *class)
{
	struct test_thing t = { .object = { .namespace = namespace, .name = name, .uid = "" },
				.class = class };

	k8s_object_unref(r->kind, k8s_cache_put(r->cache, k8s_object_keep(r->kind, &t.object)));
}

static void objects_are_found_by_name_and_come_in_order(void **state)
{
	struct room *r = *state;

	put(r, "b", "x", NULL);
	put(r, "a", "z", NULL);
	put(r, "a", "y", NULL);
	put(r, "", "w", NULL);
	assert_int_equal(k8s_cache_count(r->cache), 4);
	assert_string_equal(k8s_cache_at(r->cache, 0)->name, "w");
	assert_string_equal(k8s_cache_at(r->cache, 1)->name, "y");
	assert_string_equal(k8s_cache_at(r->cache, 2)->name, "z");
	assert_string_equal(k8s_cache_at(r->cache, 3)->name, "x");
	assert_ptr_equal(k8s_cache_get(r->cache, "a", "z"), k8s_cache_at(r->cache, 2));
	assert_null(k8s_cache_get(r->cache, "b", "z"));
}

static void an_index_follows_what_is_put_and_removed(void **state)
{
	struct room *r = *state;
	size_t first;

	put(r, "a", "1", "gold");
	put(r, "a", "2", "gold");
	put(r, "a", "3", "lead");
	assert_int_equal(k8s_cache_find(r->cache, 0, "gold", &first), 2);
	assert_string_equal(k8s_cache_found(r->cache, 0, first)->name, "1");
	assert_string_equal(k8s_cache_found(r->cache, 0, first + 1)->name, "2");
	put(r, "a", "1", "lead");
	assert_int_equal(k8s_cache_find(r->cache, 0, "gold", &first), 1);
	assert_int_equal(k8s_cache_find(r->cache, 0, "lead", &first), 2);
	k8s_object_unref(r->kind, k8s_cache_remove(r->cache, "a", "3"));
	assert_int_equal(k8s_cache_find(r->cache, 0, "lead", &first), 1);
	assert_ptr_equal(k8s_cache_found(r->cache, 0, first), k8s_cache_get(r->cache, "a", "1"));
	assert_int_equal(k8s_cache_find(r->cache, 0, "none", &first), 0);
	assert_null(k8s_cache_remove(r->cache, "a", "3"));
}

static void a_reference_outlives_its_place_in_the_cache(void **state)
{
	struct room *r = *state;
	struct k8s_object *o;

	put(r, "a", "1", "gold");
	o = k8s_object_ref(k8s_cache_get(r->cache, "a", "1"));
	put(r, "a", "1", "lead");
	assert_string_equal(((struct test_thing *)o)->class, "gold");
	k8s_object_unref(r->kind, o);
}

/* Against a plain table: random puts and removals, then everything is found, in order. */
static void it_agrees_with_a_table(void **state)
{
	static const char *const classes[] = { "gold", "lead", "tin" };
	struct room *r = *state;
	int class_of[50];
	uint64_t random = 1;
	size_t n = 0, first, found = 0;
	char name[8];

	memset(class_of, -1, sizeof(class_of));
	for (int i = 0; i < 5000; i++) {
		size_t k = random_next(&random) % 50, c = random_next(&random) % 4;

		snprintf(name, sizeof(name), "%02zu", k);
		if (c < 3)
			put(r, "n", name, classes[c]);
		else
			k8s_object_unref(r->kind, k8s_cache_remove(r->cache, "n", name));
		class_of[k] = c < 3 ? (int)c : -1;
	}
	for (size_t k = 0; k < 50; k++) {
		snprintf(name, sizeof(name), "%02zu", k);
		assert_int_equal(!k8s_cache_get(r->cache, "n", name), class_of[k] < 0);
		n += class_of[k] >= 0;
	}
	assert_int_equal(k8s_cache_count(r->cache), n);
	for (size_t i = 1; i < n; i++)
		assert_true(k8s_object_cmp(k8s_cache_at(r->cache, i - 1),
					   k8s_cache_at(r->cache, i)) < 0);
	for (size_t c = 0; c < 3; c++)
		found += k8s_cache_find(r->cache, 0, classes[c], &first);
	assert_int_equal(found, n);
}

int main(void)
{
#define STORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		STORY(objects_are_found_by_name_and_come_in_order),
		STORY(an_index_follows_what_is_put_and_removed),
		STORY(a_reference_outlives_its_place_in_the_cache),
		STORY(it_agrees_with_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
