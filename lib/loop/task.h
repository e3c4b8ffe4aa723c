/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task: work in steps, under one time budget per turn of the loop.
 *
 * A turn of the loop is: poll, run the watchers that are ready, run tasks, poll again. Watchers
 * for the program's own purpose (timers of probes, signals) do their work directly. Work that
 * peers can cause in any amount (reading, TLS, decoding, handlers, writing, long answers) and
 * every long walk over the model is a task. All tasks of a loop share TASK_TURN_TIME in one turn,
 * however many there are, so that a busy client cannot delay the next poll.
 *
 * A task sleeps until task_wake(). Its step then does a part of the work and returns whether
 * there is more. Tasks run in the order in which they were woken; one with more to do goes to the
 * end of the queue, so that a busy connection and a quiet one get the same number of steps.
 * Urgent tasks (sockets of probes) run before all others; the others still get one step in every
 * turn. Patient tasks (handshakes of TLS, each step of which takes long) run after all others, in
 * every turn for TASK_STEP_TIME: any number of them delays a poll by no more than that and a step.
 *
 * A step should take at most TASK_STEP_TIME: it does either one small part, or many while
 * task_has_time(). Steps never run inside each other or inside another callback.
 *
 * For the thread of the loop. A loop's queue is created with its first task and freed by
 * ev_loop_destroy().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/loop/loop.h"

#define TASK_TURN_TIME INT64_C(2000000) /* ns in one turn, for all tasks */
#define TASK_STEP_TIME INT64_C(500000)	/* ns in one step, for one task */

struct task;
struct task_queue;

/* Returns true if there is more to do. It may cancel, free or wake its own task and others. */
typedef bool (*task_step_fn)(struct task *t);

enum task_rank {
	TASK_URGENT, /* first in every turn */
	TASK_ORDINARY,
	TASK_PATIENT, /* last, but in every turn */
	TASK_RANKS,
};

/* Embedded in a struct of its owner, which the step finds with container_of(). */
struct task {
	struct task_queue *queue;
	TAILQ_ENTRY(task) next;
	task_step_fn step;
	enum task_rank rank;
	bool woken; /* in the queue */
};

/* *t must not move until task_cancel(). */
void task_init(struct task *t, struct ev_loop *loop, enum task_rank rank, task_step_fn step);
/* Puts the task at the end of its queue. No effect if it is already queued. */
void task_wake(struct task *t);
/*
 * Removes the task from the queue; if its own step is running, that step is the last. Cancelling
 * twice is allowed.
 */
void task_cancel(struct task *t);
/* A task that is queued goes to the end of the other queue. */
void task_set_rank(struct task *t, enum task_rank rank);
struct ev_loop *task_loop(const struct task *t);
static inline bool task_is_woken(const struct task *t)
{
	return t->woken;
}

/*
 * Whether the running step is that of t and t was not cancelled. A step calls this after a
 * callback that may have freed its owner; t is only compared, never dereferenced.
 */
bool task_is_running(struct ev_loop *loop, const struct task *t);
/* Whether the running step may do another part. False outside of steps. */
bool task_has_time(struct ev_loop *loop);
/* When the running step began, in monotonic ns; the clock is not read. Outside of steps: now. */
int64_t task_began(struct ev_loop *loop);

/*
 * The total lateness of the loop since its first task, in ns: for each turn longer than
 * LOOP_LATE, the time beyond that. A timeout for a peer's answer is extended by the increase,
 * since the peer is not to blame for it.
 */
#define LOOP_LATE INT64_C(10000000)
int64_t loop_late(struct ev_loop *loop);
