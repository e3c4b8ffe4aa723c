/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/balance.h"
#include "core/testing/random.h"

struct servers {
	enum l7_fitness fitness[64];
	unsigned active[64];
};

static enum l7_fitness fitness(size_t server, void *user)
{
	return ((struct servers *)user)->fitness[server];
}

static unsigned active(size_t server, void *user)
{
	return ((struct servers *)user)->active[server];
}

static struct l7_fleet fleet(struct servers *s)
{
	return (struct l7_fleet){ fitness, active, s };
}

static void turns_are_spread(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_schedule s = l7_schedule_build(arena, (const uint32_t[]){ 5, 1, 0, 1 }, 4);
	static const uint16_t want[] = { 0, 0, 1, 0, 3, 0, 0 };

	assert_int_equal(s.n, ARRAY_SIZE(want));
	assert_memory_equal(s.turns, want, sizeof(want));
}

static void a_common_factor_makes_no_difference(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	assert_int_equal(l7_schedule_build(arena, (const uint32_t[]){ 300, 100 }, 2).n, 4);
	assert_int_equal(l7_schedule_build(arena, (const uint32_t[]){ 7 }, 1).n, 1);
	assert_int_equal(l7_schedule_build(arena, (const uint32_t[]){ 0, 0 }, 2).n, 0);
	assert_int_equal(l7_schedule_build(arena, NULL, 0).n, 0);
}

static void large_weights_are_scaled(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_schedule s =
		l7_schedule_build(arena, (const uint32_t[]){ 1000000, 333333, 1 }, 3);
	size_t counts[3] = { 0 };

	assert_true(s.n <= L7_SCHEDULE_MAX);
	for (size_t i = 0; i < s.n; i++)
		counts[s.turns[i]]++;
	assert_int_equal(counts[2], 1);
	assert_true(counts[0] > 2.99 * (double)counts[1] && counts[0] < 3.01 * (double)counts[1]);
}

/* Shares are exact after a round, and nobody waits for longer than its share means. */
static void shares_are_those_of_the_weights(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);

		for (unsigned round = 0; round < 200; round++) {
			_cleanup_(arena_freep) struct arena *arena = arena_new();
			uint32_t weights[16], sum = 0;
			size_t n = 1 + dice_roll(&d, 16), counts[16] = { 0 };
			struct l7_schedule s;

			for (size_t i = 0; i < n; i++)
				sum += weights[i] = dice_roll(&d, 20);
			s = l7_schedule_build(arena, weights, n);
			for (size_t i = 0; i < s.n; i++)
				counts[s.turns[i]]++;
			for (size_t i = 0; i < n; i++)
				assert_int_equal(counts[i] * sum, weights[i] * s.n);
		}
	}
}

static void who_cannot_be_used_is_passed_over(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_schedule s = l7_schedule_build(arena, (const uint32_t[]){ 1, 1, 1 }, 3);
	struct servers servers = { .fitness = { L7_FIT, L7_UNFIT, L7_FIT } };
	struct l7_fleet f = fleet(&servers);
	uint32_t turn = UINT32_MAX - 2; /* it wraps around */
	size_t counts[3] = { 0 };

	for (unsigned i = 0; i < 300; i++)
		counts[l7_balance_turn(&s, &f, &turn)]++;
	assert_int_equal(counts[1], 0);
	assert_true(counts[0] >= 99 && counts[2] >= 99);
	servers.fitness[0] = servers.fitness[2] = L7_UNFIT;
	assert_int_equal(l7_balance_turn(&s, &f, &turn), L7_NONE);
	assert_int_equal(l7_balance_two(&s, &f, 12345), L7_NONE);
	assert_int_equal(l7_balance_least(&s, &f, &turn), L7_NONE);
}

static void the_reserve_is_used_only_if_no_server_is_fit(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_schedule s = l7_schedule_build(arena, (const uint32_t[]){ 1, 1, 1 }, 3);
	struct servers servers = { .fitness = { L7_RESERVE, L7_FIT, L7_UNFIT },
				   .active = { 0, 9, 0 } };
	struct l7_fleet f = fleet(&servers);
	uint32_t turn = 0;

	for (unsigned i = 0; i < 30; i++) {
		assert_int_equal(l7_balance_turn(&s, &f, &turn), 1);
		assert_int_equal(l7_balance_least(&s, &f, &turn), 1);
		assert_int_equal(l7_balance_two(&s, &f, i * UINT64_C(0x100000003)), 1);
	}
	servers.fitness[1] = L7_UNFIT;
	assert_int_equal(l7_balance_turn(&s, &f, &turn), 0);
	assert_int_equal(l7_balance_least(&s, &f, &turn), 0);
	assert_int_equal(l7_balance_two(&s, &f, 12345), 0);
}

static void the_least_busy_goes_first(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_schedule s = l7_schedule_build(arena, (const uint32_t[]){ 1, 1, 1 }, 3);
	struct servers servers = { .fitness = { L7_FIT, L7_FIT, L7_FIT }, .active = { 3, 1, 1 } };
	struct l7_fleet f = fleet(&servers);
	size_t counts[3] = { 0 };
	uint32_t turn = 0;

	for (unsigned i = 0; i < 30; i++)
		counts[l7_balance_least(&s, &f, &turn)]++;
	assert_int_equal(counts[0], 0);
	assert_true(counts[1] == 20 || counts[1] == 10); /* of equals the next in turn */
	assert_int_equal(counts[1] + counts[2], 30);
}

static void of_two_the_less_busy_is_taken(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_schedule s = l7_schedule_build(arena, (const uint32_t[]){ 1, 1, 1, 1 }, 4);
	struct servers servers = { .fitness = { L7_FIT, L7_FIT, L7_FIT, L7_FIT },
				   .active = { 9, 0, 0, 0 } };
	struct l7_fleet f = fleet(&servers);
	struct dice d = dice_of_run(0);
	size_t counts[4] = { 0 };

	for (unsigned i = 0; i < 1600; i++)
		counts[l7_balance_two(&s, &f, dice_u64(&d))]++;
	assert_in_range(counts[0], 50, 160); /* only if it is drawn twice: 100 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_spread),
		cmocka_unit_test(a_common_factor_makes_no_difference),
		cmocka_unit_test(large_weights_are_scaled),
		cmocka_unit_test(shares_are_those_of_the_weights),
		cmocka_unit_test(who_cannot_be_used_is_passed_over),
		cmocka_unit_test(the_reserve_is_used_only_if_no_server_is_fit),
		cmocka_unit_test(the_least_busy_goes_first),
		cmocka_unit_test(of_two_the_less_busy_is_taken),
	};

	return cmocka_run_group_tests_name("core/l7/balance", tests, NULL, NULL);
}
