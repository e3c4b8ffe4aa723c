/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps: one set of the maps of bpf/abi.h with its program, opened from the pins that load.h made.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "core/l4/config.h"
#include "lib/xdp/xdp.h"

/* Why an operation failed, for the log and the API. */
struct xdplb_why {
	char text[512];
};
void xdplb__explain(struct xdplb_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct xdplb_sizes {
	uint32_t vips, servers; /* entries, including index 0, which is never used */
	/* a power of two */
	uint32_t cells;
	/* number of tables; slots of each; lines of the map that each takes */
	uint32_t tables, table_size, table_lines;
	/* of the flow table; a power of two */
	uint32_t buckets;
};

/* The sizes of new maps for a configuration, with room for more VIPs and for tables being built. */
void xdplb__sizes_for(const struct l4_config *c, struct xdplb_sizes *ret);
/* Whether existing maps are large enough for the configuration, and the table sizes match it. */
bool xdplb__sizes_do(const struct xdplb_sizes *have, const struct l4_config *c);
/*
 * Raises s to the sizes of have where those are larger: new maps keep the indexes of the old
 * ones.
 */
void xdplb__sizes_grow(struct xdplb_sizes *s, const struct xdplb_sizes *have);

enum xdplb_map {
	PLANE_CONFIG,
	PLANE_CELLS,
	PLANE_VIPS,
	PLANE_SERVERS,
	PLANE_HOSTS,
	PLANE_TABLES,
	PLANE_FLOWS,
	PLANE_LINKS,
	PLANE_VIP_COUNTS,
	PLANE_AS_COUNTS,
	PLANE_HOPS,
	PLANE_EVENTS,
	PLANE_CPU,
	PLANE_MAPS
};
const char *xdplb__map_name(enum xdplb_map map); /* "lb_config" ... */

struct xdplb_maps {
	int program; /* -1: not open */
	uint32_t program_id;
	struct xdplb_sizes sizes;
	unsigned hz; /* the kernel's ticks per second */
	struct xdp_map map[PLANE_MAPS];
	/* memory shared with the kernel */
	struct abi_config *config;
	struct abi_vip_cell *cells;
	struct abi_vip *vips;
	struct abi_as *servers;
	struct abi_host *hosts;
	uint64_t *vip_counts, *as_counts; /* read and cleared through the functions below */
};

/* CONFIG_HZ of the running kernel. */
unsigned xdplb__hz(void);
/*
 * Opens the maps pinned in a folder, and the program pinned under its path. The pin of the
 * program is removed, also on failure: it only carries the program from the loader to here.
 */
int xdplb__maps_open(const char *folder, const char *program, struct xdplb_maps *ret,
		     struct xdplb_why *why);
/* The same without a program, for a process that only reads and writes the maps. */
int xdplb__maps_open_pins(const char *folder, struct xdplb_maps *ret, struct xdplb_why *why);
/* Maps the lines of one table into memory shared with the kernel; to be closed by the caller. */
int xdplb__maps_table(const struct xdplb_maps *m, uint32_t table, struct xdp_window *ret);
/* Pins the maps that have no pin in the folder, which is created if it does not exist. */
int xdplb__maps_pin(const struct xdplb_maps *m, const char *folder, struct xdplb_why *why);
/* The name of a map that has no pin in the folder; NULL if all have one. */
const char *xdplb__maps_unpinned(const char *folder);
/* Closes the descriptors; the pins stay. May be called twice. */
void xdplb__maps_close(struct xdplb_maps *m);

/* The address of a server. */
struct addr xdplb__maps_server(const struct xdplb_maps *m, uint32_t id);

/*
 * Counters of a VIP (PLANE_VIP_COUNTS) or of a server (PLANE_AS_COUNTS), of which each CPU has its
 * own: the sums of the words [0, n) over all CPUs; all set to zero; copied to other maps.
 */
void xdplb__maps_sum(const struct xdplb_maps *m, enum xdplb_map map, uint32_t i, uint64_t *ret,
		     size_t n);
void xdplb__maps_clear(const struct xdplb_maps *m, enum xdplb_map map, uint32_t i);
void xdplb__maps_copy(const struct xdplb_maps *from, enum xdplb_map map, uint32_t i,
		      const struct xdplb_maps *to);
/* The words of one CPU, in memory shared with the kernel. */
uint64_t *xdplb__maps_counts(const struct xdplb_maps *m, enum xdplb_map map, unsigned cpu,
			     uint32_t i);

/* Addresses as the maps hold them: 128 bits in network order, IPv4 as ::ffff:a.b.c.d. */
void xdplb__put_address(const struct addr *a, __u32 ret[static 4]);
struct addr xdplb__get_address(const __u32 bits[static 4]);
