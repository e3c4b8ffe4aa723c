/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: carries out operations on the maps, step by step.
 *
 * Consecutive operations on servers of the same VIP form one change: one table is built for all
 * of them, and flows are ended only after packets use the new table.
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
	size_t n, done; /* done: how many are carried out, if the change under way succeeds */
	int err;	/* why the operation after the done ones failed; 0: none did */

	uint32_t vip;		   /* the VIP that is being changed; 0: none */
	size_t first;		   /* the first operation of the change */
	bool ended;		   /* the change has no more operations */
	bool rebuild;		   /* the change needs a new table, because shares have changed */
	VEC(uint16_t) flush, gone; /* ids: flows to end, servers to remove */
};

/* Starts to carry out n operations, which live until PLANE_DONE or xdplb__run_stop(). */
void xdplb__run_begin(struct xdplb_run *run, struct xdplb_inventory *inventory,
		      const struct lb_op *ops, size_t n);
/* Starts to build the table of a VIP again from its servers. */
void xdplb__run_begin_repair(struct xdplb_run *run, struct xdplb_inventory *inventory,
			     uint32_t vip);
/* About half a millisecond; with PLANE_DONE the outcome is in done and err. */
enum xdplb_pace xdplb__run_step(struct xdplb_run *run);
/*
 * Stops in the middle. A change that is not complete stays marked in the maps, and is repaired
 * later.
 */
void xdplb__run_stop(struct xdplb_run *run);
void xdplb__run_free(struct xdplb_run *run);
