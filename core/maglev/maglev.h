/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev: the table that spreads packets over weighted members.
 *
 * A packet's hash, scaled to the size of the table, selects a slot, and the slot names a member.
 * The table is a function of addresses and weights alone: no seed, no clock, no history. It is
 * the same on every machine and in every version, so that balancers that do not know of each
 * other send a flow to the same server. docs/design/tables.md has the algorithm and its
 * measurements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define MAGLEV_NONE UINT16_MAX /* a slot without a member */
#define MAGLEV_MEMBERS_MAX 65535
#define MAGLEV_WEIGHT_MAX 100
#define MAGLEV_SIZE_MIN 251
#define MAGLEV_SIZE_MAX 5000011

struct maglev_member {
	struct addr address; /* IPv4 or IPv6; no two members have the same */
	uint8_t weight;	     /* 0: no slots .. MAGLEV_WEIGHT_MAX */
};

/*
 * Fills table[size] with indices into members. All slots are MAGLEV_NONE if no member has weight.
 *
 * A member gets its share by weight, rounded to a whole slot, and at least one slot. If there are
 * more members with weight than slots, the heaviest get one each and the rest none. The order of
 * the members affects only the indices. Any size within the bounds works.
 */
void maglev_build(const struct maglev_member *members, size_t n, uint16_t *table, size_t size);

/*
 * The same in steps, for programs whose loop must not stall: each step is about a millisecond of
 * work for a table of any size. maglev_begin() takes about 1 ns per slot and 100 ns per member,
 * more if weights differ. members and table must stay in place until maglev_end().
 */
struct maglev_work;
struct maglev_work *maglev_begin(const struct maglev_member *members, size_t n, uint16_t *table,
				 size_t size);
/* Does one step. Returns true when the table is complete; further calls do nothing. */
bool maglev_step(struct maglev_work *work);
/* Frees the work, whether it is complete or not. NULL is allowed. */
void maglev_end(struct maglev_work *work);
