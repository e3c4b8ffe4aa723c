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
#include "src/router/history.h"
#include "src/router/sockets.h"
#include "src/router/worker.h"

struct router;

struct router_config {
	unsigned threads; /* at least 1 */
	struct care_config care;
	struct worker_limits limits;
	int64_t ticket_rotation; /* ns after which a new key of session tickets is used */
	/* All threads have ended after router_drain(). */
	void (*drained)(void *user);
	void *user;
};

/* Starts the threads. 0 or a negative errno. */
int router_new(struct ev_loop *loop, const struct router_config *config, struct router **ret);
/* Ends the threads at once. NULL is allowed. */
void router_free(struct router *r);

/*
 * Starts a trial: only a part of the requests uses the settings, which the router owns from now on.
 * trial->generation is not read. -EXDEV if addresses would be opened or closed, -ENOENT if nothing
 * is in force, -EBUSY if there is a trial already; other errors as below.
 */
int router_try(struct router *r, struct settings *settings, const struct history_origin *origin,
	       const struct worker_trial *trial, struct buf *why);
/* NULL: there is no trial. */
const struct generation *router_trial(const struct router *r);
void router_set_share(struct router *r, unsigned share);
/* The trial replaces the generation in force, or is given up. */
void router_end_trial(struct router *r, bool replace);

/* Whether the certificates of a configuration can be used. -EINVAL with a sentence in why. */
int router_check(struct router *r, const struct l7_config *config, struct buf *why);
/* The keys of session tickets, for the process that takes over, and from the one before. */
struct tls_tickets *router_tickets(const struct router *r);

/*
 * These three make a new generation. They return 0; or a negative errno, with a sentence in why, if
 * an address cannot be used, -EINVAL if a certificate cannot, -EBUSY during a trial, or -ESHUTDOWN
 * after router_drain(); nothing has changed then. Each address that is opened or closed is logged.
 */

/* Applies settings, which the router owns from now on, also if it fails. */
int router_apply(struct router *r, struct settings *settings, const struct history_origin *origin,
		 struct buf *why);
/*
 * Replaces the servers of one pool by those of the only pool of settings, which the router owns
 * from now on. -ENOENT if there is no such pool. Routes are not compiled again. During a trial
 * this holds for both generations.
 */
int router_set_servers(struct router *r, struct settings *settings,
		       const struct history_origin *origin, struct buf *why);
/* Applies an earlier generation again; 0: the one that was in force before. -ENOENT: not kept. */
int router_rollback(struct router *r, uint64_t number, const struct history_origin *origin,
		    struct buf *why);
/*
 * Asks all threads for their connections. The caller fills in done(); it is called later, from the
 * loop or from router_free(), and frees the inquiry. router_inquiry() returns NULL after
 * router_drain().
 */
struct inquiry *router_inquiry(const struct router *r, size_t limit);
void router_inquire(struct router *r, struct inquiry *q);
/* The last generations. */
struct history *router_history(const struct router *r);
/* Whether requests still use a generation, or it is in force. */
bool router_holds(const struct router *r, uint64_t number);
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
/* Lookups of names. */
struct lookups_counts router_lookups(const struct router *r);
/* The counters of all threads together. */
struct worker_totals router_totals(const struct router *r);
/* The statistics of what the generation in force has: stats_sum() with its names and servers. */
const struct stats *router_stats(const struct router *r);
/* Before router_drain(): clients are told to close their connections, and new ones are accepted. */
void router_announce(struct router *r);
/* Lets all exchanges finish; then drained() is called from the loop. */
void router_drain(struct router *r);
/* From the beginning of the drain on. */
bool router_is_stopping(const struct router *r);
unsigned router_threads(const struct router *r);

/*
 * A router that takes over gets sockets and the number of the generation in force before the first
 * configuration, and applies that; router_accept() begins to use the sockets.
 */

/* A socket of an address as configured, which then belongs to the router. -EINVAL if it is none. */
int router_inherit(struct router *r, const struct endpoint *at, bool udp, int fd);
/*
 * Applies the first settings, as router_apply(), with the number that they had. last is the highest
 * number that was used.
 */
int router_resume(struct router *r, struct settings *settings, uint64_t number, uint64_t last,
		  struct buf *why);
/* Sessions of datagrams will come from that channel, which then belongs to the router. */
void router_expect(struct router *r, int channel);
void router_accept(struct router *r);

/* The highest number of a generation so far. */
uint64_t router_last(const struct router *r);

/* A router that hands over shows its sockets, is frozen meanwhile, and then leaves them. */

const struct sockets *router_sockets(const struct router *r);
/* Applies no configuration until it is thawed. */
void router_freeze(struct router *r, bool frozen);
/*
 * As router_drain(), but connections that wait to be accepted are left to the other process.
 * Sessions of datagrams go there through the channel, which is borrowed; -1: there is none.
 */
void router_hand_over(struct router *r, int channel);
