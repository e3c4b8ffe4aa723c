/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task: one queue of tasks per rank and loop, and the watchers that run them.
 *
 * libev calls the ready watchers, check watchers included, in the order of their priorities. So a
 * check watcher of the lowest priority runs after everything else in the turn: it runs the tasks.
 * Another one of the highest priority records the beginning of the turn. While tasks are queued,
 * an idle watcher keeps the poll from blocking; its callback does nothing.
 *
 * The queue belongs to the loop (ev_userdata) and is freed with it.
 */
#include "lib/loop/task.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

struct task_queue {
	struct ev_loop *loop;
	TAILQ_HEAD(, task) lines[TASK_RANKS];
	struct task *running; /* its step is running; NULL: none, or it was cancelled */
	int64_t woke;	      /* monotonic ns when this turn began */
	int64_t turn_ends;    /* no step begins after this time */
	int64_t step_began;   /* the time of the last reading before it */
	int64_t step_ends;    /* 0 outside of steps */
	int64_t late;	      /* total, see loop_late() */
	ev_check first, last;
	ev_idle waiting; /* active while a task is queued */
	ev_cleanup end;
};

static bool is_empty(const struct task_queue *q)
{
	for (enum task_rank rank = 0; rank < TASK_RANKS; rank++)
		if (!TAILQ_EMPTY(&q->lines[rank]))
			return false;
	return true;
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

/* The single step that ordinary tasks get after urgent ones used up the turn has its full time. */
static int64_t end_of_step(const struct task_queue *q, int64_t now)
{
	int64_t end = now + TASK_STEP_TIME;

	return end < q->turn_ends || now >= q->turn_ends ? end : q->turn_ends;
}

/* The step may free t: q->running is NULL then, and t is not touched. */
static void run_step(struct task *t, int64_t now)
{
	struct task_queue *q = t->queue;
	bool more;

	dequeue(t);
	q->running = t;
	q->step_began = now;
	q->step_ends = end_of_step(q, now);
	more = t->step(t);
	q->step_ends = 0;
	if (more && q->running && !t->woken)
		enqueue(t);
	q->running = NULL;
}

/* What has run in this turn. */
struct ran {
	bool ordinary;
	int64_t patient_ends; /* no patient step begins after this time; 0: none has begun */
};

/*
 * The next task, or NULL. After the budget is used up, only one ordinary task, if none ran yet. The
 * time of patient tasks begins with the first of them.
 */
static struct task *choose(struct task_queue *q, int64_t now, struct ran *ran)
{
	bool over = now >= q->turn_ends;
	struct task *t = over ? NULL : TAILQ_FIRST(&q->lines[TASK_URGENT]);

	if (!t && !(over && ran->ordinary)) {
		t = TAILQ_FIRST(&q->lines[TASK_ORDINARY]);
		ran->ordinary = true;
	}
	if (t)
		return t;
	if (!ran->patient_ends)
		ran->patient_ends = now + TASK_STEP_TIME;
	return now < ran->patient_ends ? TAILQ_FIRST(&q->lines[TASK_PATIENT]) : NULL;
}

/*
 * If the watchers of this turn took long, tasks get less time: at least one step, at most the
 * budget.
 */
static int64_t end_of_turn(const struct task_queue *q, int64_t now)
{
	int64_t end = q->woke + 2 * TASK_TURN_TIME;

	if (end > now + TASK_TURN_TIME)
		return now + TASK_TURN_TIME;
	return end > now + TASK_STEP_TIME ? end : now + TASK_STEP_TIME;
}

static void run_tasks(struct task_queue *q, int64_t now)
{
	struct ran ran = { 0 };
	struct task *t;

	q->turn_ends = end_of_turn(q, now);
	while ((t = choose(q, now, &ran))) {
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

/* The check watchers must not keep the loop alive. */
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
	q->woke = loop_monotonic(); /* a turn may already have begun */
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

void task_set_rank(struct task *t, enum task_rank rank)
{
	bool woken = t->woken;

	assert(rank < TASK_RANKS);
	if (t->rank == rank)
		return;
	if (woken)
		dequeue(t);
	t->rank = rank;
	if (woken)
		enqueue(t);
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

int64_t task_began(struct ev_loop *loop)
{
	const struct task_queue *q = queue_of(loop);

	return q->step_ends ? q->step_began : loop_monotonic();
}

int64_t loop_late(struct ev_loop *loop)
{
	return queue_of(loop)->late;
}
