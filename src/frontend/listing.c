/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two texts of an item are compared member by member. They are our own, compact and well-formed,
 * with their members in the order of the message's fields: to find where each ends is enough.
 */
#include "src/frontend/listing.h"

#include <assert.h>

#include "lib/pb/pb.h"

#define MEMBERS_MAX 64

/* ---- one item ---- */

/* Of an object: what stands left and right of the colon. */
struct member {
	struct str key, value;
};

static size_t string_end(struct str s, size_t at)
{
	for (at++; s.p[at] != '"'; at++)
		at += s.p[at] == '\\';
	return at + 1;
}

/* The place of the comma or bracket behind the value that begins here. */
static size_t value_end(struct str s, size_t at)
{
	for (size_t depth = 0; depth || (s.p[at] != ',' && s.p[at] != '}');) {
		if (s.p[at] == '"') {
			at = string_end(s, at);
			continue;
		}
		depth += s.p[at] == '{' || s.p[at] == '[';
		depth -= s.p[at] == '}' || s.p[at] == ']';
		at++;
	}
	return at;
}

static size_t split(struct str object, struct member *ret)
{
	size_t n = 0, at = 1;

	while (at < object.n && object.p[at] == '"') {
		size_t colon = string_end(object, at), end = value_end(object, colon + 1);

		assert(n < MEMBERS_MAX);
		ret[n++] = (struct member){ { object.p + at, colon - at },
					    { object.p + colon + 1, end - colon - 1 } };
		at = end + 1;
	}
	return n;
}

static const struct member *find(const struct member *all, size_t n, struct str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(all[i].key, key))
			return &all[i];
	return NULL;
}

static void add_member(struct buf *out, struct str key, struct str value)
{
	buf_addc(out, ',');
	buf_add(out, key.p, key.n);
	buf_addc(out, ':');
	buf_add(out, value.p, value.n);
}

/* The name, which is the first member of both, and what is not as it was. */
static void add_difference(struct buf *out, struct str before, struct str after)
{
	struct member old[MEMBERS_MAX], new[MEMBERS_MAX];
	size_t n_old = split(before, old), n_new = split(after, new);

	assert(n_new && str_eq(old[0].value, new[0].value));
	buf_printf(out, "{%.*s:%.*s", (int)new[0].key.n, new[0].key.p, (int)new[0].value.n,
		   new[0].value.p);
	for (size_t i = 1; i < n_new; i++) {
		const struct member *same = find(old, n_old, new[i].key);

		if (!same || !str_eq(same->value, new[i].value))
			add_member(out, new[i].key, new[i].value);
	}
	for (size_t i = 1; i < n_old; i++)
		if (!find(new, n_new, old[i].key))
			add_member(out, old[i].key, str_of("null"));
	buf_addc(out, '}');
}

/* ---- the list ---- */

static const char *name_of(const ProtobufCMessage *message)
{
	const ProtobufCFieldDescriptor *first = &message->descriptor->fields[0];

	assert(first->type == PROTOBUF_C_TYPE_STRING && strcmp(first->name, "name") == 0);
	return *(char *const *)((const char *)message + first->offset);
}

static bool has_same_names(const struct listing *l, ProtobufCMessage *const *items, size_t n)
{
	if (l->items.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(l->items.items[i].name, name_of(items[i])) != 0)
			return false;
	return true;
}

static struct str text_of(const struct buf *b)
{
	return (struct str){ b->p, b->n };
}

/* Before each item of an array that began at start. */
static void add_separator(struct buf *out, size_t start)
{
	buf_addc(out, out->n == start ? '[' : ',');
}

static void end_array(struct buf *out, size_t start)
{
	if (out->n == start)
		buf_addc(out, '[');
	buf_addc(out, ']');
}

static enum listing_change take_some(struct listing *l, ProtobufCMessage *const *items,
				     struct buf *out)
{
	size_t start = out->n;
	struct buf json = { 0 };

	for (size_t i = 0; i < l->items.n; i++) {
		struct buf *kept = &l->items.items[i].json, old = *kept;

		json.n = 0;
		pb_json_write(items[i], PB_JSON_COMPACT, &json);
		if (str_eq(text_of(&json), text_of(kept)))
			continue;
		add_separator(out, start);
		add_difference(out, text_of(kept), text_of(&json));
		*kept = json;
		json = old; /* its memory serves the next one */
	}
	buf_free(&json);
	if (out->n == start)
		return LISTING_SAME;
	end_array(out, start);
	return LISTING_SOME;
}

static enum listing_change take_all(struct listing *l, ProtobufCMessage *const *items, size_t n,
				    struct buf *out)
{
	listing_free(l);
	l->doubted = false;
	for (size_t i = 0; i < n; i++) {
		struct listing_item item = { .name = mem_strdup(name_of(items[i])) };

		pb_json_write(items[i], PB_JSON_COMPACT, &item.json);
		vec_push(&l->items, item);
	}
	listing_write(l, out);
	return LISTING_ALL;
}

enum listing_change listing_take(struct listing *l, ProtobufCMessage *const *items, size_t n,
				 struct buf *out)
{
	if (!l->doubted && has_same_names(l, items, n))
		return take_some(l, items, out);
	return take_all(l, items, n, out);
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
	for (size_t i = 0; i < l->items.n; i++) {
		free(l->items.items[i].name);
		buf_free(&l->items.items[i].json);
	}
	vec_free(&l->items);
}
