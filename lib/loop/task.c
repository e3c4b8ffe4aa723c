/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task: one line of tasks per rank and loop, and the watchers that run them.
 *
 * libev calls the watchers that are ready in the order of their priorities, the check watchers with
 * them. So a check watcher of the lowest priority runs when everything else of the turn is done: it
 * runs the tasks. Another one of the highest priority notes when the turn began. While tasks wait,
 * an idle watcher keeps the poll from blocking; it has nothing else to do.
 *
 * The queue belongs to the loop (ev_userdata) and goes with it.
 */
#include "lib/loop/task.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

struct task_queue {
	struct ev_loop *loop;
	TAILQ_HEAD(, task) lines[TASK_RANKS];
	struct task *running; /* whose step is under way; NULL: none, or it was cancelled */
	int64_t woke;	      /* monotonic ns when this turn began */
	int64_t turn_ends;    /* no further step after that */
	int64_t step_ends;    /* 0 outside of steps */
	int64_t late;
	ev_check first, last;
	ev_idle waiting; /* active while a task waits */
	ev_cleanup end;
};

static bool is_empty(const struct task_queue *q)
{
	return TAILQ_EMPTY(&q->lines[TASK_URGENT]) && TAILQ_EMPTY(&q->lines[TASK_ORDINARY]);
}

static void enqueue(struct task *t)
{
	struct task_queue *q = t->queue;

	t->woken = true;
	TAILQ_INSERT_TAIL(&q->lines[t->rank], t, next);
	if (!ev_is_active(&q->waiting))
		ev_idle_start(q->loop, &q->waiting);
}

static void dequeue(struct task *t)
{
	t->woken = false;
	TAILQ_REMOVE(&t->queue->lines[t->rank], t, next);
}

static void run_step(struct task *t, int64_t now)
{
	struct task_queue *q = t->queue;
	bool more;

	dequeue(t);
	q->running = t;
	q->step_ends = now + TASK_STEP_TIME < q->turn_ends ? now + TASK_STEP_TIME : q->turn_ends;
	more = t->step(t);
	q->step_ends = 0;
	if (more && q->running && !t->woken)
		enqueue(t);
	q->running = NULL;
}

/* The next task, or NULL. After the end of the budget only an ordinary one that had no turn yet. */
static struct task *choose(struct task_queue *q, int64_t now, bool *others_ran)
{
	bool over = now >= q->turn_ends;
	struct task *t = over ? NULL : TAILQ_FIRST(&q->lines[TASK_URGENT]);

	if (t || (over && *others_ran))
		return t;
	*others_ran = true;
	return TAILQ_FIRST(&q->lines[TASK_ORDINARY]);
}

static void run_tasks(struct task_queue *q, int64_t now)
{
	bool others_ran = false;
	struct task *t;

	q->turn_ends = now + TASK_TURN_TIME;
	while ((t = choose(q, now, &others_ran))) {
		run_step(t, now);
		now = loop_monotonic();
	}
}

static void on_turn_begins(struct ev_loop *loop, ev_check *w, int revents)
{
	struct task_queue *q = container_of(w, struct task_queue, first);

	q->woke = loop_monotonic();
}

static void on_turn_ends(struct ev_loop *loop, ev_check *w, int revents)
{
	struct task_queue *q = container_of(w, struct task_queue, last);
	int64_t took;

	if (!is_empty(q))
		run_tasks(q, loop_monotonic());
	if (is_empty(q))
		ev_idle_stop(loop, &q->waiting);
	took = loop_monotonic() - q->woke;
	if (took > LOOP_LATE)
		q->late += took - LOOP_LATE;
}

static void on_waiting(struct ev_loop *loop, ev_idle *w, int revents)
{
}

static void on_loop_ends(struct ev_loop *loop, ev_cleanup *w, int revents)
{
	struct task_queue *q = container_of(w, struct task_queue, end);

	ev_set_userdata(loop, NULL);
	free(q);
}

/* Watchers that serve the others do not keep the loop alive. */
static void start_check(struct task_queue *q, ev_check *w, int priority)
{
	ev_set_priority(w, priority);
	ev_check_start(q->loop, w);
	ev_unref(q->loop);
}

static struct task_queue *queue_new(struct ev_loop *loop)
{
	struct task_queue *q = mem_zalloc(sizeof(*q));

	q->loop = loop;
	for (enum task_rank rank = 0; rank < TASK_RANKS; rank++)
		TAILQ_INIT(&q->lines[rank]);
	q->woke = loop_monotonic(); /* a turn may be under way */
	ev_check_init(&q->first, on_turn_begins);
	start_check(q, &q->first, EV_MAXPRI);
	ev_check_init(&q->last, on_turn_ends);
	start_check(q, &q->last, EV_MINPRI);
	ev_idle_init(&q->waiting, on_waiting);
	ev_cleanup_init(&q->end, on_loop_ends);
	ev_cleanup_start(loop, &q->end);
	ev_set_userdata(loop, q);
	return q;
}

static struct task_queue *queue_of(struct ev_loop *loop)
{
	struct task_queue *q = ev_userdata(loop);

	return q ? q : queue_new(loop);
}

void task_init(struct task *t, struct ev_loop *loop, enum task_rank rank, task_step_fn step)
{
	assert(t && loop && step && rank < TASK_RANKS);
	*t = (struct task){ .queue = queue_of(loop), .rank = rank, .step = step };
}

void task_wake(struct task *t)
{
	if (!t->woken)
		enqueue(t);
}

void task_cancel(struct task *t)
{
	if (t->woken)
		dequeue(t);
	if (t->queue && t->queue->running == t)
		t->queue->running = NULL;
}

struct ev_loop *task_loop(const struct task *t)
{
	return t->queue->loop;
}

bool task_is_running(struct ev_loop *loop, const struct task *t)
{
	return queue_of(loop)->running == t;
}

bool task_has_time(struct ev_loop *loop)
{
	return loop_monotonic() < queue_of(loop)->step_ends;
}

int64_t loop_late(struct ev_loop *loop)
{
	return queue_of(loop)->late;
}
