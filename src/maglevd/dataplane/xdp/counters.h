/* SPDX-License-Identifier: Apache-2.0 */
/* counters: the counters of the program in the kernel, read step by step. */
#pragma once

#include "core/l4/counters.h"
#include "src/maglevd/dataplane/xdp/inventory.h"

struct xdplb_counters {
	struct lb_counters ready; /* the newest that are whole; at 0: none yet */
	struct lb_counters fresh; /* being read */
	VEC(uint32_t) vips;	  /* indexes, in the order of keys */
	size_t next;		  /* the next of them */
	uint32_t vip;		  /* index of the VIP whose servers are being read; 0: none */
	struct addr after;	  /* the last server that was read; not set: none */
	bool under_way;		  /* a reading has begun */
};

void xdplb__counters_begin(struct xdplb_counters *c, const struct xdplb_inventory *b);
/*
 * Reads the next VIP, or some of its servers. True when all are read; they have replaced the ready
 * ones then.
 */
bool xdplb__counters_step(struct xdplb_counters *c, const struct xdplb_inventory *b);
void xdplb__counters_stop(struct xdplb_counters *c);
void xdplb__counters_free(struct xdplb_counters *c);

/* "drop-no-route" ... */
const char *xdplb__event_name(enum abi_event event);
