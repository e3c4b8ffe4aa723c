/* SPDX-License-Identifier: Apache-2.0 */
/* blob: bytes that many answers share while they go out. */
#pragma once

#include "base/str.h"

struct blob {
	size_t refs, n;
	char bytes[];
};

/* With one reference, the caller's. */
struct blob *blob_new(struct str text);
struct blob *blob_ref(struct blob *b);
/* NULL is fine. */
void blob_unref(struct blob *b);
