/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l2/alive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define SEC (1000 * MS)
#define START (1000 * SEC)

static struct alive begin(void)
{
	return (struct alive){ .own = "a", .rule = { .duration = 15 * SEC, .window = 700 * MS } };
}

static bool is_alive(struct alive *a, const char *node, int64_t now)
{
	int64_t due;

	alive_judge(a, now, &due);
	return alive_is(a, node);
}

/* Renews the own Lease every 5 s until `to`. */
static int64_t renew_until(struct alive *a, int64_t from, int64_t to)
{
	for (; from <= to; from += 5 * SEC)
		alive_lease(a, "a", "me", from);
	return from - 5 * SEC;
}

static void the_own_node_is_alive_without_a_lease(void **state)
{
	struct alive a = begin();

	assert_true(is_alive(&a, "a", START));
	assert_false(is_alive(&a, "b", START));
	alive_free(&a);
}

static void a_fresh_lease_is_enough_where_no_heartbeat_arrives(void **state)
{
	struct alive a = begin();
	int64_t now = START;

	alive_lease(&a, "a", "me", now);
	alive_lease(&a, "b", "it", now);
	assert_true(is_alive(&a, "b", now));
	now = renew_until(&a, now + 5 * SEC, now + 10 * SEC);
	assert_true(is_alive(&a, "b", now));
	now = renew_until(&a, now + 5 * SEC, now + 5 * SEC);
	assert_false(is_alive(&a, "b", now));
	alive_lease(&a, "b", "it", now + SEC);
	assert_true(is_alive(&a, "b", now + SEC));
	alive_free(&a);
}

/* The API server is away: nobody renews, and nobody is dead because of it. */
static void leases_do_not_age_while_the_server_is_away(void **state)
{
	struct alive a = begin();

	alive_lease(&a, "a", "me", START);
	alive_lease(&a, "b", "it", START);
	assert_true(is_alive(&a, "b", START + 600 * SEC));
	/* it is back, and the own renewal happens to be the first that is seen */
	alive_lease(&a, "a", "me", START + 600 * SEC);
	assert_true(is_alive(&a, "b", START + 600 * SEC));
	renew_until(&a, START + 605 * SEC, START + 615 * SEC);
	assert_false(is_alive(&a, "b", START + 615 * SEC));
	alive_free(&a);
}

static void silence_after_heartbeats_is_death_within_the_window(void **state)
{
	struct alive a = begin();
	int64_t due;

	alive_lease(&a, "b", "it", START);
	alive_heard(&a, "b", START);
	assert_true(alive_judge(&a, START, &due));
	assert_int_equal(due, START + 700 * MS);
	assert_false(alive_judge(&a, due - 1, &due));
	assert_true(alive_judge(&a, due, &due));
	assert_false(alive_is(&a, "b"));
	assert_int_equal(due, 0);
	/* its Lease is renewed over another network: it cannot be reached on this one */
	alive_lease(&a, "b", "it", START + SEC);
	assert_false(is_alive(&a, "b", START + SEC));
	alive_heard(&a, "b", START + 2 * SEC);
	assert_true(is_alive(&a, "b", START + 2 * SEC));
	alive_free(&a);
}

/* A new process of the node may be one that has no heartbeats. */
static void a_new_holder_begins_again(void **state)
{
	struct alive a = begin();

	alive_lease(&a, "b", "first", START);
	alive_heard(&a, "b", START);
	assert_false(is_alive(&a, "b", START + SEC));
	alive_lease(&a, "b", "second", START + SEC);
	assert_true(is_alive(&a, "b", START + SEC));
	alive_free(&a);
}

static void one_that_leaves_is_gone_at_once(void **state)
{
	struct alive a = begin();

	alive_lease(&a, "b", "it", START);
	alive_lease(&a, "c", "it", START);
	alive_left(&a, "b", START);
	assert_false(is_alive(&a, "b", START));
	alive_lease(&a, "c", "", START);
	assert_false(is_alive(&a, "c", START));
	alive_forget(&a, "b");
	alive_forget(&a, "b");
	assert_int_equal(a.nodes.n, 1);
	alive_free(&a);
}

static void a_heartbeat_without_a_lease_is_nothing(void **state)
{
	struct alive a = begin();

	alive_heard(&a, "b", START);
	assert_false(is_alive(&a, "b", START));
	alive_free(&a);
}

static void what_is_gone_has_an_age_on_the_clock_of_leases(void **state)
{
	struct alive a = begin();
	int64_t due;

	alive_lease(&a, "a", "me", START);
	alive_lease(&a, "b", "it", START);
	alive_judge(&a, START, &due);
	assert_int_equal(alive_gone_for(&a, &a.nodes.items[1]), 0);
	renew_until(&a, START + 5 * SEC, START + 60 * SEC);
	alive_judge(&a, START + 60 * SEC, &due);
	assert_int_equal(alive_gone_for(&a, &a.nodes.items[1]), 60 * SEC);
	assert_int_equal(alive_gone_for(&a, &a.nodes.items[0]), 0);
	alive_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_own_node_is_alive_without_a_lease),
		cmocka_unit_test(a_fresh_lease_is_enough_where_no_heartbeat_arrives),
		cmocka_unit_test(leases_do_not_age_while_the_server_is_away),
		cmocka_unit_test(silence_after_heartbeats_is_death_within_the_window),
		cmocka_unit_test(a_new_holder_begins_again),
		cmocka_unit_test(one_that_leaves_is_gone_at_once),
		cmocka_unit_test(a_heartbeat_without_a_lease_is_nothing),
		cmocka_unit_test(what_is_gone_has_an_age_on_the_clock_of_leases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
