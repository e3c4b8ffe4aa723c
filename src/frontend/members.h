/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: where the members of a JSON object are. For texts of pb_json_write() alone: compact and
 * well-formed, so that to find where each ends is enough.
 */
#pragma once

#include "base/str.h"

#define MEMBERS_MAX 64

/* What stands left and right of the colon; the key with its quotes. */
struct member {
	struct str key, value;
};

struct members {
	struct member items[MEMBERS_MAX];
	size_t n;
};

void members_split(struct members *m, struct str object);
/* NULL: there is none. */
const struct member *members_find(const struct members *m, struct str key);
/* Appends it, behind a comma unless it is the first since the brace. */
void members_add(struct buf *out, struct str key, struct str value);
