/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source: where connections come from, and how many from each place. For listener.c and crowd.c.
 *
 * A source is an IPv4 address or an IPv6 /64: one IPv6 host usually has a whole /64, so a bound per
 * address would be useless. Sources are in a balanced tree, because clients choose the keys and
 * could fill one chain of a hash table. A source exists while it has connections.
 */
#pragma once

#include <stddef.h>

#include "base/addr.h"

/* The beginning of the owner's struct. */
struct stream__source {
	struct addr net;
	size_t n; /* connections */
};

/* The source of this peer, whose address must be set; NULL: it has no connection. */
struct stream__source *stream__source_find(void *const *tree, const struct endpoint *peer);
/*
 * One more connection. A source that is new is zeroed memory of `size` bytes, which begins with
 * struct stream__source.
 */
struct stream__source *stream__source_add(void **tree, const struct endpoint *peer, size_t size);
/* One less; the last one frees the source. */
void stream__source_remove(void **tree, struct stream__source *source);
/* Frees all sources. */
void stream__source_clear(void **tree);
