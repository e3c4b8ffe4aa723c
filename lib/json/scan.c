/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: strings and numbers.
 *
 * Most bytes of a string need no interpretation; they are skipped eight at a time. The rest is
 * handled in units: an escape (with both halves of a surrogate pair) or a UTF-8 character. An
 * incomplete unit is left for the next call; an invalid unit is reported at its first byte.
 */
#include "lib/json/scan.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>

/* ---- strings ---- */

#define EACH(byte) (0x0101010101010101u * (byte))

/*
 * Sets the highest bit of each byte that is zero; exact up to the first such byte, because a
 * borrow can only affect bytes above it.
 */
static uint64_t zero_bytes(uint64_t word)
{
	return (word - EACH(0x01)) & ~word & EACH(0x80);
}

/*
 * Sets the highest bit of each byte that ends a plain run: control characters, quote, backslash
 * and non-ASCII. Exact up to the first one.
 */
static uint64_t special_bytes(uint64_t word)
{
	uint64_t control = (word - EACH(0x20)) & ~word & EACH(0x80);

	return control | (word & EACH(0x80)) | zero_bytes(word ^ EACH('"')) |
	       zero_bytes(word ^ EACH('\\'));
}

/* The number of bytes that are ASCII and need no escaping. */
static size_t plain_run(const char *p, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; n - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		word = special_bytes(le64toh(word));
		if (word)
			return i + (size_t)__builtin_ctzll(word) / 8;
	}
	for (; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
			break;
	}
	return i;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads the unit \uXXXX. 1; 0 if the bytes so far may become one; -EINVAL if they cannot. */
static int read_unit(struct str in, unsigned *ret)
{
	unsigned value = 0;

	for (size_t i = 0; i < 6; i++) {
		if (i == in.n)
			return 0;
		if (i < 2 ? in.p[i] != "\\u"[i] : digit_of(in.p[i]) < 0)
			return -EINVAL;
		value = i < 2 ? 0 : value << 4 | (unsigned)digit_of(in.p[i]);
	}
	*ret = value;
	return 1;
}

static bool is_high(unsigned unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(unsigned unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* in begins with the complete first half of a surrogate pair (RFC 8259, section 7). */
static int take_pair(struct str in, struct json__scan *scan, const char **wrong)
{
	unsigned second;
	int r = read_unit((struct str){ in.p + 6, in.n - 6 }, &second);

	if (r == 0)
		return 0;
	if (r < 0 || !is_low(second)) {
		*wrong = "the first half of a surrogate pair is not followed by the second";
		return -EINVAL;
	}
	scan->n += 12;
	return 1;
}

static int take_unicode(struct str in, bool no_nul, struct json__scan *scan, const char **wrong)
{
	unsigned unit;
	int r = read_unit(in, &unit);

	if (r == 0)
		return 0;
	if (r > 0 && is_high(unit))
		return take_pair(in, scan, wrong);
	if (r < 0)
		*wrong = "four hexadecimal digits are wanted after \\u";
	else if (is_low(unit))
		*wrong = "the second half of a surrogate pair has no first";
	else if (no_nul && !unit)
		*wrong = "a string must not contain NUL";
	else
		scan->n += 6;
	return *wrong ? -EINVAL : 1;
}

/* in begins with a backslash. An incomplete escape is left until more bytes arrive. */
static int take_escape(struct str in, bool no_nul, struct json__scan *scan, const char **wrong)
{
	scan->escaped = true;
	if (in.n < 2)
		return 0;
	if (in.p[1] == 'u')
		return take_unicode(in, no_nul, scan, wrong);
	if (!in.p[1] || !strchr("\"\\/bfnrt", in.p[1])) {
		*wrong = "a backslash must be followed by one of \" \\ / b f n r t u";
		return -EINVAL;
	}
	scan->n += 2;
	return 1;
}

/* Whether more bytes could complete the character that these begin. */
static bool may_be_completed(struct str in)
{
	unsigned char lead = (unsigned char)in.p[0];

	if (in.n == 1)
		return lead >= 0xc2 && lead <= 0xf4;
	return in.n < 4 && utf8_broken(in.p, in.n) == in.n;
}

/* in begins with a byte above 0x7f. Only the first byte of a character counts as a column. */
static int take_wide(struct str in, struct json__scan *scan, const char **wrong)
{
	size_t len = utf8_char(in.p, in.n);

	if (!len && may_be_completed(in))
		return 0;
	if (!len) {
		*wrong = "the bytes are not UTF-8";
		return -EINVAL;
	}
	scan->n += len;
	scan->wide += len - 1;
	return 1;
}

/* Each round skips a plain run and takes one unit; scan->n only moves past complete units. */
int json__scan_string(struct str in, bool no_nul, struct json__scan *scan, const char **wrong)
{
	int r;

	*wrong = NULL;
	if (!scan->n && in.n)
		scan->n = 1;
	do {
		struct str rest;

		scan->n += plain_run(in.p + scan->n, in.n - scan->n);
		if (scan->n == in.n)
			return 0;
		rest = (struct str){ in.p + scan->n, in.n - scan->n };
		if (*rest.p == '"') {
			scan->n++;
			return 1;
		}
		if (*rest.p == '\\') {
			r = take_escape(rest, no_nul, scan, wrong);
		} else if ((unsigned char)*rest.p >= 0x80) {
			r = take_wide(rest, scan, wrong);
		} else {
			*wrong = "a control character in a string must be escaped";
			r = -EINVAL;
		}
	} while (r > 0);
	return r;
}

/* Appends a code point as UTF-8. */
static void add_character(struct buf *out, unsigned c)
{
	char bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; c >>= 6)
		bytes[i] = (char)(0x80 | (c & 0x3f));
	bytes[0] = (char)(lead[n] | c);
	buf_add(out, bytes, n);
}

/* Appends one escape of a scanned, and therefore valid, string; returns its length. */
static size_t add_escape(struct str in, struct buf *out)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	unsigned unit = 0, second = 0;

	if (in.p[1] != 'u') {
		buf_addc(out, meant[strchr(letters, in.p[1]) - letters]);
		return 2;
	}
	read_unit(in, &unit);
	if (!is_high(unit)) {
		add_character(out, unit);
		return 6;
	}
	read_unit((struct str){ in.p + 6, in.n - 6 }, &second);
	add_character(out, 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00));
	return 12;
}

void json__unescape(struct str inside, struct buf *out)
{
	buf_reserve(out, inside.n);
	while (inside.n) {
		const char *escape = memchr(inside.p, '\\', inside.n);
		size_t used = escape ? (size_t)(escape - inside.p) : inside.n;

		buf_add(out, inside.p, used);
		if (escape)
			used += add_escape((struct str){ escape, inside.n - used }, out);
		inside.p += used;
		inside.n -= used;
	}
}

/* ---- numbers ---- */

/* States: the part of the number that was read last (RFC 8259, section 6). */
enum { START, MINUS, ZERO, WHOLE, POINT, FRACTION, EXPONENT, SIGN, POWER, STATES };
enum { OTHER, DIGIT_0, DIGIT, DASH, PLUS, DOT, LETTER_E, CLASSES };

#define NO 0xff	 /* the byte is not allowed here */
#define END 0xfe /* the number ends before it */

static const unsigned char number_steps[STATES][CLASSES] = {
	/*              other  0         1-9       -      +      .      e */
	[START] = { NO, ZERO, WHOLE, MINUS, NO, NO, NO },
	[MINUS] = { NO, ZERO, WHOLE, NO, NO, NO, NO },
	[ZERO] = { END, NO, NO, END, END, POINT, EXPONENT },
	[WHOLE] = { END, WHOLE, WHOLE, END, END, POINT, EXPONENT },
	[POINT] = { NO, FRACTION, FRACTION, NO, NO, NO, NO },
	[FRACTION] = { END, FRACTION, FRACTION, END, END, END, EXPONENT },
	[EXPONENT] = { NO, POWER, POWER, SIGN, SIGN, NO, NO },
	[SIGN] = { NO, POWER, POWER, NO, NO, NO, NO },
	[POWER] = { END, POWER, POWER, END, END, END, END },
};

static unsigned class_of(char c)
{
	if (c >= '0' && c <= '9')
		return c == '0' ? DIGIT_0 : DIGIT;
	switch (c) {
	case '-':
		return DASH;
	case '+':
		return PLUS;
	case '.':
		return DOT;
	case 'e':
	case 'E':
		return LETTER_E;
	default:
		return OTHER;
	}
}

/* A state in which any other byte ends the number is a complete number. */
bool json__number_complete(const struct json__scan *scan, const char **wrong)
{
	*wrong = scan->state == ZERO ? "a number must not begin with 0 and another digit"
				     : "a digit is wanted";
	return number_steps[scan->state][OTHER] == END;
}

int json__scan_number(struct str in, struct json__scan *scan, const char **wrong)
{
	for (; scan->n < in.n; scan->n++) {
		unsigned next = number_steps[scan->state][class_of(in.p[scan->n])];

		if (next == END)
			return 1;
		if (next == NO) {
			json__number_complete(scan, wrong);
			return -EINVAL;
		}
		scan->state = next;
	}
	return 0;
}
