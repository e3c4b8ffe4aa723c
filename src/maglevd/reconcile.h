/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile: drives the data plane to what configuration and health want (FR-4, NFR-1, NFR-2).
 *
 * One piece of work at a time, so nothing interleaves (NFR-2.4): read the state back, or bring one
 * VIP into line. VIPs whose health changed go first; a full sync walks over all VIPs in order after
 * them and removes those that are not configured. What failed is tried again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/l4/warmup.h"
#include "src/maglevd/dataplane/dataplane.h"
#include "src/maglevd/waiters.h"

struct engine;
struct reconcile;

enum reconcile_scope { RECONCILE_ALL, RECONCILE_VIP };
#define RECONCILE_SCOPES 2

struct reconcile_stats {
	uint64_t ops[RECONCILE_SCOPES][LB_OP_KINDS]; /* carried out */
	uint64_t failures, full_syncs, observes, disconnects;
	int64_t last_full_sync; /* unix ns; 0 before the first */
};

/* What became known of the data plane. */
enum reconcile_change {
	RECONCILE_CONNECTED,
	RECONCILE_DISCONNECTED,
	RECONCILE_PROBLEM, /* what reconcile_info() says of it may be another one */
	RECONCILE_SYNCED,  /* something was written, or a full sync ended */
	RECONCILE_FAILED,
	RECONCILE_WARMUP, /* another phase */
};

struct reconcile_event {
	enum reconcile_change change;
	const char *reason; /* of DISCONNECTED and FAILED; "" otherwise */
	/* of SYNCED */
	enum reconcile_scope scope;
	uint64_t vips;
	const uint64_t *ops; /* LB_OP_KINDS of them; NULL in all other events */
};

/* Called from the loop; the event lives during the call. Nothing of reconcile may be called back. */
typedef void (*reconcile_observer_fn)(const struct reconcile_event *event, void *user);

struct reconcile_setup {
	struct ev_loop *loop;
	struct engine *engine;
	const struct dataplane_driver *driver;
	int64_t started; /* monotonic ns of the process start: the warm-up's clock */
};

/* Observes the engine; starts the driver. */
struct reconcile *reconcile_new(const struct reconcile_setup *setup);
/* Stops the driver; what is programmed stays (NFR-1.1). To be freed before the engine. */
void reconcile_free(struct reconcile *r);

/* At most one observer, until reconcile_free(); NULL: none any more. */
void reconcile_observe(struct reconcile *r, reconcile_observer_fn observer, void *user);

/* A full sync as soon as the warm-up and the work under way allow. */
void reconcile_sync_all(struct reconcile *r);

/* In the place of a frontend: all of them, and VIPs that are not configured. */
#define RECONCILE_EVERYTHING SIZE_MAX

/*
 * Reads the state back, also while the warm-up allows no writes, writes nothing, and calls done()
 * afterwards: err is 0, and reconcile_observed() says what is there; or it is -EIO or -ENOTCONN.
 * There are no ops. It waits for the work under way. Refused with -ENOTCONN without a data plane,
 * -EIO while it cannot be read, -EBUSY when too many wait.
 */
int reconcile_look(struct reconcile *r, waiter_done_fn done, void *user);

/* What a sync would do now, whatever the warm-up says. -ENOTCONN when the state is not known. */
int reconcile_plan(struct reconcile *r, size_t frontend, struct lb_ops *out);

/*
 * Syncs now, and calls done() afterwards: err is 0, -EIO when something was refused (it is tried
 * again later), -ENOTCONN when the data plane went away. ops are those carried out meanwhile, for
 * the frontend or for all. Refused with -ENOTCONN without a data plane, -EIO while it cannot be
 * read or does not take the global configuration, -EAGAIN while the warm-up holds it, -EBUSY when
 * too many wait.
 */
int reconcile_sync(struct reconcile *r, size_t frontend, waiter_done_fn done, void *user);
/* The callers with this user are not told any more. */
void reconcile_forget(struct reconcile *r, void *user);

const struct reconcile_stats *reconcile_stats(const struct reconcile *r);
/* The name of the driver. */
const char *reconcile_dataplane(const struct reconcile *r);
bool reconcile_connected(const struct reconcile *r);
enum warmup_phase reconcile_phase(const struct reconcile *r);
/*
 * What was last read back, with what was done since, and when that was (unix ns); NULL and 0 when
 * nothing was read since the data plane was reached.
 */
const struct lb_state *reconcile_observed(const struct reconcile *r, int64_t *ret_at);
/*
 * What the driver reports, valid until the next turn of the loop. NULL while nothing is known, and
 * always for a driver without that verb; the other two functions say whether it has it.
 */
const struct lb_counters *reconcile_counters(const struct reconcile *r);
const struct dataplane_info *reconcile_info(const struct reconcile *r);
bool reconcile_counts(const struct reconcile *r);
bool reconcile_has_info(const struct reconcile *r);
/* Nothing under way and nothing waiting that could be done now. */
bool reconcile_idle(struct reconcile *r);
