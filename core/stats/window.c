/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/window.h"

#include <assert.h>

/*
 * Clears the slices that were skipped since the last call, each at most once, and moves to
 * the slice of now.
 */
static void advance(struct window *w, int64_t now)
{
	int64_t number = now / w->slice;
	int64_t gone = number - w->current;

	assert(w->slice > 0);

	for (int64_t i = 1; i <= gone && i <= WINDOW_SLICES; i++)
		w->slices[(w->current + i) % WINDOW_SLICES] = (struct tally){ 0 };
	if (gone > 0)
		w->current = number;
}

static void count(struct tally *t, bool passed, int64_t rtt)
{
	if (passed)
		histogram_add(&t->passed, rtt);
	else
		t->failed++;
}

void window_add(struct window *w, int64_t now, bool passed, int64_t rtt)
{
	advance(w, now);
	count(&w->slices[w->current % WINDOW_SLICES], passed, rtt);
	count(&w->lifetime, passed, rtt);
}

void window_sum(struct window *w, int64_t now, struct tally *ret)
{
	advance(w, now);
	*ret = (struct tally){ 0 };
	for (int i = 0; i < WINDOW_SLICES; i++) {
		ret->failed += w->slices[i].failed;
		histogram_merge(&ret->passed, &w->slices[i].passed);
	}
}

double tally_success(const struct tally *t)
{
	uint64_t n = t->failed + t->passed.n;

	return n ? (double)t->passed.n / (double)n : 1;
}
