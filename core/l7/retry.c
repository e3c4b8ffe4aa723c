/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/retry.h"

#include "base/cleanup.h"

/* The status that stands for each ending: for the client, and among the codes of a policy. */
static const unsigned statuses[] = { [L7_NOT_REACHED] = 503,
				     [L7_NOT_SECURED] = 502,
				     [L7_NOT_TAKEN] = 503,
				     [L7_TIMED_OUT] = 504,
				     [L7_BROKEN] = 502 };

unsigned l7_retry_status(const struct l7_try *t)
{
	return t->ending == L7_ANSWERED ? t->status : statuses[t->ending];
}

static bool has_code(const struct l7_retry *policy, unsigned status)
{
	for (size_t i = 0; i < policy->n_codes; i++)
		if (policy->codes[i] == status)
			return true;
	return false;
}

bool l7_retry_again(const struct l7_retry *policy, const struct l7_try *t)
{
	if (t->number > policy->attempts || !t->repeatable || t->answering)
		return false;
	if (!l7_retry_costs(t))
		return true;
	return has_code(policy, l7_retry_status(t));
}

/* Between a half and the whole of the time, so that many clients do not come back together. */
int64_t l7_retry_wait(const struct l7_retry *policy, const struct l7_try *t, uint64_t random)
{
	int64_t wait = policy->backoff;

	for (unsigned i = 1; i < t->number && wait < L7_BACKOFF_MAX; i++)
		wait *= 2;
	if (wait > L7_BACKOFF_MAX)
		wait = L7_BACKOFF_MAX;
	return wait <= 1 ? wait : wait / 2 + (int64_t)(random % (uint64_t)(wait - wait / 2 + 1));
}

bool l7_retry_costs(const struct l7_try *t)
{
	return t->ending != L7_NOT_REACHED && t->ending != L7_NOT_SECURED &&
	       t->ending != L7_NOT_TAKEN;
}

bool l7_retry_in_budget(unsigned percent, uint32_t active, uint32_t further)
{
	uint64_t share = (uint64_t)active * percent / 100;

	return further < (share > L7_RETRY_FLOOR ? share : L7_RETRY_FLOOR);
}
