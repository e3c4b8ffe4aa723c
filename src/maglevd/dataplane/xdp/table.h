/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: the Maglev table of a VIP. It is built from the servers in the inventory step by step,
 * and then put in use with a single store.
 */
#pragma once

#include "core/maglev/maglev.h"
#include "src/maglevd/dataplane/xdp/inventory.h"

/* One builder, used for one VIP at a time. Its memory is kept from one build to the next. */
struct xdplb_table {
	struct xdplb_inventory *inventory; /* NULL: nothing is being built */
	uint32_t vip;
	uint32_t number;	 /* of the table in the maps; UINT32_MAX: the VIP needs none */
	struct xdp_window lines; /* its lines, mapped */
	VEC(struct maglev_member) members;
	VEC(uint16_t) ids;	  /* server ids of the members */
	uint16_t *slots;	  /* the member of each slot; kept for the next build */
	uint32_t size;		  /* number of slots */
	struct maglev_work *work; /* NULL: all slots are known */
	uint32_t written;	  /* slots that are in the map so far */
};

/*
 * Starts to build the table of a VIP. -EAGAIN, -ENOSPC: no table is free, see
 * xdplb__inventory_table(). Other errors come from mmap(). After an error nothing is being built.
 */
int xdplb__table_begin(struct xdplb_table *t, struct xdplb_inventory *b, uint32_t vip);
/* Up to a millisecond of work. True when the VIP uses its new table. */
bool xdplb__table_step(struct xdplb_table *t);
/*
 * Gives up a table that is not complete; its place is free at once. Does nothing if none is
 * built.
 */
void xdplb__table_stop(struct xdplb_table *t);
void xdplb__table_free(struct xdplb_table *t);
