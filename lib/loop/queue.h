/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: keys to be worked on, for reconcilers.
 *
 * A key is a struct queue_item in a struct of the owner, for example one for each object to be
 * reconciled. Adding a key requests one more look at it. However often it is added before its
 * turn, it gets one turn; if it is added during its turn, it gets one more afterwards. A key that
 * failed gets its next turn after a delay that grows with each failure, and other keys do not
 * wait for it.
 *
 *	IDLE --add--> WAITING --run--> RUNNING --done--> IDLE
 *	                 ^                 |  |
 *	                 '-- added again --'  '--failed--> DELAYED
 *	                 '---------------- the delay is over --'
 *
 * Order: a lower rank goes first; within a rank, the key that has waited longest. Both follow
 * from the calls alone, so the same calls give the same order. A rank may express urgency or an
 * order that the owner wants. Keys of a low rank that are added all the time starve those of a
 * higher rank.
 *
 * The queue allocates nothing and runs nothing by itself: it calls wake(), and the owner calls
 * queue_run() when it has time. It holds each key at most once, so the number of keys is its
 * bound.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "lib/loop/backoff.h"

enum queue_state {
	QUEUE_IDLE,
	QUEUE_WAITING,
	QUEUE_RUNNING,
	QUEUE_RERUN,   /* running, and added in the meantime */
	QUEUE_DELAYED, /* failed, waits for its retry */
};

/* All zeros is an idle key. It must not move or be freed unless it is idle. */
struct queue_item {
	struct heap_node node;
	enum queue_state state;
	unsigned failures; /* consecutive, since the key was last added */
	uint64_t rank;	   /* lower goes first; kept for the retry */
};

enum queue_result {
	QUEUE_DONE,
	QUEUE_AGAIN, /* not finished, no failure: one more turn, after the other keys of its rank */
	QUEUE_FAILED,  /* one more turn after a delay */
	QUEUE_PENDING, /* only from step(): the owner calls queue_done() later */
};

struct queue_spec {
	/*
	 * One turn of a key. It may add any key, also this one, but must not run the queue. If it
	 * forgets this key, it must return QUEUE_PENDING.
	 */
	enum queue_result (*step)(struct queue_item *item, void *user);
	/*
	 * A key is ready for queue_run(). Called often, from inside any function that adds a key
	 * or ends a turn.
	 */
	void (*wake)(void *user);
	void *user;
	size_t parallel; /* maximum number of running keys, at least 1 */
	struct backoff_policy retry;
};

struct queue {
	struct ev_loop *loop;
	struct queue_spec spec;
	struct heap waiting, delayed;
	size_t running;
	uint64_t count;	 /* sequence number that breaks ties in both heaps */
	uint64_t random; /* for jitter; seeded from the clock, a test may set it */
	ev_timer due;	 /* for the earliest retry */
};

/* *q must not move until queue_stop(). */
void queue_init(struct queue *q, struct ev_loop *loop, const struct queue_spec *spec);
/* Forgets all keys except running ones, and stops the timer. */
void queue_stop(struct queue *q);

/*
 * The key has changed: it waits for a turn, and earlier failures no longer count. A key that
 * already waits keeps its place, unless the new rank is lower.
 */
void queue_add(struct queue *q, struct queue_item *item, uint64_t rank);
/*
 * Runs the next turn, if a key waits and fewer than `parallel` are running. False if there was
 * none.
 */
bool queue_run(struct queue *q);
/*
 * The owner works on this key now, out of order and regardless of `parallel`; queue_done() must
 * follow. The key must not be running. Its failures are kept.
 */
void queue_take(struct queue *q, struct queue_item *item);
/*
 * Ends the turn of a running key. Returns the ns until its next turn if it failed; 0 if it was
 * added in the meantime, which gives it a turn at once whatever the result is.
 */
int64_t queue_done(struct queue *q, struct queue_item *item, enum queue_result result);
/* Makes the key idle in any state. If it was running, queue_done() must not follow. */
void queue_forget(struct queue *q, struct queue_item *item);
/* The same for all keys that wait for a retry, because the owner will look at them anyway. */
void queue_forget_delayed(struct queue *q);
/* The same for all keys that wait for a turn or for a retry. */
void queue_clear(struct queue *q);

bool queue_is_running(const struct queue_item *item);
const char *queue_state_name(enum queue_state state);
