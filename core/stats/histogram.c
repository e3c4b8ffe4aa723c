/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: the buckets are log-linear. Up to 2 * HISTOGRAM_PARTS microseconds each has a bucket
 * of its own; above that, the five bits after the leading one select the bucket within the octave.
 */
#include "core/stats/histogram.h"

#include <assert.h>
#include <stddef.h>

#define PART_BITS 5
#define NSEC 1000 /* in a microsecond */

static_assert(HISTOGRAM_PARTS == 1 << PART_BITS, "a part is chosen by its bits");

/* The number of significant bits; 1 for 0. */
static unsigned bits_of(uint64_t v)
{
	return 64 - (unsigned)__builtin_clzll(v | 1);
}

/* us >> shift is in 32..63 as soon as shift is above 0, so consecutive octaves are adjacent. */
static size_t bucket_of(int64_t ns)
{
	uint64_t us = ns > 0 ? (uint64_t)ns / NSEC : 0;
	unsigned shift = bits_of(us) > PART_BITS + 1 ? bits_of(us) - PART_BITS - 1 : 0;
	size_t i = (size_t)shift * HISTOGRAM_PARTS + (size_t)(us >> shift);

	return i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket, in ns. */
static int64_t middle_of(size_t bucket)
{
	size_t shift = bucket < 2 * (size_t)HISTOGRAM_PARTS ? 0 : bucket / HISTOGRAM_PARTS - 1;
	uint64_t us = bucket - shift * HISTOGRAM_PARTS;

	return (int64_t)(us << shift) * NSEC + (int64_t)(((uint64_t)NSEC << shift) / 2);
}

void histogram_add(struct histogram *h, int64_t ns)
{
	size_t i = bucket_of(ns);

	assert(ns >= 0);

	if (h->buckets[i] < UINT32_MAX)
		h->buckets[i]++;
	h->min = !h->n || ns < h->min ? ns : h->min;
	h->max = ns > h->max ? ns : h->max;
	h->sum += ns;
	h->n++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (!from->n)
		return;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t sum = (uint64_t)into->buckets[i] + from->buckets[i];

		into->buckets[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	}
	into->min = !into->n || from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	into->sum += from->sum;
	into->n += from->n;
}

int64_t histogram_mean(const struct histogram *h)
{
	return h->n ? h->sum / (int64_t)h->n : 0;
}

/* The middle of a bucket can lie outside of what was really seen. */
static int64_t clamp(const struct histogram *h, int64_t ns)
{
	if (ns < h->min)
		return h->min;
	return ns > h->max ? h->max : ns;
}

int64_t histogram_quantile(const struct histogram *h, double q)
{
	double wanted = q * (double)h->n;
	uint64_t seen = 0;

	assert(q >= 0 && q <= 1);

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (h->buckets[i] && (double)seen >= wanted)
			return clamp(h, middle_of(i));
	}
	return h->max;
}
