/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/rollout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static const struct l7_rollout usual = {
	.share = 10, .step = 20, .max_increase = 5, .min_requests = 50, .interval = 10 * SECOND
};

static void a_good_one_grows_until_it_has_all(void **state)
{
	static const struct l7_tally before = { 1000, 10 }, after = { 100, 1 };
	unsigned share = usual.share, steps = 0;

	while (share < 100) {
		assert_int_equal(l7_rollout_judge(&usual, share, 10 * SECOND - 1, before, after),
				 L7_ROLLOUT_WAIT);
		assert_int_equal(l7_rollout_judge(&usual, share, 10 * SECOND, before, after),
				 L7_ROLLOUT_STEP);
		share = l7_rollout_next(&usual, share);
		steps++;
	}
	assert_int_equal(steps, 5); /* 30, 50, 70, 90, 100 */
	assert_int_equal(share, 100);
	assert_int_equal(l7_rollout_judge(&usual, share, SECOND, before, after), L7_ROLLOUT_WAIT);
	assert_int_equal(l7_rollout_judge(&usual, share, 10 * SECOND, before, after),
			 L7_ROLLOUT_FINISH);
}

static void a_bad_one_returns_as_soon_as_enough_is_known(void **state)
{
	static const struct l7_tally before = { 1000, 10 }; /* 1 per cent */
	static const struct {
		struct l7_tally after;
		enum l7_rollout_verdict verdict;
	} rows[] = {
		{ { 49, 49 }, L7_ROLLOUT_WAIT },
		{ { 50, 50 }, L7_ROLLOUT_RETURN },
		{ { 100, 7 }, L7_ROLLOUT_RETURN },
		{ { 100, 6 }, L7_ROLLOUT_WAIT },
		{ { 100000, 0 }, L7_ROLLOUT_WAIT },
		{ { 1000000000, 60000001 }, L7_ROLLOUT_RETURN },
		{ { UINT64_MAX, UINT64_MAX }, L7_ROLLOUT_RETURN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(l7_rollout_judge(&usual, 10, 0, before, rows[i].after),
				 rows[i].verdict);
}

/* If the old one fails as often, the new one is not to blame. */
static void errors_of_both_are_no_reason(void **state)
{
	static const struct l7_tally before = { 1000, 500 };

	assert_int_equal(l7_rollout_judge(&usual, 10, 0, before, (struct l7_tally){ 100, 55 }),
			 L7_ROLLOUT_WAIT);
	assert_int_equal(l7_rollout_judge(&usual, 10, 0, before, (struct l7_tally){ 100, 56 }),
			 L7_ROLLOUT_RETURN);
	/* without requests to the old one, it counts as one without errors */
	assert_int_equal(l7_rollout_judge(&usual, 100, 0, (struct l7_tally){ 0 },
					  (struct l7_tally){ 100, 6 }),
			 L7_ROLLOUT_RETURN);
}

static void without_requests_it_waits(void **state)
{
	static const struct l7_tally none;
	struct l7_rollout r = usual;

	assert_int_equal(l7_rollout_judge(&r, 10, 1000 * SECOND, none, none), L7_ROLLOUT_WAIT);
	assert_int_equal(l7_rollout_judge(&r, 10, 1000 * SECOND, none, (struct l7_tally){ 49, 0 }),
			 L7_ROLLOUT_WAIT);
	r.min_requests = 0; /* by time alone */
	assert_int_equal(l7_rollout_judge(&r, 10, 10 * SECOND, none, none), L7_ROLLOUT_STEP);
	assert_int_equal(l7_rollout_judge(&r, 10, 0, none, (struct l7_tally){ 1, 1 }),
			 L7_ROLLOUT_RETURN);
}

static void without_a_step_only_errors_end_it(void **state)
{
	struct l7_rollout r = usual;

	r.step = 0;
	assert_int_equal(l7_rollout_judge(&r, 100, 1000 * SECOND, (struct l7_tally){ 100, 0 },
					  (struct l7_tally){ 100, 0 }),
			 L7_ROLLOUT_WAIT);
	assert_int_equal(l7_rollout_judge(&r, 10, 0, (struct l7_tally){ 100, 0 },
					  (struct l7_tally){ 100, 100 }),
			 L7_ROLLOUT_RETURN);
}

static void a_share_of_clients_is_chosen(void **state)
{
	static const unsigned shares[] = { 0, 1, 10, 50, 90, 100 };

	for (uint64_t seed = 0; seed < 5; seed++)
		for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
			unsigned chosen = 0;

			for (unsigned n = 0; n < 20000; n++) {
				const char address[4] = { 10, 0, (char)(n >> 8), (char)n };
				const struct str key = { address, sizeof(address) };
				bool has = l7_rollout_has(key, seed, shares[i]);

				chosen += has;
				assert_true(!has || l7_rollout_has(key, seed, shares[i] + 1));
			}
			assert_in_range(chosen + 200, shares[i] * 200, shares[i] * 200 + 400);
		}
}

static void another_rollout_chooses_others(void **state)
{
	unsigned both = 0;

	for (unsigned n = 0; n < 10000; n++) {
		const char address[4] = { 10, 0, (char)(n >> 8), (char)n };
		const struct str key = { address, sizeof(address) };

		both += l7_rollout_has(key, 1, 10) && l7_rollout_has(key, 2, 10);
	}
	assert_in_range(both, 50, 150); /* 1 per cent */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_one_grows_until_it_has_all),
		cmocka_unit_test(a_bad_one_returns_as_soon_as_enough_is_known),
		cmocka_unit_test(errors_of_both_are_no_reason),
		cmocka_unit_test(without_requests_it_waits),
		cmocka_unit_test(a_share_of_clients_is_chosen),
		cmocka_unit_test(another_rollout_chooses_others),
		cmocka_unit_test(without_a_step_only_errors_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
