/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: what one value of a document may be, and how a complaint about it is worded.
 *
 * These are the rules that every configuration needs: a number in its range, one of some words, an
 * address that can be talked to. A program's own rules (core/l4/validate.c) are written with them.
 * A value that breaks a rule is reported once and replaced by a default, so that the rest of the
 * document can still be looked at.
 *
 * The text of a complaint follows "file:line:column: key: ", so it begins with a verb where it can
 * ("must be ...", "is ..."). Text from the document goes through rule_quote().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/near.h"
#include "base/schema.h"

/* Where complaints go. scratch is for texts that are copied into the lists, and dies first. */
struct rule_sink {
	struct arena *scratch;
	struct errs *errors, *warnings;
};

/* A place in the document's tree, from the inside out; becomes text only in a complaint. */
struct rule_spot {
	const struct rule_spot *in;
	const char *name; /* NULL: an element of a list, by index */
	size_t index;
};

/*
 * Tell of an error (a doubt, which becomes a warning) at the key `word` of `in`, or at `in` itself
 * when word is NULL.
 */
void rule_fail(struct rule_sink *s, const struct rule_spot *in, const char *word, struct place at,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void rule_doubt(struct rule_sink *s, const struct rule_spot *in, const char *word, struct place at,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* How many errors so far, those beyond the list's bound included. */
size_t rule_errors(const struct rule_sink *s);

/* In double quotes, cut where it is long, control characters and bad UTF-8 as '?'. */
const char *rule_quote(struct rule_sink *s, const char *text);
/* `; did you mean "a" or "b"?` from the names that were found near, or "". */
const char *rule_near(struct rule_sink *s, const struct near *near);

struct rule_range {
	const char *word; /* the key */
	int64_t min, max, fallback;
};

/* The value when it is in range; the fallback when it is not (told) or not there. */
int64_t rule_number(struct rule_sink *s, const struct rule_spot *in, const struct rule_range *range,
		    const struct doc_int *d);
/* Same in ns; a min of 1 reads "more than 0". */
int64_t rule_duration(struct rule_sink *s, const struct rule_spot *in,
		      const struct rule_range *range, const struct doc_duration *d);

static inline bool rule_flag(const struct doc_bool *d, bool fallback)
{
	return d->set ? d->v : fallback;
}

struct rule_words {
	const char *word; /* the key */
	const char *const *list;
	size_t n;
};

/* Index of the word that d (set) holds, or -1 when it is none of them (told). */
int rule_choose(struct rule_sink *s, const struct rule_spot *in, const struct rule_words *words,
		const struct doc_text *d);
/* "a, b, c" */
const char *rule_list(struct rule_sink *s, const struct rule_words *words);

/* A host address that can be talked to, and of the family unless that is AF_UNSPEC; false: told. */
bool rule_address(struct rule_sink *s, const struct rule_spot *in, const char *word, int family,
		  const struct doc_text *d, struct addr *ret);

/* Whether text is 1..max bytes of printable UTF-8; if not, told as the fault of in or in.word. */
bool rule_printable(struct rule_sink *s, const struct rule_spot *in, const char *word,
		    struct place at, const char *text, size_t max);
/* Same for what goes into a request or a file name: printable ASCII without spaces. */
bool rule_token(struct rule_sink *s, const struct rule_spot *in, const char *word,
		const struct doc_text *d, size_t max);

#define RULE_NAME_MAX 128

/* One entry of a mapping from names to sections. */
struct rule_entry {
	const char *name;
	struct place at;
	const void *doc; /* its struct of the document */
};

/*
 * The n structs at docs, which section describes, sorted by name, in scratch. Names that are not
 * printable, too long or there twice are reported; spot is where the names stand.
 */
const struct rule_entry *rule_entries(struct rule_sink *s, const struct rule_spot *spot,
				      const struct schema_section *section, const void *docs,
				      size_t n);
