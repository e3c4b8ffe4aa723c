/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node: one value of a document, whatever its syntax. Private to lib/config/document*.c.
 *
 * A node is a view of a value of the tree that the parser of the syntax built. It is made when it
 * is looked at, so a document has no second tree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum config__type {
	CONFIG__NOTHING,
	CONFIG__BOOL,
	CONFIG__INT, /* a sign and digits, as written */
	CONFIG__FLOAT,
	CONFIG__TEXT,
	CONFIG__LIST,
	CONFIG__MAPPING,
};

struct config__node {
	enum config__type type;
	bool plain; /* text without quotes */
	bool truth; /* value of a CONFIG__BOOL */
	struct place at;
	size_t n;	  /* bytes of text, number of items or pairs */
	const char *text; /* of numbers and text; NUL-terminated */
	const void *tree; /* the value in the tree of the syntax */
};

struct config__syntax {
	/* -EINVAL, with every complaint in errors, if the bytes are not one document. */
	int (*parse)(struct str bytes, struct arena *arena, struct config__node *ret,
		     struct errs *errors);
	struct config__node (*item)(const struct config__node *list, size_t i);
	/* The value; its key is stored in *ret_key. */
	struct config__node (*pair)(const struct config__node *mapping, size_t i,
				    struct config__node *ret_key);
	/* A key with null is as if it were not written; otherwise it is a mistake. */
	bool null_is_absent;
};

extern const struct config__syntax config__yaml, config__json;
