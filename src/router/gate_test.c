/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a gate, one step at a time. */
#include "src/router/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define THREADS 3
#define MS NSEC_PER_MSEC

static struct gate *gate;
static struct tally *tally; /* of the only server */
static unsigned limit;
static bool called[THREADS];
static unsigned kept[THREADS];
static struct gate_place *served; /* the last one */

static void on_call(unsigned thread, struct gate_side *side, void *user)
{
	assert_ptr_equal(side, &gate->sides[thread]);
	assert_false(called[thread]);
	called[thread] = true;
}

static int start(void **state)
{
	gate = gate_new(THREADS, on_call, NULL);
	tally = tally_new(gate);
	limit = 1;
	memset(called, 0, sizeof(called));
	memset(kept, 0, sizeof(kept));
	served = NULL;
	return 0;
}

static int end(void **state)
{
	tally_release(tally);
	gate_release(gate);
	return 0;
}

static enum gate_result serve(struct gate_place *p, void *user)
{
	unsigned thread = (unsigned)(p->side - gate->sides);

	if (kept[thread]) {
		kept[thread]--;
		gate_unkeep(p->side);
	} else if (!tally_open(tally, limit)) {
		return GATE_FULL;
	}
	gate_leave(p);
	served = p;
	return GATE_SERVED;
}

static bool yield(struct gate_side *side, void *user)
{
	unsigned thread = (unsigned)(side - gate->sides);

	if (!kept[thread])
		return false;
	kept[thread]--;
	gate_unkeep(side);
	tally_close(tally);
	return true;
}

/* The thread takes its turn, which it was called to. */
static void turn(unsigned thread)
{
	const struct gate_users users = { serve, yield, NULL };

	assert_true(called[thread]);
	called[thread] = false;
	gate_turn(&gate->sides[thread], &users);
}

static void enter(unsigned thread, struct gate_place *p, int64_t since)
{
	p->since = since;
	assert_true(gate_enter(&gate->sides[thread], p, 100));
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
	assert_true(tally_open(tally, limit));
	assert_true(tally_open(tally, limit));
	assert_false(tally_open(tally, limit));
	assert_true(tally_open(tally, 0));
	tally_close(tally);
	assert_false(tally_open(tally, limit));
	tally_close(tally);
	assert_true(tally_has_room(tally, limit));
	assert_true(tally_open(tally, limit));
}

static void so_many_may_wait(void **state)
{
	struct gate_place one = { 0 }, two = { 0 };

	assert_false(gate_enter(&gate->sides[0], &one, 0));
	assert_true(gate_enter(&gate->sides[0], &one, 1));
	assert_false(gate_enter(&gate->sides[1], &two, 1));
	assert_null(two.side);
	gate_leave(&one);
	assert_true(gate_enter(&gate->sides[1], &two, 1));
}

static void nobody_is_called_if_nobody_waits(void **state)
{
	assert_true(tally_open(tally, limit));
	tally_close(tally);
	gate_keep(&gate->sides[0], true);
	expect_calls(false, false, false);
}

static void the_oldest_of_all_threads_is_called(void **state)
{
	struct gate_place one = { 0 }, two = { 0 };

	assert_true(tally_open(tally, limit));
	enter(1, &one, 200 * MS);
	enter(2, &two, 100 * MS);
	expect_calls(false, false, false);
	tally_close(tally);
	expect_calls(false, false, true);
	turn(2);
	assert_ptr_equal(served, &two);
}

static void one_that_has_waited_longer_elsewhere_goes_first(void **state)
{
	struct gate_place old = { 0 }, new = { 0 };

	assert_true(tally_open(tally, limit));
	enter(0, &old, 100 * MS);
	enter(1, &new, 200 * MS);
	assert_int_equal(called[0], true); /* by the turn of thread 1 */
	turn(0);
	assert_null(served);
	tally_close(tally);
	turn(0);
	assert_ptr_equal(served, &old);
}

static void a_little_longer_does_not_count(void **state)
{
	struct gate_place old = { 0 }, new = { 0 };

	assert_true(tally_open(tally, limit));
	enter(0, &old, 100 * MS);
	enter(1, &new, 105 * MS);
	kept[1]++; /* thread 1 has answered a request */
	gate_keep(&gate->sides[1], true);
	turn(1);
	assert_ptr_equal(served, &new);
}

static void a_kept_connection_goes_to_one_that_waits_elsewhere(void **state)
{
	struct gate_place p = { 0 };

	assert_true(tally_open(tally, limit));
	kept[0]++;
	gate_keep(&gate->sides[0], true);
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
	struct gate_place p = { 0 };

	limit = 3;
	for (unsigned i = 0; i < limit; i++) {
		assert_true(tally_open(tally, limit));
		kept[0]++;
		gate_keep(&gate->sides[0], true);
	}
	enter(1, &p, 100 * MS);
	turn(0);
	assert_int_equal(kept[0], 2);
}

static void a_call_for_one_that_has_left_is_passed_on(void **state)
{
	struct gate_place gone = { 0 }, next = { 0 };

	assert_true(tally_open(tally, limit));
	enter(0, &gone, 100 * MS);
	enter(1, &next, 105 * MS);
	tally_close(tally);
	expect_calls(true, false, false);
	gate_leave(&gone);
	turn(0);
	assert_null(served);
	expect_calls(false, true, false);
	turn(1);
	assert_ptr_equal(served, &next);
}

static void two_connections_serve_two_threads(void **state)
{
	struct gate_place one = { 0 }, two = { 0 };

	limit = 2;
	assert_true(tally_open(tally, limit));
	assert_true(tally_open(tally, limit));
	enter(0, &one, 100 * MS);
	enter(1, &two, 105 * MS);
	tally_close(tally);
	tally_close(tally); /* the same thread is called, once */
	expect_calls(true, false, false);
	turn(0);
	assert_ptr_equal(served, &one);
	turn(1);
	assert_ptr_equal(served, &two);
}

static void one_that_is_bound_delays_no_other(void **state)
{
	struct gate_place bound = { .bound = true }, other = { 0 };
	struct tally *full = tally;

	assert_true(tally_open(tally, limit));
	enter(0, &bound, 100 * MS);
	tally = tally_new(gate); /* another server, which the first cannot use */
	bound.since = 100 * MS;
	assert_true(gate_enter(&gate->sides[1], &other, 100));
	turn(1);
	assert_ptr_equal(served, &other);
	tally_release(tally);
	tally = full;
	tally_close(tally);
	expect_calls(true, false, false);
	turn(0);
	assert_ptr_equal(served, &bound);
}

static void requests_are_admitted_up_to_the_limit(void **state)
{
	assert_true(gate_admit(gate, 2));
	assert_true(gate_admit(gate, 2));
	assert_false(gate_admit(gate, 2));
	gate_dismiss(gate);
	assert_true(gate_admit(gate, 2));
}

static void the_load_is_that_of_all_threads(void **state)
{
	struct gate_load load;

	gate_count(&gate->sides[0].active, 2);
	gate_count(&gate->sides[2].active, 3);
	gate_count(&gate->sides[2].tried, 1);
	gate_count(&gate->sides[0].active, -1);
	load = gate_load(gate);
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
