/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "core/l4/validate.h"
#include "wire/config_yaml.h"

/* Tests of this program do not need lib/regex. */
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

int64_t testing_cpu_time(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
		abort();
	return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void on_woken(struct ev_loop *loop, ev_check *w, int events)
{
	((struct testing_turns *)w->data)->began = testing_cpu_time();
}

static void on_about_to_poll(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct testing_turns *t = w->data;
	int64_t took = t->began ? testing_cpu_time() - t->began : 0;

	t->longest = took > t->longest ? took : t->longest;
	t->began = 0;
}

/*
 * The check watcher runs first after the poll and the prepare watcher last before it, so the time
 * between the two is the whole turn.
 */
void testing_turns_begin(struct testing_turns *t, struct ev_loop *loop)
{
	*t = (struct testing_turns){ 0 };
	ev_prepare_init(&t->before, on_about_to_poll);
	ev_check_init(&t->after, on_woken);
	ev_set_priority(&t->before, EV_MINPRI);
	ev_set_priority(&t->after, EV_MAXPRI);
	t->before.data = t->after.data = t;
	ev_prepare_start(loop, &t->before);
	ev_check_start(loop, &t->after);
}

int64_t testing_turns_end(struct testing_turns *t, struct ev_loop *loop)
{
	on_about_to_poll(loop, &t->before, 0); /* the last turn, if no poll followed it */
	ev_prepare_stop(loop, &t->before);
	ev_check_stop(loop, &t->after);
	return t->longest;
}
