/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/xdp/table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

/* Slots written per step: less than a millisecond. */
#define SLOTS_OF_STEP 262144

/*
 * Takes the servers with a weight from the inventory, in the order of their addresses. The order
 * and the weights alone decide the table, so every balancer builds the same one.
 */
static void gather(struct xdplb_table *t)
{
	const struct xdplb_vip *v = &t->inventory->vips[t->vip];
	const struct xdplb_maps *maps = t->inventory->maps;

	t->members.n = t->ids.n = 0;
	for (size_t i = 0; i < v->servers.n; i++) {
		uint16_t id = v->servers.items[i];
		__u8 weight = maps->servers[id].weight & ABI_AS_WEIGHT;

		if (weight == 0)
			continue;
		vec_push(&t->members,
			 (struct maglev_member){ .address = xdplb__maps_server(maps, id),
						 .weight = weight <= MAGLEV_WEIGHT_MAX
								   ? weight
								   : MAGLEV_WEIGHT_MAX });
		vec_push(&t->ids, id);
	}
}

/*
 * Takes a free table of the maps. A VIP whose servers all have weight 0 needs none. If the table
 * cannot be mapped, it is free again at once: no packet has used it.
 */
static int take_table(struct xdplb_table *t)
{
	int r = t->members.n ? xdplb__inventory_table(t->inventory, &t->number) : 0;

	if (r < 0 || t->number == UINT32_MAX)
		return r;
	r = xdplb__maps_table(t->inventory->maps, t->number, &t->lines);
	if (r < 0)
		t->inventory->tables.rest[t->number] = 0;
	return r;
}

/* The members are a copy: the weights may change while the table is being built. */
int xdplb__table_begin(struct xdplb_table *t, struct xdplb_inventory *b, uint32_t vip)
{
	uint32_t size = b->maps->sizes.table_size;
	int r;

	assert(!t->inventory);
	t->inventory = b;
	t->vip = vip;
	t->number = UINT32_MAX;
	t->written = 0;
	gather(t);
	r = take_table(t);
	if (r < 0) {
		t->inventory = NULL;
		return r;
	}
	if (t->size != size)
		t->slots = mem_resize(t->slots, size, sizeof(*t->slots));
	t->size = size;
	if (t->members.n)
		t->work = maglev_begin(t->members.items, t->members.n, t->slots, size);
	return 0;
}

/* Writes the next slots. True when all are written. No packet uses the table yet. */
static bool write_slots(struct xdplb_table *t)
{
	struct abi_table_line *lines = t->lines.values;
	uint32_t end = t->written + SLOTS_OF_STEP < t->size ? t->written + SLOTS_OF_STEP : t->size;

	for (; t->written < end; t->written++) {
		uint16_t member = t->slots[t->written];

		lines[t->written / ABI_LINE_SLOTS].as[t->written % ABI_LINE_SLOTS] =
			member == MAGLEV_NONE ? 0 : t->ids.items[member];
	}
	return end == t->size;
}

/* Two phases: the slots are computed in memory, then written to the map. The switch comes last. */
bool xdplb__table_step(struct xdplb_table *t)
{
	assert(t->inventory);
	if (t->work) {
		if (!maglev_step(t->work))
			return false;
		maglev_end(t->work);
		t->work = NULL;
	}
	if (t->number != UINT32_MAX && !write_slots(t))
		return false;
	xdplb__inventory_switch(t->inventory, t->vip, t->number);
	xdp_window_close(&t->lines);
	t->inventory = NULL;
	return true;
}

void xdplb__table_stop(struct xdplb_table *t)
{
	maglev_end(t->work);
	t->work = NULL;
	if (t->inventory && t->number != UINT32_MAX)
		t->inventory->tables.rest[t->number] = 0;
	xdp_window_close(&t->lines);
	t->inventory = NULL;
}

void xdplb__table_free(struct xdplb_table *t)
{
	xdplb__table_stop(t);
	vec_free(&t->members);
	vec_free(&t->ids);
	free(t->slots);
	t->slots = NULL;
}
