/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipe: what a shell does to the lines of an answer before they are printed, as in
 * "show backends | match down | except lab | count". Known from Junos.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define PIPE_STAGES 8

struct regex;

enum pipe_kind {
	PIPE_MATCH,  /* keeps lines that match a regular expression */
	PIPE_EXCEPT, /* keeps those that do not */
	PIPE_COUNT,  /* keeps none, and counts them; the last stage */
};

struct pipe {
	struct pipe_stage {
		enum pipe_kind kind;
		struct regex *re; /* of match and except; case is ignored */
	} stages[PIPE_STAGES];
	size_t n;
	size_t counted; /* lines that reached the count */
	bool told;	/* pipe_end() was called */
};

/* One word that may follow a bar, for completion and help. */
struct pipe_word {
	const char *word, *help;
	bool takes_text;
};

/* Indexed by enum pipe_kind; ends with a word that is NULL. */
extern const struct pipe_word pipe_words[];

/*
 * Reads the words behind the first bar: stages, separated by words that are words_bar (words.h). A
 * keyword may be shortened. Fills *p, which the caller frees also if nothing follows. Returns
 * -EINVAL with a sentence in why, and nothing to free.
 */
int pipe_parse(struct pipe *p, const char *const *words, size_t n, struct buf *why);
void pipe_free(struct pipe *p);
/* Appends the lines of text that pass. */
void pipe_feed(struct pipe *p, struct str text, struct buf *out);
/*
 * Appends what is known only at the end: the count, if there is one, which begins again. Called at
 * the end of each answer if there are several.
 */
void pipe_end(struct pipe *p, struct buf *out);
