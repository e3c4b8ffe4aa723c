/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/plan_addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct addr at(const char *text)
{
	struct addr a = { 0 };

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static struct plan_range range(const char *text)
{
	struct plan_range r;

	assert_int_equal(plan_range_parse(text, &r), 0);
	return r;
}

static struct plan_gateway gateway(const char *key, const char *created, const char *requested,
				   const char *held)
{
	struct plan_gateway g = { .key = key, .created = created };

	if (requested)
		g.requested[g.n_requested++] = at(requested);
	if (held)
		g.held = at(held);
	return g;
}

static void assert_given(const struct plan_gateway *g, const char *want)
{
	char text[ADDR_STRLEN];

	assert_int_equal(g->state, PLAN_ADDRESS_OK);
	assert_int_equal(g->n_given, 1);
	assert_string_equal(addr_format(&g->given[0], text), want);
}

static void ranges_are_prefixes_pairs_or_single_addresses(void **state)
{
	static const struct {
		const char *text, *first, *last;
	} rows[] = {
		{ "192.0.2.0/24", "192.0.2.1", "192.0.2.254" },
		{ "192.0.2.7/30", "192.0.2.5", "192.0.2.6" },
		{ "192.0.2.6/31", "192.0.2.6", "192.0.2.7" },
		{ "192.0.2.7/32", "192.0.2.7", "192.0.2.7" },
		{ "192.0.2.9", "192.0.2.9", "192.0.2.9" },
		{ "192.0.2.250-192.0.3.2", "192.0.2.250", "192.0.3.2" },
		{ "2001:db8::/126", "2001:db8::1", "2001:db8::2" },
	};
	static const char *const bad[] = { "",		"192.0.2.0/33",	 "192.0.2.9-192.0.2.8",
					   "x",		"192.0.2.1-::1", "192.0.2.0/",
					   "192.0.2.1-" };
	struct plan_range r;
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r = range(rows[i].text);
		assert_string_equal(addr_format(&r.first, text), rows[i].first);
		assert_string_equal(addr_format(&r.last, text), rows[i].last);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(plan_range_parse(bad[i], &r) < 0);
}

static void what_a_gateway_has_it_keeps(void **state)
{
	const struct plan_range pool = range("192.0.2.1-192.0.2.3");
	struct plan_gateway g[] = { gateway("a", "2", NULL, NULL),
				    gateway("b", "1", NULL, "192.0.2.1"),
				    gateway("c", "3", NULL, "198.51.100.1") };

	plan_addresses(&pool, 1, g, 3);
	assert_given(&g[0], "192.0.2.2");
	assert_given(&g[1], "192.0.2.1");
	assert_given(&g[2], "192.0.2.3"); /* what it had is in no range any more */
}

static void a_request_wins_over_what_another_one_happens_to_have(void **state)
{
	const struct plan_range pool = range("192.0.2.1-192.0.2.3");
	struct plan_gateway g[] = { gateway("a", "1", NULL, "192.0.2.2"),
				    gateway("b", "2", "192.0.2.2", NULL) };

	plan_addresses(&pool, 1, g, 2);
	assert_given(&g[0], "192.0.2.1");
	assert_given(&g[1], "192.0.2.2");
}

static void of_two_requests_the_one_that_has_it_wins_then_the_older(void **state)
{
	const struct plan_range pool = range("192.0.2.1-192.0.2.3");
	struct plan_gateway g[] = { gateway("a", "2", "192.0.2.2", NULL),
				    gateway("b", "1", "192.0.2.2", NULL) };

	plan_addresses(&pool, 1, g, 2);
	assert_given(&g[1], "192.0.2.2");
	assert_int_equal(g[0].state, PLAN_ADDRESS_TAKEN);
	assert_string_equal(g[0].taken, "b");
	g[0].held = at("192.0.2.2");
	plan_addresses(&pool, 1, g, 2);
	assert_given(&g[0], "192.0.2.2");
	assert_int_equal(g[1].state, PLAN_ADDRESS_TAKEN);
}

static void what_cannot_be_given_is_said(void **state)
{
	const struct plan_range pool = range("192.0.2.1");
	struct plan_gateway g[] = { gateway("a", "1", NULL, NULL), gateway("b", "2", NULL, NULL),
				    gateway("c", "3", "203.0.113.7", NULL) };

	plan_addresses(&pool, 1, g, 3);
	assert_given(&g[0], "192.0.2.1");
	assert_int_equal(g[1].state, PLAN_ADDRESS_NONE);
	assert_int_equal(g[2].state, PLAN_ADDRESS_OUTSIDE);
	assert_int_equal(g[2].n_given, 0);
	plan_addresses(NULL, 0, g, 3);
	assert_int_equal(g[0].state, PLAN_ADDRESS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_prefixes_pairs_or_single_addresses),
		cmocka_unit_test(what_a_gateway_has_it_keeps),
		cmocka_unit_test(a_request_wins_over_what_another_one_happens_to_have),
		cmocka_unit_test(of_two_requests_the_one_that_has_it_wins_then_the_older),
		cmocka_unit_test(what_cannot_be_given_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
