/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near: names that resemble a misspelt one ("did you mean ...?").
 *
 *	struct near near = { .wanted = str_of(text), .limit = 2, .max = 1 };
 *
 *	for (...)
 *		near_consider(&near, names[i]);
 *	if (near.n)
 *		... "did you mean %s?", near.found[0].name
 *
 * The caller decides how many edits are allowed: a fixed list of keys allows more of them than
 * names that people choose, which often resemble each other.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

#define NEAR_MAX 3     /* names that are kept */
#define NEAR_BYTES 128 /* longer names are not compared */

struct near {
	struct str wanted;
	size_t limit; /* largest number of edits; may be changed between two names */
	size_t max;   /* names to keep, 1..NEAR_MAX */

	size_t n;
	struct near_name {
		const char *name; /* borrowed */
		size_t distance;
	} found[NEAR_MAX]; /* nearest first; at equal distance, in the order they came */
};

/*
 * The least number of characters to insert, delete, replace or swap with their neighbour that
 * turns a into b. Returns limit + 1 if it is more than limit, or if either string is longer than
 * NEAR_BYTES. Characters are bytes.
 */
size_t near_distance(struct str a, struct str b, size_t limit);
/*
 * Adds name to found if its distance is within the limit; once found holds max names, only if it
 * is nearer than the last of them, which it then displaces.
 */
void near_consider(struct near *near, const char *name);
