/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps cannot be resized. When the configuration asks for other sizes, new maps are created
 * beside the old ones, filled under the same indexes, ids and generations, and each interface is
 * switched to a program over the new maps: a packet sees one set or the other. If the size of the
 * flow table does not change, both sets share it and flows continue; otherwise the new one starts
 * empty. The new pins are in a folder of their own until everything is done, and are then
 * exchanged with the old ones: a crash leaves a complete set in either case. load.h creates the
 * maps; they are filled and put in use here.
 */
#include "src/maglevd/dataplane/xdp/set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/log/log.h"
#include "src/maglevd/dataplane/xdp/load.h"

struct xdplb_set *xdplb__set_new(const struct xdplb_maps *maps, bool fresh)
{
	struct xdplb_set *s = mem_zalloc(sizeof(*s));

	s->maps = *maps;
	xdplb__inventory_open(&s->inventory, &s->maps, fresh);
	return s;
}

void xdplb__set_close(struct xdplb_set *s)
{
	if (!s)
		return;
	xdplb__inventory_close(&s->inventory);
	xdplb__maps_close(&s->maps);
	free(s);
}

/* ---- replacing a set ---- */

static void copy_events(const struct xdplb_maps *from, const struct xdplb_maps *to)
{
	for (uint32_t i = 0; i < ABI_EVENTS; i++)
		xdp_map_copy(&from->map[PLANE_EVENTS], i, &to->map[PLANE_EVENTS]);
}

int xdplb__remake_begin(struct xdplb_remake *r, struct xdplb_set *from,
			const struct xdplb_maps *maps)
{
	struct xdplb_set *s = xdplb__set_new(maps, true);
	int err = xdplb__inventory_import(&s->inventory, &from->inventory);

	assert(!r->set);
	if (err < 0) {
		xdplb__set_close(s);
		return err;
	}
	copy_events(&from->maps, &s->maps);
	r->from = from;
	r->set = s;
	r->vip = 0;
	r->same_size = s->maps.sizes.table_size == from->maps.sizes.table_size;
	return 0;
}

/*
 * Counters continue, so that what is exported never goes backwards. Packets that the old program
 * counts after this copy are not seen.
 */
static void copy_counters(const struct xdplb_remake *r)
{
	const struct xdplb_vip *v = &r->set->inventory.vips[r->vip];
	const struct xdplb_maps *from = &r->from->maps, *to = &r->set->maps;

	xdplb__maps_copy(from, PLANE_VIP_COUNTS, r->vip, to);
	for (size_t i = 0; i < v->servers.n; i++)
		xdplb__maps_copy(from, PLANE_AS_COUNTS, v->servers.items[i], to);
}

/*
 * Copies the table of the VIP under the same number. The new set is fresh and has at least as
 * many tables, so the number is free.
 */
static int copy_table(const struct xdplb_remake *r)
{
	const struct xdplb_maps *from = &r->from->maps, *to = &r->set->maps;
	uint32_t table = from->vips[r->vip].table;
	struct xdp_window source = { 0 }, target = { 0 };
	int err;

	if (!table || table > from->sizes.tables)
		return 0;
	err = xdplb__maps_table(from, table - 1, &source);
	if (err == 0)
		err = xdplb__maps_table(to, table - 1, &target);
	if (err == 0) {
		memcpy(target.values, source.values,
		       from->sizes.table_lines * sizeof(struct abi_table_line));
		to->vips[r->vip].table = table;
	}
	xdp_window_close(&source);
	xdp_window_close(&target);
	return err;
}

/* The next VIP that is used; false: there is none. */
static bool next_vip(struct xdplb_remake *r)
{
	const struct xdplb_inventory *b = &r->set->inventory;

	do {
		r->vip++;
	} while (r->vip < b->maps->sizes.vips && !b->vips[r->vip].used);
	return r->vip < b->maps->sizes.vips;
}

/*
 * A VIP whose table could not be copied or built is marked as changing: the next observe repairs
 * it. The inventory is read again at the end, because copy_table() bypasses it.
 */
enum xdplb_pace xdplb__remake_step(struct xdplb_remake *r)
{
	if (r->table->inventory) {
		xdplb__table_step(r->table);
		return PLANE_MORE;
	}
	if (!next_vip(r)) {
		xdplb__inventory_read(&r->set->inventory);
		return PLANE_DONE;
	}
	copy_counters(r);
	if ((r->same_size ? copy_table(r)
			  : xdplb__table_begin(r->table, &r->set->inventory, r->vip)) < 0)
		xdplb__inventory_set_changing(&r->set->inventory, r->vip, true);
	return PLANE_MORE;
}

struct xdplb_set *xdplb__remake_finish(struct xdplb_remake *r, const struct xdplb_folder *f,
				       struct xdplb_links *links)
{
	struct xdplb_set *set = r->set;
	int err;

	xdplb__links_switch(links, &set->maps);
	err = xdplb__load_exchange(f);
	if (err < 0)
		log_warn("xdp-repair", LOG_S("map", f->next), LOG_S("reason", strerror(-err)));
	xdplb__set_close(r->from);
	r->set = r->from = NULL;
	return set;
}

void xdplb__remake_stop(struct xdplb_remake *r)
{
	if (r->table && r->set)
		xdplb__table_stop(r->table);
	xdplb__set_close(r->set);
	r->set = r->from = NULL;
}
