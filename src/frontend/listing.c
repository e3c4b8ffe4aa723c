/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/listing.h"

#include <assert.h>

#include "lib/pb/pb.h"

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

static void add_json(struct buf *out, size_t start, const struct buf *json)
{
	buf_addc(out, out->n == start ? '[' : ',');
	buf_add(out, json->p, json->n);
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
		struct listing_item *item = &l->items.items[i];
		struct buf old = item->json;

		json.n = 0;
		pb_json_write(items[i], PB_JSON_COMPACT, &json);
		if (str_eq((struct str){ json.p, json.n }, (struct str){ old.p, old.n }))
			continue;
		item->json = json;
		json = old; /* its memory serves the next one */
		add_json(out, start, &item->json);
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
	if (has_same_names(l, items, n))
		return take_some(l, items, out);
	return take_all(l, items, n, out);
}

void listing_write(const struct listing *l, struct buf *out)
{
	size_t start = out->n;

	for (size_t i = 0; i < l->items.n; i++)
		add_json(out, start, &l->items.items[i].json);
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
