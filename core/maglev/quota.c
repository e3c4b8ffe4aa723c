/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas: how many slots each member gets.
 *
 * They follow the Webster method (Sainte-Lague) of dividing seats among states. Imagine a common
 * time that increases from 0: a member of weight w gets its next slot whenever time * w passes a
 * half-integer, and time stops when all slots are handed out. So each share is rounded to the
 * nearest slot, and unlike with the method of largest remainders, no member loses a slot because
 * another member was removed. A member that would get none gets one.
 */
#include <assert.h>
#include <stdbool.h>

#include "core/maglev/race.h"

/*
 * Fraction bits of the time: enough to distinguish any two moments (2k + 1) / 2w at
 * which a slot is due.
 */
#define TIME_BITS 20

/* time * weight, rounded half up, but at least 1. */
static uint32_t quota_at(uint64_t time, unsigned weight)
{
	uint64_t quota = (time * weight + (1u << (TIME_BITS - 1))) >> TIME_BITS;

	return quota > 0 ? (uint32_t)quota : 1;
}

static uint64_t handed_out(const struct maglev_race *r, uint64_t time)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n_groups; i++)
		sum += (uint64_t)quota_at(time, r->groups[i].weight) * r->groups[i].n;
	return sum;
}

/*
 * The last time at which the sum of the quotas does not exceed the size, by bisection: the sum
 * never falls as time increases.
 */
static uint64_t stop_time(const struct maglev_race *r)
{
	uint64_t low = 0, high = (uint64_t)(r->size + 1) << TIME_BITS;

	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;

		if (handed_out(r, middle) <= r->size)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * One tick later several walkers may be due at once, and more than there are slots left. The
 * slots go to the first of them, which are the heaviest and then those with the smallest hash.
 */
void maglev__set_quotas(struct maglev_race *r)
{
	uint64_t time = stop_time(r), left = r->size - handed_out(r, time);

	for (size_t i = 0; i < r->n_groups; i++) {
		const struct maglev_group *g = &r->groups[i];
		uint32_t quota = quota_at(time, g->weight);
		bool due = quota_at(time + 1, g->weight) > quota;

		for (size_t k = 0; k < g->n; k++) {
			bool more = due && left > 0;

			r->walkers[g->first + k].quota = quota + more;
			left -= more;
		}
	}
	assert(left == 0);
}
