/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of core/maglev: what its files share while a table is built. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "core/maglev/maglev.h"

/* A member that has weight, on its way over the slots. */
struct maglev_walker {
	uint64_t hash;	/* of the address */
	uint64_t path;	/* where the next step leads */
	uint32_t quota; /* slots still to take */
	uint16_t index; /* of the member */
	uint8_t weight;
};

/* The walkers of one weight. */
struct maglev_group {
	size_t first, n;
	unsigned weight;
};

/* How far the race is. */
struct maglev_course {
	uint16_t *order; /* of steps in a period, by walker */
	size_t n;
	size_t at;	  /* the next step of the order */
	size_t listed;	  /* walkers that were under way when the order was last put right */
	size_t n_free;	  /* slots */
	size_t few;	  /* the number of free slots at which walking ends */
	bool walked;	  /* few are left */
	size_t slot;	  /* when it is so: the next to be settled, ... */
	size_t n_walkers; /* ... by these */
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

/* One to one, and every bit of z stirs all bits of the result. */
static inline uint64_t maglev__stir(uint64_t z)
{
	return random_next(&z);
}

/* Gives each walker the number of slots that it will have; the sum is the size of the table. */
void maglev__set_quotas(struct maglev_race *r);
/* At the start: the table is empty, the quotas are set. The walkers will be used up. */
void maglev__start(struct maglev_race *r);
/* Goes on filling the table; true when it is full. */
bool maglev__go_on(struct maglev_race *r);
/* Forgets what maglev__start() made. */
void maglev__end(struct maglev_race *r);
