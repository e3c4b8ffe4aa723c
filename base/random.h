/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random: splitmix64, a small pseudo-random generator whose sequence follows from its seed.
 * It is good enough to spread things in time or over a table and costs a few instructions.
 * Not for secrets.
 */
#pragma once

#include <stdint.h>

/*
 * Advances the state and returns the next number. Any initial state is fine. The mapping from
 * states to results is a bijection.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
