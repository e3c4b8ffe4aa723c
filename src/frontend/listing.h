/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing: a list that a maglevd gave (frontends, backends, health checks), as JSON.
 *
 * Each item is kept as the text that browsers get, in the order of the server. Taking the list anew
 * tells what changed: nothing, fields of some items (the same names in the same order), or all of
 * it.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"
#include "base/vec.h"

struct listing_item {
	char *name;
	struct buf json;
};

struct listing {
	VEC(struct listing_item) items;
	bool doubted; /* the next list is told whole */
};

enum listing_change { LISTING_SAME, LISTING_SOME, LISTING_ALL };

/*
 * items: messages whose first field is their name. What changed is added to out as a JSON array:
 * for each item that did its name and the fields that are not as they were (null: not there any
 * more), or all items; nothing when nothing changed.
 */
enum listing_change listing_take(struct listing *l, ProtobufCMessage *const *items, size_t n,
				 struct buf *out);
/* Whoever was told of changes may have missed some. */
void listing_doubt(struct listing *l);
/* All items, as a JSON array. */
void listing_write(const struct listing *l, struct buf *out);
void listing_free(struct listing *l);
