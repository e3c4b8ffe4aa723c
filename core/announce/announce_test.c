/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stories of the state machine, and a walk over every sequence of events up to a length: a
 * maglevd comes, goes, says up or down, the operator drains, time passes.
 */
#include "core/announce/announce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MIN_UP 2
#define HOLD 4
#define DRAIN 3
#define SOURCES 2

static const struct announce_rule withdraws = {
	.min_up = MIN_UP, .min_servers = 1, .hold = HOLD, .drain_time = DRAIN
};
static const struct announce_rule worsens = { .min_up = MIN_UP,
					      .min_servers = 1,
					      .fallback = ANNOUNCE_THEN_WORSE,
					      .hold = HOLD,
					      .drain_time = DRAIN };

static const struct announce_source silent = { .reachable = true };
static const struct announce_source good = {
	.reachable = true, .heard = true, .known = true, .up = true, .servers = 3
};
static const struct announce_source down = { .reachable = true, .heard = true, .known = true };

/* Judges with one source; returns the state. */
static enum announce_state judge(struct announce *a, const struct announce_rule *rule,
				 const struct announce_source *s, int64_t now)
{
	struct announce_change change;

	announce_judge(a, rule, s, 1, now, &change);
	return a->state;
}

static struct announce announced(const struct announce_rule *rule, int64_t now)
{
	struct announce a = { 0 };

	judge(&a, rule, &good, now - MIN_UP);
	assert_int_equal(judge(&a, rule, &good, now), ANNOUNCE_UP);
	return a;
}

static struct announce_source lost(struct announce_source s, int64_t at)
{
	s.reachable = false;
	s.lost_at = at;
	return s;
}

/* ---- stories ---- */

static void a_vip_is_announced_after_min_up(void **state)
{
	struct announce a = { 0 };
	struct announce_change change;

	assert_false(announce_judge(&a, &withdraws, &silent, 1, 10, &change));
	assert_int_equal(a.reason, ANNOUNCE_STARTING);
	assert_false(announce_judge(&a, &withdraws, &good, 1, 11, &change));
	assert_int_equal(a.reason, ANNOUNCE_WAITING);
	assert_int_equal(a.due, 11 + MIN_UP);
	assert_false(announce_judge(&a, &withdraws, &good, 1, 11 + MIN_UP - 1, &change));
	assert_true(announce_judge(&a, &withdraws, &good, 1, 11 + MIN_UP, &change));
	assert_int_equal(change.from, ANNOUNCE_WITHDRAWN);
	assert_int_equal(change.to, ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_FIT);
	assert_int_equal(a.since, 11 + MIN_UP);
	assert_int_equal(a.due, 0);
}

static void a_frontend_that_goes_down_withdraws_at_once(void **state)
{
	struct announce_source sources[] = { good, good };
	struct announce a = { 0 };
	struct announce_change change;

	announce_judge(&a, &withdraws, sources, 2, 10, &change);
	assert_true(announce_judge(&a, &withdraws, sources, 2, 10 + MIN_UP, &change));
	sources[1] = down;
	assert_true(announce_judge(&a, &withdraws, sources, 2, 10 + MIN_UP, &change));
	assert_int_equal(change.to, ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_DOWN);
	assert_int_equal(a.culprit, 1);
	assert_int_equal(a.due, 0);
}

static void every_way_to_be_unfit_has_its_reason(void **state)
{
	static const struct {
		struct announce_source source;
		enum announce_reason reason;
	} cases[] = {
		{ { .reachable = true, .heard = true, .known = true }, ANNOUNCE_DOWN },
		{ { .reachable = true, .heard = true }, ANNOUNCE_UNKNOWN },
		{ { .reachable = true, .heard = true, .known = true, .up = true, .servers = 2 },
		  ANNOUNCE_FEW_SERVERS },
	};
	struct announce_rule rule = withdraws;

	rule.min_servers = 3;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct announce a = announced(&rule, 10);

		assert_int_equal(judge(&a, &rule, &cases[i].source, 11), ANNOUNCE_WITHDRAWN);
		assert_int_equal(a.reason, cases[i].reason);
		assert_int_equal(a.culprit, 0);
	}
}

static void a_break_starts_min_up_over(void **state)
{
	struct announce a = { 0 };

	judge(&a, &withdraws, &good, 10);
	judge(&a, &withdraws, &down, 11);
	assert_int_equal(judge(&a, &withdraws, &good, 12), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.due, 12 + MIN_UP);
	assert_int_equal(judge(&a, &withdraws, &good, 12 + MIN_UP), ANNOUNCE_UP);
}

static void a_fallback_announces_worse_instead(void **state)
{
	struct announce a = announced(&worsens, 10);

	assert_int_equal(judge(&a, &worsens, &down, 11), ANNOUNCE_WORSE);
	assert_int_equal(a.reason, ANNOUNCE_DOWN);
	assert_int_equal(judge(&a, &worsens, &good, 12), ANNOUNCE_WORSE);
	assert_int_equal(a.reason, ANNOUNCE_WAITING);
	assert_int_equal(judge(&a, &worsens, &good, 12 + MIN_UP), ANNOUNCE_UP);
}

static void what_is_down_from_the_start_is_worse_too(void **state)
{
	struct announce a = { 0 };

	assert_int_equal(judge(&a, &worsens, &silent, 10), ANNOUNCE_WITHDRAWN);
	assert_int_equal(judge(&a, &worsens, &down, 11), ANNOUNCE_WORSE);
}

static void an_unreachable_maglevd_is_held_then_lost(void **state)
{
	struct announce a = announced(&withdraws, 10);
	struct announce_source s = lost(good, 20);

	assert_int_equal(judge(&a, &withdraws, &s, 20), ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_HELD);
	assert_int_equal(a.culprit, 0);
	assert_int_equal(a.due, 20 + HOLD);
	assert_int_equal(judge(&a, &withdraws, &s, 20 + HOLD - 1), ANNOUNCE_UP);
	assert_int_equal(judge(&a, &withdraws, &s, 20 + HOLD), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_LOST);
	assert_int_equal(a.due, 0);
}

static void a_maglevd_that_comes_back_in_time_changes_nothing(void **state)
{
	struct announce a = announced(&withdraws, 10);
	struct announce_source s = lost(good, 20);

	judge(&a, &withdraws, &s, 20);
	assert_int_equal(judge(&a, &withdraws, &good, 20 + HOLD - 1), ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_FIT);
	assert_int_equal(a.since, 10);
	assert_int_equal(a.due, 0);
}

static void an_unreachable_maglevd_does_not_announce(void **state)
{
	struct announce a = { 0 };
	struct announce_source s = lost(good, 11);

	judge(&a, &withdraws, &good, 10);
	judge(&a, &withdraws, &s, 11);
	assert_int_equal(a.reason, ANNOUNCE_HELD);
	assert_int_equal(judge(&a, &withdraws, &s, 10 + MIN_UP), ANNOUNCE_WITHDRAWN);
}

static void one_that_said_down_before_it_was_lost_is_down(void **state)
{
	struct announce a = announced(&withdraws, 10);
	struct announce_source s = lost(down, 11);

	assert_int_equal(judge(&a, &withdraws, &s, 11), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_DOWN);
}

static void an_adopted_vip_waits_for_its_sources(void **state)
{
	struct announce a = { 0 };

	announce_adopt(&a, 10);
	assert_int_equal(judge(&a, &withdraws, &silent, 10), ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_ADOPTED);
	assert_int_equal(a.due, 10 + HOLD);
	/* min_up is not asked of it: it was announced before */
	assert_int_equal(judge(&a, &withdraws, &good, 11), ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_FIT);
	assert_int_equal(judge(&a, &withdraws, &down, 11), ANNOUNCE_WITHDRAWN);
}

static void an_adopted_vip_that_nobody_speaks_for_is_withdrawn(void **state)
{
	struct announce a = { 0 };
	struct announce_source never = { 0 };

	announce_adopt(&a, 10);
	assert_int_equal(judge(&a, &withdraws, &never, 10 + HOLD - 1), ANNOUNCE_UP);
	assert_int_equal(judge(&a, &withdraws, &never, 10 + HOLD), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_LOST);
	assert_int_equal(judge(&a, &withdraws, &never, 100), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_LOST);
}

/* A restart of the speaker during a drain: what is left of drain_time still counts. */
static void an_adopted_vip_goes_on_draining(void **state)
{
	struct announce a = { 0 };

	announce_drain(&a, 8);
	announce_adopt(&a, 10);
	assert_int_equal(a.state, ANNOUNCE_DRAINING);
	assert_int_equal(judge(&a, &withdraws, &silent, 10), ANNOUNCE_DRAINING);
	assert_int_equal(a.reason, ANNOUNCE_OPERATOR);
	assert_int_equal(judge(&a, &withdraws, &good, 8 + DRAIN - 1), ANNOUNCE_DRAINING);
	assert_int_equal(judge(&a, &withdraws, &good, 8 + DRAIN), ANNOUNCE_WITHDRAWN);
	announce_undrain(&a);
	assert_int_equal(judge(&a, &withdraws, &good, 9 + DRAIN), ANNOUNCE_UP);
}

/* One that FRR does not announce any more is never announced again before the drain is lifted. */
static void a_remembered_drain_announces_nothing(void **state)
{
	struct announce a = { 0 };

	announce_drain(&a, 8);
	assert_int_equal(judge(&a, &withdraws, &silent, 9), ANNOUNCE_WITHDRAWN);
	assert_int_equal(judge(&a, &withdraws, &good, 9), ANNOUNCE_WITHDRAWN);
	assert_int_equal(judge(&a, &withdraws, &good, 9 + 10 * DRAIN), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_OPERATOR);
}

static void a_new_source_does_not_withdraw_before_it_speaks(void **state)
{
	struct announce a = announced(&withdraws, 10);
	struct announce_source sources[] = { good, silent };
	struct announce_change change;

	assert_false(announce_judge(&a, &withdraws, sources, 2, 100, &change));
	assert_int_equal(a.reason, ANNOUNCE_ADOPTED);
	assert_int_equal(a.culprit, 1);
	assert_int_equal(a.due, 100 + HOLD);
	assert_true(announce_judge(&a, &withdraws, sources, 2, 100 + HOLD, &change));
}

static void a_drain_announces_the_shutdown_and_then_withdraws(void **state)
{
	struct announce a = announced(&withdraws, 10);

	announce_drain(&a, 20);
	assert_int_equal(judge(&a, &withdraws, &good, 20), ANNOUNCE_DRAINING);
	assert_int_equal(a.reason, ANNOUNCE_OPERATOR);
	assert_int_equal(a.due, 20 + DRAIN);
	announce_drain(&a, 21);
	assert_int_equal(judge(&a, &withdraws, &good, 20 + DRAIN), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_OPERATOR);
	assert_int_equal(judge(&a, &withdraws, &good, 1000), ANNOUNCE_WITHDRAWN);
	announce_undrain(&a);
	assert_int_equal(judge(&a, &withdraws, &good, 1000), ANNOUNCE_UP);
}

static void a_drain_that_is_lifted_early_restores_at_once(void **state)
{
	struct announce a = announced(&withdraws, 10);

	announce_drain(&a, 20);
	judge(&a, &withdraws, &good, 20);
	announce_undrain(&a);
	assert_int_equal(judge(&a, &withdraws, &good, 21), ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_FIT);
}

static void a_drained_vip_that_fails_is_withdrawn_at_once(void **state)
{
	struct announce a = announced(&withdraws, 10);

	announce_drain(&a, 20);
	judge(&a, &withdraws, &good, 20);
	assert_int_equal(judge(&a, &withdraws, &down, 21), ANNOUNCE_WITHDRAWN);
	assert_int_equal(a.reason, ANNOUNCE_OPERATOR);
	/* and is not announced again only to finish the drain */
	assert_int_equal(judge(&a, &withdraws, &good, 22), ANNOUNCE_WITHDRAWN);
}

static void a_vip_without_sources_is_static(void **state)
{
	struct announce a = { 0 };
	struct announce_change change;

	assert_true(announce_judge(&a, &withdraws, NULL, 0, 10, &change));
	assert_int_equal(change.to, ANNOUNCE_UP);
	assert_int_equal(a.reason, ANNOUNCE_STATIC);
	assert_int_equal(a.due, 0);
}

static void a_rule_without_end_does_not_overflow(void **state)
{
	struct announce_rule rule = withdraws;
	struct announce a = announced(&rule, 10);
	struct announce_source s = lost(good, 20);

	rule.hold = INT64_MAX;
	assert_int_equal(judge(&a, &rule, &s, 1 << 30), ANNOUNCE_UP);
	assert_int_equal(a.due, INT64_MAX);
}

static void states_and_reasons_have_their_own_words(void **state)
{
	for (int r = 0; r < ANNOUNCE_REASONS; r++)
		for (int other = 0; other < r; other++)
			assert_string_not_equal(announce_reason_name(r),
						announce_reason_name(other));
	for (int s = ANNOUNCE_WITHDRAWN; s <= ANNOUNCE_DRAINING; s++) {
		for (int other = 0; other < s; other++)
			assert_string_not_equal(announce_state_name(s), announce_state_name(other));
		assert_int_equal(announce_is_sent(s), s != ANNOUNCE_WITHDRAWN);
	}
}

/* ---- every sequence of events ---- */

/* What the world outside knows; nothing here is read from struct announce but its state. */
struct world {
	struct announce a;
	const struct announce_rule *rule;
	struct announce_source s[SOURCES];
	size_t n;
	int64_t now;
	int64_t good_since; /* all reachable and up; 0: not */
	int64_t adopted;    /* 0: was not */
	int64_t drained;    /* 0: not */
	bool settled;	    /* may be announced: was, and no source has spoken against it since */
};

static bool is_good(const struct announce_source *s)
{
	return s->reachable && s->heard && s->up;
}

static bool says_down(const struct announce_source *s)
{
	return s->heard && !s->up;
}

/* How long a source has been silent; -1: it is not. */
static int64_t silence(const struct world *w, const struct announce_source *s)
{
	if (s->heard)
		return s->reachable ? -1 : w->now - s->lost_at;
	return w->now - (w->adopted ? w->adopted : 1);
}

struct sight {
	bool all_good, any_down, any_lost;
};

static struct sight look(const struct world *w)
{
	struct sight seen = { .all_good = true };

	for (size_t i = 0; i < w->n; i++) {
		seen.all_good &= is_good(&w->s[i]);
		seen.any_down |= says_down(&w->s[i]);
		seen.any_lost |= silence(w, &w->s[i]) >= HOLD;
	}
	return seen;
}

/* What the world expects to be possible, from its own books. */
static void keep_books(struct world *w, struct sight seen)
{
	if (!seen.all_good)
		w->good_since = 0;
	else if (!w->good_since)
		w->good_since = w->now;
	if (seen.any_down || seen.any_lost)
		w->settled = false;
	else if (w->good_since && w->now - w->good_since >= MIN_UP)
		w->settled = true;
}

static void check_announced(const struct world *w, struct sight seen, enum announce_state before)
{
	enum announce_state state = w->a.state;
	bool worsens_too = w->rule->fallback == ANNOUNCE_THEN_WORSE;

	if (seen.any_down || seen.any_lost) {
		assert_int_not_equal(state, ANNOUNCE_UP);
		if (!worsens_too)
			assert_int_equal(state, ANNOUNCE_WITHDRAWN);
	}
	if (!worsens_too)
		assert_int_not_equal(state, ANNOUNCE_WORSE);
	/* min_up, and silence announces nothing */
	if (!announce_is_sent(before) && state == ANNOUNCE_UP)
		assert_true(w->settled);
	/* hold, and adoption: nothing but a word, a long silence or the operator withdraws */
	if (announce_is_sent(before) && !announce_is_sent(state))
		assert_true(!w->settled || w->drained);
	if (!w->drained)
		assert_int_equal(state == ANNOUNCE_UP, w->settled);
}

static void check_drained(const struct world *w, enum announce_state before)
{
	if (!w->drained) {
		assert_int_not_equal(w->a.state, ANNOUNCE_DRAINING);
		return;
	}
	assert_true(w->a.state == ANNOUNCE_DRAINING || w->a.state == ANNOUNCE_WITHDRAWN);
	assert_int_equal(w->a.reason, ANNOUNCE_OPERATOR);
	if (w->a.state == ANNOUNCE_DRAINING) {
		assert_true(announce_is_sent(before));
		assert_true(w->now - w->drained < DRAIN);
	} else if (announce_is_sent(before)) {
		assert_true(w->now - w->drained >= DRAIN || !w->settled);
	}
}

/* Before `due`, and ever if it is 0, time alone changes neither the state nor the reason. */
static void check_due(const struct world *w)
{
	int64_t end = w->a.due ? w->a.due : w->now + 20;
	struct announce_change change;

	assert_true(!w->a.due || w->a.due > w->now);
	for (int64_t t = w->now; t < end; t++) {
		struct announce later = w->a;

		assert_false(announce_judge(&later, w->rule, w->s, w->n, t, &change));
		assert_int_equal(later.reason, w->a.reason);
		assert_int_equal(later.culprit, w->a.culprit);
		assert_int_equal(later.due, w->a.due);
		assert_int_equal(later.since, w->a.since);
	}
}

/* From anywhere, good sources and no drain lead to an announcement after min_up. */
static void settles(struct world w)
{
	announce_undrain(&w.a);
	for (size_t i = 0; i < w.n; i++)
		w.s[i] = good;
	for (unsigned i = 0; i < 2; i++) {
		struct announce_change change;

		announce_judge(&w.a, w.rule, w.s, w.n, w.now, &change);
		w.now = w.a.due ? w.a.due : w.now;
	}
	assert_int_equal(w.a.state, ANNOUNCE_UP);
	assert_int_equal(w.a.reason, ANNOUNCE_FIT);
	assert_int_equal(w.a.due, 0);
}

static void look_again(struct world *w)
{
	enum announce_state before = w->a.state;
	struct announce_change change = { 0 };
	struct sight seen = look(w);
	bool changed = announce_judge(&w->a, w->rule, w->s, w->n, w->now, &change);

	assert_int_equal(changed, before != w->a.state);
	if (changed) {
		assert_int_equal(change.from, before);
		assert_int_equal(change.to, w->a.state);
		assert_int_equal(w->a.since, w->now);
	}
	keep_books(w, seen);
	check_announced(w, seen, before);
	check_drained(w, before);
	check_due(w);
	settles(*w);
}

static void turn(struct announce_source *s, int64_t now)
{
	s->reachable = !s->reachable;
	s->lost_at = s->reachable ? 0 : now;
}

static void say(struct announce_source *s, bool up)
{
	s->reachable = s->heard = s->known = true;
	s->up = up;
	s->servers = up;
	s->lost_at = 0;
}

static void drain_or_not(struct world *w)
{
	if (w->drained) {
		announce_undrain(&w->a);
		w->drained = 0;
	} else {
		announce_drain(&w->a, w->now);
		w->drained = w->now;
	}
}

enum event { STEP, WAIT, OPERATOR, TURN, SAY_UP, SAY_DOWN, EVENTS };

static void happen(struct world *w, enum event e, size_t source)
{
	switch (e) {
	case STEP:
		w->now++;
		break;
	case WAIT:
		w->now = w->a.due ? w->a.due : w->now + 1;
		break;
	case OPERATOR:
		drain_or_not(w);
		break;
	case TURN:
		turn(&w->s[source], w->now);
		break;
	case SAY_UP:
	case SAY_DOWN:
		say(&w->s[source], e == SAY_UP);
		break;
	case EVENTS:
		break;
	}
	look_again(w);
}

static void explore(struct world w, unsigned depth, size_t *visited)
{
	(*visited)++;
	if (!depth)
		return;
	for (enum event e = STEP; e < EVENTS; e++) {
		for (size_t i = 0; i < (e < TURN ? 1 : w.n); i++) {
			struct world next = w;

			happen(&next, e, i);
			explore(next, depth - 1, visited);
		}
	}
}

static void walk(const struct announce_rule *rule, bool adopted, size_t n, unsigned depth)
{
	struct world w = { .rule = rule, .n = n, .now = 1 };
	size_t visited = 0;

	if (adopted) {
		announce_adopt(&w.a, w.now);
		w.adopted = w.now;
		w.settled = true;
	}
	look_again(&w);
	explore(w, depth, &visited);
	assert_true(visited > 50000);
}

static void every_sequence_keeps_the_promises(void **state)
{
	for (int adopted = 0; adopted < 2; adopted++) {
		walk(&withdraws, adopted, 1, 7);
		walk(&worsens, adopted, 1, 7);
		walk(&withdraws, adopted, 2, 5);
		walk(&worsens, adopted, 2, 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vip_is_announced_after_min_up),
		cmocka_unit_test(a_frontend_that_goes_down_withdraws_at_once),
		cmocka_unit_test(every_way_to_be_unfit_has_its_reason),
		cmocka_unit_test(a_break_starts_min_up_over),
		cmocka_unit_test(a_fallback_announces_worse_instead),
		cmocka_unit_test(what_is_down_from_the_start_is_worse_too),
		cmocka_unit_test(an_unreachable_maglevd_is_held_then_lost),
		cmocka_unit_test(a_maglevd_that_comes_back_in_time_changes_nothing),
		cmocka_unit_test(an_unreachable_maglevd_does_not_announce),
		cmocka_unit_test(one_that_said_down_before_it_was_lost_is_down),
		cmocka_unit_test(an_adopted_vip_waits_for_its_sources),
		cmocka_unit_test(an_adopted_vip_that_nobody_speaks_for_is_withdrawn),
		cmocka_unit_test(an_adopted_vip_goes_on_draining),
		cmocka_unit_test(a_remembered_drain_announces_nothing),
		cmocka_unit_test(a_new_source_does_not_withdraw_before_it_speaks),
		cmocka_unit_test(a_drain_announces_the_shutdown_and_then_withdraws),
		cmocka_unit_test(a_drain_that_is_lifted_early_restores_at_once),
		cmocka_unit_test(a_drained_vip_that_fails_is_withdrawn_at_once),
		cmocka_unit_test(a_vip_without_sources_is_static),
		cmocka_unit_test(a_rule_without_end_does_not_overflow),
		cmocka_unit_test(states_and_reasons_have_their_own_words),
		cmocka_unit_test(every_sequence_keeps_the_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
