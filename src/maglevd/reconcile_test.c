/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reconciler against the fake data plane: real loop, real engine, no probes; results are given
 * to the engine by hand. The fake itself asserts that requests never overlap (NFR-2.4).
 */
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
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/fake/fake.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"
#include "src/maglevd/testing.h"

#define WARM "startup-min-delay: 0s, startup-max-delay: 0s"

/* one frontend with two pools, and a second one that shares nothing; %s: delays */
#define CONFIG(delays)                                                                             \
	"maglev:\n"                                                                                \
	"  healthchecks: { c: { type: tcp, port: 80 } }\n"                                         \
	"  backends:\n"                                                                            \
	"    b1: { address: 10.0.0.1, healthcheck: c }\n"                                          \
	"    b2: { address: 10.0.0.2, healthcheck: c }\n"                                          \
	"    b9: { address: 10.0.0.9, healthcheck: c }\n"                                          \
	"    other: { address: 10.0.1.1, healthcheck: c }\n"                                       \
	"  frontends:\n"                                                                           \
	"    www:\n"                                                                               \
	"      address: 192.0.2.10\n"                                                              \
	"      protocol: tcp\n"                                                                    \
	"      port: 80\n"                                                                         \
	"      pools:\n"                                                                           \
	"        - { name: primary, backends: { b1: {}, b2: { weight: 50 } } }\n"                  \
	"        - { name: fallback, backends: { b9: {} } }\n"                                     \
	"    second:\n"                                                                            \
	"      address: 192.0.2.20\n"                                                              \
	"      flush-on-down: false\n"                                                             \
	"      pools: [{ name: only, backends: { other: {} } }]\n"                                 \
	"  vpp: { lb: { ipv4-src-address: 192.0.2.1, ipv6-src-address: \"2001:db8::1\",\n"         \
	"               sync-interval: 1h, " delays " } }\n"

struct world {
	struct ev_loop *loop;
	struct fake_plane plane;
	struct engine *engine;
	struct reconcile *reconcile;
};

static void world_start(struct world *w, const char *yaml, int64_t started)
{
	fake_use(&w->plane);
	w->engine = engine_new(w->loop, testing_snapshot(yaml));
	w->reconcile = reconcile_new(&(struct reconcile_setup){
		.loop = w->loop, .engine = w->engine, .driver = &fake_driver, .started = started });
	engine_start(w->engine);
}

static void world_stop(struct world *w)
{
	reconcile_free(w->reconcile);
	engine_free(w->engine);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->loop = ev_loop_new(0);
	w->plane.up = true;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	fake_plane_free(&w->plane);
	ev_loop_destroy(w->loop);
	free(w);
	return 0;
}

static bool is_idle(void *user)
{
	const struct world *w = user;

	return reconcile_connected(w->reconcile) && reconcile_idle(w->reconcile);
}

static void settle(struct world *w)
{
	assert_true(testing_wait(w->loop, is_idle, w));
}

static void feed(struct world *w, const char *name, enum health_code code, unsigned times)
{
	const struct l4_model *m = engine_model(w->engine);
	size_t i = l4_config_backend(m->config, name);

	assert_true(i != SIZE_MAX);
	for (unsigned n = 0; n < times; n++)
		engine_record(w->engine, m->backends[i],
			      &(struct engine_result){ .code = code, .reason = "" });
}

static void all_up(struct world *w)
{
	const struct l4_config *c = engine_model(w->engine)->config;

	for (size_t i = 0; i < c->n_backends; i++)
		feed(w, c->backends[i].name, CODE_L4OK, 5);
}

static void start_warm(struct world *w)
{
	world_start(w, CONFIG(WARM), loop_monotonic());
	all_up(w);
	settle(w);
}

static int weight(const struct world *w, const char *as)
{
	return fake_plane_weight(&w->plane, "192.0.2.10", as);
}

/* FR-4.1: a transition reaches the data plane without waiting for the periodic sync */
static void health_becomes_weights(void **state)
{
	struct world *w = *state;

	start_warm(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	assert_int_equal(weight(w, "10.0.0.2"), 50);
	assert_int_equal(weight(w, "10.0.0.9"), 0);
	feed(w, "b2", CODE_L4CON, 3);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.2"), 0);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* FR-2.2, DESIGN order: the standby is raised before the failed pool is lowered */
static void failover_raises_the_standby_first(void **state)
{
	struct world *w = *state;
	size_t raised, lowered;

	start_warm(w);
	feed(w, "b2", CODE_L4CON, 3);
	settle(w);
	fake_plane_clear_journal(&w->plane);
	feed(w, "b1", CODE_L4CON, 3);
	settle(w);
	raised = fake_plane_find(&w->plane, "10.0.0.9 0->100", 0);
	lowered = fake_plane_find(&w->plane, "10.0.0.1 100->0 flush", 0);
	assert_true(raised != SIZE_MAX && lowered != SIZE_MAX && raised < lowered);

	fake_plane_clear_journal(&w->plane);
	feed(w, "b1", CODE_L4OK, 2);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	/* a standby is drained, not flushed */
	assert_true(fake_plane_find(&w->plane, "10.0.0.9 100->0", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "10.0.0.9 100->0 flush", 0) == SIZE_MAX);
	world_stop(w);
}

/* FR-4.3 */
static void flush_follows_the_cause(void **state)
{
	struct world *w = *state;

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	feed(w, "other", CODE_L4CON, 3); /* flush-on-down: false */
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.1.1 100->0", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "flush", 0) == SIZE_MAX);

	assert_int_equal(engine_pause(w->engine, "b1", NULL), 0);
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->0", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "flush", 0) == SIZE_MAX);

	/* drained already, but disabling must still tear the flows down */
	assert_int_equal(engine_disable(w->engine, "b1", NULL), 0);
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 0->0 flush", 0) != SIZE_MAX);

	/* and only once, however often everything is looked at again */
	fake_plane_clear_journal(&w->plane);
	reconcile_sync_all(w->reconcile);
	settle(w);
	reconcile_sync_all(w->reconcile);
	settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	world_stop(w);
}

static void a_weight_is_set_with_and_without_flush(void **state)
{
	struct world *w = *state;
	struct engine_weight set = { "www", "primary", "b1", 40, true };

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	assert_int_equal(engine_set_weight(w->engine, &set), 0);
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->40 flush", 0) != SIZE_MAX);
	set.flush = false;
	set.weight = 41;
	assert_int_equal(engine_set_weight(w->engine, &set), 0);
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 40->41", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "40->41 flush", 0) == SIZE_MAX);
	set.backend = "b9";
	assert_int_equal(engine_set_weight(w->engine, &set), -ENOENT);
	world_stop(w);
}

/* An operator's flush is done again when the request that carried it failed. */
static void a_failed_flush_is_sent_again(void **state)
{
	struct world *w = *state;
	const struct engine_weight set = { "www", "primary", "b1", 100, true };

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	w->plane.fail_applies = 1;
	assert_int_equal(engine_set_weight(w->engine, &set), 0);
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->100 flush", 0) != SIZE_MAX);
	assert_int_equal(w->plane.journal.n, 1);
	world_stop(w);
}

/* Goal 3, NFR-1.2: a restart on a programmed plane writes nothing at all when nothing changed */
static void a_restart_is_neutral(void **state)
{
	struct world *w = *state;

	start_warm(w);
	world_stop(w);
	fake_plane_clear_journal(&w->plane);

	world_start(w, CONFIG("startup-min-delay: 50ms, startup-max-delay: 20s"), loop_monotonic());
	feed(w, "b1", CODE_L4CON, 1); /* known to be down before the hands-off phase is over */
	testing_pass(w->loop, 0.02);
	reconcile_sync_all(w->reconcile);
	testing_pass(w->loop, 0.01);
	assert_int_equal(w->plane.journal.n, 0);
	feed(w, "b1", CODE_L4OK, 5);
	feed(w, "b2", CODE_L4OK, 5);
	testing_pass(w->loop, 0.1);
	assert_int_equal(w->plane.journal.n, 0); /* b9 is not known yet: held */
	feed(w, "b9", CODE_L4OK, 5);
	feed(w, "other", CODE_L4OK, 5);
	settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* NFR-1.2, phase 2: a VIP is released alone, as soon as its backends are known */
static void a_vip_is_released_alone(void **state)
{
	struct world *w = *state;

	world_start(w, CONFIG("startup-min-delay: 10ms, startup-max-delay: 20s"), loop_monotonic());
	feed(w, "other", CODE_L4OK, 1);
	feed(w, "b1", CODE_L4OK, 1);
	testing_pass(w->loop, 0.1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
	assert_int_equal(weight(w, "10.0.0.1"), -1);
	feed(w, "b2", CODE_L4OK, 1);
	feed(w, "b9", CODE_L4CON, 1);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

static bool warmup_is_done(void *user)
{
	const struct world *w = user;

	return reconcile_phase(w->reconcile) == WARMUP_DONE && is_idle(user);
}

/* NFR-1.2, phase 3: the watchdog releases what is still held, and stale VIPs go only then */
static void the_watchdog_releases_the_rest(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key stale = { .protocol = 6, .port = 99, .address.family = AF_INET };

	lb_state_put_vip(&w->plane.state, &stale);
	world_start(w, CONFIG("startup-min-delay: 10ms, startup-max-delay: 200ms"),
		    loop_monotonic());
	feed(w, "other", CODE_L4OK, 1);
	testing_pass(w->loop, 0.1);
	assert_non_null(lb_state_vip(&w->plane.state, &stale));
	assert_int_equal(weight(w, "10.0.0.1"), -1);
	assert_true(testing_wait(w->loop, warmup_is_done, w));
	assert_int_equal(weight(w, "10.0.0.1"), 0);
	assert_null(lb_state_vip(&w->plane.state, &stale));
	world_stop(w);
}

/* NFR-1.3: neither a flapping plane nor a reload starts the clock again */
static void nothing_resets_the_warmup_clock(void **state)
{
	struct world *w = *state;
	int64_t started = loop_monotonic();
	const char *yaml = CONFIG("startup-min-delay: 50ms, startup-max-delay: 300ms");

	world_start(w, yaml, started);
	for (int i = 0; i < 4; i++) {
		testing_pass(w->loop, 0.05);
		fake_plane_set_up(&w->plane, false);
		engine_reload(w->engine, testing_snapshot(yaml));
		fake_plane_set_up(&w->plane, true);
	}
	assert_true(testing_wait(w->loop, warmup_is_done, w));
	assert_true(loop_monotonic() - started < 2 * NSEC_PER_SEC);
	assert_true(loop_monotonic() - started >= 300 * NSEC_PER_MSEC);

	/* a longer delay in a new file does not bring the warm-up back */
	engine_reload(w->engine, testing_snapshot(CONFIG("startup-min-delay: 1h, "
							 "startup-max-delay: 2h")));
	assert_int_equal(reconcile_phase(w->reconcile), WARMUP_DONE);
	all_up(w);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* A VIP that the plane refuses is tried again; the others do not wait for it. */
static void a_failing_vip_does_not_hold_the_others(void **state)
{
	struct world *w = *state;

	w->plane.fail_match = "192.0.2.10:80/tcp 10.0.0.1";
	world_start(w, CONFIG(WARM), loop_monotonic());
	all_up(w);
	testing_pass(w->loop, 0.1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
	assert_true(reconcile_stats(w->reconcile)->failures > 0);
	w->plane.fail_match = NULL;
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

static void failures_are_retried(void **state)
{
	struct world *w = *state;

	start_warm(w);
	w->plane.fail_applies = 2;
	w->plane.fail_observes = 1;
	feed(w, "b1", CODE_L4CON, 3);
	feed(w, "b2", CODE_L4CON, 3);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 0);
	assert_int_equal(weight(w, "10.0.0.9"), 100);
	assert_int_equal(w->plane.fail_applies, 0);
	assert_int_equal(w->plane.fail_observes, 0);
	world_stop(w);
}

/* FR-4.2: what was changed behind our back is put right by the next full sync */
static void drift_is_repaired(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key stray = { .protocol = 17, .port = 5, .address.family = AF_INET };

	start_warm(w);
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	lb_state_put_vip(&w->plane.state, &stray);
	reconcile_sync_all(w->reconcile);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	assert_null(lb_state_vip(&w->plane.state, &stray));
	world_stop(w);
}

/* FR-4.4: the plane goes away in the middle of a request, empty, and comes back */
static void a_lost_connection_heals(void **state)
{
	struct world *w = *state;

	start_warm(w);
	w->plane.hang = true;
	feed(w, "b1", CODE_L4CON, 3);
	testing_pass(w->loop, 0.02);
	fake_plane_set_up(&w->plane, false);
	assert_false(reconcile_connected(w->reconcile));
	lb_state_free(&w->plane.state);
	w->plane.state = (struct lb_state){ 0 };
	feed(w, "b2", CODE_L4CON, 3); /* while nobody listens */
	w->plane.hang = false;
	fake_plane_set_up(&w->plane, true);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 0);
	assert_int_equal(weight(w, "10.0.0.2"), 0);
	assert_int_equal(weight(w, "10.0.0.9"), 100);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
	world_stop(w);
}

/* DESIGN: the all-down guard lowers nothing while the fault is ours, and lets go when it is not */
static void the_guard_holds_back_only_our_own_faults(void **state)
{
	struct world *w = *state;
	const struct l4_model *m;

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	m = engine_model(w->engine);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < m->config->n_backends; i++)
			engine_record(w->engine, m->backends[i],
				      &(struct engine_result){ CODE_SOCKERR, true, "no files", 5 });
	assert_true(engine_guard(w->engine));
	assert_int_equal(m->backends[0]->health.state, HEALTH_DOWN);
	settle(w);
	reconcile_sync_all(w->reconcile);
	settle(w);
	/* while b9 was the last one up it was raised; nothing was lowered, nothing flushed */
	assert_int_equal(w->plane.journal.n, 1);
	assert_non_null(strstr(w->plane.journal.items[0], "10.0.0.9 0->100"));
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	assert_int_equal(weight(w, "10.0.0.2"), 50);

	/* the operator's word counts as ever */
	assert_int_equal(engine_disable(w->engine, "b2", NULL), 0);
	settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.2 50->0 flush", 0) != SIZE_MAX);
	assert_int_equal(weight(w, "10.0.0.1"), 100);

	/* one refusal from outside, and each is as its own next result says */
	feed(w, "b9", CODE_L4CON, 1);
	assert_false(engine_guard(w->engine));
	settle(w);
	assert_int_equal(weight(w, "10.0.0.9"), 0);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	feed(w, "b1", CODE_L4CON, 1);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 0);
	world_stop(w);
}

/* The machine heals: what comes back up was never taken away, and nothing was flushed. */
static void healing_takes_nothing_away(void **state)
{
	static const char *const names[] = { "b1", "b2", "b9", "other" };
	struct world *w = *state;
	const struct l4_model *m;

	start_warm(w);
	m = engine_model(w->engine);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < m->config->n_backends; i++)
			engine_record(w->engine, m->backends[i],
				      &(struct engine_result){ CODE_SOCKERR, true, "no files", 5 });
	assert_true(engine_guard(w->engine));
	settle(w);
	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			feed(w, names[i], CODE_L4OK, 1);
			settle(w);
		}
	assert_false(engine_guard(w->engine));
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	assert_int_equal(weight(w, "10.0.0.2"), 50);
	assert_int_equal(weight(w, "10.0.0.9"), 0);
	assert_true(fake_plane_find(&w->plane, "flush", 0) == SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->0", 0) == SIZE_MAX);
	world_stop(w);
}

static void a_real_outage_of_all_backends_is_no_guard(void **state)
{
	struct world *w = *state;

	start_warm(w);
	feed(w, "b1", CODE_L4TOUT, 3);
	feed(w, "b2", CODE_L4CON, 3);
	feed(w, "b9", CODE_L7STS, 3);
	feed(w, "other", CODE_L4TOUT, 3);
	assert_false(engine_guard(w->engine));
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 0);
	assert_int_equal(weight(w, "10.0.0.9"), 0);
	world_stop(w);
}

static char *with(const char *yaml, const char *from, const char *to)
{
	const char *at = strstr(yaml, from);
	char *out = malloc(strlen(yaml) + strlen(to) + 1);

	assert_non_null(at);
	snprintf(out, strlen(yaml) + strlen(to) + 1, "%.*s%s%s", (int)(at - yaml), yaml, to,
		 at + strlen(from));
	return out;
}

static void reload_with(struct world *w, const char *from, const char *to)
{
	char *yaml = with(CONFIG(WARM), from, to);

	engine_reload(w->engine, testing_snapshot(yaml));
	free(yaml);
}

/* DESIGN: the new address is in service before the old one goes, and that one is flushed */
static void a_new_address_comes_before_the_old_one_goes(void **state)
{
	struct world *w = *state;
	size_t added, removed;

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	reload_with(w, "10.0.0.1,", "10.0.0.77,");
	settle(w);
	added = fake_plane_find(&w->plane, "as-add 192.0.2.10:80/tcp 10.0.0.77 100", 0);
	removed = fake_plane_find(&w->plane, "as-del 192.0.2.10:80/tcp 10.0.0.1 100 flush", 0);
	assert_true(added != SIZE_MAX && removed != SIZE_MAX && added < removed);
	world_stop(w);
}

/* A family flip once wedged the sync of others: the VIP is torn down and made anew. */
static void backends_may_change_their_family(void **state)
{
	struct world *w = *state;

	start_warm(w);
	reload_with(w, "10.0.1.1,", "\"2001:db8::11\",");
	settle(w);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "2001:db8::11"), 100);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), -1);
	assert_int_equal(reconcile_stats(w->reconcile)->failures, 0);
	world_stop(w);
}

static void a_frontend_that_left_the_file_is_removed(void **state)
{
	struct world *w = *state;

	start_warm(w);
	reload_with(w, "address: 192.0.2.20", "address: 192.0.2.30");
	settle(w);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), -1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.30", "10.0.1.1"), 100);
	assert_int_equal(w->plane.state.vips.n, 2);
	world_stop(w);
}

/* DESIGN Reload: another definition of a check that all share moves no weight */
static void changing_a_shared_check_moves_no_weight(void **state)
{
	struct world *w = *state;

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	reload_with(w, "{ type: tcp, port: 80 }", "{ type: tcp, port: 81, rise: 4, fall: 2 }");
	settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	world_stop(w);
}

/* NFR-2.1: the same facts, learned in another order, give the same operations */
static void two_instances_issue_the_same_sequence(void **state)
{
	struct world *a = *state, b = { .loop = a->loop, .plane.up = true };
	static const char *const names[] = { "b1", "b2", "b9", "other" };

	world_start(a, CONFIG("startup-min-delay: 50ms, startup-max-delay: 60ms"),
		    loop_monotonic());
	world_start(&b, CONFIG("startup-min-delay: 50ms, startup-max-delay: 60ms"),
		    loop_monotonic());
	for (size_t i = 0; i < 4; i++) {
		feed(a, names[i], i == 1 ? CODE_L4CON : CODE_L4OK, 1);
		feed(&b, names[3 - i], 3 - i == 1 ? CODE_L4CON : CODE_L4OK, 1);
	}
	assert_true(testing_wait(a->loop, warmup_is_done, a));
	assert_true(testing_wait(a->loop, warmup_is_done, &b));
	assert_true(a->plane.journal.n > 5);
	assert_int_equal(a->plane.journal.n, b.plane.journal.n);
	for (size_t i = 0; i < a->plane.journal.n; i++)
		assert_string_equal(a->plane.journal.items[i], b.plane.journal.items[i]);
	world_stop(a);
	world_stop(&b);
	fake_plane_free(&b.plane);
}

#define MANY 200

static char *many_frontends(void)
{
	struct buf b = { 0 };

	buf_adds(&b, "maglev:\n  healthchecks: { c: { type: tcp, port: 80 } }\n  backends:\n"
		     "    shared: { address: 10.0.0.1, healthcheck: c }\n"
		     "    late: { address: 10.0.0.2, healthcheck: c }\n  frontends:\n");
	for (int i = 0; i < MANY; i++)
		buf_printf(&b,
			   "    f%d: { address: 192.0.2.%d, protocol: tcp, port: %d, pools: "
			   "[{ name: p, backends: { %s: {} } }] }\n",
			   i, 10 + i, 80, i == MANY - 1 ? "late" : "shared");
	buf_adds(&b, "  vpp: { lb: { ipv4-src-address: 192.0.2.1, "
		     "ipv6-src-address: \"2001:db8::1\", sync-interval: 1h, " WARM " } }\n");
	return b.p ? (buf_cstr(&b), b.p) : NULL;
}

static bool ten_done(void *user)
{
	return ((struct world *)user)->plane.journal.n >= 10;
}

/* A full sync gives way, between any two VIPs, to a change of health. */
static void a_full_sync_yields_to_a_transition(void **state)
{
	struct world *w = *state;
	char *yaml = many_frontends();
	size_t at;

	world_start(w, yaml, loop_monotonic());
	all_up(w);
	settle(w);
	lb_state_free(&w->plane.state);
	w->plane.state = (struct lb_state){ .has_conf = true, .conf = w->plane.state.conf };
	fake_plane_clear_journal(&w->plane);
	w->plane.lag = 0.0005;
	reconcile_sync_all(w->reconcile);
	assert_true(testing_wait(w->loop, ten_done, w));
	feed(w, "late", CODE_L4CON, 3); /* the last VIP of the walk */
	settle(w);
	at = fake_plane_find(&w->plane, "192.0.2.209:80", 0);
	assert_true(at < 40);
	assert_int_equal(w->plane.state.vips.n, MANY);
	world_stop(w);
	free(yaml);
}

/* NFR-2.4: acts, transitions and syncs from all sides; the fake asserts that none overlap */
static void a_storm_ends_in_the_wanted_state(void **state)
{
	struct world *w = *state;
	static const char *const names[] = { "b1", "b2", "b9", "other" };
	unsigned seed = 7;

	start_warm(w);
	w->plane.lag = 0.0002;
	for (int i = 0; i < 600; i++) {
		const char *name = names[rand_r(&seed) % 4];

		switch (rand_r(&seed) % 6) {
		case 0:
			engine_pause(w->engine, name, NULL);
			break;
		case 1:
			engine_resume(w->engine, name, NULL);
			break;
		case 2:
			reconcile_sync_all(w->reconcile);
			break;
		case 3:
			w->plane.fail_applies += rand_r(&seed) % 20 == 0;
			break;
		default:
			feed(w, name, rand_r(&seed) % 2 ? CODE_L4OK : CODE_L4CON, 1);
		}
		ev_run(w->loop, EVRUN_NOWAIT);
	}
	for (size_t i = 0; i < 4; i++)
		engine_resume(w->engine, names[i], NULL);
	all_up(w);
	settle(w);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
	assert_int_equal(weight(w, "10.0.0.2"), 50);
	assert_int_equal(weight(w, "10.0.0.9"), 0);
	world_stop(w);
}

struct heard {
	unsigned calls;
	int err;
	size_t n_ops;
	enum lb_op_kind first;
};

static void on_synced(int err, const struct lb_ops *ops, void *user)
{
	struct heard *h = user;

	h->calls++;
	h->err = err;
	h->n_ops = ops->list.n;
	h->first = ops->list.n ? ops->list.items[0].kind : LB_OP_CONF;
}

static bool was_heard(void *user)
{
	return ((struct heard *)user)->calls > 0;
}

/* A plan shows what a sync would do and does nothing; the sync then does that, and says so. */
static void a_plan_is_what_a_sync_then_does(void **state)
{
	struct world *w = *state;
	struct lb_ops ops = { 0 };
	struct heard one = { 0 }, all = { 0 };
	size_t www;

	start_warm(w);
	www = l4_config_frontend(engine_model(w->engine)->config, "www");
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	reconcile_sync_all(w->reconcile); /* reads back, and repairs */
	settle(w);
	assert_int_equal(reconcile_plan(w->reconcile, RECONCILE_EVERYTHING, &ops), 0);
	assert_int_equal(ops.list.n, 0);
	vec_free(&ops.list);

	fake_plane_clear_journal(&w->plane);
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	fake_plane_set_weight(&w->plane, "192.0.2.20", "10.0.1.1", 4);
	assert_int_equal(reconcile_sync(w->reconcile, www, on_synced, &one), 0);
	assert_int_equal(one.calls, 0); /* never from within */
	assert_true(testing_wait(w->loop, was_heard, &one));
	assert_int_equal(one.err, 0);
	assert_int_equal(one.n_ops, 1);
	assert_int_equal(one.first, LB_OP_AS_WEIGHT);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 4);

	assert_int_equal(reconcile_sync(w->reconcile, RECONCILE_EVERYTHING, on_synced, &all), 0);
	assert_true(testing_wait(w->loop, was_heard, &all));
	assert_int_equal(all.n_ops, 1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
	world_stop(w);
}

static void who_waits_for_a_sync_hears_of_failure(void **state)
{
	struct world *w = *state;
	struct heard failed = { 0 }, gone = { 0 }, forgotten = { 0 };

	start_warm(w);
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	w->plane.fail_applies = 1;
	assert_int_equal(reconcile_sync(w->reconcile, RECONCILE_EVERYTHING, on_synced, &failed), 0);
	assert_true(testing_wait(w->loop, was_heard, &failed));
	assert_int_equal(failed.err, -EIO);

	w->plane.hang = true;
	assert_int_equal(reconcile_sync(w->reconcile, RECONCILE_EVERYTHING, on_synced, &gone), 0);
	assert_int_equal(reconcile_sync(w->reconcile, RECONCILE_EVERYTHING, on_synced, &forgotten),
			 0);
	reconcile_forget(w->reconcile, &forgotten);
	testing_pass(w->loop, 0.01);
	fake_plane_set_up(&w->plane, false);
	assert_int_equal(gone.err, -ENOTCONN);
	assert_int_equal(forgotten.calls, 0);
	assert_int_equal(reconcile_sync(w->reconcile, RECONCILE_EVERYTHING, on_synced, &gone),
			 -ENOTCONN);
	world_stop(w);
}

/* What others changed is seen, and neither repaired nor forgotten to be. */
static void a_look_reads_back_and_writes_nothing(void **state)
{
	struct world *w = *state;
	struct heard seen = { 0 }, failed = { 0 }, gone = { 0 };
	struct lb_ops ops = { 0 };

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	assert_int_equal(reconcile_look(w->reconcile, on_synced, &seen), 0);
	assert_int_equal(seen.calls, 0); /* never from within */
	assert_true(testing_wait(w->loop, was_heard, &seen));
	assert_int_equal(seen.err, 0);
	assert_int_equal(reconcile_plan(w->reconcile, RECONCILE_EVERYTHING, &ops), 0);
	assert_int_equal(ops.list.n, 1);
	assert_int_equal(w->plane.journal.n, 0);
	vec_free(&ops.list);

	w->plane.fail_observes = 1;
	assert_int_equal(reconcile_look(w->reconcile, on_synced, &failed), 0);
	assert_true(testing_wait(w->loop, was_heard, &failed));
	assert_int_equal(failed.err, -EIO);
	assert_int_equal(reconcile_look(w->reconcile, on_synced, &gone),
			 -EIO); /* until the retry */
	fake_plane_set_up(&w->plane, false);
	assert_int_equal(reconcile_look(w->reconcile, on_synced, &gone), -ENOTCONN);
	assert_int_equal(gone.calls, 0);
	world_stop(w);
}

/* NFR-1.1: stopping leaves everything as it is */
static void stopping_leaves_the_plane_alone(void **state)
{
	struct world *w = *state;

	start_warm(w);
	fake_plane_clear_journal(&w->plane);
	world_stop(w);
	testing_pass(w->loop, 0.01);
	assert_int_equal(w->plane.journal.n, 0);
	assert_int_equal(weight(w, "10.0.0.1"), 100);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* What the driver tells comes through as it is, and a driver need not tell anything. */
static void what_a_driver_tells_is_passed_on(void **state)
{
	struct world *w = *state;

	world_start(w, CONFIG(WARM), 0);
	assert_true(reconcile_counts(w->reconcile) && reconcile_has_info(w->reconcile));
	assert_null(reconcile_counters(w->reconcile));
	assert_null(reconcile_info(w->reconcile));
	w->plane.counts = w->plane.known = true;
	assert_ptr_equal(reconcile_counters(w->reconcile), &w->plane.counters);
	assert_ptr_equal(reconcile_info(w->reconcile), &w->plane.info);
	world_stop(w);
}

static void a_driver_without_the_verbs_tells_nothing(void **state)
{
	struct world *w = *state;
	struct engine *engine = engine_new(w->loop, testing_snapshot(CONFIG(WARM)));
	struct reconcile *r = reconcile_new(&(struct reconcile_setup){
		.loop = w->loop, .engine = engine, .driver = &dataplane_none });

	assert_false(reconcile_counts(r) || reconcile_has_info(r));
	assert_null(reconcile_counters(r));
	assert_null(reconcile_info(r));
	reconcile_free(r);
	engine_free(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(health_becomes_weights),
		T(failover_raises_the_standby_first),
		T(flush_follows_the_cause),
		T(a_weight_is_set_with_and_without_flush),
		T(a_failed_flush_is_sent_again),
		T(a_restart_is_neutral),
		T(a_vip_is_released_alone),
		T(the_watchdog_releases_the_rest),
		T(nothing_resets_the_warmup_clock),
		T(a_failing_vip_does_not_hold_the_others),
		T(failures_are_retried),
		T(drift_is_repaired),
		T(a_lost_connection_heals),
		T(the_guard_holds_back_only_our_own_faults),
		T(healing_takes_nothing_away),
		T(a_real_outage_of_all_backends_is_no_guard),
		T(a_new_address_comes_before_the_old_one_goes),
		T(backends_may_change_their_family),
		T(a_frontend_that_left_the_file_is_removed),
		T(changing_a_shared_check_moves_no_weight),
		T(two_instances_issue_the_same_sequence),
		T(a_full_sync_yields_to_a_transition),
		T(a_storm_ends_in_the_wanted_state),
		T(a_plan_is_what_a_sync_then_does),
		T(who_waits_for_a_sync_hears_of_failure),
		T(a_look_reads_back_and_writes_nothing),
		T(stopping_leaves_the_plane_alone),
		T(what_a_driver_tells_is_passed_on),
		T(a_driver_without_the_verbs_tells_nothing),
	};

	return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
