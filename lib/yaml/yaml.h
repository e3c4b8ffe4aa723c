/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml: one YAML document as an immutable tree; each value knows its place in the text.
 *
 * All nodes live in the caller's arena. An alias shares the node of its anchor, so the tree may
 * be an acyclic graph. Its size with all aliases followed is bounded (YAML_MAX_NODES) and so is
 * its depth, so a recursive walk is safe. Merge keys (<<) are already applied, and a key occurs
 * once in a mapping. Scalar types are those of the YAML 1.2 core schema: yes, no, on and off are
 * text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Bounds on untrusted input; a document beyond one of them is refused with a complaint. */
#define YAML_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define YAML_MAX_NODES ((size_t)1000000) /* with aliases followed */
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

/* Shared with all its aliases, so it must not be changed. */
struct yaml_node {
	enum yaml_kind kind;
	struct place at;
	/* The next three are set for scalars only. */
	enum yaml_type type;
	bool plain;	 /* not quoted, not a block */
	const char *tag; /* resolved (tag:yaml.org,2002:int); NULL if absent */
	size_t n;	 /* bytes of text, number of items or pairs */
	union {
		const char *text; /* as written; UTF-8, NUL-terminated and no NUL inside */
		const struct yaml_node *const *items;
		const struct yaml_pair *pairs; /* in the order of the document, merged ones last */
	};
};

/*
 * Parses exactly one document. The bytes need to live only during the call. If they are not one
 * valid document: -EINVAL, every complaint in errors, and *ret untouched. Nodes that were already
 * built stay in the arena until the caller frees it.
 */
int yaml_parse(const char *bytes, size_t n, struct arena *arena, const struct yaml_node **ret,
	       struct errs *errors);

/*
 * The path of a value, as a chain from the value up to the root; usually on the caller's stack.
 * If key is NULL the step is a list index, counted from 0.
 */
struct yaml_path {
	const struct yaml_path *up;
	const char *key;
	size_t index;
};

/* "servers.www.pools[0].name"; "" for NULL. */
const char *yaml_path_format(const struct yaml_path *path, struct arena *arena);
/* A copy for a message, as err_shown() makes it. */
const char *yaml_shown(const char *text, struct arena *arena);
/* Whether all characters are printable (utf8_printable()). */
bool yaml_printable(const char *text);
/* "a mapping", "a list", "a number", "quoted text": static strings for messages. */
const char *yaml_describe(const struct yaml_node *node);
