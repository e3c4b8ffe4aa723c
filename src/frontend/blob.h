/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob: texts that several answers share while they are sent, with a bound on their total size.
 *
 * A slow client can hold a text for minutes while newer texts are made for others. The texts of a
 * set together have at most BLOBS_BYTES_MAX bytes: beyond that the bytes of the oldest are freed,
 * even if it is still being sent. The struct stays until the last reference is dropped.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "base/str.h"

#define BLOBS_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct http_exchange;

struct blob {
	TAILQ_ENTRY(blob) all;
	struct blobs *set;
	size_t refs, n;
	char *bytes; /* NULL: freed to keep the bound */
};

struct blobs {
	TAILQ_HEAD(, blob) all; /* those with bytes; oldest first */
	size_t bytes;		/* of all of them */
	uint64_t dropped;	/* texts freed while they were still referenced */
};

void blobs_init(struct blobs *set);
/*
 * Takes the text over and returns a blob with one reference, which is the caller's. Older texts
 * are freed if necessary, the new one never is.
 */
struct blob *blob_new(struct blobs *set, struct buf *text);
struct blob *blob_ref(struct blob *b);
/* b may be NULL. The set must outlive all its blobs. */
void blob_unref(struct blob *b);
/*
 * Replies with a text that is JSON and must not be cached, in slices, so that a slow client costs
 * the memory of one slice. The connection is closed if the text is freed meanwhile.
 */
void blob_reply(struct http_exchange *x, struct blob *json);
