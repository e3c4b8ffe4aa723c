/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const struct history_origin by_api = { HISTORY_API, "192.0.2.1:99", NULL };

static struct plan *plan_of(const char *text)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct settings *s;
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };

	assert_int_equal(settings_parse(str_of(text), ROUTER_YAML, &doc, &errors, &warnings, &s),
			 CONFIG_OK);
	return plan_new(s);
}

static struct history_record *add(struct history *h, uint64_t number, const char *text)
{
	struct plan *plan = plan_of(text);
	struct history_record *r = history_add(h, number, plan, &by_api);

	r->before = number - 1;
	plan_release(plan);
	return r;
}

static void the_last_ten_are_kept_newest_first(void **state)
{
	struct history *h = history_new();

	for (uint64_t i = 1; i <= 25; i++)
		add(h, i, "pools: [{name: p, servers: []}]");
	assert_int_equal(history_count(h), HISTORY_MAX);
	assert_int_equal(history_at(h, 0)->number, 25);
	assert_int_equal(history_at(h, 9)->number, 16);
	assert_null(history_find(h, 15));
	assert_int_equal(history_find(h, 20)->number, 20);
	assert_string_equal(history_at(h, 3)->peer, "192.0.2.1:99");
	/* the oldest that is shown can still be compared */
	assert_non_null(history_change(h, history_at(h, 9)));
	history_free(h);
}

static void a_change_names_what_differs(void **state)
{
	struct history *h = history_new();
	const struct l7_change *c;

	add(h, 1,
	    "routes: [{name: a, pool: p}, {name: b, pool: p}]\n"
	    "pools: [{name: p, servers: ['10.0.0.1:80']}]");
	add(h, 2,
	    "routes: [{name: a, pool: p}, {name: c, pool: p, path_prefix: /x}]\n"
	    "pools: [{name: p, servers: ['10.0.0.1:80']}]\n"
	    "default_route: {pool: p}");
	c = history_change(h, history_find(h, 1));
	assert_int_equal(c[ROUTER_ROUTES].added.n, 2);
	c = history_change(h, history_find(h, 2));
	assert_string_equal(c[ROUTER_ROUTES].added.names[0], "c");
	assert_string_equal(c[ROUTER_ROUTES].removed.names[0], "b");
	assert_int_equal(c[ROUTER_ROUTES].changed.n, 0);
	assert_int_equal(c[ROUTER_POOLS].changed.n, 0);
	assert_string_equal(c[ROUTER_REST].added.names[0], "default_route");
	assert_ptr_equal(c, history_change(h, history_find(h, 2)));
	history_free(h);
}

static void a_change_of_unknown_origin_is_unknown(void **state)
{
	struct history *h = history_new();

	add(h, 5, "pools: []");
	assert_null(history_change(h, history_find(h, 5)));
	history_find(h, 5)->before = 0;
	assert_non_null(history_change(h, history_find(h, 5)));
	history_free(h);
}

static void other_servers_change_one_pool(void **state)
{
	struct history *h = history_new();
	const struct l7_change *c;

	add(h, 2, "pools: [{name: p, servers: []}, {name: q, servers: []}]")->pool = 1;
	c = history_change(h, history_find(h, 2));
	assert_int_equal(c[ROUTER_POOLS].changed.n, 1);
	assert_string_equal(c[ROUTER_POOLS].changed.names[0], "q");
	assert_int_equal(c[ROUTER_ROUTES].changed.n, 0);
	history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_ten_are_kept_newest_first),
		cmocka_unit_test(a_change_names_what_differs),
		cmocka_unit_test(a_change_of_unknown_origin_is_unknown),
		cmocka_unit_test(other_servers_change_one_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
