/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: two heaps hold the keys that are neither idle nor running: waiting keys by rank and then
 * in the order in which they began to wait, and failed keys by the time of their next turn. One
 * timer runs for the first of the latter.
 */
#include "lib/loop/queue.h"

#include <assert.h>
#include <limits.h>

#include "base/cleanup.h"

static struct queue_item *item_of(struct heap_node *node)
{
	return container_of(node, struct queue_item, node);
}

const char *queue_state_name(enum queue_state state)
{
	static const char *const names[] = {
		[QUEUE_IDLE] = "idle",	 [QUEUE_WAITING] = "waiting", [QUEUE_RUNNING] = "running",
		[QUEUE_RERUN] = "rerun", [QUEUE_DELAYED] = "delayed",
	};

	return names[state];
}

bool queue_is_running(const struct queue_item *item)
{
	return item->state == QUEUE_RUNNING || item->state == QUEUE_RERUN;
}

/* ---- the ways from state to state ---- */

/* Removes the key from its heap, if any. The timer may then fire early, which on_due() handles. */
static void leave(struct queue *q, struct queue_item *item)
{
	if (item->state == QUEUE_WAITING)
		heap_remove(&q->waiting, &item->node);
	else if (item->state == QUEUE_DELAYED)
		heap_remove(&q->delayed, &item->node);
	item->state = QUEUE_IDLE;
}

static void wait_at(struct queue *q, struct queue_item *item, uint64_t rank)
{
	item->state = QUEUE_WAITING;
	item->rank = rank;
	item->node.major = rank;
	item->node.minor = q->count++;
	heap_add(&q->waiting, &item->node);
	q->spec.wake(q->spec.user);
}

/*
 * libev counts from the start of this turn, so the timer may fire a little early; on_due()
 * checks.
 */
static void start_timer(struct queue *q)
{
	const struct heap_node *first = q->delayed.first;
	int64_t left;

	ev_timer_stop(q->loop, &q->due);
	if (!first)
		return;
	left = (int64_t)first->major - loop_monotonic();
	ev_timer_set(&q->due, left > 0 ? loop_seconds(left) : 0., 0.);
	ev_timer_start(q->loop, &q->due);
}

static int64_t put_off(struct queue *q, struct queue_item *item)
{
	int64_t delay;

	if (item->failures < UINT_MAX)
		item->failures++;
	delay = backoff_delay(&q->spec.retry, item->failures, &q->random);
	item->state = QUEUE_DELAYED;
	item->node.major = (uint64_t)(loop_monotonic() + delay);
	item->node.minor = q->count++;
	heap_add(&q->delayed, &item->node);
	if (q->delayed.first == &item->node)
		start_timer(q);
	return delay;
}

/*
 * Keys whose delay is over wait again at their old rank, with their failures. ev_now_update()
 * keeps an early timer from firing again and again with a stale clock.
 */
static void on_due(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct queue *q = container_of(w, struct queue, due);
	int64_t now = loop_monotonic();

	while (q->delayed.first && (int64_t)q->delayed.first->major <= now) {
		struct queue_item *item = item_of(heap_take(&q->delayed));

		wait_at(q, item, item->rank);
	}
	ev_now_update(loop);
	start_timer(q);
}

/* ---- the door ---- */

void queue_init(struct queue *q, struct ev_loop *loop, const struct queue_spec *spec)
{
	assert(loop && spec->step && spec->wake && spec->parallel > 0);
	*q = (struct queue){ .loop = loop, .spec = *spec };
	q->random = (uint64_t)loop_monotonic() ^ (uintptr_t)q;
	ev_init(&q->due, on_due);
}

void queue_stop(struct queue *q)
{
	queue_clear(q);
}

/* A running key only changes its state: its rank takes effect when the turn has ended. */
void queue_add(struct queue *q, struct queue_item *item, uint64_t rank)
{
	item->failures = 0;
	switch (item->state) {
	case QUEUE_RUNNING:
		item->state = QUEUE_RERUN;
		item->rank = rank;
		return;
	case QUEUE_RERUN:
		if (rank < item->rank)
			item->rank = rank;
		return;
	case QUEUE_WAITING:
		if (rank >= item->rank)
			return;
		break;
	case QUEUE_IDLE:
	case QUEUE_DELAYED:
		break;
	}
	leave(q, item);
	wait_at(q, item, rank);
}

bool queue_run(struct queue *q)
{
	struct heap_node *node;
	enum queue_result result;

	if (q->running >= q->spec.parallel)
		return false;
	node = heap_take(&q->waiting);
	if (!node)
		return false;
	item_of(node)->state = QUEUE_RUNNING;
	q->running++;
	result = q->spec.step(item_of(node), q->spec.user);
	if (result != QUEUE_PENDING)
		queue_done(q, item_of(node), result);
	return true;
}

void queue_take(struct queue *q, struct queue_item *item)
{
	assert(!queue_is_running(item));
	leave(q, item);
	item->state = QUEUE_RUNNING;
	q->running++;
}

int64_t queue_done(struct queue *q, struct queue_item *item, enum queue_result result)
{
	bool rerun = item->state == QUEUE_RERUN;

	assert(queue_is_running(item) && result != QUEUE_PENDING);
	item->state = QUEUE_IDLE;
	q->running--;
	if (rerun || result == QUEUE_AGAIN) {
		wait_at(q, item, item->rank);
		return 0;
	}
	if (result == QUEUE_FAILED)
		return put_off(q, item);
	item->failures = 0;
	return 0;
}

void queue_forget(struct queue *q, struct queue_item *item)
{
	q->running -= queue_is_running(item);
	leave(q, item);
	item->failures = 0;
}

void queue_forget_delayed(struct queue *q)
{
	struct heap_node *node;

	while ((node = heap_take(&q->delayed))) {
		item_of(node)->state = QUEUE_IDLE;
		item_of(node)->failures = 0;
	}
	start_timer(q);
}

void queue_clear(struct queue *q)
{
	struct heap_node *node;

	queue_forget_delayed(q);
	while ((node = heap_take(&q->waiting))) {
		item_of(node)->state = QUEUE_IDLE;
		item_of(node)->failures = 0;
	}
}
