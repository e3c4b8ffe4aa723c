/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader: JSON text (RFC 8259) as tokens, each with its place.
 *
 * The caller pulls tokens. The bytes may be available all at once or arrive in pieces; the tokens
 * are the same. Nothing is recursive and nothing blocks. The reader is strict: valid UTF-8 only,
 * no lone surrogates, no byte order mark, no raw control characters, nothing after the last
 * value. It buffers at most one token that the end of a piece cuts, and one string with escapes;
 * both are bounded by limits.string. After an error every call fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 1024 /* no limit may be above this */

/* What a caller accepts, per document. 0 stands for the default, given last. */
struct json_limits {
	size_t bytes;	/* from the first byte of a document to its last: 4 MiB */
	size_t string;	/* bytes of a string, key or number, as written: 1 MiB */
	size_t members; /* members of objects and elements of arrays, together: 1,000,000 */
	unsigned depth; /* arrays and objects within each other: 64 */
};

struct json_options {
	struct json_limits limits;
	bool stream; /* any number of documents, with or without white space between them */
	bool no_nul; /* refuse \u0000, so that no string contains a NUL */
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
	 * For a key or string the unescaped characters, for a number the text as written. It
	 * points into the input where possible, and is valid until the next call for this reader.
	 */
	struct str text;
};

struct json_reader;

/* options may be NULL: one document, default limits. The caller frees the reader. */
struct json_reader *json_reader_new(const struct json_options *options);
void json_reader_free(struct json_reader *r);
void json_reader_freep(struct json_reader **r); /* for _cleanup_ */

/*
 * The next bytes. They are borrowed until json_next() returns 0 or an error; it may be called
 * only at the beginning or after such a 0.
 */
void json_feed(struct json_reader *r, const char *p, size_t n);
/* No more bytes will come: an unfinished document is an error for json_next() from now on. */
void json_end(struct json_reader *r);

/*
 * 1 with a token; 0 if all bytes are used: the caller feeds more, or after json_end() the text is
 * finished; -EINVAL, with *ret untouched, if the text is invalid or exceeds a limit.
 *
 * JSON_TOKEN_DOCUMENT_END follows right after the last token of each document. An object, array
 * or string is complete with its last byte; a number at the top level needs the byte after it, or
 * json_end().
 */
int json_next(struct json_reader *r, struct json_token *ret);

/*
 * Skips the rest of what the last token began: after a key its value; after the beginning of an
 * object or array everything up to and including its end; after other tokens nothing. The text is
 * still checked, but yields no tokens. The work is done by the next json_next().
 */
void json_skip(struct json_reader *r);

/*
 * After an error: its place and what was expected there. It lives as long as the reader. NULL
 * before.
 */
const struct err *json_error(const struct json_reader *r);
/* The number of open objects and arrays. */
unsigned json_depth(const struct json_reader *r);

/*
 * Converts the text of a number exactly: 1e3 and 5.0 are whole numbers, 1.5 is not. -EINVAL if it
 * is not a whole number (or not a JSON number), -ERANGE if it does not fit; *ret is untouched
 * then.
 */
int json_to_i64(struct str number, int64_t *ret);
int json_to_u64(struct str number, uint64_t *ret);
/* The nearest double; -ERANGE if that would be infinite. LC_NUMERIC must be "C". */
int json_to_double(struct str number, double *ret);
