/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader: the grammar of JSON as a small state machine.
 *
 * The machine knows what may come next (enum expect) and, in one bit per level, whether the level
 * is an object; nesting needs no other state. One step skips white space and takes one token,
 * comma or colon. A token is taken only when it is complete. Until then its bytes stay in place,
 * scan remembers how many of them are valid, and the place of its beginning is known.
 *
 * Bytes: `in` is the unused input. It is the caller's own piece where possible. When a piece ends
 * inside a token, the rest of the piece is copied into `own` and the next piece is appended
 * there.
 *
 * Limits work by hiding bytes: the machine never looks past the last byte that a document may
 * have (`end`), or past the longest string. A token that does not end before that exceeds the
 * limit. So a text fails with the same message at the same place, however it was cut into pieces.
 */
#include "lib/json/reader.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lib/json/scan.h"

/* What may come next. EXPECT_VALUE comes after a colon or after a comma in an array. */
enum expect {
	EXPECT_DOCUMENT,
	EXPECT_VALUE,
	EXPECT_FIRST_ELEMENT,
	EXPECT_NEXT_ELEMENT,
	EXPECT_FIRST_KEY,
	EXPECT_KEY,
	EXPECT_COLON,
	EXPECT_NEXT_MEMBER,
	EXPECT_NOTHING,
};

static const char *const wanted[] = {
	[EXPECT_DOCUMENT] = "a value",
	[EXPECT_VALUE] = "a value",
	[EXPECT_FIRST_ELEMENT] = "a value or ']'",
	[EXPECT_NEXT_ELEMENT] = "',' or ']'",
	[EXPECT_FIRST_KEY] = "a key in double quotes or '}'",
	[EXPECT_KEY] = "a key in double quotes",
	[EXPECT_COLON] = "':'",
	[EXPECT_NEXT_MEMBER] = "',' or '}'",
	[EXPECT_NOTHING] = "the end of the text",
};

/*
 * The result of a step; errors are negative. STEP_ON: a comma, a colon or a skipped token was
 * taken, and the next step can follow at once.
 */
enum { STEP_MORE, STEP_TOKEN, STEP_ON };

struct json_reader {
	struct json_limits limits;
	bool stream, no_nul;
	bool ended;
	bool failed;

	struct str in;
	size_t at;	 /* bytes of in that are used */
	size_t end;	 /* bytes of in that may be read */
	uint64_t base;	 /* offset of in's first byte */
	struct buf own;	 /* copy of the input when a piece ended inside a token */
	struct buf text; /* of the last string that had escapes */

	enum expect expect;
	bool in_document;
	bool document_ended; /* JSON_TOKEN_DOCUMENT_END is due */
	bool tight;	/* the last document was a word or number, without white space after it */
	uint64_t begin; /* offset of the document */
	size_t members; /* in this document, against the limit */
	struct json__scan scan;

	unsigned depth;
	uint64_t objects[JSON_DEPTH_MAX / 64]; /* one bit per level: it is an object */

	enum json_token_kind last;
	bool skipping;
	unsigned skip_to; /* the depth at which the skipped value ends */

	unsigned line;
	uint64_t line_begin;
	uint64_t wide; /* continuation bytes of the line, which are no columns */

	struct err error;
	char words[160]; /* text of the error */
};

/* ---- places and errors ---- */

/* The place of a byte of the current line; `wide` counts the continuation bytes since r->at. */
static struct place place_of(const struct json_reader *r, size_t index, size_t wide)
{
	uint64_t column = r->base + index - r->line_begin - r->wide - wide + 1;

	return (struct place){ .line = r->line,
			       .column = column < UINT_MAX ? (unsigned)column : UINT_MAX };
}

__attribute__((format(printf, 3, 4))) static int fail_at(struct json_reader *r, struct place at,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->words, sizeof(r->words), fmt, ap);
	va_end(ap);
	r->error = (struct err){ .at = at, .key = "", .text = r->words };
	r->failed = true;
	return -EINVAL;
}

/* Fails at the place that the scan of the current token has reached. */
static int fail_in_token(struct json_reader *r, const char *text)
{
	return fail_at(r, place_of(r, r->at + r->scan.n, r->scan.wide), "%s", text);
}

/*
 * Only ASCII is quoted: the other bytes of a longer character may not have arrived, and the
 * message must not depend on that.
 */
static int fail_unexpected(struct json_reader *r)
{
	unsigned char c = (unsigned char)r->in.p[r->at];
	struct place at = place_of(r, r->at, 0);

	if (c > 0x20 && c < 0x7f)
		return fail_at(r, at, "%s is wanted, not '%c'", wanted[r->expect], c);
	return fail_at(r, at, "%s is wanted, not the byte 0x%02x", wanted[r->expect], c);
}

/*
 * More bytes are needed for the current token. That is an error if the document has reached its
 * limit, or if no more will come; at_end is the message for the latter.
 */
static int need_more(struct json_reader *r, const char *at_end)
{
	if (r->end < r->in.n)
		return fail_at(r, place_of(r, r->at, 0), "the document has more than %zu bytes",
			       r->limits.bytes);
	if (r->ended)
		return fail_in_token(r, at_end);
	return STEP_MORE;
}

/* For strings, keys and numbers. The place is the beginning, where a user looks for the error. */
static int fail_too_long(struct json_reader *r)
{
	return fail_at(r, place_of(r, r->at, 0), "longer than %zu bytes", r->limits.string);
}

/* ---- the state ---- */

/* Limits the visible part of in to what the document may have. */
static void set_window(struct json_reader *r)
{
	uint64_t left = r->begin + r->limits.bytes - r->base;

	r->end = r->in_document && left < r->in.n ? (size_t)left : r->in.n;
}

/* Whether the innermost open level is an object; false at the top. */
static bool in_object(const struct json_reader *r)
{
	unsigned level = r->depth - 1;

	return r->depth && r->objects[level / 64] >> level % 64 & 1;
}

/* Counts a member or element; their number bounds the cost of a tree. */
static int count_member(struct json_reader *r)
{
	if (r->members == r->limits.members)
		return fail_at(r, place_of(r, r->at, 0), "more than %zu members and elements",
			       r->limits.members);
	r->members++;
	return 0;
}

/*
 * A value is complete: what may follow depends on its container. The end of a document has a
 * token of its own, which the next step returns before it looks at any byte.
 */
static void expect_after_value(struct json_reader *r)
{
	if (!r->depth)
		r->document_ended = true;
	else
		r->expect = in_object(r) ? EXPECT_NEXT_MEMBER : EXPECT_NEXT_ELEMENT;
}

/*
 * Fills in the token of n bytes at r->at and uses the bytes. A skipped token is not filled in;
 * the step then only checks the text.
 */
static int give(struct json_reader *r, enum json_token_kind kind, size_t n, struct json_token *ret)
{
	r->last = kind;
	if (!r->skipping) {
		ret->kind = kind;
		ret->at = place_of(r, r->at, 0);
		ret->offset = r->base + r->at;
		ret->text = (struct str){ 0 };
	}
	r->at += n;
	return STEP_TOKEN;
}

/* The token of the scanned string or number at r->at; trim is 1 if it has quotes. */
static int give_text(struct json_reader *r, enum json_token_kind kind, size_t trim,
		     struct json_token *ret)
{
	struct str inside = { r->in.p + r->at + trim, r->scan.n - 2 * trim };
	size_t wide = r->scan.wide;

	if (!r->skipping && r->scan.escaped) {
		r->text.n = 0;
		json__unescape(inside, &r->text);
		inside = (struct str){ r->text.p, r->text.n };
	}
	give(r, kind, r->scan.n, ret);
	if (!r->skipping)
		ret->text = inside;
	r->wide += wide;
	r->scan = (struct json__scan){ 0 };
	return STEP_TOKEN;
}

/* ---- tokens ---- */

/* Scans a string or key; r->at is its opening quote. 1 if it is complete. */
static int complete_string(struct json_reader *r)
{
	size_t most = r->limits.string + 2, n = r->end - r->at;
	const char *wrong;
	int e = json__scan_string((struct str){ r->in.p + r->at, n < most ? n : most }, r->no_nul,
				  &r->scan, &wrong);

	if (e < 0)
		return fail_in_token(r, wrong);
	if (e == 0)
		return n >= most ? fail_too_long(r) : need_more(r, "the text ends inside a string");
	return 1;
}

/*
 * A number is complete when the next byte does not belong to it; that byte may be just outside
 * the document's limit.
 */
static int complete_number(struct json_reader *r)
{
	size_t most = r->limits.string + 1;
	size_t n = (r->end < r->in.n ? r->end + 1 : r->end) - r->at;
	const char *wrong;
	int e = json__scan_number((struct str){ r->in.p + r->at, n < most ? n : most }, &r->scan,
				  &wrong);

	if (e < 0)
		return fail_in_token(r, wrong);
	if (e > 0)
		return 1;
	if (n >= most)
		return fail_too_long(r);
	if (r->ended && r->end == r->in.n && json__number_complete(&r->scan, &wrong))
		return 1;
	return need_more(r, "a digit is wanted, not the end of the text");
}

static int take_string(struct json_reader *r, struct json_token *ret)
{
	int e = complete_string(r);

	if (e <= 0)
		return e;
	expect_after_value(r);
	return give_text(r, JSON_TOKEN_STRING, 1, ret);
}

static int take_number(struct json_reader *r, struct json_token *ret)
{
	int e = complete_number(r);

	if (e <= 0)
		return e;
	r->tight = !r->depth;
	expect_after_value(r);
	return give_text(r, JSON_TOKEN_NUMBER, 0, ret);
}

/*
 * true, false or null; the first letter is known. A word is short enough to be compared from its
 * beginning again when more bytes have arrived.
 */
static int take_word(struct json_reader *r, struct str word, enum json_token_kind kind,
		     struct json_token *ret)
{
	size_t n = r->end - r->at;

	if (memcmp(r->in.p + r->at, word.p, n < word.n ? n : word.n) != 0)
		return fail_at(r, place_of(r, r->at, 0), "the only words are true, false and null");
	if (n < word.n)
		return need_more(r, "the text ends inside a word");
	r->tight = !r->depth;
	expect_after_value(r);
	return give(r, kind, word.n, ret);
}

/* The kind of a level is kept in one bit, because its closing bracket must match. */
static int open_level(struct json_reader *r, bool object, struct json_token *ret)
{
	uint64_t bit = (uint64_t)1 << r->depth % 64, *word = &r->objects[r->depth / 64];

	if (r->depth == r->limits.depth)
		return fail_at(r, place_of(r, r->at, 0), "nested deeper than %u levels",
			       r->limits.depth);
	*word = object ? *word | bit : *word & ~bit;
	r->depth++;
	r->expect = object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
	return give(r, object ? JSON_TOKEN_OBJECT : JSON_TOKEN_ARRAY, 1, ret);
}

static int close_level(struct json_reader *r, enum json_token_kind kind, struct json_token *ret)
{
	r->depth--;
	expect_after_value(r);
	return give(r, kind, 1, ret);
}

/* ---- steps, by what is expected ---- */

static int take_value(struct json_reader *r, struct json_token *ret)
{
	switch (r->in.p[r->at]) {
	case '"':
		return take_string(r, ret);
	case '{':
		return open_level(r, true, ret);
	case '[':
		return open_level(r, false, ret);
	case 't':
		return take_word(r, STR("true"), JSON_TOKEN_TRUE, ret);
	case 'f':
		return take_word(r, STR("false"), JSON_TOKEN_FALSE, ret);
	case 'n':
		return take_word(r, STR("null"), JSON_TOKEN_NULL, ret);
	case '-':
	case '0' ... '9':
		return take_number(r, ret);
	default:
		return fail_unexpected(r);
	}
}

/*
 * The first value of a document. Two documents may touch, as in {}{}, unless the first is a word
 * or a number and the second is one too: truefalse is an error.
 */
static int take_document(struct json_reader *r, struct json_token *ret)
{
	char c = r->in.p[r->at];

	if (!r->in_document) {
		if (r->tight && c != '{' && c != '[' && c != '"')
			return fail_at(r, place_of(r, r->at, 0),
				       "white space is wanted between two values");
		r->tight = false;
		r->in_document = true;
		r->begin = r->base + r->at;
		r->members = 0;
		set_window(r);
	}
	return take_value(r, ret);
}

/*
 * An element is counted when its token is complete; if more bytes are needed the count is taken
 * back, since the step is repeated.
 */
static int take_element(struct json_reader *r, struct json_token *ret)
{
	int e = count_member(r);

	if (e < 0)
		return e;
	e = take_value(r, ret);
	if (e == STEP_MORE)
		r->members--;
	return e;
}

static int take_key(struct json_reader *r, struct json_token *ret)
{
	int e;

	if (r->in.p[r->at] != '"')
		return fail_unexpected(r);
	e = complete_string(r);
	if (e <= 0)
		return e;
	if (count_member(r) < 0)
		return -EINVAL;
	r->expect = EXPECT_COLON;
	return give_text(r, JSON_TOKEN_KEY, 1, ret);
}

/* Takes a comma or colon, which yields no token. */
static int pass(struct json_reader *r, enum expect next)
{
	r->at++;
	r->expect = next;
	return STEP_ON;
}

/* No default: the compiler reports a forgotten state. */
static int take_next(struct json_reader *r, struct json_token *ret)
{
	char c = r->in.p[r->at];

	switch (r->expect) {
	case EXPECT_DOCUMENT:
		return take_document(r, ret);
	case EXPECT_FIRST_ELEMENT:
		return c == ']' ? close_level(r, JSON_TOKEN_ARRAY_END, ret) : take_element(r, ret);
	case EXPECT_VALUE:
		return in_object(r) ? take_value(r, ret) : take_element(r, ret);
	case EXPECT_NEXT_ELEMENT:
		if (c == ',')
			return pass(r, EXPECT_VALUE);
		return c == ']' ? close_level(r, JSON_TOKEN_ARRAY_END, ret) : fail_unexpected(r);
	case EXPECT_FIRST_KEY:
		return c == '}' ? close_level(r, JSON_TOKEN_OBJECT_END, ret) : take_key(r, ret);
	case EXPECT_KEY:
		return take_key(r, ret);
	case EXPECT_COLON:
		return c == ':' ? pass(r, EXPECT_VALUE) : fail_unexpected(r);
	case EXPECT_NEXT_MEMBER:
		if (c == ',')
			return pass(r, EXPECT_KEY);
		return c == '}' ? close_level(r, JSON_TOKEN_OBJECT_END, ret) : fail_unexpected(r);
	case EXPECT_NOTHING:
		return fail_unexpected(r);
	}
	abort();
}

/*
 * Newlines occur only between tokens, since a raw newline in a string is an error. So lines are
 * counted only here, and the counts for columns start again.
 */
static void skip_space(struct json_reader *r)
{
	for (; r->at < r->end; r->at++) {
		char c = r->in.p[r->at];

		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return;
		r->tight = false;
		if (c != '\n')
			continue;
		r->line += r->line < UINT_MAX;
		r->line_begin = r->base + r->at + 1;
		r->wide = 0;
	}
}

/* After this the limits of the document hide no bytes any more. */
static int give_document_end(struct json_reader *r, struct json_token *ret)
{
	r->document_ended = false;
	r->in_document = false;
	r->expect = r->stream ? EXPECT_DOCUMENT : EXPECT_NOTHING;
	set_window(r);
	return give(r, JSON_TOKEN_DOCUMENT_END, 0, ret);
}

/* The text may end between documents, but a single document must be present. */
static bool may_end(const struct json_reader *r)
{
	return r->expect == EXPECT_NOTHING || (r->stream && r->expect == EXPECT_DOCUMENT);
}

/*
 * Takes one token, comma or colon. The end of the bytes is correct only between documents and
 * after json_end(); otherwise more bytes are needed, or the text is cut off.
 */
static int step(struct json_reader *r, struct json_token *ret)
{
	if (r->document_ended)
		return give_document_end(r, ret);
	/* an incomplete token is at r->at, without white space before it */
	skip_space(r);
	if (r->at < r->end)
		return take_next(r, ret);
	if (r->end == r->in.n && r->ended && !may_end(r))
		return fail_at(r, place_of(r, r->at, 0), "%s is wanted, not the end of the text",
			       wanted[r->expect]);
	return r->ended && may_end(r) ? STEP_MORE : need_more(r, "");
}

/*
 * The caller gets its piece back: the rest of it, an incomplete token, is copied. The used bytes
 * in `own` are removed, so that it never holds more than one token and one piece.
 */
static void keep_rest(struct json_reader *r)
{
	struct str rest = { r->in.p + r->at, r->in.n - r->at };

	r->base += r->at;
	if (r->own.n)
		buf_consume(&r->own, r->at);
	else
		buf_add(&r->own, rest.p, rest.n);
	r->in = (struct str){ r->own.n ? r->own.p : "", r->own.n };
	r->at = 0;
	set_window(r);
}

/* ---- the door ---- */

static struct json_limits with_defaults(struct json_limits l)
{
	return (struct json_limits){
		.bytes = l.bytes ?: (size_t)4 << 20,
		.string = l.string ?: (size_t)1 << 20,
		.members = l.members ?: 1000000,
		.depth = l.depth ?: 64,
	};
}

struct json_reader *json_reader_new(const struct json_options *options)
{
	struct json_options o = options ? *options : (struct json_options){ 0 };
	struct json_reader *r = mem_zalloc(sizeof(*r));

	r->limits = with_defaults(o.limits);
	assert(r->limits.depth <= JSON_DEPTH_MAX);
	assert(r->limits.string < UINT32_MAX && r->limits.members < UINT32_MAX);
	assert(r->limits.bytes < SIZE_MAX / 2);
	r->stream = o.stream;
	r->no_nul = o.no_nul;
	r->last = JSON_TOKEN_DOCUMENT_END;
	r->line = 1;
	r->in = STR("");
	return r;
}

void json_reader_free(struct json_reader *r)
{
	if (!r)
		return;
	buf_free(&r->own);
	buf_free(&r->text);
	free(r);
}

void json_reader_freep(struct json_reader **r)
{
	json_reader_free(*r);
}

void json_feed(struct json_reader *r, const char *p, size_t n)
{
	assert((p || !n) && !r->ended && !r->at && r->in.n == r->own.n);
	if (!n)
		return;
	if (r->own.n) {
		buf_add(&r->own, p, n);
		r->in = (struct str){ r->own.p, r->own.n };
	} else {
		r->in = (struct str){ p, n };
	}
	set_window(r);
}

void json_end(struct json_reader *r)
{
	r->ended = true;
}

int json_next(struct json_reader *r, struct json_token *ret)
{
	int e;

	if (r->failed)
		return -EINVAL;
	/* a skipped value ends when the depth is what it was before the value */
	do {
		e = step(r, ret);
		if (e == STEP_TOKEN && r->skipping) {
			r->skipping = r->depth != r->skip_to;
			e = STEP_ON;
		}
	} while (e == STEP_ON);
	if (e == STEP_MORE)
		keep_rest(r);
	return e;
}

void json_skip(struct json_reader *r)
{
	bool opened = r->last == JSON_TOKEN_OBJECT || r->last == JSON_TOKEN_ARRAY;

	if (!opened && r->last != JSON_TOKEN_KEY)
		return;
	r->skipping = true;
	r->skip_to = r->depth - opened;
}

bool json__refuses_nul(const struct json_reader *r)
{
	return r->no_nul;
}

const struct err *json_error(const struct json_reader *r)
{
	return r->failed ? &r->error : NULL;
}

unsigned json_depth(const struct json_reader *r)
{
	return r->depth;
}
