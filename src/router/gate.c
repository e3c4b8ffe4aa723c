/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/gate.h"

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

struct gate *gate_new(unsigned threads, gate_call_fn *call, void *user)
{
	size_t size = sizeof(struct gate) + threads * sizeof(struct gate_side);
	struct gate *g = mem_zalloc(size);

	g->threads = threads;
	g->call = call;
	g->user = user;
	atomic_init(&g->references, 1);
	for (unsigned i = 0; i < threads; i++) {
		g->sides[i].gate = g;
		TAILQ_INIT(&g->sides[i].queue);
		TAILQ_INIT(&g->sides[i].bound_queue);
		TAILQ_INIT(&g->sides[i].slots);
	}
	return g;
}

void gate_hold(struct gate *g)
{
	atomic_fetch_add_explicit(&g->references, 1, memory_order_relaxed);
}

void gate_release(struct gate *g)
{
	if (atomic_fetch_sub_explicit(&g->references, 1, memory_order_acq_rel) == 1)
		free(g);
}

struct tally *tally_new(struct gate *g)
{
	struct tally *t = mem_zalloc(sizeof(*t));

	gate_hold(g);
	t->gate = g;
	atomic_init(&t->references, 1);
	return t;
}

void tally_hold(struct tally *t)
{
	atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
}

void tally_release(struct tally *t)
{
	if (atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel) != 1)
		return;
	gate_release(t->gate);
	free(t);
}

/* ---- calls ---- */

void gate_call(struct gate_side *side)
{
	struct gate *g = side->gate;

	if (!atomic_exchange(&side->called, true))
		g->call((unsigned)(side - g->sides), side, g->user);
}

/* The side, other than `but`, whose first request has waited longest, and since before; or NULL. */
static struct gate_side *oldest(struct gate *g, const struct gate_side *but, int64_t before)
{
	struct gate_side *found = NULL;

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
static void call_waiting(struct gate *g)
{
	struct gate_side *side;

	if (!gate_is_crowded(g))
		return;
	side = oldest(g, NULL, INT64_MAX);
	if (side)
		gate_call(side);
	for (unsigned i = 0; i < g->threads; i++)
		if (atomic_load(&g->sides[i].bound))
			gate_call(&g->sides[i]);
}

/* ---- connections ---- */

bool tally_open(struct tally *t, unsigned limit)
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

void tally_close(struct tally *t)
{
	atomic_fetch_sub(&t->open, 1);
	call_waiting(t->gate);
}

void gate_keep(struct gate_side *side, bool limited)
{
	if (!limited) {
		gate_count(&side->kept, 1);
		return;
	}
	atomic_fetch_add(&side->kept, 1);
	if (gate_is_crowded(side->gate))
		gate_call(side);
}

void gate_unkeep(struct gate_side *side)
{
	gate_count(&side->kept, -1);
}

/* ---- waiting ---- */

/* To be called after each change of a queue. */
static void show_queue(struct gate_side *side)
{
	const struct gate_place *first = TAILQ_FIRST(&side->queue);

	atomic_store(&side->oldest, first ? first->since : 0);
}

bool gate_enter(struct gate_side *side, struct gate_place *p, unsigned max)
{
	if (atomic_fetch_add(&side->gate->waiting, 1) >= max) {
		atomic_fetch_sub(&side->gate->waiting, 1);
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
	gate_call(side);
	return true;
}

void gate_leave(struct gate_place *p)
{
	struct gate_side *side = p->side;

	p->side = NULL;
	if (p->bound) {
		TAILQ_REMOVE(&side->bound_queue, p, queue);
		atomic_fetch_sub(&side->bound, 1);
	} else {
		TAILQ_REMOVE(&side->queue, p, queue);
		show_queue(side);
	}
	atomic_fetch_sub(&side->gate->waiting, 1);
}

/* ---- turns ---- */

static bool others_wait(struct gate_side *side)
{
	struct gate *g = side->gate;

	for (unsigned i = 0; i < g->threads; i++)
		if (&g->sides[i] != side &&
		    (atomic_load(&g->sides[i].oldest) || atomic_load(&g->sides[i].bound)))
			return true;
	return false;
}

/* Ends kept connections, as many as there are requests of other threads to use them. */
static void yield_kept(struct gate_side *side, const struct gate_users *users)
{
	unsigned n = atomic_load(&side->gate->waiting);

	while (n-- && others_wait(side) && users->yield(side, users->user))
		;
}

/* Other threads may keep connections that nobody there needs. */
static void call_keepers(struct gate_side *side)
{
	struct gate *g = side->gate;

	for (unsigned i = 0; i < g->threads; i++)
		if (&g->sides[i] != side && atomic_load(&g->sides[i].kept))
			gate_call(&g->sides[i]);
}

/* Returns whether one of them found no connection. */
static bool serve_bound(struct gate_side *side, const struct gate_users *users)
{
	struct gate_place *p, *next;
	bool full = false;

	for (p = TAILQ_FIRST(&side->bound_queue); p; p = next) {
		next = TAILQ_NEXT(p, queue);
		full |= users->serve(p, users->user) == GATE_FULL;
	}
	return full;
}

/* The same for the others, as long as no other thread comes first. */
static bool serve_queue(struct gate_side *side, const struct gate_users *users)
{
	struct gate_place *p;

	while ((p = TAILQ_FIRST(&side->queue))) {
		if (oldest(side->gate, side, p->since - HEAD_START))
			return false;
		if (users->serve(p, users->user) == GATE_FULL)
			return true;
	}
	return false;
}

void gate_turn(struct gate_side *side, const struct gate_users *users)
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
		struct gate_side *next = oldest(side->gate, side, INT64_MAX);

		if (next)
			gate_call(next);
	}
}

/* ---- requests ---- */

bool gate_admit(struct gate *g, unsigned limit)
{
	if (atomic_fetch_add_explicit(&g->requests, 1, memory_order_relaxed) < limit)
		return true;
	gate_dismiss(g);
	return false;
}

void gate_dismiss(struct gate *g)
{
	atomic_fetch_sub_explicit(&g->requests, 1, memory_order_relaxed);
}

struct gate_load gate_load(const struct gate *g)
{
	struct gate_load load = { 0 };

	for (unsigned i = 0; i < g->threads; i++) {
		load.active += atomic_load_explicit(&g->sides[i].active, memory_order_relaxed);
		load.tried += atomic_load_explicit(&g->sides[i].tried, memory_order_relaxed);
	}
	return load;
}
