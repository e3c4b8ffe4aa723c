/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate: the limits of a pool, which hold over all threads, and the requests that wait for a
 * connection.
 *
 *	gate		of a pool: how many requests wait, and one side for each thread
 *	side		of a thread: its waiting requests, oldest first
 *	tally		of a server: its open connections
 *	place		of a request that waits
 *
 * All three outlive generations. Counters are atomic; everything else of a side belongs to its
 * thread. A thread that frees a connection calls the thread whose request has waited longest, if
 * there is one, which then takes a turn (gate_turn()). docs/design/router.md says why no call is
 * lost.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct gate;
struct gate_side;
struct slot;

struct gate_place {
	TAILQ_ENTRY(gate_place) queue;
	struct gate_side *side; /* NULL: it does not wait */
	int64_t since;		/* monotonic ns */
	bool bound;		/* to one server */
};

TAILQ_HEAD(gate_queue, gate_place);
TAILQ_HEAD(gate_slots, slot);

struct gate_side {
	struct gate *gate;
	/* written by its thread, read by all */
	_Atomic int64_t oldest;		/* since of the first place in queue; 0: it is empty */
	_Atomic uint32_t bound;		/* places in the queue of that name */
	_Atomic uint32_t kept;		/* connections that are kept for the next request */
	_Atomic uint32_t active, tried; /* requests under way, and those of them on a further try */
	/* of calls */
	atomic_bool called;
	struct gate_side *next;
	/* of its thread */
	struct gate_queue queue;       /* for any server */
	struct gate_queue bound_queue; /* each for the server of its session */
	struct gate_slots slots;       /* what the thread knows about the servers of the pool */
	char apart[32]; /* 128 bytes: what threads write for each request is in lines of its own */
};

/* Makes a thread call gate_turn() for its side soon; called by any thread. */
typedef void gate_call_fn(unsigned thread, struct gate_side *side, void *user);

struct gate {
	atomic_uint references;
	atomic_uint waiting;  /* requests of all threads */
	atomic_uint requests; /* under way, if they are limited */
	unsigned threads;
	gate_call_fn *call;
	void *user;
	struct gate_side sides[];
};

struct tally {
	atomic_uint references;
	atomic_uint open; /* connections of all threads */
	struct gate *gate;
};

/* ---- lifetimes ---- */

struct gate *gate_new(unsigned threads, gate_call_fn *call, void *user);
void gate_hold(struct gate *g);
void gate_release(struct gate *g);
/* A tally holds its gate. */
struct tally *tally_new(struct gate *g);
void tally_hold(struct tally *t);
void tally_release(struct tally *t);

/* ---- connections ---- */

/* Counts a connection that is being opened. False: there are limit already. 0: no limit. */
bool tally_open(struct tally *t, unsigned limit);
/* A connection has ended, or was not opened after all. */
void tally_close(struct tally *t);
static inline bool tally_has_room(const struct tally *t, unsigned limit)
{
	return atomic_load(&t->open) < limit;
}

/* A connection of the thread is kept for the next request. limited: the pool has a limit. */
void gate_keep(struct gate_side *side, bool limited);
/* It is used again, or ends. */
void gate_unkeep(struct gate_side *side);

/* ---- waiting ---- */

/* Whether a new request has to wait because others do. */
static inline bool gate_is_crowded(const struct gate *g)
{
	return atomic_load(&g->waiting) > 0;
}

/*
 * The request waits from now on, and the thread gets a turn. The caller sets p->since to now, and
 * p->bound. False: as many as max wait already.
 */
bool gate_enter(struct gate_side *side, struct gate_place *p, unsigned max);
/* The request waits no longer: it was served, has gone, or has waited for too long. */
void gate_leave(struct gate_place *p);
/* Calls the thread of a side, which may be the caller's own. */
void gate_call(struct gate_side *side);

enum gate_result {
	GATE_SERVED, /* it got a connection */
	GATE_FULL,   /* no server that it may use has one to spare */
};

struct gate_users {
	/* Tries to begin a request, which leaves the queue (gate_leave()) if it succeeds. */
	enum gate_result (*serve)(struct gate_place *p, void *user);
	/* Ends one kept connection of the side. False: there are none. */
	bool (*yield)(struct gate_side *side, void *user);
	void *user;
};

/*
 * Serves the requests that wait at this side: those that are bound to a server, then the others,
 * oldest first. A request of another thread that has waited longer goes first: then connections
 * that are kept here are ended, and the other is called.
 */
void gate_turn(struct gate_side *side, const struct gate_users *users);

/* ---- requests ---- */

/* Counts a request that begins. False: there are limit already. */
bool gate_admit(struct gate *g, unsigned limit);
void gate_dismiss(struct gate *g);

/* Adds to a counter that only this thread writes. */
static inline void gate_count(_Atomic uint32_t *counter, int by)
{
	uint32_t before = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, before + (uint32_t)by, memory_order_relaxed);
}

/* Requests of all threads: those under way, and those of them on a further try. */
struct gate_load {
	uint32_t active, tried;
};

struct gate_load gate_load(const struct gate *g);
