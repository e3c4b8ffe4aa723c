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
#include "src/router/care.h"
#include "src/router/generation.h"
#include "src/router/worker.h"

struct router;

struct router_config {
	unsigned threads; /* at least 1 */
	struct care_config care;
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
 * errno, with a sentence in why, if an address cannot be used, or -ESHUTDOWN after router_drain().
 * Logs each address that is opened or
 * closed.
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
/* Lets all exchanges finish; then drained() is called from the loop. */
void router_drain(struct router *r);
