/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: typed values from a tree, with complaints that name place and path.
 *
 *	struct json_cursor root = json_cursor_of(tree, errors);
 *	struct json_cursor spec = json_member(&root, "spec");
 *	struct json_cursor port = json_member(&spec, "port");
 *
 *	json_get_u64(&port, 1, 65535, &number);		7:13: spec.port: a whole number from 1 ...
 *
 * A cursor is a value of the tree and the path to it. It points to the cursor it was made from
 * and to the tree; both must outlive it. A cursor may refer to an absent value; null counts as
 * absent.
 *
 * Each json_get_ function returns 1 if the value is present and valid, 0 if it is absent, and
 * -EINVAL after a complaint. The output is changed only with 1, so the caller can set a default
 * before.
 */
#pragma once

#include "lib/json/tree.h"

struct json_cursor {
	const struct json_node *node; /* NULL if absent */
	const struct json_cursor *up; /* NULL for the root */
	const char *key;	      /* NULL: an array element */
	size_t index;
	struct errs *errors;
};

/* errors may be NULL if no function that complains is called. */
struct json_cursor json_cursor_of(const struct json_node *root, struct errs *errors);
/* Absent if `of` is not an object. key is borrowed. */
struct json_cursor json_member(const struct json_cursor *of, const char *key);
/* Absent if `of` is not an array or has no such element. */
struct json_cursor json_item(const struct json_cursor *of, size_t index);
/* The member at index, in the order of the text; index < of->node->n. */
struct json_cursor json_member_at(const struct json_cursor *of, size_t index);

/* Checks only the kind; for objects and arrays. */
int json_get_kind(const struct json_cursor *c, enum json_kind kind);
/* The string is in the tree's arena, NUL-terminated. */
int json_get_string(const struct json_cursor *c, const char **ret);
int json_get_bool(const struct json_cursor *c, bool *ret);
int json_get_i64(const struct json_cursor *c, int64_t min, int64_t max, int64_t *ret);
int json_get_u64(const struct json_cursor *c, uint64_t min, uint64_t max, uint64_t *ret);
int json_get_double(const struct json_cursor *c, double *ret);

/* 0 if the value is present; otherwise -EINVAL and a complaint at the nearest enclosing value. */
int json_require(const struct json_cursor *c);

/* Adds a complaint about this value; returns -EINVAL. */
int json_complain(const struct json_cursor *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "spec.ports[2].port", in the arena; "" for the root. */
const char *json_path(const struct json_cursor *c, struct arena *arena);
