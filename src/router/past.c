/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/past.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/router/info.h"
#include "wire/router_json.h"

#define ENTRY_MAX ((size_t)4096) /* bytes of an entry that is shown */

/* ---- the list ---- */

static void count_changes(struct history *h, struct history_record *r, Maglev__RouterGeneration *to)
{
	const struct l7_change *change = history_change(h, r);

	to->compared = change && r->before;
	for (size_t i = 0; to->compared && i < ROUTER_ENTRIES; i++) {
		to->added += (uint32_t)change[i].added.n;
		to->removed += (uint32_t)change[i].removed.n;
		to->changed += (uint32_t)change[i].changed.n;
	}
}

static Maglev__RouterGeneration *generation(struct router *r, struct history_record *record,
					    struct arena *arena)
{
	const struct generation *current = router_current(r);
	const struct l7_config *c = &record->plan->config;
	Maglev__RouterGeneration *to =
		INFO_NEW(arena, Maglev__RouterGeneration, maglev__router_generation__init);

	to->number = record->number;
	to->at = record->at;
	to->source = info_text(history_source_name(record->source));
	to->listeners = (uint32_t)c->n_listeners;
	to->routes = (uint32_t)c->n_routes;
	to->pools = (uint32_t)c->n_pools;
	to->in_force = current && current->number == record->number;
	to->held = router_holds(r, record->number);
	to->peer = info_text(record->peer);
	to->operator_ = info_text(record->operator);
	to->of = record->of;
	count_changes(router_history(r), record, to);
	return to;
}

Maglev__ListGenerationsResponse *past_list(struct router *r, struct arena *arena)
{
	struct history *h = router_history(r);
	Maglev__ListGenerationsResponse *to = INFO_NEW(arena, Maglev__ListGenerationsResponse,
						       maglev__list_generations_response__init);

	to->n_generations = history_count(h);
	to->generations = arena_array_of(arena, to->n_generations, Maglev__RouterGeneration *);
	for (size_t i = 0; i < to->n_generations; i++)
		to->generations[i] = generation(r, history_at(h, i), arena);
	return to;
}

/* ---- a difference ---- */

/* The two sides of a difference. before: NULL if there was none. */
struct sides {
	const struct l7_config *before, *after;
	enum router_entry kind;
	Maglev__GenerationDiff *to;
	struct arena *arena;
};

/* The entry of that name as JSON; empty if there is none, or if it is too long. */
static char *entry(const struct sides *s, const struct l7_config *c, const char *name)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	size_t n = c ? router_json_entries(c, s->kind) : 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(router_json_entry_name(c, s->kind, i), name) != 0)
			continue;
		router_json_entry(c, s->kind, i, &out);
		return arena_strndup(s->arena, out.p, out.n <= ENTRY_MAX ? out.n : 0);
	}
	return info_text("");
}

static void add_names(const struct sides *s, const struct l7_names *names, const char *change)
{
	static const char *const kinds[ROUTER_ENTRIES] = { [ROUTER_LISTENERS] = "listener",
							   [ROUTER_ROUTES] = "route",
							   [ROUTER_STREAMS] = "stream",
							   [ROUTER_POOLS] = "pool",
							   [ROUTER_REST] = "other" };
	size_t n = l7_names_listed(names);

	s->to->left_out += (uint32_t)(names->n - n);
	for (size_t i = 0; i < n; i++) {
		Maglev__GenerationChange *one = INFO_NEW(s->arena, Maglev__GenerationChange,
							 maglev__generation_change__init);

		one->kind = info_text(kinds[s->kind]);
		one->name = arena_strdup(s->arena, names->names[i]);
		one->change = info_text(change);
		one->before = entry(s, s->before, one->name);
		one->after = entry(s, s->after, one->name);
		if (strcmp(one->after, "{}") != 0 || *one->before) /* keys that are not there */
			s->to->changes[s->to->n_changes++] = one;
	}
}

static size_t listed(const struct l7_change *c)
{
	return l7_names_listed(&c->added) + l7_names_listed(&c->removed) +
	       l7_names_listed(&c->changed);
}

static void add_changes(struct sides *s, const struct l7_change *changes)
{
	size_t n = 0;

	for (size_t i = 0; i < ROUTER_ENTRIES; i++)
		n += listed(&changes[i]);
	s->to->changes = arena_array_of(s->arena, n, Maglev__GenerationChange *);
	for (s->kind = 0; s->kind < ROUTER_ENTRIES; s->kind++) {
		add_names(s, &changes[s->kind].added, "added");
		add_names(s, &changes[s->kind].removed, "removed");
		add_names(s, &changes[s->kind].changed, "changed");
	}
}

Maglev__GenerationDiff *past_diff(struct router *r, uint64_t number, struct arena *arena, char *why,
				  size_t size)
{
	struct history *h = router_history(r);
	const struct generation *current = router_current(r);
	struct history_record *record, *before;
	const struct l7_change *changes;
	struct sides s = { .arena = arena };

	number = number || !current ? number : current->number;
	record = history_find(h, number);
	if (!record) {
		snprintf(why, size, "generation %" PRIu64 " is not known, or no longer", number);
		return NULL;
	}
	changes = history_change(h, record);
	if (!changes) {
		snprintf(why, size, "the generation before %" PRIu64 " is no longer known", number);
		return NULL;
	}
	before = history_find(h, record->before);
	s.before = before ? &before->plan->config : NULL;
	s.after = &record->plan->config;
	s.to = INFO_NEW(arena, Maglev__GenerationDiff, maglev__generation_diff__init);
	s.to->number = number;
	s.to->from = record->before;
	add_changes(&s, changes);
	return s.to;
}
