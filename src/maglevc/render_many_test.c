/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevc/many.h"
#include "src/maglevc/render.h"
#include "src/maglevc/testing.h"

static struct command command = { .args = { [SLOT_ACT] = "pause" } };

static void check(render_fn render, const void *message, struct many_sum *sum, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	const struct render r = {
		.now = TESTING_NOW, .command = &command, .sum = sum, .out = &out, .err = &err
	};

	render(message, &r);
	assert_string_equal(buf_cstr(&out), want);
	assert_string_equal(buf_cstr(&err), "");
}

#define FRONTENDS                                                                                  \
	"FRONTEND  EFFECT      POOL              SERVERS\n"                                        \
	"www       goes down   primary -> -      1 -> 0 of 2\n"                                    \
	"wiki      fails over  primary -> spare  1 -> 3 of 3\n"                                    \
	"3 frontends with some of them do not change\n"

static void consequences_are_shown_before_the_act(void **state)
{
	check(render_many, testing_many(), NULL,
	      "BACKEND  ADDRESS    NOW   WOULD BE\n"
	      "web1     10.0.0.11  up    paused\n"
	      "web2     10.0.0.11  down  paused\n" FRONTENDS);
}

static void and_after_it(void **state)
{
	Maglev__ActOnBackendsResponse *m = testing_many();
	struct many_sum sum = { .brief = true };

	m->dry_run = false;
	check(render_many, m, NULL,
	      "BACKEND  ADDRESS    BEFORE  NOW\n"
	      "web1     10.0.0.11  up      paused\n"
	      "web2     10.0.0.11  down    paused\n" FRONTENDS);
	check(render_many, m, &sum, "pause: 2 backends; frontends: 1 goes down, 1 fails over\n");
}

static void all_servers_are_summed_up(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct many_sum sum = { 0 };

	many_describe(&(struct many_sum){ .servers = 1, .backends = 1 }, &text);
	assert_string_equal(buf_cstr(&text), "1 backend");
	text.n = 0;
	many_add(&sum, testing_many());
	many_add(&sum, testing_many());
	many_describe(&sum, &text);
	assert_string_equal(buf_cstr(&text),
			    "4 backends on 2 servers; frontends: 2 go down, 2 fail over");
}

static void overrides_say_who_set_them(void **state)
{
	Maglev__ListOverridesResponse *list = testing_overrides();

	check(render_overrides, list, NULL,
	      "BACKEND  OVERRIDE                            AGE  FROM                  UNTIL"
	      "                 OPERATOR              REASON\n"
	      "web1     paused                              1m   -                     -    "
	      "                 alice from 192.0.2.7  new disk\n"
	      "web2     paused (scheduled)                  5s   2026-04-15T10:20:00Z  "
	      "2026-04-15T11:20:00Z  from 192.0.2.7\n"
	      "web1     weight 20, not 100, in www/primary  1h   -                     -    "
	      "                 -\n"
	      "not kept over a restart of maglevd: then the file decides\n");
	list->kept = true;
	list->n_overrides = 0;
	check(render_overrides, list, NULL,
	      "BACKEND  OVERRIDE  AGE  FROM  UNTIL  OPERATOR  REASON\n"
	      "kept over a restart of maglevd\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(consequences_are_shown_before_the_act),
		cmocka_unit_test(and_after_it),
		cmocka_unit_test(all_servers_are_summed_up),
		cmocka_unit_test(overrides_say_who_set_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
