/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats: cells in chunks, which are allocated by the thread that writes them and published to the
 * control thread by a release store. Chunk i has FIRST << i cells, so a short directory covers any
 * number, and a cell never moves.
 */
#include "src/router/stats.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define FIRST_BITS 6
#define FIRST (UINT32_C(1) << FIRST_BITS)
#define CHUNKS (32 - FIRST_BITS)

struct stats_thread {
	_Atomic(struct stats_cell *) chunks[STATS_KINDS][CHUNKS];
};

struct stats {
	unsigned n_threads;
	struct stats_thread threads[];
};

struct stats *stats_new(unsigned threads)
{
	struct stats *s = mem_zalloc(sizeof(*s) + threads * sizeof(s->threads[0]));

	s->n_threads = threads;
	return s;
}

void stats_free(struct stats *s)
{
	for (unsigned t = 0; s && t < s->n_threads; t++)
		for (size_t kind = 0; kind < STATS_KINDS; kind++)
			for (size_t i = 0; i < CHUNKS; i++)
				free(atomic_load(&s->threads[t].chunks[kind][i]));
	free(s);
}

struct stats_thread *stats_thread(struct stats *s, unsigned thread)
{
	assert(thread < s->n_threads);
	return &s->threads[thread];
}

/* ---- places ---- */

struct spot {
	unsigned chunk;
	uint32_t index;
};

static struct spot find(uint32_t number)
{
	uint64_t n = (uint64_t)number + FIRST;
	unsigned bits = 63 - (unsigned)__builtin_clzll(n);

	return (struct spot){ bits - FIRST_BITS, (uint32_t)(n - (UINT64_C(1) << bits)) };
}

/* Memory that is not touched costs nothing: a large chunk comes from the kernel, zeroed. */
static struct stats_cell *make_chunk(struct stats_thread *t, enum stats_kind kind, unsigned chunk)
{
	struct stats_cell *cells = mem_zalloc(((size_t)FIRST << chunk) * sizeof(*cells));

	atomic_store_explicit(&t->chunks[kind][chunk], cells, memory_order_release);
	return cells;
}

static void clear(struct stats_cell *cell)
{
	for (size_t i = 0; i < STATS_COUNTERS; i++)
		atomic_store_explicit(&cell->counters[i], 0, memory_order_relaxed);
	for (size_t i = 0; i < BUCKETS_N; i++) {
		atomic_store_explicit(&cell->latency[i], 0, memory_order_relaxed);
		atomic_store_explicit(&cell->first[i], 0, memory_order_relaxed);
	}
}

struct stats_cell *stats_cell(struct stats_thread *t, enum stats_kind kind, uint32_t number,
			      uint64_t id)
{
	struct spot at = find(number);
	struct stats_cell *cells =
		atomic_load_explicit(&t->chunks[kind][at.chunk], memory_order_relaxed);
	struct stats_cell *cell;

	if (!cells)
		cells = make_chunk(t, kind, at.chunk);
	cell = &cells[at.index];
	if (atomic_load_explicit(&cell->id, memory_order_relaxed) != id) {
		clear(cell); /* of a name that has gone: the control thread no longer reads it */
		atomic_store_explicit(&cell->id, id, memory_order_release);
	}
	return cell;
}

/* ---- sums ---- */

static uint64_t look(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void add_cell(struct stats_values *to, const struct stats_cell *cell)
{
	for (size_t i = 0; i < STATS_COUNTERS; i++)
		to->counters[i] += look(&cell->counters[i]);
	for (size_t i = 0; i < BUCKETS_N; i++) {
		to->latency[i] += look(&cell->latency[i]);
		to->first[i] += look(&cell->first[i]);
	}
}

void stats_sum(const struct stats *s, enum stats_kind kind, uint32_t number, uint64_t id,
	       struct stats_values *ret)
{
	struct spot at = find(number);

	*ret = (struct stats_values){ 0 };
	for (unsigned t = 0; t < s->n_threads; t++) {
		const struct stats_cell *cells = atomic_load_explicit(
			&s->threads[t].chunks[kind][at.chunk], memory_order_acquire);

		if (cells && atomic_load_explicit(&cells[at.index].id, memory_order_acquire) == id)
			add_cell(ret, &cells[at.index]);
	}
}

void stats_add_values(struct stats_values *to, const struct stats_values *from)
{
	for (size_t i = 0; i < STATS_COUNTERS; i++)
		to->counters[i] += from->counters[i];
	for (size_t i = 0; i < BUCKETS_N; i++) {
		to->latency[i] += from->latency[i];
		to->first[i] += from->first[i];
	}
}
