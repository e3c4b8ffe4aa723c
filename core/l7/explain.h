/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: why a request is matched by one entry of a table and not by others.
 *
 * The answer is the same as that of l7_table_find(), but it is found by comparing all entries, one
 * after the other, so it takes time in proportion to their number. Only entries whose name covers
 * the host are candidates. At most `most` of them are kept, in the order in which they go: the one
 * that is found, then those whose path is that of the request, then others.
 *
 * Pure.
 */
#pragma once

#include "base/arena.h"
#include "core/l7/table.h"

/* Why an entry does not get the request. */
enum l7_verdict {
	L7_FOUND,
	L7_LATER, /* it applies, but another one goes first */
	L7_PATH_DIFFERS,
	L7_METHOD_DIFFERS,
	L7_HEADER_MISSING,
	L7_HEADER_DIFFERS,
	L7_QUERY_MISSING,
	L7_QUERY_DIFFERS,
};

struct l7_candidate {
	size_t entry;
	enum l7_verdict verdict;
	const struct l7_condition *condition; /* that does not hold, for the last four */
	size_t rank;			      /* of its name; the higher goes first */
};

struct l7_explanation {
	size_t found; /* index of the entry; L7_NONE: none applies */
	struct l7_candidate *candidates;
	size_t n, left_out;
};

/* The candidates live in arena and borrow from the entries. most is at least 1. */
struct l7_explanation l7_explain(const struct l7_entry *entries, size_t n,
				 const struct l7_request *r, l7_regex_fn regex, size_t most,
				 struct arena *arena);
