/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup: the addresses of a name, without holding the loop.
 *
 * The resolver of the C library blocks, for as long as its servers are silent; so it is asked in a
 * child process, which has nothing of ours open but the pipe on which it answers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "lib/loop/loop.h"

struct net_lookup;

#define NET_LOOKUP_MAX 16 /* addresses */

/* n is 0 when there are none: why says so. The lookup is gone when this is called. */
typedef void (*net_lookup_fn)(const struct endpoint *found, size_t n, const char *why, void *user);

struct net_lookup_query {
	const char *host; /* a name, or an address without brackets */
	uint16_t port;	  /* of the endpoints that are found */
	int64_t timeout;  /* ns, > 0 */
	net_lookup_fn done;
	void *user;
};

/* Calls done once, from the loop, unless cancelled. -errno of pipe or fork; *ret untouched then. */
int net_lookup_start(struct ev_loop *loop, const struct net_lookup_query *query,
		     struct net_lookup **ret);
/* No done() any more. NULL is fine. */
void net_lookup_cancel(struct net_lookup *l);
