/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http: what the fuzzers of both directions check.
 *
 * Feeds a message whole and in pieces (the first byte picks their sizes): result, head, content and
 * trailers must be the same, and no byte outside the input may be read.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "lib/http/message.h"

typedef int (*parse_fn)(const char *p, size_t n, size_t *scanned, struct http_head *ret);

static void check(bool fine)
{
	if (!fine)
		abort();
}

static bool same_slice(struct str a, const char *base_a, struct str b, const char *base_b)
{
	return a.n == b.n && (!a.n || a.p - base_a == b.p - base_b);
}

static void check_same_head(const struct http_head *a, const char *base_a,
			    const struct http_head *b, const char *base_b)
{
	check(a->minor == b->minor && a->status == b->status && a->keep_alive == b->keep_alive);
	check(a->chunked == b->chunked && a->has_length == b->has_length);
	check(a->length == b->length && a->n_headers == b->n_headers);
	check(same_slice(a->method, base_a, b->method, base_b));
	check(same_slice(a->target, base_a, b->target, base_b));
	check(same_slice(a->reason, base_a, b->reason, base_b));
	for (size_t i = 0; i < a->n_headers; i++) {
		check(same_slice(a->headers[i].name, base_a, b->headers[i].name, base_b));
		check(same_slice(a->headers[i].value, base_a, b->headers[i].value, base_b));
	}
}

/* What arrived grows piece by piece, each time in memory of exactly its size. */
static void check_head_in_pieces(parse_fn parse, struct str text, size_t piece, int whole,
				 const struct http_head *head)
{
	size_t scanned = 0;
	size_t n = 0;
	int r = 0;

	while (r == 0 && n < text.n) {
		struct http_head again;
		char *copy;

		n = text.n - n < piece ? text.n : n + piece;
		copy = malloc(n);
		memcpy(copy, text.p, n);
		r = parse(copy, n, &scanned, &again);
		if (r > 0 && whole > 0)
			check_same_head(head, text.p, &again, copy);
		free(copy);
	}
	check(r == whole);
}

/* What a body yields. */
struct fed {
	struct buf content, trailers;
	bool done;
};

/* Returns the bytes consumed or the error. */
static ssize_t feed(struct http_body b, struct str text, size_t piece, struct fed *out)
{
	size_t at = 0;

	while (!b.done && at < text.n) {
		struct str content;
		ssize_t r = http_body_feed(&b, text.p + at,
					   text.n - at < piece ? text.n - at : piece, &content);

		if (r < 0)
			return r;
		check(r > 0 && (size_t)r <= text.n - at && content.n <= (size_t)r);
		check(!content.n || content.p + content.n == text.p + at + r);
		buf_add(&out->content, content.p, content.n);
		buf_add(&out->trailers, b.trailer.p, b.trailer.n);
		at += (size_t)r;
	}
	out->done = b.done;
	return (ssize_t)at;
}

static struct str slice(const struct buf *b)
{
	return (struct str){ b->p, b->n };
}

/* The machine has let these lines through: they are well formed, only their names can be wrong. */
static void check_trailers(const struct fed *f)
{
	struct field found[HTTP_HEADERS_MAX];
	char *copy;
	int r;

	if (!f->trailers.n)
		return;
	copy = malloc(f->trailers.n);
	memcpy(copy, f->trailers.p, f->trailers.n);
	r = http_parse_trailers(copy, f->trailers.n, found);
	check(f->trailers.n <= HTTP_TRAILERS_MAX && r <= HTTP_HEADERS_MAX);
	for (int i = 0; i < r; i++)
		check(http_is_token(found[i].name) && http_is_value(found[i].value));
	free(copy);
}

static void fed_free(struct fed *f)
{
	buf_free(&f->content);
	buf_free(&f->trailers);
}

static void check_body(const struct http_head *head, struct str text, size_t piece)
{
	struct fed whole = { 0 }, pieces = { 0 };
	struct http_body b;
	ssize_t r;

	http_body_init(&b, head, STR("GET"));
	r = feed(b, text, text.n, &whole);
	check(feed(b, text, piece, &pieces) == r && whole.done == pieces.done);
	check(r < 0 || str_eq(slice(&whole.content), slice(&pieces.content)));
	check(r < 0 || str_eq(slice(&whole.trailers), slice(&pieces.trailers)));
	if (whole.done)
		check_trailers(&whole);
	fed_free(&whole);
	fed_free(&pieces);
}

static int fuzz_http(parse_fn parse, const uint8_t *data, size_t size)
{
	struct http_head head;
	struct str text;
	size_t piece;
	int r;

	if (!size || size > 2 * HTTP_HEAD_MAX)
		return 0;
	piece = data[0] % 32 + 1;
	text = (struct str){ (const char *)data + 1, size - 1 };
	r = parse(text.p, text.n, NULL, &head);
	check_head_in_pieces(parse, text, piece, r, &head);
	if (r > 0)
		check_body(&head, (struct str){ text.p + r, text.n - (size_t)r }, piece);
	return 0;
}
