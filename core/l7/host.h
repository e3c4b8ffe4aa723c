/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: the rules of one host name, in a form in which the first that applies is found without
 * looking at the others.
 *
 * Exact paths and prefixes are keys of one hash table. The path of a request is hashed once; the
 * hash at each of its segment boundaries is the key of a possible prefix. So the cost depends on
 * the length of the path, on the number of regular expressions, and on the number of rules that
 * share one path, never on the number of rules.
 *
 * Immutable once built, and usable from any number of threads.
 */
#pragma once

#include "base/arena.h"
#include "core/l7/match.h"

struct l7_host;

/*
 * Builds it in the arena. The matches are borrowed: they must live as long. Their index in the
 * array is what l7_host_find() returns.
 */
const struct l7_host *l7_host_build(struct arena *arena, const struct l7_match *const *matches,
				    size_t n);

#define L7_NONE SIZE_MAX

/* The index of the first rule that applies, in the order of l7_match_cmp(); L7_NONE: none does. */
size_t l7_host_find(const struct l7_host *h, const struct l7_request *r, l7_regex_fn regex);
