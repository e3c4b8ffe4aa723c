/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing: a list that a maglevd gave (frontends, backends, health checks), as JSON.
 *
 * Each item is kept as the text that browsers get, in the order of the server, which is by name. A
 * list is read again item by item, which may take several turns of the loop; what is kept changes
 * as they come. In the end it is known what changed: nothing, fields of some items (the same names
 * in the same order), or all of it. Between two readings single items change (listing_apply()).
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"

struct listing_item {
	char *name;
	struct buf json;
};

struct listing {
	/* fresh: while a list comes, those from the first on that has not the name it had */
	VEC(struct listing_item) items, fresh;
	bool doubted; /* the next list is told whole */

	/* while a list comes */
	size_t at; /* that many are as they were, or changed in place */
	struct buf changes, spare;
};

enum listing_change { LISTING_SAME, LISTING_SOME, LISTING_ALL };

/* What is known of one item. */
struct listing_news {
	const char *name;
	struct str json; /* of pb_json_write(); its first member is the name */
	bool whole;	 /* all that there is; false: some fields, the others stay */
};

/* The first field of an item, which is its name. */
const char *listing_name(const ProtobufCMessage *item);
/* A list begins to come. If the former one did not end, this one is told whole. */
void listing_begin(struct listing *l);
/* The next item. */
void listing_put(struct listing *l, const ProtobufCMessage *item);
/*
 * That was the last item. What changed is added to out as a JSON array: for each item that did its name
 * and the fields that are not as they were (null: not there any more), or all items; nothing when
 * nothing changed.
 */
enum listing_change listing_end(struct listing *l, struct buf *out);
/*
 * One item changed; not while a list comes. What is not as it was is added to out, a JSON array
 * that begins with this item or goes on with it and that the caller closes. False, with nothing
 * added, when nothing changed or there is no such item.
 */
bool listing_apply(struct listing *l, const struct listing_news *news, struct buf *out);
/* Browsers may have missed changes: the next list is told whole. */
void listing_doubt(struct listing *l);
/* All items, as a JSON array. */
void listing_write(const struct listing *l, struct buf *out);
void listing_free(struct listing *l);
