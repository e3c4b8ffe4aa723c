/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words: a line that somebody types, as words, and words as somebody would type them.
 *
 * Words stand between spaces and tabs. '...' and "..." keep spaces; a backslash takes the next
 * character as it is, but not between '...'. A # that begins a word begins a comment.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct words {
	const char **items;
	size_t n, cap;
	size_t last;   /* where in the line the last word begins, quotes and all */
	bool touching; /* nothing stands behind it: it may still grow */
	char quote;    /* the one that is still open; 0: none */
	bool comment;  /* the end of the line is one */
	struct arena *arena;
};

/* *w is filled, to be freed. */
void words_split(struct words *w, struct str line);
void words_free(struct words *w);

/*
 * Appends word so that words_split() reads it back, in quotes where it needs them, or where one
 * (quote) is open already. An unfinished one, which may still grow, has no closing quote.
 */
void words_add_typed(struct buf *out, const char *word, char quote, bool finished);
