/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/waitlist.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

struct asker {
	const char *name;
	bool patient; /* waits for the second answer */
	struct asker *next;
	void *forgets;
	struct waitlist_item waiting;
};

static struct waitlist list;
static char heard[64];

static int setup(void **state)
{
	list = (struct waitlist){ .max = 4 };
	heard[0] = '\0';
	return 0;
}

static void add(struct asker *a)
{
	assert_int_equal(waitlist_add(&list, &a->waiting, a), 0);
}

/* The callback: records its name and does what its asker requests. */
static void hear(struct asker *a)
{
	size_t n = strlen(heard);

	snprintf(heard + n, sizeof(heard) - n, "%s", a->name);
	if (a->next)
		add(a->next);
	if (a->forgets)
		waitlist_forget(&list, a->forgets);
}

static void tell(bool (*ready)(struct waitlist_item *w))
{
	uint64_t round = waitlist_round(&list);
	struct waitlist_item *w;

	while ((w = waitlist_take(&list, round, ready)))
		if (!w->forgotten)
			hear(w->user);
}

static void everyone_is_told_once_in_order(void **state)
{
	struct asker a = { .name = "a" }, b = { .name = "b" }, c = { .name = "c" };

	add(&c);
	add(&a);
	add(&b);
	tell(NULL);
	tell(NULL);
	assert_string_equal(heard, "cab");
	assert_int_equal(list.n, 0);
	add(&b);
	tell(NULL);
	assert_string_equal(heard, "cabb");
}

static void a_full_list_takes_no_more_but_those_that_must(void **state)
{
	struct asker a[5] = { 0 }, must = { .name = "m" };

	for (size_t i = 0; i < 5; i++) {
		a[i].name = "x";
		assert_int_equal(waitlist_add(&list, &a[i].waiting, &a[i]), i < 4 ? 0 : -EBUSY);
	}
	waitlist_add_always(&list, &must.waiting, &must);
	assert_int_equal(list.n, 5);
	tell(NULL);
	assert_string_equal(heard, "xxxxm");
}

static void a_forgotten_caller_is_not_told(void **state)
{
	struct asker a = { .name = "a" }, b = { .name = "b" };

	add(&a);
	add(&b);
	waitlist_forget(&list, &a);
	assert_int_equal(list.n, 2);
	tell(NULL);
	assert_string_equal(heard, "b");
	assert_int_equal(list.n, 0);
}

static void who_asks_from_a_callback_waits_for_the_next_round(void **state)
{
	struct asker again = { .name = "+" }, a = { .name = "a", .next = &again },
		     b = { .name = "b" };

	add(&a);
	add(&b);
	tell(NULL);
	assert_string_equal(heard, "ab");
	assert_int_equal(list.n, 1);
	tell(NULL);
	assert_string_equal(heard, "ab+");
}

static void a_callback_may_forget_who_comes_after_it(void **state)
{
	struct asker b = { .name = "b" }, a = { .name = "a", .forgets = &b };

	add(&a);
	add(&b);
	tell(NULL);
	assert_string_equal(heard, "a");
	assert_int_equal(list.n, 0);
}

static bool is_impatient(struct waitlist_item *w)
{
	return !((const struct asker *)w->user)->patient;
}

static void some_may_go_on_waiting(void **state)
{
	struct asker a = { .name = "a", .patient = true }, b = { .name = "b" },
		     c = { .name = "c", .patient = true }, d = { .name = "d" };

	add(&a);
	add(&b);
	add(&c);
	tell(is_impatient);
	assert_string_equal(heard, "b");
	add(&d);
	tell(is_impatient);
	assert_string_equal(heard, "bd");
	tell(NULL);
	assert_string_equal(heard, "bdac");
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(everyone_is_told_once_in_order),
		T(a_full_list_takes_no_more_but_those_that_must),
		T(a_forgotten_caller_is_not_told),
		T(who_asks_from_a_callback_waits_for_the_next_round),
		T(a_callback_may_forget_who_comes_after_it),
		T(some_may_go_on_waiting),
	};

	return cmocka_run_group_tests_name("waitlist", tests, NULL, NULL);
}
