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
	struct quota *g = mem_zalloc(size);

	g->threads = threads;
	g->call = call;
	g->user = user;
	atomic_init(&g->references, 1);
	for (unsigned i = 0; i < threads; i++) {
		g->sides[i].quota = g;
		TAILQ_INIT(&g->sides[i].queue);
		TAILQ_INIT(&g->sides[i].bound_queue);
		TAILQ_INIT(&g->sides[i].slots);
	}
	return g;
}

void quota_hold(struct quota *g)
{
	atomic_fetch_add_explicit(&g->references, 1, memory_order_relaxed);
}

void quota_release(struct quota *g)
{
	if (atomic_fetch_sub_explicit(&g->references, 1, memory_order_acq_rel) == 1)
		free(g);
}

struct seats *seats_new(struct quota *g)
{
	struct seats *t = mem_zalloc(sizeof(*t));

	quota_hold(g);
	t->quota = g;
	atomic_init(&t->references, 1);
	return t;
}

void seats_hold(struct seats *t)
{
	atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
}

void seats_release(struct seats *t)
{
	if (atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel) != 1)
		return;
	quota_release(t->quota);
	free(t);
}

/* ---- calls ---- */

void quota_call(struct quota_side *side)
{
	struct quota *g = side->quota;

	if (!atomic_exchange(&side->called, true))
		g->call((unsigned)(side - g->sides), side, g->user);
}

/* The side, other than `but`, whose first request has waited longest, and since before; or NULL. */
static struct quota_side *oldest(struct quota *g, const struct quota_side *but, int64_t before)
{
	struct quota_side *found = NULL;

	for (unsigned i = 0; i < g->threads; i++) {
		int64_t since = atomic_load(&g->sides[i].oldest);

		if (!since || since >= before || &g->sides[i] == but)
			continue;
		found = &g->sides[i];
		before = since;
	}
	return found;
}

/* A connection may be had: calls those that wait for it. */
static void call_waiting(struct quota *g)
{
	struct quota_side *side;

	if (!quota_is_crowded(g))
		return;
	side = oldest(g, NULL, INT64_MAX);
	if (side)
		quota_call(side);
	for (unsigned i = 0; i < g->threads; i++)
		if (atomic_load(&g->sides[i].bound))
			quota_call(&g->sides[i]);
}

/* ---- connections ---- */

bool seats_open(struct seats *t, unsigned limit)
{
	unsigned open = atomic_load(&t->open);

	if (!limit) {
		atomic_fetch_add(&t->open, 1);
		return true;
	}
	while (open < limit)
		if (atomic_compare_exchange_weak(&t->open, &open, open + 1))
			return true;
	return false;
}

void seats_close(struct seats *t)
{
	atomic_fetch_sub(&t->open, 1);
	call_waiting(t->quota);
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
	if (atomic_fetch_add(&side->quota->waiting, 1) >= max) {
		atomic_fetch_sub(&side->quota->waiting, 1);
		return false;
	}
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
	struct quota *g = side->quota;

	for (unsigned i = 0; i < g->threads; i++)
		if (&g->sides[i] != side &&
		    (atomic_load(&g->sides[i].oldest) || atomic_load(&g->sides[i].bound)))
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
	struct quota *g = side->quota;

	for (unsigned i = 0; i < g->threads; i++)
		if (&g->sides[i] != side && atomic_load(&g->sides[i].kept))
			quota_call(&g->sides[i]);
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

bool quota_admit(struct quota *g, unsigned limit)
{
	if (atomic_fetch_add_explicit(&g->requests, 1, memory_order_relaxed) < limit)
		return true;
	quota_dismiss(g);
	return false;
}

void quota_dismiss(struct quota *g)
{
	atomic_fetch_sub_explicit(&g->requests, 1, memory_order_relaxed);
}

struct quota_load quota_load(const struct quota *g)
{
	struct quota_load load = { 0 };

	for (unsigned i = 0; i < g->threads; i++) {
		load.active += atomic_load_explicit(&g->sides[i].active, memory_order_relaxed);
		load.tried += atomic_load_explicit(&g->sides[i].tried, memory_order_relaxed);
	}
	return load;
}
