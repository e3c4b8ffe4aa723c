/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stale: the set of those of n things whose newest state a subscriber has not got yet.
 *
 * A thing is in the set once, however often it changed, so the set is bounded by n, and a slow
 * subscriber gets the newest state of each instead of a queue of old ones. One bit per thing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stale {
	uint64_t *words;
	size_t n;	/* number of things */
	size_t waiting; /* things in the set */
	size_t next;	/* where stale_take() continues */
};

/* Makes it the empty set of n things. A zeroed struct is the empty set of none. */
void stale_reset(struct stale *s, size_t n);
void stale_free(struct stale *s);
/* i is below n. */
void stale_mark(struct stale *s, size_t i);
/* The one that stale_take() would return now. */
size_t stale_next(const struct stale *s);
/*
 * Takes one out; SIZE_MAX if the set is empty. It visits the things in rotation, so that one that
 * changes all the time does not delay others.
 */
size_t stale_take(struct stale *s);
