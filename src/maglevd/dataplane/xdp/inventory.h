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

/* One entry per VIP index; index 0 is never used. */
struct xdplb_vip {
	bool used;
	struct lb_vip_key key;
	VEC(uint16_t) servers; /* server ids, sorted by address */
	uint32_t switches;     /* how often this process has put another table in use */
};

/*
 * The entries of one map that are handed out by number: VIP indexes, server ids or tables.
 * rest[i] is 0 for a free entry, INT64_MAX for one in use, otherwise the time (monotonic ns) at
 * which its rest ends.
 */
struct xdplb_places {
	int64_t *rest;
	/* entries [first, n) are handed out; first is 1 where 0 means "none" */
	uint32_t n, first;
	uint32_t next; /* where the next search starts */
};

/* The addresses of servers. A server of several VIPs has one host, which they share. */
struct xdplb_hosts {
	struct xdplb_places places;
	uint16_t *users; /* how many servers have this host */
	/* a hash table of the hosts in use, by address: the first of each hash, the one after it */
	uint16_t *first, *next;
	uint32_t mask;
};

struct xdplb_inventory {
	struct xdplb_maps *maps;
	struct xdplb_vip *vips;
	struct xdplb_places indexes, ids, tables;
	struct xdplb_hosts hosts;
	/* when the rest of each VIP cell ends (monotonic ns) */
	int64_t *cell_rest;
	int64_t wait;	  /* monotonic ns; set with -EAGAIN: when the first place becomes free */
	const char *full; /* set with -ENOSPC: what is exhausted, for the log */
};

/*
 * Reads the inventory from the maps, which the caller owns and keeps open. With fresh the maps
 * were never used. Otherwise all free places rest, because it is not known when they were freed.
 */
void xdplb__inventory_open(struct xdplb_inventory *b, struct xdplb_maps *maps, bool fresh);
/*
 * Reads the maps again, because another program may have written to them. The rest of places is
 * kept.
 */
void xdplb__inventory_read(struct xdplb_inventory *b);
/* Frees the inventory. The maps stay open. */
void xdplb__inventory_close(struct xdplb_inventory *b);

/*
 * Copies everything from another inventory under the same indexes, ids and generations, except
 * tables and counters. b must be fresh and at least as large. On failure b is incomplete: close
 * it.
 */
int xdplb__inventory_import(struct xdplb_inventory *b, const struct xdplb_inventory *from);

/* The index of a VIP, and the id of one of its servers; 0 if there is none. */
uint32_t xdplb__inventory_vip(const struct xdplb_inventory *b, const struct lb_vip_key *key);
uint32_t xdplb__inventory_server(const struct xdplb_inventory *b, uint32_t vip,
				 const struct addr *address);

/* The position of the first server of a VIP whose address is greater than a; 0 if a is not set. */
size_t xdplb__inventory_servers_after(const struct xdplb_inventory *b, uint32_t vip,
				      const struct addr *a);

/* Writes the global settings. Always 0. */
int xdplb__inventory_conf(struct xdplb_inventory *b, const struct lb_conf *conf);
/* Sets or clears one of ABI_SET_*. */
void xdplb__inventory_set_flag(struct xdplb_inventory *b, uint32_t flag, bool on);
/*
 * Adds a VIP without a table, which drops new flows until it has one. -EEXIST; -EAFNOSUPPORT for
 * an IPv4-mapped IPv6 address, which the maps cannot represent; -EAGAIN, -ENOSPC.
 */
int xdplb__inventory_vip_add(struct xdplb_inventory *b, const struct lb_op *op);
/* Removes a VIP that has no servers. */
void xdplb__inventory_vip_del(struct xdplb_inventory *b, uint32_t vip);
/*
 * Adds a server that no table names yet; *ret is its id. -EEXIST; -EAFNOSUPPORT if the address
 * family is not that of the VIP's encapsulation; -EAGAIN, -ENOSPC.
 */
int xdplb__inventory_server_add(struct xdplb_inventory *b, uint32_t vip, const struct lb_op *op,
				uint32_t *ret);
/* Removes a server that no table names any more. */
void xdplb__inventory_server_del(struct xdplb_inventory *b, uint32_t id);
/* Ends the flows of a server: its packets no longer match the flow table. */
void xdplb__inventory_flush(struct xdplb_inventory *b, uint32_t id);
/*
 * Marks a VIP whose table may not match its servers. The mark is in the maps, so that the next
 * maglevd finds it after a crash and builds the table again.
 */
void xdplb__inventory_set_changing(struct xdplb_inventory *b, uint32_t vip, bool changing);

/* Takes a free table; -EAGAIN, -ENOSPC. */
int xdplb__inventory_table(struct xdplb_inventory *b, uint32_t *ret);
/* Puts a table in use for a VIP (UINT32_MAX: none). The previous table starts to rest. */
void xdplb__inventory_switch(struct xdplb_inventory *b, uint32_t vip, uint32_t table);

/*
 * Copies the state into *ret, which must be empty. sticky_buckets_per_core is left out, because
 * the maps do not hold it.
 */
void xdplb__inventory_state(const struct xdplb_inventory *b, struct lb_state *ret);
