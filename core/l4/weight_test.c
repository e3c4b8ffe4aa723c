/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frontend, three pools over five backends:
 *	primary   a 100, b 50      secondary  b 20, c 10      last  d 0, e 5
 */
#include "core/l4/weight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/fixture.h"

struct world {
	struct fixture *fixture;
	struct l4_model model;
};

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fixture *f = w->fixture = fixture_new();

	fixture_check(f, "tcp", 2, 3);
	for (char name[] = "a", addr[] = "10.0.0.1"; name[0] <= 'e'; name[0]++, addr[7]++)
		fixture_backend(f, name, addr, "tcp");
	fixture_frontend(f, "empty", "198.51.100.2", 80);
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_pool(f, "primary");
	fixture_member(f, "b", 50);
	fixture_member(f, "a", 100);
	fixture_pool(f, "secondary");
	fixture_member(f, "b", 20);
	fixture_member(f, "c", 10);
	fixture_pool(f, "last");
	fixture_member(f, "d", 0);
	fixture_member(f, "e", 5);
	l4_model_init(&w->model, fixture_config(f), 1);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixture);
	free(w);
	return 0;
}

#define WWW 1

/* One letter per backend a..e: ? unknown, U up, D down, P paused, X disabled. */
static struct l4_model *with(void **state, const char *letters)
{
	static const char alphabet[] = "?UDPX";
	struct world *w = *state;

	for (size_t i = 0; letters[i]; i++)
		w->model.backends[i]->health.state =
			(enum health_state)(strchr(alphabet, letters[i]) - alphabet);
	return &w->model;
}

/* FR-2.3, FR-4.3: every row of the table */
static void the_truth_table_holds_row_by_row(void **state)
{
	static const struct {
		enum health_state state;
		bool active, flush_on_down;
		unsigned weight;
		bool flush;
	} rows[] = {
		{ HEALTH_UP, true, true, 70, false },
		{ HEALTH_UP, true, false, 70, false },
		{ HEALTH_UP, false, true, 0, false }, /* standby: drained, never flushed */
		{ HEALTH_UP, false, false, 0, false },
		{ HEALTH_UNKNOWN, true, true, 0, false },
		{ HEALTH_UNKNOWN, false, true, 0, false },
		{ HEALTH_PAUSED, true, true, 0, false },
		{ HEALTH_PAUSED, false, true, 0, false },
		{ HEALTH_DOWN, true, true, 0, true },
		{ HEALTH_DOWN, false, true, 0, true },
		{ HEALTH_DOWN, true, false, 0, false },
		{ HEALTH_DOWN, false, false, 0, false },
		{ HEALTH_DISABLED, true, true, 0, true },
		{ HEALTH_DISABLED, true, false, 0, true },
		{ HEALTH_DISABLED, false, false, 0, true },
		{ HEALTH_REMOVED, true, false, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct l4_effective e = l4_effective_weight(rows[i].state, rows[i].active, 70,
							    rows[i].flush_on_down);

		assert_int_equal(e.weight, rows[i].weight);
		assert_int_equal(e.flush, rows[i].flush);
	}
}

/* FR-2.2 */
static void the_first_pool_with_an_up_member_is_active(void **state)
{
	static const struct {
		const char *states;
		size_t active;
	} rows[] = {
		{ "UUUUU", 0 },	       { "UDDDD", 0 },	      { "DUDDD", 0 },
		{ "DDUUU", 1 },	       { "PXUUU", 1 },	      { "??U??", 1 },
		{ "DDDDU", 2 },	       { "DDDDD", SIZE_MAX }, { "?????", SIZE_MAX },
		{ "PPPPP", SIZE_MAX }, { "XXXXX", SIZE_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(l4_active_pool(with(state, rows[i].states), WWW), rows[i].active);
}

/* FR-2.2: a pool whose up members all have weight 0 is not active */
static void a_pool_whose_up_members_weigh_nothing_is_not_active(void **state)
{
	struct l4_model *m = with(state, "UDUDD");

	assert_int_equal(l4_model_set_weight(m, "www", "primary", "a", 0), 0);
	assert_int_equal(l4_active_pool(m, WWW), 1);
	assert_int_equal(l4_active_pool(with(state, "DDDUD"), WWW), SIZE_MAX);
}

/* FR-2.2, FR-3.3: the weight in force counts, not the one of the file */
static void a_weight_set_at_run_time_can_make_a_pool_active(void **state)
{
	struct l4_model *m = with(state, "DDDUD");

	assert_int_equal(l4_model_set_weight(m, "www", "last", "d", 1), 0);
	assert_int_equal(l4_active_pool(m, WWW), 2);
}

/* FR-2.4 */
static void a_frontend_is_judged_by_its_backends(void **state)
{
	static const struct {
		const char *states;
		enum l4_frontend_health health;
	} rows[] = {
		{ "?????", L4_FRONTEND_UNKNOWN }, { "U????", L4_FRONTEND_UP },
		{ "D????", L4_FRONTEND_DOWN },	  { "P????", L4_FRONTEND_DOWN },
		{ "DDDDD", L4_FRONTEND_DOWN },	  { "XXXXX", L4_FRONTEND_DOWN },
		{ "DDDDU", L4_FRONTEND_UP },	  { "DDDUD", L4_FRONTEND_DOWN }, /* d weighs 0 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(l4_frontend_judge(with(state, rows[i].states), WWW),
				 rows[i].health);
}

/* FR-2.4 */
static void a_frontend_without_pools_is_unknown(void **state)
{
	assert_int_equal(l4_frontend_judge(with(state, "UUUUU"), 0), L4_FRONTEND_UNKNOWN);
	assert_int_equal(l4_active_pool(with(state, "UUUUU"), 0), SIZE_MAX);
}

#define story(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_table_holds_row_by_row),
		story(the_first_pool_with_an_up_member_is_active),
		story(a_pool_whose_up_members_weigh_nothing_is_not_active),
		story(a_weight_set_at_run_time_can_make_a_pool_active),
		story(a_frontend_is_judged_by_its_backends),
		story(a_frontend_without_pools_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
