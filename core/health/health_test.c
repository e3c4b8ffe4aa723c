/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/testing/random.h"

static const struct health_rule two_three = { .rise = 2, .fall = 3 };

static struct health in_state(enum health_state state, unsigned counter)
{
	return (struct health){ .state = state, .counter = counter, .since = 1 };
}

/* Feeds one result and returns the state after it. */
static enum health_state after(struct health *h, enum health_code code)
{
	struct health_change change;

	health_record(h, &two_three, code, 2, &change);
	return h->state;
}

static void assert_change(const struct health_change *c, enum health_state from,
			  enum health_state to, enum health_code why)
{
	assert_int_equal(c->from, from);
	assert_int_equal(c->to, to);
	assert_int_equal(c->why, why);
}

/* FR-1.6: the first result decides, whatever rise and fall say */
static void first_pass_takes_unknown_up_with_the_counter_at_rise(void **state)
{
	struct health_change change;
	struct health h;

	health_init(&h, 5);
	assert_int_equal(h.state, HEALTH_UNKNOWN);
	assert_int_equal(h.since, 5);
	assert_true(health_record(&h, &two_three, CODE_L7OK, 7, &change));
	assert_change(&change, HEALTH_UNKNOWN, HEALTH_UP, CODE_L7OK);
	assert_int_equal(change.at, 7);
	assert_int_equal(h.since, 7);
	assert_int_equal(h.counter, 2);
}

/* FR-1.6 */
static void first_failure_takes_unknown_down_with_the_counter_at_zero(void **state)
{
	struct health_change change;
	struct health h;

	health_init(&h, 5);
	assert_true(health_record(&h, &two_three, CODE_L4TOUT, 7, &change));
	assert_change(&change, HEALTH_UNKNOWN, HEALTH_DOWN, CODE_L4TOUT);
	assert_int_equal(h.counter, 0);
}

/* FR-1.2: down from unknown needs rise passes like any other down, without a shortcut */
static void down_from_unknown_needs_rise_passes_to_recover(void **state)
{
	struct health h;

	health_init(&h, 0);
	assert_int_equal(after(&h, CODE_L4CON), HEALTH_DOWN);
	assert_int_equal(after(&h, CODE_L4OK), HEALTH_DOWN);
	assert_int_equal(after(&h, CODE_L4OK), HEALTH_UP);
}

/* FR-1.2: [0, rise + fall - 1], up at or above rise */
static void a_full_counter_falls_after_fall_failures(void **state)
{
	struct health h = in_state(HEALTH_UP, 4);

	assert_int_equal(after(&h, CODE_L7STS), HEALTH_UP);
	assert_int_equal(after(&h, CODE_L7STS), HEALTH_UP);
	assert_int_equal(after(&h, CODE_L7STS), HEALTH_DOWN);
	assert_int_equal(h.counter, 1);
}

/* FR-1.2 */
static void an_empty_counter_rises_after_rise_passes(void **state)
{
	struct health h = in_state(HEALTH_DOWN, 0);

	assert_int_equal(after(&h, CODE_L7OK), HEALTH_DOWN);
	assert_int_equal(after(&h, CODE_L7OK), HEALTH_UP);
	assert_int_equal(h.counter, 2);
}

/* FR-1.2 */
static void the_counter_saturates_at_both_ends(void **state)
{
	struct health up = in_state(HEALTH_UP, 4), down = in_state(HEALTH_DOWN, 0);

	assert_int_equal(after(&up, CODE_L4OK), HEALTH_UP);
	assert_int_equal(up.counter, 4);
	assert_int_equal(after(&down, CODE_L4CON), HEALTH_DOWN);
	assert_int_equal(down.counter, 0);
}

/* FR-1.2: one failure between passes takes one step back and does not restart the count */
static void a_single_failure_costs_one_step_only(void **state)
{
	struct health h = in_state(HEALTH_UP, 4);

	assert_int_equal(after(&h, CODE_L4CON), HEALTH_UP);
	assert_int_equal(after(&h, CODE_L4OK), HEALTH_UP);
	assert_int_equal(h.counter, 4);
}

static void rise_and_fall_of_one_follow_every_result(void **state)
{
	static const struct health_rule one = { 1, 1 };
	struct health_change change;
	struct health h = in_state(HEALTH_UP, 1);

	assert_true(health_record(&h, &one, CODE_L4CON, 2, &change));
	assert_int_equal(h.state, HEALTH_DOWN);
	assert_true(health_record(&h, &one, CODE_L4OK, 3, &change));
	assert_int_equal(h.state, HEALTH_UP);
	assert_false(health_record(&h, &one, CODE_L4OK, 4, &change));
	assert_int_equal(h.counter, 1);
}

static void a_result_that_changes_nothing_leaves_since_and_the_output_alone(void **state)
{
	struct health h = in_state(HEALTH_UP, 3);
	struct health_change change, before;

	memset(&change, 0xa5, sizeof(change));
	before = change;
	assert_false(health_record(&h, &two_three, CODE_L4CON, 9, &change));
	assert_memory_equal(&change, &before, sizeof(change));
	assert_int_equal(h.since, 1);
}

/* results that arrive in paused, disabled and removed are ignored */
static void results_are_ignored_in_the_operators_states(void **state)
{
	static const enum health_state theirs[] = { HEALTH_PAUSED, HEALTH_DISABLED,
						    HEALTH_REMOVED };
	struct health_change change;

	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++) {
		struct health h = in_state(theirs[i], 3);

		assert_false(health_record(&h, &two_three, CODE_L4CON, 9, &change));
		assert_false(health_record(&h, &two_three, CODE_L4OK, 9, &change));
		assert_int_equal(h.state, theirs[i]);
		assert_int_equal(h.counter, 3);
		assert_int_equal(h.since, 1);
	}
}

/* FR-3.1: the counter is frozen; resume starts again in unknown */
static void pausing_freezes_the_counter_and_resuming_starts_again(void **state)
{
	struct health h = in_state(HEALTH_UP, 3);
	struct health_change change;

	assert_true(health_pause(&h, 5, &change));
	assert_change(&change, HEALTH_UP, HEALTH_PAUSED, CODE_PAUSED);
	assert_int_equal(h.counter, 3);
	assert_int_equal(h.since, 5);
	assert_true(health_resume(&h, 6, &change));
	assert_change(&change, HEALTH_PAUSED, HEALTH_UNKNOWN, CODE_RESUMED);
	assert_int_equal(after(&h, CODE_L4CON), HEALTH_DOWN);
}

/* FR-3.2 */
static void disabling_and_enabling_ends_in_unknown(void **state)
{
	struct health h = in_state(HEALTH_DOWN, 1);
	struct health_change change;

	assert_true(health_disable(&h, CODE_DISABLED, 5, &change));
	assert_change(&change, HEALTH_DOWN, HEALTH_DISABLED, CODE_DISABLED);
	assert_true(health_enable(&h, CODE_RELOADED, 6, &change));
	assert_change(&change, HEALTH_DISABLED, HEALTH_UNKNOWN, CODE_RELOADED);
	assert_int_equal(change.at, 6);
	assert_int_equal(after(&h, CODE_L4OK), HEALTH_UP);
	assert_int_equal(h.counter, 2);
}

static void a_paused_backend_can_be_disabled(void **state)
{
	struct health h = in_state(HEALTH_PAUSED, 2);
	struct health_change change;

	assert_true(health_disable(&h, CODE_DISABLED, 5, &change));
	assert_change(&change, HEALTH_PAUSED, HEALTH_DISABLED, CODE_DISABLED);
}

/* a command without effect emits no transition */
static void acts_that_do_not_fit_the_state_change_nothing(void **state)
{
	struct health_change change;

	for (unsigned s = 0; s < HEALTH_STATES; s++) {
		struct health h = in_state(s, 1);

		if (health_is_operator(s))
			assert_false(health_pause(&h, 9, &change));
		if (s != HEALTH_PAUSED)
			assert_false(health_resume(&h, 9, &change));
		if (s != HEALTH_DISABLED)
			assert_false(health_enable(&h, CODE_ENABLED, 9, &change));
		if (s == HEALTH_DISABLED || s == HEALTH_REMOVED)
			assert_false(health_disable(&h, CODE_DISABLED, 9, &change));
		if (s == HEALTH_REMOVED)
			assert_false(health_remove(&h, 9, &change));
		assert_int_equal(h.state, s);
		assert_int_equal(h.counter, 1);
		assert_int_equal(h.since, 1);
	}
}

static void removal_is_final_from_every_state(void **state)
{
	struct health_change change;

	for (unsigned s = 0; s < HEALTH_REMOVED; s++) {
		struct health h = in_state(s, 1);

		assert_true(health_remove(&h, 9, &change));
		assert_change(&change, s, HEALTH_REMOVED, CODE_REMOVED);
		assert_false(health_enable(&h, CODE_ENABLED, 10, &change));
		assert_false(health_resume(&h, 10, &change));
	}
}

/* reload: the state stays, the counter moves to its end */
static void a_changed_rule_moves_the_counter_but_never_the_state(void **state)
{
	static const struct health_rule new_rule = { .rise = 4, .fall = 2 };
	static const struct {
		enum health_state state;
		unsigned before, after;
	} rows[] = {
		{ HEALTH_UP, 2, 5 },	 { HEALTH_DOWN, 1, 0 },	  { HEALTH_UNKNOWN, 0, 0 },
		{ HEALTH_PAUSED, 3, 3 }, { HEALTH_PAUSED, 9, 5 }, { HEALTH_DISABLED, 9, 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct health h = in_state(rows[i].state, rows[i].before);

		health_rule_changed(&h, &new_rule);
		assert_int_equal(h.state, rows[i].state);
		assert_int_equal(h.counter, rows[i].after);
		assert_int_equal(h.since, 1);
	}
}

static void after_a_changed_rule_the_next_result_follows_the_ordinary_rules(void **state)
{
	struct health up = in_state(HEALTH_UP, 1), down = in_state(HEALTH_DOWN, 9);

	health_rule_changed(&up, &two_three);
	assert_int_equal(after(&up, CODE_L4CON), HEALTH_UP);
	assert_int_equal(after(&up, CODE_L4CON), HEALTH_UP);
	assert_int_equal(after(&up, CODE_L4CON), HEALTH_DOWN);
	health_rule_changed(&down, &two_three);
	assert_int_equal(after(&down, CODE_L4OK), HEALTH_DOWN);
	assert_int_equal(after(&down, CODE_L4OK), HEALTH_UP);
}

static void every_state_and_code_has_its_own_word(void **state)
{
	for (unsigned i = 0; i < HEALTH_STATES; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(health_state_name(i), health_state_name(j));
	for (unsigned i = 0; i < HEALTH_CODES; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(health_code_name(i), health_code_name(j));
	assert_string_equal(health_state_name(HEALTH_UNKNOWN), "unknown");
	assert_string_equal(health_code_name(CODE_L4CON), "L4CON");
	assert_string_equal(health_code_name(CODE_DISABLED), "disabled");
}

static void only_ok_codes_and_the_synthetic_one_pass(void **state)
{
	for (unsigned c = 0; c < HEALTH_CODES; c++)
		assert_int_equal(health_code_is_pass(c), c == CODE_L4OK || c == CODE_L6OK ||
								 c == CODE_L7OK ||
								 c == CODE_STATIC);
}

/*
 * The slow model: it stores every result since the last fresh start and replays them all to
 * compute the state.
 */
struct slow {
	bool results[512];
	unsigned n;
	enum health_state overlay; /* paused or disabled; unknown when none */
};

static enum health_state replay(const struct slow *s, const struct health_rule *r, int *ret_counter)
{
	int most = (int)(r->rise + r->fall) - 1, c = 0;

	for (unsigned i = 0; i < s->n; i++) {
		if (i == 0)
			c = s->results[0] ? (int)r->rise : 0;
		else
			c += s->results[i] ? (c == most ? 0 : 1) : (c == 0 ? 0 : -1);
	}
	*ret_counter = c;
	if (s->overlay != HEALTH_UNKNOWN)
		return s->overlay;
	if (s->n == 0)
		return HEALTH_UNKNOWN;
	return c >= (int)r->rise ? HEALTH_UP : HEALTH_DOWN;
}

/* The operator's commands on the slow model: 0 pause, 1 resume, 2 disable, 3 enable. */
static void slow_act(struct slow *s, unsigned act)
{
	if (act == 0 && s->overlay == HEALTH_UNKNOWN)
		s->overlay = HEALTH_PAUSED;
	else if (act == 2)
		s->overlay = HEALTH_DISABLED;
	else if ((act == 1 && s->overlay == HEALTH_PAUSED) ||
		 (act == 3 && s->overlay == HEALTH_DISABLED))
		*s = (struct slow){ .overlay = HEALTH_UNKNOWN };
}

static bool act_on(struct health *h, unsigned act, int64_t now, struct health_change *ret)
{
	switch (act) {
	case 0:
		return health_pause(h, now, ret);
	case 1:
		return health_resume(h, now, ret);
	case 2:
		return health_disable(h, CODE_DISABLED, now, ret);
	}
	return health_enable(h, CODE_ENABLED, now, ret);
}

/* One random event on both models; true if the machine reports a change of state. */
static bool stir(struct dice *d, struct health *h, struct slow *s, const struct health_rule *r,
		 int64_t now)
{
	static const enum health_code outcomes[] = { CODE_L4CON, CODE_L7OK, CODE_L7STS, CODE_L4OK };
	struct health_change change;
	unsigned roll = dice_roll(d, 40);
	bool changed;

	if (roll < 4) {
		slow_act(s, roll);
		changed = act_on(h, roll, now, &change);
	} else {
		if (s->overlay == HEALTH_UNKNOWN && s->n < ARRAY_SIZE(s->results))
			s->results[s->n++] = roll % 2;
		else if (s->overlay == HEALTH_UNKNOWN)
			return false;
		changed = health_record(h, r, outcomes[roll % 4], now, &change);
	}
	if (changed && (change.to != h->state || change.at != now || h->since != now))
		fail_msg("seed %llu: the change does not say what happened",
			 (unsigned long long)d->seed);
	return changed;
}

/* FR-1.2, FR-1.6, FR-3.1, FR-3.2 */
static void random_events_agree_with_replaying_them_all(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);
		struct health_rule r = { 1, 1 };
		struct slow s = { 0 };
		struct health h;

		health_init(&h, 0);
		for (int64_t now = 1; now < 20000; now++) {
			enum health_state before = h.state, want;
			int counter;
			bool changed;

			if (now % 500 == 0) {
				r = (struct health_rule){ 1 + dice_roll(&d, 5),
							  1 + dice_roll(&d, 5) };
				s = (struct slow){ 0 };
				health_init(&h, now);
				before = HEALTH_UNKNOWN;
			}
			changed = stir(&d, &h, &s, &r, now);
			want = replay(&s, &r, &counter);
			if (h.state != want || h.counter != (unsigned)counter ||
			    changed != (h.state != before))
				fail_msg("seed %llu step %lld: %s/%u, wanted %s/%d",
					 (unsigned long long)d.seed, (long long)now,
					 health_state_name(h.state), h.counter,
					 health_state_name(want), counter);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_pass_takes_unknown_up_with_the_counter_at_rise),
		cmocka_unit_test(first_failure_takes_unknown_down_with_the_counter_at_zero),
		cmocka_unit_test(down_from_unknown_needs_rise_passes_to_recover),
		cmocka_unit_test(a_full_counter_falls_after_fall_failures),
		cmocka_unit_test(an_empty_counter_rises_after_rise_passes),
		cmocka_unit_test(the_counter_saturates_at_both_ends),
		cmocka_unit_test(a_single_failure_costs_one_step_only),
		cmocka_unit_test(rise_and_fall_of_one_follow_every_result),
		cmocka_unit_test(a_result_that_changes_nothing_leaves_since_and_the_output_alone),
		cmocka_unit_test(results_are_ignored_in_the_operators_states),
		cmocka_unit_test(pausing_freezes_the_counter_and_resuming_starts_again),
		cmocka_unit_test(disabling_and_enabling_ends_in_unknown),
		cmocka_unit_test(a_paused_backend_can_be_disabled),
		cmocka_unit_test(acts_that_do_not_fit_the_state_change_nothing),
		cmocka_unit_test(removal_is_final_from_every_state),
		cmocka_unit_test(a_changed_rule_moves_the_counter_but_never_the_state),
		cmocka_unit_test(after_a_changed_rule_the_next_result_follows_the_ordinary_rules),
		cmocka_unit_test(every_state_and_code_has_its_own_word),
		cmocka_unit_test(only_ok_codes_and_the_synthetic_one_pass),
		cmocka_unit_test(random_events_agree_with_replaying_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
