/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataplane: what maglevd asks of a data plane, and nothing more.
 *
 * A driver is a struct dataplane_driver of a few verbs:
 *
 *	start	-> connects on its own, again and again, and calls events->up(), events->down()
 *	reconfigure  new configuration; the driver keeps what it can
 *	observe -> reads the whole state back; done(0, state) or done(-errno, NULL)
 *	apply	-> carries out operations in order and stops at the first that fails;
 *		   done(0, n) or done(-errno, how many were carried out)
 *	stop	-> frees everything here; what is programmed stays programmed (NFR-1.1)
 *
 * One request at a time: the reconciler never issues a second before the first is done. A
 * completion is never called from within the verb, and not after stop() or down(): whatever was
 * under way is then void and its outcome unknown. Everything runs on the one loop; nothing
 * blocks.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "core/diff/diff.h"
#include "core/l4/config.h"
#include "core/l4/counters.h"
#include "core/l4/lb.h"
#include "lib/loop/loop.h"

struct dataplane;

/* What a driver reports; all called from the loop. */
struct dataplane_events {
	void (*up)(void *user);
	void (*down)(void *user, const char *why);
	/* The problem in info() or attachment() has changed, without up() or down(). */
	void (*problem)(void *user);
	void *user;
};

/*
 * Messages of one name to and from a data plane that is another process. Failures are not counted
 * as sent or received. A send failure could not be sent; a receive failure is an answer that
 * refuses, cannot be parsed or never came.
 */
struct dataplane_messages {
	const char *name;
	uint64_t sent, send_failures, received, receive_failures;
};

/*
 * The process at the other end; strings are "" and times 0 while they are not known. connect_time
 * is 0 while there is no connection. A process may be known that cannot be programmed.
 */
struct dataplane_info {
	const char *version, *build_date, *build_directory;
	uint32_t pid;
	int64_t boot_time, connect_time; /* unix ns */
	const char *problem;		 /* why nothing is programmed; "": no problem */
	const struct dataplane_messages *messages;
	size_t n_messages;
};

/* state is NULL on error, and otherwise valid only during the call. */
typedef void (*dataplane_observed_fn)(void *user, int err, const struct lb_state *state);
typedef void (*dataplane_applied_fn)(void *user, int err, size_t n_done);

struct dataplane_driver {
	const char *name;
	struct dataplane *(*start)(struct ev_loop *loop, const struct l4_config *config,
				   const struct dataplane_events *events);
	void (*reconfigure)(struct dataplane *dp, const struct l4_config *config);
	void (*observe)(struct dataplane *dp, dataplane_observed_fn done, void *user);
	/* ops are the caller's, and live until done is called. */
	void (*apply)(struct dataplane *dp, const struct lb_op *ops, size_t n,
		      dataplane_applied_fn done, void *user);
	/*
	 * The newest counters. The driver reads them on its own every few seconds while it is
	 * connected; NULL before the first reading. They are valid until the caller returns to
	 * the loop, or its step ends: a longer walk asks for the newest ones again and continues
	 * by key. The verb is NULL in a driver that counts nothing.
	 */
	const struct lb_counters *(*counters)(struct dataplane *dp);
	/* Valid as long as counters; the verb is NULL in a driver without another process. */
	const struct dataplane_info *(*info)(struct dataplane *dp);
	/*
	 * The interfaces that the data plane should be on; valid as long as counters. The verb is
	 * NULL in a driver that does not attach to interfaces. Up means that at least one is
	 * attached.
	 */
	const struct lb_attachment *(*attachment)(struct dataplane *dp);
	void (*stop)(struct dataplane *dp);
	/*
	 * Removes everything that outlives maglevd, while no maglevd is running. What was done,
	 * or what is wrong, goes into out, one line each. NULL if nothing outlives maglevd.
	 */
	int (*remove)(const struct l4_config *config, struct buf *out);
};
