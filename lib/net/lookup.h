/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup: resolves a name to addresses without blocking the loop.
 *
 * The C library's resolver blocks for as long as its servers do not answer. So it runs in a child
 * process, which has none of our descriptors except the standard ones and the pipe for its
 * answer. For the main thread, as every job (lib/loop/job.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "lib/loop/loop.h"

struct net_lookup;

#define NET_LOOKUP_MAX 16 /* addresses */

/*
 * n is 0 if no address was found; why then says the reason. found and why are valid only during
 * the call. The lookup is already freed: it must not be cancelled any more.
 */
typedef void (*net_lookup_fn)(const struct endpoint *found, size_t n, const char *why, void *user);

struct net_lookup_query {
	const char *host; /* a name, or an address without brackets */
	uint16_t port;	  /* copied into the endpoints */
	int64_t timeout;  /* ns, > 0 */
	net_lookup_fn done;
	void *user;
};

/*
 * Starts the lookup; done is called once, from the loop, unless the lookup is cancelled. Returns
 * the errno of pipe() or fork(); *ret is untouched then. query and host are needed only during
 * the call.
 */
int net_lookup_start(struct ev_loop *loop, const struct net_lookup_query *query,
		     struct net_lookup **ret);
#define NET_NAME_SIZE 256 /* of a name and its NUL */

/*
 * The name of this machine, fully qualified if the resolver knows it so, otherwise as gethostname()
 * has it. Blocks as the resolver does, so it belongs into a job.
 */
void net_own_name(char ret[static NET_NAME_SIZE]);
/* Stops the lookup; done will not be called. NULL is allowed. */
void net_lookup_cancel(struct net_lookup *l);
