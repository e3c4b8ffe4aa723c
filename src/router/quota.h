/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota: the limits of a pool, which hold over all threads, and the requests that wait for a
 * connection.
 *
 *	quota		of a pool: how many requests wait, and one side for each thread
 *	side		of a thread: its waiting requests, oldest first
 *	seats		of a server: its open connections
 *	place		of a request that waits
 *
 * All three outlive generations. Counters are atomic; everything else of a side belongs to its
 * thread. A thread that frees a connection calls the thread whose request has waited longest, if
 * there is one, which then takes a turn (quota_turn()). docs/design/router.md says why no call is
 * lost.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct quota;
struct quota_side;
struct slot;

struct quota_place {
	TAILQ_ENTRY(quota_place) queue;
	struct quota_side *side; /* NULL: it does not wait */
	int64_t since;		 /* monotonic ns */
	bool bound;		 /* to one server */
	bool relay;		 /* of a relay, not of a request */
};

TAILQ_HEAD(quota_queue, quota_place);
TAILQ_HEAD(quota_slots, slot);

struct quota_side {
	struct quota *quota;
	/* written by its thread, read by all */
	_Atomic int64_t oldest;		/* since of the first place in queue; 0: it is empty */
	_Atomic uint32_t bound;		/* places in the queue of that name */
	_Atomic uint32_t kept;		/* connections that are kept for the next request */
	_Atomic uint32_t active, tried; /* requests under way, and those of them on a further try */
	/* of calls */
	atomic_bool called;
	struct quota_side *next;
	/* of its thread */
	struct quota_queue queue;	/* for any server */
	struct quota_queue bound_queue; /* each for the server of its session */
	struct quota_slots slots;	/* what the thread knows about the servers of the pool */
	char apart[32]; /* 128 bytes: what threads write for each request is in lines of its own */
};

/* Makes a thread call quota_turn() for its side soon; called by any thread. */
typedef void quota_call_fn(unsigned thread, struct quota_side *side, void *user);

struct quota {
	atomic_uint references;
	atomic_uint waiting;  /* requests of all threads */
	atomic_uint requests; /* under way, if they are limited */
	unsigned threads;
	quota_call_fn *call;
	void *user;
	struct quota_side sides[];
};

struct seats {
	atomic_uint references;
	atomic_uint open; /* connections of all threads */
	struct quota *quota;
};

/* ---- lifetimes ---- */

struct quota *quota_new(unsigned threads, quota_call_fn *call, void *user);
void quota_hold(struct quota *q);
void quota_release(struct quota *q);
/* Seats hold their quota. */
struct seats *seats_new(struct quota *q);
void seats_hold(struct seats *s);
void seats_release(struct seats *s);

/* ---- connections ---- */

/* Counts a connection that is being opened. False: there are limit already. 0: no limit. */
bool seats_open(struct seats *s, unsigned limit);
/* A connection has ended, or was not opened after all. */
void seats_close(struct seats *s);
static inline bool seats_has_room(const struct seats *s, unsigned limit)
{
	return atomic_load(&s->open) < limit;
}

/* A connection of the thread is kept for the next request. limited: the pool has a limit. */
void quota_keep(struct quota_side *side, bool limited);
/* It is used again, or ends. */
void quota_unkeep(struct quota_side *side);

/* ---- waiting ---- */

/* Whether a new request has to wait because others do. */
static inline bool quota_is_crowded(const struct quota *q)
{
	return atomic_load(&q->waiting) > 0;
}

/*
 * The request waits from now on, and the thread gets a turn. The caller sets p->since to now, and
 * p->bound. False: as many as max wait already.
 */
bool quota_enter(struct quota_side *side, struct quota_place *p, unsigned max);
/* The request waits no longer: it was served, has gone, or has waited for too long. */
void quota_leave(struct quota_place *p);
/* Calls the thread of a side, which may be the caller's own. */
void quota_call(struct quota_side *side);

enum quota_result {
	QUOTA_SERVED, /* it got a connection */
	QUOTA_FULL,   /* no server that it may use has one to spare */
};

struct quota_users {
	/* Tries to begin a request, which leaves the queue (quota_leave()) if it succeeds. */
	enum quota_result (*serve)(struct quota_place *p, void *user);
	/* Ends one kept connection of the side. False: there are none. */
	bool (*yield)(struct quota_side *side, void *user);
	void *user;
};

/*
 * Serves the requests that wait at this side: those that are bound to a server, then the others,
 * oldest first. A request of another thread that has waited longer goes first: then connections
 * that are kept here are ended, and the other is called.
 */
void quota_turn(struct quota_side *side, const struct quota_users *users);

/* ---- requests ---- */

/* Counts a request that begins. False: there are limit already. */
bool quota_admit(struct quota *q, unsigned limit);
void quota_dismiss(struct quota *q);

/* Adds to a counter that only this thread writes. */
static inline void quota_count(_Atomic uint32_t *counter, int by)
{
	uint32_t before = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, before + (uint32_t)by, memory_order_relaxed);
}

/* Requests of all threads: those under way, and those of them on a further try. */
struct quota_load {
	uint32_t active, tried;
};

struct quota_load quota_load(const struct quota *q);
