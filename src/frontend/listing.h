/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing: a list of a server (frontends, backends, announcements, ...), kept as JSON.
 *
 * Each item is kept as the text that browsers receive, in the order of the server, which is by
 * name. When a list is read again, its items are put one by one, over several turns of the loop,
 * and replace the kept ones at once. At the end it is known what has changed: nothing, fields of
 * some items (same names in the same order), or everything. Between two readings single items
 * change with listing_apply().
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
	/*
	 * fresh: while a list is read, the items from the first whose name differs from the kept
	 * one
	 */
	VEC(struct listing_item) items, fresh;
	bool doubted; /* browsers may have missed changes: the next list is sent whole */
	size_t grown; /* bytes that listing_apply() has added since the list was read */

	/* while a list is read */
	size_t at; /* number of items that had the same name so far */
	struct buf changes, spare;
};

enum listing_change { LISTING_SAME, LISTING_SOME, LISTING_ALL };

/* News about one item. */
struct listing_update {
	const char *name;
	struct str json; /* from pb_json_write(); its first member is the name */
	bool whole;	 /* has all fields; false: fields that are missing stay */
};

/* The name of an item, which is its first field: name, vip, peer. */
const char *listing_name(const ProtobufCMessage *item);
/* Starts to read a list. If the reading before was not finished, it is dropped. */
void listing_begin(struct listing *l);
/*
 * Drops what was read of a list that will not be finished. Items that have changed stay changed,
 * and the next list will be sent whole then.
 */
void listing_stop(struct listing *l);
/* Puts the next item of the list that is being read. Returns the bytes of its text. */
size_t listing_put(struct listing *l, const ProtobufCMessage *item);
/*
 * Ends the reading and appends what has changed to out as a JSON array: for each changed item
 * its name and the fields that differ (null: removed), or all items; nothing if nothing has
 * changed.
 */
enum listing_change listing_end(struct listing *l, struct buf *out);
/*
 * Applies an update of one item; not while a list is being read. The difference is appended to
 * out, a JSON array that the first call opens and the caller closes. Returns false, with nothing
 * added, if nothing has changed or there is no such item.
 */
bool listing_apply(struct listing *l, const struct listing_update *update, struct buf *out);
/* Browsers may have missed changes: makes the next list be sent whole. */
void listing_doubt(struct listing *l);
/* Appends all items as a JSON array. */
void listing_write(const struct listing *l, struct buf *out);
void listing_free(struct listing *l);
