/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/rollout.h"

#include <stdbool.h>

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

enum l7_verdict l7_rollout_judge(const struct l7_rollout *r, unsigned share, int64_t elapsed,
				 struct l7_tally before, struct l7_tally after)
{
	if (is_worse(r, before, after))
		return L7_ROLLOUT_RETURN;
	if (!r->step || elapsed < r->interval || after.answers < r->min_requests)
		return L7_ROLLOUT_WAIT;
	return share >= 100 ? L7_ROLLOUT_FINISH : L7_ROLLOUT_STEP;
}

unsigned l7_rollout_next(const struct l7_rollout *r, unsigned share)
{
	return share + r->step < 100 ? share + r->step : 100;
}
