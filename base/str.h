/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str: slices of bytes, growing buffers, and helpers for text.
 *
 * struct str borrows: it points into memory that something else owns, and is not NUL-terminated.
 * struct buf owns its memory: it grows, and buf_cstr() returns its NUL-terminated text.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

/* A string literal as a slice. */
#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })

static inline struct str str_of(const char *s)
{
	return (struct str){ s, strlen(s) };
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_starts(struct str s, struct str start)
{
	return s.n >= start.n && str_eq((struct str){ s.p, start.n }, start);
}

/* Compares two C strings, either of which may be NULL: NULL equals only NULL. */
bool cstr_eq(const char *a, const char *b);
/* The part of str_ieq() for texts of one length. */
bool str__same_letters(const char *a, const char *b, size_t n);

/* Compares without regard to ASCII case, independent of the locale. */
static inline bool str_ieq(struct str a, struct str b)
{
	return a.n == b.n && str__same_letters(a.p, b.p, a.n);
}

/* s without spaces and tabs at both ends. */
struct str str_trim(struct str s);
/*
 * Cuts the part before the first c off *rest into *ret_part; without a c, all that is left. Returns
 * false, with *ret_part untouched, after the last part. A loop over "a,,b" yields three parts.
 */
bool str_cut(struct str *rest, char c, struct str *ret_part);
/*
 * Parses decimal digits only: no sign, no space. -EINVAL on bad syntax, -ERANGE above max; *ret
 * is untouched then.
 */
int str_to_u64(struct str s, uint64_t max, uint64_t *ret);

/*
 * The length of the valid UTF-8 character at p (1..4), or 0 if the bytes there are not one.
 * Surrogates, overlong forms and code points above U+10FFFF are not valid (RFC 3629).
 */
size_t utf8_char(const char *p, size_t n);
bool utf8_valid(const char *p, size_t n);
/*
 * For bytes at which utf8_char() returned 0: the length of the maximal subpart at p, which is the
 * longest prefix of some valid character, or one byte. It is to be replaced by one U+FFFD, as
 * Unicode recommends and browsers do. n is at least 1.
 */
size_t utf8_broken(const char *p, size_t n);
/*
 * The length of the printable character at p, or 0 if the bytes there are not UTF-8 or are a
 * character that could mislead the reader of a line: control characters, line and paragraph
 * separators, characters that set the direction of text, and invisible ones. ZWNJ and ZWJ count as
 * printable, because Persian, Indic scripts and emoji need them.
 */
size_t utf8_printable(const char *p, size_t n);
/* The number of bytes from p on that are printable characters; n if all are. */
size_t utf8_printable_run(const char *p, size_t n);
/*
 * The length of the longest prefix of at most max bytes that ends with a whole character. Bytes
 * that are not UTF-8 count as one character each.
 */
size_t utf8_fitting(const char *p, size_t n, size_t max);
/* The code point of a valid character, whose length is that of utf8_char(). */
uint32_t utf8_code(const char *p, size_t len);
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* A zeroed struct is an empty buffer. p is not NUL-terminated until buf_cstr(). */
struct buf {
	char *p;
	size_t n, cap;
};

void buf_free(struct buf *b);
/* The rare part of buf_reserve(): there is no room. */
void buf__grow(struct buf *b, size_t extra);

/* Makes room for extra more bytes, so that p + n may be written directly. */
static inline void buf_reserve(struct buf *b, size_t extra)
{
	if (b->cap - b->n < extra)
		buf__grow(b, extra);
}

static inline void buf_add(struct buf *b, const void *p, size_t n)
{
	if (!n)
		return;
	buf_reserve(b, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void buf_addc(struct buf *b, char c)
{
	buf_reserve(b, 1);
	b->p[b->n++] = c;
}

void buf_adds(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Appends text as valid UTF-8, with one U+FFFD for each maximal subpart that is invalid. */
void buf_add_utf8(struct buf *b, const char *p, size_t n);
/*
 * Appends at most max bytes of text from outside in a form that is safe in a line for people: what
 * is not printable is escaped, "\x1b" for ASCII and for bytes that are not UTF-8, "\u202e" for
 * others. "..." follows a text that was cut.
 */
void buf_add_shown(struct buf *b, struct str text, size_t max);
/* Appends v in decimal without the cost of printf(). */
void buf_addu(struct buf *b, uint64_t v);
/* Removes the first n bytes and moves the rest to the front. */
void buf_consume(struct buf *b, size_t n);
/* The NUL-terminated text; valid until the next change of the buffer. */
const char *buf_cstr(struct buf *b);

#define buf_add_lit(b, literal) buf_add((b), "" literal, sizeof(literal) - 1)
