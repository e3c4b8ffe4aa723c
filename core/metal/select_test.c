/* SPDX-License-Identifier: Apache-2.0 */
/* Which pools and advertisements apply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/metal/config.h"

static const struct label of_front[] = { { "tier", "front" } };
static const struct labels front = { of_front, 1 }, plain = { 0 };
static const char *const is_front[] = { "front" };
static const struct labels_requirement front_only[] = {
	{ .key = "tier", .op = LABELS_IN, .values = is_front, .n_values = 1 }
};
static const struct labels_selector front_selector = { front_only, 1 };
static const struct labels_selectors fronts = { &front_selector, 1 };

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static void a_pool_admits_by_namespace_and_labels(void **state)
{
	static const char *const names[] = { "blue", "red" };
	struct metal_pool open = { 0 },
			  pinned = { .is_pinned = true,
				     .some_namespaces = true,
				     .namespaces = { names, 2 },
				     .services = fronts },
			  nowhere = { .is_pinned = true, .some_namespaces = true };

	assert_true(metal_pool_admits(&open, "any", &plain));
	assert_true(metal_pool_admits(&pinned, "red", &front));
	assert_false(metal_pool_admits(&pinned, "red", &plain));
	assert_false(metal_pool_admits(&pinned, "green", &front));
	assert_false(metal_pool_admits(&nowhere, "red", &front));
}

/* A priority alone does not restrict a pool. */
static void a_pool_with_a_priority_only_admits_all(void **state)
{
	assert_true(metal_pool_admits(&(struct metal_pool){ .is_pinned = true, .priority = 1 },
				      "any", &plain));
}

static void buggy_addresses_are_not_in_a_pool_that_avoids_them(void **state)
{
	struct metal_prefix net = { address("10.0.0.0"), 23 };
	struct metal_pool pool = { .prefixes = &net, .n_prefixes = 1 };
	struct addr zero = address("10.0.0.0"), last = address("10.0.1.255"),
		    good = address("10.0.1.1"), far = address("10.0.2.1");

	assert_true(metal_pool_has(&pool, &zero));
	pool.avoid_buggy_ips = true;
	assert_false(metal_pool_has(&pool, &zero));
	assert_false(metal_pool_has(&pool, &last));
	assert_true(metal_pool_has(&pool, &good));
	assert_false(metal_pool_has(&pool, &far));
}

static void all_addresses_must_be_in_one_pool(void **state)
{
	struct metal_prefix four = { address("10.0.0.0"), 24 }, six = { address("fc00::"), 120 };
	struct metal_pool pools[] = { { .name = "a", .prefixes = &four, .n_prefixes = 1 },
				      { .name = "b", .prefixes = &six, .n_prefixes = 1 } };
	struct metal_config config = { .pools = pools, .n_pools = 2 };
	struct addr both[] = { address("10.0.0.1"), address("fc00::1") };

	assert_ptr_equal(metal_pool_of(&config, &both[0], 1), &pools[0]);
	assert_ptr_equal(metal_pool_of(&config, &both[1], 1), &pools[1]);
	assert_null(metal_pool_of(&config, both, 2));
	assert_null(metal_pool_of(&config, both, 0));
}

/* Two advertisements with another local preference, and what keeps them apart. */
static void a_conflict_needs_the_same_prefix_peer_and_node(void **state)
{
	static const char *const x[] = { "x" }, *const y[] = { "y" };
	struct metal_bgp a = { .local_pref = 1, .length4 = 32, .length6 = 128 };
	struct metal_bgp b = { .local_pref = 2, .length4 = 32, .length6 = 128 };
	struct metal_pool dual = { .has4 = true, .has6 = true }, four = { .has4 = true };
	struct metal_place nodes[] = { { "n1", front }, { "n2", plain } };

	assert_true(metal_bgp_conflict(&a, &b, &dual, nodes, 2));
	b.length4 = 24;
	assert_true(metal_bgp_conflict(&a, &b, &dual, nodes, 2));
	assert_false(metal_bgp_conflict(&a, &b, &four, nodes, 2));
	b.length6 = 64;
	assert_false(metal_bgp_conflict(&a, &b, &dual, nodes, 2));
	b.length4 = 32;
	a.peers = (struct metal_texts){ x, 1 };
	assert_true(metal_bgp_conflict(&a, &b, &four, nodes, 2));
	b.peers = (struct metal_texts){ y, 1 };
	assert_false(metal_bgp_conflict(&a, &b, &four, nodes, 2));
	b.peers = a.peers;
	a.nodes = fronts;
	assert_true(metal_bgp_conflict(&a, &b, &four, nodes, 2));
	assert_false(metal_bgp_conflict(&a, &b, &four, &nodes[1], 1));
	b.local_pref = 1;
	assert_false(metal_bgp_conflict(&a, &b, &four, nodes, 2));
}

static void prefixes_and_peers_of_an_advertisement(void **state)
{
	static const char *const peers[] = { "x" };
	struct metal_bgp a = { .length4 = 24, .length6 = 64, .peers = { peers, 1 } }, all = { 0 };
	struct addr four = address("10.1.2.3"), six = address("fc00:1::7");
	struct metal_prefix p4 = metal_bgp_prefix(&a, &four), p6 = metal_bgp_prefix(&a, &six);
	char text[METAL_PREFIX_STRLEN];

	assert_string_equal(metal_prefix_format(&p4, text), "10.1.2.0/24");
	assert_string_equal(metal_prefix_format(&p6, text), "fc00:1::/64");
	assert_true(metal_bgp_for_peer(&a, "x"));
	assert_false(metal_bgp_for_peer(&a, "y"));
	assert_true(metal_bgp_for_peer(&all, "y"));
}

static void preferences_of_a_node_add_up(void **state)
{
	struct metal_preference both[] = { { 30, front_selector }, { 5, { 0 } } };
	struct metal_l2 l2 = { .preferences = both, .n_preferences = 2 };

	assert_int_equal(metal_l2_score(&l2, &front), 35);
	assert_int_equal(metal_l2_score(&l2, &plain), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_admits_by_namespace_and_labels),
		cmocka_unit_test(a_pool_with_a_priority_only_admits_all),
		cmocka_unit_test(buggy_addresses_are_not_in_a_pool_that_avoids_them),
		cmocka_unit_test(all_addresses_must_be_in_one_pool),
		cmocka_unit_test(a_conflict_needs_the_same_prefix_peer_and_node),
		cmocka_unit_test(prefixes_and_peers_of_an_advertisement),
		cmocka_unit_test(preferences_of_a_node_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
