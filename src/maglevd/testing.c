/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "core/l4/validate.h"
#include "wire/config_yaml.h"

static bool any_regexp(const char *pattern, char *reason, size_t reason_size)
{
	return true;
}

struct snapshot *testing_snapshot(const char *yaml)
{
	const struct l4_rules rules = { .regexp_ok = any_regexp };
	struct arena *arena = arena_new();
	struct snapshot *s = arena_new_of(arena, struct snapshot);
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l4_doc doc;
	struct buf text = { 0 };

	s->arena = arena;
	if (config_yaml_parse(yaml, strlen(yaml), CONFIG_STRICT, arena, &doc, &errors) == 0 &&
	    l4_config_build(&doc, &rules, arena, &s->config, &errors, &warnings) == 0)
		return s;
	errs_print(&errors, "test", &text);
	fputs(buf_cstr(&text), stderr);
	abort();
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int events)
{
	*(bool *)w->data = true;
}

bool testing_wait(struct ev_loop *loop, bool (*cond)(void *user), void *user)
{
	bool over = false;
	ev_timer deadline;

	ev_timer_init(&deadline, on_deadline, 10., 0.);
	deadline.data = &over;
	ev_now_update(loop);
	ev_timer_start(loop, &deadline);
	while (!over && !cond(user))
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &deadline);
	return !over;
}

void testing_pass(struct ev_loop *loop, double seconds)
{
	bool over = false;
	ev_timer deadline;

	ev_timer_init(&deadline, on_deadline, seconds, 0.);
	deadline.data = &over;
	ev_now_update(loop);
	ev_timer_start(loop, &deadline);
	while (!over)
		ev_run(loop, EVRUN_ONCE);
}
