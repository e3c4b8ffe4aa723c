/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: how long things took, in bounded memory however many there were.
 *
 * Each doubling of time is cut into 32 equal parts, so that a quantile is off by at most a 32nd of
 * itself, from 1 us to 134 s; what is shorter or longer counts at these ends. Least, largest and
 * sum are exact.
 *
 * Pure; a zeroed struct is an empty one.
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

void histogram_add(struct histogram *h, int64_t ns);
void histogram_merge(struct histogram *into, const struct histogram *from);
int64_t histogram_mean(const struct histogram *h);
/*
 * The time that a share of at least q (0 to 1) did not exceed; 0 when there were none. Never below
 * the least nor above the largest.
 */
int64_t histogram_quantile(const struct histogram *h, double q);
