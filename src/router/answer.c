/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer: from the server to the client.
 *
 * Interim answers are passed on. The head of the final one decides how the end of its body is
 * marked: as it came, unless the client does not know that.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "core/l7/key.h"
#include "src/router/internal.h"

#define INTERIM_MAX 100 /* answers 1xx to one request: a server could send them for ever */

/*
 * An answer to HEAD, 204 or 304 that announces a body: a server that sends it, too, would have it
 * taken for the answer to the next request.
 */
static bool may_be_followed(const struct http_body *body, const struct http_head *h)
{
	return body->kind == HTTP_BODY_NONE && (h->chunked || h->length);
}

static void choose_framing(struct exchange *x, const struct http_head *h)
{
	http_body_init(&x->down, h, exchange__method(x));
	x->status = h->status;
	x->keep_link =
		h->keep_alive && x->down.kind != HTTP_BODY_CLOSE && !may_be_followed(&x->down, h);
	x->framing = x->client->is_stream ? HEAD_CONTENT : head_choose_framing(&x->down, x->old);
	if (x->web)
		x->web = l7_grpc_is_call(http_header(h, STR("content-type")));
	if (x->web && x->framing == HEAD_AS_IS && !x->down.done) /* its end becomes content */
		x->framing = x->old ? HEAD_CLOSE : HEAD_CHUNKED;
	if (x->framing == HEAD_CLOSE || x->client->ended || x->client->last || !x->up.done)
		x->keep = false;
}

/* The line that names the server to a client that does not know it yet. */
static void name_server(const struct exchange *x, struct buf *line)
{
	const struct l7_persistence *p = &x->target->rule->persistence;

	if (p->enabled && !(x->session && x->session->key == x->server->key))
		l7_key_give(p, x->server->key, line);
}

/* How long the server took, and how long all of it until now. */
static void tell_time(const struct exchange *x, struct buf *line)
{
	buf_printf(line, "server-timing: upstream;dur=%.3f, total;dur=%.3f\r\n",
		   (double)(x->first - x->try_began) / 1e6, (double)(x->first - x->began) / 1e6);
}

/* Lines of the router in an answer of a server. */
static struct str own_lines(const struct exchange *x, unsigned status)
{
	struct buf *lines = &exchange__worker(x)->path;

	lines->n = 0;
	name_server(x, lines);
	if (x->listener->server_timing && status >= 200)
		tell_time(x, lines);
	return (struct str){ lines->p, lines->n };
}

static void describe(struct exchange *x, const struct http_head *h, struct head_answer *a)
{
	*a = (struct head_answer){ .from = h,
				   .framing = x->framing,
				   .keep = x->keep || h->status < 200,
				   .old = x->old,
				   .upgrade = h->status == 101,
				   .cors = { x->cors.p, x->cors.n } };

	if (h->status == 101 || h->status >= 200)
		a->more = own_lines(x, h->status);
	exchange__add_edits(&x->target->rule->filters.response, a->edits, &a->n_edits);
	exchange__add_edits(&x->backend->filters.response, a->edits, &a->n_edits);
	if (x->web)
		a->edits[a->n_edits++] = x->down.done ? &call_web_code : &call_web_answer;
}

/* The head as text, which is sent with what follows it. */
static void write_answer(struct exchange *x, const struct http_head *h)
{
	struct head_answer a;

	describe(x, h, &a);
	head_write_answer(&a, &exchange__worker(x)->out);
}

/* The head as fields, which are sent at once. */
static int send_fields(struct exchange *x, const struct http_head *h)
{
	struct field fields[HEAD_FIELDS_MAX];
	struct head_answer a;
	char status[4];
	ssize_t r;
	size_t n;

	describe(x, h, &a);
	n = head_answer_fields(&a, status, fields);
	r = h->status < 200 && h->status != 101
		    ? session_inform(x->client, fields, n)
		    : session_respond(x->client, fields, n, h->status >= 200 && x->down.done);
	x->out += r > 0 ? (uint64_t)r : 0;
	return r < 0 ? (int)r : 0;
}

/* The whole answer was passed on. */
static void complete(struct exchange *x, bool leftover)
{
	const struct l7_pool *pool = x->era->generation->pools[x->backend->pool].config;
	bool whole = x->up.done, keep = x->keep_link && whole && !leftover;

	x->ended = x->ended ?: loop_monotonic();
	account_answered(x, x->status);
	x->done = true;
	link_give(TAKE_PTR(x->link), keep ? &pool->limits : NULL);
	count(&exchange__worker(x)->counters.answers[x->status >= 600 ? 4 : x->status / 100 - 1],
	      1);
	exchange__leave(x, x->keep && whole);
}

static int send_pieces(struct exchange *x, const struct str *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x->out += pieces[i].n;
	return stream_sendv(&x->client->stream, pieces, n);
}

void exchange__trail(struct exchange *x, struct str lines)
{
	if (x->web)
		buf_add(&x->trailers, lines.p, lines.n);
	else
		session_trail(x->client, lines);
}

/* Passes on content and trailers by HTTP/2; as pass(). */
static int pass_content(struct exchange *x, const char *p, size_t n, size_t *ret_used)
{
	struct str content;
	size_t used = 0;

	while (used < n && !x->down.done) {
		ssize_t fed = http_body_feed(&x->down, p + used, n - used, &content);

		if (fed < 0)
			return (int)fed;
		used += (size_t)fed;
		x->out += content.n;
		if (content.n)
			session_send(x->client, content);
		if (x->down.trailer.n)
			exchange__trail(x, x->down.trailer);
	}
	*ret_used = used;
	return 0;
}

/* Passes on a part of the body; used is set to the number of bytes that belong to it. */
static int pass(struct exchange *x, struct str head, const char *p, size_t n, size_t *ret_used)
{
	struct str pieces[4] = { head };
	struct str content;
	char size[20];
	size_t used = 0, at = head.n > 0;
	int r = 0;

	if (x->framing == HEAD_CONTENT)
		return pass_content(x, p, n, ret_used);
	while (r == 0 && used < n && !x->down.done) {
		size_t from = used;
		ssize_t fed = http_body_feed(&x->down, p + used, n - used, &content);

		if (fed < 0)
			return (int)fed;
		used += (size_t)fed;
		if (x->framing == HEAD_AS_IS) {
			if (at > (head.n > 0)) /* what came is next to it */
				pieces[at - 1].n += (size_t)fed;
			else
				pieces[at++] = (struct str){ p + from, (size_t)fed };
			continue;
		}
		if (content.n && x->framing == HEAD_CHUNKED) {
			int len = snprintf(size, sizeof(size), "%zx\r\n", content.n);

			pieces[at++] = (struct str){ size, (size_t)len };
			pieces[at++] = content;
			pieces[at++] = STR("\r\n");
		} else if (content.n) {
			pieces[at++] = content;
		}
		r = at ? send_pieces(x, pieces, at) : 0;
		at = 0;
		head.n = 0;
		if (x->web && x->down.trailer.n)
			exchange__trail(x, x->down.trailer);
	}
	*ret_used = used;
	if (x->down.done && !x->keep) /* complete() follows */
		stream_is_last(&x->client->stream);
	return at && r == 0 ? send_pieces(x, pieces, at) : r;
}

/* The router asked for an upgrade in the name of a client that sent an extended CONNECT. */
static bool is_accepted(const struct exchange *x, const struct http_head *h)
{
	return !x->client->is_stream ||
	       session_accepts(x->client, http_header(h, STR("sec-websocket-accept")));
}

/*
 * 100 and 103 are passed on; 101 makes a tunnel, if the client asked for one and the server says to
 * which protocol it switches.
 */
static int take_interim(struct exchange *x, const struct http_head *h)
{
	struct worker *w = exchange__worker(x);

	if (++x->interim > INTERIM_MAX)
		return -EBADMSG;
	if (h->status == 101) {
		if (!x->upgrade || !h->upgrade || !http_header(h, STR("upgrade")).n ||
		    !is_accepted(x, h))
			return -EBADMSG;
		exchange__keep_head(x);
		x->tunnel = x->answering = true;
		x->status = h->status;
		account_first(x);
		x->keep = x->keep_link = false;
		exchange__disarm(x);
		link_limit(x->link, 0);
	} else if (x->old) {
		return 0;
	}
	if (x->client->is_stream) {
		if (x->tunnel)
			session_tunnel(x->client);
		return send_fields(x, h);
	}
	x->framing = HEAD_AS_IS;
	write_answer(x, h);
	return send_pieces(x, &(struct str){ w->out.p, w->out.n }, 1);
}

static ssize_t pull_tunnel(struct exchange *x, const char *p, size_t n)
{
	if (n && x->client->is_stream) {
		x->out += n;
		session_send(x->client, (struct str){ p, n });
	} else if (n && send_pieces(x, &(struct str){ p, n }, 1) < 0) {
		exchange_drop(x);
		return -1;
	}
	exchange__slow_down(x);
	return (ssize_t)n;
}

static ssize_t spoil(struct exchange *x)
{
	exchange__fail(x, L7_BROKEN);
	return -1;
}

/* A piece of content of the router itself, after that of the server. */
static int add_content(struct exchange *x, struct str content)
{
	char size[20];
	int n = snprintf(size, sizeof(size), "%zx\r\n", content.n);
	const struct str chunk[] = { { size, (size_t)n }, content, STR("\r\n") };

	if (x->framing == HEAD_CHUNKED)
		return send_pieces(x, chunk, ARRAY_SIZE(chunk));
	if (x->framing != HEAD_CONTENT)
		return send_pieces(x, &content, 1);
	x->out += content.n;
	session_send(x->client, content);
	return 0;
}

static int mark_web_end(struct exchange *x)
{
	struct buf *frame = &exchange__worker(x)->path;
	int r;

	frame->n = 0;
	r = call_web_frame(x, frame);
	return r < 0 ? r : add_content(x, (struct str){ frame->p, frame->n });
}

/* Marks the end of the body for the client. */
int exchange__mark_end(struct exchange *x)
{
	int r = x->web && x->trailers.n ? mark_web_end(x) : 0;

	if (r < 0)
		return r;
	if (x->framing == HEAD_CONTENT)
		return session_finish(x->client);
	if (x->framing == HEAD_CHUNKED)
		send_pieces(x, &STR("0\r\n\r\n"), 1);
	return 0;
}

/* The rest of an answer, and its head if it was just parsed. */
static ssize_t pull_body(struct exchange *x, bool fresh, struct str head, const char *p, size_t n)
{
	size_t used = 0;
	int r = pass(x, head, p, n, &used);

	if (r == 0 && x->down.done)
		r = exchange__mark_end(x);
	if (r == -EBADMSG)
		return spoil(x);
	if (r < 0) {
		exchange_drop(x);
		return -1;
	}
	if (x->down.done) {
		if (fresh) /* all of it came at once */
			x->ended = x->first;
		complete(x, used < n);
		return -1;
	}
	exchange__slow_down(x);
	return (ssize_t)used;
}

/* A success without a switch of protocols would look like one to an extended CONNECT. */
static bool seems_accepted(const struct exchange *x, unsigned status)
{
	return x->client->is_stream && x->upgrade && status < 300;
}

/* By HTTP/1 the head is sent together with what has come of the body. */
static int send_head(struct exchange *x, const struct http_head *h, struct str *ret_text)
{
	const struct buf *out = &exchange__worker(x)->out;

	if (x->framing == HEAD_CONTENT)
		return send_fields(x, h);
	write_answer(x, h);
	*ret_text = (struct str){ out->p, out->n };
	return 0;
}

ssize_t exchange_pull(struct exchange *x, const char *p, size_t n)
{
	struct worker *w = exchange__worker(x);
	struct str head = { 0 };
	bool fresh = false;
	size_t used = 0;
	ssize_t more;

	exchange__move(x);
	while (!x->answering) {
		int r = http_parse_response(p + used, n - used, NULL, &w->head);

		if (r == 0 && n - used < BUFFER_SIZE)
			return (ssize_t)used;
		if (r <= 0)
			return spoil(x);
		used += (size_t)r;
		if (w->head.status < 200) {
			if (take_interim(x, &w->head) < 0)
				return spoil(x);
			continue;
		}
		if (exchange__retry_status(x))
			return -1;
		if (seems_accepted(x, w->head.status))
			return spoil(x);
		account_first(x);
		choose_framing(x, &w->head);
		x->answering = fresh = true;
		if (send_head(x, &w->head, &head) < 0) {
			exchange_drop(x);
			return -1;
		}
	}
	more = x->tunnel ? pull_tunnel(x, p + used, n - used)
			 : pull_body(x, fresh, head, p + used, n - used);
	return more < 0 ? more : (ssize_t)used + more;
}

/* Whether a request may be sent again although a server may have seen it. */
static bool is_idempotent(const struct exchange *x)
{
	static const struct str methods[] = { { "GET", 3 }, { "HEAD", 4 },   { "OPTIONS", 7 },
					      { "PUT", 3 }, { "DELETE", 6 }, { "TRACE", 5 } };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (str_eq(methods[i], exchange__method(x)))
			return true;
	return false;
}

/* A server may end a kept connection at the moment when a request is sent on it. */
static bool was_stale(const struct exchange *x)
{
	return x->link->served && !x->link->in && x->repeatable &&
	       (x->link->unseen || is_idempotent(x));
}

/* The server has not seen the try, which does not count. */
static void begin_again(struct exchange *x, bool fresh)
{
	x->counted = true;
	exchange__drop_link(x);
	x->tries--;
	x->cut = x->full_up = false;
	exchange__try_server(x, fresh);
}

void exchange_again(struct exchange *x)
{
	begin_again(x, false);
}

/* Our side of a tunnel. */
static void end_side(struct client *c)
{
	if (c->is_stream)
		session_finish(c);
	else
		stream_shutdown(&c->stream);
}

void exchange_lost(struct exchange *x, int error)
{
	if (x->tunnel && error == 0 && !x->client->ended) {
		x->server_ended = true;
		end_side(x->client);
		exchange_steer(x);
	} else if (x->tunnel && error == 0) {
		exchange__end_tunnel(x);
	} else if (x->answering && error == 0 && http_body_eof(&x->down)) {
		exchange__mark_end(x);
		complete(x, true);
	} else if (x->answering && !x->tunnel) {
		exchange__fail(x, L7_BROKEN);
	} else if (x->answering) {
		account_failure(x, STATS_BROKEN, "server-broken");
		exchange_drop(x);
	} else if (was_stale(x)) {
		begin_again(x, true);
	} else {
		exchange__fail(x, link_ending(x->link));
	}
}
