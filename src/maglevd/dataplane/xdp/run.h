/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: operations on the maps, step by step.
 *
 * Consecutive operations on servers of the same VIP are one change: one table is built for all of
 * them, and flows are ended only after packets use the new table.
 */
#pragma once

#include "core/diff/diff.h"
#include "src/maglevd/dataplane/xdp/table.h"

enum xdplb_pace {
	PLANE_DONE,
	PLANE_MORE, /* there is another step */
	PLANE_WAIT, /* no step before inventory->wait: all free places are resting */
};

struct xdplb_run {
	struct xdplb_inventory *inventory; /* NULL: nothing is under way */
	struct xdplb_table *table;
	const struct lb_op *ops;
	size_t n, done; /* done: carried out, if the change under way succeeds */
	int err;	/* why the operation after those failed */

	uint32_t vip;		   /* that is being changed; 0: none */
	size_t first;		   /* the first operation of the change */
	bool ended;		   /* it has no more operations */
	bool rebuild;		   /* it needs another table, because shares have changed */
	VEC(uint16_t) flush, gone; /* ids: flows to end, servers to remove */
};

void xdplb__run_begin(struct xdplb_run *run, struct xdplb_inventory *inventory,
		      const struct lb_op *ops, size_t n);
/* Builds the table of a VIP again from its servers. */
void xdplb__run_begin_repair(struct xdplb_run *run, struct xdplb_inventory *inventory,
			     uint32_t vip);
/* About half a millisecond; with PLANE_DONE the outcome is in done and err. */
enum xdplb_pace xdplb__run_step(struct xdplb_run *run);
/* Stops in the middle. A change that is not complete stays marked in the maps. */
void xdplb__run_stop(struct xdplb_run *run);
void xdplb__run_free(struct xdplb_run *run);
