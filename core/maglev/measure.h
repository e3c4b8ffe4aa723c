/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: the quality of a table, for tests and benchmarks; no program includes it.
 *
 * The two measures are those of the Maglev paper (NSDI 2016, section 5.3): how even the shares
 * are, and how many slots move unnecessarily when the members change.
 */
#pragma once

#include "core/maglev/maglev.h"

enum measure_mix {
	MEASURE_EQUAL,	   /* all 100 */
	MEASURE_RANDOM,	   /* 1..100 */
	MEASURE_ONE_HEAVY, /* the first 100, the others 1 */
	MEASURE_ONE_LIGHT, /* the first 1, the others 100 */
};

/* maglev_build(), or an algorithm that it is compared with. */
typedef void measure_build(const struct maglev_member *members, size_t n, uint16_t *table,
			   size_t size);

/* n members, IPv4 and IPv6 in turn, with consecutive addresses that follow from the seed. */
void measure_fleet(enum measure_mix mix, uint64_t seed, struct maglev_member *members, size_t n);
/* Counts the slots of each of n members. Every slot must have a member. */
void measure_counts(const uint16_t *table, size_t size, size_t *counts, size_t n);
/*
 * The largest number of slots per weight divided by the smallest, among members with
 * weight: 1 is perfect.
 */
double measure_balance(const struct maglev_member *members, size_t n, const uint16_t *table,
		       size_t size);
/*
 * The share of all slots that move when a member's weight changes, beyond the share that the
 * member loses or gains; slightly below 0 where rounding helps. members is unchanged afterwards.
 */
double measure_disruption(measure_build *build, struct maglev_member *members, size_t n,
			  size_t member, uint8_t weight, size_t size);
