/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevc/testing.h"

/* The names of the backends that are left: spare, web1 (up), web2 (disabled). */
static void check(const char *state, const char *glob, const char *expected)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf got = { 0 };
	struct command c = { .args = { [SLOT_FILTER_STATE] = state, [SLOT_FILTER_NAME] = glob } };
	const Maglev__ListBackendsResponse *left =
		(const void *)filter_answer(&testing_backends()->base, &c, arena);

	for (size_t i = 0; i < left->n_backends; i++)
		buf_printf(&got, "%s%s", i ? " " : "", left->backends[i]->name);
	assert_string_equal(buf_cstr(&got), expected);
}

static void entries_are_chosen_by_state(void **state)
{
	check("disabled", NULL, "web2");
	check("paused", NULL, "");
}

static void entries_are_chosen_by_name(void **state)
{
	check(NULL, "web?", "web1 web2");
	check(NULL, "*1", "web1");
	check(NULL, "web", "");
	check("disabled", "w*", "web2");
	check("disabled", "s*", "");
}

static void without_a_filter_the_answer_is_itself(void **state)
{
	const struct command c = { 0 };

	assert_ptr_equal(filter_answer(&testing_backends()->base, &c, NULL),
			 &testing_backends()->base);
}

/* FRR has words of its own for the states of a session. */
static void sessions_are_up_or_down(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct command c = { .args = { [SLOT_FILTER_STATE] = "up" } };
	const Maglev__ListSessionsResponse *left =
		(const void *)filter_answer(&testing_sessions()->base, &c, arena);

	assert_int_equal(left->n_sessions, 1);
	assert_string_equal(left->sessions[0]->peer, "tor1");
	c.args[SLOT_FILTER_STATE] = "down";
	left = (const void *)filter_answer(&testing_sessions()->base, &c, arena);
	assert_int_equal(left->n_sessions, 1);
	assert_string_equal(left->sessions[0]->peer, "tor2");
}

/* An answer that is not a list stays as it is. */
static void what_is_no_list_is_not_filtered(void **state)
{
	struct command c = { .args = { [SLOT_FILTER_NAME] = "x" } };

	assert_ptr_equal(filter_answer(&testing_version()->base, &c, NULL),
			 &testing_version()->base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_chosen_by_state),
		cmocka_unit_test(entries_are_chosen_by_name),
		cmocka_unit_test(without_a_filter_the_answer_is_itself),
		cmocka_unit_test(sessions_are_up_or_down),
		cmocka_unit_test(what_is_no_list_is_not_filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
