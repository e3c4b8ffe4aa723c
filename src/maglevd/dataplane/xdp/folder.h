/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder: the folder where everything of the data plane is pinned (xdp.pin).
 *
 *	PIN/maps/lb_...		the maps in use
 *	PIN/next/lb_...		while new maps are made
 *	PIN/program		on its way from the loader to the parent process
 *	PIN/link-eth0		the link of each interface
 */
#pragma once

#include "src/maglevd/dataplane/xdp/maps.h"

#define PLANE_PATH_SIZE 512

struct xdplb_folder {
	char pin[PLANE_PATH_SIZE - 80];
	char maps[PLANE_PATH_SIZE], next[PLANE_PATH_SIZE], program[PLANE_PATH_SIZE];
	int lock; /* descriptor that holds the lock; -1: none */
};

void xdplb__folder_init(struct xdplb_folder *f, const char *pin);
/*
 * Creates the folder if it does not exist, and locks it; does not block. -EBUSY: another maglevd
 * has it. -EINVAL: it is not in a BPF file system.
 */
int xdplb__folder_lock(struct xdplb_folder *f, struct xdplb_why *why);
/* Whether the path still leads to the folder that was locked, which may have been removed. */
bool xdplb__folder_holds(const struct xdplb_folder *f);
void xdplb__folder_unlock(struct xdplb_folder *f);
