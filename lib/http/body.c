/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body: where the body of an HTTP/1 message ends (RFC 9112 §6 and §7).
 *
 * A body with a length counts down. A body without one ends with the connection. A chunked body
 * follows a table: for each state and each kind of byte, the next state. Everything that is not in
 * the table is malformed and stays so, because no row leads out of BAD. Four things are not in the
 * table: the digits of a size are added up, a size of zero leads to the trailers, the length of
 * lines is bounded, and a trailer must not have a name that belongs in the head.
 *
 * Pure: the caller owns struct and bytes; results are slices of those bytes.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>

#include "lib/http/message.h"

enum state {
	BAD,
	SIZE_FIRST, /* at least one digit */
	SIZE,	    /* more digits */
	SIZE_PAD,   /* blanks between the size and an extension */
	EXTENSION,  /* anything printable */
	SIZE_LF,    /* LF of the size line */
	DATA,	    /* `left` bytes of content */
	DATA_CR,    /* CRLF after the content */
	DATA_LF,    /* its LF */
	TRAILER,    /* start of a trailer line, or of the empty line */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF, /* LF of the empty line */
	END,
	STATES
};

enum kind { OTHER, CR, LF, WHITE, SEMICOLON, COLON, HEX, TOKEN, TEXT, KINDS };

static const uint8_t kinds[256] = {
	['\t'] = WHITE,		['\n'] = LF,	       ['\r'] = CR,
	[' '] = WHITE,		['!'] = TOKEN,	       ['"'] = TEXT,
	['#' ... '\''] = TOKEN, ['(' ... ')'] = TEXT,  ['*' ... '+'] = TOKEN,
	[','] = TEXT,		['-' ... '.'] = TOKEN, ['/'] = TEXT,
	['0' ... '9'] = HEX,	[':'] = COLON,	       [';'] = SEMICOLON,
	['<' ... '@'] = TEXT,	['A' ... 'F'] = HEX,   ['G' ... 'Z'] = TOKEN,
	['[' ... ']'] = TEXT,	['^' ... '`'] = TOKEN, ['a' ... 'f'] = HEX,
	['g' ... 'z'] = TOKEN,	['{'] = TEXT,	       ['|'] = TOKEN,
	['}'] = TEXT,		['~'] = TOKEN,	       [0x80 ... 0xff] = TEXT,
};

static const uint8_t next[STATES][KINDS] = {
	[SIZE_FIRST] = { [HEX] = SIZE },
	[SIZE] = { [HEX] = SIZE, [WHITE] = SIZE_PAD, [SEMICOLON] = EXTENSION, [CR] = SIZE_LF },
	[SIZE_PAD] = { [WHITE] = SIZE_PAD, [SEMICOLON] = EXTENSION },
	[EXTENSION] = { [WHITE] = EXTENSION,
			[SEMICOLON] = EXTENSION,
			[COLON] = EXTENSION,
			[HEX] = EXTENSION,
			[TOKEN] = EXTENSION,
			[TEXT] = EXTENSION,
			[CR] = SIZE_LF },
	[SIZE_LF] = { [LF] = DATA },
	[DATA_CR] = { [CR] = DATA_LF },
	[DATA_LF] = { [LF] = SIZE_FIRST },
	[TRAILER] = { [HEX] = TRAILER_NAME, [TOKEN] = TRAILER_NAME, [CR] = LAST_LF },
	[TRAILER_NAME] = { [HEX] = TRAILER_NAME, [TOKEN] = TRAILER_NAME, [COLON] = TRAILER_VALUE },
	[TRAILER_VALUE] = { [WHITE] = TRAILER_VALUE,
			    [SEMICOLON] = TRAILER_VALUE,
			    [COLON] = TRAILER_VALUE,
			    [HEX] = TRAILER_VALUE,
			    [TOKEN] = TRAILER_VALUE,
			    [TEXT] = TRAILER_VALUE,
			    [CR] = TRAILER_LF },
	[TRAILER_LF] = { [LF] = TRAILER },
	[LAST_LF] = { [LF] = END },
};

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* Adds a digit of a chunk's size. */
static enum state add_digit(struct http_body *b, char c)
{
	if (b->left > INT64_MAX >> 4)
		return BAD;
	b->left = b->left << 4 | digit(c);
	return SIZE;
}

/* Keeps the name of a trailer as far as it can be one of those that are refused. */
static enum state add_name(struct http_body *b, char c, bool first)
{
	if (first)
		b->n_name = 0;
	if (b->n_name < sizeof(b->name))
		b->name[b->n_name] = c;
	if (b->n_name <= sizeof(b->name))
		b->n_name++;
	return TRAILER_NAME;
}

static enum state end_name(const struct http_body *b)
{
	bool refused =
		b->n_name <= sizeof(b->name) && !http_may_trail((struct str){ b->name, b->n_name });

	return refused ? BAD : TRAILER_VALUE;
}

/* One byte of framing. */
static enum state step(struct http_body *b, char c)
{
	enum state s = next[b->state][kinds[(uint8_t)c]];

	if (++b->line > (s >= TRAILER ? HTTP_TRAILERS_MAX : HTTP_CHUNK_LINE_MAX))
		return BAD;
	if (s == SIZE)
		return add_digit(b, c);
	if (s == TRAILER_NAME)
		return add_name(b, c, b->state == TRAILER);
	if (s == TRAILER_VALUE && b->state == TRAILER_NAME)
		return end_name(b);
	if (s == DATA || s == SIZE_FIRST)
		b->line = 0;
	return s == DATA && !b->left ? TRAILER : s;
}

/* Trailer lines, up to the empty one. Returns the bytes consumed. */
static size_t feed_trailers(struct http_body *b, const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && b->state != END && b->state != BAD)
		b->state = step(b, p[i++]);
	b->trailer = (struct str){ p, i };
	return i;
}

/* Consumes framing up to the next content, then the content that is there. */
static ssize_t feed_chunked(struct http_body *b, const char *p, size_t n, struct str *ret_content)
{
	size_t i = 0;
	size_t take;

	while (i < n && b->state != DATA && b->state < TRAILER && b->state != BAD)
		b->state = step(b, p[i++]);
	if (b->state >= TRAILER)
		i += feed_trailers(b, p + i, n - i);
	if (b->state == BAD)
		return -EBADMSG;
	b->done = b->state == END;
	if (b->state != DATA)
		return (ssize_t)i;

	take = n - i < b->left ? n - i : (size_t)b->left;
	*ret_content = (struct str){ p + i, take };
	b->left -= take;
	if (!b->left)
		b->state = DATA_CR;
	return (ssize_t)(i + take);
}

static bool has_no_body(const struct http_head *h, struct str method)
{
	if (!h->response)
		return !h->chunked && !h->has_length;
	if (h->status < 200 || h->status == 204 || h->status == 304)
		return true;
	return str_eq(method, STR("HEAD")) || (str_eq(method, STR("CONNECT")) && h->status < 300);
}

void http_body_init(struct http_body *b, const struct http_head *h, struct str method)
{
	assert(b && h && !(h->chunked && h->has_length));

	*b = (struct http_body){ .kind = HTTP_BODY_CLOSE };
	if (has_no_body(h, method)) {
		b->kind = HTTP_BODY_NONE;
		b->done = true;
	} else if (h->chunked) {
		b->kind = HTTP_BODY_CHUNKED;
		b->state = SIZE_FIRST;
	} else if (h->has_length) {
		b->kind = HTTP_BODY_LENGTH;
		b->left = h->length;
		b->done = !h->length;
	}
}

ssize_t http_body_feed(struct http_body *b, const char *p, size_t n, struct str *ret_content)
{
	assert(b && (p || !n) && n <= SSIZE_MAX && ret_content);

	*ret_content = b->trailer = (struct str){ p, 0 };
	if (b->done || !n)
		return 0;
	if (b->kind == HTTP_BODY_CHUNKED)
		return feed_chunked(b, p, n, ret_content);
	if (b->kind == HTTP_BODY_LENGTH) {
		n = n < b->left ? n : (size_t)b->left;
		b->left -= n;
		b->done = !b->left;
	}
	ret_content->n = n;
	return (ssize_t)n;
}

bool http_body_eof(struct http_body *b)
{
	if (b->kind == HTTP_BODY_CLOSE)
		b->done = true;
	return b->done;
}
