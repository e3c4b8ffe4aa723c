/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two backends, on (enabled in the file) and off (disabled in the file); next is the
 * same file again.
 */
#include "core/l4/override.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "core/l4/fixture.h"

struct world {
	struct fixture *fixtures[2];
	struct l4_config *now, *next;
	struct l4_model model;
	struct l4_backend_state *off, *on;
	struct health_change change;
};

static struct l4_config *file(struct fixture **ret)
{
	struct fixture *f = *ret = fixture_new();

	fixture_check(f, "web", 2, 3);
	fixture_backend(f, "off", "10.0.0.1", "web")->enabled = false;
	fixture_backend(f, "on", "10.0.0.2", "web");
	return fixture_config(f);
}

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));

	w->now = file(&w->fixtures[0]);
	w->next = file(&w->fixtures[1]);
	l4_model_init(&w->model, w->now, 1);
	w->off = w->model.backends[0];
	w->on = w->model.backends[1];
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixtures[0]);
	fixture_free(w->fixtures[1]);
	free(w);
	return 0;
}

static void reload(struct world *w)
{
	struct l4_reload changes;

	l4_model_reload(&w->model, w->next, 100, &changes);
	vec_free(&changes.changes);
}

/* "act at until reason", or "none" */
static void assert_override(const struct l4_backend_state *b, const char *wanted)
{
	const struct l4_override *o;
	struct buf text = { 0 };
	enum l4_act act;

	if (l4_backend_override(b, &act, &o))
		buf_printf(&text, "%s %lld %lld %s", l4_act_name(act), (long long)o->at,
			   (long long)o->until, o->reason ? o->reason : "");
	else
		buf_adds(&text, "none");
	assert_string_equal(buf_cstr(&text), wanted);
	buf_free(&text);
}

static void without_an_act_the_file_is_in_charge(void **state)
{
	struct world *w = *state;

	assert_override(w->on, "none");
	assert_override(w->off, "none");
	l4_backend_annotate(w->on, L4_ACT_PAUSED, &(struct l4_note){ .reason = "why", .until = 5 });
	l4_backend_annotate(w->off, L4_ACT_DISABLED,
			    &(struct l4_note){ .reason = "why", .until = 5 });
	assert_override(w->on, "none");
	assert_override(w->off, "none");
	assert_int_equal(l4_model_next_expiry(&w->model), INT64_MAX);
}

static void an_act_that_says_what_the_file_says_is_no_override(void **state)
{
	struct world *w = *state;

	l4_backend_disable(&w->model, w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_DISABLED,
			    &(struct l4_note){ .reason = "kernel", .until = 0 });
	l4_backend_enable(&w->model, w->on, 3, &w->change);
	l4_backend_annotate(w->on, L4_ACT_ENABLED,
			    &(struct l4_note){ .reason = "done", .until = 9 });
	assert_override(w->on, "none");
}

static void a_reason_stays_with_its_act_until_that_is_over(void **state)
{
	struct world *w = *state;

	l4_backend_pause(w->on, 2, &w->change);
	assert_override(w->on, "paused 2 0 ");
	l4_backend_annotate(w->on, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 50 });
	assert_override(w->on, "paused 2 50 kernel");
	l4_backend_annotate(w->on, L4_ACT_ENABLED,
			    &(struct l4_note){ .reason = "another act", .until = 60 });
	assert_override(w->on, "paused 2 50 kernel");
	l4_backend_resume(w->on, 3, &w->change);
	assert_override(w->on, "none");
	l4_backend_pause(w->on, 4, &w->change);
	assert_override(w->on, "paused 4 0 ");
}

static void the_last_word_counts(void **state)
{
	struct world *w = *state;

	l4_backend_disable(&w->model, w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_DISABLED,
			    &(struct l4_note){ .reason = "a long reason", .until = 50 });
	assert_int_equal(l4_backend_disable(&w->model, w->on, 3, &w->change), 0);
	l4_backend_annotate(w->on, L4_ACT_DISABLED,
			    &(struct l4_note){ .reason = "disk", .until = 0 });
	assert_override(w->on, "disabled 2 0 disk");
	assert_int_equal(l4_model_next_expiry(&w->model), INT64_MAX);
}

static void disabling_ends_a_pause_and_what_was_said_about_it(void **state)
{
	struct world *w = *state;

	l4_backend_pause(w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 50 });
	l4_backend_disable(&w->model, w->on, 3, &w->change);
	assert_override(w->on, "disabled 3 0 ");
	assert_int_equal(l4_model_next_expiry(&w->model), INT64_MAX);
}

static void a_pause_covers_an_enabling_and_uncovers_it(void **state)
{
	struct world *w = *state;

	l4_backend_enable(&w->model, w->off, 2, &w->change);
	l4_backend_annotate(w->off, L4_ACT_ENABLED,
			    &(struct l4_note){ .reason = "needed today", .until = 90 });
	l4_backend_pause(w->off, 3, &w->change);
	l4_backend_annotate(w->off, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 50 });
	assert_override(w->off, "paused 3 50 kernel");
	assert_int_equal(l4_model_next_expiry(&w->model), 50);
	l4_backend_resume(w->off, 4, &w->change);
	assert_override(w->off, "enabled 2 90 needed today");
	assert_int_equal(l4_model_next_expiry(&w->model), 90);
}

/* FR-3.4 */
static void overrides_survive_a_reload_with_their_words(void **state)
{
	struct world *w = *state;

	l4_backend_pause(w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 150 });
	l4_backend_enable(&w->model, w->off, 2, &w->change);
	l4_backend_annotate(w->off, L4_ACT_ENABLED,
			    &(struct l4_note){ .reason = "needed", .until = 0 });
	reload(w);
	assert_override(w->on, "paused 2 150 kernel");
	assert_override(w->off, "enabled 2 0 needed");
	assert_int_equal(l4_model_next_expiry(&w->model), 150);
}

static void a_file_that_disables_ends_a_pause(void **state)
{
	struct world *w = *state;

	l4_backend_pause(w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 150 });
	fixture_free(w->fixtures[1]);
	w->fixtures[1] = fixture_new();
	fixture_backend(w->fixtures[1], "off", "10.0.0.1", NULL);
	fixture_backend(w->fixtures[1], "on", "10.0.0.2", NULL)->enabled = false;
	w->next = fixture_config(w->fixtures[1]);
	reload(w);
	assert_override(w->on, "none");
	assert_int_equal(l4_model_next_expiry(&w->model), INT64_MAX);
}

static void a_pause_ends_by_itself(void **state)
{
	struct world *w = *state;

	l4_backend_pause(w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 50 });
	assert_null(l4_model_expired(&w->model, 49));
	assert_ptr_equal(l4_model_expired(&w->model, 50), w->on);
	assert_int_equal(l4_backend_expire(&w->model, w->on, 50, &w->change), 1);
	assert_int_equal(w->change.to, HEALTH_UNKNOWN);
	assert_int_equal(w->change.why, CODE_RESUMED);
	assert_override(w->on, "none");
	assert_null(l4_model_expired(&w->model, 50));
}

static void what_was_forced_ends_by_itself_and_the_file_is_in_charge(void **state)
{
	struct world *w = *state;

	l4_backend_disable(&w->model, w->on, 2, &w->change);
	l4_backend_annotate(w->on, L4_ACT_DISABLED, &(struct l4_note){ .reason = "", .until = 50 });
	l4_backend_enable(&w->model, w->off, 2, &w->change);
	l4_backend_annotate(w->off, L4_ACT_ENABLED, &(struct l4_note){ .reason = "", .until = 40 });
	assert_int_equal(l4_model_next_expiry(&w->model), 40);
	assert_ptr_equal(l4_model_expired(&w->model, 60), w->off);
	assert_int_equal(l4_backend_expire(&w->model, w->off, 60, &w->change), 1);
	assert_int_equal(w->off->health.state, HEALTH_DISABLED);
	assert_int_equal(w->off->enable, L4_ENABLE_CONFIGURED);
	assert_ptr_equal(l4_model_expired(&w->model, 60), w->on);
	assert_int_equal(l4_backend_expire(&w->model, w->on, 60, &w->change), 1);
	assert_int_equal(w->on->health.state, HEALTH_UNKNOWN);
	assert_int_equal(w->change.why, CODE_ENABLED);
	assert_null(l4_model_expired(&w->model, 60));
}

static void an_end_that_changes_nothing_is_no_transition(void **state)
{
	struct world *w = *state;

	l4_backend_enable(&w->model, w->off, 2, &w->change);
	l4_backend_annotate(w->off, L4_ACT_ENABLED,
			    &(struct l4_note){ .reason = "", .until = 150 });
	((struct l4_backend *)(uintptr_t)&w->next->backends[0])->enabled = true;
	reload(w);
	assert_int_equal(l4_backend_expire(&w->model, w->off, 149, &w->change), 0);
	assert_int_equal(w->off->enable, L4_ENABLE_FORCED_ON);
	assert_int_equal(l4_backend_expire(&w->model, w->off, 150, &w->change), 0);
	assert_int_equal(w->off->enable, L4_ENABLE_CONFIGURED);
	assert_null(l4_model_expired(&w->model, 150));
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	struct world *w = *state;
	char reason[200];

	memset(reason, 'x', sizeof(reason));
	memcpy(reason + 125, "\xe2\x82\xac", 4);
	l4_backend_note_probe(w->on, reason, 7, 8);
	assert_int_equal(strlen(w->on->last_reason), 125);
	memcpy(reason + 124, "\xe2\x82\xac", 4);
	l4_backend_note_probe(w->on, reason, 7, 8);
	assert_int_equal(strlen(w->on->last_reason), 127);
	l4_backend_note_probe(w->on, "\xe2\x82", 7, 8);
	assert_string_equal(w->on->last_reason, "\xe2\x82");
	assert_int_equal(w->on->last_probe, 7);
	assert_int_equal(w->on->last_duration, 8);
}

static void a_probe_that_ends_after_the_operator_took_over_is_not_noted(void **state)
{
	struct world *w = *state;

	l4_backend_note_probe(w->on, "refused", 7, 8);
	l4_backend_pause(w->on, 8, &w->change);
	l4_backend_note_probe(w->on, "late", 9, 1);
	assert_string_equal(w->on->last_reason, "refused");
	assert_int_equal(w->on->last_probe, 7);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(without_an_act_the_file_is_in_charge),
		STORY(an_act_that_says_what_the_file_says_is_no_override),
		STORY(a_reason_stays_with_its_act_until_that_is_over),
		STORY(the_last_word_counts),
		STORY(disabling_ends_a_pause_and_what_was_said_about_it),
		STORY(a_pause_covers_an_enabling_and_uncovers_it),
		STORY(overrides_survive_a_reload_with_their_words),
		STORY(a_file_that_disables_ends_a_pause),
		STORY(a_pause_ends_by_itself),
		STORY(what_was_forced_ends_by_itself_and_the_file_is_in_charge),
		STORY(an_end_that_changes_nothing_is_no_transition),
		STORY(a_long_reason_is_cut_between_characters),
		STORY(a_probe_that_ends_after_the_operator_took_over_is_not_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
