/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/listing.h"

#include <assert.h>

#include "lib/pb/pb.h"
#include "src/frontend/members.h"

#define SLACK_MAX ((size_t)4096) /* memory of a kept text beyond a multiple of its size */

const char *listing_name(const ProtobufCMessage *message)
{
	const ProtobufCFieldDescriptor *first = &message->descriptor->fields[0];

	assert(first->type == PROTOBUF_C_TYPE_STRING && first->id == 1);
	return *(char *const *)((const char *)message + first->offset);
}

static struct str text_of(const struct buf *b)
{
	return (struct str){ b->p, b->n };
}

/* Call before each item of an array that starts at start in out. */
static void add_separator(struct buf *out, size_t start)
{
	buf_addc(out, out->n == start ? '[' : ',');
}

/* An array without items has not been opened yet. */
static void end_array(struct buf *out, size_t start)
{
	if (out->n == start)
		buf_addc(out, '[');
	buf_addc(out, ']');
}

/*
 * Appends an object with the name, which is the first member of both, and the members that
 * differ. Browsers merge it into what they have (RFC 7396), so null removes a member.
 */
static void add_difference(struct buf *out, struct str before, struct str after)
{
	struct members old, new;

	members_split(&old, before);
	members_split(&new, after);
	assert(old.n && new.n &&str_eq(old.items[0].value, new.items[0].value));
	buf_addc(out, '{');
	members_add(out, new.items[0].key, new.items[0].value);
	for (size_t i = 1; i < new.n; i++) {
		const struct member *same = members_find(&old, new.items[i].key);

		if (!same || !str_eq(same->value, new.items[i].value))
			members_add(out, new.items[i].key, new.items[i].value);
	}
	for (size_t i = 1; i < old.n; i++)
		if (!members_find(&new, old.items[i].key))
			members_add(out, old.items[i].key, STR("null"));
	buf_addc(out, '}');
}

static void free_item(struct listing_item *item)
{
	free(item->name);
	buf_free(&item->json);
}

static void drop_fresh(struct listing *l)
{
	for (size_t i = 0; i < l->fresh.n; i++)
		free_item(&l->fresh.items[i]);
	vec_free(&l->fresh);
}

/* ---- while a list is read ---- */

void listing_begin(struct listing *l)
{
	listing_stop(l);
	l->at = 0;
}

void listing_stop(struct listing *l)
{
	l->doubted |= l->changes.n > 0;
	buf_free(&l->changes);
	drop_fresh(l);
}

/*
 * Exchanges the spare text and the kept one, whose memory is used for the next text. Memory of a
 * text that was far longer is not kept with a short one: it is not counted anywhere.
 */
static void swap_spare(struct listing *l, struct buf *kept)
{
	struct buf old = *kept, exact = { 0 };

	*kept = l->spare;
	l->spare = old;
	if (kept->cap <= SLACK_MAX + 4 * kept->n)
		return;
	buf_add(&exact, kept->p, kept->n);
	buf_free(kept);
	*kept = exact;
}

/*
 * Puts the spare text in the place of the kept one and appends the difference to out. False if
 * they are equal.
 */
static bool replace_by_spare(struct listing *l, struct buf *kept, struct buf *out)
{
	if (str_eq(text_of(&l->spare), text_of(kept)))
		return false;
	add_separator(out, 0);
	add_difference(out, text_of(kept), text_of(&l->spare));
	swap_spare(l, kept);
	return true;
}

/* Returns the bytes of the new text. */
static size_t change(struct listing *l, struct buf *kept, const ProtobufCMessage *item)
{
	size_t n;

	l->spare.n = 0;
	pb_json_write(item, PB_JSON_SHOWN, &l->spare);
	n = l->spare.n;
	replace_by_spare(l, kept, &l->changes);
	return n;
}

/*
 * As long as names match, items are compared in place. After the first mismatch the list will be
 * sent whole, so the rest is only collected.
 */
size_t listing_put(struct listing *l, const ProtobufCMessage *item)
{
	const char *name = listing_name(item);
	struct listing_item fresh = { 0 };

	if (!l->fresh.n && l->at < l->items.n && strcmp(l->items.items[l->at].name, name) == 0)
		return change(l, &l->items.items[l->at++].json, item);
	fresh.name = mem_strdup(name);
	pb_json_write(item, PB_JSON_SHOWN, &fresh.json);
	vec_push(&l->fresh, fresh);
	return fresh.json.n;
}

/* ---- at the end of a list ---- */

/*
 * Replaces the items after the matching ones by the fresh ones. True if names or their order
 * have changed.
 */
static bool adopt_fresh(struct listing *l)
{
	if (l->at == l->items.n && !l->fresh.n)
		return false;
	while (l->items.n > l->at)
		free_item(&l->items.items[--l->items.n]);
	for (size_t i = 0; i < l->fresh.n; i++)
		vec_push(&l->items, l->fresh.items[i]);
	vec_free(&l->fresh); /* the items were moved, not copied */
	return true;
}

enum listing_change listing_end(struct listing *l, struct buf *out)
{
	bool all = adopt_fresh(l) || l->doubted;
	bool some = l->changes.n > 0;

	if (all) {
		listing_write(l, out);
	} else if (some) {
		buf_add(out, l->changes.p, l->changes.n);
		buf_addc(out, ']');
	}
	l->doubted = false;
	l->grown = 0;
	buf_free(&l->changes);
	buf_free(&l->spare);
	if (all)
		return LISTING_ALL;
	return some ? LISTING_SOME : LISTING_SAME;
}

/* ---- one item ---- */

/* Binary search: lists are sorted by name. NULL if there is no such item. */
static struct listing_item *find(struct listing *l, const char *name)
{
	size_t from = 0, to = l->items.n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(name, l->items.items[middle].name);

		if (order == 0)
			return &l->items.items[middle];
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/*
 * Replaces the members that are in fields. This happens with every probe, so the difference is
 * written while merging instead of comparing two whole texts. Members that the item does not
 * have are ignored.
 */
static bool merge(struct listing *l, struct buf *kept, struct str fields, struct buf *out)
{
	size_t start = out->n, changed = 0;
	struct members old, new;

	members_split(&old, text_of(kept));
	members_split(&new, fields);
	add_separator(out, 0);
	buf_addc(out, '{');
	members_add(out, old.items[0].key, old.items[0].value);
	buf_addc(&l->spare, '{');
	for (size_t i = 0; i < old.n; i++) {
		const struct member *fresh = members_find(&new, old.items[i].key);
		bool differs = fresh && !str_eq(fresh->value, old.items[i].value);

		members_add(&l->spare, old.items[i].key, (fresh ? fresh : &old.items[i])->value);
		changed += differs;
		if (differs)
			members_add(out, fresh->key, fresh->value);
	}
	buf_addc(&l->spare, '}');
	buf_addc(out, '}');
	if (!changed) {
		out->n = start;
		return false;
	}
	swap_spare(l, kept);
	return true;
}

static bool apply(struct listing *l, struct buf *kept, const struct listing_update *update,
		  struct buf *out)
{
	l->spare.n = 0;
	if (!update->whole)
		return merge(l, kept, update->json, out);
	buf_add(&l->spare, update->json.p, update->json.n);
	return replace_by_spare(l, kept, out);
}

bool listing_apply(struct listing *l, const struct listing_update *update, struct buf *out)
{
	struct listing_item *item = find(l, update->name);
	size_t before;
	bool changed;

	if (!item)
		return false;
	before = item->json.n;
	changed = apply(l, &item->json, update, out);
	if (item->json.n > before)
		l->grown += item->json.n - before;
	return changed;
}

void listing_doubt(struct listing *l)
{
	l->doubted = true;
}

void listing_write(const struct listing *l, struct buf *out)
{
	size_t start = out->n;

	for (size_t i = 0; i < l->items.n; i++) {
		add_separator(out, start);
		buf_add(out, l->items.items[i].json.p, l->items.items[i].json.n);
	}
	end_array(out, start);
}

void listing_free(struct listing *l)
{
	drop_fresh(l);
	for (size_t i = 0; i < l->items.n; i++)
		free_item(&l->items.items[i]);
	vec_free(&l->items);
	buf_free(&l->changes);
	buf_free(&l->spare);
}
