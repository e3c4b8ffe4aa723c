/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: the writer.
 *
 * There is no state: text is appended to the caller's buffer. A string is copied in runs of
 * characters that need no escaping; only the character that ends a run (quote, backslash, control
 * character, invalid UTF-8) is handled by itself.
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
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The number of bytes from p on that may be copied as they are. */
static size_t plain_run(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		size_t len = is_plain((unsigned char)p[i]) ? 1 : 0;

		if (!len && (unsigned char)p[i] >= 0x80)
			len = utf8_char(p + i, n - i);
		if (!len)
			break;
		i += len;
	}
	return i;
}

static void write_escape(struct buf *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (!short_escapes[c]) {
		buf_add(out, escape, sizeof(escape));
		return;
	}
	escape[1] = short_escapes[c];
	buf_add(out, escape, 2);
}

void json_write_string(struct buf *out, const char *p, size_t n)
{
	assert(out && (p || !n));

	buf_reserve(out, n + 2);
	buf_addc(out, '"');
	while (n) {
		size_t used = plain_run(p, n);

		buf_add(out, p, used);
		if (used < n && (unsigned char)p[used] >= 0x80) {
			buf_add_lit(out, UTF8_REPLACEMENT);
			used += utf8_broken(p + used, n - used);
		} else if (used < n) {
			write_escape(out, (unsigned char)p[used++]);
		}
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
