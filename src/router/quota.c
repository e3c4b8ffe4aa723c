/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/quota.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"

/*
 * So much longer a request of another thread must have waited to go first: a connection that
 * changes threads has to be opened again.
 */
#define HEAD_START (10 * NSEC_PER_MSEC)

/* ---- lifetimes ---- */

struct quota *quota_new(unsigned threads, quota_call_fn *call, void *user)
{
	size_t size = sizeof(struct quota) + threads * sizeof(struct quota_side);
	struct quota *q = mem_zalloc(size);

	q->threads = threads;
	q->call = call;
	q->user = user;
	atomic_init(&q->references, 1);
	for (unsigned i = 0; i < threads; i++) {
		q->sides[i].quota = q;
		TAILQ_INIT(&q->sides[i].queue);
		TAILQ_INIT(&q->sides[i].bound_queue);
		TAILQ_INIT(&q->sides[i].slots);
	}
	return q;
}

void quota_hold(struct quota *q)
{
	atomic_fetch_add_explicit(&q->references, 1, memory_order_relaxed);
}

void quota_release(struct quota *q)
{
	if (atomic_fetch_sub_explicit(&q->references, 1, memory_order_acq_rel) == 1)
		free(q);
}

struct seats *seats_new(struct quota *q)
{
	struct seats *s = mem_zalloc(sizeof(*s));

	quota_hold(q);
	s->quota = q;
	atomic_init(&s->references, 1);
	return s;
}

void seats_hold(struct seats *s)
{
	atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
}

void seats_release(struct seats *s)
{
	if (atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1)
		return;
	quota_release(s->quota);
	free(s);
}

/* ---- calls ---- */

void quota_call(struct quota_side *side)
{
	struct quota *q = side->quota;

	if (!atomic_exchange(&side->called, true))
		q->call((unsigned)(side - q->sides), side, q->user);
}

/* The side, other than `but`, whose first request has waited longest, and since before; or NULL. */
static struct quota_side *oldest(struct quota *q, const struct quota_side *but, int64_t before)
{
	struct quota_side *found = NULL;

	for (unsigned i = 0; i < q->threads; i++) {
		int64_t since = atomic_load(&q->sides[i].oldest);

		if (!since || since >= before || &q->sides[i] == but)
			continue;
		found = &q->sides[i];
		before = since;
	}
	return found;
}

/* A connection may be had: calls those that wait for it. */
static void call_waiting(struct quota *q)
{
	struct quota_side *side;

	if (!quota_is_crowded(q))
		return;
	side = oldest(q, NULL, INT64_MAX);
	if (side)
		quota_call(side);
	for (unsigned i = 0; i < q->threads; i++)
		if (atomic_load(&q->sides[i].bound))
			quota_call(&q->sides[i]);
}

/* ---- connections ---- */

/* A counter never shows more than the limit, not even for a moment: others act on what it shows. */
static bool add_below(atomic_uint *counter, unsigned limit)
{
	unsigned before = atomic_load(counter);

	while (before < limit)
		if (atomic_compare_exchange_weak(counter, &before, before + 1))
			return true;
	return false;
}

bool seats_open(struct seats *s, unsigned limit)
{
	if (limit)
		return add_below(&s->open, limit);
	atomic_fetch_add(&s->open, 1);
	return true;
}

void seats_close(struct seats *s)
{
	atomic_fetch_sub(&s->open, 1);
	call_waiting(s->quota);
}

void quota_keep(struct quota_side *side, bool limited)
{
	if (!limited) {
		quota_count(&side->kept, 1);
		return;
	}
	atomic_fetch_add(&side->kept, 1);
	if (quota_is_crowded(side->quota))
		quota_call(side);
}

void quota_unkeep(struct quota_side *side)
{
	quota_count(&side->kept, -1);
}

/* ---- waiting ---- */

/* To be called after each change of a queue. */
static void show_queue(struct quota_side *side)
{
	const struct quota_place *first = TAILQ_FIRST(&side->queue);

	atomic_store(&side->oldest, first ? first->since : 0);
}

bool quota_enter(struct quota_side *side, struct quota_place *p, unsigned max)
{
	if (!add_below(&side->quota->waiting, max))
		return false;
	p->side = side;
	if (p->bound) {
		TAILQ_INSERT_TAIL(&side->bound_queue, p, queue);
		atomic_fetch_add(&side->bound, 1);
	} else {
		TAILQ_INSERT_TAIL(&side->queue, p, queue);
		show_queue(side);
	}
	quota_call(side);
	return true;
}

void quota_leave(struct quota_place *p)
{
	struct quota_side *side = p->side;

	p->side = NULL;
	if (p->bound) {
		TAILQ_REMOVE(&side->bound_queue, p, queue);
		atomic_fetch_sub(&side->bound, 1);
	} else {
		TAILQ_REMOVE(&side->queue, p, queue);
		show_queue(side);
	}
	atomic_fetch_sub(&side->quota->waiting, 1);
}

/* ---- turns ---- */

static bool others_wait(struct quota_side *side)
{
	struct quota *q = side->quota;

	for (unsigned i = 0; i < q->threads; i++)
		if (&q->sides[i] != side &&
		    (atomic_load(&q->sides[i].oldest) || atomic_load(&q->sides[i].bound)))
			return true;
	return false;
}

/* Ends kept connections, as many as there are requests of other threads to use them. */
static void yield_kept(struct quota_side *side, const struct quota_users *users)
{
	unsigned n = atomic_load(&side->quota->waiting);

	while (n-- && others_wait(side) && users->yield(side, users->user))
		;
}

/* Other threads may keep connections that nobody there needs. */
static void call_keepers(struct quota_side *side)
{
	struct quota *q = side->quota;

	for (unsigned i = 0; i < q->threads; i++)
		if (&q->sides[i] != side && atomic_load(&q->sides[i].kept))
			quota_call(&q->sides[i]);
}

/* Returns whether one of them found no connection. */
static bool serve_bound(struct quota_side *side, const struct quota_users *users)
{
	struct quota_place *p, *next;
	bool full = false;

	for (p = TAILQ_FIRST(&side->bound_queue); p; p = next) {
		next = TAILQ_NEXT(p, queue);
		full |= users->serve(p, users->user) == QUOTA_FULL;
	}
	return full;
}

/* The same for the others, as long as no other thread comes first. */
static bool serve_queue(struct quota_side *side, const struct quota_users *users)
{
	struct quota_place *p;

	while ((p = TAILQ_FIRST(&side->queue))) {
		if (oldest(side->quota, side, p->since - HEAD_START))
			return false;
		if (users->serve(p, users->user) == QUOTA_FULL)
			return true;
	}
	return false;
}

void quota_turn(struct quota_side *side, const struct quota_users *users)
{
	bool bound_full, full;

	atomic_store(&side->called, false);
	bound_full = serve_bound(side, users);
	full = serve_queue(side, users);
	if (atomic_load(&side->kept))
		yield_kept(side, users);
	if (bound_full || full)
		call_keepers(side);
	if (!full) { /* the call may have been for another thread, or for one that has left */
		struct quota_side *next = oldest(side->quota, side, INT64_MAX);

		if (next)
			quota_call(next);
	}
}

/* ---- requests ---- */

bool quota_admit(struct quota *q, unsigned limit)
{
	return add_below(&q->requests, limit);
}

void quota_dismiss(struct quota *q)
{
	atomic_fetch_sub_explicit(&q->requests, 1, memory_order_relaxed);
}

struct quota_load quota_load(const struct quota *q)
{
	struct quota_load load = { 0 };

	for (unsigned i = 0; i < q->threads; i++) {
		load.active += atomic_load_explicit(&q->sides[i].active, memory_order_relaxed);
		load.tried += atomic_load_explicit(&q->sides[i].tried, memory_order_relaxed);
	}
	return load;
}
