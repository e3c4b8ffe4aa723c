/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

bool cstr_eq(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* tolower() depends on the locale; protocol keywords do not. */
static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

#define ALL(byte) (0x0101010101010101u * (byte))

/* Eight bytes at once. A sum has bit 7 if its byte is at or above a letter; none carries over. */
static uint64_t lower_word(const char *p)
{
	uint64_t word, ascii, from_a, above_z;

	memcpy(&word, p, sizeof(word));
	ascii = word & ALL(0x7f);
	from_a = ascii + ALL(0x80 - 'A');
	above_z = ascii + ALL(0x7f - 'Z');
	return word | ((from_a ^ above_z) & ~word & ALL(0x80)) >> 2;
}

/* The last word may overlap the one before it. */
static bool same_words(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i + sizeof(uint64_t) < n; i += sizeof(uint64_t))
		if (lower_word(a + i) != lower_word(b + i))
			return false;
	n -= sizeof(uint64_t);
	return lower_word(a + n) == lower_word(b + n);
}

bool str__same_letters(const char *a, const char *b, size_t n)
{
	if (n >= sizeof(uint64_t))
		return same_words(a, b, n);
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i] && lower(a[i]) != lower(b[i]))
			return false;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct str str_trim(struct str s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* rest->p == NULL marks the end, so that an empty last part ("a," has two) is still returned. */
bool str_cut(struct str *rest, char c, struct str *ret_part)
{
	const char *at;

	if (!rest->p)
		return false;

	at = rest->n ? memchr(rest->p, c, rest->n) : NULL;
	if (!at) {
		*ret_part = *rest;
		*rest = (struct str){ 0 };
		return true;
	}
	*ret_part = (struct str){ rest->p, (size_t)(at - rest->p) };
	rest->n -= ret_part->n + 1;
	rest->p = at + 1;
	return true;
}

/* All digits are checked before the range, so that "99...9x" is -EINVAL and not -ERANGE. */
int str_to_u64(struct str s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	bool fits = true;

	if (!s.n)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -EINVAL;
		fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
		       !__builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v);
	}
	if (!fits || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/*
 * The well-formed byte sequences of RFC 3629 (table 3-7 of the Unicode standard): the ranges of
 * the lead byte, the length, and the range of the second byte. The other bytes are 80..BF. The
 * limits of the second byte exclude overlong forms, surrogates and code points above U+10FFFF.
 */
static const struct {
	unsigned char lead_lo, lead_hi, len, second_lo, second_hi;
} utf8_rows[] = {
	{ 0x00, 0x7f, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

size_t utf8_char(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t row;

	for (row = 0; n && row < sizeof(utf8_rows) / sizeof(utf8_rows[0]); row++)
		if (u[0] >= utf8_rows[row].lead_lo && u[0] <= utf8_rows[row].lead_hi)
			break;
	if (!n || row == sizeof(utf8_rows) / sizeof(utf8_rows[0]) || n < utf8_rows[row].len)
		return 0;
	for (size_t i = 1; i < utf8_rows[row].len; i++) {
		unsigned char lo = i == 1 ? utf8_rows[row].second_lo : 0x80;
		unsigned char hi = i == 1 ? utf8_rows[row].second_hi : 0xbf;

		if (u[i] < lo || u[i] > hi)
			return 0;
	}
	return utf8_rows[row].len;
}

/*
 * The length of the ASCII run at p, in whole words: most text is ASCII, and this is several times
 * faster than the table. A shorter rest is left to utf8_char().
 */
static size_t ascii_run(const char *p, size_t n)
{
	size_t run = 0;
	uint64_t word;

	for (; n - run >= sizeof(word); run += sizeof(word)) {
		memcpy(&word, p + run, sizeof(word));
		if (word & 0x8080808080808080u)
			break;
	}
	return run;
}

bool utf8_valid(const char *p, size_t n)
{
	while (n) {
		size_t len = ascii_run(p, n);

		if (!len)
			len = utf8_char(p, n);
		if (!len)
			return false;
		p += len;
		n -= len;
	}
	return true;
}

/*
 * A prefix is a subpart if some continuation makes it valid. 80 is tried as continuation:
 * whenever a prefix of two or three bytes can be completed, 80 bytes complete it.
 */
size_t utf8_broken(const char *p, size_t n)
{
	assert(n && !utf8_char(p, n));
	for (size_t len = n < 3 ? n : 3; len > 1; len--) {
		char completed[4] = "\x80\x80\x80\x80";

		memcpy(completed, p, len);
		if (utf8_char(completed, sizeof(completed)) > len)
			return len;
	}
	return 1;
}

uint32_t utf8_code(const char *p, size_t len)
{
	uint32_t c = (unsigned char)p[0] & (len == 1 ? 0x7f : 0x7f >> len);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* The characters that utf8_printable() refuses, in ascending order. */
static const struct {
	uint32_t first, last;
} misleading[] = {
	{ 0x0000, 0x001f },   /* C0 */
	{ 0x007f, 0x009f },   /* DEL and C1, some of which terminals take for escape sequences */
	{ 0x00ad, 0x00ad },   /* soft hyphen: invisible */
	{ 0x061c, 0x061c },   /* Arabic letter mark: direction */
	{ 0x180e, 0x180e },   /* Mongolian vowel separator: invisible */
	{ 0x200b, 0x200b },   /* zero width space */
	{ 0x200e, 0x200f },   /* left-to-right and right-to-left mark */
	{ 0x2028, 0x202e },   /* line and paragraph separator; embeddings and overrides */
	{ 0x2060, 0x206f },   /* invisible operators, isolates, deprecated format characters */
	{ 0xfeff, 0xfeff },   /* byte order mark: invisible */
	{ 0xfff9, 0xfffb },   /* interlinear annotation */
	{ 0xe0000, 0xe007f }, /* tags: invisible */
};

size_t utf8_printable(const char *p, size_t n)
{
	size_t len;
	uint32_t c;

	if (n && *p >= ' ' && *p < 0x7f)
		return 1; /* most text is ASCII */
	len = utf8_char(p, n);
	if (!len)
		return 0;
	c = utf8_code(p, len);
	for (size_t i = 0; i < sizeof(misleading) / sizeof(misleading[0]); i++)
		if (c <= misleading[i].last)
			return c < misleading[i].first ? len : 0;
	return len;
}

size_t utf8_printable_run(const char *p, size_t n)
{
	size_t run = 0, len;

	while (run < n && (len = utf8_printable(p + run, n - run)))
		run += len;
	return run;
}

size_t utf8_fitting(const char *p, size_t n, size_t max)
{
	size_t used = 0;

	while (used < n) {
		size_t len = utf8_char(p + used, n - used);

		len = len ? len : 1;
		if (used + len > max)
			break;
		used += len;
	}
	return used;
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

void buf__grow(struct buf *b, size_t extra)
{
	assert(extra < SIZE_MAX / 2);
	b->cap = mem_grown(b->cap, 64, b->n + extra);
	b->p = mem_resize(b->p, b->cap, 1);
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

/* Formats twice: once for the length, once into place. The NUL is written but not counted. */
void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	assert(n >= 0);
	buf_reserve(b, (size_t)n + 1);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
	va_end(again);
	b->n += (size_t)n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_add_utf8(struct buf *b, const char *p, size_t n)
{
	while (n) {
		size_t len = utf8_char(p, n);

		if (len) {
			buf_add(b, p, len);
		} else {
			len = utf8_broken(p, n);
			buf_add_lit(b, UTF8_REPLACEMENT);
		}
		p += len;
		n -= len;
	}
}

#define ESCAPE_STRLEN sizeof("\\u{10ffff}")

/* Writes the escape of the character or bad byte at p; returns the bytes that it stands for. */
static size_t escape(const char *p, size_t n, char out[static ESCAPE_STRLEN])
{
	size_t len = utf8_char(p, n);
	uint32_t c = len ? utf8_code(p, len) : (unsigned char)*p;

	snprintf(out, ESCAPE_STRLEN, len <= 1 ? "\\x%02x" : c <= 0xffff ? "\\u%04x" : "\\u{%x}", c);
	return len ? len : 1;
}

void buf_add_shown(struct buf *b, struct str text, size_t max)
{
	char escaped[ESCAPE_STRLEN];

	while (text.n) {
		size_t len = utf8_printable(text.p, text.n), shown = len;
		const char *p = text.p;

		if (!len) {
			len = escape(text.p, text.n, escaped);
			p = escaped;
			shown = strlen(escaped);
		}
		if (shown > max) {
			buf_add_lit(b, "...");
			return;
		}
		buf_add(b, p, shown);
		max -= shown;
		text = (struct str){ text.p + len, text.n - len };
	}
}

/* 20 digits hold UINT64_MAX. */
void buf_addu(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	buf_add(b, digits + i, sizeof(digits) - i);
}

void buf_consume(struct buf *b, size_t n)
{
	assert(n <= b->n);
	if (!n)
		return;
	b->n -= n;
	memmove(b->p, b->p + n, b->n);
}

const char *buf_cstr(struct buf *b)
{
	buf_reserve(b, 1);
	b->p[b->n] = '\0';
	return b->p;
}
