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

/* ---- what is said about the client ---- */

#define X_FOR STR("x-forwarded-for")
#define X_PROTO STR("x-forwarded-proto")
#define X_HOST STR("x-forwarded-host")
#define FORWARDED STR("forwarded")

/* The family of a field; 0: none. */
static unsigned family_of(struct str name)
{
	char first = (char)(name.p[0] | 32);

	if (first == 'x' &&
	    (str_ieq(name, X_FOR) || str_ieq(name, X_PROTO) || str_ieq(name, X_HOST)))
		return L7_X_FORWARDED;
	return first == 'f' && str_ieq(name, FORWARDED) ? L7_FORWARDED : 0;
}

/* What is appended to is written again; what is not written at all stays with append. */
static void drop_forwarded(const struct head_request *r, struct field *fields, size_t *n)
{
	unsigned dropped = r->forwarded == L7_FORWARDED_APPEND ? (r->fields ?: L7_X_FORWARDED)
							       : L7_FORWARDED_BOTH;
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (!(family_of(fields[i].name) & dropped))
			fields[kept++] = fields[i];
	*n = kept;
}

/* The list so far, each line with a comma: our entry follows. */
static void add_list(const struct head_request *r, struct str name, struct buf *out)
{
	const struct http_head *h = r->from;

	for (size_t i = 0; i < h->n_headers && r->forwarded == L7_FORWARDED_APPEND; i++)
		if (h->headers[i].name.n == name.n && str_ieq(h->headers[i].name, name) &&
		    h->headers[i].value.n) {
			add(out, h->headers[i].value);
			buf_add_lit(out, ", ");
		}
}

/* Our word, or that of a trusted client, which may know the first request. */
static void add_word(const struct head_request *r, struct str name, struct str ours,
		     struct buf *out)
{
	struct str theirs = { 0 };

	if (r->trusted && r->forwarded == L7_FORWARDED_APPEND)
		theirs = http_header(r->from, name);
	if (theirs.n || ours.n)
		add_field(out, name, theirs.n ? theirs : ours);
}

static void write_x_forwarded(const struct head_request *r, struct buf *out)
{
	char text[ADDR_STRLEN];

	buf_add_lit(out, "x-forwarded-for: ");
	add_list(r, X_FOR, out);
	buf_adds(out, addr_format(&r->client->addr, text));
	buf_add_lit(out, "\r\n");
	add_word(r, X_PROTO, r->scheme, out);
	add_word(r, X_HOST, r->asked, out);
}

static void add_quoted(struct buf *out, struct str s)
{
	buf_addc(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_addc(out, '\\');
		buf_addc(out, s.p[i]);
	}
	buf_addc(out, '"');
}

/* RFC 7239: an IPv6 address is in brackets and quotes; a host may have a colon, so it is quoted. */
static void write_standard(const struct head_request *r, struct buf *out)
{
	char text[ADDR_STRLEN];
	bool six = r->client->addr.family == AF_INET6;

	buf_add_lit(out, "forwarded: ");
	add_list(r, FORWARDED, out);
	addr_format(&r->client->addr, text);
	buf_printf(out, six ? "for=\"[%s]\"" : "for=%s", text);
	if (r->asked.n) {
		buf_add_lit(out, ";host=");
		add_quoted(out, r->asked);
	}
	buf_add_lit(out, ";proto=");
	add(out, r->scheme);
	buf_add_lit(out, "\r\n");
}

static void write_forwarded(const struct head_request *r, struct buf *out)
{
	if (r->fields != L7_FORWARDED)
		write_x_forwarded(r, out);
	if (r->fields & L7_FORWARDED)
		write_standard(r, out);
}

/* ---- requests ---- */

static char plain_letter(char c)
{
	if (c == '_')
		return '-'; /* as programs see it that take fields from the environment */
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static bool looks_like(struct str name, struct str wanted)
{
	for (size_t i = 0; name.n == wanted.n && i < name.n; i++)
		if (plain_letter(name.p[i]) != plain_letter(wanted.p[i]))
			return false;
	return name.n == wanted.n;
}

/* What a client says itself must not pass for the subject of its certificate. */
static void drop_subject(struct field *fields, size_t *n, struct str name)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (!looks_like(fields[i].name, name))
			fields[kept++] = fields[i];
	*n = kept;
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
	if (r->forwarded != L7_FORWARDED_KEEP)
		drop_forwarded(r, fields, &n);
	if (r->untraced) {
		take_field(fields, &n, STR("traceparent"));
		take_field(fields, &n, STR("tracestate"));
	}
	if (r->grpc_timeout.n) {
		take_field(fields, &n, STR("grpc-timeout"));
		add_field(out, STR("grpc-timeout"), r->grpc_timeout);
	}
	if (r->subject_name.n)
		drop_subject(fields, &n, r->subject_name);
	write_fields(fields, n, r->edits, r->n_edits, out);
	write_framing(h, out);
	if (r->subject.n)
		add_field(out, r->subject_name, r->subject);
	if (r->forwarded == L7_FORWARDED_APPEND || r->forwarded == L7_FORWARDED_REPLACE)
		write_forwarded(r, out);
	if (r->traceparent.n)
		add_field(out, STR("traceparent"), r->traceparent);
	if (r->upgrade) {
		buf_add_lit(out, "connection: upgrade\r\n");
		add_field(out, STR("upgrade"), http_header(h, STR("upgrade")));
	}
	buf_add_lit(out, "\r\n");
}

bool head_wants_upgrade(const struct http_head *h)
{
	struct str list = http_header(h, STR("upgrade")), member;
	bool plain = h->upgrade && h->minor && !h->chunked && !h->length && list.n;

	while (plain && str_cut(&list, ',', &member))
		plain = !str_ieq(str_trim(member), STR("h2c"));
	return plain;
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
	*ret_host = h->host;
	*ret_target = h->target;
	if (str_eq(h->method, STR("CONNECT")))
		return 405;
	if (h->target.p[0] == '/' ||
	    (str_eq(h->target, STR("*")) && str_eq(h->method, STR("OPTIONS"))))
		return 0;
	return read_absolute(h->target, ret_host, ret_target);
}

/* ---- answers ---- */

enum head_framing head_choose_framing(const struct http_body *body, bool old)
{
	if (body->done || body->kind == HTTP_BODY_LENGTH)
		return HEAD_AS_IS;
	if (old)
		return HEAD_CLOSE;
	return body->kind == HTTP_BODY_CLOSE ? HEAD_CHUNKED : HEAD_AS_IS;
}

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

	if (value.p && !is_bodiless(h))
		fields[(*n)++] = (struct field){ STR("content-length"), value };
}

/* The fields of the server that go on, into out, which has room for HTTP_HEADERS_MAX. */
static size_t keep_answer(const struct head_answer *a, struct field *out)
{
	const struct http_head *h = a->from;
	size_t n = keep_fields(h, out);

	if (h->lengths > 1 || (h->lengths && is_bodiless(h)))
		clear_length(h, out, &n);
	if (a->cors.n)
		drop_cors(out, &n);
	return n;
}

void head_write_answer(const struct head_answer *a, struct buf *out)
{
	const struct http_head *h = a->from;
	struct field fields[HTTP_HEADERS_MAX];
	size_t n = keep_answer(a, fields);

	out->n = 0;
	buf_reserve(out, HTTP_HEAD_MAX);
	buf_add_lit(out, "HTTP/1.1 ");
	buf_addu(out, h->status);
	buf_addc(out, ' ');
	add(out, h->reason);
	buf_add_lit(out, "\r\n");
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

/* ---- answers by HTTP/2 ---- */

size_t head_split(struct str lines, struct field *out, size_t max)
{
	struct str line, name;
	size_t n = 0;

	while (n < max && str_cut(&lines, '\n', &line)) {
		if (!str_cut(&line, ':', &name) || !name.n || name.p[0] == '\r')
			continue;
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		out[n++] = (struct field){ name, str_trim(line) };
	}
	return n;
}

/* An upgrade was asked for by extended CONNECT: there, 200 says that it has begun (RFC 8441). */
static void format_status(unsigned status, char to[static 4])
{
	status = status == 101 ? 200 : status;
	to[0] = (char)('0' + status / 100);
	to[1] = (char)('0' + status / 10 % 10);
	to[2] = (char)('0' + status % 10);
	to[3] = '\0';
}

size_t head_answer_fields(const struct head_answer *a, char status[static 4],
			  struct field out[static HEAD_FIELDS_MAX])
{
	struct field fields[HTTP_HEADERS_MAX];
	struct field *to = a->n_edits ? fields : out + 1;
	size_t n = keep_answer(a, to);

	if (a->upgrade)
		take_field(to, &n, STR("sec-websocket-accept"));
	if (a->n_edits) {
		assert(l7_headers_bound(n, a->edits, a->n_edits) <= EDITED_MAX); /* by the rules */
		n = l7_headers_apply(fields, n, a->edits, a->n_edits, out + 1);
	}
	format_status(a->from->status, status);
	out[0] = (struct field){ STR(":status"), { status, 3 } };
	n++;
	n += head_split(a->cors, out + n, HEAD_FIELDS_MAX - n);
	return n + head_split(a->more, out + n, HEAD_FIELDS_MAX - n);
}
