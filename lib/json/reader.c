/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader: the grammar of JSON as a small machine.
 *
 * The machine knows what may come next (enum expect) and, one bit for each level, whether the
 * level is an object; that is all the state that nesting needs. One step skips white space and
 * takes one token or one comma or colon. A token is taken only when it is complete: until then its
 * bytes stay where they are, scan remembers how many of them are known to be fine, and the place of
 * its beginning can always be told.
 *
 * Bytes: `in` is what has not been used up. It is the caller's own piece as long as that is
 * possible. When a piece ends inside a token, the rest of the piece is copied into `own` and the
 * next piece is added there.
 *
 * Limits work by hiding bytes: the machine never looks past the last byte that a document may have
 * (`end`), or past the longest string. A token that does not end before that is over the limit. So
 * a text fails with the same words at the same place, however it was cut into pieces.
 */
#include "lib/json/reader.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lib/json/scan.h"

/* What may come next. EXPECT_VALUE is after a colon, or after the comma of an array. */
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
 * What a step came to; errors are negative. STEP_ON: something was taken that is not a token, or a
 * token that is being skipped, and the next step can be made at once.
 */
enum { STEP_MORE, STEP_TOKEN, STEP_ON };

struct json_reader {
	struct json_limits limits;
	bool stream, no_nul;
	bool ended;
	bool failed;

	struct str in;
	size_t at;     /* bytes of in that are used up */
	size_t end;    /* bytes of in that may be looked at */
	uint64_t base; /* offset of in's first byte */
	struct buf own;
	struct buf text; /* of the last string that had escapes */

	enum expect expect;
	bool in_document;
	bool document_ended; /* which is still to be told */
	bool tight;	/* the last document was a word or a number, and nothing came after it */
	uint64_t begin; /* offset of the document */
	size_t members;
	struct json__scan scan;

	unsigned depth;
	uint64_t objects[JSON_DEPTH_MAX / 64];

	enum json_token_kind last;
	bool skipping;
	unsigned skip_to; /* the depth at which the skipped value is over */

	unsigned line;
	uint64_t line_begin;
	uint64_t wide; /* bytes of the line that are no column */

	struct err error;
	char words[160];
};

/* ---- places and errors ---- */

/* The place of a byte of the current line, wide of whose bytes since r->at are no columns. */
static struct place place_of(const struct json_reader *r, size_t index, size_t wide)
{
	uint64_t column = r->base + index - r->line_begin - r->wide - wide + 1;

	return (struct place){ r->line, column < UINT_MAX ? (unsigned)column : UINT_MAX };
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

/* At the place that the scan of the current token has reached. */
static int fail_in_token(struct json_reader *r, const char *text)
{
	return fail_at(r, place_of(r, r->at + r->scan.n, r->scan.wide), "%s", text);
}

/*
 * Only ASCII is shown as it is: of a longer character the other bytes may not be there yet, and the
 * words must not depend on that.
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
 * The bytes do not suffice for what is being read: more must come, unless the document has reached
 * its limit, or at_end says what is wrong when no more will come.
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

/* For strings, keys and numbers. The place is that of the beginning, where a reader will look. */
static int fail_too_long(struct json_reader *r)
{
	return fail_at(r, place_of(r, r->at, 0), "longer than %zu bytes", r->limits.string);
}

/* ---- the state ---- */

/* As much of in as the document may have. */
static void set_window(struct json_reader *r)
{
	uint64_t left = r->begin + r->limits.bytes - r->base;

	r->end = r->in_document && left < r->in.n ? (size_t)left : r->in.n;
}

/* Whether the innermost open level is an object. Outside of all levels it is not. */
static bool in_object(const struct json_reader *r)
{
	unsigned level = r->depth - 1;

	return r->depth && r->objects[level / 64] >> level % 64 & 1;
}

/* One more member or element; what a tree costs is bounded by their number. */
static int count_member(struct json_reader *r)
{
	if (r->members == r->limits.members)
		return fail_at(r, place_of(r, r->at, 0), "more than %zu members and elements",
			       r->limits.members);
	r->members++;
	return 0;
}

/*
 * A value is complete: what may follow depends on where it stands. That a document is complete is
 * told by a token of its own, which the next step gives out before it looks at any byte.
 */
static void expect_after_value(struct json_reader *r)
{
	if (!r->depth)
		r->document_ended = true;
	else
		r->expect = in_object(r) ? EXPECT_NEXT_MEMBER : EXPECT_NEXT_ELEMENT;
}

/*
 * Fills in the token of n bytes at r->at and uses them up. A skipped token is not made: what
 * remains of a step then is the check of the text.
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

/* The string or number of scan.n bytes at r->at; trim is 1 where it has quotes. */
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

/* A string or key; r->at is its opening quote. Returns 1 when it is complete, as scan says. */
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
 * A number is complete when a byte is seen that does not belong to it; this byte may lie just
 * outside the document's limit.
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
 * true, false or null; the first letter is known. A word is so short that it is compared from its
 * beginning again when more bytes have come.
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

/* Whether a level is an object is kept in one bit, since its end must match. */
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
 * The first value of a document. Two documents may touch each other, as in {}{}, unless the first
 * is a word or a number and the second begins with a letter, a digit or a sign: truefalse is wrong.
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
 * An element counts when its token is complete; its number is taken back when more bytes are
 * needed, since the step is then made again.
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

/* A comma or colon is taken and gives no token. */
static int pass(struct json_reader *r, enum expect next)
{
	r->at++;
	r->expect = next;
	return STEP_ON;
}

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
 * Newlines occur only here: a raw one in a string is an error. So this is the only place that
 * counts lines, and it forgets what was counted for the columns of the line before.
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

/* The limits of the document no longer hide any bytes. */
static int give_document_end(struct json_reader *r, struct json_token *ret)
{
	r->document_ended = false;
	r->in_document = false;
	r->expect = r->stream ? EXPECT_DOCUMENT : EXPECT_NOTHING;
	set_window(r);
	return give(r, JSON_TOKEN_DOCUMENT_END, 0, ret);
}

/* Between documents the text may end, but where one is wanted there must be one. */
static bool may_end(const struct json_reader *r)
{
	return r->expect == EXPECT_NOTHING || (r->stream && r->expect == EXPECT_DOCUMENT);
}

/*
 * Takes one token, comma or colon. When the bytes end, that is right only between documents and
 * when no more will come; else more are needed, or the text is cut off.
 */
static int step(struct json_reader *r, struct json_token *ret)
{
	if (r->document_ended)
		return give_document_end(r, ret);
	/* a token that was begun is at r->at, without white space before it */
	skip_space(r);
	if (r->at < r->end)
		return take_next(r, ret);
	if (r->end == r->in.n && r->ended && !may_end(r))
		return fail_at(r, place_of(r, r->at, 0), "%s is wanted, not the end of the text",
			       wanted[r->expect]);
	return r->ended && may_end(r) ? STEP_MORE : need_more(r, "");
}

/*
 * The piece is the caller's again: what is left of it, a token that was begun, is kept here. In
 * `own` the used bytes before it are dropped, so that it never has more than one token and one
 * piece.
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
	/* a skipped value is over when the depth is again what it was before the value */
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
