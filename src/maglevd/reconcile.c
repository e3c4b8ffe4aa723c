/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exists: a picture of the data plane (observed), kept true by applying to it every operation
 * that the driver reports done; a queue of VIPs that have changed (lib/loop/queue), in the order of
 * VIPs; a full sync, which walks over all VIPs with a cursor; at most one piece of work under way.
 *
 * reconcile__step() (reconcile_work.c) is the whole machine. It is called whenever something
 * happened. While nothing is under way it chooses, in this order: read the state back if the
 * picture is not trusted; send the global configuration if it differs; bring the next VIP of the
 * queue into line; take one more VIP of the full sync. So a full sync yields to a change of health
 * between any two VIPs. A long run of VIPs with nothing to do is spread over several steps of an
 * urgent task.
 *
 * A picture is trusted from the read-back that made it until the connection goes or an operation
 * fails. A single-VIP sync needs no read-back, which makes a failover one round trip. Changes that
 * other programs make are found by the periodic full sync, which always reads first.
 *
 * A change of health while the operations of its VIP are under way gives the VIP another turn, and
 * is not lost. If the operations fail, the queue tries the VIP again after a growing delay; other
 * VIPs do not wait for it. Only when the state cannot be read back, or the global configuration is
 * not taken, does everything wait, for a timer of its own: the gate.
 *
 * Notifications of the engine only add to the queue; the writing happens in a later step of the
 * task. One probe result, one operator action or one reload causes several notifications, and
 * nothing must be written when only some of them have arrived.
 *
 * Until the warm-up (core/l4/warmup) releases a frontend nothing is written for it; VIPs that are
 * not configured are removed only after the warm-up.
 */
#include "src/maglevd/reconcile.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "src/maglevd/reconcile_private.h"

const struct l4_model *reconcile__model(const struct reconcile *r)
{
	return engine_model(r->engine);
}

struct plan_facts reconcile__facts(struct reconcile *r)
{
	return (struct plan_facts){ .model = reconcile__model(r),
				    .observed = &r->observed,
				    .flushes = &r->flushes,
				    .guard = engine_guard(r->engine) };
}

/* ---- callbacks of the engine ---- */

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct reconcile *r = user;

	if (b->index == SIZE_MAX)
		return; /* removed: the reload that removed it requests a full sync */
	reconcile__backend_changed(r, l4_backend_config(reconcile__model(r), b));
	reconcile__step_soon(r);
}

/* A flush is remembered until it is done, because weight and health alone would not cause it. */
static void on_weight(void *user, size_t frontend, size_t backend, bool flush)
{
	struct reconcile *r = user;
	const struct l4_config *c = reconcile__model(r)->config;

	if (flush)
		plan_flush_ask(&r->flushes, c, frontend, backend);
	reconcile__mark(r, frontend);
	reconcile__step_soon(r);
}

/*
 * The timer is not touched if the interval stays, so that frequent reloads do not put off the
 * sync.
 */
static void start_periodic(struct reconcile *r)
{
	double interval = loop_seconds(reconcile__model(r)->config->lb.sync_interval);

	if (ev_is_active(&r->periodic) && r->periodic.repeat == interval)
		return;
	r->periodic.repeat = interval;
	ev_timer_again(r->loop, &r->periodic);
}

/* Everything that depends on the configuration, at the start and after a reload. */
static void take_config(struct reconcile *r)
{
	reconcile__build_items(r);
	start_periodic(r);
	reconcile__advance_phase(r);
	reconcile__release_all_ready(r);
}

static void mark_vip(const struct lb_vip_key *vip, void *user)
{
	struct reconcile *r = user;
	size_t frontend = plan_order_find(&r->order, reconcile__model(r)->config, vip);

	if (frontend != SIZE_MAX)
		reconcile__mark(r, frontend);
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct reconcile *r = user;

	take_config(r);
	/*
	 * New VIPs are left to the full sync, in its order: a VIP that was removed may be in the
	 * way of a new one.
	 */
	reconcile__clear_items(r);
	backoff_reset(&r->gate); /* the old configuration may have been the reason */
	backoff_reset(&r->removal);
	/* callers that wait for a VIP still want it to be synced */
	waiters_each_vip(&r->waiters, mark_vip, r);
	plan_flushes_keep(&r->flushes, &r->order, reconcile__model(r)->config);
	r->driver->reconfigure(r->dp, reconcile__model(r)->config);
	reconcile_sync_all(r);
}

/* The guard holds weights back (core/l4/guard.h), so every VIP may change when it does. */
static void on_guard(void *user, bool active)
{
	struct reconcile *r = user;

	for (size_t i = 0; i < r->order.n; i++)
		reconcile__mark(r, r->order.frontends[i]);
	reconcile__step_soon(r);
}

/* The desired weight of the backend changes without a change of its state. */
static void on_unspared(void *user, const struct l4_backend_state *b)
{
	struct reconcile *r = user;
	const struct l4_backend *config = l4_backend_config(reconcile__model(r), b);

	for (size_t i = 0; i < config->n_frontends; i++)
		reconcile__mark(r, config->frontends[i]);
	reconcile__step_soon(r);
}

/* ---- timers, beginning and end ---- */

static bool on_step(struct task *t)
{
	reconcile__step(container_of(t, struct reconcile, task));
	return false;
}

/* The delay is over: the failed read-back or configuration is tried again. */
static void on_gate(void *user)
{
	reconcile__step(user);
}

/* Removals are only done by a full sync, so another one is needed. */
static void on_removal(void *user)
{
	reconcile__want_walk(user);
	reconcile__step(user);
}

/* An item of the queue is due again. */
static void on_queue(void *user)
{
	reconcile__step_soon(user);
}

static void on_warmup(struct ev_loop *loop, ev_timer *w, int events)
{
	struct reconcile *r = w->data;

	ev_now_update(loop);
	reconcile__advance_phase(r);
	reconcile__step(r);
}

static void on_periodic(struct ev_loop *loop, ev_timer *w, int events)
{
	reconcile_sync_all(w->data);
}

static void init_timers(struct reconcile *r)
{
	const struct queue_spec spec = { .step = reconcile__turn,
					 .wake = on_queue,
					 .user = r,
					 .parallel = 1,
					 .retry = reconcile__retry };

	queue_init(&r->queue, r->loop, &spec);
	backoff_init(&r->gate, r->loop, &reconcile__retry, on_gate, r);
	backoff_init(&r->removal, r->loop, &reconcile__retry, on_removal, r);
	task_init(&r->task, r->loop, TASK_URGENT, on_step);
	ev_init(&r->periodic, on_periodic);
	ev_init(&r->warmup, on_warmup);
	r->periodic.data = r->warmup.data = r;
}

struct reconcile *reconcile_new(const struct reconcile_setup *setup)
{
	struct reconcile *r = mem_zalloc(sizeof(*r));
	const struct dataplane_events events = { .up = reconcile__up,
						 .down = reconcile__down,
						 .problem = reconcile__problem,
						 .user = r };

	r->loop = setup->loop;
	r->engine = setup->engine;
	r->driver = setup->driver;
	r->started = setup->started;
	waiters_init(&r->waiters);
	waiters_init(&r->lookers);
	init_timers(r);
	take_config(r);
	r->observer = (struct engine_observer){ .backend = on_backend,
						.weight = on_weight,
						.reloaded = on_reloaded,
						.guard = on_guard,
						.unspared = on_unspared,
						.user = r };
	engine_observe(r->engine, &r->observer);
	r->dp = r->driver->start(r->loop, reconcile__model(r)->config, &events);
	return r;
}

void reconcile_free(struct reconcile *r)
{
	if (!r)
		return;
	r->driver->stop(r->dp);
	task_cancel(&r->task);
	backoff_stop(&r->gate);
	backoff_stop(&r->removal);
	queue_stop(&r->queue);
	ev_timer_stop(r->loop, &r->periodic);
	ev_timer_stop(r->loop, &r->warmup);
	lb_state_free(&r->observed);
	plan_order_free(&r->order);
	free(r->items);
	vec_free(&r->ops.list);
	vec_free(&r->flushes.list);
	waiters_free(&r->waiters);
	waiters_free(&r->lookers);
	free(r);
}

void reconcile_observe(struct reconcile *r, reconcile_observer_fn observer, void *user)
{
	r->told = observer;
	r->told_user = user;
}

void reconcile_sync_all(struct reconcile *r)
{
	reconcile__want_walk(r);
	reconcile__step_soon(r);
}

int reconcile_look(struct reconcile *r, waiter_done_fn done, void *user)
{
	int err = r->link == LINK_DOWN ? -ENOTCONN : reconcile__is_gated(r) ? -EIO : 0;

	if (err == 0)
		err = waiters_add(&r->lookers, NULL, done, user);
	if (err == 0)
		reconcile__step_soon(r); /* done() must not be called from within */
	return err;
}

int reconcile_plan(struct reconcile *r, size_t frontend, struct lb_ops *out)
{
	struct plan_flushes none = { 0 };
	struct plan_facts f = reconcile__facts(r);

	if (r->link != LINK_READ)
		return -ENOTCONN;
	f.flushes = &none; /* planning must not mark the waiting flushes as under way */
	if (frontend == RECONCILE_EVERYTHING)
		plan_everything(&r->order, &f, out);
	else
		plan_frontend(&f, frontend, out);
	return 0;
}

int reconcile_sync(struct reconcile *r, size_t frontend, waiter_done_fn done, void *user)
{
	bool everything = frontend == RECONCILE_EVERYTHING;
	struct lb_vip_key key = { 0 };
	int err;

	if (r->link == LINK_DOWN)
		return -ENOTCONN;
	if (reconcile__is_gated(r))
		return -EIO;
	if (r->phase == WARMUP_HANDS_OFF ||
	    (!everything && !reconcile__model(r)->frontends[frontend].released))
		return -EAGAIN;
	if (!everything)
		key = l4_frontend_key(&reconcile__model(r)->config->frontends[frontend]);
	err = waiters_add(&r->waiters, everything ? NULL : &key, done, user);
	if (err < 0)
		return err;
	if (everything)
		reconcile__want_walk(r);
	else
		reconcile__mark(r, frontend);
	if (r->work == WORK_NONE)
		reconcile__distrust(r); /* the caller wants a fresh read-back */
	reconcile__step_soon(r);	/* done() must not be called from within */
	return 0;
}

void reconcile_forget(struct reconcile *r, void *user)
{
	waiters_forget(&r->waiters, user);
	waiters_forget(&r->lookers, user);
}

const struct reconcile_stats *reconcile_stats(const struct reconcile *r)
{
	return &r->stats;
}

const char *reconcile_dataplane(const struct reconcile *r)
{
	return r->driver->name;
}

bool reconcile_connected(const struct reconcile *r)
{
	return r->link != LINK_DOWN;
}

enum lb_status reconcile_status(const struct reconcile *r)
{
	return r->status;
}

const char *reconcile_problem(const struct reconcile *r)
{
	const struct dataplane_info *info = reconcile_info(r);
	const struct lb_attachment *attachment = reconcile_attachment(r);

	if (info && *info->problem)
		return info->problem;
	return attachment ? attachment->problem : "";
}

enum warmup_phase reconcile_phase(const struct reconcile *r)
{
	return r->phase;
}

const struct lb_state *reconcile_observed(const struct reconcile *r, int64_t *ret_at)
{
	*ret_at = r->observed_at;
	return r->observed_at ? &r->observed : NULL;
}

const struct lb_counters *reconcile_counters(const struct reconcile *r)
{
	return r->driver->counters ? r->driver->counters(r->dp) : NULL;
}

const struct dataplane_info *reconcile_info(const struct reconcile *r)
{
	return r->driver->info ? r->driver->info(r->dp) : NULL;
}

const struct lb_attachment *reconcile_attachment(const struct reconcile *r)
{
	return r->driver->attachment ? r->driver->attachment(r->dp) : NULL;
}

bool reconcile_counts(const struct reconcile *r)
{
	return r->driver->counters != NULL;
}

bool reconcile_has_info(const struct reconcile *r)
{
	return r->driver->info != NULL;
}

bool reconcile_idle(struct reconcile *r)
{
	return r->work == WORK_NONE && r->walk == WALK_NONE && !r->queue.waiting.n &&
	       !r->queue.delayed.n && !backoff_waits(&r->removal) && !reconcile__is_gated(r);
}
