/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: when the next probe of a backend starts (FR-1.3, FR-1.4, NFR-2.3).
 *
 * Intervals are measured from start to start. Every planned gap is jittered by +-10 %; the random
 * number is a parameter. Planned starts are rounded to slots of time that all backends share, at
 * most 4 ms and at most a hundredth of the interval wide, so that thousands of probes wake the
 * program in batches.
 *
 * Times are monotonic ns.
 */
#pragma once

#include <stdint.h>

#include "core/health/health.h"

struct schedule {
	int64_t interval, fast_interval, down_interval; /* ns, all set (defaults resolved) */
};

/*
 * The interval for the current state: fast if unknown or degraded (0 < counter < full), down if
 * the counter is 0, normal if it is full.
 */
int64_t schedule_interval(const struct schedule *s, const struct health *h,
			  const struct health_rule *rule);

/*
 * The planned start of the first probe: spread evenly over one interval after now. random
 * may be any number.
 */
int64_t schedule_first(int64_t interval, int64_t now, uint64_t random);

/*
 * The planned start of the probe after the one that started at `started`: one jittered interval
 * later, but never before now (a probe that took longer than its interval is followed at once).
 */
int64_t schedule_next(int64_t interval, int64_t started, int64_t now, uint64_t random);
