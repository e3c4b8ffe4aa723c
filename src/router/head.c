/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/head.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

#define EDITED_MAX (HTTP_HEADERS_MAX + 160) /* fields after all edits: 2 lists of 2 x 40 */

/* ---- fields ---- */

static void add(struct buf *out, struct str s)
{
	buf_add(out, s.p, s.n);
}

static void add_field(struct buf *out, struct str name, struct str value)
{
	char *p;

	buf_reserve(out, name.n + value.n + 4);
	p = out->p + out->n;
	memcpy(p, name.p, name.n);
	p += name.n;
	memcpy(p, ": ", 2);
	p += 2;
	memcpy(p, value.p, value.n);
	p += value.n;
	memcpy(p, "\r\n", 2);
	out->n += name.n + value.n + 4;
}

/* The values of Connection, which name fields that are not passed on. */
struct connections {
	struct str values[HTTP_HEADERS_MAX];
	size_t n;
	bool bare; /* all of them are "close", "keep-alive" or "upgrade": they name nothing else */
};

static bool is_bare(struct str value)
{
	return str_ieq(value, STR("close")) || str_ieq(value, STR("keep-alive")) ||
	       str_ieq(value, STR("upgrade"));
}

static void find_connections(const struct http_head *h, struct connections *c)
{
	c->n = 0;
	c->bare = true;
	for (size_t i = 0; i < h->n_headers; i++)
		if (h->headers[i].name.n == 10 && str_ieq(h->headers[i].name, STR("connection"))) {
			c->values[c->n++] = h->headers[i].value;
			c->bare &= is_bare(h->headers[i].value);
		}
}

/* The length alone rules most names out. */
static bool may_be_hop(struct str name)
{
	return name.n == 2 || name.n == 7 || name.n == 10 || name.n == 16 || name.n == 17;
}

static bool is_dropped(const struct connections *c, struct str name)
{
	if (c->bare && !may_be_hop(name))
		return false;
	return l7_header_is_hop(name, c->values, c->n);
}

/* The fields that go on, into out, which has room for HTTP_HEADERS_MAX; returns their number. */
static size_t keep_fields(const struct http_head *h, struct field *out)
{
	struct connections c;
	size_t n = 0;

	find_connections(h, &c);
	for (size_t i = 0; i < h->n_headers; i++)
		if (!is_dropped(&c, h->headers[i].name) &&
		    !l7_header_is_disguised(h->headers[i].name))
			out[n++] = h->headers[i];
	return n;
}

static void write_fields(const struct field *fields, size_t n,
			 const struct l7_header_edits *const *edits, size_t n_edits,
			 struct buf *out)
{
	struct field edited[EDITED_MAX];

	if (n_edits) {
		assert(l7_headers_bound(n, edits, n_edits) <= EDITED_MAX); /* by the rules */
		n = l7_headers_apply(fields, n, edits, n_edits, edited);
		fields = edited;
	}
	for (size_t i = 0; i < n; i++)
		add_field(out, fields[i].name, fields[i].value);
}

/* ---- requests ---- */

static bool is_forwarded(struct str name)
{
	return str_ieq(name, STR("x-forwarded-for")) || str_ieq(name, STR("x-forwarded-proto")) ||
	       str_ieq(name, STR("x-forwarded-host"));
}

/* Takes the fields of that name out of the list and returns the value of the last. */
static struct str take_field(struct field *fields, size_t *n, struct str name)
{
	struct str value = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		if (fields[i].name.n != name.n || !str_ieq(fields[i].name, name))
			fields[kept++] = fields[i];
		else
			value = fields[i].value;
	}
	*n = kept;
	return value;
}

static void drop_forwarded(struct field *fields, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (!is_forwarded(fields[i].name))
			fields[kept++] = fields[i];
	*n = kept;
}

static void write_forwarded(const struct head_request *r, struct str before, struct buf *out)
{
	char text[ADDR_STRLEN];

	buf_add_lit(out, "x-forwarded-for: ");
	if (before.n) {
		add(out, before);
		buf_add_lit(out, ", ");
	}
	buf_adds(out, addr_format(&r->client->addr, text));
	buf_add_lit(out, "\r\n");
	add_field(out, STR("x-forwarded-proto"), r->scheme);
	if (r->asked.n)
		add_field(out, STR("x-forwarded-host"), r->asked);
}

static void write_framing(const struct http_head *h, struct buf *out)
{
	if (h->chunked)
		buf_add_lit(out, "transfer-encoding: chunked\r\n");
}

void head_write_request(const struct head_request *r, struct buf *out)
{
	const struct http_head *h = r->from;
	struct field fields[HTTP_HEADERS_MAX];
	size_t n = keep_fields(h, fields);
	struct str before = { 0 };

	out->n = 0;
	buf_reserve(out, HTTP_HEAD_MAX);
	add(out, h->method);
	buf_addc(out, ' ');
	add(out, r->target);
	buf_add_lit(out, " HTTP/1.1\r\n");
	if (r->host.n) {
		take_field(fields, &n, STR("host"));
		add_field(out, STR("host"), r->host);
	}
	if (r->forwarded == L7_FORWARDED_APPEND)
		before = take_field(fields, &n, STR("x-forwarded-for"));
	if (r->forwarded != L7_FORWARDED_KEEP)
		drop_forwarded(fields, &n);
	write_fields(fields, n, r->edits, r->n_edits, out);
	write_framing(h, out);
	if (r->forwarded == L7_FORWARDED_APPEND || r->forwarded == L7_FORWARDED_REPLACE)
		write_forwarded(r, before, out);
	if (r->upgrade) {
		buf_add_lit(out, "connection: upgrade\r\n");
		add_field(out, STR("upgrade"), http_header(h, STR("upgrade")));
	}
	buf_add_lit(out, "\r\n");
}

/* ---- targets ---- */

static unsigned read_absolute(struct str target, struct str *ret_host, struct str *ret_target)
{
	static const struct str schemes[] = { { "http://", 7 }, { "https://", 8 } };

	for (size_t i = 0; i < 2; i++) {
		struct str rest = { target.p + schemes[i].n, target.n - schemes[i].n };
		const char *slash;

		if (target.n <= schemes[i].n ||
		    !str_ieq((struct str){ target.p, schemes[i].n }, schemes[i]))
			continue;
		slash = memchr(rest.p, '/', rest.n);
		*ret_host = (struct str){ rest.p, slash ? (size_t)(slash - rest.p) : rest.n };
		*ret_target = slash ? (struct str){ slash, rest.n - ret_host->n } : STR("/");
		return ret_host->n && http_is_authority(*ret_host) ? 0 : 400;
	}
	return 400;
}

unsigned head_read_target(const struct http_head *h, struct str *ret_host, struct str *ret_target)
{
	*ret_host = http_header(h, STR("host"));
	*ret_target = h->target;
	if (str_eq(h->method, STR("CONNECT")))
		return 405;
	if (h->target.p[0] == '/' ||
	    (str_eq(h->target, STR("*")) && str_eq(h->method, STR("OPTIONS"))))
		return 0;
	return read_absolute(h->target, ret_host, ret_target);
}

/* ---- answers ---- */

/* RFC 9112, 6.1 and RFC 9110, 8.6: these have neither a length nor a transfer coding. */
static bool is_bodiless(const struct http_head *h)
{
	return h->status < 200 || h->status == 204;
}

static void drop_cors(struct field *fields, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		struct str start = { fields[i].name.p, 15 };

		if (fields[i].name.n < 15 || !str_ieq(start, STR("access-control-")))
			fields[kept++] = fields[i];
	}
	*n = kept;
}

/* A length that was given twice goes on once; an answer that cannot have a body has none. */
static void clear_length(const struct http_head *h, struct field *fields, size_t *n)
{
	struct str value = take_field(fields, n, STR("content-length"));

	if (!is_bodiless(h))
		fields[(*n)++] = (struct field){ STR("content-length"), value };
}

void head_write_answer(const struct head_answer *a, struct buf *out)
{
	const struct http_head *h = a->from;
	struct field fields[HTTP_HEADERS_MAX];
	size_t n = keep_fields(h, fields);

	out->n = 0;
	buf_reserve(out, HTTP_HEAD_MAX);
	buf_add_lit(out, "HTTP/1.1 ");
	buf_addu(out, h->status);
	buf_addc(out, ' ');
	add(out, h->reason);
	buf_add_lit(out, "\r\n");
	if (h->lengths > 1 || (h->lengths && is_bodiless(h)))
		clear_length(h, fields, &n);
	if (a->cors.n)
		drop_cors(fields, &n);
	write_fields(fields, n, a->edits, a->n_edits, out);
	add(out, a->cors);
	add(out, a->more);
	if (a->framing == HEAD_CHUNKED ||
	    (a->framing == HEAD_AS_IS && h->chunked && !is_bodiless(h)))
		buf_add_lit(out, "transfer-encoding: chunked\r\n");
	if (a->upgrade) {
		buf_add_lit(out, "connection: upgrade\r\n");
		add_field(out, STR("upgrade"), http_header(h, STR("upgrade")));
	} else if (!a->keep) {
		buf_add_lit(out, "connection: close\r\n");
	} else if (a->old) {
		buf_add_lit(out, "connection: keep-alive\r\n");
	}
	buf_add_lit(out, "\r\n");
}
