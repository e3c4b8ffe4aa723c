/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flows: counts the live flows of each server, and clears flows that are over.
 *
 * One pass goes over the whole flow table, slice by slice. Packets are not held up: a flow is one
 * word, and the program may change it at any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "src/maglevd/dataplane/xdp/maps.h"

struct xdplb_flows {
	uint32_t *counts; /* of the pass under way, by server id; NULL: none is under way */
	uint32_t next;	  /* the next bucket */
	int64_t since;	  /* monotonic ns: when the pass began */
	bool failed;	  /* the last pass could not be carried out; logged once */
	bool has_clock;
	int clock; /* of xdp_clock_open(); valid if has_clock */
};

/* Starts a pass; gives up one that is under way. */
void xdplb__flows_begin(struct xdplb_flows *f, const struct xdplb_maps *m);
/*
 * Counts the next slice, which takes some tenths of a millisecond. True when the pass has ended.
 * counts and since are then valid until the next pass begins, unless failed.
 */
bool xdplb__flows_step(struct xdplb_flows *f, const struct xdplb_maps *m);
/* Gives up the pass. The clock stays open. */
void xdplb__flows_stop(struct xdplb_flows *f);
void xdplb__flows_free(struct xdplb_flows *f);
