/* SPDX-License-Identifier: Apache-2.0 */
/* gzip: decompression of messages; the only user of zlib. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/grpc/grpc_private.h"

#define PIECE ((size_t)16 * 1024)
#define GZIP_ONLY (MAX_WBITS + 16) /* inflateInit2(): accept a gzip header, no zlib or raw data */

/*
 * Decompresses one piece: 0 if there is more, 1 at the end, or the error. The bound is checked per
 * piece, so a decompression bomb costs at most PIECE bytes above max. Bytes after the end of the
 * stream and a stream that stops early are errors.
 */
static int inflate_piece(z_stream *z, size_t max, struct buf *out)
{
	int r;

	buf_reserve(out, PIECE);
	z->next_out = (unsigned char *)out->p + out->n;
	z->avail_out = PIECE;
	r = inflate(z, Z_NO_FLUSH);
	if (r != Z_OK && r != Z_STREAM_END)
		return -EBADMSG;
	out->n += PIECE - z->avail_out;
	if (out->n > max)
		return -EMSGSIZE;
	if (r == Z_STREAM_END)
		return z->avail_in ? -EBADMSG : 1;
	return z->avail_out && !z->avail_in ? -EBADMSG : 0;
}

/* zlib counts input in 32 bits, which suffices: so does the prefix of a message. */
int grpc__gunzip(struct str in, size_t max, struct buf *out)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in.p, .avail_in = (unsigned)in.n };
	int r;

	assert(in.n <= UINT32_MAX);
	if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
		abort(); /* out of memory, as base/mem.h does */
	do
		r = inflate_piece(&z, max, out);
	while (r == 0);
	inflateEnd(&z);
	return r < 0 ? r : 0;
}
