/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two structs are compared row by row along the tables of the schema (schema.h), and only the
 * differences become text. Named entries are sorted in both configurations, so one walk over two
 * lists finds added, removed and kept entries. Only pools, which keep the order of the file, are
 * looked up in a map.
 */
#include "core/l4/changes.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "core/l4/schema.h"

/* The lines so far; more counts those past L4_CHANGES_MAX. */
struct list {
	struct arena *arena;
	struct buf prefix; /* what is being compared: "backend web1: " */
	const char **lines;
	size_t n, more;
};

/* A note after the change of one value, which is identified by its offset in the struct. */
struct remark {
	size_t at;
	const char *text;
};

/* ---- lines ---- */

/*
 * Lines past the bound are only counted. Callers ask before they format a line, so that a file in
 * which everything changed does not cost the text of all lines.
 */
static bool is_full(struct list *list)
{
	if (list->n < L4_CHANGES_MAX)
		return false;
	list->more++;
	return true;
}

static void add(struct list *list, struct str text)
{
	struct buf *prefix = &list->prefix;

	list->lines[list->n++] = arena_printf(list->arena, "%.*s%.*s", (int)prefix->n,
					      prefix->p ? prefix->p : "", (int)text.n, text.p);
}

/*
 * Adds "backend web1: " to the prefix of all lines until leave(), which gets the returned length.
 */
static size_t enter(struct list *list, const char *what, const char *name)
{
	size_t outer = list->prefix.n;

	buf_adds(&list->prefix, what);
	buf_addc(&list->prefix, ' ');
	buf_adds(&list->prefix, name);
	buf_add_lit(&list->prefix, ": ");
	return outer;
}

static void leave(struct list *list, size_t outer)
{
	list->prefix.n = outer;
}

/*
 * The two structs that are compared, and the keys that lead to the current section, as shown
 * ("lb."). Within a named entry only the last key is shown.
 */
struct comparison {
	struct list *list;
	const void *old, *new;
	const struct remark *remark;
	struct buf keys;
};

/* One line "key old -> new", with the remark if it is about this value. */
static void add_difference(struct comparison *c, const struct schema_field *f)
{
	struct list *list = c->list;
	struct buf text = { 0 };

	if (is_full(list))
		return;
	buf_add(&text, c->keys.p, c->keys.n);
	buf_printf(&text, "%s%s", f->key, list->prefix.n ? " " : ": ");
	f->kind->print(f->kind, (const char *)c->old + f->at, &text);
	buf_adds(&text, " -> ");
	f->kind->print(f->kind, (const char *)c->new + f->at, &text);
	if (c->remark && c->remark->at == f->at)
		buf_adds(&text, c->remark->text);
	add(list, (struct str){ text.p, text.n });
	buf_free(&text);
}

static void compare_fields(struct comparison *c, const struct schema_section *s)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		size_t outer = c->keys.n;

		if (f->shape == SCHEMA_SECTION) {
			if (!c->list->prefix.n)
				buf_printf(&c->keys, "%s.", f->key);
			compare_fields(c, f->section);
			c->keys.n = outer;
		} else if (f->kind && !schema_field_equal(f, c->old, c->new)) {
			add_difference(c, f);
		}
	}
}

static void compare(struct list *list, const struct schema_section *s, const void *old,
		    const void *new, const struct remark *remark)
{
	struct comparison c = { .list = list, .old = old, .new = new, .remark = remark };

	compare_fields(&c, s);
	buf_free(&c.keys);
}

/* ---- two sorted lists of named entries ---- */

static void add_about(struct list *list, const char *what, const char *name, struct str text)
{
	size_t outer;

	if (is_full(list))
		return;
	outer = enter(list, what, name);
	add(list, text);
	leave(list, outer);
}

/*
 * One step of the walk: below 0, old was removed; above 0, new was added; 0, both have the
 * same name. Either may be NULL (past its end), but not both. Added and removed entries get
 * their line here.
 */
static int pair(struct list *list, const char *what, const char *old, const char *new)
{
	int order = 0;

	assert(old || new);
	if (old && new)
		order = strcmp(old, new);
	if (old && (!new || order < 0)) {
		add_about(list, what, old, STR("removed"));
		return -1;
	}
	if (new && (!old || order > 0)) {
		add_about(list, what, new, STR("added"));
		return 1;
	}
	return 0;
}

/* The name of entry i; NULL past the end. */
#define NAME_AT(array, i, n) ((i) < (n) ? (array)[i].name : NULL)

static void compare_checks(struct list *list, const struct l4_config *old,
			   const struct l4_config *new)
{
	size_t o = 0, n = 0;

	while (o < old->n_checks || n < new->n_checks) {
		int order = pair(list, "healthcheck", NAME_AT(old->checks, o, old->n_checks),
				 NAME_AT(new->checks, n, new->n_checks));

		if (order == 0) {
			size_t outer = enter(list, "healthcheck", old->checks[o].name);

			compare(list, &l4_schema_check, &old->checks[o], &new->checks[n], NULL);
			leave(list, outer);
		}
		o += order <= 0;
		n += order >= 0;
	}
}

/* The remark tells that an enable or disable at run time outlives the reload. */
static void compare_backend(struct list *list, const struct l4_backend_state *state,
			    const struct l4_backend *was, const struct l4_backend *is)
{
	static const char *const remarks[] = {
		[L4_ENABLE_CONFIGURED] = "",
		[L4_ENABLE_FORCED_ON] = " (enabled at run time, which stays)",
		[L4_ENABLE_FORCED_OFF] = " (disabled at run time, which stays)",
	};
	const struct remark remark = { offsetof(struct l4_backend, enabled),
				       remarks[state->enable] };
	size_t outer = enter(list, "backend", is->name);

	compare(list, &l4_schema_backend, was, is, &remark);
	leave(list, outer);
}

static void compare_backends(struct list *list, const struct l4_model *m,
			     const struct l4_config *new)
{
	const struct l4_config *old = m->config;
	size_t o = 0, n = 0;

	while (o < old->n_backends || n < new->n_backends) {
		int order = pair(list, "backend", NAME_AT(old->backends, o, old->n_backends),
				 NAME_AT(new->backends, n, new->n_backends));

		if (order == 0)
			compare_backend(list, m->backends[o], &old->backends[o], &new->backends[n]);
		o += order <= 0;
		n += order >= 0;
	}
}

/* ---- frontends ---- */

/* A frontend that is in both configurations; weights are those in force. */
struct frontends {
	const struct l4_config *old, *new;
	const struct l4_frontend *was, *is;
	struct l4_weight *const *weights;
};

static void compare_weight(struct list *list, const struct l4_weight *weight,
			   const struct l4_member *was, const struct l4_member *is)
{
	char text[64] = "";
	const struct remark remark = { offsetof(struct l4_member, weight), text };

	if (weight->mutated && weight->value != is->weight)
		snprintf(text, sizeof(text), " (set to %u at run time, which stays)",
			 weight->value);
	compare(list, &l4_schema_member, was, is, &remark);
}

static const char *member_name(const struct l4_config *c, const struct l4_pool *p, size_t i)
{
	return i < p->n_members ? c->backends[p->members[i].backend].name : NULL;
}

static void compare_pool(struct list *list, const struct frontends *f, size_t old, size_t new)
{
	const struct l4_pool *was = &f->was->pools[old], *is = &f->is->pools[new];
	size_t outer = enter(list, "pool", is->name), o = 0, n = 0;

	compare(list, &l4_schema_pool, was, is, NULL);
	while (o < was->n_members || n < is->n_members) {
		int order = pair(list, "backend", member_name(f->old, was, o),
				 member_name(f->new, is, n));

		if (order == 0) {
			size_t pool = enter(list, "backend", member_name(f->old, was, o));

			compare_weight(list, &f->weights[old][o], &was->members[o],
				       &is->members[n]);
			leave(list, pool);
		}
		o += order <= 0;
		n += order >= 0;
	}
	leave(list, outer);
}

/* The pools of f by name; the values point into f. */
static struct map map_pools(const struct l4_frontend *f)
{
	struct map by_name = { 0 };

	for (size_t i = 0; i < f->n_pools; i++)
		map_put(&by_name, f->pools[i].name, (void *)(uintptr_t)&f->pools[i]);
	return by_name;
}

static void add_names(struct buf *out, const struct l4_frontend *f)
{
	for (size_t i = 0; i < f->n_pools; i++)
		buf_printf(out, "%s%s", i ? ", " : "", f->pools[i].name);
}

static void add_order(struct list *list, const struct frontends *f)
{
	struct buf text = { 0 };

	if (is_full(list))
		return;
	buf_adds(&text, "order of pools ");
	add_names(&text, f->was);
	buf_adds(&text, " -> ");
	add_names(&text, f->is);
	add(list, (struct str){ text.p, text.n });
	buf_free(&text);
}

static void tell_removed_pools(struct list *list, const struct frontends *f)
{
	_cleanup_(map_free) struct map now = map_pools(f->is);

	for (size_t o = 0; o < f->was->n_pools; o++)
		if (!map_get(&now, f->was->pools[o].name))
			add_about(list, "pool", f->was->pools[o].name, STR("removed"));
}

/* Whether names and order are unchanged. That is the usual case and needs no map. */
static bool same_pools(const struct frontends *f)
{
	if (f->was->n_pools != f->is->n_pools)
		return false;
	for (size_t i = 0; i < f->is->n_pools; i++)
		if (strcmp(f->was->pools[i].name, f->is->pools[i].name) != 0)
			return false;
	return true;
}

/* The order is reported if some kept pool comes before one that it used to follow. */
static void compare_other_pools(struct list *list, const struct frontends *f)
{
	_cleanup_(map_free) struct map before = map_pools(f->was);
	const struct l4_pool *last = f->was->pools;
	bool moved = false;

	tell_removed_pools(list, f);
	for (size_t n = 0; n < f->is->n_pools; n++) {
		const struct l4_pool *was = map_get(&before, f->is->pools[n].name);

		if (!was) {
			add_about(list, "pool", f->is->pools[n].name, STR("added"));
			continue;
		}
		moved |= was < last;
		last = was;
		compare_pool(list, f, (size_t)(was - f->was->pools), n);
	}
	if (moved)
		add_order(list, f);
}

static void compare_pools(struct list *list, const struct frontends *f)
{
	if (!same_pools(f)) {
		compare_other_pools(list, f);
		return;
	}
	for (size_t i = 0; i < f->is->n_pools; i++)
		compare_pool(list, f, i, i);
}

static void compare_frontends(struct list *list, const struct l4_model *m,
			      const struct l4_config *new)
{
	const struct l4_config *old = m->config;
	size_t o = 0, n = 0;

	while (o < old->n_frontends || n < new->n_frontends) {
		int order = pair(list, "frontend", NAME_AT(old->frontends, o, old->n_frontends),
				 NAME_AT(new->frontends, n, new->n_frontends));

		if (order == 0) {
			struct frontends f = { old, new, &old->frontends[o], &new->frontends[n],
					       m->frontends[o].weights };
			size_t outer = enter(list, "frontend", f.is->name);

			compare(list, &l4_schema_frontend, f.was, f.is, NULL);
			compare_pools(list, &f);
			leave(list, outer);
		}
		o += order <= 0;
		n += order >= 0;
	}
}

struct l4_changes l4_changes(const struct l4_model *running, const struct l4_config *next,
			     struct arena *arena)
{
	struct list list = { .arena = arena };

	assert(running && next && arena);
	list.lines = arena_array_of(arena, L4_CHANGES_MAX + 1, const char *);
	compare(&list, &l4_schema_maglev, running->config, next, NULL);
	compare_checks(&list, running->config, next);
	compare_backends(&list, running, next);
	compare_frontends(&list, running, next);
	if (list.more)
		list.lines[list.n++] = arena_printf(arena, "and %zu more", list.more);
	buf_free(&list.prefix);
	return (struct l4_changes){ list.lines, list.n };
}
