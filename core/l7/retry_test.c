/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/retry.h"

static const uint16_t codes[] = { 500, 504 };
static const struct l7_retry plain = { .attempts = 2 };
static const struct l7_retry by_code = { .attempts = 2, .codes = codes, .n_codes = 2 };

static struct l7_try ended(enum l7_ending ending, unsigned status, unsigned number)
{
	return (struct l7_try){
		.ending = ending, .status = status, .number = number, .repeatable = true
	};
}

static bool again(const struct l7_retry *policy, struct l7_try t)
{
	return l7_retry_again(policy, &t);
}

static void what_no_server_has_seen_is_tried_again(void **state)
{
	assert_true(again(&plain, ended(L7_NOT_REACHED, 0, 1)));
	assert_true(again(&plain, ended(L7_NOT_TAKEN, 0, 2)));
	assert_true(again(&plain, ended(L7_NOT_SECURED, 0, 1)));
	assert_false(again(&plain, ended(L7_NOT_REACHED, 0, 3)));
}

static void what_a_server_may_have_processed_is_not(void **state)
{
	assert_false(again(&plain, ended(L7_TIMED_OUT, 0, 1)));
	assert_false(again(&plain, ended(L7_BROKEN, 0, 1)));
	assert_false(again(&plain, ended(L7_ANSWERED, 503, 1)));
}

static void a_code_asks_for_it(void **state)
{
	assert_true(again(&by_code, ended(L7_ANSWERED, 500, 1)));
	assert_false(again(&by_code, ended(L7_ANSWERED, 503, 1)));
	assert_true(again(&by_code, ended(L7_TIMED_OUT, 0, 1)));
	assert_false(again(&by_code, ended(L7_BROKEN, 0, 1)));
	assert_true(again(&by_code, ended(L7_NOT_REACHED, 0, 1)));
}

static void zero_attempts_are_none(void **state)
{
	const struct l7_retry none = { .codes = codes, .n_codes = 2 };

	assert_false(again(&none, ended(L7_NOT_REACHED, 0, 1)));
	assert_false(again(&none, ended(L7_ANSWERED, 500, 1)));
}

static void what_cannot_be_repeated_is_not(void **state)
{
	struct l7_try t = ended(L7_NOT_REACHED, 0, 1);

	t.repeatable = false;
	assert_false(again(&plain, t));
	t.repeatable = t.answering = true;
	assert_false(again(&plain, t));
}

static void the_client_gets_a_status(void **state)
{
	static const struct {
		enum l7_ending ending;
		unsigned status;
	} rows[] = { { L7_ANSWERED, 418 },  { L7_NOT_REACHED, 503 }, { L7_NOT_SECURED, 502 },
		     { L7_NOT_TAKEN, 503 }, { L7_TIMED_OUT, 504 },   { L7_BROKEN, 502 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct l7_try t = ended(rows[i].ending, 418, 1);

		assert_int_equal(l7_retry_status(&t), rows[i].status);
	}
}

static void the_wait_doubles_up_to_a_bound(void **state)
{
	const struct l7_retry policy = { .attempts = 100, .backoff = 100 * NSEC_PER_MSEC };
	int64_t most = 100 * NSEC_PER_MSEC;

	for (unsigned number = 1; number < 100; number++) {
		struct l7_try t = ended(L7_NOT_REACHED, 0, number);
		int64_t bound = most < L7_BACKOFF_MAX ? most : L7_BACKOFF_MAX;

		for (uint64_t random = 0; random < 1000; random++) {
			int64_t wait =
				l7_retry_wait(&policy, &t, random * UINT64_C(0x9e3779b97f4a7c15));

			assert_true(wait >= bound / 2 && wait <= bound);
		}
		most = most < L7_BACKOFF_MAX ? most * 2 : most;
	}
	assert_int_equal(l7_retry_wait(&plain, &(struct l7_try){ .number = 1 }, 5), 0);
}

static void only_tries_that_reached_a_server_cost_it_something(void **state)
{
	static const bool want[] = { [L7_ANSWERED] = true,
				     [L7_NOT_REACHED] = false,
				     [L7_NOT_TAKEN] = false,
				     [L7_TIMED_OUT] = true,
				     [L7_BROKEN] = true };

	for (enum l7_ending e = L7_ANSWERED; e <= L7_BROKEN; e++)
		assert_int_equal(l7_retry_costs(&(struct l7_try){ .ending = e }), want[e]);
}

static void further_tries_have_a_budget(void **state)
{
	static const struct {
		unsigned percent;
		uint32_t active, further;
		bool want;
	} cases[] = {
		{ 20, 1, 0, true },	   { 20, 3, 9, true },	     { 20, 3, 10, false },
		{ 20, 100, 19, true },	   { 20, 100, 20, false },   { 0, 1000000, 9, true },
		{ 0, 1000000, 10, false }, { 100, 1000, 999, true }, { 100, UINT32_MAX, 9, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(l7_retry_in_budget(cases[i].percent, cases[i].active,
						    cases[i].further),
				 cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_server_has_seen_is_tried_again),
		cmocka_unit_test(what_a_server_may_have_processed_is_not),
		cmocka_unit_test(a_code_asks_for_it),
		cmocka_unit_test(zero_attempts_are_none),
		cmocka_unit_test(what_cannot_be_repeated_is_not),
		cmocka_unit_test(the_client_gets_a_status),
		cmocka_unit_test(the_wait_doubles_up_to_a_bound),
		cmocka_unit_test(only_tries_that_reached_a_server_cost_it_something),
		cmocka_unit_test(further_tries_have_a_budget),
	};

	return cmocka_run_group_tests_name("core/l7/retry", tests, NULL, NULL);
}
