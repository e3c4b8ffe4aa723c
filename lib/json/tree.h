/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: a JSON value as an immutable tree; each value knows its place.
 *
 * Everything lives in the caller's arena, and nothing points to the parsed text. An object has
 * each key once: a duplicate is an error. Strings contain no NUL. A node takes 24 bytes and a
 * member of an object 40, plus the bytes of keys, strings and numbers; the reader's limits bound
 * what a text can cost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "lib/json/reader.h"

enum json_kind {
	JSON_KIND_NULL,
	JSON_KIND_BOOL,
	JSON_KIND_NUMBER,
	JSON_KIND_STRING,
	JSON_KIND_ARRAY,
	JSON_KIND_OBJECT,
};

struct json_node {
	enum json_kind kind : 8;
	bool truth; /* value of a bool */
	struct place at;
	uint32_t n; /* bytes of text, number of items or members */
	union {
		const char *text; /* string: unescaped; number: as written; NUL-terminated */
		const struct json_node *items;
		const struct json_member *members; /* in the order of the text */
	};
};

struct json_member {
	const char *key;
	struct place at; /* of the key */
	struct json_node value;
};

/*
 * Parses exactly one document. options may be NULL; stream and no_nul are overridden. -EINVAL,
 * with every complaint in errors and *ret untouched, if the bytes are not one valid document.
 */
int json_parse(struct str bytes, const struct json_options *options, struct arena *arena,
	       const struct json_node **ret, struct errs *errors);

/*
 * Trees from a reader that is fed in pieces: one for each document of a stream, or only for
 * selected values of a larger text. The reader must be made with no_nul and outlive the builder,
 * as must errors.
 */
struct json_builder;

struct json_builder *json_builder_new(struct json_reader *r, struct errs *errors);
void json_builder_free(struct json_builder *b);
void json_builder_freep(struct json_builder **b); /* for _cleanup_ */

/*
 * Builds one value. first is the token that begins it, just returned by json_next(); with NULL it
 * is the next value, that is the next document, or the value of the key just read. For a document
 * its end is read as well.
 *
 * 1 with *ret; 0 if all bytes are used: more are needed, and the call is repeated with the same
 * arena (first is then ignored), or after json_end() nothing is left; -EINVAL with complaints in
 * errors. After duplicate keys the reader can continue after the value: json_error() is then
 * NULL.
 */
int json_build(struct json_builder *b, const struct json_token *first, struct arena *arena,
	       const struct json_node **ret);

/*
 * The value of a member; NULL if there is none, or if node is NULL or not an object. Linear in
 * the number of members.
 */
const struct json_node *json_find(const struct json_node *node, const char *key);
/* The text of a string or number, borrowed from the tree. */
struct str json_text(const struct json_node *node);
/* "an object", "an array", "a string", "a number", "true or false", "null" */
const char *json_describe(enum json_kind kind);

/* Appends the value as JSON without white space: what json_parse() reads to the same tree. */
void json_write_tree(struct buf *out, const struct json_node *node);
