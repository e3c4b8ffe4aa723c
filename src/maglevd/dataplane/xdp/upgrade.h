/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade: maps that an older maglevd has pinned, with an older ABI_LAYOUT.
 *
 * What they hold is written into new maps under the same indexes, ids and generations, and the
 * flow table is shared: words of flows mean the same in both layouts. So no flow is lost. The
 * program of the older maglevd forwards over the old maps until the links are switched.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/load.h"

/* The layout of the pinned maps, if it is one that can be upgraded; 0: no maps, or another one. */
uint32_t xdplb__upgrade_from(const struct xdplb_folder *f);
/*
 * Replaces the pinned maps; the program is pinned as by xdplb__load(). -ENODATA: an essential map
 * is missing; -ESTALE: the maps do not belong together. On failure they are left alone.
 */
int xdplb__upgrade(const struct xdplb_folder *f, struct xdplb_why *why);
