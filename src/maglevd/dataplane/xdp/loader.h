/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: a child process that makes maps and loads the program, while the loop goes on.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/maglevd/dataplane/xdp/load.h"

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
	bool busy;
	int child; /* while busy */
	ev_io io;
};

/* done is called from the loop, once. Whatever order points to is as it was at this moment. */
int plane__loader_start(struct plane_loader *l, plane_job_fn job, const void *order);
bool plane__loader_busy(const struct plane_loader *l);
/* Ends the child, and done is not called. */
void plane__loader_stop(struct plane_loader *l);
