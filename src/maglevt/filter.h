/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: a regular expression that is being typed, and is applied while it is typed.
 *
 * While the text is not a valid expression, the last valid one stays in effect. Case is ignored.
 * A zeroed struct is a filter that matches everything.
 */
#pragma once

#include <stdbool.h>

#define FILTER_SIZE 96

struct regex;

struct filter {
	char text[FILTER_SIZE]; /* UTF-8 */
	struct regex *re;	/* NULL: matches everything */
	bool typing;		/* the filter gets the keys */
	bool broken;		/* text is not a valid expression; re belongs to an earlier text */
};

/*
 * Handles a key (lib/tui/tui.h) while typing is set: Enter keeps the filter, Escape clears it.
 */
void filter_key(struct filter *f, int key);
/* Frees the expression and matches everything again. */
void filter_clear(struct filter *f);
bool filter_takes(const struct filter *f, const char *text);
