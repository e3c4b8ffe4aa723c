/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete: the ways in which a line that is being typed can continue.
 *
 * The walk of command.h takes the finished words; the nodes that may follow are filtered by the
 * beginning of the unfinished word. Names are requested through a callback, once for each kind of
 * name that may stand there. Used by Tab and ? in our shell and by the completion of other shells.
 *
 * Pure except for that callback.
 */
#pragma once

#include "src/maglevc/command.h"

/* A line that is being typed. All strings are borrowed. */
struct typing {
	const char *const *words; /* the finished ones */
	size_t n;
	const char *begin; /* what is typed of the next word; "" if nothing is */
	bool shell;	   /* offer the commands of the shell, too */
};

struct candidate {
	const char *word;
	const char *help; /* of a keyword; "" for names */
};

/* Owns the words; the help texts are static. Starts zeroed, the arena is made on demand. */
struct candidates {
	struct candidate *items;
	size_t n, cap;
	struct arena *arena;
};

/*
 * Adds the names that the server has for a node of this kind to out. c has the arguments given
 * so far, for example the frontend whose pools are wanted. May add nothing; may run the loop.
 */
typedef void (*names_fn)(enum node_kind kind, const struct command *c, struct candidates *out,
			 void *user);

void candidates_add(struct candidates *c, const char *word, const char *help);
void candidates_free(struct candidates *c);

/*
 * Fills *ret, which the caller frees, in the order of the tree. It is empty if no command begins
 * with the words.
 */
void complete(const struct typing *t, names_fn names, void *user, struct candidates *ret);
/*
 * Length in bytes of the longest common prefix, cut at a character boundary. c must not be
 * empty.
 */
size_t complete_common(const struct candidates *c);

/* The part of the screen that a list may fill, in characters and lines. */
struct area {
	size_t width, height;
};

/*
 * Writes the candidates in columns. If they do not fit into the area, its last line says how
 * many are missing.
 */
void complete_list(const struct candidates *c, struct area area, struct buf *out);
/*
 * Writes the words that may come next with their help, and the matching names where a name may
 * stand; if no command begins with the words, writes why.
 */
void complete_explain(const struct typing *t, names_fn names, void *user, struct area area,
		      struct buf *out);
