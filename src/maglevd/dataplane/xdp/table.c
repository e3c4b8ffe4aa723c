/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/xdp/table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define SLOTS_OF_STEP 262144

/* Takes the servers with weight from the book. */
static void gather(struct plane_table *t)
{
	const struct plane_vip *v = &t->book->vips[t->vip];

	t->members.n = t->ids.n = 0;
	for (size_t i = 0; i < v->servers.n; i++) {
		const struct abi_as *s = &t->book->maps->servers[v->servers.items[i]];

		if (s->weight == 0)
			continue;
		vec_push(&t->members,
			 (struct maglev_member){ .address = plane__get_address(s->address),
						 .weight = s->weight <= MAGLEV_WEIGHT_MAX
								   ? s->weight
								   : MAGLEV_WEIGHT_MAX });
		vec_push(&t->ids, v->servers.items[i]);
	}
}

/* Takes a free table of the maps. A VIP whose servers all have weight 0 needs none. */
static int take_table(struct plane_table *t)
{
	int r = t->members.n ? plane__book_table(t->book, &t->number) : 0;

	if (r < 0 || t->number == UINT32_MAX)
		return r;
	r = plane__maps_table(t->book->maps, t->number, &t->lines);
	if (r < 0)
		t->book->tables.rest[t->number] = 0;
	return r;
}

int plane__table_begin(struct plane_table *t, struct plane_book *b, uint32_t vip)
{
	uint32_t size = b->maps->sizes.table_size;
	int r;

	assert(!t->book);
	t->book = b;
	t->vip = vip;
	t->number = UINT32_MAX;
	t->written = 0;
	gather(t);
	r = take_table(t);
	if (r < 0) {
		t->book = NULL;
		return r;
	}
	if (t->size != size)
		t->slots = mem_resize(t->slots, size, sizeof(*t->slots));
	t->size = size;
	if (t->members.n)
		t->work = maglev_begin(t->members.items, t->members.n, t->slots, size);
	return 0;
}

/* True when all slots are written. No packet uses the table yet. */
static bool write_slots(struct plane_table *t)
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

bool plane__table_step(struct plane_table *t)
{
	assert(t->book);
	if (t->work) {
		if (!maglev_step(t->work))
			return false;
		maglev_end(t->work);
		t->work = NULL;
	}
	if (t->number != UINT32_MAX && !write_slots(t))
		return false;
	plane__book_switch(t->book, t->vip, t->number);
	xdp_window_close(&t->lines);
	t->book = NULL;
	return true;
}

void plane__table_stop(struct plane_table *t)
{
	maglev_end(t->work);
	t->work = NULL;
	if (t->book && t->number != UINT32_MAX)
		t->book->tables.rest[t->number] = 0;
	xdp_window_close(&t->lines);
	t->book = NULL;
}

void plane__table_free(struct plane_table *t)
{
	plane__table_stop(t);
	vec_free(&t->members);
	vec_free(&t->ids);
	free(t->slots);
	t->slots = NULL;
}
