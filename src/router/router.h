/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router: the control side: it turns configurations into generations and passes them to the data
 * threads.
 *
 * For the control thread alone. A configuration is applied whole or not at all: sockets for new
 * addresses are opened first, for every thread, and if that fails nothing changes.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/router/generation.h"
#include "src/router/sockets.h"
#include "src/router/worker.h"

struct router;

struct router_config {
	unsigned threads;	/* at least 1 */
	const char *user_agent; /* of probes; borrowed */
	struct worker_limits limits;
	/* All threads have ended after router_drain(). */
	void (*drained)(void *user);
	void *user;
};

/* Starts the threads. 0 or a negative errno. */
int router_new(struct ev_loop *loop, const struct router_config *config, struct router **ret);
/* Ends the threads at once. NULL is allowed. */
void router_free(struct router *r);

/*
 * Applies settings, which the router owns from now on, also if it fails. Returns 0; or a negative
 * errno, with a sentence in why, if an address cannot be used; -ESHUTDOWN after router_drain(),
 * -EAGAIN while the router is frozen. Logs each address that is opened or closed.
 */
int router_apply(struct router *r, struct settings *settings, struct buf *why);
/* The generation in force; NULL before the first. */
const struct generation *router_current(const struct router *r);
/*
 * The generation in force, for work that takes several turns of the loop; it and all that it names
 * stay until router_release(). NULL before the first.
 */
struct generation *router_hold(struct router *r);
void router_release(struct router *r, struct generation *g);
/* Generations that are still used by exchanges, the one in force included. */
size_t router_generations(const struct router *r);
/* The counters of all threads together. */
struct worker_totals router_totals(const struct router *r);
/* The statistics of what the generation in force has: stats_sum() with its names and servers. */
const struct stats *router_stats(const struct router *r);
/* Before router_drain(): clients are told to close their connections, and new ones are accepted. */
void router_announce(struct router *r);
/* Lets all exchanges finish; then drained() is called from the loop. */
void router_drain(struct router *r);

/*
 * A router that takes over gets sockets and the number of the generation in force before the first
 * configuration, and applies that; router_accept() begins to use the sockets.
 */

/* A socket of an address as configured, which then belongs to the router. -EINVAL if it is none. */
int router_inherit(struct router *r, const struct endpoint *at, int fd);
/* The next generation has this number, at least 1. */
void router_resume(struct router *r, uint64_t number);
void router_accept(struct router *r);

/* A router that hands over shows its sockets, is frozen meanwhile, and then leaves them. */

const struct sockets *router_sockets(const struct router *r);
/* Applies no configuration until it is thawed. */
void router_freeze(struct router *r, bool frozen);
/* As router_drain(), but connections that wait to be accepted are left to the other process. */
void router_hand_over(struct router *r);
