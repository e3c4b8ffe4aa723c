/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a client, as the router passes them on: each request that is taken is one request with
 * the same meaning for a server. The first byte chooses pieces and policies.
 */
#include <errno.h>

#include "tests/fuzz/fuzz_forward.h"

#define REQUESTS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct field add[] = { { { "x-added", 7 }, { "1", 1 } } };
static const struct l7_header_edits edits = { .add = add, .n_add = 1 };

struct policy {
	enum l7_paths paths;
	enum l7_forwarded forwarded;
	bool edited;
};

/* The request as the server gets it. False if the router answers it itself. */
static bool write_head(const struct http_head *h, const struct policy *p, struct buf *target,
		       struct head_request *r, struct buf *out)
{
	static const struct endpoint client = { .addr = { .family = 2,
							  .bytes = { 127, 0, 0, 1 } } };
	struct str path;
	const char *query;

	*r = (struct head_request){ .from = h,
				    .client = &client,
				    .scheme = STR("http"),
				    .forwarded = p->forwarded,
				    .upgrade = head_wants_upgrade(h),
				    .edits = { &edits },
				    .n_edits = p->edited };
	if (h->expect_other || head_read_target(h, &r->asked, &r->target))
		return false;
	if (h->target.p[0] != '/')
		r->host = r->asked;
	if (!r->asked.n && !h->minor)
		r->host = STR("127.0.0.1:80");
	query = memchr(r->target.p, '?', r->target.n);
	path = (struct str){ r->target.p, query ? (size_t)(query - r->target.p) : r->target.n };
	if (path.p[0] == '/') {
		if (l7_path_normalize(path, p->paths, target) < 0)
			return false;
		buf_add(target, path.p + path.n, r->target.n - path.n);
		r->target = (struct str){ target->p, target->n };
	}
	head_write_request(r, out);
	return true;
}

static void require_same(const struct http_head *h, const struct http_head *again,
			 const struct head_request *r)
{
	struct str host = http_header(again, STR("host"));

	require(str_eq(h->method, again->method) && str_eq(r->target, again->target));
	require(again->minor == 1 && again->keep_alive);
	require(count_fields(again, STR("host")) == 1);
	require(str_eq(host, r->host.n ? r->host : http_header(h, STR("host"))));
	require(h->chunked == again->chunked && h->has_length == again->has_length);
	require(h->length == again->length && again->upgrade == r->upgrade);
	require(h->expect_continue <= again->expect_continue || !h->minor);
}

/* One request. False: no further one is read from the connection. */
static bool forward(struct source *s, const struct policy *p)
{
	_cleanup_(buf_free) struct buf target = { 0 }, out = { 0 }, sent = { 0 }, content = { 0 };
	_cleanup_(buf_free) struct buf got = { 0 };
	struct http_head h, again;
	struct head_request r;
	struct http_body up, body;
	int n = read_head(s, http_parse_request, &h);

	if (n <= 0 || !write_head(&h, p, &target, &r, &out))
		return false;
	s->at += (size_t)n;
	buf_add(&sent, out.p, out.n);
	http_body_init(&up, &h, (struct str){ 0 });
	while (!up.done) {
		struct str raw, part;

		if (read_body(s, &up, &raw, &part) <= 0)
			return false; /* the server sees a request that does not end */
		buf_add(&sent, raw.p, raw.n);
		buf_add(&content, part.p, part.n);
	}
	n = http_parse_request(sent.p, sent.n, NULL, &again);
	if (n == -E2BIG)
		return false; /* with the fields that the router adds */
	require(n == (int)out.n);
	require_plain(&again, (struct str){ out.p, out.n });
	require_same(&h, &again, &r);
	http_body_init(&body, &again, (struct str){ 0 });
	read_whole(&body, (struct str){ sent.p + out.n, sent.n - out.n }, &got);
	require(same(&content, &got));
	return h.keep_alive && !r.upgrade;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source s = { 0 };
	struct policy p;

	if (size < 2 || size > 2 * HTTP_HEAD_MAX)
		return 0;
	s.text = (struct str){ (const char *)data + 2, size - 2 };
	s.piece = data[0] % 64 + 1;
	p = (struct policy){ .paths = (enum l7_paths)(data[1] % 3),
			     .forwarded = (enum l7_forwarded)(data[1] / 3 % 4),
			     .edited = data[1] & 128 };
	for (int i = 0; i < REQUESTS && forward(&s, &p); i++)
		;
	return 0;
}
