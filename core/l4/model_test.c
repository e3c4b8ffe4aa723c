/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world starts with backends a, b (probed, rise 2, fall 3) and s (static), all in pool
 * "primary" of frontend "www" with weight 100. A test that reloads builds the second
 * configuration in next, from the same beginning, and changes what it is about.
 */
#include "core/l4/model.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/fixture.h"

struct scene {
	struct fixture *fixture;
	struct l4_check *check;
	struct l4_backend *a, *b, *s;
	struct l4_frontend *www;
};

struct world {
	struct scene now, next;
	struct l4_model model;
	struct l4_reload reload;
};

static struct scene set_scene(void)
{
	struct scene s = { .fixture = fixture_new() };

	s.check = fixture_check(s.fixture, "web", 2, 3);
	s.a = fixture_backend(s.fixture, "a", "10.0.0.1", "web");
	s.b = fixture_backend(s.fixture, "b", "10.0.0.2", "web");
	s.s = fixture_backend(s.fixture, "s", "10.0.0.3", NULL);
	s.www = fixture_frontend(s.fixture, "www", "198.51.100.1", 80);
	fixture_pool(s.fixture, "primary");
	fixture_member(s.fixture, "a", 100);
	fixture_member(s.fixture, "b", 100);
	fixture_member(s.fixture, "s", 100);
	return s;
}

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));

	w->now = set_scene();
	w->next = set_scene();
	l4_model_init(&w->model, fixture_config(w->now.fixture), 1);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < w->reload.changes.n; i++)
		if (w->reload.changes.items[i].removed)
			l4_backend_state_free(w->reload.changes.items[i].backend);
	vec_free(&w->reload.changes);
	l4_model_free(&w->model);
	if (w->now.fixture)
		fixture_free(w->now.fixture);
	fixture_free(w->next.fixture);
	free(w);
	return 0;
}

static struct l4_backend_state *backend(struct world *w, const char *name)
{
	size_t i = l4_config_backend(w->model.config, name);

	return i == SIZE_MAX ? NULL : w->model.backends[i];
}

/* Feeds results, '+' and '-', and returns the state after them. */
static enum health_state feed(struct world *w, const char *name, const char *results)
{
	struct l4_backend_state *b = backend(w, name);
	struct health_change change;

	for (; *results; results++)
		if (l4_backend_record(&w->model, b, *results == '+' ? CODE_L4OK : CODE_L4CON, false,
				      2, &change))
			l4_backend_remember(b, &change, "");
	return b->health.state;
}

/* Reloads to next and frees the old configuration afterwards, as the contract allows. */
static void reload_to(struct world *w, struct l4_config *config)
{
	l4_model_reload(&w->model, config, 100, &w->reload);
	fixture_free(w->now.fixture);
	w->now.fixture = NULL;
}

static void reload(struct world *w)
{
	reload_to(w, fixture_config(w->next.fixture));
}

static unsigned weight_of(struct world *w, size_t pool, size_t member)
{
	return w->model.frontends[0].weights[pool][member].value;
}

/* ---- the start ---- */

static void everything_starts_unknown_with_the_weights_of_the_file(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(w->model.backends[i]->index, i);
		assert_int_equal(w->model.backends[i]->health.state, HEALTH_UNKNOWN);
		assert_int_equal(w->model.backends[i]->health.since, 1);
		assert_int_equal(w->model.backends[i]->n_history, 0);
		assert_int_equal(weight_of(w, 0, i), 100);
	}
	assert_int_equal(w->model.frontends[0].health, L4_FRONTEND_UNKNOWN);
	assert_false(w->model.frontends[0].released);
}

static void a_backend_that_the_file_disables_starts_disabled_without_a_transition(void **state)
{
	struct world *w = *state;

	fixture_backend(w->next.fixture, "off", "10.0.0.9", "web")->enabled = false;
	reload(w);
	assert_int_equal(w->reload.changes.n, 1);
	assert_true(w->reload.changes.items[0].added);
	assert_false(w->reload.changes.items[0].has_transition);
	assert_int_equal(backend(w, "off")->health.state, HEALTH_DISABLED);
	assert_int_equal(backend(w, "off")->enable, L4_ENABLE_CONFIGURED);
}

/* FR-1.7: one synthetic pass, and pause and disable are honoured */
static void a_static_backend_is_up_by_one_pass_and_can_be_paused(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *s = backend(w, "s");
	struct health_change change;

	assert_true(l4_backend_record(&w->model, s, CODE_STATIC, false, 2, &change));
	assert_int_equal(s->health.state, HEALTH_UP);
	assert_int_equal(change.why, CODE_STATIC);
	assert_int_equal(l4_backend_pause(s, 3, &change), 1);
	assert_int_equal(l4_backend_disable(&w->model, s, 4, &change), 1);
	assert_int_equal(l4_backend_enable(&w->model, s, 5, &change), 1);
	assert_true(l4_backend_record(&w->model, s, CODE_STATIC, false, 6, &change));
}

static void a_result_is_kept_unless_the_operator_took_over(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");
	struct health_change change;

	l4_backend_record(&w->model, a, CODE_SOCKERR, true, 2, &change);
	assert_int_equal(a->last_code, CODE_SOCKERR);
	assert_true(a->last_local);
	l4_backend_pause(a, 3, &change);
	assert_false(l4_backend_record(&w->model, a, CODE_L4OK, false, 4, &change));
	assert_int_equal(a->last_code, CODE_SOCKERR);
	assert_true(a->last_local);
}

/* ---- the operator ---- */

/* FR-3.1 */
static void pause_and_resume_happen_once(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");
	struct health_change change;

	feed(w, "a", "+");
	assert_int_equal(l4_backend_resume(a, 3, &change), 0);
	assert_int_equal(l4_backend_pause(a, 3, &change), 1);
	assert_int_equal(change.why, CODE_PAUSED);
	assert_int_equal(l4_backend_pause(a, 4, &change), 0);
	assert_int_equal(a->health.since, 3);
	assert_int_equal(l4_backend_resume(a, 5, &change), 1);
	assert_int_equal(change.why, CODE_RESUMED);
	assert_int_equal(a->health.state, HEALTH_UNKNOWN);
}

/* a disabled backend cannot be paused */
static void pause_and_resume_of_a_disabled_backend_are_refused(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");
	struct health_change change;

	l4_backend_disable(&w->model, a, 3, &change);
	assert_int_equal(l4_backend_pause(a, 4, &change), -EPERM);
	assert_int_equal(l4_backend_resume(a, 4, &change), -EPERM);
	assert_int_equal(a->health.state, HEALTH_DISABLED);
	assert_int_equal(a->health.since, 3);
}

/* FR-3.2: idempotent, decided by the state */
static void enable_and_disable_happen_once(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");
	struct health_change change;

	assert_int_equal(l4_backend_enable(&w->model, a, 3, &change), 0);
	assert_int_equal(a->enable, L4_ENABLE_CONFIGURED);
	assert_int_equal(l4_backend_disable(&w->model, a, 3, &change), 1);
	assert_int_equal(change.why, CODE_DISABLED);
	assert_int_equal(a->enable, L4_ENABLE_FORCED_OFF);
	assert_int_equal(l4_backend_disable(&w->model, a, 4, &change), 0);
	assert_int_equal(l4_backend_enable(&w->model, a, 5, &change), 1);
	assert_int_equal(change.why, CODE_ENABLED);
	assert_int_equal(a->enable, L4_ENABLE_CONFIGURED);
	assert_int_equal(a->health.state, HEALTH_UNKNOWN);
}

/* FR-3.3 */
static void a_weight_can_be_set_within_its_range(void **state)
{
	struct world *w = *state;

	assert_int_equal(l4_model_set_weight(&w->model, "www", "primary", "b", 7), 0);
	assert_int_equal(weight_of(w, 0, 1), 7);
	assert_true(w->model.frontends[0].weights[0][1].mutated);
	assert_int_equal(l4_model_set_weight(&w->model, "www", "primary", "b", 101), -ERANGE);
	assert_int_equal(weight_of(w, 0, 1), 7);
	assert_int_equal(l4_model_set_weight(&w->model, "nope", "primary", "b", 1), -ENOENT);
	assert_int_equal(l4_model_set_weight(&w->model, "www", "nope", "b", 1), -ENOENT);
	assert_int_equal(l4_model_set_weight(&w->model, "www", "primary", "nope", 1), -ENOENT);
}

/* a weight that equals the file's is not a mutation any more */
static void setting_what_the_file_says_ends_the_mutation(void **state)
{
	struct world *w = *state;

	l4_model_set_weight(&w->model, "www", "primary", "b", 7);
	assert_int_equal(l4_model_set_weight(&w->model, "www", "primary", "b", 100), 0);
	assert_false(w->model.frontends[0].weights[0][1].mutated);
}

/* ---- reload ---- */

/* FR-5.3 */
static void the_same_configuration_again_is_nothing_to_do(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");

	feed(w, "a", "++-");
	reload(w);
	assert_int_equal(w->reload.changes.n, 0);
	assert_ptr_equal(backend(w, "a"), a);
	assert_int_equal(a->health.state, HEALTH_UP);
	assert_int_equal(a->health.counter, 2);
	assert_int_equal(a->health.since, 2);
}

/* changing a check that many backends share moves no weight */
static void a_changed_check_restarts_probes_but_moves_no_state(void **state)
{
	struct world *w = *state;

	feed(w, "a", "+");
	feed(w, "b", "--+");
	w->next.check->rule = (struct health_rule){ 5, 4 };
	reload(w);
	assert_int_equal(w->reload.changes.n, 2); /* not the static one */
	for (size_t i = 0; i < 2; i++) {
		assert_true(w->reload.changes.items[i].probe_changed);
		assert_false(w->reload.changes.items[i].has_transition);
	}
	assert_int_equal(backend(w, "a")->health.state, HEALTH_UP);
	assert_int_equal(backend(w, "a")->health.counter, 8);
	assert_int_equal(backend(w, "b")->health.state, HEALTH_DOWN);
	assert_int_equal(backend(w, "b")->health.counter, 0);
	assert_int_equal(feed(w, "a", "---"), HEALTH_UP);
	assert_int_equal(feed(w, "a", "-"), HEALTH_DOWN);
}

static void an_unknown_backend_stays_unknown_under_a_changed_check(void **state)
{
	struct world *w = *state;

	w->next.check->timeout = 5;
	reload(w);
	assert_int_equal(backend(w, "a")->health.state, HEALTH_UNKNOWN);
	assert_int_equal(feed(w, "a", "-"), HEALTH_DOWN);
}

static void a_check_under_another_name_is_the_same_check(void **state)
{
	struct world *w = *state;
	struct fixture *f = fixture_new();

	fixture_check(f, "renamed", 2, 3);
	fixture_backend(f, "a", "10.0.0.1", "renamed");
	fixture_backend(f, "b", "10.0.0.2", "renamed");
	fixture_backend(f, "s", "10.0.0.3", NULL);
	fixture_free(w->next.fixture);
	w->next.fixture = f;
	reload(w);
	assert_int_equal(w->reload.changes.n, 0);
}

static void another_namespace_restarts_every_probe(void **state)
{
	struct world *w = *state;
	struct l4_config *c = fixture_config(w->next.fixture);

	c->netns = "blue";
	reload_to(w, c);
	assert_int_equal(w->reload.changes.n, 2);
	assert_true(w->reload.changes.items[0].probe_changed);
}

/* the new address must be visible after a reload */
static void a_new_address_is_told_and_the_state_stays(void **state)
{
	struct world *w = *state;
	char text[ADDR_STRLEN];

	feed(w, "b", "+");
	assert_int_equal(addr_parse("10.9.9.9", &w->next.b->address), 0);
	reload(w);
	assert_int_equal(w->reload.changes.n, 1);
	assert_ptr_equal(w->reload.changes.items[0].backend, backend(w, "b"));
	assert_true(w->reload.changes.items[0].address_changed);
	assert_false(w->reload.changes.items[0].probe_changed);
	assert_int_equal(backend(w, "b")->health.state, HEALTH_UP);
	assert_string_equal(addr_format(&l4_backend_config(&w->model, backend(w, "b"))->address,
					text),
			    "10.9.9.9");
}

/*
 * Becoming static is reported as a change of the probe; the engine then feeds the synthetic pass.
 */
static void a_backend_may_become_static_and_probed_again(void **state)
{
	struct world *w = *state;
	struct fixture *f = fixture_new();

	feed(w, "a", "-");
	feed(w, "b", "++");
	fixture_check(f, "web", 2, 3);
	fixture_backend(f, "a", "10.0.0.1", NULL);
	fixture_backend(f, "b", "10.0.0.2", NULL);
	fixture_backend(f, "s", "10.0.0.3", "web");
	feed(w, "s", "+");
	fixture_free(w->next.fixture);
	w->next.fixture = f;
	reload(w);
	assert_int_equal(w->reload.changes.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(w->reload.changes.items[i].probe_changed);
		assert_false(w->reload.changes.items[i].has_transition);
	}
	assert_int_equal(feed(w, "a", "+"), HEALTH_UP);
	assert_int_equal(backend(w, "b")->health.counter, 1); /* full for a static one */
	assert_int_equal(backend(w, "s")->health.state, HEALTH_UP);
	assert_int_equal(backend(w, "s")->health.counter, 4);
}

/* removed is the last transition; a backend that is added again is new */
static void a_removed_backend_says_so_and_comes_back_fresh(void **state)
{
	struct world *w = *state;
	struct fixture *without = fixture_new();
	struct l4_reload second;
	struct l4_backend_state *gone;

	feed(w, "a", "+");
	feed(w, "b", "+");
	gone = backend(w, "a");
	fixture_check(without, "web", 2, 3);
	fixture_backend(without, "b", "10.0.0.2", "web");
	l4_model_reload(&w->model, fixture_config(without), 50, &w->reload);
	assert_int_equal(w->reload.changes.n, 2); /* a, s */
	assert_ptr_equal(w->reload.changes.items[0].backend, gone);
	assert_true(w->reload.changes.items[0].removed);
	assert_true(w->reload.changes.items[0].has_transition);
	assert_int_equal(w->reload.changes.items[0].transition.from, HEALTH_UP);
	assert_int_equal(w->reload.changes.items[0].transition.to, HEALTH_REMOVED);
	assert_int_equal(w->reload.changes.items[0].transition.why, CODE_REMOVED);
	assert_int_equal(w->reload.changes.items[0].transition.at, 50);
	assert_int_equal(gone->index, SIZE_MAX);
	assert_string_equal(gone->name, "a");
	assert_int_equal(backend(w, "b")->index, 0);

	l4_model_reload(&w->model, fixture_config(w->next.fixture), 60, &second);
	fixture_free(without);
	assert_true(second.changes.items[0].added);
	vec_free(&second.changes);
	assert_int_equal(backend(w, "a")->health.state, HEALTH_UNKNOWN);
	assert_int_equal(backend(w, "a")->n_history, 0);
	assert_int_equal(backend(w, "b")->health.state, HEALTH_UP);
}

/* `enabled` of the file is applied in place */
static void the_file_disables_and_enables(void **state)
{
	struct world *w = *state;
	struct scene third = set_scene();
	struct l4_reload second;

	feed(w, "a", "+");
	w->next.a->enabled = false;
	reload(w);
	assert_int_equal(w->reload.changes.n, 1);
	assert_false(w->reload.changes.items[0].probe_changed);
	assert_int_equal(w->reload.changes.items[0].transition.to, HEALTH_DISABLED);
	assert_int_equal(w->reload.changes.items[0].transition.why, CODE_RELOADED);
	l4_model_reload(&w->model, fixture_config(third.fixture), 101, &second);
	assert_int_equal(second.changes.items[0].transition.to, HEALTH_UNKNOWN);
	vec_free(&second.changes);
	fixture_free(w->next.fixture);
	w->next = third;
}

/* FR-3.4: a reload keeps what was enabled or disabled at run time */
static void what_the_operator_disabled_stays_so_whatever_the_file_says(void **state)
{
	struct world *w = *state;
	struct health_change change;

	l4_backend_disable(&w->model, backend(w, "a"), 3, &change);
	w->next.check->timeout = 5; /* also if the check changes */
	reload(w);
	assert_int_equal(w->reload.changes.items[0].has_transition, false);
	assert_int_equal(backend(w, "a")->health.state, HEALTH_DISABLED);
	assert_int_equal(l4_backend_enable(&w->model, backend(w, "a"), 200, &change), 1);
}

/* FR-3.4 */
static void what_the_operator_enabled_stays_so_while_the_file_says_no(void **state)
{
	struct world *w = *state;
	struct scene third = set_scene();
	struct health_change change;
	struct l4_reload second;

	w->next.a->enabled = third.a->enabled = false;
	reload(w);
	assert_int_equal(l4_backend_enable(&w->model, backend(w, "a"), 101, &change), 1);
	assert_int_equal(backend(w, "a")->enable, L4_ENABLE_FORCED_ON);
	feed(w, "a", "+");
	l4_model_reload(&w->model, fixture_config(third.fixture), 102, &second);
	assert_int_equal(second.changes.n, 0);
	assert_int_equal(backend(w, "a")->health.state, HEALTH_UP);
	fixture_free(w->next.fixture);
	w->next = third;
}

/* FR-3.4 */
static void a_pause_survives_and_its_counter_stays_in_range(void **state)
{
	struct world *w = *state;
	struct health_change change;

	feed(w, "a", "++++");
	l4_backend_pause(backend(w, "a"), 3, &change);
	w->next.check->rule = (struct health_rule){ 1, 1 };
	reload(w);
	assert_int_equal(backend(w, "a")->health.state, HEALTH_PAUSED);
	assert_int_equal(backend(w, "a")->health.since, 3);
	assert_int_equal(backend(w, "a")->health.counter, 1);
}

/* FR-3.4: matched by the names of frontend, pool and backend, at any position in the file */
static void a_mutated_weight_follows_its_tuple(void **state)
{
	struct world *w = *state;
	struct fixture *f = fixture_new();

	l4_model_set_weight(&w->model, "www", "primary", "b", 7);
	l4_model_set_weight(&w->model, "www", "primary", "s", 8);
	fixture_backend(f, "0new", "10.0.0.7", NULL);
	fixture_backend(f, "b", "10.0.0.2", NULL);
	fixture_backend(f, "s", "10.0.0.3", NULL);
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_pool(f, "first");
	fixture_member(f, "s", 50);
	fixture_pool(f, "primary");
	fixture_member(f, "0new", 60);
	fixture_member(f, "b", 90); /* changed in the file as well: the operator's value wins */
	fixture_member(f, "s", 8);  /* the file says it now: the mutation ends */
	fixture_free(w->next.fixture);
	w->next.fixture = f;
	reload(w);
	assert_int_equal(weight_of(w, 0, 0), 50);
	assert_int_equal(weight_of(w, 1, 0), 60);
	assert_int_equal(weight_of(w, 1, 1), 7);
	assert_true(w->model.frontends[0].weights[1][1].mutated);
	assert_int_equal(weight_of(w, 1, 2), 8);
	assert_false(w->model.frontends[0].weights[1][2].mutated);
}

/* FR-3.4: only as long as the tuple exists */
static void a_mutated_weight_dies_with_its_tuple(void **state)
{
	struct world *w = *state;
	struct fixture *f = fixture_new();
	struct scene third = set_scene();
	struct l4_reload second;

	l4_model_set_weight(&w->model, "www", "primary", "b", 7);
	fixture_check(f, "web", 2, 3);
	fixture_backend(f, "a", "10.0.0.1", "web");
	fixture_backend(f, "b", "10.0.0.2", "web");
	fixture_backend(f, "s", "10.0.0.3", NULL);
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_free(w->next.fixture);
	w->next.fixture = f;
	reload(w);
	assert_null(w->model.frontends[0].weights);
	l4_model_reload(&w->model, fixture_config(third.fixture), 101, &second);
	assert_int_equal(weight_of(w, 0, 1), 100);
	fixture_free(w->next.fixture);
	w->next = third;
}

static void a_changed_weight_of_the_file_applies_where_nobody_touched_it(void **state)
{
	struct world *w = *state;
	struct fixture *f = fixture_new();

	fixture_backend(f, "a", "10.0.0.1", NULL);
	fixture_frontend(f, "www", "198.51.100.1", 80);
	fixture_pool(f, "primary");
	fixture_member(f, "a", 33);
	fixture_free(w->next.fixture);
	w->next.fixture = f;
	reload(w);
	assert_int_equal(weight_of(w, 0, 0), 33);
	assert_false(w->model.frontends[0].weights[0][0].mutated);
}

static void a_frontend_keeps_its_state_by_name(void **state)
{
	struct world *w = *state;
	enum l4_frontend_health from;

	feed(w, "a", "+");
	assert_true(l4_model_judge_frontend(&w->model, 0, 7, &from));
	w->model.frontends[0].released = true;
	fixture_frontend(w->next.fixture, "another", "198.51.100.9", 80);
	reload(w);
	assert_int_equal(w->model.frontends[0].health, L4_FRONTEND_UNKNOWN);
	assert_int_equal(w->model.frontends[0].since, 100);
	assert_int_equal(w->model.frontends[1].health, L4_FRONTEND_UP);
	assert_int_equal(w->model.frontends[1].since, 7);
	assert_true(w->model.frontends[1].released);
}

static void another_vip_under_the_same_name_is_not_released(void **state)
{
	struct world *w = *state;

	w->model.frontends[0].released = true;
	w->next.www->port = 443;
	reload(w);
	assert_false(w->model.frontends[0].released);
}

static void changes_come_in_the_order_of_names(void **state)
{
	struct world *w = *state;
	struct fixture *f = fixture_new();

	fixture_backend(f, "zz", "10.0.0.8", NULL);
	fixture_backend(f, "b", "10.9.0.2", NULL);
	fixture_backend(f, "aa", "10.0.0.9", NULL);
	fixture_free(w->next.fixture);
	w->next.fixture = f;
	reload(w);
	assert_int_equal(w->reload.changes.n, 5);
	for (size_t i = 1; i < 5; i++)
		assert_true(strcmp(w->reload.changes.items[i - 1].backend->name,
				   w->reload.changes.items[i].backend->name) < 0);
}

static void ten_thousand_backends_reload(void **state)
{
	enum { MANY = 10000 };
	_cleanup_(fixture_freep) struct fixture *before = fixture_new(), *after = fixture_new();
	struct fixture *const f[] = { before, after };
	struct l4_reload r;
	struct l4_model m;

	for (unsigned i = 0; i < 2; i++) {
		fixture_frontend(f[i], "www", "198.51.100.1", 80);
		fixture_pool(f[i], "all");
		for (unsigned n = i; n < MANY + i; n++) {
			char name[32], addr[32];

			snprintf(name, sizeof(name), "web%u", n);
			snprintf(addr, sizeof(addr), "10.0.%u.%u", n / 256, n % 256);
			fixture_backend(f[i], name, addr, NULL);
			fixture_member(f[i], name, 100);
		}
	}
	l4_model_init(&m, fixture_config(f[0]), 1);
	assert_int_equal(l4_model_set_weight(&m, "www", "all", "web7777", 1), 0);
	l4_model_reload(&m, fixture_config(f[1]), 2, &r);
	assert_int_equal(r.changes.n, 2);
	l4_backend_state_free(r.changes.items[0].backend);
	vec_free(&r.changes);
	assert_int_equal(m.frontends[0].weights[0][l4_config_backend(m.config, "web7777")].value,
			 1);
	l4_model_free(&m);
}

/* ---- history and frontends ---- */

/* A change at that time, whose reason says so. */
static void remember(struct l4_backend_state *b, int64_t at)
{
	char reason[24];

	snprintf(reason, sizeof(reason), "at %" PRId64, at);
	l4_backend_remember(b, &(struct health_change){ .at = at }, reason);
}

/* NFR-3.2 */
static void history_keeps_the_newest_within_its_bound(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");

	for (int64_t at = 1; at <= 7; at++)
		remember(a, at);
	assert_int_equal(a->n_history, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(a->history[i].change.at, 3 + i);
	assert_string_equal(a->history[0].reason, "at 3");
	l4_backend_remember(a, &(struct health_change){ .at = 8 }, "");
	assert_null(a->history[4].reason);
}

static void a_smaller_bound_trims_history_and_a_larger_one_lets_it_grow(void **state)
{
	struct world *w = *state;
	struct l4_backend_state *a = backend(w, "a");
	struct l4_config *c = fixture_config(w->next.fixture);

	for (int64_t at = 1; at <= 5; at++)
		remember(a, at);
	c->transition_history = 2;
	reload_to(w, c);
	assert_int_equal(a->n_history, 2);
	assert_int_equal(a->history[0].change.at, 4);
	assert_int_equal(a->history[1].change.at, 5);
	assert_string_equal(a->history[1].reason, "at 5");
	a->history_cap = 3;
	for (int64_t at = 6; at <= 7; at++)
		remember(a, at);
	assert_int_equal(a->n_history, 3);
	assert_int_equal(a->history[0].change.at, 5);
}

/* FR-2.4 */
static void a_frontend_changes_once_and_says_from_what(void **state)
{
	struct world *w = *state;
	enum l4_frontend_health from;

	assert_false(l4_model_judge_frontend(&w->model, 0, 5, &from));
	feed(w, "a", "-");
	assert_true(l4_model_judge_frontend(&w->model, 0, 6, &from));
	assert_int_equal(from, L4_FRONTEND_UNKNOWN);
	assert_int_equal(w->model.frontends[0].health, L4_FRONTEND_DOWN);
	assert_false(l4_model_judge_frontend(&w->model, 0, 7, &from));
	assert_int_equal(w->model.frontends[0].since, 6);
	feed(w, "b", "+");
	assert_true(l4_model_judge_frontend(&w->model, 0, 8, &from));
	assert_int_equal(from, L4_FRONTEND_DOWN);
	assert_string_equal(l4_frontend_health_name(w->model.frontends[0].health), "up");
}

#define story(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		story(everything_starts_unknown_with_the_weights_of_the_file),
		story(a_backend_that_the_file_disables_starts_disabled_without_a_transition),
		story(a_static_backend_is_up_by_one_pass_and_can_be_paused),
		story(a_result_is_kept_unless_the_operator_took_over),
		story(pause_and_resume_happen_once),
		story(pause_and_resume_of_a_disabled_backend_are_refused),
		story(enable_and_disable_happen_once),
		story(a_weight_can_be_set_within_its_range),
		story(setting_what_the_file_says_ends_the_mutation),
		story(the_same_configuration_again_is_nothing_to_do),
		story(a_changed_check_restarts_probes_but_moves_no_state),
		story(an_unknown_backend_stays_unknown_under_a_changed_check),
		story(a_check_under_another_name_is_the_same_check),
		story(another_namespace_restarts_every_probe),
		story(a_new_address_is_told_and_the_state_stays),
		story(a_backend_may_become_static_and_probed_again),
		story(a_removed_backend_says_so_and_comes_back_fresh),
		story(the_file_disables_and_enables),
		story(what_the_operator_disabled_stays_so_whatever_the_file_says),
		story(what_the_operator_enabled_stays_so_while_the_file_says_no),
		story(a_pause_survives_and_its_counter_stays_in_range),
		story(a_mutated_weight_follows_its_tuple),
		story(a_mutated_weight_dies_with_its_tuple),
		story(a_changed_weight_of_the_file_applies_where_nobody_touched_it),
		story(a_frontend_keeps_its_state_by_name),
		story(another_vip_under_the_same_name_is_not_released),
		story(changes_come_in_the_order_of_names),
		cmocka_unit_test(ten_thousand_backends_reload),
		story(history_keeps_the_newest_within_its_bound),
		story(a_smaller_bound_trims_history_and_a_larger_one_lets_it_grow),
		story(a_frontend_changes_once_and_says_from_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
