/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: the writer.
 *
 * There is no state: text is appended to the caller's buffer. A string is copied in runs of
 * characters that need no escaping; only the character that ends a run (quote, backslash, not
 * printable, invalid UTF-8) is handled by itself.
 */
#include "lib/json/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The second character of the short escapes; other control characters become \u00XX. */
static const char short_escapes[0x80] = {
	['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
	['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
};

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Each byte of v has this value. */
#define EACH(v) (UINT64_C(0x0101010101010101) * (v))

/* Sets the high bit of some byte if a byte of w is below `limit` <= 0x80, and only then. */
static uint64_t any_below(uint64_t w, unsigned char limit)
{
	return (w - EACH(limit)) & ~w & EACH(0x80);
}

/* Whether is_plain() holds for the next eight bytes, which most strings consist of. */
static bool are_plain(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return !(w & EACH(0x80)) && !(any_below(w, 0x20) | any_below(w ^ EACH('"'), 1) |
				      any_below(w ^ EACH('\\'), 1) | any_below(w ^ EACH(0x7f), 1));
}

/* The number of bytes from p on that may be copied as they are. */
static size_t plain_run(const char *p, size_t n)
{
	size_t i = 0;

	while (n - i >= sizeof(uint64_t) && are_plain(p + i))
		i += sizeof(uint64_t);
	while (i < n) {
		size_t len = is_plain((unsigned char)p[i]) ? 1 : 0;

		if (!len && (unsigned char)p[i] >= 0x80)
			len = utf8_printable(p + i, n - i);
		if (!len)
			break;
		i += len;
	}
	return i;
}

/* Code points above U+FFFF are written as a pair of surrogates (RFC 8259, section 7). */
static void write_escape(struct buf *out, uint32_t c)
{
	if (c < sizeof(short_escapes) && short_escapes[c])
		buf_printf(out, "\\%c", short_escapes[c]);
	else if (c <= 0xffff)
		buf_printf(out, "\\u%04x", c);
	else
		buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			   0xdc00 + ((c - 0x10000) & 0x3ff));
}

/* Writes what ended a run; returns the bytes that it stands for. */
static size_t write_special(struct buf *out, const char *p, size_t n)
{
	size_t len = utf8_char(p, n);

	if (!len) {
		buf_add_lit(out, UTF8_REPLACEMENT);
		return utf8_broken(p, n);
	}
	write_escape(out, utf8_code(p, len));
	return len;
}

void json_write_string(struct buf *out, const char *p, size_t n)
{
	assert(out && (p || !n));

	buf_reserve(out, n + 2);
	buf_addc(out, '"');
	while (n) {
		size_t used = plain_run(p, n);

		buf_add(out, p, used);
		if (used < n)
			used += write_special(out, p + used, n - used);
		p += used;
		n -= used;
	}
	buf_addc(out, '"');
}

/* 15 digits always survive a round trip from text, and 17 always identify a double. */
void json_write_double(struct buf *out, double v)
{
	char text[32];

	assert(out);

	if (isnan(v)) {
		buf_add_lit(out, "\"NaN\"");
		return;
	}
	if (isinf(v)) {
		buf_adds(out, v > 0 ? "\"+Inf\"" : "\"-Inf\"");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_adds(out, text);
}
