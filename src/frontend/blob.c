/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/blob.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/server.h"

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

/* A text that is being sent in slices. */
struct reader {
	struct blob *blob;
	size_t at;
};

static enum http_stream_state on_produce(struct buf *out, void *user)
{
	struct reader *r = user;
	size_t left = r->blob->n - r->at;
	size_t n = left < HTTP_SLICE ? left : HTTP_SLICE;

	/* the length was announced, so the answer cannot be completed */
	if (!r->blob->bytes)
		return HTTP_STREAM_LOST;
	buf_add(out, r->blob->bytes + r->at, n);
	r->at += n;
	return n < left ? HTTP_STREAM_MORE : HTTP_STREAM_END;
}

static void on_closed(bool whole, void *user)
{
	struct reader *r = user;

	blob_unref(r->blob);
	free(r);
}

void blob_reply(struct http_exchange *x, struct blob *json)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	const struct http_stream stream = { on_produce, on_closed, r, json->n };

	r->blob = blob_ref(json);
	http_reply_header(x, "Cache-Control", STR("no-store"));
	http_reply_stream(x, 200, "application/json", &stream);
}
