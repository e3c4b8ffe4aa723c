/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the reconciler: reconcile.c (setup, callbacks of the engine, public
 * functions), reconcile_work.c (what is done, and in which order), reconcile_warmup.c.
 */
#pragma once

#include "lib/loop/backoff.h"
#include "lib/loop/queue.h"
#include "lib/loop/task.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/plan.h"
#include "src/maglevd/reconcile.h"

/* The state of the connection to the data plane. */
enum reconcile__link {
	LINK_DOWN,   /* not connected */
	LINK_UNREAD, /* connected; the picture of its state cannot be trusted */
	LINK_READ,   /* connected, and the picture is true */
};

/* The full sync, which walks over all VIPs. */
enum reconcile__walk {
	WALK_NONE,
	WALK_WANTED,  /* to be started */
	WALK_RUNNING, /* the cursor says how far it is */
	WALK_REPEAT,  /* running, and wanted once more */
};

/* The one request that the driver is busy with. */
enum reconcile__work { WORK_NONE, WORK_OBSERVING, WORK_APPLYING };

struct reconcile__batch { /* totals for the log line at the end of a run of work */
	uint64_t vips, ops[LB_OP_KINDS];
	bool any;
};

struct reconcile {
	struct ev_loop *loop;
	struct engine *engine;
	const struct dataplane_driver *driver;
	struct dataplane *dp;
	struct engine_observer observer;
	reconcile_observer_fn told; /* the observer; NULL: none */
	void *told_user;
	int64_t started;
	struct reconcile_stats stats;

	enum reconcile__link link;
	enum lb_status status; /* what others are told of the link and of the interfaces */
	/* the picture: what was read back, with the operations done since */
	struct lb_state observed;
	int64_t observed_at; /* unix ns; 0: nothing was read since the connection */

	struct plan_order order;
	struct queue queue;	  /* VIPs to be brought into line, in the order of their keys */
	struct queue_item *items; /* one per frontend, by its index */
	struct plan_flushes flushes;
	/* callers of reconcile_sync() and of reconcile_look() */
	struct waiters waiters, lookers;

	enum reconcile__work work;
	struct lb_ops ops; /* the operations under way */
	/* the VIP of the operations; all zeros: the global configuration */
	struct lb_vip_key current;
	struct queue_item *item; /* its item in the queue; NULL: it has none */
	enum reconcile_scope scope;

	enum reconcile__walk walk;
	struct lb_vip_key cursor; /* the last VIP of the walk; all zeros: none yet */
	struct reconcile__batch batches[RECONCILE_SCOPES];

	enum warmup_phase phase; /* the phase that was last acted upon */
	/* waits after a failed read-back or global configuration; no work is done until then */
	struct backoff gate;
	struct backoff removal; /* waits while a VIP that is not configured could not be removed */
	struct task task;	/* continues the work */
	ev_timer periodic, warmup;
};

const struct l4_model *reconcile__model(const struct reconcile *r);
struct plan_facts reconcile__facts(struct reconcile *r);

/* ---- reconcile_work.c ---- */

extern const struct backoff_policy reconcile__retry;

/* Does what can be done now. Called whenever something has happened; may call the driver. */
void reconcile__step(struct reconcile *r);
/* Does the same later, in a step of the task. */
void reconcile__step_soon(struct reconcile *r);
bool reconcile__is_gated(struct reconcile *r);

void reconcile__set_link(struct reconcile *r, enum reconcile__link link);
/* The picture is read again before anything is written. */
void reconcile__distrust(struct reconcile *r);
/* Requests a full sync, and another one if one is running. */
void reconcile__want_walk(struct reconcile *r);
/* Ends the full sync that is running, if any, before its end. */
void reconcile__end_walk(struct reconcile *r);

/* Queues the VIP of a frontend, unless it is not programmed or not released yet. */
void reconcile__mark(struct reconcile *r, size_t frontend);
/*
 * Builds the queue items for another configuration; the queue is empty then. Work under way
 * continues.
 */
void reconcile__build_items(struct reconcile *r);
/*
 * Empties the queue. If operations are under way, their VIP gets its item of the new
 * configuration.
 */
void reconcile__clear_items(struct reconcile *r);
/* The step function of the queue: syncs one VIP. */
enum queue_result reconcile__turn(struct queue_item *item, void *user);

/* The events of the driver. */
void reconcile__up(void *user);
void reconcile__down(void *user, const char *why);
void reconcile__problem(void *user);
/* Notifies the observer. */
void reconcile__notify(const struct reconcile *r, enum reconcile_change change, const char *reason);

/* ---- reconcile_warmup.c ---- */

/* Moves to the phase that the clock demands, and sets the timer for the next one. */
void reconcile__advance_phase(struct reconcile *r);
/* Releases every frontend that the present phase allows. */
void reconcile__release_all_ready(struct reconcile *r);
/* Marks the frontends of a backend that changed, and releases those that are ready. */
void reconcile__backend_changed(struct reconcile *r, const struct l4_backend *b);
