/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generation: a configuration, compiled for the data threads.
 *
 * Compiled by the control thread, never changed after that. A data thread holds a reference for as
 * long as one of its exchanges uses it. When the last reference is gone, the generation is given
 * back to the control thread, which frees it.
 *
 * A generation consists of a plan (src/router/plan.h), which knows no servers and may be shared by
 * several generations, and the pools with their servers.
 */
#pragma once

#include <stdatomic.h>

#include "core/l7/balance.h"
#include "core/l7/config.h"
#include "core/l7/rollout.h"
#include "src/router/names.h"
#include "src/router/plan.h"
#include "src/router/secures.h"
#include "src/router/servers.h"
#include "src/router/tables.h"
#include "src/router/vault.h"

/* A server that sessions may belong to. */
struct generation_session {
	uint64_t key;
	size_t index; /* in the list of servers */
};

struct generation_pool {
	const struct l7_pool *config;
	struct name *name;	 /* for its statistics */
	struct server **servers; /* in the order of the configuration */
	struct quota *quota;
	struct l7_schedule schedule;
	/* by key, if a rule has persistence; otherwise NULL */
	const struct generation_session *sessions;
	struct table *table;		  /* with L7_MAGLEV; otherwise NULL */
	struct secure *secure;		  /* if a server has TLS; otherwise NULL */
	struct generation_memory *memory; /* of servers and schedule */
};

/* What outlives generations. */
struct generation_shared {
	struct servers *servers;
	struct names *routes, *streams, *pools;
	struct tables *tables;
	struct secures *secures;
	/* of quotas */
	unsigned threads;
	quota_call_fn *call;
	void *user;
};

#define GENERATION_UNROUTED "-" /* stands for the route of requests that have none */

/* How the requests of a generation have ended. Written by one thread, read by any. */
struct tally {
	_Atomic uint64_t answers;
	_Atomic uint64_t errors; /* statuses from 500 on, and answers that are not complete */
	uint64_t apart[14];	 /* from the next one: no cache line is written by two threads */
};

struct tallies {
	unsigned references; /* counted by the control thread */
	unsigned n;
	struct tally threads[];
};

struct generation {
	uint64_t number;
	/* these are of the plan */
	struct l7_config config;
	const struct generation_listener *listeners;
	const struct generation_port *ports; /* sorted by address */
	size_t n_ports;
	const struct generation_port *udp_ports; /* the same for datagrams */
	size_t n_udp_ports;
	struct l7_target fallback; /* for requests that no route matches; without rule: none */
	struct generation_pool *pools;
	/* ids of the servers that get requests, by number; 0: of another server */
	uint64_t *serving;
	uint32_t n_serving;	    /* numbers of servers are below this */
	struct name *const *routes; /* of the configuration's routes, for their statistics */
	struct name *fallback_name, *unrouted;
	struct name *const *streams; /* of the configuration's streams */
	struct tallies *tallies;     /* NULL: no thread uses it */
	/* with the certificates of each listener, or NULL if it has none; NULL: not secured yet */
	struct vault_item **secrets;
	/* the rest is private */
	struct generation_names *names; /* those of the routes */
	struct plan *plan;
	atomic_uint references;
	struct generation *next;
};

/* From a plan, whose reference it takes over. It has one reference. */
struct generation *generation_new(struct plan *plan, const struct generation_shared *shared,
				  uint64_t number);
/*
 * The same if the plan was made from that of another generation by plan_with_servers(): only that
 * pool is compiled.
 */
struct generation *generation_with_servers(const struct generation *from, struct plan *plan,
					   size_t pool, const struct generation_shared *shared,
					   uint64_t number);
/*
 * Takes the certificates of the listeners, whose files are read if they have changed. Before it is
 * used, unless it was made by generation_with_servers(). -EINVAL with a sentence in why.
 */
int generation_secure(struct generation *g, struct vault *v, struct buf *why);
/* Makes tallies for that many threads, or shares those of another generation. Before it is used. */
void generation_tally(struct generation *g, unsigned threads, const struct generation *from);
struct l7_tally generation_sum(const struct generation *g);
/* For the control thread, when there are no references any more. */
void generation_free(struct generation *g);

/* The port of that address; NULL if there is none. */
const struct generation_port *generation_port(const struct generation *g,
					      const struct endpoint *at);
/* The same for datagrams. */
const struct generation_port *generation_udp_port(const struct generation *g,
						  const struct endpoint *at);
/*
 * The index in g->config.streams of the stream of a connection of that listener, whose client names
 * a host; empty: none. L7_NONE: no stream belongs to it.
 */
size_t generation_stream(const struct generation_listener *l, struct str host);
/* The listener of a port that a host belongs to; NULL: it belongs to none. */
const struct generation_listener *
generation_listener(const struct generation *g, const struct generation_port *p, struct str host);
/* The rule for a request of that listener, maybe the default route; NULL if there is none. */
const struct l7_target *generation_find(const struct generation *g,
					const struct generation_listener *l,
					const struct l7_request *r);

/* The entry of the server of a pool that a session belongs to; NULL: none. */
const struct generation_session *generation_session(const struct generation_pool *p, uint64_t key);
/* Whether the server with that number and id gets requests that belong to no session. */
static inline bool generation_serves(const struct generation *g, uint32_t number, uint64_t id)
{
	return number < g->n_serving && g->serving[number] == id;
}

static inline void generation_hold(struct generation *g)
{
	atomic_fetch_add_explicit(&g->references, 1, memory_order_relaxed);
}

/* Returns true for the last one: the caller has to see to it that the generation is freed. */
static inline bool generation_release(struct generation *g)
{
	return atomic_fetch_sub_explicit(&g->references, 1, memory_order_acq_rel) == 1;
}
