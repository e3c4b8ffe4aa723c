/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the tables over random fleets: shares follow weights, the order of the members
 * does not matter, and few slots move. The bounds are 1.5 times the worst that was measured over
 * many fleets (docs/design/tables.md).
 */
#include "core/maglev/maglev.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/maglev/measure.h"
#include "core/testing/random.h"

#define MEMBERS 600
#define SLOTS 4093
#define USUAL 65537

struct fleet {
	struct maglev_member members[MEMBERS];
	uint16_t table[SLOTS];
	size_t counts[MEMBERS];
	unsigned n;
	size_t size;
};

/* Some members have weight 0; in some fleets many have the same weight. */
static void roll_fleet(struct dice *d, struct fleet *f)
{
	static const size_t sizes[] = { 251, 1021, SLOTS };
	unsigned sides = dice_roll(d, 2) ? 101 : 3;

	f->size = sizes[dice_roll(d, ARRAY_SIZE(sizes))];
	f->n = 1 + dice_roll(d, MEMBERS);
	measure_fleet(MEASURE_EQUAL, dice_u64(d), f->members, f->n);
	for (size_t i = 0; i < f->n; i++)
		f->members[i].weight = (uint8_t)dice_roll(d, sides);
	f->members[0].weight = 100;
}

static void build(struct fleet *f)
{
	maglev_build(f->members, f->n, f->table, f->size);
	measure_counts(f->table, f->size, f->counts, f->n);
}

static size_t with_weight(const struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->members[i].weight > 0;
	return n;
}

/* Whether some number of slots per weight exists from which all shares follow by rounding. */
static bool shares_are_rounded(const struct fleet *f)
{
	double low = 0, high = (double)f->size;

	for (size_t i = 0; i < f->n; i++) {
		double weight = f->members[i].weight, count = (double)f->counts[i];

		if (weight == 0 && count > 0)
			return false;
		if (weight == 0)
			continue;
		if (count > 1 && (count - 0.5) / weight > low)
			low = (count - 0.5) / weight;
		if ((count + 0.5) / weight < high)
			high = (count + 0.5) / weight;
	}
	return low <= high + 1e-6;
}

static void shares_follow_weights(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);

		for (unsigned round = 0; round < 60; round++) {
			struct fleet f;

			roll_fleet(&d, &f);
			build(&f);
			if (with_weight(&f) <= f.size && !shares_are_rounded(&f))
				fail_msg("seed %llu", (unsigned long long)d.seed);
		}
	}
}

static void the_order_of_the_members_does_not_matter(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);

		for (unsigned round = 0; round < 60; round++) {
			struct fleet f, shuffled;

			roll_fleet(&d, &f);
			shuffled = f;
			for (unsigned i = f.n - 1; i > 0; i--) {
				size_t k = dice_roll(&d, i + 1);
				struct maglev_member m = shuffled.members[i];

				shuffled.members[i] = shuffled.members[k];
				shuffled.members[k] = m;
			}
			build(&f);
			build(&shuffled);
			for (size_t i = 0; i < f.size; i++) {
				const struct maglev_member *a = &f.members[f.table[i]];
				const struct maglev_member *b =
					&shuffled.members[shuffled.table[i]];

				if (addr_cmp(&a->address, &b->address) != 0)
					fail_msg("seed %llu", (unsigned long long)d.seed);
			}
		}
	}
}

static void nobody_loses_slots_when_another_goes(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);

		for (unsigned round = 0; round < 60; round++) {
			size_t gone, before[MEMBERS];
			struct fleet f;

			roll_fleet(&d, &f);
			f.n = f.n < 2 ? 2 : f.n;
			measure_fleet(MEASURE_RANDOM, dice_u64(&d), f.members, f.n);
			build(&f);
			memcpy(before, f.counts, sizeof(before));
			gone = dice_roll(&d, f.n);
			f.members[gone].weight = 0;
			build(&f);
			assert_int_equal(f.counts[gone], 0);
			for (size_t i = 0; i < f.n; i++)
				if (i != gone && f.counts[i] < before[i])
					fail_msg("seed %llu", (unsigned long long)d.seed);
		}
	}
}

/*
 * With a hundred slots per member, as the Maglev paper suggests, no share is off by more than 1
 * %.
 */
static void equal_shares_are_even(void **state)
{
	static const struct {
		size_t n;
		double bound;
	} rows[] = {
		{ 2, 1.0001 }, { 16, 1.0003 }, { 100, 1.0016 }, { 655, 1.0101 }, { 5000, 1.077 }
	};
	_cleanup_(cleanup_free) uint16_t *table = mem_resize(NULL, USUAL, sizeof(*table));

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(cleanup_free) struct maglev_member *members =
			mem_resize(NULL, rows[i].n, sizeof(*members));

		measure_fleet(MEASURE_EQUAL, i, members, rows[i].n);
		maglev_build(members, rows[i].n, table, USUAL);
		assert_true(measure_balance(members, rows[i].n, table, USUAL) <= rows[i].bound);
	}
}

static void little_moves_beyond_what_has_to(void **state)
{
	static const struct {
		enum measure_mix mix;
		size_t n, member;
		uint8_t from, to;
		double percent;
	} rows[] = {
		{ MEASURE_EQUAL, 2, 1, 100, 50, 0.5 },
		{ MEASURE_EQUAL, 3, 1, 100, 0, 0.4 },
		{ MEASURE_EQUAL, 16, 5, 100, 0, 0.5 },
		{ MEASURE_EQUAL, 16, 5, 0, 100, 0.5 },
		{ MEASURE_EQUAL, 100, 50, 100, 99, 0.15 },
		{ MEASURE_EQUAL, 256, 77, 100, 50, 0.55 },
		{ MEASURE_EQUAL, 1000, 500, 100, 0, 0.6 },
		{ MEASURE_EQUAL, 5000, 500, 100, 0, 0.25 },
		{ MEASURE_RANDOM, 3, 1, 100, 0, 0.4 },
		{ MEASURE_RANDOM, 16, 5, 100, 50, 0.5 },
		{ MEASURE_RANDOM, 100, 50, 100, 99, 0.25 },
		{ MEASURE_RANDOM, 100, 50, 100, 0, 0.75 },
		{ MEASURE_RANDOM, 1000, 500, 0, 100, 0.9 },
		{ MEASURE_ONE_HEAVY, 2, 0, 100, 50, 0.25 },
		{ MEASURE_ONE_HEAVY, 100, 0, 100, 0, 1.3 },
		{ MEASURE_ONE_HEAVY, 1000, 0, 100, 99, 0.55 },
		{ MEASURE_ONE_LIGHT, 100, 0, 1, 0, 0.1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dice d = dice_of_run(i % 2);
		_cleanup_(cleanup_free) struct maglev_member *members =
			mem_resize(NULL, rows[i].n, sizeof(*members));
		double moved;

		measure_fleet(rows[i].mix, dice_u64(&d), members, rows[i].n);
		members[rows[i].member].weight = rows[i].from;
		moved = measure_disruption(maglev_build, members, rows[i].n, rows[i].member,
					   rows[i].to, USUAL);
		if (100 * moved > rows[i].percent)
			fail_msg("row %zu: %.3f %%, seed %llu", i, 100 * moved,
				 (unsigned long long)d.seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_follow_weights),
		cmocka_unit_test(the_order_of_the_members_does_not_matter),
		cmocka_unit_test(nobody_loses_slots_when_another_goes),
		cmocka_unit_test(equal_shares_are_even),
		cmocka_unit_test(little_moves_beyond_what_has_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
