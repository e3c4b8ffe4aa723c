/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout 1 differs from the present one in three maps. An AS contained the address of the server
 * and its family; they are in lb_hosts now, once for each address. Counters of VIPs and servers
 * were in the kernel's per-CPU arrays, those of servers together with the next hop. Everything
 * else, lb_config included, has the same bytes in the same places, or was not used.
 *
 * This runs in the child process of the loader, so it may take its time.
 */
#include "src/maglevd/dataplane/xdp/upgrade.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define LAYOUT 1
#define FLUSHED 1u
#define PATH_SIZE 640 /* that of the folder, and a name */

struct as1 {
	__u32 address[4];
	__u32 vip;
	__u8 family, generation, weight, flags;
	__u32 reserved[2];
};

struct as1_local {
	__u64 packets, bytes;
	__u64 rest[5];
};

enum map1 { CONFIG, CELLS, VIPS, AS, TABLES, FLOWS, VIP_COUNTS, AS_LOCAL, EVENTS, MAPS };

static const struct {
	const char *name;
	uint32_t value_size;
} maps1[MAPS] = {
	[CONFIG] = { ABI_MAP_CONFIG, sizeof(struct abi_config) },
	[CELLS] = { ABI_MAP_VIP_CELLS, sizeof(struct abi_vip_cell) },
	[VIPS] = { ABI_MAP_VIPS, sizeof(struct abi_vip) },
	[AS] = { ABI_MAP_SERVERS, sizeof(struct as1) },
	[TABLES] = { ABI_MAP_TABLES, sizeof(struct abi_table_line) },
	[FLOWS] = { ABI_MAP_FLOWS, sizeof(struct abi_bucket) },
	[VIP_COUNTS] = { ABI_MAP_VIP_COUNTS, sizeof(struct abi_vip_counts) },
	[AS_LOCAL] = { "lb_as_local", sizeof(struct as1_local) },
	[EVENTS] = { ABI_MAP_EVENTS, sizeof(__u64) },
};

/* The maps of the older maglevd. Those after TABLES may be missing: entries is 0 then. */
struct old {
	struct xdp_map map[MAPS];
	struct abi_config config;
	struct abi_vip_cell *cells;
	struct abi_vip *vips;
	struct as1 *as;
};

static void pin_path(char path[static PATH_SIZE], const struct xdplb_folder *f, const char *name)
{
	snprintf(path, PATH_SIZE, "%s/%s", f->maps, name);
}

static int read_config(const struct xdp_map *map, struct abi_config *ret)
{
	uint32_t zero = 0;

	return map->value_size == sizeof(*ret) ? xdp_map_read(map, &zero, ret) : -ESTALE;
}

uint32_t xdplb__upgrade_from(const struct xdplb_folder *f)
{
	struct abi_config config = { 0 };
	struct xdp_map map;
	char path[PATH_SIZE];

	pin_path(path, f, ABI_MAP_CONFIG);
	if (xdp_map_open(path, &map) < 0)
		return 0;
	read_config(&map, &config);
	xdp_map_close(&map);
	return config.layout == LAYOUT ? LAYOUT : 0;
}

/* ---- the old maps ---- */

static void close_old(struct old *o)
{
	xdp_map_unmap(&o->map[CELLS], o->cells);
	xdp_map_unmap(&o->map[VIPS], o->vips);
	xdp_map_unmap(&o->map[AS], o->as);
	for (size_t i = 0; i < MAPS; i++)
		if (o->map[i].entries)
			xdp_map_close(&o->map[i]);
}

static int open_maps(struct old *o, const struct xdplb_folder *f, struct xdplb_why *why)
{
	char path[PATH_SIZE];

	for (enum map1 i = 0; i < MAPS; i++) {
		struct xdp_map *map = &o->map[i];

		pin_path(path, f, maps1[i].name);
		if (xdp_map_open(path, map) < 0 && i <= TABLES) {
			xdplb__explain(why, "the pin of %s is gone", maps1[i].name);
			return -ENODATA;
		}
		if (map->entries && map->value_size != maps1[i].value_size)
			return -ESTALE;
	}
	return 0;
}

static bool is_of_one_piece(const struct old *o)
{
	const struct abi_config *c = &o->config;
	const struct xdp_map *m = o->map;

	return m[VIPS].entries > 1 && m[AS].entries > 1 && c->table_size > 0 &&
	       (uint64_t)c->table_lines * ABI_LINE_SLOTS >= c->table_size &&
	       m[TABLES].entries >= c->table_lines && m[CELLS].entries == c->vip_mask + 1 &&
	       (!m[FLOWS].entries || m[FLOWS].entries == c->flow_mask + 1) &&
	       (!m[VIP_COUNTS].entries || m[VIP_COUNTS].entries == m[VIPS].entries) &&
	       (!m[AS_LOCAL].entries || m[AS_LOCAL].entries == m[AS].entries);
}

static int open_old(struct old *o, const struct xdplb_folder *f, struct xdplb_why *why)
{
	int r = open_maps(o, f, why);

	if (r == 0)
		r = read_config(&o->map[CONFIG], &o->config);
	if (r == 0 && !is_of_one_piece(o))
		r = -ESTALE;
	if (r == 0)
		r = xdp_map_memory(&o->map[CELLS], (void **)&o->cells);
	if (r == 0)
		r = xdp_map_memory(&o->map[VIPS], (void **)&o->vips);
	if (r == 0)
		r = xdp_map_memory(&o->map[AS], (void **)&o->as);
	if (r < 0 && r != -ENODATA)
		xdplb__explain(why,
			       "the maps in %s do not belong together: \"maglevd --xdp-detach\" "
			       "removes them",
			       f->maps);
	return r;
}

static struct xdplb_sizes sizes_of(const struct old *o)
{
	const struct abi_config *c = &o->config;

	return (struct xdplb_sizes){ .vips = o->map[VIPS].entries,
				     .servers = o->map[AS].entries,
				     .cells = c->vip_mask + 1,
				     .tables = o->map[TABLES].entries / c->table_lines,
				     .table_size = c->table_size,
				     .table_lines = c->table_lines,
				     .buckets = c->flow_mask + 1 };
}

/* ---- what they hold ---- */

/* qsort_r's context is the array of servers. */
static int by_address(const void *a, const void *b, void *servers)
{
	const struct as1 *s = servers;

	return memcmp(s[*(const uint32_t *)a].address, s[*(const uint32_t *)b].address, 16);
}

/* The ids of the servers that are in use, by address. */
static uint32_t *sort_servers(const struct old *o, uint32_t *ret_n)
{
	uint32_t *ids = mem_resize(NULL, o->map[AS].entries, sizeof(*ids));
	uint32_t n = 0;

	for (uint32_t id = 1; id < o->map[AS].entries; id++)
		if (o->as[id].vip)
			ids[n++] = id;
	qsort_r(ids, n, sizeof(*ids), by_address, o->as);
	*ret_n = n;
	return ids;
}

/* Unused servers keep their generation: the next server with that id must not repeat one. */
static void copy_servers(const struct old *o, const struct xdplb_maps *to)
{
	uint32_t n, hosts = 0;
	_cleanup_(cleanup_free) uint32_t *ids = sort_servers(o, &n);

	for (uint32_t id = 1; id < o->map[AS].entries; id++)
		to->servers[id].generation = o->as[id].generation;
	for (uint32_t i = 0; i < n; i++) {
		const struct as1 *s = &o->as[ids[i]];

		if (i == 0 || by_address(&ids[i - 1], &ids[i], o->as) != 0) {
			hosts++;
			to->hosts[hosts].family = s->family;
			memcpy(to->hosts[hosts].address, s->address, sizeof(s->address));
		}
		to->servers[ids[i]] = (struct abi_as){
			.vip = s->vip,
			.host = (__u16)hosts,
			.generation = s->generation,
			.weight = (s->weight & ABI_AS_WEIGHT) |
				  (s->flags & FLUSHED && !s->weight ? ABI_AS_FLUSHED : 0),
		};
	}
}

/* Tables in use, under the same numbers. */
static int copy_tables(const struct old *o, const struct xdplb_maps *to)
{
	const uint32_t lines = o->config.table_lines;
	int r = 0;

	for (uint32_t i = 1; i < o->map[VIPS].entries && r == 0; i++) {
		struct xdp_window source = { 0 }, target = { 0 };
		uint32_t table = o->vips[i].table;

		if (!table || table > to->sizes.tables)
			continue;
		r = xdp_window_open(&o->map[TABLES], (table - 1) * lines, lines, &source);
		if (r == 0)
			r = xdplb__maps_table(to, table - 1, &target);
		if (r == 0)
			memcpy(target.values, source.values, lines * sizeof(struct abi_table_line));
		xdp_window_close(&source);
		xdp_window_close(&target);
	}
	return r;
}

/* The first bytes of a value, which each CPU has, become those of another kind of map. */
static void copy_counts(const struct old *o, enum map1 from, const struct xdplb_maps *to,
			enum xdplb_map map)
{
	const struct xdp_map *m = &o->map[from];
	size_t words = m->value_size / sizeof(uint64_t);
	_cleanup_(cleanup_free) uint64_t *values = mem_zalloc(m->value_size * (size_t)xdp_cpus());

	for (uint32_t i = 1; i < m->entries; i++) {
		if (xdp_map_read(m, &i, values) < 0)
			continue;
		for (unsigned cpu = 0; cpu < xdp_cpus(); cpu++)
			memcpy(xdplb__maps_counts(to, map, cpu, i), values + cpu * words,
			       to->map[map].value_size);
	}
}

static int copy_all(const struct old *o, const struct xdplb_maps *to)
{
	memcpy(to->cells, o->cells, o->map[CELLS].entries * sizeof(*o->cells));
	memcpy(to->vips, o->vips, o->map[VIPS].entries * sizeof(*o->vips));
	copy_servers(o, to);
	copy_counts(o, VIP_COUNTS, to, PLANE_VIP_COUNTS);
	copy_counts(o, AS_LOCAL, to, PLANE_AS_COUNTS);
	for (uint32_t i = 0; i < o->map[EVENTS].entries && i < ABI_EVENTS; i++)
		xdp_map_copy(&o->map[EVENTS], i, &to->map[PLANE_EVENTS]);
	return copy_tables(o, to);
}

/* ---- the upgrade ---- */

static int fill(const struct old *o, const struct xdplb_folder *f, struct xdplb_why *why)
{
	struct xdplb_maps to;
	int r = xdplb__maps_open_pins(f->next, &to, why);

	if (r < 0)
		return r;
	r = copy_all(o, &to);
	if (r < 0)
		xdplb__explain(why, "cannot copy the maps in %s: %s", f->maps, strerror(-r));
	xdplb__maps_close(&to);
	return r;
}

static int replace(const struct old *o, const struct xdplb_folder *f, struct xdplb_why *why)
{
	const struct xdplb_sizes sizes = sizes_of(o);
	const struct xdplb_inherited inherited = { .config = o->config,
						   .flows = o->map[FLOWS],
						   .has_flows = o->map[FLOWS].entries > 0 };
	int r = xdplb__load_next(f, &sizes, &inherited, why);

	if (r < 0)
		return r;
	r = fill(o, f, why);
	if (r < 0) {
		xdp_unpin(f->next);
		return r;
	}
	r = xdplb__load_exchange(f);
	if (r < 0)
		xdplb__explain(why, "cannot rename %s: %s", f->next, strerror(-r));
	return r;
}

int xdplb__upgrade(const struct xdplb_folder *f, struct xdplb_why *why)
{
	struct old o = { 0 };
	int r = open_old(&o, f, why);

	if (r == 0)
		r = replace(&o, f, why);
	close_old(&o);
	return r;
}
