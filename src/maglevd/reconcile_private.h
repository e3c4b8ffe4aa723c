/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the reconciler: reconcile.c (its beginning and end, what the engine tells,
 * the door), reconcile_work.c (what is done, and in which order), reconcile_warmup.c.
 */
#pragma once

#include "lib/loop/backoff.h"
#include "lib/loop/queue.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/plan.h"
#include "src/maglevd/reconcile.h"

/* What is known of the data plane. */
enum reconcile__link {
	LINK_DOWN,   /* not connected */
	LINK_UNREAD, /* connected; the picture of its state is not trusted */
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

struct reconcile__batch { /* what the log line at the end of a run of work will say */
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

	enum reconcile__link link;
	struct lb_state observed;
	int64_t observed_at; /* unix ns; 0: nothing was read since it was connected */

	struct plan_order order;
	struct queue queue;	  /* VIPs to be brought into line, at the rank of their order */
	struct queue_item *items; /* of the frontends */
	struct plan_flushes flushes;
	struct waiters waiters, lookers;

	enum reconcile__work work;
	struct lb_ops ops;	   /* being applied */
	struct lb_vip_key current; /* their VIP; all zeros: the global configuration */
	struct queue_item *item;   /* its turn in the queue; NULL: it has none */
	enum reconcile_scope scope;

	enum reconcile__walk walk;
	struct lb_vip_key cursor; /* the VIP that the walk was at last; all zeros: none yet */
	struct reconcile__batch batches[RECONCILE_SCOPES];

	enum warmup_phase phase; /* last acted upon */
	struct backoff gate; /* waits: reading back or the configuration failed, nothing is done */
	struct backoff removal; /* waits: a VIP that is not configured could not be removed */
	ev_timer again, periodic, warmup;
};

const struct l4_model *reconcile__model(const struct reconcile *r);
struct plan_facts reconcile__facts(struct reconcile *r);

/* ---- reconcile_work.c ---- */

extern const struct backoff_policy reconcile__retry;

/* Does what can be done now; called whenever something has happened. */
void reconcile__step(struct reconcile *r);
/* The same in the next turn of the loop. */
void reconcile__step_soon(struct reconcile *r);
bool reconcile__is_gated(struct reconcile *r);

void reconcile__set_link(struct reconcile *r, enum reconcile__link link);
/* The picture is to be read again before anything is written. */
void reconcile__distrust(struct reconcile *r);
/* A full sync, once more if one is running. */
void reconcile__want_walk(struct reconcile *r);
/* The full sync that is running, if any, goes no further. */
void reconcile__end_walk(struct reconcile *r);

/* The VIP of a frontend is to be looked at, unless it is not programmed or not released yet. */
void reconcile__mark(struct reconcile *r, size_t frontend);
/* Another configuration: all marks are gone. The work under way goes on. */
void reconcile__build_items(struct reconcile *r);
/* All marks are gone, and the VIP being worked on has its turn in the new configuration. */
void reconcile__clear_items(struct reconcile *r);
/* A turn of the queue. */
enum queue_result reconcile__turn(struct queue_item *item, void *user);

void reconcile__up(void *user);
void reconcile__down(void *user, const char *why);
void reconcile__problem(void *user);
/* Tells the observer. */
void reconcile__notify(const struct reconcile *r, enum reconcile_change change, const char *reason);

/* ---- reconcile_warmup.c ---- */

/* Moves to the phase that the clock says. */
void reconcile__advance_phase(struct reconcile *r);
void reconcile__release_all_ready(struct reconcile *r);
/* Marks the frontends of a backend that changed, and releases those that are ready. */
void reconcile__backend_changed(struct reconcile *r, const struct l4_backend *b);
