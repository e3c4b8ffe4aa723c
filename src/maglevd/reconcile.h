/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile: drives the data plane to what configuration and health want (FR-4, NFR-1, NFR-2).
 *
 * It does one piece of work at a time, so that nothing interleaves (NFR-2.4): it reads the state
 * back, or brings one VIP into line. VIPs whose health changed go first; a full sync walks over
 * all VIPs in order after them and removes those that are not configured. Failed work is tried
 * again. No function here blocks; all callbacks are called from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/l4/warmup.h"
#include "src/maglevd/dataplane/dataplane.h"
#include "src/maglevd/waiters.h"

struct engine;
struct reconcile;

/* What an operation was part of: a full sync, or the sync of a single VIP. */
enum reconcile_scope { RECONCILE_ALL, RECONCILE_VIP };
#define RECONCILE_SCOPES 2

struct reconcile_stats {
	uint64_t ops[RECONCILE_SCOPES][LB_OP_KINDS]; /* operations carried out */
	uint64_t failures, full_syncs, observes, disconnects;
	int64_t last_full_sync; /* unix ns; 0 before the first */
};

/* What the observer is notified of. */
enum reconcile_change {
	RECONCILE_CONNECTED, /* also: it was degraded and is not any more */
	RECONCILE_DEGRADED,
	RECONCILE_DISCONNECTED,
	RECONCILE_PROBLEM, /* the result of reconcile_problem() may have changed */
	RECONCILE_SYNCED,  /* something was written, or a full sync ended */
	RECONCILE_FAILED,
	RECONCILE_WARMUP, /* the warm-up entered another phase */
};

struct reconcile_event {
	enum reconcile_change change;
	const char *reason; /* of DEGRADED, DISCONNECTED and FAILED; "" otherwise */
	/* only for SYNCED */
	enum reconcile_scope scope;
	/* how many were looked at */
	uint64_t vips;
	const uint64_t *ops; /* LB_OP_KINDS of them; NULL in all other events */
};

/*
 * The event is valid during the call. The observer may read the reconciler, but must not ask it
 * to act.
 */
typedef void (*reconcile_observer_fn)(const struct reconcile_event *event, void *user);

struct reconcile_setup {
	struct ev_loop *loop;
	struct engine *engine;
	const struct dataplane_driver *driver;
	int64_t started; /* monotonic ns of the process start: the warm-up's clock */
};

/* Observes the engine and starts the driver. The engine must outlive the reconciler. */
struct reconcile *reconcile_new(const struct reconcile_setup *setup);
/*
 * Stops the driver; what is programmed stays (NFR-1.1). Callers that wait are not called any
 * more.
 */
void reconcile_free(struct reconcile *r);

/* Sets the one observer, until reconcile_free(); NULL removes it. */
void reconcile_observe(struct reconcile *r, reconcile_observer_fn observer, void *user);

/* Requests a full sync as soon as the warm-up and the work under way allow. */
void reconcile_sync_all(struct reconcile *r);

/* Instead of a frontend: all of them, and VIPs that are not configured. */
#define RECONCILE_EVERYTHING SIZE_MAX

/*
 * Reads the state back, also while the warm-up allows no writes, writes nothing, and then calls
 * done() with err 0, -EIO or -ENOTCONN and without ops; with err 0 reconcile_observed() has the
 * state. It waits for the work under way. Refused with -ENOTCONN without a data plane, with -EIO
 * while the data plane cannot be read, with -EBUSY when too many callers wait; then done() is not
 * called.
 */
int reconcile_look(struct reconcile *r, waiter_done_fn done, void *user);

/* What a sync would do now, regardless of the warm-up. -ENOTCONN when the state is not known. */
int reconcile_plan(struct reconcile *r, size_t frontend, struct lb_ops *out);

/*
 * Syncs now, and calls done() afterwards: err is 0, -EIO when something was refused (it is tried
 * again later), or -ENOTCONN when the data plane went away. ops are those carried out in the
 * meantime, for the frontend or for all. Refused with -ENOTCONN without a data plane, with -EIO
 * while it cannot be read or does not accept the global configuration, with -EAGAIN while the
 * warm-up holds it, with -EBUSY when too many callers wait; then done() is not called.
 */
int reconcile_sync(struct reconcile *r, size_t frontend, waiter_done_fn done, void *user);
/* The callbacks with this user are not called any more. */
void reconcile_forget(struct reconcile *r, void *user);

const struct reconcile_stats *reconcile_stats(const struct reconcile *r);
/* The name of the driver. */
const char *reconcile_dataplane(const struct reconcile *r);
bool reconcile_connected(const struct reconcile *r);
enum lb_status reconcile_status(const struct reconcile *r);
/* Why nothing is programmed, or why the data plane is degraded; "": no problem, or not known. */
const char *reconcile_problem(const struct reconcile *r);
enum warmup_phase reconcile_phase(const struct reconcile *r);
/*
 * The state that was last read back, with the operations done since, and when it was read (unix
 * ns). NULL and 0 if nothing was read since the data plane was connected.
 */
const struct lb_state *reconcile_observed(const struct reconcile *r, int64_t *ret_at);
/*
 * What the driver reports, valid until the next turn of the loop. NULL while nothing is known,
 * and always for a driver without that verb; the last two functions say whether it has the first
 * two.
 */
const struct lb_counters *reconcile_counters(const struct reconcile *r);
const struct dataplane_info *reconcile_info(const struct reconcile *r);
const struct lb_attachment *reconcile_attachment(const struct reconcile *r);
bool reconcile_counts(const struct reconcile *r);
bool reconcile_has_info(const struct reconcile *r);
/* True if nothing is under way and nothing waits to be done or tried again. */
bool reconcile_idle(struct reconcile *r);
