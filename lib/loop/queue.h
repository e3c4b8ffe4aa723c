/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: keys to be worked on, the heart of a reconciler.
 *
 * A key is a struct queue_item in a struct of the owner, for example one for each object that is to
 * be kept in line. Adding a key says "look at it again". However often it is added before its turn,
 * it has one turn; added during its turn it has one more afterwards. A key that failed has its next
 * turn after a delay that grows with each failure, and other keys do not wait for it.
 *
 *	IDLE --add--> WAITING --run--> RUNNING --done--> IDLE
 *	                 ^                 |  |
 *	                 '-- added again --'  '--failed--> DELAYED
 *	                 '---------------- the delay is over --'
 *
 * Order: a lower rank goes first; within a rank, the key that has waited longest. Both are decided
 * by the calls alone, so the same calls give the same order. A rank may stand for urgency or for a
 * place in an order that the owner wants kept; keys of a low rank that are added all the time keep
 * those of a higher rank waiting.
 *
 * The queue allocates nothing and takes no turns by itself: it calls wake(), and the owner calls
 * queue_run() when it has time. Its bound is the owner's: it holds each key at most once.
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
	QUEUE_RERUN,   /* running, and added meanwhile */
	QUEUE_DELAYED, /* failed, and waits for its retry */
};

/* All zeros is an idle key. Must stay in place unless it is idle. */
struct queue_item {
	struct heap_node node;
	enum queue_state state;
	unsigned failures; /* in a row, since the key was last added */
	uint64_t rank;
};

enum queue_result {
	QUEUE_DONE,
	QUEUE_AGAIN,   /* not done yet, and nothing failed: one more turn, after keys of its rank */
	QUEUE_FAILED,  /* one more turn after a delay */
	QUEUE_PENDING, /* only from step(): queue_done() follows */
};

struct queue_spec {
	/* One turn of a key. It may add any key, this one as well, but not run the queue. */
	enum queue_result (*step)(struct queue_item *item, void *user);
	/* There is a key for queue_run(). Called often; may be called from within any function. */
	void (*wake)(void *user);
	void *user;
	size_t parallel; /* keys that may be running at once, at least 1 */
	struct backoff_policy retry;
};

struct queue {
	struct ev_loop *loop;
	struct queue_spec spec;
	struct heap waiting, delayed;
	size_t running;
	uint64_t count;	 /* of all that ever waited or failed: ties are broken by it */
	uint64_t random; /* for jitter; seeded from the clock, a test may set it */
	ev_timer due;	 /* of the first that failed */
};

/* *q must stay in place until queue_stop(). */
void queue_init(struct queue *q, struct ev_loop *loop, const struct queue_spec *spec);
/* Forgets all keys but those that are running. */
void queue_stop(struct queue *q);

/*
 * Something about the key is new: it waits for a turn, and its former failures do not count any
 * more. A key that waits already keeps its place, or gets the better one of a lower rank.
 */
void queue_add(struct queue *q, struct queue_item *item, uint64_t rank);
/* The next turn, if a key waits and not too many are running. False: there was none to take. */
bool queue_run(struct queue *q);
/*
 * The owner works on this key now, out of turn and beyond `parallel`; queue_done() must follow. Not
 * while it is running. Its failures stay, unless it was added after them.
 */
void queue_take(struct queue *q, struct queue_item *item);
/*
 * A key that is running is finished. Returns the ns until its next turn if it failed; 0 if it was
 * added meanwhile, which gives it a turn at once whatever the result is.
 */
int64_t queue_done(struct queue *q, struct queue_item *item, enum queue_result result);
/* The key is idle, whatever it was. If it was running, queue_done() must not follow. */
void queue_forget(struct queue *q, struct queue_item *item);
/* The same for all keys that wait for a retry: somebody else will look at them. */
void queue_forget_delayed(struct queue *q);
/* The same for all keys that wait for a turn or for a retry. */
void queue_clear(struct queue *q);

bool queue_is_running(const struct queue_item *item);
const char *queue_state_name(enum queue_state state);
