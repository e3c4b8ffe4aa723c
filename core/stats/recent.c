/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/recent.h"

#include <assert.h>

#define NSEC 1e9
#define LEAST .005 /* weighed requests: fewer count as none, so that figures come to an end */
#define SCALE 1e6  /* weighed answers as whole numbers */

static bool is_lower(const struct recent_reading *now, const struct recent_reading *before)
{
	bool lower = now->requests < before->requests || now->errors < before->errors;

	for (size_t i = 0; i < BUCKETS_N; i++)
		lower |= now->latency[i] < before->latency[i];
	return lower;
}

void recent_add(struct recent *r, const struct recent_reading *reading, int64_t now)
{
	const struct recent_reading *last = &r->last;

	assert(now > r->at);
	if (r->at && is_lower(reading, last))
		*r = (struct recent){ 0 };
	if (r->at) {
		r->seconds = r->seconds * RECENT_KEEP + (double)(now - r->at) / NSEC;
		r->requests =
			r->requests * RECENT_KEEP + (double)(reading->requests - last->requests);
		r->errors = r->errors * RECENT_KEEP + (double)(reading->errors - last->errors);
		for (size_t i = 0; i < BUCKETS_N; i++)
			r->latency[i] = (float)((double)r->latency[i] * RECENT_KEEP +
						(double)(reading->latency[i] - last->latency[i]));
	}
	r->last = *reading;
	r->at = now;
}

/* Requests and errors are counted at different moments, so there may be more errors. */
static double share(double errors, double requests)
{
	if (errors < LEAST)
		return 0;
	return errors < requests ? errors / requests : 1;
}

struct recent_figures recent_figures(const struct recent *r)
{
	struct recent_figures f = { 0 };
	uint64_t counts[BUCKETS_N];
	double answers = 0;

	if (r->seconds > 0 && r->requests >= LEAST)
		f.rate = r->requests / r->seconds;
	f.error_share = share(r->errors, r->requests);
	for (size_t i = 0; i < BUCKETS_N; i++) {
		counts[i] = (uint64_t)((double)r->latency[i] * SCALE);
		answers += (double)r->latency[i];
	}
	if (answers < LEAST)
		return f;
	f.p50 = buckets_quantile(counts, .5);
	f.p99 = buckets_quantile(counts, .99);
	return f;
}
