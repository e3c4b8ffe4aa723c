/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent: rates and latencies of the last seconds, from counters that only grow.
 *
 * The counters are read again and again, about once a second. Each reading weighs RECENT_KEEP times
 * as much as the one after it, so half of the weight is of about the last second and nearly all of
 * the last ten, and a name needs the same memory however long it has been read. The first reading
 * gives no rate. A counter that is lower than before belongs to something new: what was known is
 * dropped.
 *
 * Pure; a zeroed struct has no reading.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/stats/buckets.h"

#define RECENT_KEEP .6

struct recent_reading {
	uint64_t requests, errors;
	uint64_t latency[BUCKETS_N];
};

struct recent {
	int64_t at; /* monotonic ns of the last reading; 0: none */
	struct recent_reading last;
	double seconds, requests, errors; /* weighed sums */
	float latency[BUCKETS_N];
};

struct recent_figures {
	double rate;	    /* requests per second */
	double error_share; /* 0 to 1 */
	int64_t p50, p99;   /* ns; 0: nothing was answered */
};

/* Takes a reading; now is later than that of the last one. */
void recent_add(struct recent *r, const struct recent_reading *reading, int64_t now);
struct recent_figures recent_figures(const struct recent *r);
