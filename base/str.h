/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str: slices of bytes, growing buffers, and what text needs everywhere.
 *
 * struct str borrows: it points into somebody else's memory and is not NUL-terminated. struct buf
 * owns: it grows, and buf_cstr() gives its NUL-terminated text.
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

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })

static inline struct str str_of(const char *s)
{
	return (struct str){ s, strlen(s) };
}

bool str_eq(struct str a, struct str b);
bool str_starts(struct str s, struct str start);
/* Two C strings, either of which may be NULL: that is like no other but NULL. */
bool cstr_eq(const char *a, const char *b);
/* ASCII case-insensitive, whatever the locale. */
bool str_ieq(struct str a, struct str b);
/* Without spaces and tabs at both ends. */
struct str str_trim(struct str s);
/*
 * Cuts the part before the first c off *rest and returns it; without a c, all of it. True while
 * there was something to cut.
 */
bool str_cut(struct str *rest, char c, struct str *ret_part);
/* Decimal digits only, no sign, no space. -EINVAL, or -ERANGE above max; *ret untouched then. */
int str_to_u64(struct str s, uint64_t max, uint64_t *ret);

/*
 * Length of the valid UTF-8 character at p (1..4), or 0 when the bytes there are not one.
 * Surrogates, overlong forms and what lies above U+10FFFF are not valid.
 */
size_t utf8_char(const char *p, size_t n);
bool utf8_valid(const char *p, size_t n);
/*
 * Where utf8_char() finds none: the length of the maximal subpart at p, the longest beginning that
 * some other bytes would have completed, or one byte. One U+FFFD stands for it, as browsers do it.
 */
size_t utf8_broken(const char *p, size_t n);
/* Whether p, NUL-terminated, begins with a control character: C0, DEL or C1. */
bool utf8_is_control(const char *p);
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

struct buf {
	char *p;
	size_t n, cap;
};

void buf_free(struct buf *b);
void buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Adds text as valid UTF-8: a U+FFFD for each maximal subpart of what is not. */
void buf_add_utf8(struct buf *b, const char *p, size_t n);
/* Adds decimal digits without going through printf. */
void buf_addu(struct buf *b, uint64_t v);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
/* NUL-terminated view, valid until the next change. */
const char *buf_cstr(struct buf *b);

#define buf_add_lit(b, literal) buf_add((b), "" literal, sizeof(literal) - 1)
