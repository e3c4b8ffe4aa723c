/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stale: which of n things a subscriber has to be told of again.
 *
 * A thing is in the set once, however often it changed since, so the set is bounded by n and a slow
 * subscriber gets the newest state of each instead of a queue of old ones. One bit for each thing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stale {
	uint64_t *words;
	size_t n;	/* things that there are */
	size_t waiting; /* that are in the set */
	size_t next;	/* where stale_take() goes on */
};

/* Makes it the empty set of n things. A zeroed struct is the empty set of none. */
void stale_reset(struct stale *s, size_t n);
void stale_free(struct stale *s);
/* i is below n. */
void stale_mark(struct stale *s, size_t i);
/*
 * Takes one out; SIZE_MAX when there is none. It goes through all things in turns, so that one that
 * changes all the time does not keep others waiting.
 */
size_t stale_take(struct stale *s);
