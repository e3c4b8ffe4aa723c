/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/buckets.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

const int64_t buckets_bounds[BUCKETS_BOUNDS] = { 100 * US,  250 * US,  500 * US,  1 * MS,
						 2500 * US, 5 * MS,    10 * MS,	  25 * MS,
						 50 * MS,   100 * MS,  250 * MS,  500 * MS,
						 1000 * MS, 2500 * MS, 10000 * MS };
const double buckets_seconds[BUCKETS_BOUNDS] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
						 0.005,	 0.01,	  0.025,  0.05,	 0.1,
						 0.25,	 0.5,	  1,	  2.5,	 10 };

/*
 * Neighbours differ by a factor of 2 or more, so at most one bound is inside of each octave of ns.
 * This is the number of bounds below the octave that begins with 2^i.
 */
#define LOWEST 16 /* 2^16 ns are below the first bound, 2^34 ns above the last */
#define OCTAVES 18
static const uint8_t below[OCTAVES] = {
	0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 14, 14
};

size_t buckets_index(int64_t ns)
{
	unsigned octave;
	size_t i;

	if (ns < INT64_C(1) << LOWEST)
		return 0;
	octave = 63 - (unsigned)__builtin_clzll((unsigned long long)ns) - LOWEST;
	if (octave >= OCTAVES)
		return BUCKETS_BOUNDS;
	i = below[octave];
	return i + (ns > buckets_bounds[i]);
}

uint64_t buckets_total(const uint64_t counts[BUCKETS_N])
{
	uint64_t total = 0;

	for (size_t i = 0; i < BUCKETS_N; i++)
		total += counts[i];
	return total;
}

int64_t buckets_quantile(const uint64_t counts[BUCKETS_N], double q)
{
	double wanted = q * (double)buckets_total(counts), before = 0;

	for (size_t i = 0; i < BUCKETS_BOUNDS; i++) {
		int64_t from = i ? buckets_bounds[i - 1] : 0;
		double n = (double)counts[i];

		if (n > 0 && before + n >= wanted)
			return from + (int64_t)((double)(buckets_bounds[i] - from) *
						(wanted - before) / n);
		before += n;
	}
	return counts[BUCKETS_BOUNDS] ? buckets_bounds[BUCKETS_BOUNDS - 1] : 0;
}
