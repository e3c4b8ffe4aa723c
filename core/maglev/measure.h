/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: how good a table is, for tests and benchmarks; no program includes it.
 *
 * The two measures are those of the Maglev paper (NSDI 2016, section 5.3): how even the shares are,
 * and how much moves when the members change that did not have to.
 */
#pragma once

#include "core/maglev/maglev.h"

enum measure_mix {
	MEASURE_EQUAL,	   /* all 100 */
	MEASURE_RANDOM,	   /* 1..100 */
	MEASURE_ONE_HEAVY, /* the first 100, the others 1 */
	MEASURE_ONE_LIGHT, /* the first 1, the others 100 */
};

/* maglev_build(), or what it is compared with. */
typedef void measure_build(const struct maglev_member *members, size_t n, uint16_t *table,
			   size_t size);

/* A fleet of n servers, IPv4 and IPv6 in turn, in a row of addresses that follows from the seed. */
void measure_fleet(enum measure_mix mix, uint64_t seed, struct maglev_member *members, size_t n);
/* Slots of each of n members into counts. */
void measure_counts(const uint16_t *table, size_t size, size_t *counts, size_t n);
/* The most slots per weight over the least, among those with weight: 1 is perfect. */
double measure_balance(const struct maglev_member *members, size_t n, const uint16_t *table,
		       size_t size);
/*
 * How much moves when a member's weight changes, beyond the share that it loses or gains: a part
 * of all slots, a little below 0 where rounding helps. The members are as before afterwards.
 */
double measure_disruption(measure_build *build, struct maglev_member *members, size_t n,
			  size_t member, uint8_t weight, size_t size);
