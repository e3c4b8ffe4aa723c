/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a server, as the router passes them on: interim answers, and one final answer with the
 * same meaning for the client, or nothing that looks like one. The first byte chooses the pieces,
 * the second the client.
 */
#include <errno.h>

#include "tests/fuzz/fuzz_forward.h"

#define INTERIM 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct client {
	struct str method;
	bool old, keep;
};

/* A part of the body, with the framing of the client. */
static void pass(enum head_framing framing, struct str raw, struct str content, struct buf *out)
{
	if (framing == HEAD_AS_IS) {
		buf_add(out, raw.p, raw.n);
	} else if (content.n && framing == HEAD_CHUNKED) {
		buf_printf(out, "%zx\r\n", content.n);
		buf_add(out, content.p, content.n);
		buf_adds(out, "\r\n");
	} else {
		buf_add(out, content.p, content.n);
	}
}

static void require_bodiless(const struct http_head *h)
{
	if (h->status < 200 || h->status == 204)
		require(!h->has_length && !h->chunked);
}

static void check_interim(const struct http_head *h, struct buf *out)
{
	const struct head_answer a = { .from = h, .keep = true };
	struct http_head again;

	head_write_answer(&a, out);
	require(http_parse_response(out->p, out->n, NULL, &again) == (int)out->n);
	require(again.status == h->status && again.keep_alive);
	require_plain(&again, (struct str){ out->p, out->n });
	require_bodiless(&again);
}

/* What the client reads: everything that was sent, and the same content. */
static void check_final(const struct http_head *h, const struct client *c,
			const struct head_answer *a, struct str head, struct str body,
			const struct buf *content)
{
	_cleanup_(buf_free) struct buf got = { 0 };
	struct http_head again;
	struct http_body b;
	int n = http_parse_response(head.p, head.n, NULL, &again);

	if (n == -E2BIG)
		return; /* with the fields that the router adds */
	require(n == (int)head.n);
	require_plain(&again, head);
	require_bodiless(&again);
	require(again.status == h->status && str_eq(again.reason, h->reason));
	require(again.keep_alive == a->keep);
	require(!c->old || !again.chunked || str_eq(c->method, STR("HEAD")) || h->status == 304);
	http_body_init(&b, &again, c->method);
	require((b.kind == HTTP_BODY_CLOSE) == (a->framing == HEAD_CLOSE));
	read_whole(&b, body, &got);
	require(same(content, &got));
}

static void forward(struct source *s, const struct client *c)
{
	_cleanup_(buf_free) struct buf head = { 0 }, body = { 0 }, content = { 0 };
	struct head_answer a = { .old = c->old };
	struct http_head h;
	struct http_body down;
	int n, interim = 0;

	while ((n = read_head(s, http_parse_response, &h)) > 0 && h.status < 200) {
		if (h.status == 101 || ++interim > INTERIM)
			return;
		s->at += (size_t)n;
		check_interim(&h, &head);
	}
	if (n <= 0)
		return;
	s->at += (size_t)n;
	http_body_init(&down, &h, c->method);
	a.from = &h;
	a.framing = head_choose_framing(&down, c->old);
	a.keep = c->keep && a.framing != HEAD_CLOSE;
	head_write_answer(&a, &head);
	while (!down.done && s->at < s->text.n) {
		struct str raw, part;

		if (read_body(s, &down, &raw, &part) < 0)
			return;
		pass(a.framing, raw, part, &body);
		buf_add(&content, part.p, part.n);
	}
	if (!http_body_eof(&down))
		return; /* the client's connection ends without the end of the body */
	if (a.framing == HEAD_CHUNKED)
		buf_adds(&body, "0\r\n\r\n");
	check_final(&h, c, &a, (struct str){ head.p, head.n }, (struct str){ body.p, body.n },
		    &content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source s = { 0 };
	struct client c;

	if (size < 2 || size > 2 * HTTP_HEAD_MAX)
		return 0;
	s.text = (struct str){ (const char *)data + 2, size - 2 };
	s.piece = data[0] % 64 + 1;
	c = (struct client){ .method = data[1] & 1 ? STR("HEAD") : STR("GET"),
			     .old = data[1] & 2,
			     .keep = data[1] & 4 };
	forward(&s, &c);
	return 0;
}
