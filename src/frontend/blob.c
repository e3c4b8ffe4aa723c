/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/blob.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

struct blob *blob_new(struct str text)
{
	struct blob *b = mem_alloc(sizeof(*b) + text.n);

	b->refs = 1;
	b->n = text.n;
	if (text.n)
		memcpy(b->bytes, text.p, text.n);
	return b;
}

struct blob *blob_ref(struct blob *b)
{
	b->refs++;
	return b;
}

void blob_unref(struct blob *b)
{
	if (!b)
		return;
	assert(b->refs > 0);
	if (--b->refs == 0)
		free(b);
}
