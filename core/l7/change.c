/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/change.h"

#include "base/cleanup.h"
#include "base/map.h"

size_t l7_names_listed(const struct l7_names *names)
{
	return names->n < L7_CHANGE_NAMES ? names->n : L7_CHANGE_NAMES;
}

static void add(struct l7_names *to, const char *name, struct arena *arena)
{
	if (!to->names)
		to->names = arena_array_of(arena, L7_CHANGE_NAMES, const char *);
	if (to->n < L7_CHANGE_NAMES)
		to->names[to->n] = arena_strdup(arena, name);
	to->n++;
}

static struct map by_name(struct l7_items list)
{
	struct map map = { 0 };

	for (size_t i = 0; i < list.n; i++)
		map_put(&map, list.items[i].name, (void *)(uintptr_t)&list.items[i]);
	return map;
}

struct l7_change l7_change_between(struct l7_items before, struct l7_items after,
				   struct arena *arena)
{
	_cleanup_(map_free) struct map old = by_name(before), new = by_name(after);
	const struct l7_item *last = NULL;
	struct l7_change c = { 0 };

	for (size_t i = 0; i < after.n; i++) {
		const struct l7_item *item = &after.items[i], *was = map_get(&old, item->name);

		if (!was) {
			add(&c.added, item->name, arena);
			continue;
		}
		if (was->digest != item->digest)
			add(&c.changed, item->name, arena);
		c.moved |= last && was < last;
		last = was;
	}
	for (size_t i = 0; i < before.n; i++)
		if (!map_get(&new, before.items[i].name))
			add(&c.removed, before.items[i].name, arena);
	return c;
}
