/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: when the next probe of a backend starts (FR-1.3, FR-1.4, NFR-2.3).
 *
 * Intervals are measured from start to start. Every planned gap is jittered by +-10 %; the random
 * number is a parameter. Planned starts prefer slots of time that all backends share, 4 ms wide or
 * a hundredth of the interval: thousands of probes then wake the program in batches.
 */
#pragma once

#include <stdint.h>

#include "core/health/health.h"

struct schedule {
	int64_t interval, fast_interval, down_interval; /* ns, all set (defaults resolved) */
};

/*
 * The interval that the state calls for: unknown and degraded (0 < counter < full) fast, counter 0
 * down, full normal.
 */
int64_t schedule_interval(const struct schedule *s, const struct health *h,
			  const struct health_rule *rule);

/* Planned start of the first probe: spread evenly over one interval after now. random: any u64. */
int64_t schedule_first(int64_t interval, int64_t now, uint64_t random);

/*
 * Planned start of the probe after the one that started at `started`: interval with jitter later,
 * but never before now (a probe that took longer than its interval is followed at once).
 */
int64_t schedule_next(int64_t interval, int64_t started, int64_t now, uint64_t random);
