/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: a set of maps with its inventory, and how one set replaces another one of different sizes.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/folder.h"
#include "src/maglevd/dataplane/xdp/links.h"
#include "src/maglevd/dataplane/xdp/run.h"

struct xdplb_set {
	struct xdplb_maps maps;
	struct xdplb_inventory inventory;
};

/* Takes over the maps. fresh: the maps were never used. */
struct xdplb_set *xdplb__set_new(const struct xdplb_maps *maps, bool fresh);
/* Closes the maps and frees the set; the pins stay. NULL is allowed. */
void xdplb__set_close(struct xdplb_set *s);

/* A new set that is being filled to replace another one. */
struct xdplb_remake {
	struct xdplb_set *from, *set; /* set is NULL if nothing is under way */
	struct xdplb_table *table;
	uint32_t vip;	/* the last one that was copied */
	bool same_size; /* tables have the same size: they are copied, not built */
};

/*
 * Starts to fill the new maps, which it takes over also on failure. Settings, VIPs and servers
 * are copied at once; tables and counters follow in steps.
 */
int xdplb__remake_begin(struct xdplb_remake *r, struct xdplb_set *from,
			const struct xdplb_maps *maps);
/* Copies one VIP, or does a step of its table. PLANE_DONE: the new set is ready for use. */
enum xdplb_pace xdplb__remake_step(struct xdplb_remake *r);
/*
 * Switches links and pins to the new set, and closes the old one. Returns the new set. Takes some
 * ten milliseconds per link.
 */
struct xdplb_set *xdplb__remake_finish(struct xdplb_remake *r, const struct xdplb_folder *f,
				       struct xdplb_links *links);
/* Gives up the new set; the old one stays in use. Does nothing if nothing is under way. */
void xdplb__remake_stop(struct xdplb_remake *r);
