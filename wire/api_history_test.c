/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/fixture.h"
#include "wire/api.h"

/* One frontend and one backend, with steps 100 to 129: latency 1 ms, and down from 110 to 119. */
struct world {
	struct fixture *fixture;
	struct l4_history history;
	struct arena *arena;
	struct wire_history from;
	size_t zero;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->fixture = fixture_new();
	fixture_backend(w->fixture, "web1", "10.0.0.1", NULL);
	fixture_frontend(w->fixture, "www", "192.0.2.1", 80);
	l4_history_reload(&w->history, fixture_config(w->fixture));
	for (int64_t step = 100; step < 130; step++) {
		bool down = step / 10 == 11;

		if (!down)
			l4_history_note_probe(&w->history, 0, 1 << 20);
		l4_history_put_frontend(&w->history, 0, step);
		l4_history_put_backend(&w->history, 0, step, down ? HEALTH_DOWN : HEALTH_UP);
	}
	w->arena = arena_new();
	w->from = (struct wire_history){ .history = &w->history,
					 .newest = 129,
					 .newest_at = 7,
					 .points = HISTORY_HOUR,
					 .frontends = &w->zero,
					 .backends = &w->zero,
					 .n_frontends = 1,
					 .n_backends = 1 };
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	arena_free(w->arena);
	l4_history_free(&w->history);
	fixture_free(w->fixture);
	free(w);
	return 0;
}

static const Maglev__HistoryLine *line(const Maglev__HistorySeries *s, const char *name)
{
	for (size_t i = 0; i < s->n_lines; i++)
		if (strcmp(s->lines[i]->name, name) == 0)
			return s->lines[i];
	return NULL;
}

static void a_line_begins_with_its_first_value_and_gaps_are_nan(void **state)
{
	struct world *w = *state;
	Maglev__HistoryResponse *r = wire_history(&w->from, w->arena);
	const Maglev__HistoryLine *latency = line(r->backends[0], "latency");

	assert_string_equal(r->span, "hour");
	assert_int_equal(r->step, 10 * NSEC_PER_SEC);
	assert_int_equal(r->newest, 7);
	assert_string_equal(r->frontends[0]->name, "www");
	assert_int_equal(r->frontends[0]->n_lines, 5);
	assert_int_equal(line(r->frontends[0], "no-server")->n_values, 0);
	assert_int_equal(latency->n_values, 30);
	for (size_t i = 0; i < 30; i++)
		assert_true(i / 10 == 1 ? isnan(latency->values[i])
					: latency->values[i] == 1 << 20);
}

static void states_are_runs(void **state)
{
	static const char *const words[] = { "up", "down", "up" };
	struct world *w = *state;
	Maglev__HistoryResponse *r = wire_history(&w->from, w->arena);

	assert_int_equal(r->backends[0]->n_states, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(r->backends[0]->states[i]->state, words[i]);
		assert_int_equal(r->backends[0]->states[i]->points, 10);
	}
	assert_null(line(r->backends[0], "state"));
}

static void only_what_is_asked_for_is_in_the_answer(void **state)
{
	char latency[] = "latency", *lines[] = { latency };
	struct world *w = *state;
	Maglev__HistoryResponse *r;

	assert_int_equal(wire_history_size(&w->from), 360 * 9);
	w->from.lines = lines;
	w->from.n_lines = 1;
	w->from.points = 15;
	assert_int_equal(wire_history_size(&w->from), 15);
	r = wire_history(&w->from, w->arena);
	assert_int_equal(r->frontends[0]->n_lines, 0);
	assert_int_equal(r->backends[0]->n_lines, 1);
	assert_int_equal(r->backends[0]->n_states, 0);
	assert_int_equal(r->backends[0]->lines[0]->n_values, 10); /* the gap before is left out */
	assert_true(wire_history_has("no-server") && wire_history_has("state"));
	assert_false(wire_history_has("nothing"));
}

/* Steps 108 to 119 are a group of two up, ten down. */
static void a_day_has_groups_with_the_worst_state(void **state)
{
	struct world *w = *state;
	Maglev__HistoryResponse *r;

	w->from.span = HISTORY_SPAN_DAY;
	w->from.newest = history_newest(HISTORY_SPAN_DAY, 129);
	w->from.points = HISTORY_DAY;
	r = wire_history(&w->from, w->arena);
	assert_int_equal(r->step, 120 * NSEC_PER_SEC);
	assert_int_equal(line(r->backends[0], "latency")->n_values, 2);
	assert_int_equal(r->backends[0]->n_states, 2);
	assert_string_equal(r->backends[0]->states[1]->state, "down");
	w->from.newest = -1;
	r = wire_history(&w->from, w->arena);
	assert_int_equal(r->newest, 0);
	assert_int_equal(line(r->backends[0], "latency")->n_values, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_begins_with_its_first_value_and_gaps_are_nan,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(states_are_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_what_is_asked_for_is_in_the_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_day_has_groups_with_the_worst_state, set_up,
						tear_down),
	};

	return cmocka_run_group_tests_name("wire/api_history", tests, NULL, NULL);
}
