/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: finds the members of a JSON object without parsing it. Only for texts of
 * pb_json_write(): compact and well-formed, so it is enough to find where each member ends. Must
 * not be used on input from outside.
 */
#pragma once

#include "base/str.h"

#define MEMBERS_MAX 64 /* more than any message of ours has fields; asserted */

/* Key (with its quotes) and value, as they are in the text. */
struct member {
	struct str key, value;
};

struct members {
	struct member items[MEMBERS_MAX];
	size_t n;
};

/* The members point into object. */
void members_split(struct members *m, struct str object);
/* Returns NULL if there is no member with this key. */
const struct member *members_find(const struct members *m, struct str key);
/* Appends a member, after a comma unless it follows the opening brace. */
void members_add(struct buf *out, struct str key, struct str value);
/* The member "generation" of a text, which may be empty; empty if there is none. */
struct str members_generation(const struct buf *text);
