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

enum plane_pace {
	PLANE_DONE,
	PLANE_MORE, /* there is another step */
	PLANE_WAIT, /* no step before book->wait: all free places are resting */
};

struct plane_run {
	struct plane_book *book; /* NULL: nothing is under way */
	struct plane_table *table;
	const struct lb_op *ops;
	size_t n, done; /* done: carried out, if the change under way succeeds */
	int err;	/* why the operation after those failed */

	uint32_t vip;		   /* that is being changed; 0: none */
	size_t first;		   /* the first operation of the change */
	bool ended;		   /* it has no more operations */
	bool rebuild;		   /* it needs another table, because shares have changed */
	VEC(uint16_t) flush, gone; /* ids: flows to end, servers to remove */
};

void plane__run_begin(struct plane_run *run, struct plane_book *book, const struct lb_op *ops,
		      size_t n);
/* Builds the table of a VIP again from its servers. */
void plane__run_begin_repair(struct plane_run *run, struct plane_book *book, uint32_t vip);
/* About half a millisecond; with PLANE_DONE the outcome is in done and err. */
enum plane_pace plane__run_step(struct plane_run *run);
/* Stops in the middle. A change that is not complete stays marked in the maps. */
void plane__run_stop(struct plane_run *run);
void plane__run_free(struct plane_run *run);
