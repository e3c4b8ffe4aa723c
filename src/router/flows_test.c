/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "src/router/flows.h"

#define MANY 20000

static struct udp_path path_of(unsigned i)
{
	struct endpoint peer = { .addr = { .family = AF_INET, .bytes = { 10, 0, 0, 1 } } };
	struct addr local = { .family = AF_INET, .bytes = { 192, 0, 2, 1 } };
	struct udp_path p;

	peer.addr.bytes[1] = (uint8_t)(i >> 16);
	peer.addr.bytes[2] = (uint8_t)(i >> 8);
	peer.port = (uint16_t)(1000 + i % 7);
	local.bytes[3] = (uint8_t)i;
	assert_int_equal(udp_path_make(AF_INET6, &peer, &local, 0, &p), 0);
	return p;
}

static struct flow_node *find(const struct flows *f, unsigned i)
{
	struct udp_path p = path_of(i);

	return flows_find(f, &p, flows_hash(f, &p));
}

static void add(struct flows *f, struct flow_node *n, unsigned i)
{
	struct udp_path p = path_of(i);

	flows_add(f, n, &p, flows_hash(f, &p));
}

static void each_session_is_found_by_its_ends_alone(void **state)
{
	struct flow_node *nodes = calloc(MANY, sizeof(*nodes));
	size_t seen = 0;
	struct flows f;

	flows_init(&f, 42);
	assert_null(find(&f, 0));
	assert_null(flows_next(&f, NULL));
	for (unsigned i = 0; i < MANY; i++) {
		assert_null(find(&f, i));
		add(&f, &nodes[i], i);
	}
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(find(&f, i), &nodes[i]);
	for (unsigned i = 0; i < MANY; i += 2)
		flows_remove(&f, &nodes[i]);
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(find(&f, i), i % 2 ? &nodes[i] : NULL);
	assert_int_equal(f.n, MANY / 2);
	for (const struct flow_node *n = flows_next(&f, NULL); n; n = flows_next(&f, n))
		seen++;
	assert_int_equal(seen, MANY / 2);
	flows_free(&f);
	free(nodes);
}

static void another_seed_spreads_sessions_in_another_way(void **state)
{
	struct udp_path p = path_of(7);
	struct flows a, b;

	flows_init(&a, 1);
	flows_init(&b, 2);
	assert_true(flows_hash(&a, &p) != flows_hash(&b, &p));
	p.local.s6_addr[15]++;
	assert_true(flows_hash(&a, &p) != flows_hash(&a, &(struct udp_path){ 0 }));
}

static void the_table_has_few_sessions_at_one_place(void **state)
{
	struct flow_node *nodes = calloc(MANY, sizeof(*nodes));
	size_t longest = 0;
	struct flows f;

	flows_init(&f, 3);
	for (unsigned i = 0; i < MANY; i++)
		add(&f, &nodes[i], i);
	for (size_t b = 0; b < f.size; b++) {
		size_t n = 0;

		for (const struct flow_node *at = f.buckets[b]; at; at = at->next)
			n++;
		longest = n > longest ? n : longest;
	}
	assert_true(f.size >= MANY);
	assert_true(longest < 10);
	flows_free(&f);
	free(nodes);
}

static void a_session_is_due_at_its_second(void **state)
{
	struct flow_node one = { 0 }, two = { 0 }, gone = { 0 };
	struct flow_wheel w;

	flow_wheel_init(&w, 1000);
	flow_wheel_add(&w, &one, 1005);
	flow_wheel_add(&w, &two, 1006);
	flow_wheel_add(&w, &gone, 1005);
	flow_wheel_remove(&w, &gone);
	flow_wheel_turn(&w, 1004);
	assert_null(flow_wheel_take(&w));
	flow_wheel_turn(&w, 1005);
	assert_ptr_equal(flow_wheel_take(&w), &one);
	assert_null(flow_wheel_take(&w));
	flow_wheel_turn(&w, 1006);
	flow_wheel_remove(&w, &two); /* it ends before it was looked at */
	assert_null(flow_wheel_take(&w));
}

static void what_is_due_already_comes_with_the_next_second(void **state)
{
	struct flow_node one = { 0 };
	struct flow_wheel w;

	flow_wheel_init(&w, 1000);
	flow_wheel_add(&w, &one, 990);
	assert_null(flow_wheel_take(&w));
	flow_wheel_turn(&w, 1001);
	assert_ptr_equal(flow_wheel_take(&w), &one);
}

static void what_is_far_away_is_looked_at_on_the_way(void **state)
{
	struct flow_node one = { 0 };
	struct flow_wheel w;

	flow_wheel_init(&w, 1000);
	flow_wheel_add(&w, &one, 5000);
	flow_wheel_turn(&w, 1000 + FLOW_WHEEL - 2);
	assert_null(flow_wheel_take(&w));
	flow_wheel_turn(&w, 1000 + FLOW_WHEEL - 1);
	assert_ptr_equal(flow_wheel_take(&w), &one);
}

static void in_a_hurry_all_are_due(void **state)
{
	struct flow_node one = { 0 }, two = { 0 };
	struct flow_wheel w;

	flow_wheel_init(&w, 1000);
	flow_wheel_add(&w, &one, 1005);
	flow_wheel_add(&w, &two, 1050);
	flow_wheel_hurry(&w);
	assert_non_null(flow_wheel_take(&w));
	assert_non_null(flow_wheel_take(&w));
	assert_null(flow_wheel_take(&w));
}

static void after_a_long_stop_all_are_due(void **state)
{
	struct flow_node nodes[FLOW_WHEEL] = { 0 };
	struct flow_wheel w;
	size_t n = 0;

	flow_wheel_init(&w, 0);
	for (int i = 0; i < FLOW_WHEEL; i++)
		flow_wheel_add(&w, &nodes[i], i);
	flow_wheel_turn(&w, 1000000);
	while (flow_wheel_take(&w))
		n++;
	assert_int_equal(n, FLOW_WHEEL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_session_is_found_by_its_ends_alone),
		cmocka_unit_test(another_seed_spreads_sessions_in_another_way),
		cmocka_unit_test(the_table_has_few_sessions_at_one_place),
		cmocka_unit_test(a_session_is_due_at_its_second),
		cmocka_unit_test(what_is_due_already_comes_with_the_next_second),
		cmocka_unit_test(what_is_far_away_is_looked_at_on_the_way),
		cmocka_unit_test(in_a_hurry_all_are_due),
		cmocka_unit_test(after_a_long_stop_all_are_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
