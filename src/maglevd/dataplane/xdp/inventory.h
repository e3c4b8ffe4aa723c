/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inventory: what is programmed in a set of maps, and which of their places are free.
 *
 * The maps are authoritative: the inventory is read from them, and every change is written to
 * both. A place that was freed rests for ABI_REST_S before it is handed out again, because a
 * packet that is being forwarded may still refer to it. -EAGAIN: all free places are resting,
 * until inventory->wait. -ENOSPC: no place is free, and inventory->full names what is exhausted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/diff/diff.h"
#include "src/maglevd/dataplane/xdp/maps.h"

struct xdplb_vip {
	bool used;
	struct lb_vip_key key;
	VEC(uint16_t) servers; /* ids, by address */
};

/* Places of one kind: 0: free, INT64_MAX: in use, else monotonic ns when its rest is over. */
struct xdplb_places {
	int64_t *rest;
	uint32_t n, first;
	uint32_t next; /* where to look first */
};

struct xdplb_inventory {
	struct xdplb_maps *maps;
	struct xdplb_vip *vips;
	struct xdplb_places indexes, ids, tables;
	int64_t *cell_rest;
	int64_t wait;	  /* monotonic ns, after -EAGAIN */
	const char *full; /* what there is no room for, after -ENOSPC */
};

/*
 * Reads the maps, which stay where they are. Free places of maps that others have used (fresh:
 * nobody has) rest, as it is not known since when.
 */
void xdplb__inventory_open(struct xdplb_inventory *b, struct xdplb_maps *maps, bool fresh);
/* Again, as others may have written; the rest of places is remembered. */
void xdplb__inventory_read(struct xdplb_inventory *b);
void xdplb__inventory_close(struct xdplb_inventory *b);

/*
 * Everything of another inventory, under the same indexes, ids and generations, but for tables and
 * counters; into one that is fresh and has room for it.
 */
int xdplb__inventory_import(struct xdplb_inventory *b, const struct xdplb_inventory *from);

/* The index of a VIP, 0: none; the id of its server, 0: none. */
uint32_t xdplb__inventory_vip(const struct xdplb_inventory *b, const struct lb_vip_key *key);
uint32_t xdplb__inventory_server(const struct xdplb_inventory *b, uint32_t vip,
				 const struct addr *address);

/* Where the servers of a VIP behind that address begin; all of them if it is not set. */
size_t xdplb__inventory_servers_after(const struct xdplb_inventory *b, uint32_t vip,
				      const struct addr *a);

int xdplb__inventory_conf(struct xdplb_inventory *b, const struct lb_conf *conf);
/* Whether the program looks egress devices up (lb_links). */
void xdplb__inventory_set_links(struct xdplb_inventory *b, bool on);
int xdplb__inventory_vip_add(struct xdplb_inventory *b, const struct lb_op *op);
/* The VIP has no servers. */
void xdplb__inventory_vip_del(struct xdplb_inventory *b, uint32_t vip);
/* A server that no table names yet; *ret is its id. */
int xdplb__inventory_server_add(struct xdplb_inventory *b, uint32_t vip, const struct lb_op *op,
				uint32_t *ret);
/* One that no table names any more. */
void xdplb__inventory_server_del(struct xdplb_inventory *b, uint32_t id);
/* Its flows are strangers from now on. */
void xdplb__inventory_flush(struct xdplb_inventory *b, uint32_t id);
/* Whether the table of a VIP may not be that of its servers: survives this process. */
void xdplb__inventory_set_changing(struct xdplb_inventory *b, uint32_t vip, bool changing);

/* A free table; -EAGAIN, -ENOSPC. */
int xdplb__inventory_table(struct xdplb_inventory *b, uint32_t *ret);
/* A VIP uses that table from now on (UINT32_MAX: none), and the one before rests. */
void xdplb__inventory_switch(struct xdplb_inventory *b, uint32_t vip, uint32_t table);

/* Into *ret, which is empty; but sticky_buckets_per_core, of which the maps know nothing. */
void xdplb__inventory_state(const struct xdplb_inventory *b, struct lb_state *ret);
