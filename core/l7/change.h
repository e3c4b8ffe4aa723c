/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change: what differs between two configurations, by the names of their entries. Pure.
 *
 * An entry is a route, a pool or a listener. It is compared by a digest, which the caller computes
 * from all that the entry says: so a key that is added later cannot be forgotten here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define L7_CHANGE_NAMES 50 /* that are listed of each kind of change */

struct l7_item {
	const char *name; /* unique in its list */
	uint64_t digest;
};

struct l7_items {
	const struct l7_item *items; /* in the order of the document */
	size_t n;
};

struct l7_names {
	const char **names; /* the first L7_CHANGE_NAMES, in the order of their document */
	size_t n;	    /* of all */
};

struct l7_change {
	struct l7_names added, removed, changed;
	bool moved; /* those that both have are in another order */
};

/* The result lives in arena and borrows nothing. */
struct l7_change l7_change_between(struct l7_items before, struct l7_items after,
				   struct arena *arena);
/* The number of names that are listed. */
size_t l7_names_listed(const struct l7_names *names);
