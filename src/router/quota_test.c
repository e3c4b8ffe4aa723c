/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a quota, one step at a time. */
#include "src/router/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define THREADS 3
#define MS NSEC_PER_MSEC

static struct quota *quota;
static struct seats *seats; /* of the only server */
static unsigned limit;
static bool called[THREADS];
static unsigned kept[THREADS];
static struct quota_place *served; /* the last one */

static void on_call(unsigned thread, struct quota_side *side, void *user)
{
	assert_ptr_equal(side, &quota->sides[thread]);
	assert_false(called[thread]);
	called[thread] = true;
}

static int start(void **state)
{
	quota = quota_new(THREADS, on_call, NULL);
	seats = seats_new(quota);
	limit = 1;
	memset(called, 0, sizeof(called));
	memset(kept, 0, sizeof(kept));
	served = NULL;
	return 0;
}

static int end(void **state)
{
	seats_release(seats);
	quota_release(quota);
	return 0;
}

static enum quota_result serve(struct quota_place *p, void *user)
{
	unsigned thread = (unsigned)(p->side - quota->sides);

	if (kept[thread]) {
		kept[thread]--;
		quota_unkeep(p->side);
	} else if (!seats_open(seats, limit)) {
		return QUOTA_FULL;
	}
	quota_leave(p);
	served = p;
	return QUOTA_SERVED;
}

static bool yield(struct quota_side *side, void *user)
{
	unsigned thread = (unsigned)(side - quota->sides);

	if (!kept[thread])
		return false;
	kept[thread]--;
	quota_unkeep(side);
	seats_close(seats);
	return true;
}

/* The thread takes its turn, which it was called to. */
static void turn(unsigned thread)
{
	const struct quota_users users = { serve, yield, NULL };

	assert_true(called[thread]);
	called[thread] = false;
	quota_turn(&quota->sides[thread], &users);
}

static void enter(unsigned thread, struct quota_place *p, int64_t since)
{
	p->since = since;
	assert_true(quota_enter(&quota->sides[thread], p, 100));
	turn(thread);
}

static void expect_calls(bool a, bool b, bool c)
{
	assert_int_equal(called[0], a);
	assert_int_equal(called[1], b);
	assert_int_equal(called[2], c);
}

static void the_limit_holds(void **state)
{
	limit = 2;
	assert_true(seats_open(seats, limit));
	assert_true(seats_open(seats, limit));
	assert_false(seats_open(seats, limit));
	assert_true(seats_open(seats, 0));
	seats_close(seats);
	assert_false(seats_open(seats, limit));
	seats_close(seats);
	assert_true(seats_has_room(seats, limit));
	assert_true(seats_open(seats, limit));
}

static void so_many_may_wait(void **state)
{
	struct quota_place one = { 0 }, two = { 0 };

	assert_false(quota_enter(&quota->sides[0], &one, 0));
	assert_true(quota_enter(&quota->sides[0], &one, 1));
	assert_false(quota_enter(&quota->sides[1], &two, 1));
	assert_null(two.side);
	quota_leave(&one);
	assert_true(quota_enter(&quota->sides[1], &two, 1));
}

static void nobody_is_called_if_nobody_waits(void **state)
{
	assert_true(seats_open(seats, limit));
	seats_close(seats);
	quota_keep(&quota->sides[0], true);
	expect_calls(false, false, false);
}

static void the_oldest_of_all_threads_is_called(void **state)
{
	struct quota_place one = { 0 }, two = { 0 };

	assert_true(seats_open(seats, limit));
	enter(1, &one, 200 * MS);
	enter(2, &two, 100 * MS);
	expect_calls(false, false, false);
	seats_close(seats);
	expect_calls(false, false, true);
	turn(2);
	assert_ptr_equal(served, &two);
}

static void one_that_has_waited_longer_elsewhere_goes_first(void **state)
{
	struct quota_place old = { 0 }, new = { 0 };

	assert_true(seats_open(seats, limit));
	enter(0, &old, 100 * MS);
	enter(1, &new, 200 * MS);
	assert_int_equal(called[0], true); /* by the turn of thread 1 */
	turn(0);
	assert_null(served);
	seats_close(seats);
	turn(0);
	assert_ptr_equal(served, &old);
}

static void a_little_longer_does_not_count(void **state)
{
	struct quota_place old = { 0 }, new = { 0 };

	assert_true(seats_open(seats, limit));
	enter(0, &old, 100 * MS);
	enter(1, &new, 105 * MS);
	kept[1]++; /* thread 1 has answered a request */
	quota_keep(&quota->sides[1], true);
	turn(1);
	assert_ptr_equal(served, &new);
}

static void a_kept_connection_goes_to_one_that_waits_elsewhere(void **state)
{
	struct quota_place p = { 0 };

	assert_true(seats_open(seats, limit));
	kept[0]++;
	quota_keep(&quota->sides[0], true);
	enter(1, &p, 100 * MS);
	expect_calls(true, false, false);
	turn(0);
	assert_int_equal(kept[0], 0);
	expect_calls(false, true, false);
	turn(1);
	assert_ptr_equal(served, &p);
}

static void no_more_are_ended_than_wait(void **state)
{
	struct quota_place p = { 0 };

	limit = 3;
	for (unsigned i = 0; i < limit; i++) {
		assert_true(seats_open(seats, limit));
		kept[0]++;
		quota_keep(&quota->sides[0], true);
	}
	enter(1, &p, 100 * MS);
	turn(0);
	assert_int_equal(kept[0], 2);
}

static void a_call_for_one_that_has_left_is_passed_on(void **state)
{
	struct quota_place gone = { 0 }, next = { 0 };

	assert_true(seats_open(seats, limit));
	enter(0, &gone, 100 * MS);
	enter(1, &next, 105 * MS);
	seats_close(seats);
	expect_calls(true, false, false);
	quota_leave(&gone);
	turn(0);
	assert_null(served);
	expect_calls(false, true, false);
	turn(1);
	assert_ptr_equal(served, &next);
}

static void two_connections_serve_two_threads(void **state)
{
	struct quota_place one = { 0 }, two = { 0 };

	limit = 2;
	assert_true(seats_open(seats, limit));
	assert_true(seats_open(seats, limit));
	enter(0, &one, 100 * MS);
	enter(1, &two, 105 * MS);
	seats_close(seats);
	seats_close(seats); /* the same thread is called, once */
	expect_calls(true, false, false);
	turn(0);
	assert_ptr_equal(served, &one);
	turn(1);
	assert_ptr_equal(served, &two);
}

static void one_that_is_bound_delays_no_other(void **state)
{
	struct quota_place bound = { .bound = true }, other = { 0 };
	struct seats *full = seats;

	assert_true(seats_open(seats, limit));
	enter(0, &bound, 100 * MS);
	seats = seats_new(quota); /* another server, which the first cannot use */
	bound.since = 100 * MS;
	assert_true(quota_enter(&quota->sides[1], &other, 100));
	turn(1);
	assert_ptr_equal(served, &other);
	seats_release(seats);
	seats = full;
	seats_close(seats);
	expect_calls(true, false, false);
	turn(0);
	assert_ptr_equal(served, &bound);
}

static void requests_are_admitted_up_to_the_limit(void **state)
{
	assert_true(quota_admit(quota, 2));
	assert_true(quota_admit(quota, 2));
	assert_false(quota_admit(quota, 2));
	quota_dismiss(quota);
	assert_true(quota_admit(quota, 2));
}

static void the_load_is_that_of_all_threads(void **state)
{
	struct quota_load load;

	quota_count(&quota->sides[0].active, 2);
	quota_count(&quota->sides[2].active, 3);
	quota_count(&quota->sides[2].tried, 1);
	quota_count(&quota->sides[0].active, -1);
	load = quota_load(quota);
	assert_int_equal(load.active, 4);
	assert_int_equal(load.tried, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_limit_holds),
		TEST(so_many_may_wait),
		TEST(nobody_is_called_if_nobody_waits),
		TEST(the_oldest_of_all_threads_is_called),
		TEST(one_that_has_waited_longer_elsewhere_goes_first),
		TEST(a_little_longer_does_not_count),
		TEST(a_kept_connection_goes_to_one_that_waits_elsewhere),
		TEST(no_more_are_ended_than_wait),
		TEST(a_call_for_one_that_has_left_is_passed_on),
		TEST(two_connections_serve_two_threads),
		TEST(one_that_is_bound_delays_no_other),
		TEST(requests_are_admitted_up_to_the_limit),
		TEST(the_load_is_that_of_all_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
