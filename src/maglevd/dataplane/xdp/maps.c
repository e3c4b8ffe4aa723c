/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of maps is either adopted whole, as a process before us has left it, or made anew. Five of
 * them hold what was programmed and stand or fall together; the flow table and the counters can be
 * made again on their own, at the cost of what they held.
 *
 * The program is always loaded from this maglevd's own object, over whatever maps there are; so an
 * upgrade is a load and a switch of the links, and what a former program looked like is of no
 * interest. Loading takes the kernel some tens of milliseconds: it is the one thing here that does.
 *
 * Capabilities are in force for the load alone: maps are made and programs checked there. All that
 * comes later goes by descriptors and by the permissions of pins.
 */
#include "src/maglevd/dataplane/xdp/maps.h"

#include <assert.h>
#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <lb.skel.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/net/privilege.h"

/* Tables beyond one a VIP: those let go rest a second, and this many VIPs may change in it. */
#define SPARE_TABLES 512
#define SPARE_TABLES_LEAST 8
#define CELLS_OF_VIP 16 /* eight for each of two keys */
#define CELLS_LEAST 1024
#define LAST_WORDS 400

enum { CONFIG, CELLS, VIPS, SERVERS, TABLES, FLOWS, LINKS, VIP_COUNTS, AS_LOCAL, EVENTS, CPU };

static const struct {
	const char *name;
	bool essential; /* holds what was programmed */
} maps[] = {
	[CONFIG] = { ABI_MAP_CONFIG, true },	  [CELLS] = { ABI_MAP_VIP_CELLS, true },
	[VIPS] = { ABI_MAP_VIPS, true },	  [SERVERS] = { ABI_MAP_SERVERS, true },
	[TABLES] = { ABI_MAP_TABLES, true },	  [FLOWS] = { ABI_MAP_FLOWS, false },
	[LINKS] = { ABI_MAP_LINKS, false },	  [VIP_COUNTS] = { ABI_MAP_VIP_COUNTS, false },
	[AS_LOCAL] = { ABI_MAP_AS_LOCAL, false }, [EVENTS] = { ABI_MAP_EVENTS, false },
	[CPU] = { ABI_MAP_CPU, false },
};

void plane__explain(struct plane_why *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
}

/* ---- sizes ---- */

static uint32_t power_above(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static uint32_t roomy(uint32_t n, uint32_t limit)
{
	uint32_t with_room = (n + n / 4 + 64) / 64 * 64;

	return with_room < limit ? with_room : limit;
}

/* A server behind two frontends is two; one in two pools of a frontend is counted twice. */
static uint32_t count_servers(const struct l4_config *c)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->n_frontends; i++)
		for (size_t k = 0; k < c->frontends[i].n_pools; k++)
			n += (uint32_t)c->frontends[i].pools[k].n_members;
	return n;
}

static uint32_t spare_tables(uint32_t vips)
{
	return (vips < SPARE_TABLES ? vips : SPARE_TABLES) + SPARE_TABLES_LEAST;
}

void plane__sizes_for(const struct l4_config *c, struct plane_sizes *ret)
{
	uint32_t vips = (uint32_t)c->n_frontends;

	*ret = (struct plane_sizes){
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

bool plane__sizes_do(const struct plane_sizes *have, const struct l4_config *c)
{
	uint32_t vips = (uint32_t)c->n_frontends, servers = count_servers(c) + 1;
	struct plane_sizes want;

	plane__sizes_for(c, &want);
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

void plane__sizes_grow(struct plane_sizes *s, const struct plane_sizes *have)
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

/* Raises what loading needs; what was raised, to be lowered again. */
static uint64_t raise_all(void)
{
	static const int needed[] = { CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON };
	uint64_t raised = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (privilege_raise(needed[i]) == 1)
			raised |= (uint64_t)1 << needed[i];
	return raised;
}

static void lower_all(uint64_t raised)
{
	for (int cap = 0; cap < 64; cap++)
		if (raised >> cap & 1)
			privilege_lower(cap);
}

/* The verifier says a lot, and at the end why. */
static const char *last_words(void)
{
	const char *all = xdp_why();
	size_t n = strlen(all);

	return n > LAST_WORDS ? all + n - LAST_WORDS : all;
}

static int load(struct xdp_object *object, struct plane_why *why)
{
	uint64_t raised = raise_all();
	int r = xdp_object_load(object);

	lower_all(raised);
	if (r == -EPERM || (r == -EACCES && !privilege_held(CAP_PERFMON)))
		plane__explain(why,
			       "the kernel does not let us load the program: that takes CAP_BPF, "
			       "CAP_NET_ADMIN and CAP_PERFMON");
	else if (r < 0)
		plane__explain(why, "cannot load the program: %s: %s", strerror(-r), last_words());
	return r;
}

static int open_object(struct xdp_object **ret, struct plane_why *why)
{
	size_t size;
	const void *elf = lb__elf_bytes(&size);
	int r = xdp_object_open(elf, size, ret);

	if (r < 0)
		plane__explain(why, "cannot open the program: %s: %s", strerror(-r), xdp_why());
	return r;
}

static int resize(struct xdp_object *object, const struct plane_sizes *s)
{
	const uint32_t entries[ARRAY_SIZE(maps)] = {
		[CONFIG] = 1,
		[CELLS] = s->cells,
		[VIPS] = s->vips,
		[SERVERS] = s->servers,
		[TABLES] = s->tables * s->table_lines,
		[FLOWS] = s->buckets,
		[VIP_COUNTS] = s->vips,
		[AS_LOCAL] = s->servers,
	};
	struct xdp_map adopted;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(maps) && r == 0; i++)
		if (entries[i] && xdp_map(object, maps[i].name, &adopted) < 0)
			r = xdp_object_resize(object, maps[i].name, entries[i]);
	return r;
}

/* The kernel may refuse memory, and nothing else. */
static int map_memory(struct plane_maps *m)
{
	const struct {
		const char *name;
		struct xdp_map *map;
		void **memory;
	} table[] = {
		{ ABI_MAP_CONFIG, &m->config_map, (void **)&m->config },
		{ ABI_MAP_VIP_CELLS, &m->cells_map, (void **)&m->cells },
		{ ABI_MAP_VIPS, &m->vips_map, (void **)&m->vips },
		{ ABI_MAP_SERVERS, &m->servers_map, (void **)&m->servers },
		{ ABI_MAP_TABLES, &m->tables_map, (void **)&m->tables },
		{ ABI_MAP_VIP_COUNTS, &m->vip_counts, NULL },
		{ ABI_MAP_AS_LOCAL, &m->as_local, NULL },
		{ ABI_MAP_EVENTS, &m->events, NULL },
		{ ABI_MAP_LINKS, &m->links, NULL },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table) && r == 0; i++) {
		r = xdp_map(m->object, table[i].name, table[i].map);
		if (r == 0 && table[i].memory)
			r = xdp_map_memory(table[i].map, table[i].memory);
	}
	return r;
}

/* Loads and maps. What is in *m is closed by the caller, also after a failure. */
static int bring_up(struct plane_maps *m, struct plane_why *why)
{
	struct timespec tick;
	int r = load(m->object, why);

	if (r < 0)
		return r;
	m->program = xdp_object_program(m->object, ABI_PROGRAM);
	r = m->program < 0 ? m->program : xdp_program_id(m->program, &m->program_id);
	if (r == 0)
		r = map_memory(m);
	if (r < 0) {
		plane__explain(why, "cannot map the maps: %s", strerror(-r));
		return r;
	}
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	m->hz = (unsigned)(NSEC_PER_SEC / tick.tv_nsec);
	return 0;
}

/* ---- maps that are there ---- */

static int check_essentials(const struct xdp_object *object, struct plane_why *why)
{
	struct xdp_map map;

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (!maps[i].essential || xdp_map(object, maps[i].name, &map) == 0)
			continue;
		plane__explain(why, "the pin of %s is gone", maps[i].name);
		return -ENODATA;
	}
	return 0;
}

static uint32_t entries_of(const struct xdp_object *object, const char *name, uint32_t otherwise)
{
	struct xdp_map map;

	return xdp_map(object, name, &map) == 0 ? map.entries : otherwise;
}

/* From the maps that are there; the others are made to match. */
static void read_sizes(const struct xdp_object *object, const struct abi_config *c,
		       struct plane_sizes *ret)
{
	*ret = (struct plane_sizes){
		.vips = entries_of(object, ABI_MAP_VIPS, 0),
		.servers = entries_of(object, ABI_MAP_SERVERS, 0),
		.cells = c->vip_mask + 1,
		.table_size = c->table_size,
		.table_lines = c->table_lines,
		.buckets = c->flow_mask + 1,
	};
	if (c->table_lines)
		ret->tables = entries_of(object, ABI_MAP_TABLES, 0) / c->table_lines;
}

static bool is_of_one_piece(const struct xdp_object *object, const struct plane_sizes *s)
{
	return s->vips > 1 && s->servers > 1 && s->tables > 0 && s->table_size > 0 &&
	       (uint64_t)s->table_lines * ABI_LINE_SLOTS >= s->table_size && s->buckets > 0 &&
	       entries_of(object, ABI_MAP_VIP_CELLS, 0) == s->cells &&
	       entries_of(object, ABI_MAP_FLOWS, s->buckets) == s->buckets &&
	       entries_of(object, ABI_MAP_VIP_COUNTS, s->vips) == s->vips &&
	       entries_of(object, ABI_MAP_AS_LOCAL, s->servers) == s->servers;
}

static int check_layout(const struct xdp_object *object, const char *folder,
			struct plane_sizes *ret, struct plane_why *why)
{
	struct abi_config config;
	struct xdp_map map;
	uint32_t zero = 0;
	int r = xdp_map(object, ABI_MAP_CONFIG, &map);

	if (r == 0)
		r = xdp_map_read(&map, &zero, &config);
	if (r < 0) {
		plane__explain(why, "cannot read %s in %s: %s", ABI_MAP_CONFIG, folder,
			       strerror(-r));
		return r;
	}
	if (config.layout != ABI_LAYOUT) {
		plane__explain(why,
			       "the maps in %s have layout %u, and this maglevd knows %d: "
			       "\"maglevd --xdp-detach\" takes them away",
			       folder, config.layout, ABI_LAYOUT);
		return -ESTALE;
	}
	read_sizes(object, &config, ret);
	if (is_of_one_piece(object, ret))
		return 0;
	plane__explain(why,
		       "the maps in %s do not belong together: \"maglevd --xdp-detach\" takes "
		       "them away",
		       folder);
	return -ESTALE;
}

static int take_pins(struct xdp_object *object, const char *folder, struct plane_why *why)
{
	int r = xdp_object_adopt(object, folder);

	if (r == -ESTALE)
		plane__explain(why,
			       "the maps in %s are not ours: %s: \"maglevd --xdp-detach\" "
			       "takes them away",
			       folder, xdp_why());
	else if (r < 0)
		plane__explain(why, "cannot open the maps in %s: %s", folder, strerror(-r));
	if (r < 0)
		return r;
	return r == 0 ? -ENOENT : 0;
}

int plane__maps_adopt(const char *folder, struct plane_maps *ret, struct plane_why *why)
{
	struct plane_maps m = { 0 };
	int r = open_object(&m.object, why);

	if (r < 0)
		return r;
	r = take_pins(m.object, folder, why);
	if (r == 0)
		r = check_essentials(m.object, why);
	if (r == 0)
		r = check_layout(m.object, folder, &m.sizes, why);
	if (r == 0)
		r = resize(m.object, &m.sizes);
	if (r == 0)
		r = bring_up(&m, why);
	if (r < 0)
		plane__maps_close(&m);
	else
		*ret = m;
	return r;
}

/* ---- new ones ---- */

/* What is written once. The seed goes with the flow table, whose places it decides. */
static void write_config(struct plane_maps *m, const struct plane_maps *from)
{
	struct abi_config *c = m->config;

	if (from)
		memcpy(c, from->config, sizeof(*c));
	else if (getrandom(c->seed, sizeof(c->seed), 0) != sizeof(c->seed))
		c->seed[0] = c->seed[1] = 0;
	c->layout = ABI_LAYOUT;
	c->table_size = m->sizes.table_size;
	c->table_lines = m->sizes.table_lines;
	c->flow_mask = m->sizes.buckets - 1;
	c->vip_mask = m->sizes.cells - 1;
	c->clock_shift = ABI_CLOCK_SHIFT(m->hz);
}

static int share_flows(struct plane_maps *m, const struct plane_maps *from)
{
	if (!from || from->sizes.buckets != m->sizes.buckets)
		return 0;
	return xdp_object_share(m->object, ABI_MAP_FLOWS, from->object);
}

int plane__maps_make(const struct plane_sizes *sizes, const struct plane_maps *from,
		     struct plane_maps *ret, struct plane_why *why)
{
	struct plane_maps m = { .sizes = *sizes };
	int r = open_object(&m.object, why);

	if (r < 0)
		return r;
	r = share_flows(&m, from);
	if (r == 0)
		r = resize(m.object, sizes);
	if (r == 0)
		r = bring_up(&m, why);
	if (r < 0) {
		plane__maps_close(&m);
		return r;
	}
	write_config(&m, from);
	*ret = m;
	return 0;
}

int plane__maps_pin(const struct plane_maps *m, const char *folder, struct plane_why *why)
{
	int r = xdp_object_pin(m->object, folder);

	if (r < 0)
		plane__explain(why, "cannot pin the maps in %s: %s", folder, strerror(-r));
	return r;
}

const char *plane__maps_unpinned(const char *folder)
{
	char path[512];

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, maps[i].name);
		if (access(path, F_OK) < 0)
			return maps[i].name;
	}
	return NULL;
}

void plane__maps_close(struct plane_maps *m)
{
	xdp_map_unmap(&m->config_map, m->config);
	xdp_map_unmap(&m->cells_map, m->cells);
	xdp_map_unmap(&m->vips_map, m->vips);
	xdp_map_unmap(&m->servers_map, m->servers);
	xdp_map_unmap(&m->tables_map, m->tables);
	xdp_object_free(m->object);
	*m = (struct plane_maps){ 0 };
}

/* ---- addresses ---- */

void plane__put_address(const struct addr *a, __u32 ret[static 4])
{
	memset(ret, 0, 16);
	if (a->family == AF_INET6) {
		memcpy(ret, a->bytes, 16);
	} else if (a->family == AF_INET) {
		ret[2] = htonl(0xffff);
		memcpy(&ret[3], a->bytes, 4);
	}
}

struct addr plane__get_address(const __u32 bits[static 4])
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
