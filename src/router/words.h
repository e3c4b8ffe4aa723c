/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words: parts of a configuration and of an explanation as short texts for people. Pure.
 *
 *	GET prefix /api, header x-canary: 1
 *	301 to https
 *	sets 2 request headers
 */
#pragma once

#include "core/l7/config.h"
#include "core/l7/explain.h"

#define WORDS_MAX 256 /* bytes of a text; the rest is cut */

/* In the arena, as are the texts of all functions here. */
char *words_match(const struct l7_match *m, struct arena *arena);
/* Empty without a redirect. */
char *words_redirect(const struct l7_redirect *r, struct arena *arena);
/* What else a rule does to requests and answers, one text each; at most WORDS_FILTERS. */
#define WORDS_FILTERS 8
size_t words_filters(const struct l7_rule *rule, char *texts[static WORDS_FILTERS],
		     struct arena *arena);
const char *words_balance(enum l7_balance b);
/* Why a candidate does not get a request; empty if it does. */
char *words_verdict(const struct l7_candidate *c, const struct l7_match *m, struct arena *arena);
