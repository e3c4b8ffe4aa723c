/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters: the counters of the program in the kernel, the slots that servers have in the tables,
 * and their live flows; all read step by step.
 */
#pragma once

#include "core/l4/counters.h"
#include "src/maglevd/dataplane/xdp/flows.h"
#include "src/maglevd/dataplane/xdp/inventory.h"

/* The table whose slots were counted last for a VIP. A table in use never changes. */
struct xdplb_counted {
	uint32_t table, switches; /* of abi_vip and of xdplb_vip */
};

struct xdplb_counters {
	struct lb_counters ready; /* the newest complete reading; at is 0 before the first */
	struct lb_counters fresh; /* the reading under way */
	VEC(uint32_t) vips;	  /* VIP indexes, sorted by key */
	size_t next;		  /* the next of them */
	uint32_t vip;		  /* index of the VIP whose servers are being read; 0: none */
	struct addr after;	  /* the last server that was read; not set: none */
	bool under_way;		  /* a reading has begun */
	struct xdplb_flows flows;
	bool flows_done;	       /* the flows, which come first, are counted */
	uint32_t *slots;	       /* by server id; NULL: nothing was counted yet */
	struct xdplb_counted *counted; /* by VIP index */
};

/* Starts a new reading. The ready counters stay until it is complete. */
void xdplb__counters_begin(struct xdplb_counters *c, const struct xdplb_inventory *b);
/*
 * Counts some flows, reads the next VIP, or some of its servers. True when everything is read and
 * has replaced the ready counters. The inventory may change between two steps.
 */
bool xdplb__counters_step(struct xdplb_counters *c, const struct xdplb_inventory *b);
/*
 * Gives up the reading under way and all that is kept of the maps, which may be closed or replaced
 * afterwards; the ready counters stay.
 */
void xdplb__counters_stop(struct xdplb_counters *c);
void xdplb__counters_free(struct xdplb_counters *c);

/* "drop-no-route" ... */
const char *xdplb__event_name(enum abi_event event);
