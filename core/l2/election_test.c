/* SPDX-License-Identifier: Apache-2.0 */
/* The rules one by one, as the member "b" with priority 100 sees them. Times are in ms. */
#include "core/l2/election.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"

#define MS NSEC_PER_MSEC
#define HEARTBEAT 200
/* 3 heartbeats and 156/256 of one: what "b" grants a member that is silent */
#define PATIENCE (3 * HEARTBEAT + HEARTBEAT * 156 / 256 + 1)

static struct l2_election begin(uint8_t priority, bool preempt)
{
	const struct l2_rule rule = {
		.priority = priority, .preempt = preempt, .heartbeat = HEARTBEAT * MS, .losses = 3
	};
	struct l2_election e;

	l2_election_start(&e, "b", &rule, 0);
	assert_int_equal(l2_election_judge(&e, 0), L2_NOTHING);
	return e;
}

static enum l2_action hear(struct l2_election *e, const char *name, uint8_t priority, bool owner,
			   int64_t ms)
{
	const struct l2_word word = { priority, owner, false, 0, HEARTBEAT * MS };

	l2_election_hear(e, name, &word, ms * MS);
	return l2_election_judge(e, ms * MS);
}

static enum l2_action judge(struct l2_election *e, int64_t ms)
{
	return l2_election_judge(e, ms * MS);
}

static void assert_is(const struct l2_election *e, enum l2_state state, enum l2_reason reason)
{
	assert_string_equal(l2_state_name(e->state), l2_state_name(state));
	assert_string_equal(l2_reason_name(e->reason), l2_reason_name(reason));
}

/* The owner since PATIENCE, alone. */
static struct l2_election owner(void)
{
	struct l2_election e = begin(100, true);

	assert_int_equal(judge(&e, PATIENCE), L2_ANNOUNCE);
	return e;
}

static void a_new_member_listens_before_it_takes_the_vip(void **state)
{
	struct l2_election e = begin(100, true);

	assert_is(&e, L2_BACKUP, L2_LISTENING);
	assert_int_equal(l2_election_word(&e, 0).priority, 0);
	assert_int_equal(e.due, e.listens_until);
	assert_int_equal(l2_election_judge(&e, e.due - 1), L2_NOTHING);
	assert_int_equal(l2_election_judge(&e, e.due), L2_ANNOUNCE);
	assert_is(&e, L2_OWNER, L2_BEST);
	assert_int_equal(l2_election_word(&e, e.since).priority, 100);
	assert_true(l2_election_word(&e, e.since).owner);
	assert_string_equal(l2_election_owner(&e), "b");
	assert_int_equal(e.due, 0);
}

static void the_higher_priority_wins_and_then_the_first_name(void **state)
{
	const struct {
		const char *name;
		uint8_t priority;
		bool loses;
	} rivals[] = {
		{ "a", 99, true }, { "a", 100, false }, { "c", 100, true }, { "c", 101, false }
	};

	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
		struct l2_election e = begin(100, true);

		hear(&e, rivals[i].name, rivals[i].priority, false, PATIENCE - 1);
		judge(&e, PATIENCE);
		if (rivals[i].loses)
			assert_is(&e, L2_OWNER, L2_BEST);
		else
			assert_is(&e, L2_BACKUP, L2_OUTRANKED);
	}
}

static void a_silent_owner_is_replaced_below_one_second(void **state)
{
	for (unsigned priority = 1; priority <= 255; priority++) {
		struct l2_election e = begin((uint8_t)priority, false);

		assert_int_equal(hear(&e, "a", 200, true, 5000), L2_NOTHING);
		assert_is(&e, L2_BACKUP, L2_OWNED);
		assert_string_equal(l2_election_owner(&e), "a");
		assert_in_range(e.due - 5000 * MS, 600 * MS, 800 * MS);
		assert_int_equal(l2_election_judge(&e, e.due - 1), L2_NOTHING);
		assert_int_equal(l2_election_judge(&e, e.due), L2_ANNOUNCE);
	}
}

static void the_better_of_two_notices_a_death_first(void **state)
{
	struct l2_election high = begin(200, true), low = begin(100, true);

	hear(&high, "a", 250, true, 5000);
	hear(&low, "a", 250, true, 5000);
	assert_true(high.due < low.due);
}

static void a_member_that_leaves_is_replaced_at_once(void **state)
{
	struct l2_election e = begin(100, false);

	hear(&e, "a", 200, true, PATIENCE);
	assert_int_equal(hear(&e, "a", 0, false, PATIENCE + 10), L2_ANNOUNCE);
}

static void a_lower_owner_is_pre_empted_only_if_so_configured(void **state)
{
	struct l2_election patient = begin(100, false), eager = begin(100, true);

	assert_int_equal(hear(&patient, "c", 50, true, PATIENCE), L2_NOTHING);
	assert_is(&patient, L2_BACKUP, L2_OWNED);
	assert_int_equal(hear(&eager, "c", 50, true, PATIENCE), L2_ANNOUNCE);
	assert_is(&eager, L2_OWNER, L2_PREEMPTS);
}

static void an_owner_of_the_same_priority_is_not_pre_empted(void **state)
{
	struct l2_election e = begin(100, true);

	assert_int_equal(hear(&e, "c", 100, true, PATIENCE), L2_NOTHING);
	assert_is(&e, L2_BACKUP, L2_OWNED);
}

/* "a" is better than "b", but does not pre-empt: then "b" does. */
static void a_better_member_that_does_not_pre_empt_is_not_waited_for(void **state)
{
	const struct l2_word eager = { 200, false, true, 0, HEARTBEAT * MS };
	struct l2_election e = begin(100, true);

	l2_election_hear(&e, "a", &eager, PATIENCE * MS);
	assert_int_equal(hear(&e, "c", 50, true, PATIENCE), L2_NOTHING);
	assert_is(&e, L2_BACKUP, L2_OUTRANKED);
	assert_int_equal(hear(&e, "a", 200, false, PATIENCE + 1), L2_ANNOUNCE);
}

static void of_two_owners_the_lower_one_yields(void **state)
{
	struct l2_election e = owner();

	assert_int_equal(hear(&e, "a", 200, true, PATIENCE + 10), L2_YIELD);
	assert_is(&e, L2_BACKUP, L2_OUTRANKED);
	assert_string_equal(l2_election_owner(&e), "a");
	/* also without pre-emption, since two owners are worse than a change */
	e = begin(100, false);
	judge(&e, PATIENCE);
	assert_int_equal(hear(&e, "a", 100, true, PATIENCE + 10), L2_YIELD);
}

static void of_two_owners_the_higher_one_announces_again(void **state)
{
	struct l2_election e = owner();

	assert_int_equal(hear(&e, "c", 50, true, PATIENCE + 10), L2_ANNOUNCE_AGAIN);
	assert_int_equal(hear(&e, "c", 50, true, PATIENCE + 20), L2_NOTHING);
	assert_string_equal(l2_election_owner(&e), "b");
	/* and once more when the other one has yielded */
	assert_int_equal(hear(&e, "c", 50, false, PATIENCE + 30), L2_ANNOUNCE_AGAIN);
	assert_int_equal(hear(&e, "c", 50, false, PATIENCE + 40), L2_NOTHING);
	assert_is(&e, L2_OWNER, L2_BEST);
}

/* The usual end of a partition: the lower one has yielded before it is heard. */
static void an_owner_announces_again_after_another_has_claimed_the_vip(void **state)
{
	struct l2_word word = { 50, false, false, 7, HEARTBEAT * MS };
	struct l2_election e = owner();

	l2_election_hear(&e, "c", &word, (PATIENCE + 10) * MS); /* new: it may have been one */
	assert_int_equal(judge(&e, PATIENCE + 10), L2_ANNOUNCE_AGAIN);
	l2_election_hear(&e, "c", &word, (PATIENCE + 20) * MS);
	assert_int_equal(judge(&e, PATIENCE + 20), L2_NOTHING);
	word.claims++;
	l2_election_hear(&e, "c", &word, (PATIENCE + 30) * MS);
	assert_int_equal(judge(&e, PATIENCE + 30), L2_ANNOUNCE_AGAIN);
	assert_int_equal(judge(&e, PATIENCE + 30), L2_NOTHING);
}

static void each_claim_is_counted(void **state)
{
	struct l2_election e = owner();
	uint16_t claims = l2_election_word(&e, PATIENCE * MS).claims;

	hear(&e, "a", 200, true, PATIENCE + 10);
	assert_int_equal(l2_election_word(&e, PATIENCE * MS).claims, claims);
	hear(&e, "a", 0, false, PATIENCE + 20);
	assert_int_equal(e.state, L2_OWNER);
	assert_int_equal(l2_election_word(&e, PATIENCE * MS).claims, claims + 1);
}

/* Without pre-emption it must not take the VIP from one that it could not hear. */
static void a_member_that_was_cut_off_listens_again(void **state)
{
	struct l2_election e = begin(100, false);

	hear(&e, "c", 50, true, PATIENCE);
	l2_election_stand(&e, false);
	judge(&e, PATIENCE + 10);
	assert_int_equal(judge(&e, 10000), L2_NOTHING);
	l2_election_stand(&e, true);
	l2_election_listen(&e, 20000 * MS);
	assert_int_equal(judge(&e, 20000), L2_NOTHING);
	assert_is(&e, L2_BACKUP, L2_LISTENING);
	assert_int_equal(hear(&e, "c", 50, true, 20100), L2_NOTHING);
	assert_int_equal(hear(&e, "c", 50, true, 20000 + PATIENCE), L2_NOTHING);
	assert_is(&e, L2_BACKUP, L2_OWNED);
}

static void an_unfit_member_does_not_stand(void **state)
{
	struct l2_election e = owner();

	l2_election_stand(&e, false);
	assert_int_equal(judge(&e, PATIENCE + 10), L2_YIELD);
	assert_is(&e, L2_BACKUP, L2_UNFIT);
	assert_int_equal(l2_election_word(&e, (PATIENCE + 10) * MS).priority, 0);
	assert_null(l2_election_owner(&e));
	assert_int_equal(judge(&e, PATIENCE + 5000), L2_NOTHING);
	l2_election_stand(&e, true);
	assert_int_equal(judge(&e, PATIENCE + 5010), L2_ANNOUNCE);
}

static void a_member_that_does_not_stand_does_not_count(void **state)
{
	struct l2_election e = begin(100, false);

	hear(&e, "a", 0, false, PATIENCE - 1);
	assert_int_equal(judge(&e, PATIENCE), L2_ANNOUNCE);
}

static void one_that_left_does_not_come_back(void **state)
{
	struct l2_election e = owner();

	l2_election_leave(&e);
	assert_int_equal(judge(&e, PATIENCE + 10), L2_YIELD);
	assert_is(&e, L2_LEAVING, L2_LEFT);
	assert_int_equal(l2_election_word(&e, (PATIENCE + 10) * MS).priority, 0);
	assert_false(l2_election_word(&e, (PATIENCE + 10) * MS).owner);
	l2_election_stand(&e, true);
	assert_int_equal(judge(&e, PATIENCE + 5000), L2_NOTHING);
	assert_is(&e, L2_LEAVING, L2_LEFT);
}

static void a_backup_that_leaves_has_nothing_to_yield(void **state)
{
	struct l2_election e = begin(100, true);

	l2_election_leave(&e);
	assert_int_equal(judge(&e, 10), L2_NOTHING);
	assert_is(&e, L2_LEAVING, L2_LEFT);
}

static void the_own_name_is_not_heard(void **state)
{
	struct l2_election e = owner();

	assert_int_equal(hear(&e, "b", 255, true, PATIENCE + 10), L2_NOTHING);
	assert_int_equal(e.n, 0);
}

static void members_are_bounded_and_forgotten_when_dead(void **state)
{
	struct l2_election e = begin(100, true);
	char name[8] = "m00";

	for (unsigned i = 0; i <= L2_MEMBERS_MAX; i++) {
		name[1] = (char)('0' + i / 10);
		name[2] = (char)('0' + i % 10);
		hear(&e, name, 50, false, 10);
	}
	assert_int_equal(e.n, L2_MEMBERS_MAX);
	judge(&e, 10 + PATIENCE);
	assert_int_equal(e.n, 0);
	hear(&e, "m99", 50, false, 2000);
	assert_int_equal(e.n, 1);
}

/* A member that speaks rarely is not dead when one that speaks often would be. */
static void silence_is_measured_in_the_heartbeats_of_the_other(void **state)
{
	const struct l2_word slow = { 200, true, false, 0, 1000 * MS };
	struct l2_election e = begin(100, true);

	l2_election_hear(&e, "a", &slow, 5000 * MS);
	assert_int_equal(judge(&e, 5000 + 3000), L2_NOTHING);
	assert_int_equal(judge(&e, 5000 + 4000), L2_ANNOUNCE);
}

static void a_new_rule_leaves_the_owner_in_its_place(void **state)
{
	struct l2_election e = owner();
	struct l2_rule rule = e.rule;

	assert_int_equal(hear(&e, "a", 99, false, 5000), L2_ANNOUNCE_AGAIN);
	rule.priority = 50;
	rule.preempt = false;
	l2_election_set_rule(&e, &rule);
	assert_int_equal(judge(&e, 5001), L2_NOTHING);
	assert_is(&e, L2_OWNER, L2_BEST);
	assert_int_equal(l2_election_word(&e, 5001 * MS).priority, 50);
}

/* For one that can hardly serve: whoever can, need not pre-empt it. */
static void one_that_yields_leaves_the_vip_to_a_higher_priority(void **state)
{
	struct l2_election e = owner();
	struct l2_rule rule = e.rule;

	hear(&e, "a", 1, false, 5000);
	rule.priority = 1;
	rule.yields = true;
	l2_election_set_rule(&e, &rule);
	assert_int_equal(judge(&e, 5001), L2_NOTHING); /* of equals the owner stays */
	assert_int_equal(hear(&e, "c", 2, false, 5002), L2_YIELD);
	assert_is(&e, L2_BACKUP, L2_OUTRANKED);
	assert_int_equal(hear(&e, "c", 0, false, 5003), L2_NOTHING);
	assert_int_equal(hear(&e, "a", 0, false, 5004), L2_ANNOUNCE); /* nobody else can */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_member_listens_before_it_takes_the_vip),
		cmocka_unit_test(the_higher_priority_wins_and_then_the_first_name),
		cmocka_unit_test(a_silent_owner_is_replaced_below_one_second),
		cmocka_unit_test(the_better_of_two_notices_a_death_first),
		cmocka_unit_test(a_member_that_leaves_is_replaced_at_once),
		cmocka_unit_test(a_lower_owner_is_pre_empted_only_if_so_configured),
		cmocka_unit_test(an_owner_of_the_same_priority_is_not_pre_empted),
		cmocka_unit_test(a_better_member_that_does_not_pre_empt_is_not_waited_for),
		cmocka_unit_test(of_two_owners_the_lower_one_yields),
		cmocka_unit_test(of_two_owners_the_higher_one_announces_again),
		cmocka_unit_test(an_owner_announces_again_after_another_has_claimed_the_vip),
		cmocka_unit_test(each_claim_is_counted),
		cmocka_unit_test(a_member_that_was_cut_off_listens_again),
		cmocka_unit_test(an_unfit_member_does_not_stand),
		cmocka_unit_test(a_member_that_does_not_stand_does_not_count),
		cmocka_unit_test(one_that_left_does_not_come_back),
		cmocka_unit_test(a_backup_that_leaves_has_nothing_to_yield),
		cmocka_unit_test(the_own_name_is_not_heard),
		cmocka_unit_test(members_are_bounded_and_forgotten_when_dead),
		cmocka_unit_test(silence_is_measured_in_the_heartbeats_of_the_other),
		cmocka_unit_test(a_new_rule_leaves_the_owner_in_its_place),
		cmocka_unit_test(one_that_yields_leaves_the_vip_to_a_higher_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
