/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of core/maglev that its files share while a table is built. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "core/maglev/maglev.h"

/* A member with weight, and its position in its pseudo-random sequence of slots. */
struct maglev_walker {
	uint64_t hash;	/* of the address */
	uint64_t path;	/* state of its generator, from which the next slots are drawn */
	uint32_t quota; /* slots still to take */
	uint16_t index; /* of the member */
	uint8_t weight;
};

/* The walkers of one weight. */
struct maglev_group {
	size_t first, n;
	unsigned weight;
};

/* The progress of the race. */
struct maglev_course {
	uint16_t *order; /* the walkers' steps of one period, as indices of walkers */
	size_t n;
	size_t at;	  /* index of the next step in order */
	size_t listed;	  /* walkers in the order when it was last compacted */
	size_t n_free;	  /* free slots */
	size_t few;	  /* the number of free slots at which walking ends */
	bool walked;	  /* the free slots are few: the rest is settled by rendezvous */
	size_t slot;	  /* then: the next slot to settle ... */
	size_t n_walkers; /* ... among the first so many walkers */
};

struct maglev_race {
	struct maglev_walker *walkers; /* the heaviest first, then by hash */
	size_t under_way;	       /* walkers whose quota is not full yet */
	struct maglev_group groups[MAGLEV_WEIGHT_MAX];
	size_t n_groups;
	uint16_t *table;
	size_t size;
	struct maglev_course course;
};

/* A bijection in which every bit of z affects all bits of the result. */
static inline uint64_t maglev__stir(uint64_t z)
{
	return random_next(&z);
}

/* Sets the quota of each walker; the sum is the size of the table. */
void maglev__set_quotas(struct maglev_race *r);
/* Prepares the race: the table is empty and the quotas are set. The race consumes the walkers. */
void maglev__start(struct maglev_race *r);
/* Fills some more slots; true when the table is full. */
bool maglev__go_on(struct maglev_race *r);
/* Frees what maglev__start() allocated. */
void maglev__end(struct maglev_race *r);
