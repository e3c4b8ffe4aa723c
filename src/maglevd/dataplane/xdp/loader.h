/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: a child process that creates maps and loads the program, while the loop of the parent
 * continues.
 */
#pragma once

#include "lib/loop/job.h"
#include "src/maglevd/dataplane/xdp/load.h"

#define PLANE_KEEP_MAX 2 /* the lock of the folder, the flow table */

/* What the child sends to the parent through a pipe: plain data, no pointers. */
struct xdplb_report {
	int err;
	struct xdplb_loaded loaded;
	struct xdplb_why why;
};

/* The work of the child. It must not log and must not use the loop. */
typedef void (*xdplb_job_fn)(const void *order, struct xdplb_report *report);
typedef void (*xdplb_loaded_fn)(void *user, const struct xdplb_report *report);

struct xdplb_loader {
	struct ev_loop *loop;
	xdplb_loaded_fn done;
	void *user;
	int keep[PLANE_KEEP_MAX]; /* descriptors that the child needs */
	size_t n_keep;
	/* private: */
	xdplb_job_fn work;
	const void *order; /* the caller's: only the child may read it */
	struct job *job;   /* NULL: not busy */
};

/*
 * Starts the child. done is called from the loop, once. The child sees what order points to as it
 * is at this moment. -errno if the child cannot be started; then done is not called.
 */
int xdplb__loader_start(struct xdplb_loader *l, xdplb_job_fn job, const void *order);
bool xdplb__loader_busy(const struct xdplb_loader *l);
/* Kills the child, if there is one; done is not called. */
void xdplb__loader_stop(struct xdplb_loader *l);
