/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a digit, or -1. */
static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four digits, of which the last `pad` are '='; the bits that they hide must be zero. */
static int put(uint32_t bits, unsigned pad, unsigned char *out)
{
	if ((pad == 1 && (bits & 0xff)) || (pad == 2 && (bits & 0xffff)))
		return -EINVAL;
	for (unsigned i = 0; i < 3 - pad; i++)
		out[i] = (unsigned char)(bits >> (16 - 8 * i));
	return 0;
}

ssize_t base64_decode(struct str text, void *out)
{
	unsigned char *to = out;
	unsigned n = 0, pad = 0;
	uint32_t bits = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		int v = digit(c);

		if (c == '\n' || c == '\r')
			continue;
		if (c == '=' && n >= 2)
			pad++;
		else if (v < 0 || pad)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)(v < 0 ? 0 : v);
		if (++n < 4)
			continue;
		if (put(bits, pad, to) < 0)
			return -EINVAL;
		to += 3 - pad;
		n = 0;
		bits = 0;
	}
	return n ? -EINVAL : to - (unsigned char *)out;
}

void base64_encode(struct buf *out, struct str bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.p;

	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		uint32_t bits = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
				(left > 2 ? p[i + 2] : 0);

		for (unsigned j = 0; j < 4; j++)
			buf_addc(out, j <= left ? alphabet[bits >> (18 - 6 * j) & 63] : '=');
	}
}
