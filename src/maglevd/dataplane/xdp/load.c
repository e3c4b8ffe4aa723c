/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of maps is either adopted as a whole, as an earlier process has left it, or created. Six
 * maps hold what is programmed and are only useful together. The flow table and the counters can
 * be created again on their own, at the cost of their contents.
 *
 * The program is always loaded from this maglevd's own object, over whatever maps there are. So
 * an upgrade is a load and a switch of the links, and does not depend on the earlier program.
 *
 * New maps are pinned in a folder of their own first, which is renamed when it is complete: a
 * crash never leaves an incomplete folder under the final name. Capabilities are raised only
 * during the load, which creates the maps and runs the verifier. Everything later needs only
 * descriptors and the permissions of the pins.
 */
#include "src/maglevd/dataplane/xdp/load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <lb.skel.h>

#include "base/cleanup.h"
#include "lib/net/privilege.h"
#include "src/maglevd/dataplane/xdp/upgrade.h"

/* characters of the verifier's log that are shown */
#define LAST_WORDS 400

/*
 * Raises the capabilities that loading needs; returns those that were raised, to be lowered
 * again.
 */
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

/* The log of the verifier is long; the reason is at its end. */
static const char *last_words(void)
{
	const char *all = xdp_why();
	size_t n = strlen(all);

	return n > LAST_WORDS ? all + n - LAST_WORDS : all;
}

/* Without CAP_PERFMON the verifier rejects the program with EACCES. */
static int load(struct xdp_object *object, struct xdplb_why *why)
{
	uint64_t raised = raise_all();
	int r = xdp_object_load(object);

	lower_all(raised);
	if (r == -EPERM || (r == -EACCES && !privilege_held(CAP_PERFMON)))
		xdplb__explain(why,
			       "the kernel does not let us load the program: that takes CAP_BPF, "
			       "CAP_NET_ADMIN and CAP_PERFMON");
	else if (r < 0)
		xdplb__explain(why, "cannot load the program: %s: %s", strerror(-r), last_words());
	return r;
}

static int open_object(struct xdp_object **ret, struct xdplb_why *why)
{
	size_t size;
	const void *elf = lb__elf_bytes(&size);
	int r = xdp_object_open(elf, size, ret);

	if (r < 0)
		xdplb__explain(why, "cannot open the program: %s: %s", strerror(-r), xdp_why());
	return r;
}

/*
 * Sets the sizes of maps that are to be created; adopted and shared maps have theirs. 0 entries:
 * the size is fixed in the object.
 */
static int resize(struct xdp_object *object, const struct xdplb_sizes *s)
{
	const uint32_t entries[PLANE_MAPS] = {
		[PLANE_CONFIG] = 1,
		[PLANE_CELLS] = s->cells,
		[PLANE_VIPS] = s->vips,
		[PLANE_SERVERS] = s->servers,
		[PLANE_TABLES] = s->tables * s->table_lines,
		[PLANE_FLOWS] = s->buckets,
		[PLANE_HOSTS] = s->servers,
		[PLANE_VIP_COUNTS] = s->vips * xdp_cpu_numbers(),
		[PLANE_AS_COUNTS] = s->servers * xdp_cpu_numbers(),
		[PLANE_HOPS] = s->servers * xdp_cpu_numbers(),
	};
	struct xdp_map adopted;
	int r = 0;

	for (enum xdplb_map i = 0; i < PLANE_MAPS && r == 0; i++)
		if (entries[i] && xdp_map(object, xdplb__map_name(i), &adopted) < 0)
			r = xdp_object_resize(object, xdplb__map_name(i), entries[i]);
	return r;
}

/* The pin carries the program to the parent process, which opens and removes it. */
static int pin_program(const struct xdp_object *object, const struct xdplb_folder *f,
		       struct xdplb_why *why)
{
	int r;

	unlink(f->program);
	r = xdp_program_pin(xdp_object_program(object, ABI_PROGRAM), f->program);
	if (r < 0)
		xdplb__explain(why, "cannot pin the program in %s: %s", f->pin, strerror(-r));
	return r;
}

/* Loads the program and pins the maps and the program, where the parent process opens them. */
static int load_and_pin(struct xdp_object *object, const struct xdplb_folder *f, const char *maps,
			struct xdplb_why *why)
{
	int r = load(object, why);

	if (r < 0)
		return r;
	r = xdp_object_pin(object, maps);
	if (r < 0)
		xdplb__explain(why, "cannot pin the maps in %s: %s", maps, strerror(-r));
	return r < 0 ? r : pin_program(object, f, why);
}

/* ---- existing maps ---- */

/*
 * The maps up to PLANE_TABLES hold what is programmed; one of them missing makes the others
 * useless.
 */
static int check_essentials(const struct xdp_object *object, struct xdplb_why *why)
{
	struct xdp_map map;

	for (enum xdplb_map i = PLANE_CONFIG; i <= PLANE_TABLES; i++) {
		if (xdp_map(object, xdplb__map_name(i), &map) == 0)
			continue;
		xdplb__explain(why, "the pin of %s is gone", xdplb__map_name(i));
		return -ENODATA;
	}
	return 0;
}

static uint32_t entries_of(const struct xdp_object *object, const char *name, uint32_t otherwise)
{
	struct xdp_map map;

	return xdp_map(object, name, &map) == 0 ? map.entries : otherwise;
}

/* Takes the sizes from the existing maps; missing maps are created to match. */
static void read_sizes(const struct xdp_object *object, const struct abi_config *c,
		       struct xdplb_sizes *ret)
{
	*ret = (struct xdplb_sizes){
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

/*
 * Whether the sizes of all maps agree with lb_config. The program masks its indexes with what is
 * there, and would miss entries of a smaller map.
 */
static bool is_of_one_piece(const struct xdp_object *object, const struct xdplb_sizes *s)
{
	const uint32_t cpus = xdp_cpu_numbers(), servers = s->servers;

	return s->vips > 1 && s->servers > 1 && s->tables > 0 && s->table_size > 0 &&
	       (uint64_t)s->table_lines * ABI_LINE_SLOTS >= s->table_size && s->buckets > 0 &&
	       entries_of(object, ABI_MAP_VIP_CELLS, 0) == s->cells &&
	       entries_of(object, ABI_MAP_FLOWS, s->buckets) == s->buckets &&
	       entries_of(object, ABI_MAP_HOSTS, 0) == servers &&
	       entries_of(object, ABI_MAP_VIP_COUNTS, s->vips * cpus) == s->vips * cpus &&
	       entries_of(object, ABI_MAP_AS_COUNTS, servers * cpus) == servers * cpus &&
	       entries_of(object, ABI_MAP_HOPS, servers * cpus) == servers * cpus;
}

/* Maps of another version are refused and not replaced: they may carry live traffic. */
static int check_layout(const struct xdp_object *object, const char *folder,
			struct xdplb_sizes *ret, struct xdplb_why *why)
{
	struct abi_config config = { 0 };
	struct xdp_map map;
	uint32_t zero = 0;
	int r = xdp_map(object, ABI_MAP_CONFIG, &map);

	if (r == 0)
		r = xdp_map_read(&map, &zero, &config);
	if (r < 0) {
		xdplb__explain(why, "cannot read %s in %s: %s", ABI_MAP_CONFIG, folder,
			       strerror(-r));
		return r;
	}
	if (config.layout != ABI_LAYOUT) {
		xdplb__explain(why,
			       "the maps in %s have layout %u, and this maglevd knows %d: "
			       "\"maglevd --xdp-detach\" removes them",
			       folder, config.layout, ABI_LAYOUT);
		return -ESTALE;
	}
	read_sizes(object, &config, ret);
	if (is_of_one_piece(object, ret) && config.vips == ret->vips &&
	    config.servers == ret->servers)
		return 0;
	xdplb__explain(why,
		       "the maps in %s do not belong together: \"maglevd --xdp-detach\" takes "
		       "them away",
		       folder);
	return -ESTALE;
}

static int take_pins(struct xdp_object *object, const char *folder, struct xdplb_why *why)
{
	int r = xdp_object_adopt(object, folder);

	if (r == -ESTALE)
		xdplb__explain(why,
			       "the maps in %s are not ours: %s: \"maglevd --xdp-detach\" "
			       "removes them",
			       folder, xdp_why());
	else if (r < 0)
		xdplb__explain(why, "cannot open the maps in %s: %s", folder, strerror(-r));
	if (r < 0)
		return r;
	return r == 0 ? -ENOENT : 0;
}

static int adopt_into(struct xdp_object *object, const struct xdplb_folder *f,
		      struct xdplb_why *why)
{
	struct xdplb_sizes sizes;
	int r = take_pins(object, f->maps, why);

	if (r == 0)
		r = check_essentials(object, why);
	if (r == 0)
		r = check_layout(object, f->maps, &sizes, why);
	if (r == 0)
		r = resize(object, &sizes);
	return r < 0 ? r : load_and_pin(object, f, f->maps, why);
}

/* -ENOENT: there are no maps; -ENODATA: an essential one is missing. */
static int adopt(const struct xdplb_folder *f, struct xdplb_loaded *ret, struct xdplb_why *why)
{
	const char *missing = xdplb__maps_unpinned(f->maps);
	struct xdp_object *object;
	int r = open_object(&object, why);

	if (r < 0)
		return r;
	r = adopt_into(object, f, why);
	xdp_object_free(object);
	if (r == 0 && missing)
		snprintf(ret->repaired, sizeof(ret->repaired), "%s", missing);
	ret->adopted = r == 0;
	return r;
}

/* ---- new maps ---- */

/*
 * Writes the part of lb_config that never changes. The seed is inherited together with the flow
 * table, because it decides in which bucket a flow is.
 */
static int write_config(const struct xdp_object *object, const struct xdplb_sizes *s,
			const struct xdplb_inherited *inherited)
{
	struct abi_config c = { 0 };
	struct xdp_map map;
	uint32_t zero = 0;
	int r = xdp_map(object, ABI_MAP_CONFIG, &map);

	if (inherited)
		c = inherited->config;
	else if (getrandom(c.seed, sizeof(c.seed), 0) != sizeof(c.seed))
		return -EIO;
	c.layout = ABI_LAYOUT;
	c.table_size = s->table_size;
	c.table_lines = s->table_lines;
	c.flow_mask = s->buckets - 1;
	c.vip_mask = s->cells - 1;
	c.vips = s->vips;
	c.servers = s->servers;
	c.clock_shift = ABI_CLOCK_SHIFT(xdplb__hz());
	return r < 0 ? r : xdp_map_write(&map, &zero, &c);
}

static int make_into(struct xdp_object *object, const struct xdplb_folder *f,
		     const struct xdplb_sizes *sizes, const struct xdplb_inherited *inherited,
		     struct xdplb_why *why)
{
	int r = 0;

	if (inherited && inherited->has_flows)
		r = xdp_object_share(object, ABI_MAP_FLOWS, &inherited->flows);
	if (r == 0)
		r = resize(object, sizes);
	if (r == 0)
		r = load_and_pin(object, f, f->next, why);
	if (r == 0) {
		r = write_config(object, sizes, inherited);
		if (r < 0)
			xdplb__explain(why, "cannot write the maps: %s", strerror(-r));
	}
	return r;
}

/* Removes what an interrupted load has left. It was never in use, and may be incomplete. */
static void unpin_next(const struct xdplb_folder *f)
{
	if (access(f->next, F_OK) == 0)
		xdp_unpin(f->next);
}

int xdplb__load_next(const struct xdplb_folder *f, const struct xdplb_sizes *sizes,
		     const struct xdplb_inherited *inherited, struct xdplb_why *why)
{
	struct xdp_object *object;
	int r = open_object(&object, why);

	if (r < 0)
		return r;
	unpin_next(f);
	r = make_into(object, f, sizes, inherited, why);
	xdp_object_free(object);
	if (r < 0)
		unpin_next(f);
	return r;
}

/* After a crash the name of the maps refers to the complete old set or to the complete new one. */
int xdplb__load_exchange(const struct xdplb_folder *f)
{
	if (renameat2(AT_FDCWD, f->next, AT_FDCWD, f->maps, RENAME_EXCHANGE) == 0)
		return xdp_unpin(f->next); /* the old ones */
	return rename(f->next, f->maps) < 0 ? -errno : 0;
}

int xdplb__load(const struct xdplb_folder *f, const struct xdplb_sizes *sizes,
		struct xdplb_loaded *ret, struct xdplb_why *why)
{
	int r;

	*ret = (struct xdplb_loaded){ 0 };
	unpin_next(f);
	ret->upgraded = xdplb__upgrade_from(f);
	r = ret->upgraded ? xdplb__upgrade(f, why) : adopt(f, ret, why);
	ret->adopted |= ret->upgraded && r == 0;
	if (r == -ENODATA) {
		ret->upgraded = 0;
		snprintf(ret->lost, sizeof(ret->lost), "%.100s", why->text);
		xdp_unpin(f->maps);
	}
	if (r != -ENOENT && r != -ENODATA)
		return r;
	r = xdplb__load_next(f, sizes, NULL, why);
	if (r == 0 && rename(f->next, f->maps) < 0) {
		r = -errno;
		xdplb__explain(why, "cannot rename %s: %s", f->next, strerror(-r));
	}
	return r;
}
