/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete: what a line that is being typed can go on with.
 *
 * The walk of command.h takes the words that are finished; what may come next is compared with the
 * beginning of the one that is not. Names are asked for through a function, once for each kind that
 * may stand there. The shell's Tab and ?, and the completion of other shells, all end here.
 *
 * Pure but for that function.
 */
#pragma once

#include "src/maglevc/command.h"

/* What is being typed. All borrowed. */
struct typing {
	const char *const *words; /* that are finished */
	size_t n;
	const char *begin; /* of the next one; "": nothing of it yet */
	bool shell;
};

struct candidate {
	const char *word;
	const char *help; /* of a keyword; "" for names */
};

struct candidates {
	struct candidate *items;
	size_t n, cap;
	struct arena *arena;
};

/*
 * Adds the names that the server has for a node of this kind to out; c has what was said before it
 * (the frontend of a pool). May add none.
 */
typedef void (*names_fn)(enum node_kind kind, const struct command *c, struct candidates *out,
			 void *user);

void candidates_add(struct candidates *c, const char *word, const char *help);
void candidates_free(struct candidates *c);

/* *ret is filled, to be freed: in the order of the tree; none when the words lead nowhere. */
void complete(const struct typing *t, names_fn names, void *user, struct candidates *ret);
/* What all of them begin with, as far as they agree; at least one. The length of it in bytes. */
size_t complete_common(const struct candidates *c);

/* Where a list is shown. */
struct area {
	size_t width, height;
};

/* Candidates beside each other; what is too many for the area is counted in its last line. */
void complete_list(const struct candidates *c, struct area area, struct buf *out);
/*
 * What may come next with what each is for, and the names that fit where a name may stand; or why
 * the words lead nowhere.
 */
void complete_explain(const struct typing *t, names_fn names, void *user, struct area area,
		      struct buf *out);
