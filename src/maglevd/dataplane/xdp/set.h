/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: a set of maps with its book, in the folder where it is pinned; and how one takes the place
 * of another.
 *
 *	PIN/			xdp.pin; who drives it holds a lock on it
 *	PIN/maps/lb_...		the maps in force
 *	PIN/next/lb_...		while maps are made anew
 *	PIN/link-eth0		the link of each interface
 */
#pragma once

#include "src/maglevd/dataplane/xdp/links.h"
#include "src/maglevd/dataplane/xdp/run.h"

struct plane_folder {
	char pin[PLANE_PATH_SIZE - 80], maps[PLANE_PATH_SIZE], next[PLANE_PATH_SIZE];
	int lock; /* -1: not held */
};

void plane__folder_init(struct plane_folder *f, const char *pin);
/* Makes the folder if it must, and locks it. -EBUSY: another maglevd has it. */
int plane__folder_lock(struct plane_folder *f, struct plane_why *why);
/* Whether it is still the folder that was locked; somebody may have removed it. */
bool plane__folder_holds(const struct plane_folder *f);
void plane__folder_unlock(struct plane_folder *f);

struct plane_set {
	struct plane_maps maps;
	struct plane_book book;
};

/* Adopts what is pinned, or makes and pins it. *ret_adopted says which. */
int plane__set_open(const struct plane_folder *f, const struct l4_config *c, struct plane_set **ret,
		    bool *ret_adopted, struct plane_why *why);
/* Pins stay. NULL is fine. */
void plane__set_close(struct plane_set *s);

/* A set that is to take the place of another, with other sizes. */
struct plane_remake {
	struct plane_set *from, *set; /* set NULL: nothing is under way */
	struct plane_table *table;
	uint32_t vip;	/* how far it is */
	bool same_size; /* of tables: they are copied, not built */
};

/* Makes the maps, which takes some tens of milliseconds. */
int plane__remake_begin(struct plane_remake *r, struct plane_set *from, const struct l4_config *c,
			struct plane_why *why);
/* One VIP, or a slice of its table. With PLANE_DONE the set is ready to take over. */
enum plane_pace plane__remake_step(struct plane_remake *r);
/* The set takes over: pins and links. The old one is closed. */
int plane__remake_finish(struct plane_remake *r, const struct plane_folder *f,
			 struct plane_links *links, struct plane_set **ret, struct plane_why *why);
void plane__remake_stop(struct plane_remake *r);
