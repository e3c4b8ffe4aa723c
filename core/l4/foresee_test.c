/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three frontends over five backends; a and a2 are on one host, s is static:
 *	www   primary  a, b    backup  c        mail  only  a2        tcp   only  b, s
 */
#include "core/l4/foresee.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/l4/fixture.h"
#include "core/l4/override.h"

struct world {
	struct fixture *fixture;
	struct l4_model model;
	struct arena *arena;
};

static void add_pool(struct fixture *f, const char *name, const char *one, const char *two)
{
	fixture_pool(f, name);
	fixture_member(f, one, 100);
	if (two)
		fixture_member(f, two, 100);
}

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fixture *f = w->fixture = fixture_new();

	fixture_check(f, "tcp", 2, 3);
	fixture_backend(f, "a", "10.0.0.1", "tcp");
	fixture_backend(f, "a2", "10.0.0.1", "tcp");
	fixture_backend(f, "b", "10.0.0.2", "tcp");
	fixture_backend(f, "c", "10.0.0.3", "tcp");
	fixture_backend(f, "s", "10.0.0.4", NULL);
	fixture_frontend(f, "mail", "198.51.100.2", 25);
	add_pool(f, "only", "a2", NULL);
	fixture_frontend(f, "tcp", "198.51.100.3", 80);
	add_pool(f, "only", "b", "s");
	fixture_frontend(f, "www", "198.51.100.1", 80);
	add_pool(f, "primary", "a", "b");
	add_pool(f, "backup", "c", NULL);
	l4_model_init(&w->model, fixture_config(f), 1);
	for (size_t i = 0; i < 5; i++)
		w->model.backends[i]->health.state = HEALTH_UP;
	w->arena = arena_new();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixture);
	arena_free(w->arena);
	free(w);
	return 0;
}

static struct l4_backend_state *backend(struct world *w, const char *name)
{
	return w->model.backends[l4_config_backend(w->model.config, name)];
}

static struct l4_selection named(struct world *w, const char *pattern)
{
	char *patterns[] = { (char *)(uintptr_t)pattern };

	return l4_select_names(w->model.config, patterns, 1, w->arena);
}

static const char *pool_name(const struct world *w, size_t frontend, size_t pool)
{
	return pool == SIZE_MAX ? "-" : w->model.config->frontends[frontend].pools[pool].name;
}

/* "a up>paused, mail down only>- 1>0/1, +0": backends, frontends, and how many do not change */
static void assert_outcome(struct world *w, const struct l4_selection *s, enum l4_command c,
			   const char *expected)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct l4_outcome o;
	size_t refused;

	assert_int_equal(l4_foresee(&w->model, s, c, w->arena, &o, &refused), 0);
	for (size_t i = 0; i < s->n; i++)
		buf_printf(&text, "%s %s>%s, ", w->model.config->backends[s->backends[i]].name,
			   health_state_name(o.before[i]), health_state_name(o.after[i]));
	for (size_t i = 0; i < o.n; i++) {
		const struct l4_consequence *q = &o.items[i];

		buf_printf(&text, "%s %s %s>%s %zu>%zu/%zu, ",
			   w->model.config->frontends[q->frontend].name, l4_effect_name(q->effect),
			   pool_name(w, q->frontend, q->pool_before),
			   pool_name(w, q->frontend, q->pool_after), q->servers_before,
			   q->servers_after, q->members);
	}
	buf_printf(&text, "+%zu", o.unaffected);
	assert_string_equal(buf_cstr(&text), expected);
}

static void a_host_is_all_backends_with_its_address(void **state)
{
	struct world *w = *state;
	struct l4_selection s;
	struct addr at;

	assert_int_equal(addr_parse("10.0.0.1", &at), 0);
	s = l4_select_address(w->model.config, &at, w->arena);
	assert_outcome(w, &s, L4_PAUSE,
		       "a up>paused, a2 up>paused, mail down only>- 1>0/1, "
		       "www fewer primary>primary 2>1/2, +0");
	assert_int_equal(addr_parse("10.0.0.9", &at), 0);
	assert_int_equal(l4_select_address(w->model.config, &at, w->arena).n, 0);
}

static void patterns_select_by_name_and_each_backend_once(void **state)
{
	struct world *w = *state;
	char *patterns[] = { (char[]){ "a*" }, (char[]){ "a" }, (char[]){ "?" } };
	struct l4_selection s = l4_select_names(w->model.config, patterns, 3, w->arena);

	assert_int_equal(s.n, 5);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(s.backends[i], i);
	assert_int_equal(named(w, "x*").n, 0);
}

/* Backends that are harmless one by one may be all that a frontend has. */
static void the_sum_of_two_acts_is_foreseen(void **state)
{
	struct world *w = *state;
	struct l4_selection a = named(w, "a"), b = named(w, "b");
	const size_t both[] = { a.backends[0], b.backends[0] };

	assert_outcome(w, &a, L4_DISABLE, "a up>disabled, www fewer primary>primary 2>1/2, +0");
	assert_outcome(w, &b, L4_DISABLE,
		       "b up>disabled, tcp fewer only>only 2>1/2, "
		       "www fewer primary>primary 2>1/2, +0");
	assert_outcome(w, &(struct l4_selection){ both, 2 }, L4_DISABLE,
		       "a up>disabled, b up>disabled, www failover primary>backup 2>1/1, "
		       "tcp fewer only>only 2>1/2, +0");
}

static void what_was_no_server_is_not_missed(void **state)
{
	struct world *w = *state;
	struct l4_selection a = named(w, "a"), c = named(w, "c");

	backend(w, "a")->health.state = HEALTH_DOWN;
	assert_outcome(w, &a, L4_PAUSE, "a down>paused, +1");
	assert_outcome(w, &c, L4_PAUSE, "c up>paused, +1"); /* its pool is not active */
}

/* Only a static backend serves at once: others are probed first. */
static void a_static_backend_returns_at_once(void **state)
{
	struct world *w = *state;
	struct l4_selection s = named(w, "s"), b = named(w, "b");

	backend(w, "b")->health.state = HEALTH_PAUSED;
	backend(w, "s")->health.state = HEALTH_PAUSED;
	assert_outcome(w, &s, L4_RESUME, "s paused>up, tcp up ->only 0>1/2, +0");
	assert_outcome(w, &b, L4_RESUME, "b paused>unknown, +2");
	backend(w, "b")->health.state = HEALTH_UP;
	assert_outcome(w, &s, L4_RESUME, "s paused>up, tcp more only>only 1>2/2, +0");
}

static void one_that_is_refused_refuses_all(void **state)
{
	struct world *w = *state;
	struct l4_selection all = named(w, "*"), b = named(w, "b");
	struct l4_outcome o;
	size_t refused = 99;

	backend(w, "b")->health.state = HEALTH_DISABLED;
	assert_int_equal(l4_foresee(&w->model, &all, L4_PAUSE, w->arena, &o, &refused), -EPERM);
	assert_int_equal(refused, 2);
	assert_int_equal(l4_foresee(&w->model, &b, L4_RESUME, w->arena, &o, &refused), -EPERM);
	assert_outcome(w, &b, L4_ENABLE, "b disabled>unknown, +2");
}

static void nothing_is_changed_by_looking(void **state)
{
	struct world *w = *state;
	struct l4_selection all = named(w, "*");
	struct l4_outcome o;
	size_t refused;

	assert_int_equal(l4_foresee(&w->model, &all, L4_DISABLE, w->arena, &o, &refused), 0);
	assert_int_equal(o.n, 3);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(w->model.backends[i]->health.state, HEALTH_UP);
}

static void commands_have_names(void **state)
{
	enum l4_command c = L4_PAUSE;

	for (int i = L4_PAUSE; i <= L4_DISABLE; i++) {
		assert_true(l4_command_parse(l4_command_name((enum l4_command)i), &c));
		assert_int_equal(c, i);
	}
	assert_false(l4_command_parse("drain", &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_host_is_all_backends_with_its_address, build,
						tear_down),
		cmocka_unit_test_setup_teardown(patterns_select_by_name_and_each_backend_once,
						build, tear_down),
		cmocka_unit_test_setup_teardown(the_sum_of_two_acts_is_foreseen, build, tear_down),
		cmocka_unit_test_setup_teardown(what_was_no_server_is_not_missed, build, tear_down),
		cmocka_unit_test_setup_teardown(a_static_backend_returns_at_once, build, tear_down),
		cmocka_unit_test_setup_teardown(one_that_is_refused_refuses_all, build, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_changed_by_looking, build, tear_down),
		cmocka_unit_test(commands_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
