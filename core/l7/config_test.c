/* SPDX-License-Identifier: Apache-2.0 */
/* What is derived from a configuration. Its rules are tested from wire, where it can be read. */
#include "core/l7/config.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"

/* ---- entries ---- */

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static const struct l7_match two[] = {
	{ .kind = L7_PREFIX, .path = TEXT("/a") },
	{ .kind = L7_EXACT, .path = TEXT("/b") },
};
static const struct l7_match all[] = { { .kind = L7_PREFIX, .path = TEXT("/") } };

static const struct str hosts[] = { TEXT("www.example.com"), TEXT("*.example.com"),
				    TEXT("example.org") };
static const struct l7_rule first_rules[] = {
	{ .name = "first/0", .matches = two, .n_matches = 2 },
	{ .name = "first/1", .matches = all, .n_matches = 1 },
};
static const struct l7_rule only[] = { { .name = "second", .matches = all, .n_matches = 1 } };
static const size_t plain[] = { 0 };

static const struct l7_route routes[] = {
	{ .name = "first", .hosts = hosts, .n_hosts = 3, .rules = first_rules, .n_rules = 2 },
	{ .name = "second", .listeners = plain, .n_listeners = 1, .rules = only, .n_rules = 1 },
};
static const struct l7_listener listeners[] = {
	{ .name = "any" },
	{ .name = "www", .host = TEXT("WWW.example.com") },
	{ .name = "wild", .host = TEXT("*.example.com") },
	{ .name = "wider", .host = TEXT("*.com") },
	{ .name = "deeper", .host = TEXT("*.a.example.com") },
	{ .name = "other", .host = TEXT("example.com") },
};
static const struct l7_config config = {
	.listeners = listeners,
	.n_listeners = ARRAY_SIZE(listeners),
	.routes = routes,
	.n_routes = ARRAY_SIZE(routes),
};

static void a_listener_has_each_host_with_each_match(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_entries e = l7_config_entries(&config, 0, arena);

	assert_int_equal(e.n, 3 * 3 + 1);
	for (size_t i = 0; i < e.n; i++)
		assert_int_equal(e.entries[i].match.order, i);
	assert_true(str_eq(e.entries[0].host, hosts[0]));
	assert_true(str_eq(e.entries[1].match.path, STR("/b")));
	assert_true(str_eq(e.entries[3].host, hosts[1]));
	assert_int_equal(e.entries[9].host.n, 0);
}

static void an_entry_leads_back_to_its_route(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_entries e = l7_config_entries(&config, 0, arena);

	assert_ptr_equal(e.targets[4].route, &routes[0]);
	assert_ptr_equal(e.targets[4].rule, &first_rules[0]);
	assert_ptr_equal(e.targets[4].match, &two[1]);
	assert_ptr_equal(e.targets[8].rule, &first_rules[1]);
	assert_ptr_equal(e.targets[9].route, &routes[1]);
	assert_ptr_equal(e.targets[9].match, &all[0]);
}

/* The number of entries tells which of the hosts of the first route a listener has. */
static size_t entries_of(size_t listener)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	return l7_config_entries(&config, listener, arena).n;
}

static void names_that_cannot_come_to_a_listener_are_left_out(void **state)
{
	assert_int_equal(entries_of(1), 2 * 3); /* www and *.example.com */
	assert_int_equal(entries_of(2), 2 * 3);
	assert_int_equal(entries_of(3), 2 * 3);
	assert_int_equal(entries_of(4), 1 * 3); /* *.example.com */
	assert_int_equal(entries_of(5), 0);	/* a wildcard is not its own suffix */
}

static void without_listeners_all_routes_belong_to_one(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct l7_config alone = { .routes = routes, .n_routes = 2 };

	assert_int_equal(l7_config_entries(&alone, 0, arena).n, 10);
}

/* A match of an earlier route goes before an equal one of a later route. */
static void the_table_finds_the_target(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_entries e = l7_config_entries(&config, 0, arena);
	const struct l7_table *t = l7_table_build(arena, e.entries, e.n, NULL);
	struct l7_request r = { .host = STR("x.example.com"),
				.path = STR("/b"),
				.method = STR("GET") };
	size_t found = l7_table_find(t, &r);

	assert_ptr_equal(e.targets[found].match, &two[1]);
	assert_true(str_eq(e.entries[found].host, hosts[1]));
	r.host = STR("nowhere");
	assert_string_equal(e.targets[l7_table_find(t, &r)].route->name, "second");
}

static void paths_of_rules_have_the_form_of_requests(void **state)
{
	static const struct l7_match odd[] = { { .kind = L7_PREFIX, .path = { "/%61%2fb", 8 } } };
	static const struct l7_rule rule = { .name = "r", .matches = odd, .n_matches = 1 };
	static const struct l7_route route = { .name = "r", .rules = &rule, .n_rules = 1 };
	struct l7_listener listener = { .name = "l" };
	const struct l7_config c = {
		.listeners = &listener, .n_listeners = 1, .routes = &route, .n_routes = 1
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	assert_true(str_eq(l7_config_entries(&c, 0, arena).targets[0].match->path, STR("/a%2Fb")));
	assert_true(str_eq(l7_config_entries(&c, 0, arena).entries[0].match.path, STR("/a%2Fb")));
	listener.paths = L7_PATHS_AS_IS;
	assert_true(str_eq(l7_config_entries(&c, 0, arena).entries[0].match.path, odd[0].path));
	assert_true(str_eq(l7_config_entries(&c, 0, arena).targets[0].match->path, odd[0].path));
}

/* ---- backends ---- */

static void no_weight_no_backend(void **state)
{
	const struct l7_backend zero[] = { { .weight = 0 }, { .weight = 0 } };

	assert_int_equal(l7_pick_backend(NULL, 0, 1), L7_NONE);
	assert_int_equal(l7_pick_backend(zero, 2, UINT64_MAX), L7_NONE);
}

static void backends_are_picked_by_weight(void **state)
{
	const struct l7_backend list[] = { { .weight = 0 }, { .weight = 7 }, { .weight = 0 },
					   { .weight = 2 }, { .weight = 1 }, { .weight = 0 } };
	size_t counts[ARRAY_SIZE(list)] = { 0 };
	uint64_t seed = 1;

	for (size_t i = 0; i < 100000; i++) {
		size_t picked = l7_pick_backend(list, ARRAY_SIZE(list), random_next(&seed));

		assert_true(picked < ARRAY_SIZE(list));
		counts[picked]++;
	}
	assert_true(counts[0] + counts[2] + counts[5] == 0);
	assert_in_range(counts[1], 69000, 71000);
	assert_in_range(counts[3], 19000, 21000);
	assert_in_range(counts[4], 9000, 11000);
	/* the ends of the range */
	assert_int_equal(l7_pick_backend(list, ARRAY_SIZE(list), 0), 1);
	assert_int_equal(l7_pick_backend(list, ARRAY_SIZE(list), UINT64_MAX), 4);
}

static void the_largest_weights_are_within_bounds(void **state)
{
	struct l7_backend list[L7_BACKENDS_MAX];

	for (size_t i = 0; i < L7_BACKENDS_MAX; i++)
		list[i] = (struct l7_backend){ .weight = L7_WEIGHT_MAX };
	assert_int_equal(l7_pick_backend(list, L7_BACKENDS_MAX, UINT64_MAX), L7_BACKENDS_MAX - 1);
}

static void a_mirror_gets_its_share(void **state)
{
	static const struct l7_mirror mirrors[] = {
		{ .numerator = 0, .denominator = 100 },	   { .numerator = 25, .denominator = 100 },
		{ .numerator = 1, .denominator = 1 },	   { .numerator = 1, .denominator = 3 },
		{ .numerator = 999, .denominator = 1000 },
	};
	uint64_t random = 1;

	for (size_t i = 0; i < ARRAY_SIZE(mirrors); i++) {
		size_t n = 0, want = 30000 * mirrors[i].numerator / mirrors[i].denominator;

		for (size_t k = 0; k < 30000; k++)
			n += l7_mirror_takes(&mirrors[i], random_next(&random));
		assert_in_range(n, want - (want ? 300 : 0), want + (want % 30000 ? 300 : 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_has_each_host_with_each_match),
		cmocka_unit_test(an_entry_leads_back_to_its_route),
		cmocka_unit_test(names_that_cannot_come_to_a_listener_are_left_out),
		cmocka_unit_test(without_listeners_all_routes_belong_to_one),
		cmocka_unit_test(the_table_finds_the_target),
		cmocka_unit_test(paths_of_rules_have_the_form_of_requests),
		cmocka_unit_test(no_weight_no_backend),
		cmocka_unit_test(backends_are_picked_by_weight),
		cmocka_unit_test(the_largest_weights_are_within_bounds),
		cmocka_unit_test(a_mirror_gets_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
