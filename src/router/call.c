/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call: what is different about calls of gRPC. Which code stands for which failure is decided by
 * core/l7/grpc.
 *
 * An answer of the router has a code instead of a status. An answer of a server that cannot go on
 * ends with a code, too, if the client speaks HTTP/2: a stream that is reset would look to the
 * client like a mistake of the protocol, and not like a server that has gone.
 */
#include <errno.h>

#include "core/l7/grpc.h"
#include "core/l7/headers.h"
#include "lib/grpc/timeout.h"
#include "lib/http/server.h"
#include "src/router/internal.h"

/* The method rules most requests out without a look at their fields. */
bool call_is(const struct http_head *h)
{
	return str_eq(h->method, STR("POST")) &&
	       l7_grpc_is_call(http_header(h, STR("content-type")));
}

bool call_may_be_quiet(const struct exchange *x)
{
	return x->target && x->target->match->grpc;
}

int64_t call_time(const struct exchange *x)
{
	int64_t limit = x->target->rule->request_timeout, wanted;
	struct str text = http_header(&exchange__worker(x)->head, STR("grpc-timeout"));

	if (grpc_timeout_parse(text, &wanted) < 0 || (limit && limit < wanted))
		return limit;
	return wanted ?: 1;
}

/* ---- codes of servers ---- */

unsigned call_read_head(struct exchange *x, unsigned status)
{
	struct str code = http_header(&exchange__worker(x)->head, STR("grpc-status"));

	if (!code.p)
		return status;
	x->code = l7_grpc_read_code(code);
	return status == 200 ? l7_grpc_status(x->code) : status;
}

void call_read_trailers(struct exchange *x, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_ieq(fields[i].name, STR("grpc-status")))
			x->code = l7_grpc_read_code(fields[i].value);
}

/* ---- codes of the router ---- */

static struct buf *write_code(struct exchange *x, unsigned status, const char *text)
{
	struct buf *lines = &exchange__worker(x)->path;

	lines->n = 0;
	x->code = l7_grpc_code(status);
	buf_printf(lines, "grpc-status: %d\r\ngrpc-message: %s\r\n", x->code,
		   text ?: http_status_reason(status));
	return lines;
}

void call_answer(struct exchange *x, struct client_answer *a)
{
	struct buf *lines = write_code(x, a->status, a->text);

	buf_adds(lines, x->web ? "content-type: application/grpc-web+proto\r\n"
			       : "content-type: application/grpc\r\n");
	if (x->web) /* a browser shows the code only to a page that may see it */
		buf_add(lines, x->cors.p, x->cors.n);
	a->lines = (struct str){ lines->p, lines->n };
	a->status = 200;
	a->bare = true;
}

bool call_end(struct exchange *x, unsigned status)
{
	struct client *c = x->client;
	struct buf *lines;

	if (!(c->is_stream || x->web) || x->tunnel)
		return false;
	lines = write_code(x, status, NULL);
	buf_add_lit(lines, "\r\n");
	exchange__trail(x, (struct str){ lines->p, lines->n });
	if (exchange__mark_end(x) < 0)
		return false;
	x->done = true;
	count(&c->worker->counters.answers[x->status / 100 - 1], 1);
	exchange__drop_link(x);
	exchange__leave(x, false);
	return true;
}

/* ---- gRPC-Web ---- */

/*
 * Browsers cannot read trailers, so gRPC-Web has them as the last message of the answer. Messages
 * are the same. An answer without messages has its code in the head, and needs no such frame.
 */
#define WEB_TRAILERS 0x80 /* instead of the flags of a message */

static const struct field web_request[] = { { { "content-type", 12 },
					      { "application/grpc", 16 } } };
static const struct field web_answer[] = { { { "content-type", 12 },
					     { "application/grpc-web+proto", 26 } } };
static const struct str length[] = { { "content-length", 14 } };

const struct l7_header_edits call_web_request = { .set = web_request, .n_set = 1 };
const struct l7_header_edits call_web_code = { .set = web_answer, .n_set = 1 };
const struct l7_header_edits call_web_answer = {
	.set = web_answer, .n_set = 1, .remove = length, .n_remove = 1
};

bool call_is_web(const struct http_head *h)
{
	return str_eq(h->method, STR("POST")) &&
	       l7_grpc_is_web(http_header(h, STR("content-type")));
}

/* Names are in lower case there. */
static void add_trailer(struct buf *out, const struct field *f)
{
	for (size_t i = 0; i < f->name.n; i++) {
		char c = f->name.p[i];

		buf_addc(out, (char)(c >= 'A' && c <= 'Z' ? c | 32 : c));
	}
	buf_add_lit(out, ": ");
	buf_add(out, f->value.p, f->value.n);
	buf_add_lit(out, "\r\n");
}

int call_web_frame(struct exchange *x, struct buf *out)
{
	struct field fields[HTTP_HEADERS_MAX];
	int n = http_parse_trailers(x->trailers.p, x->trailers.n, fields);
	size_t start = out->n;
	uint32_t size;

	if (n < 0)
		return -EBADMSG;
	call_read_trailers(x, fields, (size_t)n);
	buf_add(out, "\0\0\0\0\0", 5);
	for (int i = 0; i < n; i++)
		if (!l7_header_is_hop(fields[i].name, NULL, 0))
			add_trailer(out, &fields[i]);
	size = (uint32_t)(out->n - start - 5);
	out->p[start] = (char)WEB_TRAILERS;
	for (size_t i = 0; i < 4; i++)
		out->p[start + 1 + i] = (char)(size >> (24 - 8 * i));
	return 0;
}
