/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of the reconciler; the essay in reconcile.c explains it.
 *
 * reconcile__step() chooses the next work while nothing is under way. Every request to the driver
 * ends in on_observed(), on_applied() or reconcile__down(). The link and the walk are state
 * machines whose states change only in reconcile__set_link() and set_walk():
 *
 *	link	down -> unread -> read, and back whenever the picture cannot be trusted any more
 *	walk	none -> wanted -> running -> none; running -> repeat -> wanted
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/maglevd/reconcile_private.h"

/*
 * No jitter: the data plane is on this machine and has no other client whose retries could
 * collide.
 */
const struct backoff_policy reconcile__retry = { .first = 250 * NSEC_PER_MSEC,
						 .last = 30 * NSEC_PER_SEC };

/* ---- states ---- */

static const char *const link_names[] = {
	[LINK_DOWN] = "down",
	[LINK_UNREAD] = "unread",
	[LINK_READ] = "read",
};

static const char *const walk_names[] = {
	[WALK_NONE] = "none",
	[WALK_WANTED] = "wanted",
	[WALK_RUNNING] = "running",
	[WALK_REPEAT] = "repeat",
};

static void log_state(const struct reconcile *r, const char *machine, const char *from,
		      const char *to)
{
	log_debug("lb-sync-state", LOG_S("dataplane", r->driver->name), LOG_S("machine", machine),
		  LOG_S("from", from), LOG_S("to", to));
}

void reconcile__set_link(struct reconcile *r, enum reconcile__link link)
{
	if (r->link == link)
		return;
	log_state(r, "link", link_names[r->link], link_names[link]);
	r->link = link;
}

void reconcile__distrust(struct reconcile *r)
{
	if (r->link == LINK_READ)
		reconcile__set_link(r, LINK_UNREAD);
}

static void set_walk(struct reconcile *r, enum reconcile__walk walk)
{
	if (r->walk == walk)
		return;
	log_state(r, "walk", walk_names[r->walk], walk_names[walk]);
	r->walk = walk;
}

static bool is_walking(const struct reconcile *r)
{
	return r->walk == WALK_RUNNING || r->walk == WALK_REPEAT;
}

void reconcile__want_walk(struct reconcile *r)
{
	set_walk(r, is_walking(r) ? WALK_REPEAT : WALK_WANTED);
}

void reconcile__end_walk(struct reconcile *r)
{
	if (is_walking(r))
		set_walk(r, r->walk == WALK_REPEAT ? WALK_WANTED : WALK_NONE);
}

/* ---- the queue ---- */

void reconcile__mark(struct reconcile *r, size_t frontend)
{
	size_t position = r->order.positions[frontend];

	/* a frontend that is not released yet is marked when it is released */
	if (position != SIZE_MAX && reconcile__model(r)->frontends[frontend].released)
		queue_add(&r->queue, &r->items[frontend], position);
}

/* The item of the VIP under way is forgotten, because the array that holds it is freed. */
void reconcile__build_items(struct reconcile *r)
{
	size_t n = reconcile__model(r)->config->n_frontends + 1;

	queue_clear(&r->queue);
	if (r->item)
		queue_forget(&r->queue, TAKE_PTR(r->item));
	plan_order_build(&r->order, reconcile__model(r)->config);
	free(r->items);
	r->items = mem_resize(NULL, n, sizeof(*r->items));
	memset(r->items, 0, n * sizeof(*r->items));
}

/* So a failure of the operations under way is tried again under the new configuration. */
void reconcile__clear_items(struct reconcile *r)
{
	size_t frontend;

	queue_clear(&r->queue);
	if (r->work != WORK_APPLYING || r->item)
		return;
	frontend = plan_order_find(&r->order, reconcile__model(r)->config, &r->current);
	if (frontend == SIZE_MAX)
		return;
	r->item = &r->items[frontend];
	queue_take(&r->queue, r->item);
}

/* ---- callbacks of the driver ---- */

/* Counts an operation that was carried out: for callers, metrics and the log line of the batch. */
static void count_op(struct reconcile *r, const struct lb_op *op)
{
	struct reconcile__batch *batch = &r->batches[r->scope];
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

/*
 * A flush is forgotten when its operation was carried out. After a failure it waits for the next
 * try.
 */
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

bool reconcile__is_gated(struct reconcile *r)
{
	return backoff_waits(&r->gate);
}

static void notify(const struct reconcile *r, const struct reconcile_event *event)
{
	if (r->told)
		r->told(event, r->told_user);
}

void reconcile__notify(const struct reconcile *r, enum reconcile_change change, const char *reason)
{
	notify(r, &(struct reconcile_event){ .change = change, .reason = reason });
}

static void log_failure(struct reconcile *r, int err, const char *op, int64_t retry)
{
	_cleanup_(buf_free) struct buf reason = { 0 };

	r->stats.failures++;
	log_warn("lb-sync-failed", LOG_S("dataplane", r->driver->name), LOG_S("op", op),
		 LOG_S("error", strerror(-err)), LOG_D("retry_seconds", loop_seconds(retry)));
	buf_printf(&reason, "%s: %s", op, strerror(-err));
	reconcile__notify(r, RECONCILE_FAILED, buf_cstr(&reason));
}

/*
 * Stops all work until a delay is over. Callers that wait are called now, because it may take
 * long.
 */
static void close_gate(struct reconcile *r, int err, const char *op)
{
	log_failure(r, err, op, backoff_start(&r->gate));
	waiters_fail_all(&r->waiters, -EIO);
	waiters_fail_all(&r->lookers, -EIO);
}

/*
 * An operation without an item in the queue is a removal of the full sync, which has its own
 * delay.
 */
static void on_apply_failed(struct reconcile *r, int err, const struct lb_op *op,
			    struct queue_item *item)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	reconcile__distrust(r);
	lb_op_print(op, &text);
	if (op->kind == LB_OP_CONF) {
		close_gate(r, err, buf_cstr(&text));
		return;
	}
	waiters_note_failure(&r->waiters, &r->current);
	log_failure(r, err, buf_cstr(&text),
		    item ? queue_done(&r->queue, item, QUEUE_FAILED) : backoff_start(&r->removal));
}

/* A server whose weight became 0 is drained when a later count finds no flow. */
static void note_idle(struct reconcile *r, const struct lb_op *op)
{
	const struct lb_vip *vip = lb_state_vip(&r->observed, &op->vip);
	struct lb_as *as = vip ? lb_vip_as(vip, &op->as) : NULL;

	if (as)
		lb_as_note_idle(as, as->idle_since, loop_monotonic());
}

/*
 * The operations that were carried out are applied to the picture. If that does not work, the
 * picture was wrong and is read again.
 */
static void on_applied(void *user, int err, size_t n_done)
{
	struct reconcile *r = user;
	struct queue_item *item = TAKE_PTR(r->item);

	assert(r->work == WORK_APPLYING && n_done <= r->ops.list.n);
	r->work = WORK_NONE;
	for (size_t i = 0; i < n_done; i++) {
		if (!lb_state_apply(&r->observed, &r->ops.list.items[i]))
			reconcile__distrust(r);
		note_idle(r, &r->ops.list.items[i]);
		count_op(r, &r->ops.list.items[i]);
	}
	settle_flushes(r, err == 0);
	if (err)
		on_apply_failed(r, err,
				&r->ops.list.items[n_done < r->ops.list.n ? n_done : n_done - 1],
				item);
	else if (item) {
		engine_note_written(r->engine, (size_t)(item - r->items));
		queue_done(&r->queue, item, QUEUE_DONE);
	}
	reconcile__step(r);
}

/*
 * lb_state_copy() leaves flushes out. One that was done is remembered as long as the AS is still
 * drained, so that it is not repeated at every full sync.
 */
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

/* The work continues in the gate's timer after a failure. */
static void on_observed(void *user, int err, const struct lb_state *state)
{
	struct reconcile *r = user;
	struct lb_state fresh = { 0 };

	assert(r->work == WORK_OBSERVING);
	r->work = WORK_NONE;
	r->stats.observes++;
	if (err) {
		close_gate(r, err, "observe");
		return;
	}
	lb_state_copy(state, &fresh);
	keep_flush_memory(&r->observed, &fresh);
	lb_state_note_idle(&fresh, &r->observed, loop_monotonic());
	lb_state_free(&r->observed);
	r->observed = fresh;
	r->observed_at = loop_realtime();
	reconcile__set_link(r, LINK_READ);
	waiters_full_ended(&r->lookers);
	reconcile__step(r);
}

/* One line for a run of work that changed something; a debug one for a full sync that did not. */
static void log_batch(struct reconcile *r, enum reconcile_scope scope)
{
	struct reconcile__batch *b = &r->batches[scope];

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
	*b = (struct reconcile__batch){ 0 };
}

/*
 * Logs what was written before the connection ended. Half a full sync that wrote nothing is not
 * worth a line.
 */
static void close_batch(struct reconcile *r, enum reconcile_scope scope)
{
	if (r->batches[scope].any)
		log_batch(r, scope);
	r->batches[scope] = (struct reconcile__batch){ 0 };
}

/* The one place where the status changes. True if it has. */
static bool set_status(struct reconcile *r)
{
	enum lb_status before = r->status;

	r->status = lb_status_judge(r->link != LINK_DOWN, reconcile_attachment(r));
	return r->status != before;
}

/* Logs and reports that the data plane is on some of its interfaces, or on all of them. */
static void tell_status(struct reconcile *r)
{
	const char *why = reconcile_problem(r);

	if (r->status == LB_DEGRADED)
		log_warn("dataplane-degrade", LOG_S("dataplane", r->driver->name),
			 LOG_S("reason", why));
	reconcile__notify(r, r->status == LB_DEGRADED ? RECONCILE_DEGRADED : RECONCILE_CONNECTED,
			  r->status == LB_DEGRADED ? why : "");
}

/* Nothing is known of what happened while the data plane was away: a full sync follows. */
void reconcile__up(void *user)
{
	struct reconcile *r = user;

	reconcile__set_link(r, LINK_UNREAD);
	reconcile__want_walk(r);
	backoff_reset(&r->gate);
	/* the full sync includes what failed before */
	backoff_reset(&r->removal);
	queue_forget_delayed(&r->queue);
	log_info("dataplane-connect", LOG_S("dataplane", r->driver->name));
	set_status(r);
	tell_status(r);
	reconcile__step(r);
}

void reconcile__down(void *user, const char *why)
{
	struct reconcile *r = user;

	reconcile__set_link(r, LINK_DOWN);
	set_status(r);
	reconcile__end_walk(r);
	r->work = WORK_NONE;
	if (r->item) /* its outcome is unknown, but a full sync follows */
		queue_done(&r->queue, TAKE_PTR(r->item), QUEUE_DONE);
	r->stats.disconnects++;
	settle_flushes(r, false);
	close_batch(r, RECONCILE_VIP);
	close_batch(r, RECONCILE_ALL);
	/* which flows were flushed is not known any more; repeating a flush does no harm */
	lb_state_free(&r->observed);
	r->observed_at = 0;
	waiters_fail_all(&r->waiters, -ENOTCONN);
	waiters_fail_all(&r->lookers, -ENOTCONN);
	log_warn("dataplane-disconnect", LOG_S("dataplane", r->driver->name), LOG_S("reason", why));
	reconcile__notify(r, RECONCILE_DISCONNECTED, why);
}

/* An interface came or went, or the reason why it is not there is another one. */
void reconcile__problem(void *user)
{
	struct reconcile *r = user;
	bool changed = set_status(r);

	if (changed && r->status == LB_CONNECTED)
		log_info("dataplane-recover", LOG_S("dataplane", r->driver->name));
	if (changed || r->status == LB_DEGRADED)
		tell_status(r);
	else
		reconcile__notify(r, RECONCILE_PROBLEM, "");
}

/* ---- the work ---- */

/* Every caller that waits for a read-back at this moment is served by it. */
static void observe(struct reconcile *r)
{
	r->work = WORK_OBSERVING;
	waiters_full_begins(&r->lookers);
	r->driver->observe(r->dp, on_observed, r);
}

/* Issues the operations in r->ops. False when there are none. */
static bool apply(struct reconcile *r, const struct lb_vip_key *key, enum reconcile_scope scope)
{
	if (!r->ops.list.n)
		return false;
	r->current = *key;
	r->scope = scope;
	r->work = WORK_APPLYING;
	r->driver->apply(r->dp, r->ops.list.items, r->ops.list.n, on_applied, r);
	return true;
}

/* The data plane needs the global configuration before any VIP. */
static bool sync_conf(struct reconcile *r)
{
	static const struct lb_vip_key none;
	struct lb_conf want;

	r->ops.list.n = 0;
	l4_desired_conf(reconcile__model(r)->config, &want);
	diff_conf(&want, &r->observed, &r->ops);
	return apply(r, &none, RECONCILE_ALL);
}

/*
 * Brings the VIP of a frontend into line. True when operations were issued; on_applied() follows.
 */
static bool sync_frontend(struct reconcile *r, struct queue_item *item, enum reconcile_scope scope)
{
	size_t frontend = (size_t)(item - r->items);
	struct lb_vip_key key = l4_frontend_key(&reconcile__model(r)->config->frontends[frontend]);
	struct plan_facts f = reconcile__facts(r);

	r->ops.list.n = 0;
	plan_frontend(&f, frontend, &r->ops);
	r->batches[scope].vips++;
	r->item = item;
	if (apply(r, &key, scope))
		return true;
	r->item = NULL;
	engine_note_written(r->engine, frontend);
	return false;
}

enum queue_result reconcile__turn(struct queue_item *item, void *user)
{
	return sync_frontend(user, item, RECONCILE_VIP) ? QUEUE_PENDING : QUEUE_DONE;
}

/* VIPs that are not configured are removed only after the warm-up. */
static bool remove_stale(struct reconcile *r, const struct lb_vip_key *key)
{
	const struct lb_vip *have = lb_state_vip(&r->observed, key);

	if (r->phase != WARMUP_DONE || !have)
		return false;
	r->ops.list.n = 0;
	diff_remove_vip(have, &r->ops);
	return apply(r, key, RECONCILE_ALL);
}

/* A full sync always reads the state back first: only so are changes by other programs found. */
static void walk_start(struct reconcile *r)
{
	set_walk(r, WALK_RUNNING);
	r->cursor = (struct lb_vip_key){ 0 };
	backoff_stop(&r->removal); /* the walk itself tries the removals again */
	reconcile__distrust(r);
	waiters_full_begins(&r->waiters);
}

/* Callers that asked after the walk had begun are not served: they wait for the next one. */
static void walk_end(struct reconcile *r)
{
	reconcile__end_walk(r);
	if (!backoff_waits(&r->removal))
		backoff_reset(&r->removal);
	r->stats.full_syncs++;
	r->stats.last_full_sync = loop_realtime();
	log_batch(r, RECONCILE_ALL);
	waiters_full_ended(&r->waiters);
}

/* Syncs a VIP of the walk and removes it from the queue. True when operations were issued. */
static bool walk_frontend(struct reconcile *r, size_t frontend)
{
	struct queue_item *item = &r->items[frontend];

	if (!reconcile__model(r)->frontends[frontend].released)
		return false;
	queue_take(&r->queue, item);
	if (sync_frontend(r, item, RECONCILE_ALL))
		return true;
	queue_done(&r->queue, item, QUEUE_DONE);
	return false;
}

/* Syncs or removes the next VIP of the walk. True when operations were issued. */
static bool walk_next(struct reconcile *r)
{
	struct plan_facts f = reconcile__facts(r);
	struct plan_step next;

	if (!plan_next(&r->order, &f, &r->cursor, &next)) {
		walk_end(r);
		return false;
	}
	r->cursor = next.key;
	return next.frontend == SIZE_MAX ? remove_stale(r, &next.key)
					 : walk_frontend(r, next.frontend);
}

/*
 * Does one piece of work; the order of the checks is the priority. True when there may be more to
 * do right now.
 */
static bool step_once(struct reconcile *r)
{
	if (r->link != LINK_READ) {
		observe(r);
		return false;
	}
	if (sync_conf(r))
		return false;
	backoff_reset(&r->gate);
	if (queue_run(&r->queue))
		return r->work == WORK_NONE;
	waiters_vips_ended(&r->waiters);
	if (is_walking(r))
		return !walk_next(r);
	log_batch(r, RECONCILE_VIP);
	if (r->walk == WALK_WANTED)
		walk_start(r);
	else if (waiters_any(&r->lookers))
		observe(r);
	return is_walking(r);
}

static bool may_work(struct reconcile *r)
{
	return r->link != LINK_DOWN && !reconcile__is_gated(r) && r->work == WORK_NONE;
}

void reconcile__step_soon(struct reconcile *r)
{
	task_wake(&r->task);
}

/* In the first phase of the warm-up only read-backs that a caller asked for are done. */
void reconcile__step(struct reconcile *r)
{
	if (r->phase == WARMUP_HANDS_OFF) {
		if (may_work(r) && waiters_any(&r->lookers))
			observe(r);
		return;
	}
	while (may_work(r)) {
		if (!step_once(r))
			return;
		if (!task_has_time(r->loop)) {
			reconcile__step_soon(r);
			return;
		}
	}
}
