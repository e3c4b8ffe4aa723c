/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: the bytes of one string or number, for the reader only.
 *
 * A scan stops at the end of what has arrived and goes on from there, so a token that comes byte by
 * byte is looked at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct json_reader;

/* How far the current token has been looked at; all zero at its beginning. */
struct json__scan {
	size_t n;	/* bytes that are fine */
	size_t wide;	/* how many of them continue a character and so are no column */
	bool escaped;	/* a string has a backslash */
	unsigned state; /* of a number */
};

/*
 * in begins with the opening quote. 1: scan->n is the length with both quotes; 0: more bytes are
 * needed; -EINVAL: *wrong says what is wrong at scan->n.
 */
int json__scan_string(struct str in, bool no_nul, struct json__scan *scan, const char **wrong);
/*
 * 1: scan->n is the length, the byte after it belongs to no number; 0: more bytes may follow;
 * -EINVAL as above.
 */
int json__scan_number(struct str in, struct json__scan *scan, const char **wrong);
/* Whether a number that ends here is complete; when not, *wrong says what is wanted. */
bool json__number_complete(const struct json__scan *scan, const char **wrong);

/* What stands between the quotes of a scanned string, with its escapes resolved, added to out. */
void json__unescape(struct str inside, struct buf *out);

/* Whether the reader was made with no_nul, as the tree needs it. */
bool json__refuses_nul(const struct json_reader *r);
