/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: the bytes of one string or number; only for the reader.
 *
 * A scan stops at the end of the available bytes and continues from there, so a token that
 * arrives byte by byte is scanned only once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct json_reader;

/* How far the current token has been scanned; all zero at its beginning. */
struct json__scan {
	size_t n;	/* bytes that are valid */
	size_t wide;	/* how many of them are UTF-8 continuation bytes, which are no columns */
	bool escaped;	/* a string has a backslash */
	unsigned state; /* of a number */
};

/*
 * in begins with the opening quote. 1: scan->n is the length with both quotes; 0: more bytes are
 * needed; -EINVAL: *wrong says what is wrong at offset scan->n.
 */
int json__scan_string(struct str in, bool no_nul, struct json__scan *scan, const char **wrong);
/*
 * 1: scan->n is the length, and the byte after it is not part of the number; 0: more bytes may
 * follow; -EINVAL as above.
 */
int json__scan_number(struct str in, struct json__scan *scan, const char **wrong);
/* Whether the number is complete if it ends here; otherwise *wrong says what is expected. */
bool json__number_complete(const struct json__scan *scan, const char **wrong);

/* Appends the contents of a scanned string (without its quotes) with the escapes resolved. */
void json__unescape(struct str inside, struct buf *out);

/* Whether the reader was made with no_nul, which the tree requires. */
bool json__refuses_nul(const struct json_reader *r);
