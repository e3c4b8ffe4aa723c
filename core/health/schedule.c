/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: when the next probe of a backend starts.
 *
 * There is no state: intervals, clock and random number are parameters, planned starts are the
 * results. Sums saturate at INT64_MAX (a start that never comes) for any configured interval.
 */
#include "core/health/schedule.h"

#include <assert.h>

#include "base/units.h"

/*
 * Bounds of a slot's width. An interval whose slots would be narrower than the minimum has none.
 */
#define SLOT_MAX (4 * NSEC_PER_MSEC)
#define SLOT_MIN (1 * NSEC_PER_MSEC)

/* A number in [0, range), evenly spread: the high half of a 64 x 64 bit product. */
static uint64_t spread(uint64_t range, uint64_t random)
{
	return (uint64_t)(((unsigned __int128)range * random) >> 64);
}

/* at + gap, saturated. */
static int64_t later(int64_t at, uint64_t gap)
{
	assert(at >= 0);
	return gap > (uint64_t)(INT64_MAX - at) ? INT64_MAX : at + (int64_t)gap;
}

int64_t schedule_interval(const struct schedule *s, const struct health *h,
			  const struct health_rule *rule)
{
	if (h->state == HEALTH_UNKNOWN)
		return s->fast_interval;
	if (h->counter == 0)
		return s->down_interval;
	return h->counter < rule->rise + rule->fall - 1 ? s->fast_interval : s->interval;
}

int64_t schedule_first(int64_t interval, int64_t now, uint64_t random)
{
	assert(interval > 0);
	return later(now, spread((uint64_t)interval, random));
}

/*
 * Rounds to the nearest slot, unless that lies outside [earliest, latest] or the interval is too
 * short for slots of 1 ms. The width halves until it is at most 1 % of the interval, so rounding
 * stays small against the jitter of 10 %.
 */
static int64_t to_slot(int64_t planned, int64_t interval, int64_t earliest, int64_t latest)
{
	int64_t slot = SLOT_MAX, nearest;

	while (slot > interval / 100)
		slot /= 2;
	if (slot < SLOT_MIN || planned > INT64_MAX - slot)
		return planned;
	nearest = (planned + slot / 2) / slot * slot;
	return nearest < earliest || nearest > latest ? planned : nearest;
}

int64_t schedule_next(int64_t interval, int64_t started, int64_t now, uint64_t random)
{
	uint64_t jitter = (uint64_t)interval / 10;
	int64_t earliest, latest, planned;

	assert(interval > 0);
	earliest = later(started, (uint64_t)interval - jitter);
	latest = later(started, (uint64_t)interval + jitter);
	planned = to_slot(later(earliest, spread(2 * jitter + 1, random)), interval, earliest,
			  latest);
	return planned > now ? planned : now;
}
