/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exists: a picture of the data plane (observed), kept true by applying to it every operation
 * that the driver reports done; a mark per frontend (clean, dirty, failed); a full sync with a
 * cursor; one piece of work under way at most.
 *
 * step() is the whole machine: it is called whenever something happened, and while nothing is under
 * way it chooses, in this order: read the state back if the picture is not trusted; send the global
 * configuration if it differs; bring the first dirty VIP into line; take one more VIP of the full
 * sync. So a full sync yields to a change of health between any two VIPs. A long run of VIPs with
 * nothing to do is cut into slices by a timer of zero seconds.
 *
 * A picture is trusted from the read-back that made it until the connection goes or an operation
 * fails. That a single-VIP sync needs no read-back makes a failover one round trip; what others
 * change behind our back is found by the periodic full sync, which always reads first.
 *
 * A VIP is marked clean when its operations are issued, not when they are done: a change of health
 * that comes in between makes it dirty again and is not lost. If they fail it is marked failed, and
 * a timer with a growing delay makes it dirty again; others do not wait for it. Only when the state
 * cannot be read back, or the global configuration is not taken, everything waits, for a timer of
 * its own: the gate.
 *
 * What the engine tells only leaves marks, and is acted upon in the next turn of the loop: one
 * result, one act or one reload is told in several parts, and nothing is written about half of it.
 *
 * Until the warm-up (core/l4/warmup) releases a frontend nothing is written for it; what nobody
 * asks for is removed only when the warm-up is over.
 */
#include "src/maglevd/reconcile.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/maglevd/dirty.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/plan.h"

#define SLICE (2 * NSEC_PER_MSEC) /* of VIPs with nothing to do, before others get the loop */
#define RETRY_FIRST 0.25	  /* s, doubled with every failure ... */
#define RETRY_LAST 30.0		  /* ... up to this */
#define NAMES_SHOWN ((size_t)512)

enum work { NOTHING, OBSERVING, APPLYING };

struct backoff {
	ev_timer timer;
	double delay; /* s, of its next run */
};

struct batch { /* what the log line at the end of a run of work will say */
	uint64_t vips, ops[LB_OP_KINDS];
	bool any;
};

struct reconcile {
	struct ev_loop *loop;
	struct engine *engine;
	const struct dataplane_driver *driver;
	struct dataplane *dp;
	struct engine_observer observer;
	reconcile_observer_fn told; /* of what becomes known; NULL: nobody */
	void *told_user;
	int64_t started;
	struct reconcile_stats stats;

	bool connected, trusted;
	struct lb_state observed;
	int64_t observed_at; /* unix ns; 0: nothing was read since it was connected */

	struct dirty dirty;
	struct plan_flushes flushes;
	struct waiters waiters, lookers;

	enum work work;
	struct lb_ops ops;	   /* being applied */
	struct lb_vip_key current; /* whose they are */
	enum reconcile_scope scope;
	bool repeated;	/* the last time they failed as well */
	bool unremoved; /* a VIP that nobody asks for could not be removed */

	bool full_wanted, full_running, full_started;
	struct lb_vip_key cursor;
	struct batch batches[RECONCILE_SCOPES];

	enum warmup_phase phase; /* last acted upon */
	struct backoff retry;	 /* of what failed */
	struct backoff gate; /* active: reading back or the configuration failed, nothing is done */
	ev_timer again, periodic, warmup;
};

static void step(struct reconcile *r);

static const struct l4_model *model(const struct reconcile *r)
{
	return engine_model(r->engine);
}

static struct plan_facts facts(struct reconcile *r)
{
	return (struct plan_facts){ .model = model(r),
				    .observed = &r->observed,
				    .flushes = &r->flushes,
				    .guard = engine_guard(r->engine) };
}

static void notify(const struct reconcile *r, const struct reconcile_event *event)
{
	if (r->told)
		r->told(event, r->told_user);
}

static void notify_change(const struct reconcile *r, enum reconcile_change change,
			  const char *reason)
{
	notify(r, &(struct reconcile_event){ .change = change, .reason = reason });
}

/* ---- what the driver tells ---- */

static void count_op(struct reconcile *r, const struct lb_op *op)
{
	struct batch *batch = &r->batches[r->scope];
	struct buf text = { 0 };

	waiters_note(&r->waiters, op);
	r->stats.ops[r->scope][op->kind]++;
	batch->ops[op->kind]++;
	batch->any = true;
	if (!log_wants(LOG_DEBUG))
		return;
	lb_op_print(op, &text);
	log_debug("lb-sync-op", LOG_S("dataplane", r->driver->name), LOG_SN("op", text.p, text.n));
	buf_free(&text);
}

static void settle_flushes(struct reconcile *r, bool done)
{
	for (size_t i = r->flushes.list.n; i-- > 0;) {
		struct plan_flush *f = &r->flushes.list.items[i];

		if (!f->under_way)
			continue;
		f->under_way = false;
		if (done)
			vec_remove_at(&r->flushes.list, i);
	}
}

/* Starts the timer, unless it runs already. Returns the seconds until it is over. */
static double back_off(struct reconcile *r, struct backoff *b)
{
	double delay = b->delay;

	if (ev_is_active(&b->timer))
		return ev_timer_remaining(r->loop, &b->timer);
	ev_timer_set(&b->timer, delay, 0.);
	ev_timer_start(r->loop, &b->timer);
	b->delay = delay * 2 < RETRY_LAST ? delay * 2 : RETRY_LAST;
	return delay;
}

static void calm_down(struct reconcile *r, struct backoff *b)
{
	ev_timer_stop(r->loop, &b->timer);
	b->delay = RETRY_FIRST;
}

static bool is_gated(struct reconcile *r)
{
	return ev_is_active(&r->gate.timer);
}

/* Who fails for the first time does not wait as long as what fails again and again. */
static double retry_later(struct reconcile *r)
{
	if (!r->repeated && (!ev_is_active(&r->retry.timer) ||
			     ev_timer_remaining(r->loop, &r->retry.timer) > RETRY_FIRST))
		calm_down(r, &r->retry);
	return back_off(r, &r->retry);
}

static void log_failure(struct reconcile *r, int err, const char *op, double retry)
{
	_cleanup_(buf_free) struct buf reason = { 0 };

	r->stats.failures++;
	log_warn("lb-sync-failed", LOG_S("dataplane", r->driver->name), LOG_S("op", op),
		 LOG_S("error", strerror(-err)), LOG_D("retry_seconds", retry));
	buf_printf(&reason, "%s: %s", op, strerror(-err));
	notify_change(r, RECONCILE_FAILED, buf_cstr(&reason));
}

/* Nobody is left waiting for what may take long. */
static void close_gate(struct reconcile *r, int err, const char *op)
{
	log_failure(r, err, op, back_off(r, &r->gate));
	waiters_fail_all(&r->waiters, -EIO);
	waiters_fail_all(&r->lookers, -EIO);
}

static void on_apply_failed(struct reconcile *r, int err, const struct lb_op *op)
{
	size_t frontend = plan_order_find(&r->dirty.order, model(r)->config, &r->current);
	struct buf text = { 0 };

	r->trusted = false;
	lb_op_print(op, &text);
	if (op->kind == LB_OP_CONF) {
		close_gate(r, err, buf_cstr(&text));
	} else {
		waiters_note_failure(&r->waiters, &r->current);
		if (frontend != SIZE_MAX)
			dirty_mark(&r->dirty, frontend, DIRTY_FAILED);
		else
			r->unremoved = true;
		log_failure(r, err, buf_cstr(&text), retry_later(r));
	}
	buf_free(&text);
}

static void on_applied(void *user, int err, size_t n_done)
{
	struct reconcile *r = user;

	assert(r->work == APPLYING && n_done <= r->ops.list.n);
	r->work = NOTHING;
	for (size_t i = 0; i < n_done; i++) {
		if (!lb_state_apply(&r->observed, &r->ops.list.items[i]))
			r->trusted = false;
		count_op(r, &r->ops.list.items[i]);
	}
	settle_flushes(r, err == 0);
	if (err)
		on_apply_failed(r, err,
				&r->ops.list.items[n_done < r->ops.list.n ? n_done : n_done - 1]);
	step(r);
}

/* A flush that was done stays done as long as the AS is still drained. */
static void keep_flush_memory(const struct lb_state *old, struct lb_state *fresh)
{
	for (size_t i = 0; i < fresh->vips.n; i++) {
		struct lb_vip *vip = &fresh->vips.items[i];
		const struct lb_vip *before = lb_state_vip(old, &vip->key);

		for (size_t j = 0; before && j < vip->as.n; j++) {
			const struct lb_as *as = lb_vip_as(before, &vip->as.items[j].address);

			vip->as.items[j].flush = as && as->flush && vip->as.items[j].weight == 0;
		}
	}
}

static void on_observed(void *user, int err, const struct lb_state *state)
{
	struct reconcile *r = user;
	struct lb_state fresh = { 0 };

	assert(r->work == OBSERVING);
	r->work = NOTHING;
	r->stats.observes++;
	if (err) {
		close_gate(r, err, "observe");
		return;
	}
	lb_state_copy(state, &fresh);
	keep_flush_memory(&r->observed, &fresh);
	lb_state_free(&r->observed);
	r->observed = fresh;
	r->observed_at = loop_realtime();
	r->trusted = true;
	waiters_full_ended(&r->lookers);
	step(r);
}

/* One line for a run of work that changed something; a debug one for a full sync that did not. */
static void log_batch(struct reconcile *r, enum reconcile_scope scope)
{
	struct batch *b = &r->batches[scope];

	if (b->any || (scope == RECONCILE_ALL && b->vips))
		log_at(b->any ? LOG_INFO : LOG_DEBUG,
		       scope == RECONCILE_ALL ? "lb-sync-all" : "lb-sync-vip",
		       LOG_S("dataplane", r->driver->name), LOG_U("vips", b->vips),
		       LOG_U("conf_updated", b->ops[LB_OP_CONF]),
		       LOG_U("vip_added", b->ops[LB_OP_VIP_ADD]),
		       LOG_U("vip_removed", b->ops[LB_OP_VIP_DEL]),
		       LOG_U("as_added", b->ops[LB_OP_AS_ADD]),
		       LOG_U("as_removed", b->ops[LB_OP_AS_DEL]),
		       LOG_U("as_weight_updated", b->ops[LB_OP_AS_WEIGHT]),
		       LOG_B("held", engine_guard(r->engine)));
	if (b->any || (scope == RECONCILE_ALL && b->vips))
		notify(r, &(struct reconcile_event){ .change = RECONCILE_SYNCED,
						     .reason = "",
						     .scope = scope,
						     .vips = b->vips,
						     .ops = b->ops });
	*b = (struct batch){ 0 };
}

/* What was written before it went; half a full sync that wrote nothing is not worth a line. */
static void close_batch(struct reconcile *r, enum reconcile_scope scope)
{
	if (r->batches[scope].any)
		log_batch(r, scope);
	r->batches[scope] = (struct batch){ 0 };
}

static void on_up(void *user)
{
	struct reconcile *r = user;

	r->connected = true;
	r->trusted = false;
	r->full_wanted = true;
	calm_down(r, &r->gate);
	calm_down(r, &r->retry); /* the full sync comes by what failed */
	log_info("dataplane-connect", LOG_S("dataplane", r->driver->name));
	notify_change(r, RECONCILE_CONNECTED, "");
	step(r);
}

static void on_down(void *user, const char *why)
{
	struct reconcile *r = user;

	r->connected = r->trusted = false;
	r->full_running = r->full_started = false;
	r->work = NOTHING;
	r->stats.disconnects++;
	settle_flushes(r, false);
	close_batch(r, RECONCILE_VIP);
	close_batch(r, RECONCILE_ALL);
	/* what was flushed there is not known any more; saying it again does no harm */
	lb_state_free(&r->observed);
	r->observed_at = 0;
	waiters_fail_all(&r->waiters, -ENOTCONN);
	waiters_fail_all(&r->lookers, -ENOTCONN);
	log_warn("dataplane-disconnect", LOG_S("dataplane", r->driver->name), LOG_S("reason", why));
	notify_change(r, RECONCILE_DISCONNECTED, why);
}

static void on_problem(void *user)
{
	notify_change(user, RECONCILE_PROBLEM, "");
}

/* ---- the work ---- */

static void observe(struct reconcile *r)
{
	r->work = OBSERVING;
	waiters_full_begins(&r->lookers);
	r->driver->observe(r->dp, on_observed, r);
}

/* Issues what r->ops holds. False when there is nothing to do. */
static bool apply(struct reconcile *r, const struct lb_vip_key *key, enum reconcile_scope scope)
{
	if (!r->ops.list.n)
		return false;
	r->current = *key;
	r->scope = scope;
	r->work = APPLYING;
	r->driver->apply(r->dp, r->ops.list.items, r->ops.list.n, on_applied, r);
	return true;
}

static bool sync_conf(struct reconcile *r)
{
	static const struct lb_vip_key none;
	struct lb_conf want;

	r->ops.list.n = 0;
	l4_desired_conf(model(r)->config, &want);
	diff_conf(&want, &r->observed, &r->ops);
	return apply(r, &none, RECONCILE_ALL);
}

static bool sync_frontend(struct reconcile *r, size_t frontend, enum reconcile_scope scope)
{
	struct lb_vip_key key = l4_frontend_key(&model(r)->config->frontends[frontend]);
	struct plan_facts f = facts(r);

	r->ops.list.n = 0;
	r->repeated = dirty_take(&r->dirty, frontend);
	plan_frontend(&f, frontend, &r->ops);
	r->batches[scope].vips++;
	return apply(r, &key, scope);
}

static bool remove_stale(struct reconcile *r, const struct lb_vip_key *key)
{
	const struct lb_vip *have = lb_state_vip(&r->observed, key);

	if (r->phase != WARMUP_DONE || !have)
		return false;
	r->ops.list.n = 0;
	r->repeated = true; /* what nobody asks for can wait as long as anything */
	diff_remove_vip(have, &r->ops);
	return apply(r, key, RECONCILE_ALL);
}

static void full_sync_start(struct reconcile *r)
{
	r->full_wanted = false;
	r->full_running = true;
	r->full_started = false;
	r->unremoved = false;
	r->trusted = false;
	waiters_full_begins(&r->waiters);
}

static void full_sync_end(struct reconcile *r)
{
	r->full_running = false;
	r->stats.full_syncs++;
	r->stats.last_full_sync = loop_realtime();
	log_batch(r, RECONCILE_ALL);
	waiters_full_ended(&r->waiters);
}

/* The next VIP of the full sync. True when something was issued. */
static bool full_sync_next(struct reconcile *r)
{
	struct plan_facts f = facts(r);
	struct plan_step next;

	if (!plan_next(&r->dirty.order, &f, r->full_started ? &r->cursor : NULL, &next)) {
		full_sync_end(r);
		return false;
	}
	r->full_started = true;
	r->cursor = next.key;
	if (next.frontend == SIZE_MAX)
		return remove_stale(r, &next.key);
	return model(r)->frontends[next.frontend].released &&
	       sync_frontend(r, next.frontend, RECONCILE_ALL);
}

/* One piece of work. True when there may be more to do right now. */
static bool step_once(struct reconcile *r)
{
	size_t dirty;

	if (!r->trusted) {
		observe(r);
		return false;
	}
	if (sync_conf(r))
		return false;
	r->gate.delay = RETRY_FIRST;
	dirty = dirty_first(&r->dirty, model(r));
	if (dirty != SIZE_MAX)
		return !sync_frontend(r, dirty, RECONCILE_VIP);
	waiters_vips_ended(&r->waiters);
	if (r->full_running)
		return !full_sync_next(r);
	log_batch(r, RECONCILE_VIP);
	if (r->full_wanted)
		full_sync_start(r);
	else if (r->lookers.list.n)
		observe(r);
	return r->full_running;
}

static bool may_work(struct reconcile *r)
{
	return r->connected && !is_gated(r) && r->work == NOTHING;
}

static void step_soon(struct reconcile *r)
{
	ev_timer_start(r->loop, &r->again);
}

static void step(struct reconcile *r)
{
	int64_t until = loop_monotonic() + SLICE;

	if (r->phase == WARMUP_HANDS_OFF) {
		if (may_work(r) && r->lookers.list.n)
			observe(r);
		return;
	}
	while (may_work(r)) {
		if (!step_once(r))
			return;
		if (loop_monotonic() > until) {
			step_soon(r);
			return;
		}
	}
}

/* ---- the warm-up ---- */

struct released {
	struct buf names;
	size_t n;
};

static void release_if_ready(struct reconcile *r, size_t frontend, struct released *out)
{
	const struct l4_frontend *config = &model(r)->config->frontends[frontend];

	if (model(r)->frontends[frontend].released || r->phase == WARMUP_HANDS_OFF)
		return;
	if (r->phase == WARMUP_RELEASING && !warmup_vip_ready(model(r), frontend))
		return;
	engine_release(r->engine, frontend);
	dirty_mark(&r->dirty, frontend, DIRTY_WAITING);
	out->n++;
	if (out->names.n < NAMES_SHOWN)
		buf_printf(&out->names, "%s%s", out->names.n ? "," : "", config->name);
}

static void log_released(struct released *released)
{
	if (released->n)
		log_info("warmup-released", LOG_U("frontends", released->n),
			 LOG_SN("names", released->names.p, released->names.n));
	buf_free(&released->names);
}

static void release_all_ready(struct reconcile *r)
{
	struct released released = { 0 };

	for (size_t i = 0; i < model(r)->config->n_frontends; i++)
		release_if_ready(r, i, &released);
	if (r->phase == WARMUP_RELEASING)
		log_released(&released);
	else
		buf_free(&released.names);
}

/* Moves to the phase that the clock says; never back, whatever a reload did to the delays. */
static void advance_phase(struct reconcile *r)
{
	const struct l4_lb *lb = &model(r)->config->lb;
	int64_t now = loop_monotonic(), next = warmup_next(lb, r->started, now);
	enum warmup_phase phase = warmup_phase(lb, r->started, now);

	ev_timer_stop(r->loop, &r->warmup);
	if (next != INT64_MAX) {
		ev_timer_set(&r->warmup, loop_seconds(next - now), 0.);
		ev_timer_start(r->loop, &r->warmup);
	}
	if (phase <= r->phase)
		return;
	if (r->phase == WARMUP_HANDS_OFF)
		r->trusted = false; /* whoever looked until now, it was not for writing */
	r->phase = phase;
	notify_change(r, RECONCILE_WARMUP, "");
	release_all_ready(r);
	if (phase != WARMUP_DONE)
		return;
	log_info("warmup-done", LOG_T("after", now - r->started));
	r->full_wanted = true;
}

static void on_warmup(struct ev_loop *loop, ev_timer *w, int events)
{
	struct reconcile *r = w->data;

	ev_now_update(loop);
	advance_phase(r);
	step(r);
}

/* ---- what the engine tells ---- */

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct reconcile *r = user;
	const struct l4_backend *config;
	struct released released = { 0 };

	if (b->index == SIZE_MAX)
		return; /* removed: the reload that did it says what to do */
	config = l4_backend_config(model(r), b);
	for (size_t i = 0; i < config->n_frontends; i++) {
		dirty_mark(&r->dirty, config->frontends[i], DIRTY_WAITING);
		release_if_ready(r, config->frontends[i], &released);
	}
	log_released(&released);
	step_soon(r);
}

static void on_weight(void *user, size_t frontend, size_t backend, bool flush)
{
	struct reconcile *r = user;
	const struct l4_config *c = model(r)->config;

	if (flush)
		plan_flush_ask(&r->flushes, c, frontend, backend);
	dirty_mark(&r->dirty, frontend, DIRTY_WAITING);
	step_soon(r);
}

static void start_periodic(struct reconcile *r)
{
	double interval = loop_seconds(model(r)->config->lb.sync_interval);

	if (ev_is_active(&r->periodic) && r->periodic.repeat == interval)
		return;
	r->periodic.repeat = interval;
	ev_timer_again(r->loop, &r->periodic);
}

static void take_config(struct reconcile *r)
{
	dirty_build(&r->dirty, model(r)->config);
	start_periodic(r);
	advance_phase(r);
	release_all_ready(r);
}

/* The marks are gone with the old configuration. */
static void mark_awaited(struct reconcile *r)
{
	for (size_t i = 0; i < r->waiters.list.n; i++) {
		const struct waiter *one = &r->waiters.list.items[i];
		size_t frontend = one->everything ? SIZE_MAX
						  : plan_order_find(&r->dirty.order,
								    model(r)->config, &one->vip);

		if (frontend != SIZE_MAX)
			dirty_mark(&r->dirty, frontend, DIRTY_WAITING);
	}
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct reconcile *r = user;

	take_config(r);
	/*
	 * What is new is left to the full sync, in its order: a VIP that is gone may be in the way
	 * of a new one.
	 */
	dirty_clear(&r->dirty);
	calm_down(r, &r->gate); /* it may be what was wrong */
	calm_down(r, &r->retry);
	mark_awaited(r);
	plan_flushes_keep(&r->flushes, &r->dirty.order, model(r)->config);
	r->driver->reconfigure(r->dp, model(r)->config);
	reconcile_sync_all(r);
}

static void on_guard(void *user, bool active)
{
	struct reconcile *r = user;

	dirty_mark_all(&r->dirty);
	step_soon(r);
}

static void on_unspared(void *user, const struct l4_backend_state *b)
{
	struct reconcile *r = user;
	const struct l4_backend *config = l4_backend_config(model(r), b);

	for (size_t i = 0; i < config->n_frontends; i++)
		dirty_mark(&r->dirty, config->frontends[i], DIRTY_WAITING);
	step_soon(r);
}

/* ---- timers, beginning and end ---- */

static void on_again(struct ev_loop *loop, ev_timer *w, int events)
{
	step(w->data);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
	struct reconcile *r = w->data;

	dirty_retry(&r->dirty);
	r->full_wanted |= r->unremoved;
	step(r);
}

static void on_gate(struct ev_loop *loop, ev_timer *w, int events)
{
	step(w->data);
}

static void on_periodic(struct ev_loop *loop, ev_timer *w, int events)
{
	reconcile_sync_all(w->data);
}

static void init_timers(struct reconcile *r)
{
	ev_init(&r->again, on_again);
	ev_init(&r->retry.timer, on_retry);
	ev_init(&r->gate.timer, on_gate);
	ev_init(&r->periodic, on_periodic);
	ev_init(&r->warmup, on_warmup);
	r->again.data = r->periodic.data = r->warmup.data = r;
	r->retry.timer.data = r->gate.timer.data = r;
	r->retry.delay = r->gate.delay = RETRY_FIRST;
}

struct reconcile *reconcile_new(const struct reconcile_setup *setup)
{
	struct reconcile *r = mem_zalloc(sizeof(*r));
	const struct dataplane_events events = {
		.up = on_up, .down = on_down, .problem = on_problem, .user = r
	};

	r->loop = setup->loop;
	r->engine = setup->engine;
	r->driver = setup->driver;
	r->started = setup->started;
	init_timers(r);
	take_config(r);
	r->observer = (struct engine_observer){ .backend = on_backend,
						.weight = on_weight,
						.reloaded = on_reloaded,
						.guard = on_guard,
						.unspared = on_unspared,
						.user = r };
	engine_observe(r->engine, &r->observer);
	r->dp = r->driver->start(r->loop, model(r)->config, &events);
	return r;
}

void reconcile_free(struct reconcile *r)
{
	if (!r)
		return;
	r->driver->stop(r->dp);
	ev_timer_stop(r->loop, &r->again);
	ev_timer_stop(r->loop, &r->retry.timer);
	ev_timer_stop(r->loop, &r->gate.timer);
	ev_timer_stop(r->loop, &r->periodic);
	ev_timer_stop(r->loop, &r->warmup);
	lb_state_free(&r->observed);
	dirty_free(&r->dirty);
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
	r->full_wanted = true;
	step_soon(r);
}

int reconcile_look(struct reconcile *r, waiter_done_fn done, void *user)
{
	int err = !r->connected ? -ENOTCONN : is_gated(r) ? -EIO : 0;

	if (err == 0)
		err = waiters_add(&r->lookers, NULL, done, user);
	if (err == 0)
		step_soon(r); /* so that done is not called from within */
	return err;
}

int reconcile_plan(struct reconcile *r, size_t frontend, struct lb_ops *out)
{
	struct plan_flushes none = { 0 };
	struct plan_facts f = facts(r);

	if (!r->trusted)
		return -ENOTCONN;
	f.flushes = &none; /* those that wait are the sync's to take */
	if (frontend == RECONCILE_EVERYTHING)
		plan_everything(&r->dirty.order, &f, out);
	else
		plan_frontend(&f, frontend, out);
	return 0;
}

int reconcile_sync(struct reconcile *r, size_t frontend, waiter_done_fn done, void *user)
{
	bool everything = frontend == RECONCILE_EVERYTHING;
	struct lb_vip_key key = { 0 };
	int err;

	if (!r->connected)
		return -ENOTCONN;
	if (is_gated(r))
		return -EIO;
	if (r->phase == WARMUP_HANDS_OFF ||
	    (!everything && !model(r)->frontends[frontend].released))
		return -EAGAIN;
	if (!everything)
		key = l4_frontend_key(&model(r)->config->frontends[frontend]);
	err = waiters_add(&r->waiters, everything ? NULL : &key, done, user);
	if (err < 0)
		return err;
	if (everything)
		r->full_wanted = true;
	else
		dirty_mark(&r->dirty, frontend, DIRTY_WAITING);
	if (r->work == NOTHING)
		r->trusted = false; /* who asks wants it looked at anew */
	step_soon(r);		    /* so that done is not called from within */
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
	return r->connected;
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
	return r->work == NOTHING && !r->full_running && !r->full_wanted && dirty_none(&r->dirty) &&
	       !ev_is_active(&r->retry.timer) && !is_gated(r);
}
