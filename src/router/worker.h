/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker: a data thread: its loop, its listeners, its connections.
 *
 * A connection lives and dies on one thread. Nothing is shared with other threads on the way of a
 * request but the generation, which never changes, and the atomic members of servers.
 *
 * The control thread passes a new generation by one atomic pointer and wakes the thread. The thread
 * opens and closes listeners, and uses it for every request that begins after that. Exchanges that
 * are under way keep the generation with which they began; when the last one has ended, the
 * thread's reference is released.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/router/gate.h"
#include "src/router/generation.h"
#include "src/router/inquiry.h"
#include "src/router/refusal.h"
#include "src/router/stats.h"

struct worker;

/* Zero means the default. */
struct worker_limits {
	int64_t head_time;   /* ns for a head: 10 s */
	int64_t idle_time;   /* ns between two requests: 60 s */
	int64_t stall_time;  /* ns without a byte in an exchange, from either side: 60 s */
	int64_t tunnel_time; /* the same after an upgrade: 1 h */
	int64_t drain_time;  /* ns that exchanges have at the end: 30 s */
};

/* Limits of a pool at which requests or further tries were refused. */
enum worker_limit { WORKER_CONNECTIONS, WORKER_REQUESTS, WORKER_RETRIES };
#define WORKER_LIMITS 3
/* How copies of requests have ended. */
enum worker_copy {
	WORKER_ANSWERED,
	WORKER_FAILED, /* no connection, no answer */
	WORKER_CUT,    /* given up: too slow, too many, or the request was not complete */
};
#define WORKER_COPIES 3
#define WORKER_CLASSES 5 /* 1xx to 5xx; 1xx are upgrades */

struct worker_totals {
	uint64_t requests, retries;
	uint64_t answers[WORKER_CLASSES];
	uint64_t aborts; /* exchanges without a complete answer */
	uint64_t refusals[REFUSALS];
	uint64_t overflows[WORKER_LIMITS];
	uint64_t copies[WORKER_COPIES];
	uint64_t clients, links; /* connections that are open now */
};

struct worker_config {
	unsigned number;
	struct worker_limits limits;
	struct stats_thread *stats; /* of this thread; borrowed */
	struct gate *gate;	    /* shared by all workers */
	/* A generation has lost its last reference. Called on the worker's thread. */
	void (*retired)(struct generation *g, void *user);
	/*
	 * As many requests in a row as its pool allows have failed at a server, which the caller's
	 * generation holds. Called on the worker's thread.
	 */
	void (*suspect)(struct server *s, void *user);
	/* An inquiry was answered by all threads. Called on the last one. */
	void (*answered)(struct inquiry *q, void *user);
	/* The thread has nothing left to do after worker_drain(). Called on it. */
	void (*drained)(void *user);
	void *user;
};

struct worker *worker_new(const struct worker_config *config);
/* Starts the thread. 0 or a negative errno. */
int worker_start(struct worker *w);
/* Ends the thread at once. NULL is allowed. */
void worker_join(struct worker *w);
/* Frees what the thread has, which has ended or was not started. NULL is allowed. */
void worker_stop(struct worker *w);

/* A second generation, which a part of the clients uses. */
struct worker_trial {
	struct generation *generation; /* NULL: there is none */
	unsigned share;		       /* of the clients, in per cent */
	bool by_connection;	       /* clients are told apart by connection and not by address */
	uint64_t seed;
};

/* These five may be called by any thread. */

/* Adds the worker's counters. */
void worker_add_totals(const struct worker *w, struct worker_totals *totals);
/* Passes a generation, and maybe a second one, each with a reference that the worker releases. */
void worker_publish(struct worker *w, struct generation *g, const struct worker_trial *trial);
/* Gives a listening socket for an address of a generation that follows; the worker owns it. */
void worker_give_socket(struct worker *w, const struct endpoint *at, int fd, uint64_t generation);
/* The thread writes that part; not after worker_drain(). */
void worker_ask(struct worker *w, struct inquiry_part *part);
/* The thread takes a turn for the quota of a pool. */
void worker_call(struct worker *w, struct quota_side *side);
/* Accepts no more, ends what is idle, and lets exchanges finish. */
void worker_drain(struct worker *w);
