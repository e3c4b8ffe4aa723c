/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice: calls a producer and frames its bytes.
 *
 * The producer appends directly to the output. Room for the chunk line is made before that, and the
 * size is filled in when the producer has returned.
 */
#include "lib/http/slice.h"

#include <assert.h>

#define CHUNK_LINE 10 /* eight digits, CR, LF */

static void fill_chunk_line(char *p, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 7; i >= 0; i--, size >>= 4)
		p[i] = digits[size & 15];
	p[8] = '\r';
	p[9] = '\n';
}

static enum http_stream_state ask(const struct http_stream *stream, struct buf *out, uint64_t *made)
{
	size_t before = out->n;
	enum http_stream_state state = stream->produce(out, stream->user);
	bool ended = state == HTTP_STREAM_END;

	assert(out->n >= before);
	*made += out->n - before;
	assert(!stream->length || state == HTTP_STREAM_LOST ||
	       (ended ? *made == stream->length : *made <= stream->length));
	return state;
}

enum http_stream_state http__slice(const struct http_stream *stream, struct buf *out, bool chunked,
				   uint64_t *made)
{
	enum http_stream_state state;
	size_t line = out->n;
	size_t size;

	if (!chunked)
		return ask(stream, out, made);
	buf_reserve(out, CHUNK_LINE);
	out->n += CHUNK_LINE;
	state = ask(stream, out, made);
	size = out->n - line - CHUNK_LINE;
	assert(size <= UINT32_MAX);
	if (size) {
		fill_chunk_line(out->p + line, size);
		buf_add_lit(out, "\r\n");
	} else {
		out->n = line; /* a chunk of size 0 would end the body */
	}
	if (state == HTTP_STREAM_END)
		buf_add_lit(out, "0\r\n\r\n");
	return state;
}
