/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/testing.h"

#define HEAD                                                                                       \
	"maglev:\n"                                                                                \
	"  healthchecker: { transition-history: 3 }\n"                                             \
	"  healthchecks: { c: { type: tcp, port: 80 }, d: { type: tcp, port: 81 } }\n"             \
	"  dataplane: none\n"

#define CONFIG                                                                                     \
	HEAD "  backends:\n"                                                                       \
	     "    a: { address: 10.0.0.1, healthcheck: c }\n"                                      \
	     "    b: { address: 10.0.0.2, healthcheck: c }\n"                                      \
	     "    s: { address: 10.0.0.3 }\n"                                                      \
	     "  frontends:\n"                                                                      \
	     "    one: { address: 192.0.2.1, pools: [{ name: p, backends: { a: {} } }] }\n"        \
	     "    two: { address: 192.0.2.2, pools: [{ name: p, backends: { a: {}, b: {} } }] }\n" \
	     "    fix: { address: 192.0.2.3, pools: [{ name: p, backends: { s: {} } }] }\n"

/* what observers were called with, as text, in order */
static struct buf told;
static struct buf logged;
static unsigned n_up, n_removed; /* transitions from unknown to up, and to removed */

#define MANY 3000 /* too many for one turn of the loop, with an observer that needs OBSERVING */
#define OBSERVING (10 * NSEC_PER_USEC)

/* However fast the machine is, it does not take less. */
static void take_time(void)
{
	int64_t end = loop_monotonic() + OBSERVING;

	while (loop_monotonic() < end)
		continue;
}

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	buf_printf(&told, "%s:%s>%s:%s ", b->name, health_state_name(change->from),
		   health_state_name(change->to), health_code_name(change->why));
	n_up += change->from == HEALTH_UNKNOWN && change->to == HEALTH_UP;
	n_removed += change->to == HEALTH_REMOVED;
	take_time();
}

static void on_frontend(void *user, size_t frontend, enum l4_frontend_health from,
			enum l4_frontend_health to, int64_t at)
{
	const struct l4_config *c = engine_model(user)->config;

	buf_printf(&told, "%s=%s ", c->frontends[frontend].name, l4_frontend_health_name(to));
}

static void on_weight(void *user, size_t frontend, size_t backend, bool flush)
{
	const struct l4_config *c = engine_model(user)->config;

	buf_printf(&told, "weight:%s:%s:%d ", c->frontends[frontend].name,
		   c->backends[backend].name, flush);
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	buf_printf(&told, "reloaded:%zu ", reload->changes.n);
}

static void on_guard(void *user, bool active)
{
	buf_printf(&told, "guard:%d ", active);
}

static void on_annotated(void *user, const struct l4_backend_state *b)
{
	buf_printf(&told, "annotated:%s ", b->name);
}

static void on_released(void *user, size_t frontend)
{
	buf_printf(&told, "released:%s ", engine_model(user)->config->frontends[frontend].name);
}

static void on_refused(void *user, const struct engine_refusal *why)
{
	buf_printf(&told, "refused:%s:%zu ", why->error, why->n_errors);
}

static unsigned n_probed;

static void on_probed(void *user, const struct l4_backend_state *b)
{
	n_probed++;
}

static void on_line(const struct log_line *line, void *user)
{
	buf_add(&logged, line->json.p, line->json.n);
}

static struct engine_observer observer = { .backend = on_backend,
					   .frontend = on_frontend,
					   .weight = on_weight,
					   .reloaded = on_reloaded,
					   .guard = on_guard,
					   .annotated = on_annotated,
					   .probed = on_probed,
					   .released = on_released,
					   .refused = on_refused };
static int sink;

static struct engine *start(struct snapshot *first)
{
	struct engine *e = engine_new(EV_DEFAULT, first);

	observer.user = e;
	engine_observe(e, &observer);
	engine_start(e);
	return e;
}

static int setup(void **state)
{
	sink = log_add_sink(LOG_INFO, on_line, NULL);
	*state = start(testing_snapshot(CONFIG));
	return 0;
}

static int teardown(void **state)
{
	engine_free(*state);
	log_remove_sink(sink);
	buf_free(&told);
	buf_free(&logged);
	return 0;
}

static void expect_told(const char *text)
{
	assert_string_equal(buf_cstr(&told), text);
	told.n = logged.n = 0;
}

static struct l4_backend_state *backend(struct engine *e, const char *name)
{
	const struct l4_model *m = engine_model(e);

	return m->backends[l4_config_backend(m->config, name)];
}

static void feed(struct engine *e, const char *name, enum health_code code, bool local)
{
	engine_record(e, backend(e, name), &(struct engine_result){ code, local, "why", 5 });
}

/* FR-1.7 */
static void a_static_backend_is_up_from_the_start(void **state)
{
	expect_told("fix=up s:unknown>up:static ");
}

/* FR-1.6, FR-2.4: the frontends that use it are notified before the observers act on it */
static void the_first_result_decides_and_frontends_follow(void **state)
{
	struct engine *e = *state;

	told.n = 0;
	feed(e, "a", CODE_L4OK, false);
	expect_told("one=up two=up a:unknown>up:L4OK ");
	feed(e, "b", CODE_L4CON, false);
	expect_told("b:unknown>down:L4CON ");
}

/* FR-6.1: one incident, one line, with everything in it */
static void a_transition_is_one_line(void **state)
{
	struct engine *e = *state;
	const char *line;

	feed(e, "a", CODE_L4OK, false);
	logged.n = 0;
	for (int i = 0; i < 3; i++)
		feed(e, "a", CODE_L4CON, false);
	line = buf_cstr(&logged);
	assert_non_null(strstr(line,
			       "\"msg\":\"backend-transition\",\"backend\":\"a\",\"from\":\"up\","
			       "\"to\":\"down\",\"code\":\"L4CON\",\"reason\":\"why\""));
	assert_non_null(strstr(line, "\"frontends_down\":\"one,two\""));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

#define POOLS(first, second)                                                                       \
	HEAD "  backends:\n"                                                                       \
	     "    a: { address: 10.0.0.1, healthcheck: c }\n"                                      \
	     "    b: { address: 10.0.0.2, healthcheck: c }\n"                                      \
	     "  frontends:\n"                                                                      \
	     "    www: { address: 192.0.2.1, pools: [" first ", " second "] }\n"
#define PRIMARY "{ name: primary, backends: { a: {} } }"
#define BACKUP "{ name: backup, backends: { b: {} } }"

/* Exactly one line was logged since the last call, with this level, msg and end. */
static void expect_line(const char *level, const char *msg, const char *end)
{
	_cleanup_(buf_free) struct buf begin = { 0 };
	const char *line = buf_cstr(&logged);

	assert_non_null(strchr(line, '\n'));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	buf_printf(&begin, "\"level\":\"%s\",\"msg\":\"%s\"", level, msg);
	assert_non_null(strstr(line, buf_cstr(&begin)));
	assert_non_null(strstr(line, end));
	logged.n = 0;
}

static void expect_transition(const char *level, const char *end)
{
	expect_line(level, "backend-transition", end);
}

/* FR-6.1: a frontend without servers is an error, a failover a warning, a recovery neither */
static void the_level_of_a_line_says_how_bad_it_is_for_frontends(void **state)
{
	struct engine *e = *state;

	engine_reload(e, testing_snapshot(POOLS(PRIMARY, BACKUP)));
	logged.n = 0;
	feed(e, "a", CODE_L4OK, false);
	expect_transition("INFO", "\"counter\":2,\"frontends_up\":\"www\"}");
	feed(e, "b", CODE_L4OK, false);
	expect_transition("INFO", "\"counter\":2}");
	feed(e, "a", CODE_L4CON, false); /* just up: one failure takes it down again */
	expect_transition("WARN", "\"counter\":1,\"failovers\":\"www: primary -> backup\"}");
	feed(e, "b", CODE_L4CON, false);
	expect_transition("ERROR", "\"counter\":1,\"frontends_down\":\"www\"}");
	feed(e, "b", CODE_L4OK, false);
	expect_transition("INFO", "\"counter\":2,\"frontends_up\":\"www\"}");
	feed(e, "b", CODE_L4CON, false);
	expect_transition("ERROR", "\"frontends_down\":\"www\"}");
	feed(e, "a", CODE_L4OK, false);
	expect_transition("INFO",
			  "\"frontends_up\":\"www\",\"failovers\":\"www: backup -> primary\"}");
	feed(e, "b", CODE_L4OK, false);
	logged.n = 0;
	assert_int_equal(engine_set_weight(e, &(struct engine_weight){ "www", "primary", "a", 0,
								       false, NULL }),
			 0);
	expect_line("WARN", "weight-set", "\"failovers\":\"www: primary -> backup\"}");
}

/* FR-2.4: a frontend of which no server was ever up */
static void a_frontend_that_starts_without_servers_is_an_error(void **state)
{
	struct engine *e = *state;

	logged.n = 0;
	feed(e, "a", CODE_L4CON, false);
	expect_transition("ERROR", "\"frontends_down\":\"one,two\"}");
}

/* FR-5.3: pools are known by name, and a reload alone may cause a failover */
static void a_reload_that_changes_a_frontend_says_so(void **state)
{
	struct engine *e = *state;
	const char *line;

	engine_reload(e, testing_snapshot(POOLS(PRIMARY, BACKUP)));
	feed(e, "a", CODE_L4OK, false);
	feed(e, "b", CODE_L4OK, false);
	logged.n = 0;
	engine_reload(e, testing_snapshot(POOLS(BACKUP, PRIMARY)));
	expect_line("INFO", "frontends-changed", "\"failovers\":\"www: primary -> backup\"}");
	engine_reload(e, testing_snapshot(POOLS("{ name: backup, backends: { b: { weight: 0 } } }",
						PRIMARY)));
	expect_line("WARN", "frontends-changed", "\"failovers\":\"www: backup -> primary\"}");
	engine_reload(e,
		      testing_snapshot(POOLS("{ name: other, backends: { b: {} } }",
					     "{ name: primary, backends: { a: { weight: 0 } } }")));
	expect_line("INFO", "frontends-changed", "\"failovers\":\"www: primary -> other\"}");
	engine_reload(e, testing_snapshot(POOLS("{ name: fresh, backends: { b: { weight: 0 } } }",
						"{ name: new, backends: { a: { weight: 0 } } }")));
	line = buf_cstr(&logged);
	assert_null(strstr(line, "failovers"));
	expect_line("ERROR", "frontends-changed", "\"frontends_down\":\"www\"}");
}

/* NFR-3.2 */
static void the_history_is_bounded(void **state)
{
	struct engine *e = *state;
	const struct l4_backend_state *b = backend(e, "a");

	feed(e, "a", CODE_L4OK, false);
	for (int i = 0; i < 20; i++)
		feed(e, "a", (i / 5) % 2 ? CODE_L4OK : CODE_L4CON, false);
	assert_int_equal(b->n_history, 3);
	assert_int_equal(b->history[2].change.to, b->health.state);
	assert_int_equal(b->history[1].change.to, b->history[2].change.from);
}

/* FR-3.1, FR-3.2 and the refusals of pause and resume */
static void operators_act_by_name(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_L4OK, false);
	told.n = 0;
	assert_int_equal(engine_pause(e, "nobody", NULL), -ENOENT);
	assert_int_equal(engine_pause(e, "a", NULL), 0);
	expect_told("one=down two=down a:up>paused:paused ");
	/* the state stays, the reason may change */
	assert_int_equal(engine_pause(e, "a", NULL), 0);
	expect_told("annotated:a ");
	feed(e, "a", CODE_L4CON, false); /* a result of a probe that began before the pause */
	expect_told("");
	assert_int_equal(engine_disable(e, "a", NULL), 0);
	told.n = 0;
	assert_int_equal(engine_pause(e, "a", NULL), -EPERM);
	assert_int_equal(engine_resume(e, "a", NULL), -EPERM);
	assert_int_equal(engine_enable(e, "a", NULL), 0);
	assert_int_equal(backend(e, "a")->health.state, HEALTH_UNKNOWN);
}

static bool is_up_again(void *user)
{
	return backend(user, "s")->health.state == HEALTH_UP;
}

/* Observers are notified of each probe, whatever its result. */
static void every_probe_is_told(void **state)
{
	struct engine *e = *state;

	n_probed = 0;
	feed(e, "a", CODE_L4OK, false);
	feed(e, "a", CODE_L4OK, false);
	feed(e, "b", CODE_L4CON, false);
	assert_int_equal(n_probed, 3);
}

static void a_release_and_a_refusal_are_told(void **state)
{
	struct engine *e = *state;

	told.n = 0;
	engine_release(e, 0);
	engine_refuse(e, &(struct engine_refusal){ "m.yaml:1:1: no", 2, 5 });
	expect_told("released:fix refused:m.yaml:1:1: no:2 ");
}

static void each_reload_is_a_generation(void **state)
{
	struct engine *e = *state;

	assert_int_equal(engine_generation(e), 1);
	engine_refuse(e, &(struct engine_refusal){ "no", 1, 5 });
	assert_int_equal(engine_generation(e), 1);
	engine_reload(e, testing_snapshot(CONFIG));
	assert_int_equal(engine_generation(e), 2);
}

/* An override may have a reason, and a time when it ends by itself; the last one counts. */
static void an_override_ends_by_itself(void **state)
{
	struct engine *e = *state;
	const struct l4_backend_state *s = backend(e, "s");
	struct l4_note note = { .reason = "kernel update",
				.until = loop_realtime() + 3600 * NSEC_PER_SEC };

	assert_int_equal(engine_pause(e, "s", &note), 0);
	assert_string_equal(s->pause.reason, "kernel update");
	assert_non_null(strstr(buf_cstr(&logged), "\"reason\":\"kernel update\""));
	told.n = 0;
	note = (struct l4_note){ .reason = "quick look",
				 .until = loop_realtime() + 50 * NSEC_PER_MSEC };
	assert_int_equal(engine_pause(e, "s", &note), 0);
	assert_string_equal(s->pause.reason, "quick look");
	expect_told("annotated:s ");
	assert_true(testing_wait(EV_DEFAULT, is_up_again, e));
	assert_true(loop_realtime() >= note.until);
	expect_told("fix=unknown s:paused>unknown:resumed fix=up s:unknown>up:static ");
	assert_null(s->pause.reason);
}

static unsigned count_up(const struct engine *e)
{
	unsigned n = 0;

	for (size_t i = 0; i < engine_model(e)->config->n_backends; i++)
		n += engine_model(e)->backends[i]->health.state == HEALTH_UP;
	return n;
}

static bool all_are_up(void *user)
{
	return count_up(user) == engine_model(user)->config->n_backends;
}

/* b0, b1 ..., and a frontend with all of them */
static struct snapshot *many_static(unsigned n, const char *more)
{
	struct buf text = { 0 };
	struct snapshot *s;

	buf_adds(&text, HEAD "  backends:\n");
	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "    b%u: { address: 10.0.%u.%u%s }\n", i, i / 200, 1 + i % 200,
			   more);
	buf_adds(&text,
		 "  frontends:\n    all: { address: 192.0.2.1, pools: [{ name: p, backends: {");
	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "%s b%u: {}", i ? "," : "", i);
	buf_adds(&text, " } }] }\n");
	s = testing_snapshot(buf_cstr(&text));
	buf_free(&text);
	return s;
}

static void forget_told(void)
{
	told.n = logged.n = 0;
	n_up = n_removed = 0;
}

static struct engine *new_with_static(unsigned n)
{
	struct engine *e = start(many_static(n, ""));

	forget_told();
	return e;
}

static void reload_static(struct engine *e, unsigned n, const char *more)
{
	struct snapshot *next = many_static(n, more);

	forget_told();
	engine_reload(e, next);
}

/* NFR-3: whatever happens at once is handled in turns of less than 10 ms each. */
static void wait_in_short_turns(bool (*cond)(void *user), struct engine *e)
{
	struct testing_turns turns;

	testing_turns_begin(&turns, EV_DEFAULT);
	assert_true(testing_wait(EV_DEFAULT, cond, e));
	assert_in_range(testing_turns_end(&turns, EV_DEFAULT), 0, 10 * NSEC_PER_MSEC);
}

static void overrides_that_end_together_are_ended_in_several_turns(void **state)
{
	const struct l4_note note = { .reason = "all of them",
				      .until = loop_realtime() + NSEC_PER_MSEC };
	struct engine *e = new_with_static(MANY);
	char name[16];

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "b%u", i);
		assert_int_equal(engine_pause(e, name, &note), 0);
	}
	assert_int_equal(count_up(e), 0);
	while (!count_up(e))
		ev_run(EV_DEFAULT, EVRUN_ONCE);
	assert_in_range(count_up(e), 1, MANY / 2);
	wait_in_short_turns(all_are_up, e);
	engine_free(e);
}

static unsigned count_told(const char *what)
{
	unsigned n = 0;

	for (const char *p = buf_cstr(&told); (p = strstr(p, what)); p++)
		n++;
	return n;
}

static bool all_are_removed(void *user)
{
	return n_removed == MANY;
}

static bool all_are_told_up(void *user)
{
	return n_up == MANY;
}

/*
 * The model is complete at once; observers are called later, with each frontend next to its
 * backend.
 */
static void ten_thousand_that_come_are_told_in_several_turns(void **state)
{
	struct engine *e = *state;

	reload_static(e, MANY, "");
	assert_int_equal(count_up(e), MANY);
	assert_int_equal(n_up, 0);
	while (!n_up) /* a turn may have had other work */
		ev_run(EV_DEFAULT, EVRUN_ONCE);
	assert_in_range(n_up, 1, MANY - 1);
	wait_in_short_turns(all_are_told_up, NULL);
	assert_int_equal(count_told("all=up b0:unknown>up:static "), 1);
	assert_int_equal(count_told("all="), 1);
	assert_non_null(strstr(buf_cstr(&logged), "\"frontends_up\":\"all\""));
	assert_int_equal(backend(e, "b1199")->n_history, 1);
}

/*
 * Whatever happens to one of them in the meantime is reported after it, and nothing is reported
 * twice.
 */
static void what_a_reload_did_is_told_before_what_came_later(void **state)
{
	struct engine *e = *state;

	reload_static(e, MANY, "");
	assert_int_equal(count_told(" b999:"), 0);
	assert_int_equal(engine_pause(e, "b999", NULL), 0);
	assert_int_equal(count_told(" b999:unknown>up:static b999:up>paused:paused "), 1);
	assert_true(testing_wait(EV_DEFAULT, all_are_told_up, NULL));
	assert_int_equal(count_told(" b999:"), 2);
	assert_int_equal(backend(e, "b999")->n_history, 2);
}

/* Two transitions of each: disabled by the file, then enabled again and up. */
static void ten_thousand_that_are_enabled_are_told_in_order(void **state)
{
	struct engine *e = *state;

	reload_static(e, MANY, "");
	reload_static(e, MANY, ", enabled: false");
	assert_int_equal(count_up(e), 0);
	assert_true(all_are_told_up(NULL)); /* before what came later */
	reload_static(e, MANY, "");
	assert_int_equal(count_told("up>disabled:reloaded"), MANY);
	assert_true(testing_wait(EV_DEFAULT, all_are_told_up, NULL));
	assert_int_equal(count_told("b7:disabled>unknown:reloaded b7:unknown>up:static "), 1);
}

/* FR-5.3: each removal is reported, and before the name is used again */
static void ten_thousand_that_go_are_told_in_several_turns(void **state)
{
	struct engine *e = new_with_static(MANY);

	engine_reload(e, testing_snapshot(CONFIG));
	assert_int_equal(n_removed, 0);
	while (!n_removed)
		ev_run(EV_DEFAULT, EVRUN_ONCE);
	assert_in_range(n_removed, 1, MANY - 1);
	wait_in_short_turns(all_are_removed, NULL);
	engine_free(e);

	e = new_with_static(MANY);
	engine_reload(e, testing_snapshot(CONFIG));
	engine_reload(e, testing_snapshot(CONFIG));
	assert_int_equal(n_removed, MANY);
	engine_free(e);

	e = new_with_static(MANY);
	engine_reload(e, testing_snapshot(CONFIG));
	engine_free(e);
}

/* FR-1.7: a static backend can be paused, and returns with its synthetic pass */
static void a_static_backend_resumes_into_up(void **state)
{
	struct engine *e = *state;

	assert_int_equal(engine_pause(e, "s", NULL), 0);
	told.n = 0;
	assert_int_equal(engine_resume(e, "s", NULL), 0);
	expect_told("fix=unknown s:paused>unknown:resumed fix=up s:unknown>up:static ");
}

/* FR-3.3 */
static void a_weight_of_zero_takes_the_frontend_down(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_L4OK, false);
	told.n = 0;
	assert_int_equal(
		engine_set_weight(e, &(struct engine_weight){ "one", "p", "a", 0, true, NULL }), 0);
	expect_told("one=down weight:one:a:1 ");
	assert_int_equal(
		engine_set_weight(e, &(struct engine_weight){ "one", "p", "a", 101, false, NULL }),
		-ERANGE);
	assert_int_equal(
		engine_set_weight(e, &(struct engine_weight){ "one", "q", "a", 1, false, NULL }),
		-ENOENT);
}

/* FR-5.3: backends that the file no longer has are reported as removed; overrides stay (FR-3.4) */
static void a_reload_tells_what_it_changed(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_L4OK, false);
	feed(e, "b", CODE_L4OK, false);
	assert_int_equal(engine_pause(e, "a", NULL), 0);
	told.n = 0;
	engine_reload(e, testing_snapshot(HEAD "  backends:\n"
					       "    a: { address: 10.0.0.9, healthcheck: d }\n"
					       "    n: { address: 10.0.0.4 }\n"
					       "  frontends:\n"
					       "    one: { address: 192.0.2.1, pools: "
					       "[{ name: p, backends: { a: {}, n: {} } }] }\n"));
	expect_told("reloaded:4 one=up n:unknown>up:static b:up>removed:removed "
		    "s:up>removed:removed ");
	assert_int_equal(backend(e, "a")->health.state, HEALTH_PAUSED);
	assert_int_equal(engine_model(e)->config->n_backends, 2);
}

/* Observers do not see a frontend go down while its static backends only get other names. */
static void a_reload_judges_when_all_of_it_is_known(void **state)
{
	struct engine *e = *state;

	told.n = 0;
	engine_reload(e,
		      testing_snapshot(
			      HEAD
			      "  backends: { t: { address: 10.0.0.3 }, u: { address: 10.0.0.4 } }\n"
			      "  frontends: { fix: { address: 192.0.2.3, pools: "
			      "[{ name: p, backends: { t: {}, u: {} } }] } }\n"));
	expect_told("reloaded:5 t:unknown>up:static u:unknown>up:static a:unknown>removed:removed "
		    "b:unknown>removed:removed s:up>removed:removed ");
}

/* FR-6.1: and so is a weight that takes a frontend down */
static void a_weight_is_one_line(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_L4OK, false);
	logged.n = 0;
	assert_int_equal(
		engine_set_weight(e, &(struct engine_weight){ "one", "p", "a", 0, true, NULL }), 0);
	assert_non_null(strstr(buf_cstr(&logged), "\"flush\":true,\"frontends_down\":\"one\"}"));
}

/* A probed backend that becomes static is up at once, whatever it was. */
static void a_check_taken_away_means_up(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_L4CON, false);
	told.n = 0;
	engine_reload(e, testing_snapshot(HEAD "  backends: { a: { address: 10.0.0.1 } }\n"));
	assert_non_null(strstr(buf_cstr(&told), "a:down>up:static"));
}

/* DESIGN: active only while every probed backend fails because of this machine itself */
static void the_guard_follows_local_failures(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_SOCKERR, true);
	feed(e, "b", CODE_L4CON, false);
	assert_false(engine_guard(e));
	told.n = 0;
	feed(e, "b", CODE_SOCKERR, true);
	assert_true(engine_guard(e));
	expect_told("guard:1 ");
	feed(e, "a", CODE_L4TOUT, false);
	expect_told("guard:0 ");

	/* pause the backend that contradicts it */
	assert_int_equal(engine_pause(e, "a", NULL), 0);
	assert_true(engine_guard(e));
}

/* The guard is active before observers act on the transition that completes it. */
static void the_guard_comes_before_the_transition(void **state)
{
	struct engine *e = *state;

	feed(e, "a", CODE_L4OK, false);
	feed(e, "b", CODE_SOCKERR, true);
	told.n = 0;
	feed(e, "a", CODE_SOCKERR, true); /* just up: one failure takes it down again */
	expect_told("guard:1 one=down two=down a:up>down:SOCKERR ");
}

static void the_guard_can_be_switched_off(void **state)
{
	struct engine *e = *state;

	engine_reload(e, testing_snapshot(
				 "maglev:\n  healthchecker: { all-down-guard: false }\n"
				 "  dataplane: none\n"
				 "  healthchecks: { c: { type: tcp, port: 80 } }\n"
				 "  backends: { a: { address: 10.0.0.1, healthcheck: c } }\n"));
	feed(e, "a", CODE_SOCKERR, true);
	assert_false(engine_guard(e));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_static_backend_is_up_from_the_start),
		T(the_first_result_decides_and_frontends_follow),
		T(a_transition_is_one_line),
		T(the_level_of_a_line_says_how_bad_it_is_for_frontends),
		T(a_frontend_that_starts_without_servers_is_an_error),
		T(a_reload_that_changes_a_frontend_says_so),
		T(the_history_is_bounded),
		T(operators_act_by_name),
		T(an_override_ends_by_itself),
		T(every_probe_is_told),
		T(a_release_and_a_refusal_are_told),
		T(each_reload_is_a_generation),
		T(overrides_that_end_together_are_ended_in_several_turns),
		T(ten_thousand_that_go_are_told_in_several_turns),
		T(ten_thousand_that_come_are_told_in_several_turns),
		T(what_a_reload_did_is_told_before_what_came_later),
		T(ten_thousand_that_are_enabled_are_told_in_order),
		T(a_static_backend_resumes_into_up),
		T(a_weight_of_zero_takes_the_frontend_down),
		T(a_reload_tells_what_it_changed),
		T(a_reload_judges_when_all_of_it_is_known),
		T(a_weight_is_one_line),
		T(a_check_taken_away_means_up),
		T(the_guard_follows_local_failures),
		T(the_guard_comes_before_the_transition),
		T(the_guard_can_be_switched_off),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
