/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: a regular expression that is being typed, and what matches it so far.
 *
 * While the text is not one, the last that was still holds. Upper and lower case are the same.
 * A zeroed struct takes everything.
 */
#pragma once

#include <stdbool.h>

#define FILTER_SIZE 96

struct regex;

struct filter {
	char text[FILTER_SIZE]; /* UTF-8 */
	struct regex *re;	/* NULL: all */
	bool typing;		/* keys are for it */
	bool broken;		/* text is no regular expression; re is of an earlier one */
};

/* A key (lib/tui/tui.h), while typing: Enter keeps what is there, Escape clears it. */
void filter_key(struct filter *f, int key);
/* Frees what it has; it takes everything again. */
void filter_clear(struct filter *f);
bool filter_takes(const struct filter *f, const char *text);
