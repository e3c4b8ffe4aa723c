/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dirty.h"

#include <stdlib.h>

#include "base/mem.h"

void dirty_build(struct dirty *d, const struct l4_config *c)
{
	plan_order_build(&d->order, c);
	free(d->marks);
	d->marks = mem_zalloc(c->n_frontends + 1);
	d->first = d->order.n;
}

void dirty_clear(struct dirty *d)
{
	for (size_t i = 0; i < d->order.n; i++)
		d->marks[d->order.frontends[i]] = DIRTY_NOT;
	d->first = d->order.n;
}

void dirty_free(struct dirty *d)
{
	plan_order_free(&d->order);
	free(d->marks);
	*d = (struct dirty){ 0 };
}

static bool waits(uint8_t mark)
{
	return mark == DIRTY_WAITING || mark == DIRTY_AGAIN;
}

static void set_mark(struct dirty *d, size_t frontend, enum dirty_mark mark)
{
	size_t position = d->order.positions[frontend];

	if (position == SIZE_MAX)
		return;
	d->marks[frontend] = (uint8_t)mark;
	if (waits(d->marks[frontend]) && position < d->first)
		d->first = position;
}

void dirty_mark(struct dirty *d, size_t frontend, enum dirty_mark mark)
{
	if (mark == DIRTY_WAITING || !waits(d->marks[frontend]))
		set_mark(d, frontend, mark);
}

bool dirty_take(struct dirty *d, size_t frontend)
{
	uint8_t was = d->marks[frontend];

	set_mark(d, frontend, DIRTY_NOT);
	return was == DIRTY_FAILED || was == DIRTY_AGAIN;
}

void dirty_mark_all(struct dirty *d)
{
	for (size_t i = 0; i < d->order.n; i++)
		dirty_mark(d, d->order.frontends[i], DIRTY_WAITING);
}

void dirty_retry(struct dirty *d)
{
	for (size_t i = 0; i < d->order.n; i++)
		if (d->marks[d->order.frontends[i]] == DIRTY_FAILED)
			set_mark(d, d->order.frontends[i], DIRTY_AGAIN);
}

/* Moves first to the first position that waits, released or not. */
static void skip_clean(struct dirty *d)
{
	while (d->first < d->order.n && !waits(d->marks[d->order.frontends[d->first]]))
		d->first++;
}

size_t dirty_first(struct dirty *d, const struct l4_model *m)
{
	skip_clean(d);
	for (size_t i = d->first; i < d->order.n; i++) {
		size_t frontend = d->order.frontends[i];

		if (waits(d->marks[frontend]) && m->frontends[frontend].released)
			return frontend;
	}
	return SIZE_MAX;
}

bool dirty_none(const struct dirty *d)
{
	for (size_t i = d->first; i < d->order.n; i++)
		if (waits(d->marks[d->order.frontends[i]]))
			return false;
	return true;
}
