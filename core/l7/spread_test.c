/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"

#define MOST 100
#define REQUESTS 20000

struct pool {
	struct l7_server servers[MOST];
	char hosts[MOST][24];
	size_t n;
	uint16_t *slots;
	size_t size;
	struct arena *arena;
	struct l7_schedule schedule;
	bool down[MOST];
};

static enum l7_fitness fitness(size_t i, void *user)
{
	return ((struct pool *)user)->down[i] ? L7_UNFIT : L7_FIT;
}

static size_t find(struct pool *p, uint64_t hash)
{
	const struct l7_fleet f = { .fitness = fitness, .user = p };

	return l7_spread_find(p->slots, p->size, &p->schedule, &f, hash);
}

static void build(struct pool *p)
{
	uint32_t weights[MOST];

	for (size_t i = 0; i < p->n; i++)
		weights[i] = p->servers[i].drain ? 0 : p->servers[i].weight;
	p->arena = arena_new();
	p->schedule = l7_schedule_build(p->arena, weights, p->n);
	p->size = l7_spread_size(p->n);
	p->slots = mem_zalloc(p->size * sizeof(*p->slots));
	l7_spread_build(p->servers, p->n, p->slots, p->size);
}

static void end(struct pool *p)
{
	free(p->slots);
	arena_free(p->arena);
}

/* Two servers on each address, all of weight 1. */
static struct pool pool_of(size_t n)
{
	struct pool p = { .n = n };

	for (size_t i = 0; i < n; i++)
		p.servers[i] = (struct l7_server){ .port = (uint16_t)(8000 + i % 2), .weight = 1 };
	return p;
}

static void name_hosts(struct pool *p)
{
	for (size_t i = 0; i < p->n; i++) {
		snprintf(p->hosts[i], sizeof(p->hosts[i]), "10.0.0.%zu", i / 2);
		p->servers[i].host = p->hosts[i];
	}
}

static void count_requests(struct pool *p, size_t *counts)
{
	uint64_t random = 1;

	memset(counts, 0, MOST * sizeof(*counts));
	for (size_t i = 0; i < REQUESTS; i++)
		counts[find(p, random_next(&random))]++;
}

static void servers_get_equal_shares(void **state)
{
	struct pool p = pool_of(10);
	size_t counts[MOST];

	name_hosts(&p);
	build(&p);
	count_requests(&p, counts);
	for (size_t i = 0; i < p.n; i++)
		assert_in_range(counts[i], 1800, 2200);
	end(&p);
}

static void shares_follow_weights_of_any_size(void **state)
{
	struct pool p = pool_of(4);
	size_t counts[MOST];

	name_hosts(&p);
	p.servers[0].weight = 1000000;
	p.servers[1].weight = 500000;
	p.servers[2].weight = 1;
	p.servers[3].weight = 0;
	build(&p);
	count_requests(&p, counts);
	assert_in_range(counts[0], 12600, 13700);
	assert_in_range(counts[1], 6200, 7100);
	assert_in_range(counts[2], 1, 300);
	assert_int_equal(counts[3], 0);
	end(&p);
}

static void a_server_that_drains_gets_nothing(void **state)
{
	struct pool p = pool_of(3);
	size_t counts[MOST];

	name_hosts(&p);
	p.servers[1].drain = true;
	p.servers[1].weight = 1000000; /* does not count */
	build(&p);
	count_requests(&p, counts);
	assert_int_equal(counts[1], 0);
	assert_in_range(counts[0], 9400, 10600);
	end(&p);
}

static void only_requests_of_a_server_that_is_down_move(void **state)
{
	struct pool p = pool_of(10);
	size_t gained[MOST] = { 0 };
	uint64_t random = 2;

	name_hosts(&p);
	build(&p);
	for (size_t i = 0; i < REQUESTS; i++) {
		uint64_t hash = random_next(&random);
		size_t before = find(&p, hash), after;

		p.down[4] = true;
		after = find(&p, hash);
		assert_int_equal(after, find(&p, hash));
		assert_true(before == 4 ? after != 4 : after == before);
		gained[after] += after != before;
		p.down[4] = false;
	}
	for (size_t i = 0; i < p.n; i++) /* about 220 each */
		assert_true(i == 4 ? gained[i] == 0 : gained[i] > 120);
	end(&p);
}

static void one_server_that_is_left_gets_everything(void **state)
{
	struct pool p = pool_of(50);

	name_hosts(&p);
	build(&p);
	memset(p.down, true, sizeof(p.down));
	assert_true(find(&p, 1) == L7_NONE);
	p.down[17] = false;
	for (uint64_t hash = 0; hash < 1000; hash++)
		assert_int_equal(find(&p, hash << 40), 17);
	end(&p);
}

static void the_order_of_servers_makes_no_difference(void **state)
{
	struct pool a = pool_of(8), b = pool_of(8);
	uint64_t random = 3;

	name_hosts(&a);
	name_hosts(&b);
	for (size_t i = 0; i < b.n; i++)
		b.servers[i] = a.servers[b.n - 1 - i];
	build(&a);
	build(&b);
	for (size_t i = 0; i < 1000; i++) {
		uint64_t hash = random_next(&random);

		assert_int_equal(find(&a, hash), b.n - 1 - find(&b, hash));
	}
	end(&a);
	end(&b);
}

static void a_new_server_takes_only_its_share(void **state)
{
	struct pool a = pool_of(10), b = pool_of(11);
	uint64_t random = 4;
	size_t moved = 0;

	name_hosts(&a);
	name_hosts(&b);
	build(&a);
	build(&b);
	for (size_t i = 0; i < REQUESTS; i++) {
		uint64_t hash = random_next(&random);

		moved += find(&a, hash) != find(&b, hash);
	}
	assert_in_range(moved, REQUESTS / 11, REQUESTS / 11 * 5 / 4);
	end(&a);
	end(&b);
}

static void the_same_server_may_be_listed_twice(void **state)
{
	struct pool p = pool_of(3);
	size_t counts[MOST];

	name_hosts(&p);
	p.servers[1] = p.servers[2] = p.servers[0];
	build(&p);
	count_requests(&p, counts);
	for (size_t i = 0; i < p.n; i++)
		assert_in_range(counts[i], 6000, 7400);
	end(&p);
}

static void a_pool_without_servers_has_none(void **state)
{
	struct pool p = pool_of(0);

	build(&p);
	assert_true(find(&p, 1) == L7_NONE);
	end(&p);
}

static void every_server_has_a_hundred_slots(void **state)
{
	for (size_t n = 1; n <= 10000; n++)
		assert_true(l7_spread_size(n) / n >= 99);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_get_equal_shares),
		cmocka_unit_test(shares_follow_weights_of_any_size),
		cmocka_unit_test(a_server_that_drains_gets_nothing),
		cmocka_unit_test(only_requests_of_a_server_that_is_down_move),
		cmocka_unit_test(one_server_that_is_left_gets_everything),
		cmocka_unit_test(the_order_of_servers_makes_no_difference),
		cmocka_unit_test(a_new_server_takes_only_its_share),
		cmocka_unit_test(the_same_server_may_be_listed_twice),
		cmocka_unit_test(a_pool_without_servers_has_none),
		cmocka_unit_test(every_server_has_a_hundred_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
