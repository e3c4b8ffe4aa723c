/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items have numbers: 0 is the speaker, then come the VIPs, then the sessions. hashes has, for each
 * item, that of its newest encoding, and a subscriber has a set of items that it has not got in
 * that state (lib/service/stale.h). So an item is marked for all subscribers whenever it is encoded
 * and its hash differs, and is taken out of a subscriber's set when it is sent.
 *
 * Two things look for changes. A word of the speaker starts a walk over all items, in slices, but
 * not more often than DELAY allows. Sessions change without a word, so they are looked at once a
 * second, and if one has changed, so may have the VIPs that are announced over it.
 *
 * After a reload the numbers mean other items: every subscriber gets the whole state again.
 */
#include "src/speaker/watch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/server.h"
#include "lib/loop/task.h"
#include "lib/pb/pb.h"
#include "lib/service/stale.h"
#include "src/speaker/info.h"

#define QUEUED ((size_t)32 * 1024) /* bytes; with more in the queue, items wait */
#define STALL (10 * NSEC_PER_SEC)  /* a full queue has to become empty within that time */
#define DELAY .1		   /* s between a change and the walk that finds it */
#define PERIOD 1.		   /* s between two looks at the sessions */

struct subscriber {
	struct subscriber *next, **back;
	struct watch *watch;
	struct grpc_call *call;
	struct stale items; /* to be sent */
	size_t replayed;    /* items below have been sent once */
	int64_t opened;	    /* unix ns: of the subscription, or of the last reload */
	uint64_t seq;	    /* of the last event */
	int64_t full_since; /* monotonic ns; 0: the queue has room */
};

struct watch {
	struct ev_loop *loop;
	struct speaker *speaker;
	struct subscriber *subscribers, **end; /* in the order of subscription */
	struct watch_stats stats;
	uint64_t generation; /* of the configuration that the items belong to */
	uint64_t *hashes;    /* of each item; 0: never encoded */
	size_t n;	     /* items */
	size_t walk;	     /* the next item to be looked at; n: no walk is under way */
	bool again;	     /* something changed after the walk began */
	struct arena *arena; /* for the item being encoded */
	struct buf encoded;  /* that item */
	struct buf own;	     /* and what is different for each subscriber */
	struct task work;
	ev_timer delay, tick;
};

/* ---- items ---- */

static void encode(struct watch *w, size_t i)
{
	size_t vips = speaker_config(w->speaker)->n_vips;
	Maglev__SpeakerEvent event;

	arena_reset(w->arena);
	maglev__speaker_event__init(&event);
	if (i == 0) {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SPEAKER;
		event.speaker = info_speaker(w->speaker, w->arena);
	} else if (i <= vips) {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_ANNOUNCEMENT;
		event.announcement = info_announcement(w->speaker, i - 1, w->arena);
	} else {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SESSION;
		event.session = info_session(w->speaker, i - 1 - vips, w->arena);
	}
	w->encoded.n = 0;
	pb_encode(&event.base, &w->encoded);
}

/* FNV-1a; never 0. */
static uint64_t hash(const struct buf *bytes)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < bytes->n; i++)
		h = (h ^ (uint8_t)bytes->p[i]) * UINT64_C(1099511628211);
	return h ? h : 1;
}

/* Encodes an item. True if it has changed: it is then marked for all subscribers. */
static bool look(struct watch *w, size_t i)
{
	uint64_t h;

	encode(w, i);
	h = hash(&w->encoded);
	if (h == w->hashes[i])
		return false;
	w->hashes[i] = h;
	for (struct subscriber *s = w->subscribers; s; s = s->next)
		stale_mark(&s->items, i);
	task_wake(&w->work); /* also for those that were served before, in the same step */
	return true;
}

static void mark_all(struct subscriber *s)
{
	stale_reset(&s->items, s->watch->n);
	for (size_t i = 0; i < s->watch->n; i++)
		stale_mark(&s->items, i);
	s->replayed = 0;
	s->opened = loop_realtime();
}

/* The items are those of the configuration in force. */
static void take_configuration(struct watch *w)
{
	const struct bgp_config *c = speaker_config(w->speaker);

	if (w->generation == speaker_generation(w->speaker))
		return;
	w->generation = speaker_generation(w->speaker);
	w->n = 1 + c->n_vips + c->n_peers;
	w->walk = w->n;
	free(w->hashes);
	w->hashes = mem_zalloc(w->n * sizeof(*w->hashes));
	for (struct subscriber *s = w->subscribers; s; s = s->next)
		mark_all(s);
	task_wake(&w->work);
}

/* ---- subscribers ---- */

static void unsubscribe(struct subscriber *s)
{
	struct watch *w = s->watch;

	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	else
		w->end = s->back;
	w->stats.subscribers--;
	if (!w->subscribers) {
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

/* Sends the newest state of one item. False if the subscriber was dropped. */
static bool send_one(struct subscriber *s)
{
	struct watch *w = s->watch;
	size_t i = stale_next(&s->items);
	Maglev__SpeakerEvent event;
	bool replay = i >= s->replayed;

	look(w, i); /* which may mark it again: it is taken out afterwards */
	stale_take(&s->items);
	maglev__speaker_event__init(&event);
	event.seq = ++s->seq;
	event.at = replay ? s->opened : loop_realtime();
	event.replay = replay;
	s->replayed = replay ? i + 1 : s->replayed;
	w->own.n = 0;
	pb_encode(&event.base, &w->own);
	if (grpc_send_encoded(s->call, (struct str){ w->encoded.p, w->encoded.n },
			      (struct str){ w->own.p, w->own.n }) < 0) {
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

/* Returns whether there is more to look at. */
static bool walk(struct watch *w)
{
	if (w->walk == w->n && w->again) {
		w->again = false;
		w->walk = 0;
	}
	while (w->walk < w->n && task_has_time(w->loop))
		look(w, w->walk++);
	return w->walk < w->n || w->again;
}

static bool on_work(struct task *t)
{
	struct watch *w = container_of(t, struct watch, work);
	bool more;

	if (!w->subscribers)
		return false;
	take_configuration(w);
	more = walk(w); /* first, so that what it finds is sent in the same turn */
	for (struct subscriber *s = w->subscribers, *next; s; s = next) {
		next = s->next;
		more |= serve(s);
	}
	return more;
}

static void on_delay(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct watch *w = container_of(timer, struct watch, delay);

	w->again = true;
	task_wake(&w->work);
}

/* Many changes are found by one walk. */
static void on_changed(void *user)
{
	struct watch *w = user;

	take_configuration(w);
	if (!w->subscribers || ev_is_active(&w->delay))
		return;
	ev_timer_set(&w->delay, DELAY, 0.);
	ev_timer_start(w->loop, &w->delay);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct watch *w = container_of(timer, struct watch, tick);
	int64_t now = loop_monotonic();
	bool changed = false;

	take_configuration(w);
	look(w, 0);
	for (size_t i = 1 + speaker_config(w->speaker)->n_vips; i < w->n; i++)
		changed |= look(w, i);
	if (changed)
		on_changed(w);
	for (struct subscriber *s = w->subscribers, *next; s; s = next) {
		next = s->next;
		if (s->full_since && now - s->full_since > STALL)
			drop(s);
	}
	task_wake(&w->work);
}

/* ---- the door ---- */

void watch_subscribe(struct watch *w, struct grpc_call *call)
{
	struct subscriber *s;

	if (w->stats.subscribers >= WATCH_SUBSCRIBERS_MAX) {
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
			  "%d clients watch already; try again later", WATCH_SUBSCRIBERS_MAX);
		return;
	}
	take_configuration(w);
	s = mem_zalloc(sizeof(*s));
	s->watch = w;
	s->call = call;
	s->back = w->end;
	*w->end = s;
	w->end = &s->next;
	w->stats.subscribers++;
	mark_all(s);
	if (!ev_is_active(&w->tick))
		ev_timer_again(w->loop, &w->tick);
	grpc_on_cancel(call, on_cancelled, s);
	task_wake(&w->work);
}

struct watch *watch_new(struct ev_loop *loop, struct speaker *speaker)
{
	struct watch *w = mem_zalloc(sizeof(*w));

	w->loop = loop;
	w->speaker = speaker;
	w->end = &w->subscribers;
	w->arena = arena_new();
	task_init(&w->work, loop, TASK_ORDINARY, on_work);
	ev_init(&w->delay, on_delay);
	ev_timer_init(&w->tick, on_tick, PERIOD, PERIOD);
	take_configuration(w);
	speaker_observe(speaker, on_changed, w);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	assert(!w->subscribers);
	speaker_observe(w->speaker, NULL, NULL);
	task_cancel(&w->work);
	ev_timer_stop(w->loop, &w->tick);
	ev_timer_stop(w->loop, &w->delay);
	arena_free(w->arena);
	buf_free(&w->encoded);
	buf_free(&w->own);
	free(w->hashes);
	free(w);
}

const struct watch_stats *watch_stats(const struct watch *w)
{
	return &w->stats;
}
