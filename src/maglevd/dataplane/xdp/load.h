/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: makes maps, loads the program over them, and leaves all of it pinned in the folder, for
 * xdplb__maps_open(). The kernel's check of the program takes some tenths of a second: a child
 * process does it (loader.h).
 */
#pragma once

#include "src/maglevd/dataplane/xdp/folder.h"

struct xdplb_loaded {
	bool adopted;
	char lost[128];	   /* why maps that were there were given up; "": they were not */
	char repaired[32]; /* a map that was missing and is empty now; "": none */
};

/*
 * Over the maps that are in force, or new ones of these sizes where there are none, or one is
 * missing without which the others are worth nothing. -ESTALE: of a layout that is not ours, or
 * not of one piece.
 */
int xdplb__load(const struct xdplb_folder *f, const struct xdplb_sizes *sizes,
		struct xdplb_loaded *ret, struct xdplb_why *why);

/* What new maps take over from those in force: settings, seed, and perhaps the flow table. */
struct xdplb_inherited {
	struct abi_config config;
	struct xdp_map flows;
	bool has_flows;
};

/* Over new maps, in the folder for the next. */
int xdplb__load_next(const struct xdplb_folder *f, const struct xdplb_sizes *sizes,
		     const struct xdplb_inherited *inherited, struct xdplb_why *why);
