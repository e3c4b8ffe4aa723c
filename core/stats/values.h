/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values: how often each of a few texts was seen, within a window and since the start, and when
 * last.
 *
 * At most VALUES_MAX texts are distinguished; further ones are counted together. The window is
 * that of window.h, with slices of the same length. Pure; a struct that is zeroed except for slice
 * is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/stats/window.h"

#define VALUES_MAX 32
#define VALUE_SIZE 64

struct value {
	char text[VALUE_SIZE]; /* NUL-terminated; longer texts are cut */
	uint64_t n;	       /* since the start */
	uint32_t slices[WINDOW_SLICES];
	int64_t last; /* time of the last one, in the caller's clock */
};

struct values {
	int64_t slice;			/* ns, > 0 */
	int64_t current;		/* number of the slice that is being filled */
	struct value items[VALUES_MAX]; /* sorted by text */
	size_t n;
	struct value others; /* of all texts that are not in items; without a text */
};

/* Two texts that are equal in their first VALUE_SIZE - 1 bytes are the same value. */
void values_add(struct values *v, const char *text, int64_t now);
/* How often it was seen within the window as of now. one is an item of v, or its others. */
uint64_t values_recent(struct values *v, const struct value *one, int64_t now);
