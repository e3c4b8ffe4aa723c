/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the semantic phase (private to core/bgp/validate*.c). */
#pragma once

#include "base/rule.h"
#include "core/bgp/config.h"

struct bgp__build {
	const struct bgp_doc *doc;
	const struct bgp_machine *machine;
	struct arena *arena; /* for the result; temporary data is in sink.scratch */
	struct rule_sink sink;
	struct bgp_config *config;
	/* entries[i] is where config->peers[i] (and so on) came from */
	const struct rule_entry *profiles, *peers, *advertisements, *maglevds, *l2, *vips;
};

extern const struct rule_spot bgp__root; /* "speaker" */

#define BGP__NONE SIZE_MAX

/* The entries that a value may name, and what they are ("BFD profile"). */
struct bgp__names {
	const char *what;
	const struct rule_entry *entries;
	size_t n;
};

/* The index of the entry that d names; BGP__NONE, with a complaint, if there is none. */
size_t bgp__find(struct bgp__build *b, const struct rule_spot *in, const char *word,
		 const struct doc_text *d, const struct bgp__names *names);
/* Whether a name has only letters, digits, '-', '_' and '.': it becomes part of FRR's names. */
void bgp__check_name(struct bgp__build *b, const struct rule_spot *spot, struct place at,
		     const char *name);
/* The text of an optional value, in the arena; NULL if it is not set, empty or not a token. */
const char *bgp__token(struct bgp__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d, size_t max);
/* Sorted copies in the arena, without duplicates. */
struct schema_texts bgp__sorted(struct bgp__build *b, const char **items, size_t n);

/* The sections, in the order in which they are built. */
void bgp__build_profiles(struct bgp__build *b);
void bgp__build_peers(struct bgp__build *b);
void bgp__build_advertisements(struct bgp__build *b);
void bgp__build_l2(struct bgp__build *b);
void bgp__build_vips(struct bgp__build *b);

/* What a VIP says about its group. */
void bgp__build_vip_l2(struct bgp__build *b, const struct rule_spot *spot,
		       const struct bgp_doc_vip *d, struct bgp_vip *v);
/* Whether no group has too many VIPs, when all are built. */
void bgp__count_l2(struct bgp__build *b);
