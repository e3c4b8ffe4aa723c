/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random: numbers that look random and can be had again: splitmix64. Good enough to spread things
 * in time or in a table, and a step costs nothing; not for secrets.
 */
#pragma once

#include <stdint.h>

/* The next one. The state may start as anything; its numbers are one to one with those returned. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
