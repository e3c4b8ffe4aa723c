/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev: the table that spreads packets over weighted members.
 *
 * A packet's hash, scaled to the size of the table, picks a slot, and the slot names a member. The
 * table is a function of addresses and weights alone: no seed, no clock, no history, the same on
 * every machine and in every version, so that balancers which have never heard of each other send
 * a flow to the same server. docs/design/tables.md has the rule and what it was measured against.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define MAGLEV_NONE UINT16_MAX /* the slot of nobody */
#define MAGLEV_MEMBERS_MAX 65535
#define MAGLEV_WEIGHT_MAX 100
#define MAGLEV_SIZE_MIN 251
#define MAGLEV_SIZE_MAX 5000011

struct maglev_member {
	struct addr address; /* IPv4 or IPv6; no two members have the same */
	uint8_t weight;	     /* 0: no slots .. MAGLEV_WEIGHT_MAX */
};

/*
 * Fills table[size] with indexes into members. All slots are MAGLEV_NONE when no member has weight.
 *
 * A member has its share by weight, rounded to a whole slot, and at least one; where there are more
 * members with weight than slots, the heaviest have one each and the rest none. The order of the
 * members does not matter, beyond the indexes. Any size in the bounds works.
 */
void maglev_build(const struct maglev_member *members, size_t n, uint16_t *table, size_t size);

/*
 * The same in steps, for who must not be kept waiting: each is about a millisecond of work on a
 * table of any size. maglev_begin() takes a nanosecond a slot and 100 a member, more where weights
 * differ. members and table stay in place until the end.
 */
struct maglev_work;
struct maglev_work *maglev_begin(const struct maglev_member *members, size_t n, uint16_t *table,
				 size_t size);
/* True when the table is done. */
bool maglev_step(struct maglev_work *work);
/* Also of one that is not done. NULL is fine. */
void maglev_end(struct maglev_work *work);
