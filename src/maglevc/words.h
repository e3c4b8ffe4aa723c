/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words: splits a typed line into words, and quotes words so that they can be typed.
 *
 * Words are separated by white space. '...' and "..." preserve spaces. A backslash makes the next
 * character literal, except inside '...'. A # at the beginning of a word begins a comment. A | at
 * the beginning of a word is a word of its own.
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
	size_t last;   /* offset in the line where the last word begins, its quote included */
	bool touching; /* the last word ends at the end of the line: it may still grow */
	char quote;    /* the quote that is not closed; 0: none */
	bool comment;  /* the line ends with a comment */
	struct arena *arena;
};

/* The word of a |, compared as a pointer: a quoted "|" is another word. */
extern const char words_bar[];

/* Fills *w, which the caller frees. Does not fail: an open quote ends with the line. */
void words_split(struct words *w, struct str line);
void words_free(struct words *w);

/* How many words precede the first bar; all of them if there is none. */
size_t words_command(const struct words *w);

/*
 * Appends word so that words_split() reads it back. It is quoted if necessary, or if quote says
 * that a quote is open already. A word that is not finished gets no closing quote, since it may
 * still grow.
 */
void words_add_typed(struct buf *out, const char *word, char quote, bool finished);
