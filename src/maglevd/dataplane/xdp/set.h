/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: a set of maps with its inventory, and how one set replaces another.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/folder.h"
#include "src/maglevd/dataplane/xdp/links.h"
#include "src/maglevd/dataplane/xdp/run.h"

struct xdplb_set {
	struct xdplb_maps maps;
	struct xdplb_inventory inventory;
};

/* Takes over the maps. fresh: they were not used before. */
struct xdplb_set *xdplb__set_new(const struct xdplb_maps *maps, bool fresh);
/* Pins stay. NULL is fine. */
void xdplb__set_close(struct xdplb_set *s);

/* A set that is to replace another one, with other sizes. */
struct xdplb_remake {
	struct xdplb_set *from, *set; /* set NULL: nothing is under way */
	struct xdplb_table *table;
	uint32_t vip;	/* the last one that was copied */
	bool same_size; /* tables have the same size: they are copied, not built */
};

/* Takes over the new maps, also when it fails. */
int xdplb__remake_begin(struct xdplb_remake *r, struct xdplb_set *from,
			const struct xdplb_maps *maps);
/* Copies one VIP, or does a step of its table. PLANE_DONE: the set is ready for use. */
enum xdplb_pace xdplb__remake_step(struct xdplb_remake *r);
/* Switches links and pins to the new set, and closes the old one. */
struct xdplb_set *xdplb__remake_finish(struct xdplb_remake *r, const struct xdplb_folder *f,
				       struct xdplb_links *links);
void xdplb__remake_stop(struct xdplb_remake *r);
