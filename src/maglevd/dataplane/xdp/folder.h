/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder: where everything of the data plane is pinned (xdp.pin).
 *
 *	PIN/maps/lb_...		the maps in force
 *	PIN/next/lb_...		while maps are made anew
 *	PIN/program		on its way from who loaded it to who attaches it
 *	PIN/link-eth0		the link of each interface
 */
#pragma once

#include "src/maglevd/dataplane/xdp/maps.h"

#define PLANE_PATH_SIZE 512

struct xdplb_folder {
	char pin[PLANE_PATH_SIZE - 80];
	char maps[PLANE_PATH_SIZE], next[PLANE_PATH_SIZE], program[PLANE_PATH_SIZE];
	int lock; /* -1: not held */
};

void xdplb__folder_init(struct xdplb_folder *f, const char *pin);
/* Makes the folder if it must, and locks it. -EBUSY: another maglevd has it. */
int xdplb__folder_lock(struct xdplb_folder *f, struct xdplb_why *why);
/* Whether it is still the folder that was locked; somebody may have removed it. */
bool xdplb__folder_holds(const struct xdplb_folder *f);
void xdplb__folder_unlock(struct xdplb_folder *f);
