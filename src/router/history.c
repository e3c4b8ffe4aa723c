/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: one record more than is shown is kept, because the oldest one that is shown is compared
 * with it. Entries are compared by a digest of their text (router_json_entry()).
 */
#include "src/router/history.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l7/hash.h"
#include "lib/loop/loop.h"

#define KEPT (HISTORY_MAX + 1)

struct history {
	struct history_record records[KEPT]; /* oldest first */
	size_t n;
};

struct history *history_new(void)
{
	return mem_zalloc(sizeof(struct history));
}

static void forget(struct history_record *r)
{
	plan_release(r->plan);
	arena_free(r->arena);
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n; i++)
		forget(&h->records[i]);
	free(h);
}

struct history_record *history_add(struct history *h, uint64_t number, struct plan *plan,
				   const struct history_origin *origin)
{
	struct history_record *r;

	if (h->n == KEPT) {
		forget(&h->records[0]);
		memmove(h->records, h->records + 1, --h->n * sizeof(*h->records));
	}
	r = &h->records[h->n++];
	*r = (struct history_record){ .number = number,
				      .pool = SIZE_MAX,
				      .at = loop_realtime(),
				      .source = origin->source,
				      .plan = plan_hold(plan),
				      .arena = arena_new() };
	snprintf(r->peer, sizeof(r->peer), "%s", origin->peer);
	snprintf(r->operator, sizeof(r->operator), "%s", origin->who ? origin->who->name : "");
	return r;
}

size_t history_count(const struct history *h)
{
	return h->n < HISTORY_MAX ? h->n : HISTORY_MAX;
}

struct history_record *history_at(struct history *h, size_t i)
{
	assert(i < history_count(h));
	return &h->records[h->n - 1 - i];
}

static struct history_record *find(struct history *h, uint64_t number, size_t among)
{
	for (size_t i = h->n - among; i < h->n; i++)
		if (h->records[i].number == number)
			return &h->records[i];
	return NULL;
}

struct history_record *history_find(struct history *h, uint64_t number)
{
	return find(h, number, history_count(h));
}

const struct history_record *history_before(struct history *h, const struct history_record *r)
{
	return find(h, r->before, h->n);
}

const char *history_source_name(enum history_source source)
{
	static const char *const names[HISTORY_SOURCES] = {
		[HISTORY_FILE] = "file",	 [HISTORY_API] = "api",
		[HISTORY_ROLLBACK] = "rollback", [HISTORY_ENDPOINTS] = "endpoints",
		[HISTORY_ROLLOUT] = "rollout",	 [HISTORY_UPGRADE] = "upgrade"
	};

	return names[source];
}

/* ---- changes ---- */

static uint64_t digest(const struct buf *text)
{
	uint64_t hash = l7_hash_start(0);

	for (size_t i = 0; i < text->n; i++)
		hash = l7_hash_add(hash, text->p[i]);
	return l7_hash_end(hash);
}

static struct l7_items items_of(const struct l7_config *c, enum router_entry kind,
				struct arena *arena)
{
	size_t n = router_json_entries(c, kind);
	struct l7_item *items = arena_array_of(arena, n, struct l7_item);
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t i = 0; i < n; i++) {
		text.n = 0;
		router_json_entry(c, kind, i, &text);
		items[i] = (struct l7_item){ router_json_entry_name(c, kind, i), digest(&text) };
	}
	return (struct l7_items){ items, n };
}

static const struct l7_items *list(struct history_record *r)
{
	if (r->items)
		return r->items;
	r->items = arena_array_of(r->arena, ROUTER_ENTRIES, struct l7_items);
	for (unsigned kind = 0; kind < ROUTER_ENTRIES; kind++)
		r->items[kind] = items_of(&r->plan->config, kind, r->arena);
	return r->items;
}

static void name_pool(struct history_record *r)
{
	const char **names = arena_array_of(r->arena, 1, const char *);

	names[0] = r->plan->config.pools[r->pool].name;
	r->change[ROUTER_POOLS].changed = (struct l7_names){ names, 1 };
}

const struct l7_change *history_change(struct history *h, struct history_record *r)
{
	static const struct l7_items none[ROUTER_ENTRIES];
	struct history_record *before = find(h, r->before, h->n);
	const struct l7_items *old;

	if (r->change)
		return r->change;
	if (r->before && !before && r->pool == SIZE_MAX)
		return NULL;
	r->change = arena_array_of(r->arena, ROUTER_ENTRIES, struct l7_change);
	if (r->pool != SIZE_MAX) {
		name_pool(r);
		return r->change;
	}
	old = before ? list(before) : none;
	for (unsigned kind = 0; kind < ROUTER_ENTRIES; kind++)
		r->change[kind] = l7_change_between(old[kind], list(r)[kind], r->arena);
	return r->change;
}
