/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/trace.h"

#include <string.h>

#define LENGTH (L7_TRACE_SIZE - 1)
#define VERSION_OTHER 0xff /* forbidden */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* n bytes from 2n digits. */
static bool read_hex(const char *p, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int high = digit(p[2 * i]), low = digit(p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

bool l7_trace_parse(struct str value, struct l7_trace *ret)
{
	const char *p = value.p;
	struct l7_trace t;
	uint8_t version;

	if (value.n < LENGTH || !read_hex(p, &version, 1) || version == VERSION_OTHER)
		return false;
	if (value.n > LENGTH && (version == 0 || p[LENGTH] != '-'))
		return false;
	if (p[2] != '-' || p[35] != '-' || p[52] != '-')
		return false;
	if (!read_hex(p + 3, t.id, sizeof(t.id)) || !read_hex(p + 36, t.parent, sizeof(t.parent)) ||
	    !read_hex(p + 53, &t.flags, 1))
		return false;
	if (is_zero(t.id, sizeof(t.id)) || is_zero(t.parent, sizeof(t.parent)))
		return false;
	*ret = t;
	return true;
}

struct l7_trace l7_trace_new(const uint64_t random[3], bool sampled)
{
	struct l7_trace t = { .flags = L7_TRACE_RANDOM | (sampled ? L7_TRACE_SAMPLED : 0) };

	memcpy(t.id, random, sizeof(t.id));
	memcpy(t.parent, random + 2, sizeof(t.parent));
	t.id[15] |= is_zero(t.id, sizeof(t.id));
	t.parent[7] |= is_zero(t.parent, sizeof(t.parent));
	return t;
}

static char *write_hex(char *to, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[p[i] >> 4];
		*to++ = digits[p[i] & 15];
	}
	return to;
}

const char *l7_trace_format(const struct l7_trace *t, char text[L7_TRACE_SIZE])
{
	char *p = text;

	*p++ = '0';
	*p++ = '0';
	*p++ = '-';
	p = write_hex(p, t->id, sizeof(t->id));
	*p++ = '-';
	p = write_hex(p, t->parent, sizeof(t->parent));
	*p++ = '-';
	*write_hex(p, &t->flags, 1) = '\0';
	return text;
}

const char *l7_trace_id(const struct l7_trace *t, char text[L7_TRACE_ID_SIZE])
{
	*write_hex(text, t->id, sizeof(t->id)) = '\0';
	return text;
}
