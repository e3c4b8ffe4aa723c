/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/rollout.h"

#include "core/l7/hash.h"

#define POINTS 10000 /* of the circle of all clients */

static double rate(struct l7_tally t)
{
	return t.answers ? (double)t.errors / (double)t.answers : 0.;
}

static bool is_worse(const struct l7_rollout *r, struct l7_tally before, struct l7_tally after)
{
	if (!after.answers || after.answers < r->min_requests)
		return false;
	return rate(after) > rate(before) + r->max_increase / 100.;
}

enum l7_rollout_verdict l7_rollout_judge(const struct l7_rollout *r, unsigned share,
					 int64_t elapsed, struct l7_tally before,
					 struct l7_tally after)
{
	if (is_worse(r, before, after))
		return L7_ROLLOUT_RETURN;
	if (!r->step || elapsed < r->interval || after.answers < r->min_requests)
		return L7_ROLLOUT_WAIT;
	return share >= 100 ? L7_ROLLOUT_FINISH : L7_ROLLOUT_STEP;
}

/* The hash is mixed once more: the last bytes of addresses would reach its upper bits only. */
bool l7_rollout_has(struct str key, uint64_t seed, unsigned share)
{
	uint64_t hash = l7_hash_start(seed);

	for (size_t i = 0; i < key.n; i++)
		hash = l7_hash_add(hash, key.p[i]);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	return (hash >> 32) % POINTS < share * (POINTS / 100);
}

unsigned l7_rollout_next(const struct l7_rollout *r, unsigned share)
{
	return share + r->step < 100 ? share + r->step : 100;
}
