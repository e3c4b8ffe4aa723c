/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps: one set of the maps of bpf/abi.h and the program over them, as load.h has pinned them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "core/l4/config.h"
#include "lib/xdp/xdp.h"

/* Why something did not work, for log and API. */
struct xdplb_why {
	char text[512];
};
void xdplb__explain(struct xdplb_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct xdplb_sizes {
	uint32_t vips, servers; /* entries; index 0 of each is nobody */
	uint32_t cells;
	uint32_t tables, table_size, table_lines;
	uint32_t buckets;
};

/* What maps for a configuration are made with: room to grow and to build in. */
void xdplb__sizes_for(const struct l4_config *c, struct xdplb_sizes *ret);
/* Whether maps that are there do for the configuration. */
bool xdplb__sizes_do(const struct xdplb_sizes *have, const struct l4_config *c);
/* More entries where have has more, as indexes are kept when maps are made anew. */
void xdplb__sizes_grow(struct xdplb_sizes *s, const struct xdplb_sizes *have);

enum xdplb_map {
	PLANE_CONFIG,
	PLANE_CELLS,
	PLANE_VIPS,
	PLANE_SERVERS,
	PLANE_TABLES,
	PLANE_FLOWS,
	PLANE_LINKS,
	PLANE_VIP_COUNTS,
	PLANE_AS_LOCAL,
	PLANE_EVENTS,
	PLANE_CPU,
	PLANE_MAPS
};
const char *xdplb__map_name(enum xdplb_map map); /* "lb_config" ... */

struct xdplb_maps {
	int program; /* -1: not open */
	uint32_t program_id;
	struct xdplb_sizes sizes;
	unsigned hz; /* of the kernel's tick */
	struct xdp_map map[PLANE_MAPS];
	/* shared with the kernel */
	struct abi_config *config;
	struct abi_vip_cell *cells;
	struct abi_vip *vips;
	struct abi_as *servers;
};

unsigned xdplb__hz(void);
/* What is pinned in a folder, and under the path of the program; that pin is removed. */
int xdplb__maps_open(const char *folder, const char *program, struct xdplb_maps *ret,
		     struct xdplb_why *why);
/* The lines of one table, as memory shared with the kernel. */
int xdplb__maps_table(const struct xdplb_maps *m, uint32_t table, struct xdp_window *ret);
/* Pins what is not pinned in the folder; makes it if it must. */
int xdplb__maps_pin(const struct xdplb_maps *m, const char *folder, struct xdplb_why *why);
/* The name of a map that has no pin in the folder, NULL when all have. */
const char *xdplb__maps_unpinned(const char *folder);
/* Pins stay. Twice is fine. */
void xdplb__maps_close(struct xdplb_maps *m);

/* 128 bits, as the maps have addresses. */
void xdplb__put_address(const struct addr *a, __u32 ret[static 4]);
struct addr xdplb__get_address(const __u32 bits[static 4]);
