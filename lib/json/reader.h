/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader: JSON text (RFC 8259) as tokens, each with its place.
 *
 * The caller pulls tokens; the bytes may be there all at once or arrive in pieces, and the tokens
 * are the same. Nothing is recursive and nothing blocks. The reader is strict: valid UTF-8 only, no
 * lone surrogates, no byte order mark, no raw control characters, nothing after the last value.
 * Memory: one token that is cut by the end of a piece, and one string with escapes; both are
 * bounded by limits.string. A reader that has failed stays failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 1024 /* no limit may be above this */

/* What a caller takes; the counts are those of one document. 0 stands for the default. */
struct json_limits {
	size_t bytes;	/* from the first byte of a document to its last: 4 MiB */
	size_t string;	/* bytes of a string, key or number, as written: 1 MiB */
	size_t members; /* members of objects and elements of arrays, together: 1,000,000 */
	unsigned depth; /* arrays and objects within each other: 64 */
};

struct json_options {
	struct json_limits limits;
	bool stream; /* any number of documents, with or without white space between them */
	bool no_nul; /* refuse \u0000, so that no string has a NUL inside */
};

enum json_token_kind {
	JSON_TOKEN_OBJECT,
	JSON_TOKEN_OBJECT_END,
	JSON_TOKEN_ARRAY,
	JSON_TOKEN_ARRAY_END,
	JSON_TOKEN_KEY,
	JSON_TOKEN_STRING,
	JSON_TOKEN_NUMBER,
	JSON_TOKEN_TRUE,
	JSON_TOKEN_FALSE,
	JSON_TOKEN_NULL,
	JSON_TOKEN_DOCUMENT_END,
};

struct json_token {
	enum json_token_kind kind;
	struct place at; /* of its first byte; a column is a character, a line ends with \n */
	uint64_t offset; /* in bytes from the beginning of the input */
	/*
	 * Of a key or string: its characters, unescaped. Of a number: as written. It points into
	 * the input where it can, and is valid until the next call for this reader.
	 */
	struct str text;
};

struct json_reader;

/* options may be NULL: one document, default limits. */
struct json_reader *json_reader_new(const struct json_options *options);
void json_reader_free(struct json_reader *r);
void json_reader_freep(struct json_reader **r); /* for _cleanup_ */

/*
 * The next bytes. They are borrowed until json_next() returns 0 or an error; there may be a call
 * only at the beginning or after such a 0.
 */
void json_feed(struct json_reader *r, const char *p, size_t n);
/* No more bytes will come: what json_next() finds unfinished now is an error. */
void json_end(struct json_reader *r);

/*
 * 1 with a token; 0 when all bytes are used up: the caller feeds more, or after json_end() there is
 * nothing left; -EINVAL, *ret untouched, when the text is wrong or over a limit.
 *
 * JSON_TOKEN_DOCUMENT_END comes right after the last token of each document. That an object, array
 * or string is complete is known with its last byte; a number at the top needs the byte after it,
 * or json_end().
 */
int json_next(struct json_reader *r, struct json_token *ret);

/*
 * Skips the rest of what the last token began: after a key its value, after the beginning of an
 * object or array everything up to its end, which is skipped as well; nothing after other tokens.
 * The text is still checked, but no token of it is made. The work is done by the next json_next().
 */
void json_skip(struct json_reader *r);

/* After an error: its place, and what was wanted there. It lives as long as the reader. */
const struct err *json_error(const struct json_reader *r);
/* How many objects and arrays are open. */
unsigned json_depth(const struct json_reader *r);

/*
 * A number's text as a type, exactly: 1e3 and 5.0 are whole numbers, 1.5 is not. -EINVAL when it is
 * not a whole number (or the text is not a JSON number), -ERANGE when it does not fit.
 */
int json_to_i64(struct str number, int64_t *ret);
int json_to_u64(struct str number, uint64_t *ret);
/* The nearest double; -ERANGE when that would be infinite. The program leaves LC_NUMERIC alone. */
int json_to_double(struct str number, double *ret);
