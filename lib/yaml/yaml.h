/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml: one YAML document as an immutable tree, each value with its place.
 *
 * Everything lives in the caller's arena. Aliases share the node of their anchor, so the tree may
 * be a graph without cycles; its size with all aliases followed is bounded (YAML_MAX_NODES), and so
 * is its depth: walking it needs no care. Merge keys (<<) are already applied, a key occurs once.
 * Types of scalars are those of YAML 1.2's core schema: yes, no, on and off are text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define YAML_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define YAML_MAX_NODES ((size_t)1000000) /* aliases followed */
#define YAML_MAX_DEPTH 64
#define YAML_MAX_KEY 1024 /* bytes of one key */
#define YAML_MAX_TAG_DIRECTIVES 16

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };
enum yaml_type { YAML_NULL, YAML_BOOL, YAML_INT, YAML_FLOAT, YAML_TEXT };

struct yaml_node;

struct yaml_pair {
	const struct yaml_node *key; /* always a scalar */
	const struct yaml_node *value;
};

struct yaml_node {
	enum yaml_kind kind;
	struct place at;
	/* of a scalar */
	enum yaml_type type;
	bool plain;	 /* not quoted, not a block */
	const char *tag; /* as written, resolved; NULL when there was none */
	size_t n;	 /* bytes of text, number of items or pairs */
	union {
		const char *text; /* as written; UTF-8, NUL-terminated and no NUL inside */
		const struct yaml_node *const *items;
		const struct yaml_pair *pairs; /* in the order of the document, merged ones last */
	};
};

/*
 * Parses exactly one document. -EINVAL, every complaint in errors and *ret untouched, when the
 * bytes are not one.
 */
int yaml_parse(const char *bytes, size_t n, struct arena *arena, const struct yaml_node **ret,
	       struct errs *errors);

/* Where a value is: a chain from the value up to the root. key NULL: index counts from 0. */
struct yaml_path {
	const struct yaml_path *up;
	const char *key;
	size_t index;
};

/* "servers.www.pools[0].name"; "" for NULL. */
const char *yaml_path_format(const struct yaml_path *path, struct arena *arena);
/* A copy fit for a message: control characters and bad UTF-8 replaced, cut when long. */
const char *yaml_shown(const char *text, struct arena *arena);
/* No control characters. */
bool yaml_printable(const char *text);
/* "a mapping", "a list", "a whole number", "quoted text" ... */
const char *yaml_describe(const struct yaml_node *node);
