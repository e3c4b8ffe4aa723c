/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: a child process that makes maps and loads the program, while the loop goes on.
 */
#pragma once

#include "lib/loop/job.h"
#include "src/maglevd/dataplane/xdp/load.h"

#define PLANE_KEEP_MAX 2 /* the lock of the folder, the flow table */

struct plane_report {
	int err;
	struct plane_loaded loaded;
	struct plane_why why;
};

/* What the child does; it logs nothing and touches no loop. */
typedef void (*plane_job_fn)(const void *order, struct plane_report *report);
typedef void (*plane_loaded_fn)(void *user, const struct plane_report *report);

struct plane_loader {
	struct ev_loop *loop;
	plane_loaded_fn done;
	void *user;
	int keep[PLANE_KEEP_MAX]; /* descriptors that the child needs */
	size_t n_keep;
	/* own: */
	plane_job_fn work;
	const void *order; /* the caller's: only the child may read it */
	struct job *job;   /* NULL: not busy */
};

/*
 * done is called from the loop, once. The child sees what order points to as it is at this moment.
 * -errno when there is no child; done is not called then.
 */
int plane__loader_start(struct plane_loader *l, plane_job_fn job, const void *order);
bool plane__loader_busy(const struct plane_loader *l);
/* Ends the child, and done is not called. */
void plane__loader_stop(struct plane_loader *l);
