/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stories of the state machine, and a walk over every sequence of events up to a length: a
 * configuration comes, the one being applied succeeds or fails, time passes.
 */
#include "core/frr/debounce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define RETRY 5

static void an_idle_one_starts_at_once(void **state)
{
	struct debounce d = { .retry = RETRY };

	assert_true(debounce_store(&d));
	assert_int_equal(d.applying, 1);
	assert_false(debounce_done(&d, true, 0));
	assert_int_equal(d.state, DEBOUNCE_IDLE);
	assert_true(debounce_store(&d));
}

static void configurations_that_come_meanwhile_are_one(void **state)
{
	struct debounce d = { .retry = RETRY };

	assert_true(debounce_store(&d));
	assert_false(debounce_store(&d));
	assert_false(debounce_store(&d));
	assert_true(debounce_done(&d, true, 0));
	assert_int_equal(d.applying, 3);
	assert_int_equal(debounce_batch(&d), 2);
	assert_false(debounce_done(&d, true, 0));
	assert_int_equal(d.applied, 3);
}

static void a_failed_one_is_tried_again_after_the_interval(void **state)
{
	struct debounce d = { .retry = RETRY };

	debounce_store(&d);
	assert_false(debounce_done(&d, false, 100));
	assert_int_equal(d.state, DEBOUNCE_WAITING);
	assert_false(debounce_tick(&d, 100 + RETRY - 1));
	assert_true(debounce_tick(&d, 100 + RETRY));
	assert_int_equal(d.applying, 1);
	assert_false(debounce_tick(&d, 1000));
}

static void a_new_one_does_not_wait_for_the_retry(void **state)
{
	struct debounce d = { .retry = RETRY };

	debounce_store(&d);
	debounce_done(&d, false, 0);
	assert_true(debounce_store(&d));
	assert_int_equal(d.applying, 2);
	assert_false(debounce_done(&d, true, 0));
	assert_int_equal(d.failures, 0);
}

static void a_newer_one_is_tried_at_once_after_a_failure(void **state)
{
	struct debounce d = { .retry = RETRY };

	debounce_store(&d);
	debounce_store(&d);
	assert_true(debounce_done(&d, false, 0));
	assert_int_equal(d.applying, 2);
}

/* What the world outside knows: is one in flight, and which. */
struct world {
	struct debounce d;
	bool in_flight;
	uint64_t flying; /* what it was started with */
	int64_t now;
};

static void note(struct world *w, bool started)
{
	if (started) {
		assert_false(w->in_flight); /* never two */
		w->in_flight = true;
		w->flying = w->d.stored; /* the caller takes the latest */
	}
	assert_int_equal(w->in_flight, w->d.state == DEBOUNCE_BUSY);
	if (w->in_flight)
		assert_int_equal(w->d.applying, w->flying);
	/* with something to do, it is being done or will be */
	if (w->d.applied != w->d.stored)
		assert_int_not_equal(w->d.state, DEBOUNCE_IDLE);
}

static void end(struct world *w, bool success)
{
	w->in_flight = false;
	note(w, debounce_done(&w->d, success, w->now));
}

/* From any state, success after success leads to the latest, in at most two more. */
static void settles(struct world w)
{
	for (unsigned i = 0; i < 3 && w.d.state != DEBOUNCE_IDLE; i++) {
		if (w.d.state == DEBOUNCE_WAITING) {
			w.now = w.d.due;
			note(&w, debounce_tick(&w.d, w.now));
		}
		end(&w, true);
	}
	assert_int_equal(w.d.state, DEBOUNCE_IDLE);
	assert_int_equal(w.d.applied, w.d.stored);
}

static void explore(struct world w, unsigned depth, size_t *visited)
{
	struct world next;

	(*visited)++;
	settles(w);
	if (!depth)
		return;
	next = w;
	note(&next, debounce_store(&next.d));
	explore(next, depth - 1, visited);
	next = w;
	next.now += RETRY / 2 + 1;
	note(&next, debounce_tick(&next.d, next.now));
	explore(next, depth - 1, visited);
	for (int success = 0; w.in_flight && success < 2; success++) {
		next = w;
		end(&next, success);
		explore(next, depth - 1, visited);
	}
}

static void every_interleaving_ends_with_the_latest_applied(void **state)
{
	size_t visited = 0;

	explore((struct world){ .d = { .retry = RETRY } }, 10, &visited);
	assert_true(visited > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_one_starts_at_once),
		cmocka_unit_test(configurations_that_come_meanwhile_are_one),
		cmocka_unit_test(a_failed_one_is_tried_again_after_the_interval),
		cmocka_unit_test(a_new_one_does_not_wait_for_the_retry),
		cmocka_unit_test(a_newer_one_is_tried_at_once_after_a_failure),
		cmocka_unit_test(every_interleaving_ends_with_the_latest_applied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
