/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: messages on the API socket, each after a header of sixteen bytes.
 *
 * VPP reads only the length from the header. In its own messages the first eight bytes are a leaked
 * pointer, which clients must ignore.
 */
#pragma once

#include "base/str.h"

#define FRAME_HEADER 16
#define FRAME_LENGTH_AT 8
#define FRAME_LEAK "\xc0\xe4\x04\x30\x01\0\0\0"

static inline void frame_add(struct buf *out, struct str message)
{
	uint8_t header[FRAME_HEADER] = FRAME_LEAK;

	for (unsigned i = 0; i < 4; i++)
		header[FRAME_LENGTH_AT + i] = (uint8_t)(message.n >> (24 - 8 * i));
	buf_add(out, header, sizeof(header));
	buf_add(out, message.p, message.n);
}

/*
 * True if in begins with a whole message. *ret points into in, *ret_used is the size with its
 * header.
 */
static inline bool frame_next(struct str in, struct str *ret, size_t *ret_used)
{
	const uint8_t *length = (const uint8_t *)in.p + FRAME_LENGTH_AT;
	size_t n = 0;

	if (in.n < FRAME_HEADER)
		return false;
	for (unsigned i = 0; i < 4; i++)
		n = n << 8 | length[i];
	if (in.n - FRAME_HEADER < n)
		return false;
	*ret = (struct str){ in.p + FRAME_HEADER, n };
	*ret_used = FRAME_HEADER + n;
	return true;
}
