/* SPDX-License-Identifier: Apache-2.0 */
/* counters: the counters of the program in the kernel, read step by step. */
#pragma once

#include "core/l4/counters.h"
#include "src/maglevd/dataplane/xdp/inventory.h"

struct xdplb_counters {
	struct lb_counters ready; /* the newest complete reading; at is 0 before the first */
	struct lb_counters fresh; /* the reading under way */
	VEC(uint32_t) vips;	  /* VIP indexes, sorted by key */
	size_t next;		  /* the next of them */
	uint32_t vip;		  /* index of the VIP whose servers are being read; 0: none */
	struct addr after;	  /* the last server that was read; not set: none */
	bool under_way;		  /* a reading has begun */
};

/* Starts a new reading. The ready counters stay until it is complete. */
void xdplb__counters_begin(struct xdplb_counters *c, const struct xdplb_inventory *b);
/*
 * Reads the next VIP, or some of its servers. True when everything is read and has replaced the
 * ready counters. The inventory may change between two steps.
 */
bool xdplb__counters_step(struct xdplb_counters *c, const struct xdplb_inventory *b);
/* Gives up the reading under way; the ready counters stay. */
void xdplb__counters_stop(struct xdplb_counters *c);
void xdplb__counters_free(struct xdplb_counters *c);

/* "drop-no-route" ... */
const char *xdplb__event_name(enum abi_event event);
