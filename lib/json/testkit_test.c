/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/testkit.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/json.h"

#define NO_SKIP 0xffffffffu

static const char *const names[] = {
	[JSON_TOKEN_OBJECT] = "{",	   [JSON_TOKEN_OBJECT_END] = "}",
	[JSON_TOKEN_ARRAY] = "[",	   [JSON_TOKEN_ARRAY_END] = "]",
	[JSON_TOKEN_KEY] = "key",	   [JSON_TOKEN_STRING] = "string",
	[JSON_TOKEN_NUMBER] = "number",	   [JSON_TOKEN_TRUE] = "true",
	[JSON_TOKEN_FALSE] = "false",	   [JSON_TOKEN_NULL] = "null",
	[JSON_TOKEN_DOCUMENT_END] = "end",
};

/* The text, fed in pieces. */
struct feed {
	struct str rest;
	size_t piece;
	char *copy;
};

static void drop_piece(struct feed *f)
{
	free(f->copy);
	f->copy = NULL;
}

/* A copy of exact size, so that the sanitizer reports reads past its end or after it is freed. */
static void feed_next(struct feed *f, struct json_reader *r)
{
	size_t n = f->piece && f->piece < f->rest.n ? f->piece : f->rest.n;

	drop_piece(f);
	if (!f->rest.n) {
		json_end(r);
		return;
	}
	f->copy = mem_copy(f->rest.p, n);
	f->rest.p += n;
	f->rest.n -= n;
	json_feed(r, f->copy, n);
}

/* The next token, feeding as many pieces as needed; 0 at the end. */
static int next_token(struct feed *f, struct json_reader *r, struct json_token *ret)
{
	for (;;) {
		bool last = !f->rest.n && !f->copy;
		int e = json_next(r, ret);

		if (e != 0 || last)
			return e;
		feed_next(f, r);
	}
}

static void print_token(const struct json_token *t, struct buf *out)
{
	buf_printf(out, "%s %u:%u @%" PRIu64 " ", names[t->kind], t->at.line, t->at.column,
		   t->offset);
	json_write_string(out, t->text.n ? t->text.p : "", t->text.n);
	buf_addc(out, '\n');
}

int kit_tokens_skipping(struct str text, size_t piece, const struct json_options *options,
			unsigned depth, struct buf *out)
{
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(options);
	struct feed f = { .rest = text, .piece = piece };
	struct json_token t;
	int e;

	/* json_end() comes with the last piece, or if there is nothing to feed */
	feed_next(&f, r);
	while ((e = next_token(&f, r, &t)) > 0) {
		print_token(&t, out);
		if (json_depth(r) == depth)
			json_skip(r);
	}
	if (e < 0)
		buf_printf(out, "%u:%u: %s\n", json_error(r)->at.line, json_error(r)->at.column,
			   json_error(r)->text);
	drop_piece(&f);
	return e;
}

int kit_tokens(struct str text, size_t piece, const struct json_options *options, struct buf *out)
{
	return kit_tokens_skipping(text, piece, options, NO_SKIP, out);
}

/* Whether a comma has to precede the token. */
static bool wants_comma(const struct json_token *t, bool after_value)
{
	return after_value && t->kind != JSON_TOKEN_OBJECT_END && t->kind != JSON_TOKEN_ARRAY_END &&
	       t->kind != JSON_TOKEN_DOCUMENT_END;
}

static void rewrite_token(const struct json_token *t, struct buf *out)
{
	switch (t->kind) {
	case JSON_TOKEN_KEY:
	case JSON_TOKEN_STRING:
		json_write_string(out, t->text.p, t->text.n);
		buf_adds(out, t->kind == JSON_TOKEN_KEY ? ":" : "");
		break;
	case JSON_TOKEN_NUMBER:
		buf_add(out, t->text.p, t->text.n);
		break;
	case JSON_TOKEN_DOCUMENT_END:
		buf_addc(out, '\n');
		break;
	default: /* tokens that are written as their names */
		buf_adds(out, names[t->kind]);
	}
}

int kit_rewrite(struct str text, const struct json_options *options, struct buf *out)
{
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(options);
	bool after_value = false;
	struct json_token t;
	int e;

	json_feed(r, text.p, text.n);
	json_end(r);
	while ((e = json_next(r, &t)) > 0) {
		if (wants_comma(&t, after_value))
			buf_addc(out, ',');
		rewrite_token(&t, out);
		after_value = t.kind != JSON_TOKEN_KEY && t.kind != JSON_TOKEN_OBJECT &&
			      t.kind != JSON_TOKEN_ARRAY && t.kind != JSON_TOKEN_DOCUMENT_END;
	}
	return e;
}

/* ---- comparison with jansson ---- */

static bool same_value(const struct json_node *ours, json_t *theirs);

static bool same_number(const struct json_node *ours, json_t *theirs)
{
	int64_t integer;
	double real;

	if (json_is_integer(theirs))
		return json_to_i64(json_text(ours), &integer) == 0 &&
		       integer == json_integer_value(theirs);
	return json_is_real(theirs) && json_to_double(json_text(ours), &real) == 0 &&
	       real == json_real_value(theirs);
}

static bool same_object(const struct json_node *ours, json_t *theirs)
{
	if (!json_is_object(theirs) || json_object_size(theirs) != ours->n)
		return false;
	for (size_t i = 0; i < ours->n; i++)
		if (!same_value(&ours->members[i].value,
				json_object_get(theirs, ours->members[i].key)))
			return false;
	return true;
}

static bool same_array(const struct json_node *ours, json_t *theirs)
{
	if (!json_is_array(theirs) || json_array_size(theirs) != ours->n)
		return false;
	for (size_t i = 0; i < ours->n; i++)
		if (!same_value(&ours->items[i], json_array_get(theirs, i)))
			return false;
	return true;
}

static bool same_value(const struct json_node *ours, json_t *theirs)
{
	switch (ours->kind) {
	case JSON_KIND_NULL:
		return json_is_null(theirs);
	case JSON_KIND_BOOL:
		return json_is_boolean(theirs) && ours->truth == json_is_true(theirs);
	case JSON_KIND_NUMBER:
		return same_number(ours, theirs);
	case JSON_KIND_STRING:
		return json_is_string(theirs) && json_string_length(theirs) == ours->n &&
		       memcmp(json_string_value(theirs), ours->text, ours->n) == 0;
	case JSON_KIND_ARRAY:
		return same_array(ours, theirs);
	case JSON_KIND_OBJECT:
		return same_object(ours, theirs);
	}
	return false;
}

enum kit_verdict kit_judge(struct str text, const struct json_node *tree)
{
	json_error_t error;
	json_t *theirs = json_loadb(text.n ? text.p : "", text.n,
				    JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	bool same = theirs && tree ? same_value(tree, theirs) : !theirs && !tree;

	json_decref(theirs);
	if (!theirs && json_error_code(&error) == json_error_numeric_overflow)
		return KIT_EXCUSED;
	if (theirs && !tree && memchr(text.p, '\0', text.n))
		return KIT_EXCUSED;
	return same ? KIT_SAME : KIT_DIFFERENT;
}
