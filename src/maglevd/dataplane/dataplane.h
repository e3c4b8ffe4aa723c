/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataplane: what maglevd asks of a data plane, and nothing more.
 *
 * A driver is a struct dataplane_driver of a few verbs. Its life:
 *
 *	start	-> connects on its own, again and again, and says so: events->up(), events->down()
 *	reconfigure  new configuration; the driver keeps what it can
 *	observe -> reads the whole state back; done(0, state) or done(-errno, NULL)
 *	apply	-> carries out operations in order and stops at the first that fails;
 *		   done(0, n) or done(-errno, how many were carried out)
 *	stop	-> lets go of everything here; what is programmed stays programmed (NFR-1.1)
 *
 * One request at a time: the reconciler never issues a second before the first is done. Completions
 * are never called from within the verb, and are not called any more after stop(), nor after a
 * down(): whatever was in flight is then void and its outcome unknown. Everything runs on the one
 * loop; nothing blocks.
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

/* How a driver tells of itself; all called from the loop. */
struct dataplane_events {
	void (*up)(void *user);
	void (*down)(void *user, const char *why);
	/* What info() says of a problem is new, and neither up() nor down() says so. */
	void (*problem)(void *user);
	void *user;
};

/*
 * Messages of one name to and from a data plane that is another process. Failures are not among
 * those sent or received: what could not be sent, and answers that say no, make no sense or never
 * came.
 */
struct dataplane_messages {
	const char *name;
	uint64_t sent, send_failures, received, receive_failures;
};

/*
 * Who is at the other end; strings are "" and times 0 while that is not known. connect_time is 0
 * whenever there is no connection: somebody may be there, and known, who cannot be programmed.
 */
struct dataplane_info {
	const char *version, *build_date, *build_directory;
	uint32_t pid;
	int64_t boot_time, connect_time; /* unix ns */
	const char *problem;		 /* why nothing is programmed; "": all is well */
	const struct dataplane_messages *messages;
	size_t n_messages;
};

typedef void (*dataplane_observed_fn)(void *user, int err, const struct lb_state *state);
typedef void (*dataplane_applied_fn)(void *user, int err, size_t n_done);

struct dataplane_driver {
	const char *name;
	struct dataplane *(*start)(struct ev_loop *loop, const struct l4_config *config,
				   const struct dataplane_events *events);
	void (*reconfigure)(struct dataplane *dp, const struct l4_config *config);
	void (*observe)(struct dataplane *dp, dataplane_observed_fn done, void *user);
	/* ops live until done is called. */
	void (*apply)(struct dataplane *dp, const struct lb_op *ops, size_t n,
		      dataplane_applied_fn done, void *user);
	/*
	 * The newest counters that were read, which the driver does on its own every few seconds
	 * while there is a data plane; NULL before the first. They are valid until the caller
	 * returns to the loop, or its step ends: a longer walk gets the newest ones again and goes
	 * on by key. The verb is NULL in a driver that counts nothing.
	 */
	const struct lb_counters *(*counters)(struct dataplane *dp);
	/* Like counters; the verb is NULL where there is nobody to tell of. */
	const struct dataplane_info *(*info)(struct dataplane *dp);
	void (*stop)(struct dataplane *dp);
	/*
	 * Takes everything that outlives maglevd away, while none is running. What was done, or
	 * what is wrong, goes into out, a line each. NULL where there is nothing to take away.
	 */
	int (*remove)(const struct l4_config *config, struct buf *out);
};
