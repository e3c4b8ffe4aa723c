/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: a set of maps with its book, and how one set takes the place of another.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/folder.h"
#include "src/maglevd/dataplane/xdp/links.h"
#include "src/maglevd/dataplane/xdp/run.h"

struct plane_set {
	struct plane_maps maps;
	struct plane_book book;
};

/* Takes the maps over. fresh: nobody has used them. */
struct plane_set *plane__set_new(const struct plane_maps *maps, bool fresh);
/* Pins stay. NULL is fine. */
void plane__set_close(struct plane_set *s);

/* A set that is to take the place of another, with other sizes. */
struct plane_remake {
	struct plane_set *from, *set; /* set NULL: nothing is under way */
	struct plane_table *table;
	uint32_t vip;	/* how far it is */
	bool same_size; /* of tables: they are copied, not built */
};

/* Takes the new maps over, also when it fails. */
int plane__remake_begin(struct plane_remake *r, struct plane_set *from,
			const struct plane_maps *maps);
/* One VIP, or a slice of its table. With PLANE_DONE the set is ready to take over. */
enum plane_pace plane__remake_step(struct plane_remake *r);
/* The set takes over: links and pins. The old one is closed. */
struct plane_set *plane__remake_finish(struct plane_remake *r, const struct plane_folder *f,
				       struct plane_links *links);
void plane__remake_stop(struct plane_remake *r);
