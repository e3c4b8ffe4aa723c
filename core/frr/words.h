/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of core/frr: the words of one line. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define FRR__WORDS_MAX 48

struct frr__words {
	struct str w[FRR__WORDS_MAX];
	size_t n;
	struct str line; /* trimmed, words separated by one space */
};

/* Splits at spaces and tabs. Words after the last of FRR__WORDS_MAX stay in the line only. */
void frr__words_split(struct frr__words *ws, struct str line, struct arena *arena);
/* Whether the line begins with these words, given as one text: "neighbor". */
bool frr__words_begin(const struct frr__words *ws, const char *words);
/* The words from..to-1, joined by spaces, in the arena. */
const char *frr__words_join(const struct frr__words *ws, size_t from, size_t to,
			    struct arena *arena);
/* Replaces a word and makes the line again. */
void frr__words_set(struct frr__words *ws, size_t i, struct str word, struct arena *arena);
/* Inserts a word before word i. There must be room. */
void frr__words_insert(struct frr__words *ws, size_t i, struct str word, struct arena *arena);

/* An address, or a prefix without its host bits, as FRR prints it; other words as they are. */
struct str frr__canonical_prefix(struct str word, struct arena *arena);
/* "65535:0" -> "graceful-shutdown"; other words as they are. */
struct str frr__canonical_community(struct str word);
/* The other way: "graceful-shutdown" -> "65535:0". */
struct str frr__community_number(struct str word);
