/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buckets: a fixed division of durations, for counters that many readers add up.
 *
 * The bounds are those that people put into alerts and graphs: 0.1 ms, 0.25 ms, 0.5 ms, 1 ms, ... 1
 * s, 2.5 s, 10 s. A duration that is equal to a bound belongs to that bound's bucket; the last
 * bucket is for what is longer than all of them. The caller keeps the counters, so that it can
 * write them as its threads require. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BUCKETS_BOUNDS 15
#define BUCKETS_N (BUCKETS_BOUNDS + 1)

/* The upper bounds in ns, ascending. */
extern const int64_t buckets_bounds[BUCKETS_BOUNDS];
/* The same in seconds. */
extern const double buckets_seconds[BUCKETS_BOUNDS];

/* The bucket of a duration; a negative one counts as 0. */
size_t buckets_index(int64_t ns);
/*
 * The duration (ns) that a share of at least q (0 to 1) did not exceed, interpolated within its
 * bucket; 0 if nothing was counted. In the last bucket it is the largest bound.
 */
int64_t buckets_quantile(const uint64_t counts[BUCKETS_N], double q);
uint64_t buckets_total(const uint64_t counts[BUCKETS_N]);
