/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data plane that fails, is changed by other programs and goes away; and callers that wait
 * meanwhile.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevd/testing.h"
#include "src/maglevd/world.h"

/* An operator's flush is done again when the request that carried it failed. */
static void a_failed_flush_is_sent_again(void **state)
{
	struct world *w = *state;
	const struct engine_weight set = { "www", "primary", "b1", 100, true, NULL };

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	w->plane.fail_applies = 1;
	assert_int_equal(engine_set_weight(w->engine, &set), 0);
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->100 flush", 0) != SIZE_MAX);
	assert_int_equal(w->plane.journal.n, 1);
	world_stop(w);
}

/* A VIP that the plane refuses is tried again; the others do not wait for it. */
static void a_failing_vip_does_not_hold_the_others(void **state)
{
	struct world *w = *state;

	w->plane.fail_match = "192.0.2.10:80/tcp 10.0.0.1";
	world_start(w, CONFIG(WARM), loop_monotonic());
	world_all_up(w);
	testing_pass(w->loop, 0.1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
	assert_true(reconcile_stats(w->reconcile)->failures > 0);
	w->plane.fail_match = NULL;
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

static void failures_are_retried(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	w->plane.fail_applies = 2;
	w->plane.fail_observes = 1;
	world_feed(w, "b1", CODE_L4CON, 3);
	world_feed(w, "b2", CODE_L4CON, 3);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 0);
	assert_int_equal(world_weight(w, "10.0.0.9"), 100);
	assert_int_equal(w->plane.fail_applies, 0);
	assert_int_equal(w->plane.fail_observes, 0);
	world_stop(w);
}

/* FR-4.2: what another program changed is repaired by the next full sync */
static void drift_is_repaired(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key stray = { .protocol = 17, .port = 5, .address.family = AF_INET };

	world_start_warm(w);
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	lb_state_put_vip(&w->plane.state, &stray);
	reconcile_sync_all(w->reconcile);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	assert_null(lb_state_vip(&w->plane.state, &stray));
	world_stop(w);
}

/* FR-4.4: the plane goes away in the middle of a request, empty, and comes back */
static void a_lost_connection_heals(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	w->plane.hang = true;
	world_feed(w, "b1", CODE_L4CON, 3);
	testing_pass(w->loop, 0.02);
	fake_plane_set_up(&w->plane, false);
	assert_false(reconcile_connected(w->reconcile));
	lb_state_free(&w->plane.state);
	w->plane.state = (struct lb_state){ 0 };
	world_feed(w, "b2", CODE_L4CON, 3); /* while the data plane is away */
	w->plane.hang = false;
	fake_plane_set_up(&w->plane, true);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 0);
	assert_int_equal(world_weight(w, "10.0.0.2"), 0);
	assert_int_equal(world_weight(w, "10.0.0.9"), 100);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
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

/* A plan shows what a sync would do and does nothing; the sync then does and reports the same. */
static void a_plan_is_what_a_sync_then_does(void **state)
{
	struct world *w = *state;
	struct lb_ops ops = { 0 };
	struct heard one = { 0 }, all = { 0 };
	size_t www;

	world_start_warm(w);
	www = l4_config_frontend(engine_model(w->engine)->config, "www");
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	reconcile_sync_all(w->reconcile); /* reads back, and repairs */
	world_settle(w);
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

	world_start_warm(w);
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

/* What other programs changed is read, but not repaired; a later sync still repairs it. */
static void a_look_reads_back_and_writes_nothing(void **state)
{
	struct world *w = *state;
	struct heard seen = { 0 }, failed = { 0 }, gone = { 0 };
	struct lb_ops ops = { 0 };

	world_start_warm(w);
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

/* A removal that failed is tried again, too, long before the next periodic sync. */
static void a_removal_that_failed_is_tried_again(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key stray = { .protocol = 17, .port = 5, .address.family = AF_INET };

	world_start_warm(w);
	lb_state_put_vip(&w->plane.state, &stray);
	w->plane.fail_applies = 1;
	reconcile_sync_all(w->reconcile);
	world_settle(w);
	assert_int_equal(w->plane.fail_applies, 0);
	assert_null(lb_state_vip(&w->plane.state, &stray));
	world_stop(w);
}

/* An operator's flush that could not be done is done once when the data plane is back. */
static void a_flush_waits_for_the_data_plane(void **state)
{
	struct world *w = *state;
	const struct engine_weight set = { "www", "primary", "b1", 100, true, NULL };

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	fake_plane_set_up(&w->plane, false);
	for (int i = 0; i < 3; i++)
		assert_int_equal(engine_set_weight(w->engine, &set), 0);
	fake_plane_set_up(&w->plane, true);
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 1);
	assert_non_null(strstr(w->plane.journal.items[0], "10.0.0.1 100->100 flush"));
	world_stop(w);
}

static bool b1_is_out(void *user)
{
	return world_weight(user, "10.0.0.1") == 0;
}

static bool b1_is_in(void *user)
{
	return world_weight(user, "10.0.0.1") == 100;
}

/* A change while a request is under way does not wait for the retry of that request. */
static void a_change_during_a_failure_does_not_wait_for_the_retry(void **state)
{
	struct world *w = *state;
	int64_t before;

	world_start_warm(w);
	w->plane.lag = 0.02;
	w->plane.fail_applies = 1;
	world_feed(w, "b2", CODE_L4CON, 3);
	testing_pass(w->loop, 0.005);
	world_feed(w, "b1", CODE_L4CON, 3);
	before = loop_monotonic();
	assert_true(testing_wait(w->loop, b1_is_out, w));
	assert_true(loop_monotonic() - before < 200 * NSEC_PER_MSEC);
	world_stop(w);
}

static bool failed_thrice(void *user)
{
	return reconcile_stats(((struct world *)user)->reconcile)->failures >= 3;
}

/* A VIP that is always refused delays neither the others nor reading back. */
static void a_vip_that_is_refused_for_ever_slows_nobody_else(void **state)
{
	struct world *w = *state;
	int64_t before;

	world_start_warm(w);
	w->plane.fail_match = "192.0.2.20";
	world_feed(w, "other", CODE_L4CON, 3);
	assert_true(testing_wait(w->loop, failed_thrice, w)); /* the next is a second away */
	w->plane.fail_observes = 1;
	reconcile_sync_all(w->reconcile);
	world_feed(w, "b1", CODE_L4CON, 3);
	before = loop_monotonic();
	assert_true(testing_wait(w->loop, b1_is_out, w));
	assert_true(loop_monotonic() - before < 600 * NSEC_PER_MSEC);

	w->plane.fail_applies = 1;
	world_feed(w, "b1", CODE_L4OK, 2);
	before = loop_monotonic();
	assert_true(testing_wait(w->loop, b1_is_in, w));
	assert_true(loop_monotonic() - before < 600 * NSEC_PER_MSEC);
	world_stop(w);
}

/* A reload may fix the problem: it does not wait for the delay of an earlier failure. */
static void a_reload_is_a_new_try(void **state)
{
	struct world *w = *state;
	int64_t before;

	w->plane.fail_match = "timeout 40s";
	world_start(w, CONFIG(WARM), loop_monotonic());
	world_all_up(w);
	assert_true(testing_wait(w->loop, failed_thrice, w)); /* the next is a second away */
	world_reload_with(w, "sync-interval", "flow-timeout: 50s, sync-interval");
	before = loop_monotonic();
	world_settle(w);
	assert_true(loop_monotonic() - before < 600 * NSEC_PER_MSEC);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* Callers are not left waiting for a data plane that can neither be read nor configured. */
static void who_asks_is_not_left_waiting(void **state)
{
	struct world *w = *state;
	struct heard all = { 0 }, one = { 0 }, late = { 0 };

	world_start_warm(w);
	w->plane.fail_observes = 100;
	assert_int_equal(reconcile_sync(w->reconcile, RECONCILE_EVERYTHING, on_synced, &all), 0);
	assert_int_equal(reconcile_sync(w->reconcile, 0, on_synced, &one), 0);
	assert_true(testing_wait(w->loop, was_heard, &all));
	assert_true(testing_wait(w->loop, was_heard, &one));
	assert_int_equal(all.err, -EIO);
	assert_int_equal(one.err, -EIO);
	assert_int_equal(reconcile_sync(w->reconcile, 0, on_synced, &late), -EIO);
	world_stop(w);
}

/* A reload between the request and the sync does not lose the request. */
static void who_waits_for_a_vip_outlives_a_reload(void **state)
{
	struct world *w = *state;
	struct heard one = { 0 };
	size_t www;

	world_start_warm(w);
	www = l4_config_frontend(engine_model(w->engine)->config, "www");
	fake_plane_set_weight(&w->plane, "192.0.2.10", "10.0.0.1", 3);
	assert_int_equal(reconcile_sync(w->reconcile, www, on_synced, &one), 0);
	world_reload_with(w, "10.0.1.1,", "10.0.1.2,");
	assert_true(testing_wait(w->loop, was_heard, &one));
	assert_int_equal(one.err, 0);
	assert_int_equal(one.n_ops, 1);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* ---- everything at once ---- */

struct storm {
	struct world *w;
	const char *name; /* of some backend */
	unsigned dice;
	struct heard heard;
	unsigned asked;
};

static void storm_pause(struct storm *s)
{
	engine_pause(s->w->engine, s->name, NULL);
}

static void storm_resume(struct storm *s)
{
	engine_resume(s->w->engine, s->name, NULL);
}

static void storm_disable(struct storm *s)
{
	engine_disable(s->w->engine, s->name, NULL);
}

static void storm_enable(struct storm *s)
{
	engine_enable(s->w->engine, s->name, NULL);
}

static void storm_probe(struct storm *s)
{
	world_feed(s->w, s->name, s->dice % 2 ? CODE_L4OK : CODE_L4CON, 1);
}

static void storm_fail_here(struct storm *s)
{
	world_fail_here(s->w, 1);
}

static void storm_weight(struct storm *s)
{
	const struct engine_weight set = { "www",	"primary", "b1", s->dice % 3 * 50,
					   s->dice & 1, NULL };

	engine_set_weight(s->w->engine, &set);
}

static void storm_reload(struct storm *s)
{
	world_reload_with(s->w, "10.0.1.1,", s->dice % 2 ? "10.0.1.1," : "10.0.1.2,");
}

static void storm_sync(struct storm *s)
{
	size_t frontend = s->dice % 3 ? s->dice % 2 : RECONCILE_EVERYTHING;

	s->asked += reconcile_sync(s->w->reconcile, frontend, on_synced, &s->heard) == 0;
}

static void storm_look(struct storm *s)
{
	s->asked += reconcile_look(s->w->reconcile, on_synced, &s->heard) == 0;
}

static void storm_refuse(struct storm *s)
{
	s->w->plane.fail_applies += s->dice % 10 == 0;
	s->w->plane.fail_observes += s->dice % 40 == 1;
}

static void storm_flap(struct storm *s)
{
	if (s->dice % 8)
		return;
	fake_plane_set_up(&s->w->plane, false);
	fake_plane_set_up(&s->w->plane, true);
}

static void (*const storm_acts[])(struct storm *) = {
	storm_pause,  storm_resume, storm_disable, storm_enable,    storm_probe,
	storm_probe,  storm_probe,  storm_weight,  storm_fail_here, /* these only fill the queue */
	storm_reload, storm_sync,   storm_look,	   storm_refuse,    storm_flap,
};
#define STORM_MARKS 9

static void rage(struct storm *s, size_t n_acts, int times, unsigned *seed)
{
	static const char *const names[] = { "b1", "b2", "b9", "other" };

	for (int i = 0; i < times; i++) {
		s->name = names[(unsigned)rand_r(seed) % ARRAY_SIZE(names)];
		s->dice = (unsigned)rand_r(seed);
		storm_acts[(unsigned)rand_r(seed) % n_acts](s);
		ev_run(s->w->loop, EVRUN_NOWAIT);
	}
}

/* Nothing fails any more, and no retry is far in the future. */
static void mend(struct storm *s)
{
	s->w->plane.fail_applies = s->w->plane.fail_observes = 0;
	fake_plane_set_up(&s->w->plane, false);
	fake_plane_set_up(&s->w->plane, true);
	world_settle(s->w);
}

static void all_is_well(struct storm *s)
{
	const struct l4_config *c = engine_model(s->w->engine)->config;

	for (size_t i = 0; i < c->n_backends; i++) {
		engine_enable(s->w->engine, c->backends[i].name, NULL);
		engine_resume(s->w->engine, c->backends[i].name, NULL);
	}
	engine_set_weight(s->w->engine,
			  &(struct engine_weight){ "www", "primary", "b1", 100, false, NULL });
	world_all_up(s->w);
	world_settle(s->w);
}

static void assert_nothing_to_do(struct storm *s)
{
	struct lb_ops ops = { 0 };

	assert_int_equal(reconcile_plan(s->w->reconcile, RECONCILE_EVERYTHING, &ops), 0);
	assert_int_equal(ops.list.n, 0);
	vec_free(&ops.list);
}

/* NFR-2.4: the fake asserts that no two requests overlap, and each caller is called once */
static void a_storm_ends_in_the_wanted_state(void **state)
{
	struct storm s = { .w = *state };
	uint64_t full_syncs;
	unsigned seed = 7;

	world_start_warm(s.w);
	s.w->plane.lag = 0.0002;
	rage(&s, ARRAY_SIZE(storm_acts), 3000, &seed);
	mend(&s);
	assert_true(s.asked > 0);
	assert_int_equal(s.heard.calls, s.asked);

	/* and no queued VIP is lost: there is no full sync to make up for it */
	full_syncs = reconcile_stats(s.w->reconcile)->full_syncs;
	for (int gust = 0; gust < 100; gust++) {
		rage(&s, STORM_MARKS, 20, &seed);
		world_settle(s.w);
		assert_nothing_to_do(&s);
	}
	all_is_well(&s);
	assert_nothing_to_do(&s);
	assert_int_equal(reconcile_stats(s.w->reconcile)->full_syncs, full_syncs);
	assert_int_equal(world_weight(s.w, "10.0.0.1"), 100);
	assert_int_equal(world_weight(s.w, "10.0.0.2"), 50);
	assert_int_equal(world_weight(s.w, "10.0.0.9"), 0);
	world_stop(s.w);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_failed_flush_is_sent_again),
		T(a_failing_vip_does_not_hold_the_others),
		T(failures_are_retried),
		T(drift_is_repaired),
		T(a_lost_connection_heals),
		T(a_plan_is_what_a_sync_then_does),
		T(who_waits_for_a_sync_hears_of_failure),
		T(a_look_reads_back_and_writes_nothing),
		T(a_removal_that_failed_is_tried_again),
		T(a_flush_waits_for_the_data_plane),
		T(a_change_during_a_failure_does_not_wait_for_the_retry),
		T(a_vip_that_is_refused_for_ever_slows_nobody_else),
		T(a_reload_is_a_new_try),
		T(who_asks_is_not_left_waiting),
		T(who_waits_for_a_vip_outlives_a_reload),
		T(a_storm_ends_in_the_wanted_state),
	};

	return cmocka_run_group_tests_name("reconcile_faults", tests, NULL, NULL);
}
