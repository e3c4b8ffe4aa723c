/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_build: what the files of the semantic phase share (private to core/l4/validate*.c).
 *
 * A struct l4__build lives for one l4_config_build(). Each section has one function that reads its
 * part of the document and fills its part of the configuration; whatever is wrong is told through
 * l4__fail() and replaced by something harmless, so that the rest can still be looked at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "core/l4/validate.h"

/* One entry of a section; entries[i] is where config->checks[i] (backends, frontends) came from. */
struct l4__entry {
	const char *name;
	struct place at;
	const void *doc;
};

/* What is known of frontend i beyond its struct, for the rules that compare frontends. */
struct l4__vip {
	int family;   /* of its backends; AF_UNSPEC: none, or mixed */
	bool has_key; /* protocol and port are right */
};

struct l4__build {
	const struct l4_doc *doc;
	const struct l4_rules *rules;
	struct arena *arena, *scratch; /* of the result; of this build only */
	struct errs *errors, *warnings;
	struct l4_config *config;
	bool dataplane_known; /* false: the word is wrong, nothing may be concluded from it */

	struct l4_check *checks;
	struct l4_backend *backends;
	struct l4_frontend *frontends;
	const struct l4__entry *check_entries, *backend_entries, *frontend_entries;
	struct l4__vip *vips; /* one per frontend */
};

/* A place in the document's tree, from the inside out; becomes text only in a complaint. */
struct l4__spot {
	const struct l4__spot *in;
	const char *name; /* NULL: an element of a list, by index */
	size_t index;
};

extern const struct l4__spot l4__root; /* "maglev" */

/*
 * Tell of an error (a doubt) at the key `word` of `in`, or at `in` itself when word is NULL. Text
 * from the document goes through l4__quote().
 */
void l4__fail(struct l4__build *b, const struct l4__spot *in, const char *word, struct place at,
	      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void l4__doubt(struct l4__build *b, const struct l4__spot *in, const char *word, struct place at,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* How many errors so far, those beyond the list's bound included. */
size_t l4__errors(const struct l4__build *b);

/* In double quotes, cut where it is long, control characters and bad UTF-8 as '?'. */
const char *l4__quote(struct l4__build *b, const char *text);
/* `; did you mean "a" or "b"?` from the names that are near, or "". */
const char *l4__near(struct l4__build *b, const char *name, const struct l4__entry *entries,
		     size_t n);

struct l4__range {
	const char *word;
	int64_t min, max, fallback;
};

/* The value when it is in range; the fallback when it is not (told) or not there. */
int64_t l4__number(struct l4__build *b, const struct l4__spot *in, const struct l4__range *range,
		   const struct doc_int *d);
/* Same in ns; a min of 1 reads "more than 0". */
int64_t l4__duration(struct l4__build *b, const struct l4__spot *in, const struct l4__range *range,
		     const struct doc_duration *d);

static inline bool l4__flag(const struct doc_bool *d, bool fallback)
{
	return d->set ? d->v : fallback;
}

struct l4__words {
	const char *word; /* the key */
	const char *const *list;
	size_t n;
};

/* Index of the word that d (set) holds, or -1 when it is none of them (told). */
int l4__choose(struct l4__build *b, const struct l4__spot *in, const struct l4__words *words,
	       const struct doc_text *d);
/* "a, b, c" */
const char *l4__list(struct l4__build *b, const struct l4__words *words);

/* A host address that can be talked to, and of the family unless that is AF_UNSPEC; false: told. */
bool l4__address(struct l4__build *b, const struct l4__spot *in, const char *word, int family,
		 const struct doc_text *d, struct addr *ret);
/* The address of a VIP or a server: as above, and nothing that the data plane would misread. */
bool l4__host(struct l4__build *b, const struct l4__spot *in, const char *word,
	      const struct doc_text *d, struct addr *ret);
static inline const char *l4__family_name(int family)
{
	return family == AF_INET6 ? "IPv6" : "IPv4";
}

/* Whether text is 1..max bytes of printable UTF-8; if not, told as the fault of in or in.word. */
bool l4__printable(struct l4__build *b, const struct l4__spot *in, const char *word,
		   struct place at, const char *text, size_t max);
/* Same for what goes into a request or a file name: printable ASCII without spaces. */
bool l4__token(struct l4__build *b, const struct l4__spot *in, const char *word,
	       const struct doc_text *d, size_t max);

#define L4__NAME_MAX 128

/* Sorts entries by name and checks the names; section is where they stand. */
void l4__sort_entries(struct l4__build *b, const struct l4__spot *section,
		      struct l4__entry *entries, size_t n);

/* The sections, in the order in which they are built. */
void l4__build_dataplane(struct l4__build *b);
void l4__build_checks(struct l4__build *b);
void l4__build_backends(struct l4__build *b);
void l4__build_frontends(struct l4__build *b);
void l4__compare_vips(struct l4__build *b);
void l4__build_lb(struct l4__build *b);
void l4__build_xdp(struct l4__build *b);
/* Only for a configuration without errors. */
void l4__find_doubts(struct l4__build *b);

extern const struct l4__spot l4__checks_spot, l4__backends_spot, l4__frontends_spot;
