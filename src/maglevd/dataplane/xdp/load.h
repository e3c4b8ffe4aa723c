/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: creates maps, loads the program over them, and leaves everything pinned in the folder,
 * for xdplb__maps_open(). The kernel's verifier takes some tenths of a second, so a child process
 * does this (loader.h).
 */
#pragma once

#include "src/maglevd/dataplane/xdp/folder.h"

/* The outcome, for the log. */
struct xdplb_loaded {
	/* the maps of an earlier process are in use */
	bool adopted;
	/* they had this layout, and what they held is in new maps now; 0: they had ours */
	uint32_t upgraded;
	char lost[128];	   /* why existing maps were given up; "": they were not */
	char repaired[32]; /* a map that was missing and is empty now; "": none */
};

/*
 * Loads the program over the pinned maps. Maps of an older layout are replaced by new ones with
 * the same contents (upgrade.h). If there are none, or an essential one is missing, it creates new
 * maps of these sizes. -ESTALE: the pinned maps have another layout, or do not belong
 * together; they are left alone.
 */
int xdplb__load(const struct xdplb_folder *f, const struct xdplb_sizes *sizes,
		struct xdplb_loaded *ret, struct xdplb_why *why);

/*
 * What new maps inherit from the maps before: settings, seed, and the flow table if its size
 * stays.
 */
struct xdplb_inherited {
	struct abi_config config;
	struct xdp_map flows;
	bool has_flows;
};

/*
 * Loads the program over new maps, pinned in f->next. With inherited (may be NULL) the new maps
 * start from what is inherited. On failure nothing stays pinned there.
 */
int xdplb__load_next(const struct xdplb_folder *f, const struct xdplb_sizes *sizes,
		     const struct xdplb_inherited *inherited, struct xdplb_why *why);
/*
 * Puts the maps in f->next in the place of those in f->maps, with a single rename, and removes the
 * pins of the latter.
 */
int xdplb__load_exchange(const struct xdplb_folder *f);
