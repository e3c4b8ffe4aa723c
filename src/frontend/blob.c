/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/blob.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

void blobs_init(struct blobs *set)
{
	*set = (struct blobs){ .all = TAILQ_HEAD_INITIALIZER(set->all) };
}

/* Frees the bytes; readers see bytes == NULL and give up. */
static void let_go(struct blob *b)
{
	TAILQ_REMOVE(&b->set->all, b, all);
	b->set->bytes -= b->n;
	free(TAKE_PTR(b->bytes));
}

struct blob *blob_new(struct blobs *set, struct buf *text)
{
	struct blob *b = mem_zalloc(sizeof(*b));

	*b = (struct blob){ .set = set, .refs = 1, .n = text->n };
	b->bytes = mem_resize(text->p, text->n, 1); /* a buf may have twice the capacity */
	*text = (struct buf){ 0 };
	TAILQ_INSERT_TAIL(&set->all, b, all);
	set->bytes += b->n;
	while (set->bytes > BLOBS_BYTES_MAX && TAILQ_FIRST(&set->all) != b) {
		let_go(TAILQ_FIRST(&set->all));
		set->dropped++;
	}
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
	if (--b->refs)
		return;
	if (b->bytes)
		let_go(b);
	free(b);
}
