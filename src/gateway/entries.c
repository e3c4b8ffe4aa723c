/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries: the entries of the router's document, in its order, and those that have changed since
 * they were taken last.
 *
 * An entry is one block of memory and never changes; another text is another entry. What was there
 * at the last gw_take() is remembered by two bits: whether the entry existed, and whether anything
 * but its servers has changed since.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "src/gateway/model.h"

struct gw__touched {
	char *name;
	bool existed, head; /* at the last gw_take(); more than the servers has changed */
};

static int compare(const struct gw_entry *e, const char *order, const char *name)
{
	int diff = strcmp(e->order, order);

	return diff ? diff : strcmp(e->name, name);
}

size_t gw_entry_position(const struct gw *g, enum gw_entry_kind kind, const char *order,
			 const char *name)
{
	const struct gw__entries *list = &g->entries[kind];

	return sorted_place(list->sorted.n, i, compare(list->sorted.items[i], order, name) < 0);
}

static char *put_text(char **at, const char *p, size_t n)
{
	char *start = *at;

	if (n)
		memcpy(start, p, n);
	start[n] = '\0';
	*at += n + 1;
	return start;
}

static struct gw_entry *entry_new(const struct gw_entry *from)
{
	size_t name = strlen(from->name), order = strlen(from->order);
	struct gw_entry *e =
		mem_alloc(sizeof(*e) + name + order + from->text.n + from->endpoints.n + 4);
	char *at = (char *)(e + 1);

	*e = *from;
	e->name = put_text(&at, from->name, name);
	e->order = put_text(&at, from->order, order);
	e->text.p = put_text(&at, from->text.p, from->text.n);
	e->endpoints.p = put_text(&at, from->endpoints.p, from->endpoints.n);
	return e;
}

/* Notes that an entry is about to change from what it was. */
static void touch(struct gw__entries *list, const char *name, bool existed, bool head)
{
	struct gw__touched *t = map_get(&list->touched_by_name, name);

	if (!t) {
		t = mem_zalloc(sizeof(*t));
		t->name = mem_strdup(name);
		t->existed = existed;
		vec_push(&list->touched, t);
		map_put(&list->touched_by_name, t->name, t);
	}
	t->head |= head;
}

static void remove_entry(struct gw *g, struct gw_entry *e)
{
	struct gw__entries *list = &g->entries[e->kind];
	size_t i = gw_entry_position(g, e->kind, e->order, e->name);

	vec_remove_at(&list->sorted, i);
	map_remove(&list->by_name, e->name);
	free(e);
}

void gw__put_entry(struct gw *g, const struct gw_entry *entry)
{
	struct gw__entries *list = &g->entries[entry->kind];
	struct gw_entry *old = map_get(&list->by_name, entry->name), *new;
	bool head =
		!old || !str_eq(old->text, entry->text) || strcmp(old->order, entry->order) != 0;
	size_t i;

	if (!head && str_eq(old->endpoints, entry->endpoints)) {
		old->maker = g->current;
		return;
	}
	touch(list, entry->name, old, head);
	new = entry_new(entry);
	new->maker = g->current;
	if (old)
		remove_entry(g, old);
	i = gw_entry_position(g, new->kind, new->order, new->name);
	vec_insert_at(&list->sorted, i);
	list->sorted.items[i] = new;
	map_put(&list->by_name, new->name, new);
}

void gw__drop_entry(struct gw *g, enum gw_entry_kind kind, const char *name)
{
	struct gw_entry *old = map_get(&g->entries[kind].by_name, name);

	if (!old || old->maker != g->current)
		return;
	touch(&g->entries[kind], name, true, true);
	remove_entry(g, old);
}

static void forget_touched(struct gw__entries *list)
{
	for (size_t i = 0; i < list->touched.n; i++) {
		free(list->touched.items[i]->name);
		free(list->touched.items[i]);
	}
	vec_free(&list->touched);
	map_free(&list->touched_by_name);
}

void gw__free_entries(struct gw *g)
{
	for (size_t k = 0; k < GW_ENTRY_KINDS; k++) {
		struct gw__entries *list = &g->entries[k];

		for (size_t i = 0; i < list->sorted.n; i++)
			free(list->sorted.items[i]);
		vec_free(&list->sorted);
		map_free(&list->by_name);
		forget_touched(list);
	}
}

/* ---- out ---- */

size_t gw_entries(const struct gw *g, enum gw_entry_kind kind)
{
	return g->entries[kind].sorted.n;
}

const struct gw_entry *gw_entry_at(const struct gw *g, enum gw_entry_kind kind, size_t i)
{
	return g->entries[kind].sorted.items[i];
}

const struct gw_entry *gw_entry_find(const struct gw *g, enum gw_entry_kind kind, const char *name)
{
	return map_get(&g->entries[kind].by_name, name);
}

/* The text of a pool has an empty list of servers, in whose place they are put. */
void gw_entry_json(const struct gw_entry *e, struct buf *out)
{
	static const char none[] = "\"upstreams\":[]";
	const char *at = e->endpoints.n ? strstr(e->text.p, none) : NULL;

	if (!at) {
		buf_add(out, e->text.p, e->text.n);
		return;
	}
	buf_add(out, e->text.p, (size_t)(at - e->text.p));
	buf_add(out, e->endpoints.p + 1, e->endpoints.n - 2);
	buf_adds(out, at + sizeof(none) - 1);
}

void gw_document(const struct gw *g, struct buf *out)
{
	static const char *const keys[] = { [GW_LISTENERS] = "{\"listeners\":[",
					    [GW_ROUTES] = "],\"routes\":[",
					    [GW_STREAMS] = "],\"streams\":[",
					    [GW_POOLS] = "],\"pools\":[" };

	for (size_t k = 0; k < GW_ENTRY_KINDS; k++) {
		buf_adds(out, keys[k]);
		for (size_t i = 0; i < g->entries[k].sorted.n; i++) {
			if (i)
				buf_addc(out, ',');
			gw_entry_json(g->entries[k].sorted.items[i], out);
		}
	}
	buf_add_lit(out, "]}");
}

static void tell(const struct gw *g, enum gw_entry_kind kind, const struct gw__touched *t,
		 void (*fn)(const struct gw_change *change, void *user), void *user)
{
	struct gw_change c = { .kind = kind, .name = t->name };

	c.entry = gw_entry_find(g, kind, t->name);
	c.only_endpoints = t->existed && !t->head;
	if (c.entry || t->existed)
		fn(&c, user);
}

void gw_take(struct gw *g, void (*fn)(const struct gw_change *change, void *user), void *user)
{
	static const enum gw_entry_kind order[] = { GW_POOLS, GW_LISTENERS, GW_ROUTES, GW_STREAMS };

	for (size_t k = 0; k < GW_ENTRY_KINDS; k++) {
		struct gw__entries *list = &g->entries[order[k]];

		for (size_t i = 0; i < list->touched.n; i++)
			tell(g, order[k], list->touched.items[i], fn, user);
		forget_touched(list);
	}
}

bool gw_has_changes(const struct gw *g)
{
	for (size_t k = 0; k < GW_ENTRY_KINDS; k++)
		if (g->entries[k].touched.n)
			return true;
	return false;
}
