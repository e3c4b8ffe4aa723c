/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near: the names that a misspelt one could have been meant to be.
 *
 *	struct near near = { .wanted = str_of(text), .limit = 2, .max = 1 };
 *
 *	for (...)
 *		near_consider(&near, names[i]);
 *	if (near.n)
 *		... "did you mean %s?", near.found[0].name
 *
 * The caller decides how many edits are still near: a fixed list of keys allows more of them than
 * names that people choose, which are often alike.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

#define NEAR_MAX 3     /* names that are kept */
#define NEAR_BYTES 128 /* a longer name is near to nothing */

struct near {
	struct str wanted;
	size_t limit; /* edits at most; may be changed between two names */
	size_t max;   /* names to keep, 1..NEAR_MAX */

	size_t n;
	struct near_name {
		const char *name; /* borrowed */
		size_t distance;
	} found[NEAR_MAX]; /* nearest first, names of one distance in the order they came */
};

/*
 * The fewest characters to insert, delete, replace or swap with their neighbour that lead from a to
 * b; limit + 1 when there are more than limit, or when either is longer than NEAR_BYTES.
 */
size_t near_distance(struct str a, struct str b, size_t limit);
/* Keeps name if it is near, and nearer than one of those that are kept when these are max. */
void near_consider(struct near *near, const char *name);
