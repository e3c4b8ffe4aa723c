/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive: which nodes of a cluster can announce addresses, from their Leases and their heartbeats.
 *
 * A speaker holds a Lease and sends heartbeats on the networks on which it answers. Its Lease says
 * that it takes part. Whether it is alive is then said by its heartbeats, if any was heard since
 * its Lease got its present holder: after `window` of silence it is dead, whatever the Lease says,
 * because it is the network of the heartbeats on which its addresses must be reachable. A speaker
 * whose heartbeats never arrive (multicast may be filtered) is alive while its Lease is fresh.
 *
 * A Lease is fresh for `duration` after its last change that was seen. That time is measured on a
 * clock which stands still while the API server cannot be reached: it advances with the renewals of
 * the own Lease, as they are seen in the same watch, and a gap that is longer than `duration` is
 * not counted. So when the server is away, or comes back, nobody is taken for dead because of it.
 *
 * Pure: times are monotonic ns and not 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct alive_rule {
	int64_t duration; /* of a Lease */
	int64_t window;	  /* of silence after which a speaker that was heard is dead */
};

struct alive_node {
	char *node;    /* owned */
	char *holder;  /* of the Lease; "": it was given back; owned */
	int64_t seen;  /* the last change of the Lease, on the clock of the Leases */
	int64_t heard; /* the last heartbeat since the holder is the present one; 0: none */
	bool is_alive; /* at the last alive_judge() */
};

/* All zeros, with own and rule set, knows nobody. */
struct alive {
	const char *own; /* this node; always alive; borrowed */
	struct alive_rule rule;
	VEC(struct alive_node) nodes; /* sorted by name */
	int64_t clock;		      /* of the Leases */
	int64_t own_seen;	      /* when the own Lease was last seen to change; 0: never */
};

void alive_free(struct alive *a);

/* The Lease of a node was seen to come or to change. holder "": given back. */
void alive_lease(struct alive *a, const char *node, const char *holder, int64_t now);
/* The Lease of a node is gone. */
void alive_forget(struct alive *a, const char *node);
/* A heartbeat of a node; without a Lease it has no effect. */
void alive_heard(struct alive *a, const char *node, int64_t now);
/* A node says that it leaves: it counts as silent from now on. */
void alive_left(struct alive *a, const char *node, int64_t now);

/*
 * Decides again who is alive. True if that has changed. *ret_due is when to look again though
 * nothing happened; 0: never.
 */
bool alive_judge(struct alive *a, int64_t now, int64_t *ret_due);
/* As of the last alive_judge(). */
bool alive_is(const struct alive *a, const char *node);
/*
 * How long ago a node was last known to be alive on the clock of the Leases; 0 for one that is.
 * For removing what dead nodes have left.
 */
int64_t alive_gone_for(const struct alive *a, const struct alive_node *n);
