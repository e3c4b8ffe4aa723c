/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random: repeatable random numbers for the property tests of core; no program includes it.
 *
 * A property runs once with a fixed seed and a few times with fresh seeds. The message of a
 * failed run contains the seed; setting MAGLEV_TEST_SEED to it repeats the run.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/random.h"

/* seed is kept for the message, state advances. */
struct dice {
	uint64_t seed, state;
};

static inline uint64_t dice_u64(struct dice *d)
{
	return random_next(&d->state);
}

/* 0 .. sides - 1 */
static inline unsigned dice_roll(struct dice *d, unsigned sides)
{
	return (unsigned)(dice_u64(d) % sides);
}

#define DICE_RUNS 4

/* The dice of run 0 .. DICE_RUNS - 1: the first is always the same. */
static inline struct dice dice_of_run(unsigned run)
{
	const char *wish = getenv("MAGLEV_TEST_SEED");
	uint64_t seed = 20260415;

	if (wish)
		seed = strtoull(wish, NULL, 0);
	else if (run > 0 && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed += run;
	return (struct dice){ seed, seed };
}
