/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate: how many connections clients have, in all and each, over all threads.
 *
 * A client is an IPv4 address or an IPv6 /64, because one host usually has a whole /64. The kernel
 * spreads the connections of one client over the threads, so a share for each thread would be right
 * only on average; the counters are atomic and shared instead. They are used when a connection
 * begins and when it ends, not for its requests.
 *
 * Clients are not stored. Each is two counters of a fixed table, at places that depend on a random
 * number, and has at most as many connections as the smaller of the two. So the gate never counts
 * too little, needs no lock and has one size. It counts too much only for a client whose two
 * counters are both shared with clients that have many connections.
 */
#pragma once

#include "base/addr.h"

struct gate;

struct gate *gate_new(void);
/* NULL is allowed. */
void gate_free(struct gate *g);

enum gate_verdict {
	GATE_OPEN,   /* the connection is counted: gate_leave() follows */
	GATE_FULL,   /* there are as many as there may be */
	GATE_CROWDED /* the client has as many as one may have */
};

/* Decides on one more connection. From any thread. */
enum gate_verdict gate_enter(struct gate *g, const struct addr *client, unsigned most,
			     unsigned each);
/* A connection that was counted has ended. From any thread. */
void gate_leave(struct gate *g, const struct addr *client);
