/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: a set of maps with its book, and how one set replaces another.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/folder.h"
#include "src/maglevd/dataplane/xdp/links.h"
#include "src/maglevd/dataplane/xdp/run.h"

struct plane_set {
	struct plane_maps maps;
	struct plane_book book;
};

/* Takes over the maps. fresh: they were not used before. */
struct plane_set *plane__set_new(const struct plane_maps *maps, bool fresh);
/* Pins stay. NULL is fine. */
void plane__set_close(struct plane_set *s);

/* A set that is to replace another one, with other sizes. */
struct plane_remake {
	struct plane_set *from, *set; /* set NULL: nothing is under way */
	struct plane_table *table;
	uint32_t vip;	/* the last one that was copied */
	bool same_size; /* tables have the same size: they are copied, not built */
};

/* Takes over the new maps, also when it fails. */
int plane__remake_begin(struct plane_remake *r, struct plane_set *from,
			const struct plane_maps *maps);
/* Copies one VIP, or does a step of its table. PLANE_DONE: the set is ready for use. */
enum plane_pace plane__remake_step(struct plane_remake *r);
/* Switches links and pins to the new set, and closes the old one. */
struct plane_set *plane__remake_finish(struct plane_remake *r, const struct plane_folder *f,
				       struct plane_links *links);
void plane__remake_stop(struct plane_remake *r);
