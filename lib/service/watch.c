/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hashes has, for each item, that of its newest encoding, and a subscriber has a set of items that
 * it has not got in that state (stale.h). So an item is marked for all subscribers whenever it is
 * encoded and its hash differs, and is taken out of a subscriber's set when it is sent. Figures
 * have a hash of their own and mark the item only for subscribers that want them.
 *
 * Two walks look for changes, in slices. One goes over all items after service_watch_changed(), but
 * not more often than DELAY allows. The other one goes once a second over the items that change
 * without a word. Whoever finds such a change, a walk or a subscriber's turn, starts the first walk
 * again: others may have changed with it after they were looked at.
 */
#include "lib/service/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/server.h"
#include "lib/loop/task.h"
#include "lib/service/stale.h"

#define QUEUED ((size_t)32 * 1024) /* bytes; with more in the queue, items wait */
#define STALL (10 * NSEC_PER_SEC)  /* a full queue has to become empty within that time */
#define DELAY .1		   /* s between a change and the walk that finds it */
#define PERIOD 1.		   /* s between two walks over what changes without a word */

struct subscriber {
	TAILQ_ENTRY(subscriber) all;
	struct service_watch *watch;
	struct grpc_call *call;
	struct stale items; /* to be sent */
	size_t replayed;    /* items below have been sent once */
	int64_t opened;	    /* unix ns: of the subscription, or of the last change of all items */
	uint64_t seq;	    /* of the last event */
	int64_t full_since; /* monotonic ns; 0: the queue has room */
	bool figures;
};

/* Of the newest encoding of an item; 0: never encoded. */
struct hashes {
	uint64_t state, figures;
};

struct walk {
	size_t at;   /* the next item to be looked at; the number of items: not under way */
	bool wanted; /* starts when the one under way has ended */
};

struct service_watch {
	struct ev_loop *loop;
	struct service_watch_config config;
	TAILQ_HEAD(, subscriber) subscribers; /* in the order of subscription */
	struct service_watch_stats stats;
	uint64_t generation; /* that the items belong to */
	bool known;	     /* there is one */
	struct hashes *hashes;
	size_t n; /* items */
	struct walk all, polled;
	struct arena *arena; /* for the item being encoded */
	struct buf encoded;  /* that item */
	struct task work;
	ev_timer delay, tick;
};

/* ---- items ---- */

static void encode(struct service_watch *w, size_t i, bool figures)
{
	arena_reset(w->arena);
	w->encoded.n = 0;
	w->config.encode(i, figures, w->arena, &w->encoded, w->config.user);
}

/* FNV-1a; never 0. */
static uint64_t hash(const struct buf *bytes)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < bytes->n; i++)
		h = (h ^ (uint8_t)bytes->p[i]) * UINT64_C(1099511628211);
	return h ? h : 1;
}

/* Compares with the encoding before and keeps the new one. */
static bool is_new(uint64_t *kept, const struct buf *bytes)
{
	uint64_t h = hash(bytes);
	bool differs = h != *kept;

	*kept = h;
	return differs;
}

static void mark(struct service_watch *w, size_t i, bool figures_only)
{
	struct subscriber *s;

	TAILQ_FOREACH(s, &w->subscribers, all)
	{
		if (!figures_only || s->figures)
			stale_mark(&s->items, i);
	}
	task_wake(&w->work); /* also for those that were served before, in the same step */
}

/* Whether it may change without a word, and others with it. */
static bool is_polled(struct service_watch *w, size_t i)
{
	size_t first = w->config.polled(w->config.user);

	return first > 1 && i >= first;
}

/* Encodes an item, with its figures if there are some. */
static void look(struct service_watch *w, size_t i)
{
	struct hashes *h = &w->hashes[i];
	bool changed;

	encode(w, i, false);
	changed = is_new(&h->state, &w->encoded);
	if (changed)
		mark(w, i, false);
	if (changed && is_polled(w, i))
		service_watch_changed(w);
	if (!w->config.figures)
		return;
	encode(w, i, true);
	if (is_new(&h->figures, &w->encoded) && !changed)
		mark(w, i, true);
}

static void mark_all(struct subscriber *s)
{
	stale_reset(&s->items, s->watch->n);
	for (size_t i = 0; i < s->watch->n; i++)
		stale_mark(&s->items, i);
	s->replayed = 0;
	s->opened = loop_realtime();
}

/* The items are those of the current generation. */
static void take_items(struct service_watch *w)
{
	uint64_t generation = w->config.generation(w->config.user);
	struct subscriber *s;

	if (w->known && w->generation == generation)
		return;
	w->known = true;
	w->generation = generation;
	w->n = w->config.items(w->config.user);
	w->all.at = w->polled.at = w->n;
	free(w->hashes);
	w->hashes = mem_zalloc(w->n * sizeof(*w->hashes));
	TAILQ_FOREACH(s, &w->subscribers, all)
	mark_all(s);
	task_wake(&w->work);
}

/* ---- subscribers ---- */

static void unsubscribe(struct subscriber *s)
{
	struct service_watch *w = s->watch;

	TAILQ_REMOVE(&w->subscribers, s, all);
	w->stats.subscribers--;
	if (TAILQ_EMPTY(&w->subscribers)) {
		ev_timer_stop(w->loop, &w->tick);
		ev_timer_stop(w->loop, &w->delay);
	}
	stale_free(&s->items);
	free(s);
}

static void on_cancelled(void *user)
{
	unsubscribe(user);
}

static void drop(struct subscriber *s)
{
	struct grpc_call *call = s->call;

	s->watch->stats.dropped++;
	unsubscribe(s);
	grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
		  "too slow: events are produced faster than they are read; watch again for the "
		  "current state");
}

static void on_drained(void *user)
{
	struct subscriber *s = user;

	s->full_since = 0;
	task_wake(&s->watch->work);
}

/* Whether the queue has room; if not, on_drained() continues. */
static bool has_room(struct subscriber *s)
{
	if (s->full_since)
		return false;
	if (grpc_queued(s->call) <= QUEUED)
		return true;
	s->full_since = loop_monotonic();
	grpc_on_drained(s->call, on_drained, s);
	return false;
}

/* Appends a field with a number; protobuf's varint. */
static size_t add_field(uint8_t *out, unsigned field, uint64_t value)
{
	size_t n = 0;

	out[n++] = (uint8_t)(field << 3);
	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

/* Sends the newest state of one item. False if the subscriber was dropped. */
static bool send_one(struct subscriber *s)
{
	struct service_watch *w = s->watch;
	size_t i = stale_next(&s->items), n = 0;
	bool replay = i >= s->replayed;
	uint8_t own[3 * 11];

	look(w, i); /* which may mark it again: it is taken out afterwards */
	stale_take(&s->items);
	n += add_field(own + n, 1, ++s->seq);
	n += add_field(own + n, 2, (uint64_t)(replay ? s->opened : loop_realtime()));
	if (replay)
		n += add_field(own + n, 3, 1);
	s->replayed = replay ? i + 1 : s->replayed;
	if (grpc_send_encoded(s->call, (struct str){ w->encoded.p, w->encoded.n },
			      (struct str){ (const char *)own, n }) < 0) {
		drop(s);
		return false;
	}
	w->stats.events++;
	return true;
}

/* Returns whether there is more that can be sent now. */
static bool serve(struct subscriber *s)
{
	struct ev_loop *loop = s->watch->loop;

	while (s->items.waiting && has_room(s)) {
		if (!task_has_time(loop))
			return true;
		if (!send_one(s))
			return false;
	}
	return false;
}

/* ---- turns ---- */

static void start_walk(struct service_watch *w, struct walk *walk)
{
	if (walk->at < w->n || !walk->wanted)
		return;
	walk->wanted = false;
	walk->at = 0;
}

/* Returns whether there is more to look at. */
static bool walk_all(struct service_watch *w)
{
	start_walk(w, &w->all);
	while (w->all.at < w->n && task_has_time(w->loop))
		look(w, w->all.at++);
	return w->all.at < w->n || w->all.wanted;
}

static bool walk_polled(struct service_watch *w)
{
	size_t first = w->config.polled(w->config.user);

	start_walk(w, &w->polled);
	while (w->polled.at < w->n && task_has_time(w->loop)) {
		size_t i = w->polled.at++;

		look(w, i);
		if (i == 0 && first > 1)
			w->polled.at = first;
	}
	return w->polled.at < w->n || w->polled.wanted;
}

static bool on_work(struct task *t)
{
	struct service_watch *w = container_of(t, struct service_watch, work);
	struct subscriber *s, *next;
	bool more;

	if (TAILQ_EMPTY(&w->subscribers))
		return false;
	take_items(w);
	more = walk_all(w); /* first, so that what it finds is sent in the same turn */
	more |= walk_polled(w);
	for (s = TAILQ_FIRST(&w->subscribers); s; s = next) {
		next = TAILQ_NEXT(s, all);
		more |= serve(s);
	}
	return more;
}

static void on_delay(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct service_watch *w = container_of(timer, struct service_watch, delay);

	w->all.wanted = true;
	task_wake(&w->work);
}

/* Many changes are found by one walk. */
void service_watch_changed(struct service_watch *w)
{
	take_items(w);
	if (TAILQ_EMPTY(&w->subscribers) || ev_is_active(&w->delay))
		return;
	ev_timer_set(&w->delay, DELAY, 0.);
	ev_timer_start(w->loop, &w->delay);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct service_watch *w = container_of(timer, struct service_watch, tick);
	int64_t now = loop_monotonic();
	struct subscriber *s, *next;

	if (w->config.tick)
		w->config.tick(w->config.user);
	w->polled.wanted = true;
	for (s = TAILQ_FIRST(&w->subscribers); s; s = next) {
		next = TAILQ_NEXT(s, all);
		if (s->full_since && now - s->full_since > STALL)
			drop(s);
	}
	task_wake(&w->work);
}

/* ---- the door ---- */

void service_watch_subscribe(struct service_watch *w, struct grpc_call *call, bool figures)
{
	struct subscriber *s;

	if (w->stats.subscribers >= SERVICE_WATCH_MAX) {
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
			  "%d clients watch already; try again later", SERVICE_WATCH_MAX);
		return;
	}
	take_items(w);
	s = mem_zalloc(sizeof(*s));
	s->watch = w;
	s->call = call;
	s->figures = figures;
	TAILQ_INSERT_TAIL(&w->subscribers, s, all);
	w->stats.subscribers++;
	mark_all(s);
	if (!ev_is_active(&w->tick))
		ev_timer_again(w->loop, &w->tick);
	grpc_on_cancel(call, on_cancelled, s);
	task_wake(&w->work);
}

struct service_watch *service_watch_new(struct ev_loop *loop,
					const struct service_watch_config *config)
{
	struct service_watch *w = mem_zalloc(sizeof(*w));

	assert(config->generation && config->items && config->encode && config->polled);
	w->loop = loop;
	w->config = *config;
	TAILQ_INIT(&w->subscribers);
	w->arena = arena_new();
	task_init(&w->work, loop, TASK_ORDINARY, on_work);
	ev_init(&w->delay, on_delay);
	ev_timer_init(&w->tick, on_tick, PERIOD, PERIOD);
	return w;
}

void service_watch_free(struct service_watch *w)
{
	if (!w)
		return;
	assert(TAILQ_EMPTY(&w->subscribers));
	task_cancel(&w->work);
	ev_timer_stop(w->loop, &w->tick);
	ev_timer_stop(w->loop, &w->delay);
	arena_free(w->arena);
	buf_free(&w->encoded);
	free(w->hashes);
	free(w);
}

const struct service_watch_stats *service_watch_stats(const struct service_watch *w)
{
	return &w->stats;
}
