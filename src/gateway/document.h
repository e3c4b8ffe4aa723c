/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: what all routers should have, entry by entry, as the JSON of their admin API.
 *
 * An entry (a listener, a route, a stream, a pool) is kept as text, so that a change of one entry
 * encodes that entry alone, and a whole document is put together by copying. The servers of a pool
 * are kept apart from the rest of it, because they change far more often.
 *
 * Every change has a number. A router that has everything up to a number needs what changed after
 * it; document_since() says what that is. The digest depends on the entries alone, not on the order
 * of changes: two processes with the same entries have the same one.
 *
 * An entry that a router refuses is left out until its text changes (document_refuse()), so that
 * one bad entry never holds back the others.
 *
 * Does no input or output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct document;

enum document_part {
	DOCUMENT_LISTENERS,
	DOCUMENT_ROUTES,
	DOCUMENT_STREAMS,
	DOCUMENT_POOLS,
	DOCUMENT_PARTS,
};

#define DOCUMENT_DIGEST 33 /* bytes, with NUL */

struct document *document_new(void);
void document_free(struct document *d); /* NULL is allowed */

/*
 * Sets an entry: text is a JSON object without line breaks; that of a pool has "upstreams":[] in
 * it. Entries of a part are ordered by `order`, then by name. True if something has changed.
 */
bool document_set(struct document *d, enum document_part part, const char *name, const char *order,
		  struct str text);
/* The servers of a pool, which exists: {"upstreams":[...]}. True if they have changed. */
bool document_set_servers(struct document *d, const char *pool, struct str text);
/* True if there was such an entry. */
bool document_remove(struct document *d, enum document_part part, const char *name);
bool document_has(const struct document *d, enum document_part part, const char *name);
size_t document_count(const struct document *d, enum document_part part);
/* Names in the order of the document, for comparisons with what should be there. */
const char *document_name(const struct document *d, enum document_part part, size_t i);

/* The number of the last change; 1 for a new document. */
uint64_t document_version(const struct document *d);
/* Of all entries that are not refused. */
void document_digest(const struct document *d, char ret[static DOCUMENT_DIGEST]);
/* The whole: one line for each entry, so that a place in it names the entry. */
void document_write(const struct document *d, struct buf *out);

/* What a router with everything up to a version needs. */
enum document_need {
	DOCUMENT_NOTHING,
	DOCUMENT_SERVERS, /* of some pools */
	DOCUMENT_WHOLE,
};

/*
 * If it needs servers, *ret_pool is the pool whose servers changed first after the version, and
 * *ret_version the version that it has afterwards.
 */
enum document_need document_since(const struct document *d, uint64_t version, const char **ret_pool,
				  uint64_t *ret_version);
/* Number of pools whose servers changed after the version. */
size_t document_stale_pools(const struct document *d, uint64_t version);
/* Appends {"upstreams":[...]} of a pool. */
void document_write_servers(const struct document *d, const char *pool, struct buf *out);

/*
 * Leaves out the entry of a line (counted from 1) of document_write(). False if there is none, or
 * if the line is that of no entry. *ret_part and *ret_name say which one it was.
 */
bool document_refuse(struct document *d, size_t line, const char *why, enum document_part *ret_part,
		     const char **ret_name);
/* Why an entry was left out; NULL: it is not. */
const char *document_refusal(const struct document *d, enum document_part part, const char *name);
size_t document_refused(const struct document *d); /* how many */

/* "listeners", "routes", ... */
const char *document_part_name(enum document_part part);
