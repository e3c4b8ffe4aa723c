/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set owns descriptors of all its maps and of the program. Seven maps are mapped into memory:
 * the counters, and those that hold what is programmed, except the tables, which are large and are
 * mapped one at a time. The maps are opened by their pins, because the child process of the loader
 * creates them.
 */
#include "src/maglevd/dataplane/xdp/maps.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"

/*
 * Tables beyond one per VIP. A table that was replaced rests for a second, and this many VIPs may
 * change within that second.
 */
#define SPARE_TABLES 512
#define SPARE_TABLES_LEAST 8
#define CELLS_OF_VIP 16 /* eight for each of the two keys of a VIP */
#define CELLS_LEAST 1024
#define PATH_SIZE 512

void xdplb__explain(struct xdplb_why *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
}

const char *xdplb__map_name(enum xdplb_map map)
{
	static const char *const names[PLANE_MAPS] = {
		[PLANE_CONFIG] = ABI_MAP_CONFIG,
		[PLANE_CELLS] = ABI_MAP_VIP_CELLS,
		[PLANE_VIPS] = ABI_MAP_VIPS,
		[PLANE_SERVERS] = ABI_MAP_SERVERS,
		[PLANE_HOSTS] = ABI_MAP_HOSTS,
		[PLANE_TABLES] = ABI_MAP_TABLES,
		[PLANE_FLOWS] = ABI_MAP_FLOWS,
		[PLANE_LINKS] = ABI_MAP_LINKS,
		[PLANE_VIP_COUNTS] = ABI_MAP_VIP_COUNTS,
		[PLANE_AS_COUNTS] = ABI_MAP_AS_COUNTS,
		[PLANE_HOPS] = ABI_MAP_HOPS,
		[PLANE_EVENTS] = ABI_MAP_EVENTS,
		[PLANE_CPU] = ABI_MAP_CPU,
	};

	assert((size_t)map < ARRAY_SIZE(names));
	return names[map];
}

/* ---- sizes ---- */

static uint32_t power_above(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* A quarter more than needed, as a multiple of 64, so that most reloads need no new maps. */
static uint32_t roomy(uint32_t n, uint32_t limit)
{
	uint32_t with_room = (n + n / 4 + 64) / 64 * 64;

	return with_room < limit ? with_room : limit;
}

/*
 * A server of two frontends takes two entries. A server in two pools of a frontend is counted
 * twice although it takes one: the estimate is only ever too large.
 */
static uint32_t count_servers(const struct l4_config *c)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->n_frontends; i++)
		for (size_t k = 0; k < c->frontends[i].n_pools; k++)
			n += (uint32_t)c->frontends[i].pools[k].n_members;
	return n;
}

/* As many as there are VIPs, because no more can change at once, up to SPARE_TABLES. */
static uint32_t spare_tables(uint32_t vips)
{
	return (vips < SPARE_TABLES ? vips : SPARE_TABLES) + SPARE_TABLES_LEAST;
}

void xdplb__sizes_for(const struct l4_config *c, struct xdplb_sizes *ret)
{
	uint32_t vips = (uint32_t)c->n_frontends;

	*ret = (struct xdplb_sizes){
		.vips = roomy(vips + 1, UINT32_MAX),
		.servers = roomy(count_servers(c) + 1, ABI_MAX_AS + 1),
		.tables = vips + spare_tables(vips),
		.table_size = c->xdp.table_size,
		.table_lines = (c->xdp.table_size + ABI_LINE_SLOTS - 1) / ABI_LINE_SLOTS,
		.buckets = power_above(c->xdp.flow_table_size / ABI_BUCKET_FLOWS),
	};
	ret->cells = power_above(ret->vips * CELLS_OF_VIP);
	if (ret->cells < CELLS_LEAST)
		ret->cells = CELLS_LEAST;
}

/*
 * Asks for less room than xdplb__sizes_for() gives (a sixteenth, half of the spare tables), so
 * that new maps are made before the old ones are full, and not again right after that.
 */
bool xdplb__sizes_do(const struct xdplb_sizes *have, const struct l4_config *c)
{
	uint32_t vips = (uint32_t)c->n_frontends, servers = count_servers(c) + 1;
	struct xdplb_sizes want;

	xdplb__sizes_for(c, &want);
	return have->table_size == want.table_size && have->buckets == want.buckets &&
	       have->vips > vips + vips / 16 &&
	       (have->servers > servers + servers / 16 || have->servers >= want.servers) &&
	       have->tables >= vips + spare_tables(vips) / 2;
}

static void grow(uint32_t *n, uint32_t have)
{
	if (*n < have)
		*n = have;
}

/* Tables of the same size are copied under the same number; others are built in new places. */
void xdplb__sizes_grow(struct xdplb_sizes *s, const struct xdplb_sizes *have)
{
	grow(&s->vips, have->vips);
	grow(&s->servers, have->servers);
	grow(&s->cells, have->cells);
	if (s->table_size == have->table_size)
		grow(&s->tables, have->tables);
	else
		grow(&s->tables, have->vips + SPARE_TABLES_LEAST);
}

/* ---- opening ---- */

/*
 * The resolution of the coarse clock is one tick. sysconf(_SC_CLK_TCK) is always 100 and no help.
 */
unsigned xdplb__hz(void)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (unsigned)(NSEC_PER_SEC / tick.tv_nsec);
}

static void pin_path(char path[static PATH_SIZE], const char *folder, enum xdplb_map map)
{
	snprintf(path, PATH_SIZE, "%s/%s", folder, xdplb__map_name(map));
}

static int open_maps(struct xdplb_maps *m, const char *folder)
{
	char path[PATH_SIZE];
	int r = 0;

	for (enum xdplb_map i = 0; i < PLANE_MAPS && r == 0; i++) {
		pin_path(path, folder, i);
		r = xdp_map_open(path, &m->map[i]);
	}
	return r;
}

/* The maps that are read and written through memory, and where it is. */
static const struct {
	enum xdplb_map map;
	size_t memory;
} mapped[] = {
	{ PLANE_CONFIG, offsetof(struct xdplb_maps, config) },
	{ PLANE_CELLS, offsetof(struct xdplb_maps, cells) },
	{ PLANE_VIPS, offsetof(struct xdplb_maps, vips) },
	{ PLANE_SERVERS, offsetof(struct xdplb_maps, servers) },
	{ PLANE_HOSTS, offsetof(struct xdplb_maps, hosts) },
	{ PLANE_VIP_COUNTS, offsetof(struct xdplb_maps, vip_counts) },
	{ PLANE_AS_COUNTS, offsetof(struct xdplb_maps, as_counts) },
};

static void **memory_at(struct xdplb_maps *m, size_t i)
{
	return (void **)((char *)m + mapped[i].memory);
}

static int map_memory(struct xdplb_maps *m)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(mapped) && r == 0; i++)
		r = xdp_map_memory(&m->map[mapped[i].map], memory_at(m, i));
	return r;
}

/* The pin is removed in any case: a later load makes a new one. */
static int open_program(struct xdplb_maps *m, const char *program)
{
	m->program = xdp_program_open(program);
	unlink(program);
	return m->program < 0 ? m->program : xdp_program_id(m->program, &m->program_id);
}

/* No checks here: load.c has verified that the maps belong together. */
static void read_sizes(struct xdplb_maps *m)
{
	const struct abi_config *c = m->config;

	m->sizes = (struct xdplb_sizes){
		.vips = m->map[PLANE_VIPS].entries,
		.servers = m->map[PLANE_SERVERS].entries,
		.cells = m->map[PLANE_CELLS].entries,
		.tables = m->map[PLANE_TABLES].entries / c->table_lines,
		.table_size = c->table_size,
		.table_lines = c->table_lines,
		.buckets = m->map[PLANE_FLOWS].entries,
	};
}

int xdplb__maps_open_pins(const char *folder, struct xdplb_maps *ret, struct xdplb_why *why)
{
	struct xdplb_maps m = { .program = -1, .hz = xdplb__hz() };
	int r;

	for (size_t i = 0; i < PLANE_MAPS; i++)
		m.map[i].fd = -1;
	r = open_maps(&m, folder);
	if (r == 0)
		r = map_memory(&m);
	if (r < 0) {
		xdplb__explain(why, "cannot open the maps in %s: %s", folder, strerror(-r));
		xdplb__maps_close(&m);
		return r;
	}
	read_sizes(&m);
	*ret = m;
	return 0;
}

int xdplb__maps_open(const char *folder, const char *program, struct xdplb_maps *ret,
		     struct xdplb_why *why)
{
	struct xdplb_maps m;
	int r = xdplb__maps_open_pins(folder, &m, why);

	if (r < 0) {
		unlink(program);
		return r;
	}
	r = open_program(&m, program);
	if (r < 0) {
		xdplb__explain(why, "cannot open the program in %s: %s", folder, strerror(-r));
		xdplb__maps_close(&m);
		return r;
	}
	*ret = m;
	return 0;
}

int xdplb__maps_table(const struct xdplb_maps *m, uint32_t table, struct xdp_window *ret)
{
	const struct xdplb_sizes *s = &m->sizes;

	assert(table < s->tables);
	return xdp_window_open(&m->map[PLANE_TABLES], table * s->table_lines, s->table_lines, ret);
}

int xdplb__maps_pin(const struct xdplb_maps *m, const char *folder, struct xdplb_why *why)
{
	char path[PATH_SIZE];
	int r = mkdir(folder, 0700) < 0 && errno != EEXIST ? -errno : 0;

	for (enum xdplb_map i = 0; i < PLANE_MAPS && r == 0; i++) {
		pin_path(path, folder, i);
		if (access(path, F_OK) < 0)
			r = xdp_map_pin(&m->map[i], path);
	}
	if (r < 0)
		xdplb__explain(why, "cannot pin the maps in %s: %s", folder, strerror(-r));
	return r;
}

const char *xdplb__maps_unpinned(const char *folder)
{
	char path[PATH_SIZE];

	for (enum xdplb_map i = 0; i < PLANE_MAPS; i++) {
		pin_path(path, folder, i);
		if (access(path, F_OK) < 0)
			return xdplb__map_name(i);
	}
	return NULL;
}

/* A map that has no entries was not opened. */
void xdplb__maps_close(struct xdplb_maps *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(mapped); i++)
		xdp_map_unmap(&m->map[mapped[i].map], *memory_at(m, i));
	for (size_t i = 0; i < PLANE_MAPS; i++)
		if (m->map[i].entries)
			xdp_map_close(&m->map[i]);
	if (m->program >= 0)
		close(m->program);
	*m = (struct xdplb_maps){ .program = -1 };
}

/* ---- counters ---- */

uint64_t *xdplb__maps_counts(const struct xdplb_maps *m, enum xdplb_map map, unsigned cpu,
			     uint32_t i)
{
	bool of_vips = map == PLANE_VIP_COUNTS;
	size_t stride = of_vips ? m->sizes.vips : m->sizes.servers;
	size_t words = m->map[map].value_size / sizeof(uint64_t);

	assert(i < stride);
	return (of_vips ? m->vip_counts : m->as_counts) + (cpu * stride + i) * words;
}

/* The number of CPUs is that of the machine, and the machine does not change. */
static unsigned cpus_of(const struct xdplb_maps *m)
{
	return m->map[PLANE_VIP_COUNTS].entries / m->sizes.vips;
}

void xdplb__maps_sum(const struct xdplb_maps *m, enum xdplb_map map, uint32_t i, uint64_t *ret,
		     size_t n)
{
	memset(ret, 0, n * sizeof(*ret));
	for (unsigned cpu = 0; cpu < cpus_of(m); cpu++) {
		const uint64_t *words = xdplb__maps_counts(m, map, cpu, i);

		for (size_t k = 0; k < n; k++)
			ret[k] += __atomic_load_n(&words[k], __ATOMIC_RELAXED);
	}
}

void xdplb__maps_clear(const struct xdplb_maps *m, enum xdplb_map map, uint32_t i)
{
	for (unsigned cpu = 0; cpu < cpus_of(m); cpu++)
		memset(xdplb__maps_counts(m, map, cpu, i), 0, m->map[map].value_size);
}

void xdplb__maps_copy(const struct xdplb_maps *from, enum xdplb_map map, uint32_t i,
		      const struct xdplb_maps *to)
{
	for (unsigned cpu = 0; cpu < cpus_of(from); cpu++)
		memcpy(xdplb__maps_counts(to, map, cpu, i), xdplb__maps_counts(from, map, cpu, i),
		       from->map[map].value_size);
}

/* ---- addresses ---- */

/* An address that is not set becomes all zeros. */
void xdplb__put_address(const struct addr *a, __u32 ret[static 4])
{
	memset(ret, 0, 16);
	if (a->family == AF_INET6) {
		memcpy(ret, a->bytes, 16);
	} else if (a->family == AF_INET) {
		ret[2] = htonl(0xffff);
		memcpy(&ret[3], a->bytes, 4);
	}
}

struct addr xdplb__get_address(const __u32 bits[static 4])
{
	struct addr a = { .family = AF_INET6 };

	if (bits[0] == 0 && bits[1] == 0 && bits[2] == htonl(0xffff)) {
		a.family = AF_INET;
		memcpy(a.bytes, &bits[3], 4);
	} else {
		memcpy(a.bytes, bits, 16);
	}
	return a;
}

/* A server of a map that another program has written to may have any host. */
struct addr xdplb__maps_server(const struct xdplb_maps *m, uint32_t id)
{
	uint32_t host = m->servers[id].host;

	return xdplb__get_address(m->hosts[host < m->sizes.servers ? host : 0].address);
}
