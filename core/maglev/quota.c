/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas: how many slots each member will have.
 *
 * They are those of Webster, who divided seats among states. All count up together; a member of
 * weight w gets its next slot whenever time * w passes a half; the count stops when all slots are
 * handed out. So each share is rounded to the nearest slot, and, unlike with the largest
 * remainders, nobody ever loses a slot because somebody else went. Who would have none gets one.
 */
#include <assert.h>
#include <stdbool.h>

#include "core/maglev/race.h"

/* Enough fraction bits to tell apart any two moments (2k + 1) / 2w at which a slot is due. */
#define TIME_BITS 20

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

/* The last moment at which no more is handed out than there is. */
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

/* At the moment after that, several are due at once: what is left goes to the first of them. */
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
