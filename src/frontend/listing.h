/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing: a list that a maglevd gave (frontends, backends, health checks), as JSON.
 *
 * Each item is kept as the text that browsers get, in the order of the server. Taking the list anew
 * tells what changed: nothing, some items (the same names in the same order), or all of it.
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
};

enum listing_change { LISTING_SAME, LISTING_SOME, LISTING_ALL };

/*
 * items: messages whose first field is their name. What changed is added to out as a JSON array:
 * the items that did, or all of them; nothing when nothing did.
 */
enum listing_change listing_take(struct listing *l, ProtobufCMessage *const *items, size_t n,
				 struct buf *out);
/* All items, as a JSON array. */
void listing_write(const struct listing *l, struct buf *out);
void listing_free(struct listing *l);
