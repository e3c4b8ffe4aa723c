/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_forward: what the fuzzers of the router's two directions share.
 *
 * A message is read in pieces, as a connection brings it, and written again as the router does.
 * What was written is read again by the same parser: it must be one message with the same meaning,
 * and nothing may be left over.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/router/head.h"

typedef int (*parse_fn)(const char *p, size_t n, size_t *scanned, struct http_head *ret);

/* Not assert(): the check must not depend on how the harness was built. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The next bytes of a connection, which arrive in pieces. */
struct source {
	struct str text;
	size_t at;	/* of the next message */
	size_t arrived; /* bytes that have arrived */
	size_t piece;
};

/* Parses a head as its bytes arrive. Its bytes; 0: it never ends; -1: it is refused. */
static int read_head(struct source *s, parse_fn parse, struct http_head *ret)
{
	size_t scanned = 0;
	int r = 0;

	do {
		r = parse(s->text.p + s->at, s->arrived - s->at, &scanned, ret);
		if (r == 0 && s->arrived == s->text.n)
			return 0;
		if (r == 0)
			s->arrived += s->text.n - s->arrived < s->piece ? s->text.n - s->arrived
									: s->piece;
	} while (r == 0);
	return r < 0 ? -1 : r;
}

/* Feeds one piece of a body; what was used is in *ret_raw, its content in *ret_content. */
static ssize_t read_body(struct source *s, struct http_body *b, struct str *ret_raw,
			 struct str *ret_content)
{
	size_t n = s->text.n - s->at < s->piece ? s->text.n - s->at : s->piece;
	ssize_t r = http_body_feed(b, s->text.p + s->at, n, ret_content);

	if (r < 0)
		return -1;
	*ret_raw = (struct str){ s->text.p + s->at, (size_t)r };
	s->at += (size_t)r;
	if (s->arrived < s->at)
		s->arrived = s->at;
	return r;
}

/* The content of a body that must be complete and be all of p. */
static void read_whole(struct http_body *b, struct str p, struct buf *content)
{
	while (p.n && !b->done) {
		struct str part;
		ssize_t r = http_body_feed(b, p.p, p.n, &part);

		require(r > 0);
		buf_add(content, part.p, part.n);
		p = (struct str){ p.p + r, p.n - (size_t)r };
	}
	require(http_body_eof(b) && !p.n);
}

static size_t count_fields(const struct http_head *h, struct str name)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_headers; i++)
		n += str_ieq(h->headers[i].name, name);
	return n;
}

/* A head that was written has only plain lines. */
static void require_plain(const struct http_head *h, struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		require(text.p[i] && (text.p[i] != '\n' || (i && text.p[i - 1] == '\r')) &&
			(text.p[i] != '\r' || (i + 1 < text.n && text.p[i + 1] == '\n')));
	require(count_fields(h, STR("keep-alive")) + count_fields(h, STR("te")) == 0);
	require(count_fields(h, STR("proxy-connection")) == 0);
	require(count_fields(h, STR("connection")) <= 1 && count_fields(h, STR("upgrade")) <= 1);
	require(count_fields(h, STR("content-length")) +
			count_fields(h, STR("transfer-encoding")) <=
		1);
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}
