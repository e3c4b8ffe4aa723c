/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/maglevd/plan.h"
#include "src/maglevd/testing.h"

#define CONFIG(address)                                                                            \
	"maglev:\n"                                                                                \
	"  dataplane: none\n"                                                                      \
	"  backends: { a: { address: 10.0.0.1 }, b: { address: " address " } }\n"                  \
	"  frontends:\n"                                                                           \
	"    f: { address: 192.0.2.1, pools: [{ name: p, backends: { a: {}, b: {} } }] }\n"        \
	"    g: { address: 192.0.2.2, pools: [{ name: p, backends: { a: {}, b: {} } }] }\n"

/* NFR-3.2: however often the operator asks while the data plane is away, there is one per AS */
static void flushes_do_not_pile_up(void **state)
{
	struct snapshot *s = testing_snapshot(CONFIG("10.0.0.2"));
	struct plan_flushes flushes = { 0 };

	for (int i = 0; i < 1000; i++)
		plan_flush_ask(&flushes, &s->config, i % 2, i / 2 % 2);
	assert_int_equal(flushes.list.n, 4);

	/* the one under way was requested before: it has to be done once more */
	flushes.list.items[0].under_way = true;
	plan_flush_ask(&flushes, &s->config, 0, 0);
	assert_int_equal(flushes.list.n, 4);
	assert_false(flushes.list.items[0].under_way);
	vec_free(&flushes.list);
	snapshot_free(s);
}

static void a_flush_goes_with_what_it_is_about(void **state)
{
	struct snapshot *old = testing_snapshot(CONFIG("10.0.0.2"));
	struct snapshot *new = testing_snapshot(CONFIG("10.0.0.3"));
	struct plan_flushes flushes = { 0 };
	struct plan_order order = { 0 };

	plan_flush_ask(&flushes, &old->config, 0, 0);
	plan_flush_ask(&flushes, &old->config, 0, 1);
	plan_flush_ask(&flushes, &old->config, 1, 1);
	plan_order_build(&order, &old->config);
	plan_flushes_keep(&flushes, &order, &old->config);
	assert_int_equal(flushes.list.n, 3);
	plan_order_build(&order, &new->config);
	plan_flushes_keep(&flushes, &order, &new->config);
	assert_int_equal(flushes.list.n, 1);
	assert_int_equal(addr_cmp(&flushes.list.items[0].as, &new->config.backends[0].address), 0);
	vec_free(&flushes.list);
	plan_order_free(&order);
	snapshot_free(old);
	snapshot_free(new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flushes_do_not_pile_up),
		cmocka_unit_test(a_flush_goes_with_what_it_is_about),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
