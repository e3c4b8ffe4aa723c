/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats: what happened to the requests of each route, pool and server, and to the connections of
 * each stream, which count like requests at their pool and server. They outlive generations.
 *
 * Each data thread has cells of its own, one for each route, pool and server that it has used. It
 * alone writes them, without atomic read-modify-write operations, and the control thread adds the
 * cells of all threads up when somebody asks. A cell is found by the number of a name (names.h) and
 * belongs to its id: a thread that meets another id at a number begins with zeros.
 *
 * How to read: stats_sum() fills a struct stats_values. All counters grow for as long as the name
 * is in use; a name that left the configuration and came back begins with 0. A rate is the
 * difference of two readings, divided by the time between them; the buckets of two readings are
 * subtracted in the same way, and buckets_quantile() (core/stats/buckets.h) of the difference is
 * the quantile of that time. A mean is the difference of a sum (STATS_LATENCY, STATS_FIRST)
 * divided by that of buckets_total(). The values of one reading were not read at the same instant:
 * a sum may be ahead of its parts by the requests that ended meanwhile.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/l7/grpc.h"
#include "core/stats/buckets.h"
#include "src/router/names.h"

enum stats_kind { STATS_ROUTE, STATS_STREAM, STATS_POOL, STATS_SERVER, STATS_KINDS };

enum stats_counter {
	/*
	 * Requests that have begun; of a server: tries. Each ends as an answer or an abort; of a
	 * server, it may also end as a failure.
	 */
	STATS_REQUESTS,
	STATS_1XX, /* tunnels that have ended; the class of an answer, from here on */
	STATS_2XX,
	STATS_3XX,
	STATS_4XX,
	STATS_5XX,
	STATS_ABORTS,	/* ended without a complete answer */
	STATS_RETRIES,	/* further tries; not of servers */
	STATS_IN,	/* bytes of requests, heads included; not of servers */
	STATS_OUT,	/* bytes of answers, heads included; not of servers */
	STATS_LATENCY,	/* ns from the head of the request to the end of the answer, summed */
	STATS_FIRST,	/* ns until the server's answer began, summed */
	STATS_CONNECT,	/* no connection to the server */
	STATS_BROKEN,	/* the connection ended, or the answer is malformed */
	STATS_TIMEOUT,	/* no answer in time */
	STATS_WAITED,	/* of a pool: requests that waited for a server */
	STATS_OVERFLOW, /* of a pool: requests that were refused because too many waited */
	STATS_CODE,	/* calls of gRPC with the code 0, and so on; not of servers */
	STATS_LAST_CODE = STATS_CODE + L7_GRPC_CODES - 1,
	/* what is now, and not since the start */
	STATS_ACTIVE,  /* requests that are under way; of a server: tries */
	STATS_OPEN,    /* of a server: connections */
	STATS_KEPT,    /* of a server: those of them that no request uses */
	STATS_SHARED,  /* of a server: those of them that requests share, by HTTP/2 */
	STATS_WAITING, /* of a pool: requests that wait */
	STATS_COUNTERS
};

#define STATS_CLASSES 5

struct stats_values {
	uint64_t counters[STATS_COUNTERS];
	uint64_t latency[BUCKETS_N]; /* answers by duration, aborts not included */
	uint64_t first[BUCKETS_N];   /* answers of servers by the time until they began */
};

/* What one thread has counted for one name. */
struct stats_cell {
	_Atomic uint64_t id; /* of the name; 0: not used yet */
	_Atomic uint64_t counters[STATS_COUNTERS], latency[BUCKETS_N], first[BUCKETS_N];
};

/* ---- for the control thread ---- */

struct stats;
struct stats_thread; /* the cells of one thread */

struct stats *stats_new(unsigned threads);
/* When the threads have ended. NULL is allowed. */
void stats_free(struct stats *s);
struct stats_thread *stats_thread(struct stats *s, unsigned thread);
/* Replaces *ret by the sum over all threads. */
void stats_sum(const struct stats *s, enum stats_kind kind, uint32_t number, uint64_t id,
	       struct stats_values *ret);
/* Adds; for sums over several names. */
void stats_add_values(struct stats_values *to, const struct stats_values *from);

/* ---- for the thread that owns the cells ---- */

/*
 * The cell of a name. It stays at its place until stats_free(). After its name has gone it may be
 * given to another one; what is written to it then is lost or counts for that one.
 */
struct stats_cell *stats_cell(struct stats_thread *t, enum stats_kind kind, uint32_t number,
			      uint64_t id);

static inline void stats__grow(_Atomic uint64_t *value, uint64_t by)
{
	atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + by,
			      memory_order_relaxed);
}

static inline void stats_count(struct stats_cell *cell, enum stats_counter c, uint64_t by)
{
	stats__grow(&cell->counters[c], by);
}

static inline void stats_set(struct stats_cell *cell, enum stats_counter c, uint64_t value)
{
	atomic_store_explicit(&cell->counters[c], value, memory_order_relaxed);
}

/* A duration of an answer: in its bucket and in the sum. */
static inline void stats_latency(struct stats_cell *cell, int64_t ns)
{
	stats__grow(&cell->latency[buckets_index(ns)], 1);
	stats_count(cell, STATS_LATENCY, (uint64_t)ns);
}

static inline void stats_first(struct stats_cell *cell, int64_t ns)
{
	stats__grow(&cell->first[buckets_index(ns)], 1);
	stats_count(cell, STATS_FIRST, (uint64_t)ns);
}
