/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task: work in steps, under one budget of time per turn of the loop.
 *
 * A turn of the loop is: poll, run the watchers that are ready, run tasks, poll again. Watchers of
 * the program's own purpose (timers of probes, signals) do their work directly. Everything that
 * others can cause in any amount (reading, TLS, decoding, handlers, writing, long answers) and
 * every long walk over the model is a task. All tasks of a loop share TASK_TURN_TIME in one turn,
 * however many there are, so that a busy client cannot delay the next poll.
 *
 * A task waits until task_wake(). Its step then does a part of the work and says whether there is
 * more. Tasks run in the order in which they were woken; one with more to do goes to the end of the
 * line, so that a busy connection and a quiet one get the same number of steps. Urgent tasks (the
 * sockets of probes) run before all others; the others still get one step in every turn.
 *
 * A step should take at most TASK_STEP_TIME: it either does one small part, or many while
 * task_has_time(). Steps never run inside each other, nor inside another callback.
 *
 * For one thread; a loop's queue is made with its first task and freed by ev_loop_destroy().
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

/* True when there is more to do. It may cancel, free or wake its own task and others. */
typedef bool (*task_step_fn)(struct task *t);

enum task_rank {
	TASK_URGENT, /* first in every turn */
	TASK_ORDINARY,
	TASK_RANKS,
};

/* Embedded in its owner, which finds itself with container_of(). */
struct task {
	struct task_queue *queue;
	TAILQ_ENTRY(task) next;
	task_step_fn step;
	enum task_rank rank;
	bool woken; /* in the line */
};

/* *t must stay in place until task_cancel(). */
void task_init(struct task *t, struct ev_loop *loop, enum task_rank rank, task_step_fn step);
/* Puts it at the end of the line. No effect when it is there already. */
void task_wake(struct task *t);
/* Takes it out of the line; the step under way, if it is its own, is the last. Twice is fine. */
void task_cancel(struct task *t);
struct ev_loop *task_loop(const struct task *t);
static inline bool task_is_woken(const struct task *t)
{
	return t->woken;
}

/*
 * Whether the step under way is t's and has not cancelled it. A step asks this after a callback
 * that may have ended its owner; t itself is not looked at.
 */
bool task_is_running(struct ev_loop *loop, const struct task *t);
/* Whether the step that is running may do another part. False outside of steps. */
bool task_has_time(struct ev_loop *loop);

/*
 * How late the loop was in all since its first task, ns: of each turn longer than LOOP_LATE what it
 * took beyond that. Who waits for somebody else's answer adds the difference to its patience.
 */
#define LOOP_LATE INT64_C(10000000)
int64_t loop_late(struct ev_loop *loop);
