/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: typed values out of a tree, with complaints that name place and path.
 *
 *	struct json_cursor root = json_cursor_of(tree, errors);
 *	struct json_cursor spec = json_member(&root, "spec");
 *	struct json_cursor port = json_member(&spec, "port");
 *
 *	json_get_u64(&port, 1, 65535, &number);		7:13: spec.port: a whole number from 1 ...
 *
 * A cursor is a value of the tree and the way to it. It refers to the cursor it was made from,
 * which must outlive it, and to the tree. A cursor to a value that is absent is fine; null counts
 * as absent.
 *
 * Each json_get_ returns 1 when the value is there and good, 0 when it is absent, and -EINVAL after
 * a complaint; the output is touched only with 1, so that a default can be set before.
 */
#pragma once

#include "lib/json/tree.h"

struct json_cursor {
	const struct json_node *node; /* NULL when absent */
	const struct json_cursor *up; /* NULL for the root */
	const char *key;	      /* NULL: it is an element */
	size_t index;
	struct errs *errors;
};

/* errors may be NULL when nothing that complains is called. */
struct json_cursor json_cursor_of(const struct json_node *root, struct errs *errors);
/* Absent when of is not an object. key is borrowed. */
struct json_cursor json_member(const struct json_cursor *of, const char *key);
/* Absent when of is not an array or has no such element. */
struct json_cursor json_item(const struct json_cursor *of, size_t index);
/* Member index of an object, in the order of the text; index < of->node->n. */
struct json_cursor json_member_at(const struct json_cursor *of, size_t index);

/* Only the kind is looked at; for objects and arrays. */
int json_get_kind(const struct json_cursor *c, enum json_kind kind);
/* In the tree's arena, NUL-terminated. */
int json_get_string(const struct json_cursor *c, const char **ret);
int json_get_bool(const struct json_cursor *c, bool *ret);
int json_get_i64(const struct json_cursor *c, int64_t min, int64_t max, int64_t *ret);
int json_get_u64(const struct json_cursor *c, uint64_t min, uint64_t max, uint64_t *ret);
int json_get_double(const struct json_cursor *c, double *ret);

/* 0 when the value is there, else -EINVAL and a complaint at the nearest value that is there. */
int json_require(const struct json_cursor *c);

/* One more complaint about this value; returns -EINVAL. */
int json_complain(const struct json_cursor *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "spec.ports[2].port", in the arena; "" for the root. */
const char *json_path(const struct json_cursor *c, struct arena *arena);
