/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats: the counters of a machine, as entries of its segment.
 *
 * The four counters of lb appear with the first VIP. Most entries are irrelevant to clients, as in
 * VPP, where there are thousands.
 */
#pragma once

#include "base/vec.h"
#include "tests/support/vpp/machine.h"
#include "tests/support/vpp/segment.h"

struct stats {
	uint64_t heartbeat, boot_time; /* boot_time: unix seconds */
	size_t links;		       /* number of irrelevant entries */
	VEC(struct segment_entry) entries;
	VEC(uint64_t) clocks;	     /* the values that those refer to */
	size_t built, fixed, routes; /* for how many links; how many entries; where routes are */
};

void stats_free(struct stats *s);
/* Collects the current entries, which point into s and m. */
void stats_collect(struct stats *s, const struct machine *m);
