/* SPDX-License-Identifier: Apache-2.0 */
#include "core/labels/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const struct label of_web[] = { { "app", "web" }, { "empty", "" }, { "tier", "front" } };
static const struct labels web = { of_web, 3 };
static const struct labels none = { 0 };

#define ONE(name, operator, ...)                                                                   \
	{                                                                                          \
		.key = (name), .op = (operator), .values = (const char *const[]){ __VA_ARGS__ },   \
		.n_values = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)          \
	}
#define BARE(name, operator)                                                                       \
	{                                                                                          \
		.key = (name), .op = (operator)                                                    \
	}
#define SELECTOR(...)                                                                              \
	(struct labels_selector)                                                                   \
	{                                                                                          \
		(const struct labels_requirement[]){ __VA_ARGS__ },                                \
			sizeof((const struct labels_requirement[]){ __VA_ARGS__ }) /               \
				sizeof(struct labels_requirement)                                  \
	}

static bool selects(struct labels_selector s, struct labels l)
{
	return labels_match(&s, &l);
}

static void an_empty_selector_selects_everything(void **state)
{
	assert_true(selects((struct labels_selector){ 0 }, web));
	assert_true(selects((struct labels_selector){ 0 }, none));
}

static void all_requirements_must_hold(void **state)
{
	assert_true(selects(SELECTOR(ONE("app", LABELS_IN, "web"), ONE("tier", LABELS_IN, "front")),
			    web));
	assert_false(selects(SELECTOR(ONE("app", LABELS_IN, "web"), ONE("tier", LABELS_IN, "back")),
			     web));
}

static void each_operator_has_its_meaning(void **state)
{
	assert_true(selects(SELECTOR(ONE("app", LABELS_IN, "db", "web")), web));
	assert_false(selects(SELECTOR(ONE("app", LABELS_IN, "db", "cache")), web));
	assert_false(selects(SELECTOR(ONE("zone", LABELS_IN, "a")), web));
	assert_false(selects(SELECTOR(ONE("app", LABELS_NOT_IN, "web")), web));
	assert_true(selects(SELECTOR(ONE("app", LABELS_NOT_IN, "db")), web));
	assert_true(selects(SELECTOR(ONE("zone", LABELS_NOT_IN, "a")), web));
	assert_true(selects(SELECTOR(BARE("empty", LABELS_EXISTS)), web));
	assert_false(selects(SELECTOR(BARE("zone", LABELS_EXISTS)), web));
	assert_true(selects(SELECTOR(BARE("zone", LABELS_DOES_NOT_EXIST)), web));
	assert_false(selects(SELECTOR(BARE("app", LABELS_DOES_NOT_EXIST)), web));
	assert_false(selects(SELECTOR(BARE("app", LABELS_UNKNOWN)), web));
}

static void one_selector_of_a_list_is_enough(void **state)
{
	struct labels_selector both[] = { SELECTOR(ONE("app", LABELS_IN, "db")),
					  SELECTOR(ONE("tier", LABELS_IN, "front")) };

	assert_true(labels_match_any(&(struct labels_selectors){ both, 2 }, &web));
	assert_false(labels_match_any(&(struct labels_selectors){ both, 1 }, &web));
	assert_false(labels_match_any(&(struct labels_selectors){ 0 }, &web));
}

static void expect_complaint(struct labels_selector s, const char *want)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const char *got = labels_selector_check(&s, arena);

	if (!want)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

static void bad_selectors_are_refused_in_the_words_of_kubernetes(void **state)
{
	struct labels_selector strange =
		SELECTOR({ .key = "a", .op = labels_operator_of("Like"), .word = "Like" });

	expect_complaint(SELECTOR(ONE("app", LABELS_IN, "db")), NULL);
	expect_complaint(strange, "\"Like\" is not a valid label selector operator");
	expect_complaint(SELECTOR(BARE("a", LABELS_NOT_IN)),
			 "for 'in', 'notin' operators, values set can't be empty");
	expect_complaint(SELECTOR(ONE("a", LABELS_EXISTS, "b")),
			 "values set must be empty for exists and does not exist");
}

static void texts_of_equal_selectors_are_equal(void **state)
{
	_cleanup_(buf_free) struct buf a = { 0 }, b = { 0 }, c = { 0 };
	struct labels_selector one =
		SELECTOR(ONE("z", LABELS_NOT_IN, "2", "1"), BARE("n", LABELS_DOES_NOT_EXIST),
			 BARE("m", LABELS_EXISTS), ONE("a", LABELS_IN, "b"));
	struct labels_selector other =
		SELECTOR(ONE("a", LABELS_IN, "b"), BARE("m", LABELS_EXISTS),
			 BARE("n", LABELS_DOES_NOT_EXIST), ONE("z", LABELS_NOT_IN, "1", "2"));

	labels_selector_format(&one, &a);
	labels_selector_format(&other, &b);
	assert_string_equal(buf_cstr(&a), "a=b,m,!n,z notin (1,2)");
	assert_string_equal(buf_cstr(&b), buf_cstr(&a));
	labels_format(&web, &c);
	assert_string_equal(buf_cstr(&c), "app=web,empty=,tier=front");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_selector_selects_everything),
		cmocka_unit_test(all_requirements_must_hold),
		cmocka_unit_test(each_operator_has_its_meaning),
		cmocka_unit_test(one_selector_of_a_list_is_enough),
		cmocka_unit_test(bad_selectors_are_refused_in_the_words_of_kubernetes),
		cmocka_unit_test(texts_of_equal_selectors_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
