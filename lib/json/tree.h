/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: a JSON value as an immutable tree, each part with its place.
 *
 * Everything lives in the caller's arena; the text that was read is not referred to. An object has
 * each key once: a second one is an error. Strings have no NUL inside. A node is 24 bytes, a member
 * of an object 40, beside the bytes of keys, strings and numbers; the reader's limits bound what a
 * text can cost.
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
	bool truth; /* of a bool */
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
 * Parses exactly one document. options may be NULL; stream and no_nul are set here. -EINVAL, every
 * complaint in errors and *ret untouched, when the bytes are not one.
 */
int json_parse(struct str bytes, const struct json_options *options, struct arena *arena,
	       const struct json_node **ret, struct errs *errors);

/*
 * Trees from a reader that is fed in pieces: one for each document of a stream, or only for the
 * values that the caller wants of a larger text. The reader was made with no_nul and outlives the
 * builder; so does errors.
 */
struct json_builder;

struct json_builder *json_builder_new(struct json_reader *r, struct errs *errors);
void json_builder_free(struct json_builder *b);
void json_builder_freep(struct json_builder **b); /* for _cleanup_ */

/*
 * Builds the value that first begins, a token that json_next() has just given; with NULL the value
 * that comes next, which is the next document, or the value of the key just read. Of a document its
 * end is read as well. 1 with *ret; 0 when all bytes are used up: more are needed, and the call is
 * then repeated with the same arena (first is not looked at again), or after json_end() nothing is
 * left; -EINVAL with complaints in errors. After duplicate keys the reader can go on after the
 * value: json_error() is then NULL.
 */
int json_build(struct json_builder *b, const struct json_token *first, struct arena *arena,
	       const struct json_node **ret);

/* The value of a member; NULL when there is none, or the node is NULL or not an object. */
const struct json_node *json_find(const struct json_node *node, const char *key);
/* The text of a string or number. */
struct str json_text(const struct json_node *node);
/* "an object", "an array", "a string", "a number", "true or false", "null" */
const char *json_describe(enum json_kind kind);
