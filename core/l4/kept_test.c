/* SPDX-License-Identifier: Apache-2.0 */
/* One frontend with the pool primary: a 100, b 100; the file disables off. */
#include "core/l4/kept.h"

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
	struct l4_model model, next; /* next: after the restart */
	struct arena *arena;
};

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fixture *f = w->fixture = fixture_new();
	const struct l4_config *config;

	fixture_check(f, "tcp", 2, 3);
	fixture_backend(f, "a", "10.0.0.1", "tcp");
	fixture_backend(f, "b", "10.0.0.2", "tcp");
	fixture_backend(f, "off", "10.0.0.3", "tcp")->enabled = false;
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_pool(f, "primary");
	fixture_member(f, "a", 100);
	fixture_member(f, "b", 100);
	config = fixture_config(f);
	l4_model_init(&w->model, config, 1);
	l4_model_init(&w->next, config, 1000);
	w->arena = arena_new();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	l4_model_free(&w->next);
	fixture_free(w->fixture);
	arena_free(w->arena);
	free(w);
	return 0;
}

static struct l4_backend_state *of(const struct l4_model *m, const char *name)
{
	return m->backends[l4_config_backend(m->config, name)];
}

/* "act backend [frontend/pool=weight] at from until reason who; ..." */
static void assert_kept(struct world *w, const struct l4_model *m, const char *expected)
{
	const struct l4_kept_list list = l4_kept_list(m, w->arena);
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t i = 0; i < list.n; i++) {
		const struct l4_kept *k = &list.items[i];

		buf_printf(&text, "%s %s ", l4_kept_kind_name(k->kind), k->backend);
		if (k->kind == L4_KEPT_WEIGHT)
			buf_printf(&text, "%s/%s=%u ", k->frontend, k->pool, k->weight);
		buf_printf(&text, "%d %d %d %s", (int)k->at, (int)k->from, (int)k->until,
			   k->reason);
		who_print(k->who, &text);
		buf_adds(&text, "; ");
	}
	assert_string_equal(buf_cstr(&text), expected);
}

/* Gives everything that the first model keeps to the second, at the given time. */
static void restart(struct world *w, int64_t now)
{
	const struct l4_kept_list list = l4_kept_list(&w->model, w->arena);
	const char *why;

	for (size_t i = 0; i < list.n; i++)
		assert_int_equal(l4_kept_restore(&w->next, &list.items[i], now, &why), 0);
}

static void everything_that_operators_set_survives(void **state)
{
	static const char all[] =
		"paused a 10 0 5000 disk by alice; scheduled a 12 3000 4000 rack; "
		"disabled b 20 0 0 ; enabled off 30 0 0 ; paused off 31 0 0 ; "
		"weight b www/primary=7 40 0 0 slow by alice; ";
	struct world *w = *state;
	struct l4_model *m = &w->model;
	const struct who alice = { .name = "alice" };
	const struct l4_note disk = { "disk", 5000, &alice, 0 },
			     rack = { "rack", 4000, NULL, 3000 };
	const struct l4_note slow = { "slow", 0, &alice, 0 };
	struct health_change change;

	assert_kept(w, m, "");
	l4_backend_pause(of(m, "a"), 10, &change);
	l4_backend_annotate(of(m, "a"), L4_ACT_PAUSED, &disk);
	l4_backend_plan(of(m, "a"), &rack, 12);
	l4_backend_disable(m, of(m, "b"), 20, &change);
	l4_backend_enable(m, of(m, "off"), 30, &change);
	l4_backend_pause(of(m, "off"), 31, &change);
	l4_model_set_weight(m, "www", "primary", "b", 7);
	l4_weight_annotate(l4_model_weight(m, "www", "primary", "b"), &slow, 40);
	assert_kept(w, m, all);
	restart(w, 1000);
	assert_kept(w, &w->next, all);
	assert_int_equal(of(&w->next, "a")->health.state, HEALTH_PAUSED);
	assert_int_equal(of(&w->next, "b")->health.state, HEALTH_DISABLED);
	assert_int_equal(of(&w->next, "off")->health.state, HEALTH_PAUSED);
	assert_int_equal(of(&w->next, "a")->n_history, 0);
}

static void assert_refused(struct world *w, const struct l4_kept *k, int error)
{
	const char *why = NULL;

	assert_int_equal(l4_kept_restore(&w->next, k, 1000, &why), error);
	assert_non_null(why);
	assert_kept(w, &w->next, "");
}

static void what_no_longer_fits_is_refused(void **state)
{
	struct world *w = *state;
	struct l4_kept k = { .kind = L4_KEPT_PAUSED, .backend = "gone", .reason = "", .at = 10 };

	assert_refused(w, &k, -ENOENT);
	k.backend = "off";
	assert_refused(w, &k, -EPERM);
	k.backend = "a";
	k.until = 1000;
	assert_refused(w, &k, -ETIME);
	k = (struct l4_kept){ .kind = L4_KEPT_DISABLED, .backend = "off", .reason = "" };
	assert_refused(w, &k, -EALREADY);
	k = (struct l4_kept){ .kind = L4_KEPT_WEIGHT,
			      .backend = "a",
			      .reason = "",
			      .weight = 7,
			      .frontend = "www",
			      .pool = "second" };
	assert_refused(w, &k, -ENOENT);
	k.pool = "primary";
	k.weight = 100;
	assert_refused(w, &k, -EALREADY);
	k.weight = 101;
	assert_refused(w, &k, -ERANGE);
}

static void kinds_have_names(void **state)
{
	enum l4_kept_kind k = L4_KEPT_PAUSED;

	for (int i = L4_KEPT_DISABLED; i <= L4_KEPT_WEIGHT; i++) {
		assert_true(l4_kept_kind_parse(l4_kept_kind_name((enum l4_kept_kind)i), &k));
		assert_int_equal(k, i);
	}
	assert_false(l4_kept_kind_parse("resumed", &k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything_that_operators_set_survives, build,
						tear_down),
		cmocka_unit_test_setup_teardown(what_no_longer_fits_is_refused, build, tear_down),
		cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
