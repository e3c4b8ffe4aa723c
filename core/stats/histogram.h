/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: a distribution of durations in constant memory.
 *
 * Each octave (doubling) of time is divided into 32 equal buckets, so a quantile is off by at
 * most 1/32 of itself, from 1 us to 134 s. Shorter and longer values count in the buckets at
 * these ends. Minimum, maximum and sum are exact.
 *
 * Pure; a zeroed struct is an empty histogram.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_PARTS 32
#define HISTOGRAM_BUCKETS (HISTOGRAM_PARTS * 23) /* up to 2^27 us */

struct histogram {
	uint64_t n;
	int64_t min, max, sum; /* ns; 0 while n is 0 */
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

/* ns must not be negative. A bucket that reaches UINT32_MAX stays there. */
void histogram_add(struct histogram *h, int64_t ns);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* 0 if the histogram is empty. */
int64_t histogram_mean(const struct histogram *h);
/*
 * The duration that a share of at least q (0 to 1) of the values did not exceed; 0 if there are
 * none. Always between the minimum and the maximum.
 */
int64_t histogram_quantile(const struct histogram *h, double q);
