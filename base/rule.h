/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: checks of a single value of a document, and the wording of complaints about it.
 *
 * These are the rules that every configuration needs: a number in its range, one of some words, a
 * usable host address. A program's own rules (core/l4/validate.c) are written with them. A value
 * that breaks a rule is reported once and replaced by a default, so that the rest of the document
 * can still be checked.
 *
 * The text of a complaint follows "file:line:column: key: ", so it begins with a verb where it
 * can ("must be ...", "is ..."). Text from the document is passed through rule_quote().
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

/*
 * The lists that receive complaints. scratch holds intermediate texts; errs_add() copies them, so
 * scratch may be freed before the lists.
 */
struct rule_sink {
	struct arena *scratch;
	struct errs *errors, *warnings;
};

/*
 * A position in the tree of the document, linked from the inside out. It becomes text only when a
 * complaint is made.
 */
struct rule_spot {
	const struct rule_spot *in;
	const char *name; /* NULL: an element of a list, identified by index */
	size_t index;
	const char *code; /* of the complaints here and within (struct err); NULL: that of `in` */
};

/*
 * Report an error, or a doubt (a warning), at the key `word` of `in`, or at `in` itself
 * if word is NULL.
 */
void rule_fail(struct rule_sink *s, const struct rule_spot *in, const char *word, struct place at,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void rule_doubt(struct rule_sink *s, const struct rule_spot *in, const char *word, struct place at,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The number of errors so far, including those that the list dropped. */
size_t rule_errors(const struct rule_sink *s);

/*
 * text in double quotes: cut if it is long, what is not printable is escaped. The result lives in
 * scratch.
 */
const char *rule_quote(struct rule_sink *s, const char *text);
/* `; did you mean "a" or "b"?` from the names that near found, or "". */
const char *rule_near(struct rule_sink *s, const struct near *near);

struct rule_range {
	const char *word; /* the key */
	int64_t min, max, fallback;
};

/* Returns the value if it is in range, and the fallback if it is not (reported) or not set. */
int64_t rule_number(struct rule_sink *s, const struct rule_spot *in, const struct rule_range *range,
		    const struct doc_int *d);
/* The same for a duration in ns. For a range with min 1 the complaint says "more than 0". */
int64_t rule_duration(struct rule_sink *s, const struct rule_spot *in,
		      const struct rule_range *range, const struct doc_duration *d);

static inline bool rule_flag(const struct doc_bool *d, bool fallback)
{
	return d->set ? d->v : fallback;
}

/* A choice among n words; n is at least 1. */
struct rule_words {
	const char *word; /* the key */
	const char *const *list;
	size_t n;
};

/* The index of the word that d (which is set) holds, or -1 if it is none of them (reported). */
int rule_choose(struct rule_sink *s, const struct rule_spot *in, const struct rule_words *words,
		const struct doc_text *d);
/* "a, b, c", in scratch. */
const char *rule_list(struct rule_sink *s, const struct rule_words *words);

/*
 * Parses a unicast host address of the given family (AF_UNSPEC: of any). Unspecified, multicast,
 * broadcast, IPv6 link-local and IPv4-mapped addresses are refused. Returns false if the value
 * was reported; *ret is untouched then.
 */
bool rule_address(struct rule_sink *s, const struct rule_spot *in, const char *word, int family,
		  const struct doc_text *d, struct addr *ret);

/*
 * Whether text is 1..max bytes of printable UTF-8. If not, a complaint at `in`, or at its key
 * `word`, is added.
 */
bool rule_printable(struct rule_sink *s, const struct rule_spot *in, const char *word,
		    struct place at, const char *text, size_t max);
/*
 * The same for text that becomes part of a request or a file name: printable ASCII without
 * spaces.
 */
bool rule_token(struct rule_sink *s, const struct rule_spot *in, const char *word,
		const struct doc_text *d, size_t max);

#define RULE_NAME_MAX 128 /* bytes of a name in a mapping */

/* One entry of a mapping from names to sections. */
struct rule_entry {
	const char *name;
	struct place at;
	const void *doc; /* its struct of the document */
};

/*
 * The n structs at docs, which section describes, sorted by name; the array is in scratch. Names
 * that are not printable, too long or duplicate are reported, but stay in the array. spot is the
 * mapping that holds the names.
 */
const struct rule_entry *rule_entries(struct rule_sink *s, const struct rule_spot *spot,
				      const struct schema_section *section, const void *docs,
				      size_t n);
