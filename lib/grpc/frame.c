/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: length-prefixed messages: one byte for compression, four bytes of length, the message.
 *
 * The length in a prefix does not allocate memory: the buffer grows only with received bytes.
 */
#include <assert.h>
#include <errno.h>

#include "lib/grpc/grpc_private.h"
#include "lib/pb/pb.h"

#define PREFIX 5
#define KEEP_MAX ((size_t)4096) /* an empty buffer larger than this is freed */

static size_t length_of(const char *prefix)
{
	const unsigned char *p = (const unsigned char *)prefix;

	return (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
}

/* Takes bytes until the buffer has n; true if it has. */
static bool fill(struct grpc__reader *r, struct str *bytes, size_t n)
{
	size_t missing = n - r->bytes.n;
	size_t take = bytes->n < missing ? bytes->n : missing;

	if (take)
		buf_add(&r->bytes, bytes->p, take);
	bytes->p += take;
	bytes->n -= take;
	return take == missing;
}

int grpc__read(struct grpc__reader *r, struct str *bytes, size_t max)
{
	size_t length;

	assert(!r->whole);
	if (r->bytes.n < PREFIX && !fill(r, bytes, PREFIX))
		return 0;
	length = length_of(r->bytes.p);
	if (length > max)
		return -EMSGSIZE;
	r->whole = fill(r, bytes, PREFIX + length);
	return r->whole;
}

/* The decompressed bytes replace the compressed ones in r, so r still owns the result. */
int grpc__content(struct grpc__reader *r, bool gzip, size_t max, struct str *ret)
{
	struct str content = { r->bytes.p + PREFIX, r->bytes.n - PREFIX };
	struct buf plain = { 0 };
	int e;

	assert(r->whole);
	if (r->bytes.p[0] == 0) {
		*ret = content;
		return 0;
	}
	if (r->bytes.p[0] != 1 || !gzip)
		return -EPROTO;
	e = grpc__gunzip(content, max, &plain);
	if (e < 0) {
		buf_free(&plain);
		return e;
	}
	buf_free(&r->bytes);
	r->bytes = plain;
	*ret = (struct str){ plain.p, plain.n };
	return 0;
}

void grpc__next(struct grpc__reader *r)
{
	r->whole = false;
	r->bytes.n = 0;
	if (r->bytes.cap > KEEP_MAX)
		buf_free(&r->bytes);
}

void grpc__reader_free(struct grpc__reader *r)
{
	r->whole = false;
	buf_free(&r->bytes);
}

/* The length is known only after encoding, so the prefix is filled in afterwards. */
static void put_length(struct buf *out, size_t at)
{
	size_t n = out->n - at - PREFIX;

	assert(n <= UINT32_MAX);
	out->p[at + 1] = (char)(n >> 24);
	out->p[at + 2] = (char)(n >> 16);
	out->p[at + 3] = (char)(n >> 8);
	out->p[at + 4] = (char)n;
}

void grpc__frame(struct buf *out, const ProtobufCMessage *message)
{
	size_t at = out->n;

	buf_add(out, "\0\0\0\0\0", PREFIX);
	pb_encode(message, out);
	put_length(out, at);
}

void grpc__frame_parts(struct buf *out, struct str a, struct str b)
{
	size_t at = out->n;

	buf_reserve(out, PREFIX + a.n + b.n);
	buf_add(out, "\0\0\0\0\0", PREFIX);
	if (a.n)
		buf_add(out, a.p, a.n);
	if (b.n)
		buf_add(out, b.p, b.n);
	put_length(out, at);
}
