/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/units.h"

static const struct backoff_policy exact = { .first = 250 * NSEC_PER_MSEC,
					     .last = 30 * NSEC_PER_SEC };

static void delays_double_up_to_the_last(void **state)
{
	static const int64_t ms[] = { 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };
	uint64_t random = 1;

	for (unsigned i = 0; i < sizeof(ms) / sizeof(ms[0]); i++)
		assert_int_equal(backoff_delay(&exact, i + 1, &random), ms[i] * NSEC_PER_MSEC);
	assert_int_equal(backoff_delay(&exact, UINT32_MAX, &random), exact.last);
	assert_int_equal(random, 1);
}

static void the_largest_delays_do_not_overflow(void **state)
{
	const struct backoff_policy p = { .first = 1, .last = INT64_MAX };
	uint64_t random = 1;

	assert_true(backoff_delay(&p, 63, &random) == (int64_t)1 << 62);
	assert_true(backoff_delay(&p, 64, &random) == INT64_MAX);
	assert_true(backoff_delay(&p, 10000, &random) == INT64_MAX);
}

static void jitter_shortens_within_its_bound(void **state)
{
	struct backoff_policy p = exact;
	int64_t least = INT64_MAX, most = 0;
	uint64_t random = 42;

	p.jitter = 20;
	for (unsigned i = 0; i < 1000; i++) {
		int64_t delay = backoff_delay(&p, 3, &random);

		least = delay < least ? delay : least;
		most = delay > most ? delay : most;
	}
	assert_in_range(least, 800 * NSEC_PER_MSEC, 820 * NSEC_PER_MSEC);
	assert_in_range(most, 980 * NSEC_PER_MSEC, 1000 * NSEC_PER_MSEC);
}

static void the_same_seed_gives_the_same_delays(void **state)
{
	struct backoff_policy p = exact;
	uint64_t a = 7, b = 7, c = 8;
	unsigned differ = 0;

	p.jitter = 50;
	for (unsigned i = 1; i < 20; i++) {
		int64_t delay = backoff_delay(&p, i, &a);

		assert_int_equal(delay, backoff_delay(&p, i, &b));
		differ += delay != backoff_delay(&p, i, &c);
	}
	assert_true(differ > 0);
}

/* ---- with a timer ---- */

static void on_due(void *user)
{
	++*(unsigned *)user;
}

struct fixture {
	struct ev_loop *loop;
	struct backoff b;
	unsigned calls;
};

static int setup(void **state)
{
	static const struct backoff_policy quick = { .first = NSEC_PER_MSEC,
						     .last = 4 * NSEC_PER_MSEC };
	static struct fixture f;

	f = (struct fixture){ .loop = ev_loop_new(EVFLAG_AUTO) };
	backoff_init(&f.b, f.loop, &quick, on_due, &f.calls);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ev_loop_destroy(f->loop);
	return 0;
}

static void it_is_due_once_after_each_failure(void **state)
{
	static const int64_t ms[] = { 1, 2, 4, 4 };
	struct fixture *f = *state;

	for (unsigned i = 0; i < 4; i++) {
		int64_t before = loop_monotonic();

		ev_now_update(f->loop);
		assert_int_equal(backoff_start(&f->b), ms[i] * NSEC_PER_MSEC);
		assert_true(backoff_waits(&f->b));
		ev_run(f->loop, 0);
		assert_int_equal(f->calls, i + 1);
		assert_false(backoff_waits(&f->b));
		assert_true(loop_monotonic() - before >= ms[i] * NSEC_PER_MSEC);
	}
}

static void a_failure_while_it_waits_is_not_counted(void **state)
{
	struct fixture *f = *state;

	f->b.policy = exact;
	backoff_start(&f->b);
	assert_in_range(backoff_start(&f->b), 1, exact.first);
	assert_int_equal(f->b.failures, 1);
	backoff_stop(&f->b);
	assert_false(backoff_waits(&f->b));
	assert_int_equal(backoff_start(&f->b), 2 * exact.first);
	backoff_stop(&f->b);
}

static void success_begins_with_the_first_delay_again(void **state)
{
	struct fixture *f = *state;

	f->b.policy = exact;
	backoff_start(&f->b);
	backoff_reset(&f->b);
	assert_false(backoff_waits(&f->b));
	assert_int_equal(backoff_start(&f->b), exact.first);
	backoff_reset(&f->b);
	ev_run(f->loop, 0); /* returns: no watcher is left */
	assert_int_equal(f->calls, 0);
}

static void the_first_attempt_waits_for_no_delay(void **state)
{
	struct fixture *f = *state;

	f->b.policy = exact;
	backoff_now(&f->b);
	assert_int_equal(f->calls, 0);
	ev_run(f->loop, 0);
	assert_int_equal(f->calls, 1);
	assert_int_equal(backoff_start(&f->b), exact.first);
	backoff_stop(&f->b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays_double_up_to_the_last),
		cmocka_unit_test(the_largest_delays_do_not_overflow),
		cmocka_unit_test(jitter_shortens_within_its_bound),
		cmocka_unit_test(the_same_seed_gives_the_same_delays),
		T(it_is_due_once_after_each_failure),
		T(a_failure_while_it_waits_is_not_counted),
		T(the_first_attempt_waits_for_no_delay),
		T(success_begins_with_the_first_delay_again),
	};

	return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
