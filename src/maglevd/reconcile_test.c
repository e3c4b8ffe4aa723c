/* SPDX-License-Identifier: Apache-2.0 */
/* The reconciler on the fake data plane: health, flushes, warm-up, reload, order. */
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
#include "src/maglevd/testing.h"
#include "src/maglevd/world.h"

/* FR-4.1: a transition reaches the data plane without waiting for the periodic sync */
static void health_becomes_weights(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	assert_int_equal(world_weight(w, "10.0.0.2"), 50);
	assert_int_equal(world_weight(w, "10.0.0.9"), 0);
	world_feed(w, "b2", CODE_L4CON, 3);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.2"), 0);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* FR-2.2, DESIGN order: the standby is raised before the failed pool is lowered */
static void failover_raises_the_standby_first(void **state)
{
	struct world *w = *state;
	size_t raised, lowered;

	world_start_warm(w);
	world_feed(w, "b2", CODE_L4CON, 3);
	world_settle(w);
	fake_plane_clear_journal(&w->plane);
	world_feed(w, "b1", CODE_L4CON, 3);
	world_settle(w);
	raised = fake_plane_find(&w->plane, "10.0.0.9 0->100", 0);
	lowered = fake_plane_find(&w->plane, "10.0.0.1 100->0 flush", 0);
	assert_true(raised != SIZE_MAX && lowered != SIZE_MAX && raised < lowered);

	fake_plane_clear_journal(&w->plane);
	world_feed(w, "b1", CODE_L4OK, 2);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	/* a standby is drained, not flushed */
	assert_true(fake_plane_find(&w->plane, "10.0.0.9 100->0", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "10.0.0.9 100->0 flush", 0) == SIZE_MAX);
	world_stop(w);
}

/* FR-4.3 */
static void flush_follows_the_cause(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	world_feed(w, "other", CODE_L4CON, 3); /* flush-on-down: false */
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.1.1 100->0", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "flush", 0) == SIZE_MAX);

	assert_int_equal(engine_pause(w->engine, "b1", NULL), 0);
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->0", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "flush", 0) == SIZE_MAX);

	/* drained already, but disabling must still end the flows */
	assert_int_equal(engine_disable(w->engine, "b1", NULL), 0);
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 0->0 flush", 0) != SIZE_MAX);

	/* and only once, however many full syncs follow */
	fake_plane_clear_journal(&w->plane);
	reconcile_sync_all(w->reconcile);
	world_settle(w);
	reconcile_sync_all(w->reconcile);
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	world_stop(w);
}

static void a_weight_is_set_with_and_without_flush(void **state)
{
	struct world *w = *state;
	struct engine_weight set = { "www", "primary", "b1", 40, true, NULL };

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	assert_int_equal(engine_set_weight(w->engine, &set), 0);
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 100->40 flush", 0) != SIZE_MAX);
	set.flush = false;
	set.weight = 41;
	assert_int_equal(engine_set_weight(w->engine, &set), 0);
	world_settle(w);
	assert_true(fake_plane_find(&w->plane, "10.0.0.1 40->41", 0) != SIZE_MAX);
	assert_true(fake_plane_find(&w->plane, "40->41 flush", 0) == SIZE_MAX);
	set.backend = "b9";
	assert_int_equal(engine_set_weight(w->engine, &set), -ENOENT);
	world_stop(w);
}

/* Goal 3, NFR-1.2: a restart on a programmed plane writes nothing at all when nothing changed */
static void a_restart_is_neutral(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	world_stop(w);
	fake_plane_clear_journal(&w->plane);

	world_start(w, CONFIG("startup-min-delay: 50ms, startup-max-delay: 20s"), loop_monotonic());
	world_feed(w, "b1", CODE_L4CON,
		   1); /* known to be down before the hands-off phase is over */
	testing_pass(w->loop, 0.02);
	reconcile_sync_all(w->reconcile);
	testing_pass(w->loop, 0.01);
	assert_int_equal(w->plane.journal.n, 0);
	world_feed(w, "b1", CODE_L4OK, 5);
	world_feed(w, "b2", CODE_L4OK, 5);
	testing_pass(w->loop, 0.1);
	assert_int_equal(w->plane.journal.n, 0); /* b9 is not known yet: held */
	world_feed(w, "b9", CODE_L4OK, 5);
	world_feed(w, "other", CODE_L4OK, 5);
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/* NFR-1.2, phase 2: a VIP is released alone, as soon as its backends are known */
static void a_vip_is_released_alone(void **state)
{
	struct world *w = *state;

	world_start(w, CONFIG("startup-min-delay: 10ms, startup-max-delay: 20s"), loop_monotonic());
	world_feed(w, "other", CODE_L4OK, 1);
	world_feed(w, "b1", CODE_L4OK, 1);
	testing_pass(w->loop, 0.1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), 100);
	assert_int_equal(world_weight(w, "10.0.0.1"), -1);
	world_feed(w, "b2", CODE_L4OK, 1);
	world_feed(w, "b9", CODE_L4CON, 1);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

static bool warmup_is_done(void *user)
{
	const struct world *w = user;

	return reconcile_phase(w->reconcile) == WARMUP_DONE && world_is_idle(user);
}

/* NFR-1.2, phase 3: the watchdog releases what is still held, and stale VIPs go only then */
static void the_watchdog_releases_the_rest(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key stale = { .protocol = 6, .port = 99, .address.family = AF_INET };

	lb_state_put_vip(&w->plane.state, &stale);
	world_start(w, CONFIG("startup-min-delay: 10ms, startup-max-delay: 200ms"),
		    loop_monotonic());
	world_feed(w, "other", CODE_L4OK, 1);
	testing_pass(w->loop, 0.1);
	assert_non_null(lb_state_vip(&w->plane.state, &stale));
	assert_int_equal(world_weight(w, "10.0.0.1"), -1);
	assert_true(testing_wait(w->loop, warmup_is_done, w));
	assert_int_equal(world_weight(w, "10.0.0.1"), 0);
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
	world_all_up(w);
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	world_stop(w);
}

/*
 * DESIGN: the new address is in service before the old one is removed, and the old one is flushed
 */
static void a_new_address_comes_before_the_old_one_goes(void **state)
{
	struct world *w = *state;
	size_t added, removed;

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	world_reload_with(w, "10.0.0.1,", "10.0.0.77,");
	world_settle(w);
	added = fake_plane_find(&w->plane, "as-add 192.0.2.10:80/tcp 10.0.0.77 100", 0);
	removed = fake_plane_find(&w->plane, "as-del 192.0.2.10:80/tcp 10.0.0.1 100 flush", 0);
	assert_true(added != SIZE_MAX && removed != SIZE_MAX && added < removed);
	world_stop(w);
}

#define TWO_PORTS(backend)                                                                         \
	"maglev:\n"                                                                                \
	"  backends: { b: { address: " backend " } }\n"                                            \
	"  frontends:\n"                                                                           \
	"    f: { address: 192.0.2.10, protocol: tcp, port: 80, pools: [{ name: p, backends: "     \
	"{ b: {} } }] }\n"                                                                         \
	"    g: { address: 192.0.2.10, protocol: tcp, port: 443, pools: [{ name: p, backends: "    \
	"{ b: {} } }] }\n"                                                                         \
	"  vpp: { lb: { ipv4-src-address: 192.0.2.1, ipv6-src-address: \"2001:db8::1\",\n"         \
	"               sync-interval: 1h, " WARM " } }\n"

/*
 * A change of address family once blocked the sync of others: the VIP is removed and added again.
 */
static void backends_may_change_their_family(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	world_reload_with(w, "10.0.1.1,", "\"2001:db8::11\",");
	world_settle(w);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "2001:db8::11"), 100);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), -1);
	assert_int_equal(reconcile_stats(w->reconcile)->failures, 0);
	world_stop(w);
}

/* facts 13, and VPP's -73: two ports of one address can only change together */
static void two_ports_of_one_address_change_their_family(void **state)
{
	struct world *w = *state;
	const struct lb_vip_key *first;

	world_start(w, TWO_PORTS("10.0.0.1"), loop_monotonic());
	world_settle(w);
	engine_reload(w->engine, testing_snapshot(TWO_PORTS("\"2001:db8::11\"")));
	world_settle(w);
	assert_int_equal(w->plane.state.vips.n, 2);
	first = &w->plane.state.vips.items[0].key;
	assert_int_equal(first->port, 80);
	assert_int_equal(world_weight(w, "2001:db8::11"), 100);
	assert_int_equal(w->plane.state.vips.items[1].encap, LB_ENCAP_GRE6);
	world_stop(w);
}

/* VPP's -81: all ports of an address and one of them exclude each other */
static void one_port_becomes_all_and_back(void **state)
{
	struct world *w = *state;
	uint64_t failures;

	world_start_warm(w);
	world_reload_with(w, "      protocol: tcp\n      port: 80\n", "");
	world_settle(w);
	assert_int_equal(w->plane.state.vips.items[0].key.port, 0);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	failures = reconcile_stats(w->reconcile)->failures;
	world_reload_with(w, "port: 80", "port: 80"); /* as it was */
	world_settle(w);
	assert_int_equal(w->plane.state.vips.items[0].key.port, 80);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	/* the order of the full sync avoids conflicts */
	assert_int_equal(reconcile_stats(w->reconcile)->failures, failures);
	world_stop(w);
}

static void a_frontend_that_left_the_file_is_removed(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	world_reload_with(w, "address: 192.0.2.20", "address: 192.0.2.30");
	world_settle(w);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.20", "10.0.1.1"), -1);
	assert_int_equal(fake_plane_weight(&w->plane, "192.0.2.30", "10.0.1.1"), 100);
	assert_int_equal(w->plane.state.vips.n, 2);
	world_stop(w);
}

/* DESIGN Reload: a new definition of a check that all share changes no weight */
static void changing_a_shared_check_moves_no_weight(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	world_reload_with(w, "{ type: tcp, port: 80 }",
			  "{ type: tcp, port: 81, rise: 4, fall: 2 }");
	world_settle(w);
	assert_int_equal(w->plane.journal.n, 0);
	world_stop(w);
}

#define TWO_STATIC(n)                                                                              \
	"maglev:\n"                                                                                \
	"  backends: { " n "1: { address: 10.0.0.1 }, " n "2: { address: 10.0.0.2 } }\n"           \
	"  frontends:\n"                                                                           \
	"    " n ": { address: 192.0.2.10, pools: [{ name: p, backends: { " n "1: {}, " n          \
	"2: {} } }] }\n"                                                                           \
	"  vpp: { lb: { ipv4-src-address: 192.0.2.1, ipv6-src-address: \"2001:db8::1\",\n"         \
	"               sync-interval: 1h, " WARM " } }\n"

/* Static backends are up at the end of a reload: nothing is written for them before that. */
static void other_names_for_static_backends_move_no_weight(void **state)
{
	struct world *w = *state;

	world_start(w, TWO_STATIC("a"), loop_monotonic());
	world_settle(w);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
	fake_plane_clear_journal(&w->plane);
	engine_reload(w->engine, testing_snapshot(TWO_STATIC("b")));
	world_settle(w);
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
		world_feed(a, names[i], i == 1 ? CODE_L4CON : CODE_L4OK, 1);
		world_feed(&b, names[3 - i], 3 - i == 1 ? CODE_L4CON : CODE_L4OK, 1);
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

/* A full sync yields to a change of health between any two VIPs. */
static void a_full_sync_yields_to_a_transition(void **state)
{
	struct world *w = *state;
	char *yaml = many_frontends();
	size_t at;

	world_start(w, yaml, loop_monotonic());
	world_all_up(w);
	world_settle(w);
	lb_state_free(&w->plane.state);
	w->plane.state = (struct lb_state){ .has_conf = true, .conf = w->plane.state.conf };
	fake_plane_clear_journal(&w->plane);
	w->plane.lag = 0.0005;
	reconcile_sync_all(w->reconcile);
	assert_true(testing_wait(w->loop, ten_done, w));
	world_feed(w, "late", CODE_L4CON, 3); /* the last VIP of the walk */
	world_settle(w);
	at = fake_plane_find(&w->plane, "192.0.2.209:80", 0);
	assert_true(at < 40);
	assert_int_equal(w->plane.state.vips.n, MANY);
	world_stop(w);
	free(yaml);
}

/* NFR-1.1: stopping leaves everything as it is */
static void stopping_leaves_the_plane_alone(void **state)
{
	struct world *w = *state;

	world_start_warm(w);
	fake_plane_clear_journal(&w->plane);
	world_stop(w);
	testing_pass(w->loop, 0.01);
	assert_int_equal(w->plane.journal.n, 0);
	assert_int_equal(world_weight(w, "10.0.0.1"), 100);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

/* What the driver reports is passed on unchanged, and a driver need not report anything. */
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

/* "connected synced:all:vip-add=2,..." */
static void on_told(const struct reconcile_event *event, void *user)
{
	static const char *const words[] = {
		[RECONCILE_CONNECTED] = "connected",
		[RECONCILE_DEGRADED] = "degraded",
		[RECONCILE_DISCONNECTED] = "disconnected",
		[RECONCILE_PROBLEM] = "problem",
		[RECONCILE_SYNCED] = "synced",
		[RECONCILE_FAILED] = "failed",
		[RECONCILE_WARMUP] = "warmup",
	};
	struct buf *out = user;

	buf_printf(out, "%s", words[event->change]);
	if (*event->reason)
		buf_printf(out, "(%s)", event->reason);
	if (event->ops) {
		buf_printf(out, ":%s:%d", event->scope == RECONCILE_ALL ? "all" : "vip",
			   (int)event->vips);
		for (size_t i = 0; i < LB_OP_KINDS; i++)
			if (event->ops[i])
				buf_printf(out, ":%s=%d", lb_op_kind_name((enum lb_op_kind)i),
					   (int)event->ops[i]);
	}
	buf_addc(out, ' ');
}

static const struct lb_as *find_as(const struct lb_state *s, const char *address)
{
	struct addr a;

	assert_int_equal(addr_parse(address, &a), 0);
	for (size_t i = 0; i < s->vips.n; i++)
		if (lb_vip_as(&s->vips.items[i], &a))
			return lb_vip_as(&s->vips.items[i], &a);
	fail_msg("%s is in no VIP", address);
	return NULL;
}

/* Up, but not on all interfaces; the reason may change, and each reason is told once. */
static void a_missing_interface_degrades_the_data_plane(void **state)
{
	struct lb_interface e0 = { .name = "e0",
				   .attached = true,
				   .mode = "native",
				   .problem = "" },
			    e1 = { .name = "e1", .mode = "", .problem = "no such interface" };
	_cleanup_(buf_free) struct buf told = { 0 };
	struct world *w = *state;

	fake_plane_set_interface(&w->plane, &e0);
	fake_plane_set_interface(&w->plane, &e1);
	world_start(w, CONFIG(WARM), 0);
	assert_int_equal(reconcile_status(w->reconcile), LB_DISCONNECTED);
	reconcile_observe(w->reconcile, on_told, &told);
	world_settle(w);
	assert_true(str_starts(str_of(buf_cstr(&told)), STR("degraded(no such interface) ")));
	assert_int_equal(reconcile_status(w->reconcile), LB_DEGRADED);
	assert_true(reconcile_connected(w->reconcile));
	assert_string_equal(reconcile_problem(w->reconcile), "no such interface");
	told.n = 0;
	e1.problem = "taken";
	fake_plane_set_interface(&w->plane, &e1);
	assert_string_equal(buf_cstr(&told), "degraded(taken) ");
	told.n = 0;
	e1.attached = true;
	fake_plane_set_interface(&w->plane, &e1);
	assert_string_equal(buf_cstr(&told), "connected ");
	assert_int_equal(reconcile_status(w->reconcile), LB_CONNECTED);
	told.n = 0;
	fake_plane_set_up(&w->plane, false);
	assert_int_equal(reconcile_status(w->reconcile), LB_DISCONNECTED);
	world_stop(w);
}

/* The time is that of the write, not of the next look; a raise ends it. */
static void the_picture_knows_since_when_a_weight_is_0(void **state)
{
	struct world *w = *state;
	int64_t before, at;
	const struct lb_state *observed;
	const struct lb_as *b2;

	world_start(w, CONFIG(WARM), 0);
	world_all_up(w);
	world_settle(w);
	observed = reconcile_observed(w->reconcile, &at);
	b2 = find_as(observed, "10.0.0.2");
	assert_int_equal(b2->idle_since, 0);
	before = loop_monotonic();
	world_feed(w, "b2", CODE_L4CON, 3);
	world_settle(w);
	at = find_as(observed, "10.0.0.2")->idle_since;
	assert_in_range(at, before, loop_monotonic());
	reconcile_sync_all(w->reconcile); /* reads the state again */
	world_settle(w);
	assert_int_equal(find_as(observed, "10.0.0.2")->idle_since, at);
	world_feed(w, "b2", CODE_L4OK, 3);
	world_settle(w);
	assert_int_equal(find_as(observed, "10.0.0.2")->idle_since, 0);
	world_stop(w);
}

static void what_becomes_known_is_told(void **state)
{
	_cleanup_(buf_free) struct buf told = { 0 };
	struct world *w = *state;

	world_start(w, CONFIG(WARM), 0);
	reconcile_observe(w->reconcile, on_told, &told);
	world_settle(w);
	assert_true(str_starts(str_of(buf_cstr(&told)), STR("connected ")));
	world_all_up(w);
	world_settle(w);
	told.n = 0;
	world_feed(w, "b2", CODE_L4CON, 3);
	world_settle(w);
	assert_string_equal(buf_cstr(&told), "synced:vip:1:as-weight=1 ");
	told.n = 0;
	reconcile_sync_all(w->reconcile);
	world_settle(w);
	assert_string_equal(buf_cstr(&told), "synced:all:2 "); /* with nothing to do */
	told.n = 0;
	fake_plane_set_up(&w->plane, false);
	assert_string_equal(buf_cstr(&told), "disconnected(the fake was told to go) ");
	reconcile_observe(w->reconcile, NULL, NULL);
	fake_plane_set_up(&w->plane, true);
	world_settle(w);
	assert_string_equal(buf_cstr(&told), "disconnected(the fake was told to go) ");
	world_stop(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(health_becomes_weights),
		T(what_becomes_known_is_told),
		T(a_missing_interface_degrades_the_data_plane),
		T(the_picture_knows_since_when_a_weight_is_0),
		T(failover_raises_the_standby_first),
		T(flush_follows_the_cause),
		T(a_weight_is_set_with_and_without_flush),
		T(a_restart_is_neutral),
		T(a_vip_is_released_alone),
		T(the_watchdog_releases_the_rest),
		T(nothing_resets_the_warmup_clock),
		T(a_new_address_comes_before_the_old_one_goes),
		T(backends_may_change_their_family),
		T(two_ports_of_one_address_change_their_family),
		T(one_port_becomes_all_and_back),
		T(a_frontend_that_left_the_file_is_removed),
		T(changing_a_shared_check_moves_no_weight),
		T(other_names_for_static_backends_move_no_weight),
		T(two_instances_issue_the_same_sequence),
		T(a_full_sync_yields_to_a_transition),
		T(stopping_leaves_the_plane_alone),
		T(what_a_driver_tells_is_passed_on),
		T(a_driver_without_the_verbs_tells_nothing),
	};

	return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
