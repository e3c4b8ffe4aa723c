/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps: one set of the maps of bpf/abi.h, the program that is loaded over them, and their pins.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "core/l4/config.h"
#include "lib/xdp/xdp.h"

/* Why something did not work, for log and API. */
struct plane_why {
	char text[512];
};
void plane__explain(struct plane_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct plane_sizes {
	uint32_t vips, servers; /* entries; index 0 of each is nobody */
	uint32_t cells;
	uint32_t tables, table_size, table_lines;
	uint32_t buckets;
};

/* What maps for a configuration are made with: room to grow and to build in. */
void plane__sizes_for(const struct l4_config *c, struct plane_sizes *ret);
/* Whether maps that are there do for the configuration. */
bool plane__sizes_do(const struct plane_sizes *have, const struct l4_config *c);
/* More entries where have has more, as indexes are kept when maps are made anew. */
void plane__sizes_grow(struct plane_sizes *s, const struct plane_sizes *have);

struct plane_maps {
	struct xdp_object *object; /* NULL: none are open */
	int program;
	uint32_t program_id;
	struct plane_sizes sizes;
	unsigned hz; /* of the kernel's tick */
	struct xdp_map config_map, cells_map, vips_map, servers_map, tables_map;
	struct xdp_map vip_counts, as_local, events, links;
	/* shared with the kernel */
	struct abi_config *config;
	struct abi_vip_cell *cells;
	struct abi_vip *vips;
	struct abi_as *servers;
	struct abi_table_line *tables;
};

/*
 * The maps pinned in a folder, with a program over them. -ENOENT: there are none; -ENODATA: one is
 * missing without which the others are worth nothing; -ESTALE: of a layout that is not ours, or
 * not of one piece.
 */
int plane__maps_adopt(const char *folder, struct plane_maps *ret, struct plane_why *why);
/* Empty ones; the flow table is that of from (NULL: none), if the sizes agree. */
int plane__maps_make(const struct plane_sizes *sizes, const struct plane_maps *from,
		     struct plane_maps *ret, struct plane_why *why);
/* Pins what is not pinned in the folder. */
int plane__maps_pin(const struct plane_maps *m, const char *folder, struct plane_why *why);
/* The name of a map that has no pin in the folder, NULL when all have. */
const char *plane__maps_unpinned(const char *folder);
/* Pins stay. */
void plane__maps_close(struct plane_maps *m);

/* 128 bits, as the maps have addresses. */
void plane__put_address(const struct addr *a, __u32 ret[static 4]);
struct addr plane__get_address(const __u32 bits[static 4]);
