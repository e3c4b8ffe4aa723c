/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob: texts that many answers share while they go out, bounded in all.
 *
 * Whoever reads a text slowly keeps it, and may do so for minutes while newer ones are made for
 * others. Of all texts of a set at most BLOBS_BYTES_MAX bytes stay: beyond that the oldest is let
 * go, also where somebody has not come to its end. Its struct lives on for those who refer to it.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "base/str.h"

#define BLOBS_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct blob {
	TAILQ_ENTRY(blob) all;
	struct blobs *set;
	size_t refs, n;
	char *bytes; /* NULL: let go */
};

struct blobs {
	TAILQ_HEAD(, blob) all; /* that were not let go; oldest first */
	size_t bytes;
	uint64_t dropped; /* let go before their time, to keep the bound */
};

void blobs_init(struct blobs *set);
/* Takes the text over; with one reference, the caller's. The newest one is always there. */
struct blob *blob_new(struct blobs *set, struct buf *text);
struct blob *blob_ref(struct blob *b);
/* NULL is fine. The set is still there. */
void blob_unref(struct blob *b);
