/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: operations on the maps, in slices.
 *
 * Operations on the servers of one VIP that stand together are one change: one table is built for
 * all of them, and flows are torn down only after packets have been switched to it.
 */
#pragma once

#include "core/diff/diff.h"
#include "src/maglevd/dataplane/xdp/table.h"

enum plane_pace {
	PLANE_DONE,
	PLANE_MORE, /* and soon */
	PLANE_WAIT, /* until book->wait: all free places are resting */
};

struct plane_run {
	struct plane_book *book; /* NULL: nothing is under way */
	struct plane_table *table;
	const struct lb_op *ops;
	size_t n, done; /* done: carried out, if all goes well with the change under way */
	int err;	/* the operation behind those failed with it */

	/* the change of one VIP, 0: none */
	uint32_t vip;
	size_t first; /* of its operations */
	bool ended;   /* no more of them */
	bool rebuild; /* shares have changed */
	VEC(uint16_t) flush, gone;
};

void plane__run_begin(struct plane_run *run, struct plane_book *book, const struct lb_op *ops,
		      size_t n);
/* Brings the table of a VIP into line with its servers. */
void plane__run_begin_repair(struct plane_run *run, struct plane_book *book, uint32_t vip);
/* About half a millisecond; with PLANE_DONE the outcome is in done and err. */
enum plane_pace plane__run_step(struct plane_run *run);
/* Lets go in the middle. What is half done stays marked in the maps. */
void plane__run_stop(struct plane_run *run);
void plane__run_free(struct plane_run *run);
