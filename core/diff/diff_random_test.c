/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the difference over random pairs of wanted and observed VIPs: applying it leads
 * to the wanted state, a second difference is empty, service never stops in between, and the list
 * does not depend on the order in which the two states were built.
 */
#include "core/diff/diff.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/testing/random.h"

#define ROUNDS 5000
#define SERVERS 8

/* One VIP by server number: the simple form that results are compared with. */
struct sketch {
	bool there[SERVERS], flush[SERVERS], hold[SERVERS];
	uint8_t weight[SERVERS];
	enum lb_encap encap;
	bool sticky;
};

/* Half of them IPv4, half IPv6; not in the order of their numbers. */
static struct addr server(unsigned i)
{
	struct addr a = { .family = i % 2 ? AF_INET6 : AF_INET };

	a.bytes[0] = 10;
	a.bytes[3] = (uint8_t)(i * 37);
	return a;
}

static struct lb_vip_key the_key(void)
{
	return (struct lb_vip_key){ { .family = AF_INET, .bytes = { 198, 51, 100, 1 } },
				    IPPROTO_TCP,
				    80 };
}

static struct sketch roll_sketch(struct dice *d, bool wanted)
{
	static const uint8_t weights[] = { 0, 0, 0, 1, 50, 100 };
	struct sketch s = { .encap = dice_roll(d, 8) == 0, .sticky = dice_roll(d, 8) == 0 };

	for (unsigned i = 0; i < SERVERS; i++) {
		s.there[i] = dice_roll(d, 3) > 0;
		s.weight[i] = weights[dice_roll(d, ARRAY_SIZE(weights))];
		s.hold[i] = wanted && s.weight[i] == 0 && dice_roll(d, 4) == 0;
		s.flush[i] = s.weight[i] == 0 && !s.hold[i] && dice_roll(d, 2);
	}
	return s;
}

/* Builds the VIP, beginning anywhere and in either direction. */
static struct lb_vip build(const struct sketch *s, unsigned start, unsigned stride)
{
	struct lb_vip v = { .key = the_key(), .encap = s->encap, .src_ip_sticky = s->sticky };

	for (unsigned n = 0, i = start; n < SERVERS; n++, i = (i + stride) % SERVERS) {
		struct addr a = server(i);
		struct lb_as *as;

		if (!s->there[i])
			continue;
		as = lb_vip_put_as(&v, &a);
		as->weight = s->weight[i];
		as->flush = s->flush[i];
		as->hold = s->hold[i];
	}
	return v;
}

static struct lb_state state_of(const struct sketch *s)
{
	struct lb_state state = { 0 };

	vec_push(&state.vips, build(s, 0, 1));
	return state;
}

static unsigned total_weight(const struct lb_state *s)
{
	unsigned total = 0;

	for (size_t i = 0; s->vips.n && i < s->vips.items[0].as.n; i++)
		total += s->vips.items[0].as.items[i].weight;
	return total;
}

static void free_ops(struct lb_ops *ops)
{
	vec_free(&ops->list);
}

/* Whether the final state is right, checked server by server. */
static bool as_it_should_be(const struct sketch *want, const struct sketch *had,
			    const struct lb_vip *now)
{
	size_t n = 0;

	for (unsigned i = 0; i < SERVERS; i++) {
		struct addr a = server(i);
		const struct lb_as *as = lb_vip_as(now, &a);
		uint8_t weight = want->weight[i];

		if (want->hold[i])
			weight = had && had->there[i] ? had->weight[i] : 0;
		if (!want->there[i] && as)
			return false;
		if (!want->there[i])
			continue;
		if (!as || as->weight != weight || (want->flush[i] && !as->flush))
			return false;
		n++;
	}
	return now->as.n == n && now->encap == want->encap && now->src_ip_sticky == want->sticky;
}

static void check(bool holds, const struct dice *d, unsigned round, const char *what)
{
	if (!holds)
		fail_msg("seed %llu round %u: %s", (unsigned long long)d->seed, round, what);
}

/* Applies ops one by one; returns whether some weight was above 0 all the time. */
static bool apply_all(struct lb_state *s, const struct lb_ops *ops, bool *ret_served)
{
	bool served = total_weight(s) > 0;

	for (size_t i = 0; i < ops->list.n; i++) {
		if (!lb_state_apply(s, &ops->list.items[i]))
			return false;
		served = served && total_weight(s) > 0;
	}
	*ret_served = served;
	return true;
}

static void one_round(struct dice *d, unsigned round)
{
	struct sketch want_sketch = roll_sketch(d, true), have_sketch = roll_sketch(d, false);
	bool absent = dice_roll(d, 10) == 0;
	bool rebuilt =
		want_sketch.encap != have_sketch.encap || want_sketch.sticky != have_sketch.sticky;
	_cleanup_(lb_vip_free) struct lb_vip want = build(&want_sketch, 0, 1);
	_cleanup_(lb_state_free) struct lb_state s =
		absent ? (struct lb_state){ 0 } : state_of(&have_sketch);
	_cleanup_(free_ops) struct lb_ops ops = { 0 }, again = { 0 };
	bool served = false, had_service = total_weight(&s) > 0;

	diff_vip(&want, absent ? NULL : &s.vips.items[0], &ops);
	check(apply_all(&s, &ops, &served), d, round, "an operation does not fit");
	check(as_it_should_be(&want_sketch, absent ? NULL : &have_sketch, &s.vips.items[0]), d,
	      round, "the end is not what was wanted");
	if (had_service && total_weight(&s) > 0 && !rebuilt)
		check(served, d, round, "all weights were zero on the way");
	diff_vip(&want, &s.vips.items[0], &again);
	check(again.list.n == 0, d, round, "the second difference is not empty");
}

/* FR-4.1, FR-4.2 */
static void carrying_out_the_difference_leads_to_what_is_wanted(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);

		for (unsigned round = 0; round < ROUNDS; round++)
			one_round(&d, round);
	}
}

static bool same_ops(const struct lb_ops *a, const struct lb_ops *b)
{
	_cleanup_(buf_free) struct buf x = { 0 }, y = { 0 };

	for (size_t i = 0; i < a->list.n; i++)
		lb_op_print(&a->list.items[i], &x);
	for (size_t i = 0; i < b->list.n; i++)
		lb_op_print(&b->list.items[i], &y);
	return a->list.n == b->list.n && strcmp(buf_cstr(&x), buf_cstr(&y)) == 0;
}

/* NFR-2.1: two instances that learned the same facts in another order issue the same sequence */
static void the_order_in_which_things_were_learnt_does_not_matter(void **state)
{
	struct dice d = dice_of_run(1);

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct sketch w = roll_sketch(&d, true), h = roll_sketch(&d, false);
		unsigned start = dice_roll(&d, SERVERS),
			 stride = 1 + 2 * dice_roll(&d, SERVERS / 2);
		_cleanup_(lb_vip_free) struct lb_vip want1 = build(&w, 0, 1),
						     have1 = build(&h, 0, 1);
		_cleanup_(lb_vip_free) struct lb_vip want2 = build(&w, start, stride);
		_cleanup_(lb_vip_free) struct lb_vip have2 = build(&h, start, stride);
		_cleanup_(free_ops) struct lb_ops one = { 0 }, two = { 0 };

		diff_vip(&want1, &have1, &one);
		diff_vip(&want2, &have2, &two);
		check(same_ops(&one, &two), &d, round, "another order, other operations");
	}
}

/* NFR-2.1: adds and raises, then lowers and removals, each by number */
static void operations_come_in_two_passes_in_numeric_order(void **state)
{
	struct dice d = dice_of_run(2);

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct sketch w = roll_sketch(&d, true), h = roll_sketch(&d, false);
		_cleanup_(free_ops) struct lb_ops ops = { 0 };
		_cleanup_(lb_vip_free) struct lb_vip want = { 0 }, have = { 0 };
		int pass = 0;

		h.encap = w.encap;
		h.sticky = w.sticky;
		want = build(&w, 0, 1);
		have = build(&h, 0, 1);
		diff_vip(&want, &have, &ops);
		for (size_t i = 0; i < ops.list.n; i++) {
			const struct lb_op *op = &ops.list.items[i];
			bool gives = op->kind == LB_OP_AS_ADD ||
				     (op->kind == LB_OP_AS_WEIGHT && op->weight > op->old_weight);
			int its = gives ? 0 : 1;

			check(its >= pass, &d, round,
			      "something is given after something was taken");
			if (i && its == pass)
				check(addr_cmp(&op[-1].as, &op->as) < 0, &d, round, "not in order");
			pass = its;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(carrying_out_the_difference_leads_to_what_is_wanted),
		cmocka_unit_test(the_order_in_which_things_were_learnt_does_not_matter),
		cmocka_unit_test(operations_come_in_two_passes_in_numeric_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
