/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the semantic phase (private to core/l7/validate*.c). */
#pragma once

#include "base/map.h"
#include "base/rule.h"
#include "core/l7/config.h"

/* The entries that a value may name: from the name to the struct of the document. */
struct l7__names {
	const char *what; /* "pool" */
	const char *code; /* of a complaint about a name that is not there */
	const char *docs; /* the array of the document */
	size_t size, n;	  /* of a struct in it; number of structs */
	struct map map;
};

struct l7__build {
	const struct l7_doc *doc;
	struct arena *arena; /* for the result; temporary data is in sink.scratch */
	const struct l7_calls *calls;
	struct rule_sink sink;
	struct l7_config *config;
	struct l7__names pools, listeners;
	size_t n_servers; /* of the pools so far */
	bool pool_tls;	  /* the present pool has TLS */
	size_t n_entries; /* of the routes so far */
};

/* The same spot with another code for its complaints. */
#define L7__AS(spot, code_)                                                                        \
	(&(const struct rule_spot){                                                                \
		.in = (spot)->in, .name = (spot)->name, .index = (spot)->index, .code = (code_) })

/* ---- validate.c ---- */

/* A copy in the arena of the result, NUL-terminated. */
struct str l7__keep(struct l7__build *b, const char *text);
/* The name of an entry, "" after a complaint. `twice` says that an earlier one has it. */
const char *l7__name(struct l7__build *b, const struct rule_spot *spot, struct place at,
		     const struct doc_text *d, bool twice);
/* The index of the entry that d names; SIZE_MAX, with a complaint, if there is none. */
size_t l7__find(struct l7__build *b, const struct rule_spot *spot, const char *word,
		const struct doc_text *d, const struct l7__names *names);
/* The pool that a pair of keys names, one of which is set; L7_NO_POOL after a complaint. */
size_t l7__pool(struct l7__build *b, const struct rule_spot *spot, const struct doc_text *name,
		const struct doc_int *idx);
/* Whether a list is short enough. */
bool l7__few(struct l7__build *b, const struct rule_spot *spot, const char *word, struct place at,
	     size_t n, size_t max);
/* The chosen word, or the fallback if d is not set or none of them (reported). */
int l7__choose(struct l7__build *b, const struct rule_spot *spot, const struct rule_words *words,
	       const struct doc_text *d, int fallback);

/* Whether connections of a listener begin with TLS. */
static inline bool l7__has_tls(const struct l7_listener *l)
{
	return l->tls.mode != L7_TLS_OFF;
}

/* ---- validate_text.c: texts; an empty result follows a complaint ---- */

/* A host name in lower case. wild: it may start with "*.". */
struct str l7__host(struct l7__build *b, const struct rule_spot *spot, const char *word,
		    const struct doc_text *d, bool wild);
/* A path that requests can have. */
struct str l7__path(struct l7__build *b, const struct rule_spot *spot, const char *word,
		    const struct doc_text *d);
/* A token of RFC 9110: the name of a header, a cookie or a method. */
struct str l7__token(struct l7__build *b, const struct rule_spot *spot, const char *word,
		     const struct doc_text *d);
/* The value of a header; *ret may become empty. False after a complaint. */
bool l7__value(struct l7__build *b, const struct rule_spot *spot, const char *word,
	       const struct doc_text *d, struct str *ret);
/* "*" or "https://www.example.com:8443" */
struct str l7__origin(struct l7__build *b, const struct rule_spot *spot, const char *word,
		      const struct doc_text *d);
/* The host of a server: an address or a name. NULL after a complaint. */
const char *l7__server(struct l7__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d);
/* A compiled pattern; NULL after a complaint. */
const struct l7_regex *l7__regex(struct l7__build *b, const struct rule_spot *spot,
				 const char *word, const struct doc_text *d, size_t max);

/* ---- validate_filter.c ---- */

/* A share of requests, as percent or as a fraction; all of them are 1/1, however it was written. */
struct l7__share {
	const struct doc_int *percent;
	const struct l7_doc_fraction *fraction;
};

void l7__share(struct l7__build *b, const struct rule_spot *spot, struct l7__share d,
	       uint32_t *ret_numerator, uint32_t *ret_denominator);

/* ---- validate_rule.c ---- */

void l7__build_backend(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_backend *d, struct l7_backend *ret);

/* ---- the sections ---- */

void l7__build_pools(struct l7__build *b);
/* validate_tls.c: TLS of a listener, and whether its protocol can have it. */
void l7__build_tls(struct l7__build *b, const struct rule_spot *listener,
		   const struct l7_doc_listener_tls *d, struct l7_listener_tls *ret);
void l7__check_tls(struct l7__build *b, const struct rule_spot *listener,
		   const struct l7_doc_listener_tls *d, const struct l7_listener *l);
void l7__build_filters(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_filters *d, struct l7_filters *ret);
void l7__build_routes(struct l7__build *b);
void l7__build_streams(struct l7__build *b);
