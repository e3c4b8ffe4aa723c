/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: one request, passed on to a server, and its answer.
 *
 *	begin -> [connecting] -> sending -> waiting -> answering -> end
 *	            ^               |          |
 *	            +--- again -----+----------+   at another server, while that is safe
 *
 * Bytes of bodies are passed on as they came: their framing is checked while they pass. Only where
 * the two sides cannot have the same framing is it changed (enum head_framing). Nothing is stored
 * but what one side has sent and the other has not taken yet; then the sender is not read from.
 *
 * The request stays in the client's buffer until its answer begins, as long as it fits there: so it
 * can be sent again.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/router/internal.h"

static void try_server(struct exchange *x, bool fresh);

static struct worker *worker_of(const struct exchange *x)
{
	return x->client->worker;
}

/* ---- the end ---- */

static void release(struct exchange *x)
{
	struct worker *w = worker_of(x);

	worker_release_era(w, x->era);
	x->next = w->spare;
	w->spare = x;
}

static void drop_link(struct exchange *x)
{
	if (x->link)
		link_free(TAKE_PTR(x->link));
}

/* The client gets no proper end: what it has got so far must not look complete. */
void exchange_drop(struct exchange *x)
{
	struct client *c = x->client;

	drop_link(x);
	release(x);
	c->x = NULL;
	client_free(c);
}

/* Nothing is left of the request but what may follow it. */
static void leave(struct exchange *x, bool keep)
{
	struct client *c = x->client;

	if (c->in)
		c->in->at = x->sent;
	release(x);
	c->x = NULL;
	if (keep)
		client_next(c);
	else
		client_end(c);
}

/* Answers without a server. The rest of a body that was not read ends the connection. */
static void answer_with(struct exchange *x, unsigned status, struct str location)
{
	struct client *c = x->client;
	bool keep = x->keep && x->up.done && !c->ended;

	drop_link(x);
	worker_of(x)->answers++;
	client_answer(c, status, location, keep);
	if (keep) {
		leave(x, true);
		return;
	}
	release(x);
	c->x = NULL;
}

static void answer(struct exchange *x, unsigned status)
{
	answer_with(x, status, (struct str){ 0 });
}

static void fail(struct exchange *x, enum l7_ending ending)
{
	struct l7_try t = { .ending = ending,
			    .number = x->tries,
			    .repeatable = x->repeatable,
			    .answering = x->answering };

	if (x->answering) {
		exchange_drop(x);
		return;
	}
	drop_link(x);
	if (l7_retry_again(&x->target->rule->retry, &t))
		try_server(x, false);
	else
		answer(x, l7_retry_status(&t));
}

/* ---- the request ---- */

/* Checks the framing of the bytes that wait; those that belong to the body are [sent, *end). */
static int body_end(struct exchange *x, size_t *ret_end)
{
	const struct buffer *in = x->client->in;
	size_t at = x->sent;
	struct str content;

	while (at < in->n && !x->up.done) {
		ssize_t r = http_body_feed(&x->up, in->p + at, in->n - at, &content);

		if (r < 0)
			return (int)r;
		at += (size_t)r;
	}
	*ret_end = at;
	return 0;
}

/* All that waits was passed on: the buffer is used for the next part of the body. */
static void recycle(struct exchange *x)
{
	struct buffer *in = x->client->in;

	if (in->n < BUFFER_SIZE || x->up.done)
		return;
	x->repeatable = false;
	in->at = in->n = x->start = x->sent = 0;
}

static void push_pieces(struct exchange *x, struct str head)
{
	struct client *c = x->client;
	struct str pieces[2] = { head };
	size_t end = x->sent, first = !head.n;

	if (body_end(x, &end) < 0) {
		if (x->answering)
			exchange_drop(x);
		else
			x->keep = false, answer(x, 400);
		return;
	}
	pieces[1] = (struct str){ c->in->p + x->sent, end - x->sent };
	x->sent = end;
	if (pieces[first].n && stream_sendv(&x->link->stream, pieces + first, 2 - first) < 0) {
		fail(x, L7_BROKEN);
		return;
	}
	recycle(x);
	if (c->ended && !x->up.done) {
		exchange_drop(x);
	} else if (stream_is_full(&x->link->stream)) {
		stream_want(&c->stream, 0);
		stream_want(&x->link->stream, STREAM_READ | STREAM_WRITE);
	} else {
		client_read_on(c);
	}
}

static bool is_sending(const struct exchange *x)
{
	return x->link && x->link->stream.state == STREAM_OPEN;
}

static void push_tunnel(struct exchange *x)
{
	struct client *c = x->client;
	struct stream *to = &x->link->stream;

	if (c->in && c->in->n > x->sent &&
	    stream_send(to, c->in->p + x->sent, c->in->n - x->sent) < 0) {
		exchange_drop(x);
		return;
	}
	if (c->in)
		c->in->at = c->in->n = x->sent = 0;
	if (c->ended)
		stream_shutdown(to);
	else if (stream_is_full(to))
		stream_want(&c->stream, 0), stream_want(to, STREAM_READ | STREAM_WRITE);
}

void exchange_push(struct exchange *x)
{
	if (!is_sending(x))
		return;
	if (x->tunnel)
		push_tunnel(x);
	else if (!x->up.done)
		push_pieces(x, (struct str){ 0 });
}

/* The target as the server gets it: the backend's rewrite wins over that of the rule. */
static void rewrite(struct exchange *x, struct head_request *r)
{
	const struct l7_rewrite *w = x->backend->filters.rewrite;
	struct buf *path = &worker_of(x)->path;
	struct str from = r->target;
	const char *query = memchr(from.p, '?', from.n);

	if (!w)
		w = x->target->rule->filters.rewrite;
	if (!w)
		return;
	r->host = w->host;
	if (w->edit == L7_PATH_KEPT)
		return;
	if (query)
		from.n = (size_t)(query - from.p);
	path->n = 0;
	l7_rewrite_path(w, x->target->match->path, from, path);
	buf_add(path, from.p + from.n, r->target.n - from.n);
	r->target = (struct str){ path->p, path->n };
}

static void add_edits(const struct l7_header_edits *e, const struct l7_header_edits **list,
		      size_t *n)
{
	if (e->n_set + e->n_add + e->n_remove)
		list[(*n)++] = e;
}

static void send_request(struct exchange *x, const struct http_head *h)
{
	struct client *c = x->client;
	struct worker *w = c->worker;
	struct head_request r = { .from = h,
				  .target = h->target,
				  .client = &c->peer,
				  .scheme = STR("http"),
				  .forwarded = x->listener->forwarded,
				  .upgrade = x->upgrade };

	rewrite(x, &r);
	add_edits(&x->target->rule->filters.request, r.edits, &r.n_edits);
	add_edits(&x->backend->filters.request, r.edits, &r.n_edits);
	head_write_request(&r, &w->out);
	x->sent = x->start + x->head;
	http_body_init(&x->up, h, (struct str){ 0 });
	push_pieces(x, (struct str){ w->out.p, w->out.n });
}

void exchange_connected(struct exchange *x)
{
	const struct buffer *in = x->client->in;
	struct http_head *h = &worker_of(x)->head;
	int r = http_parse_request(in->p + x->start, in->n - x->start, NULL, h);

	assert(r > 0 && (size_t)r == x->head);
	send_request(x, h);
}

static void try_server(struct exchange *x, bool fresh)
{
	const struct server *server = choose_server(x);
	bool open;

	if (!server) {
		answer(x, 503);
		return;
	}
	x->tries++;
	x->link = link_take(x, server, fresh, &open);
	if (open)
		exchange_connected(x);
}

/* ---- the answer ---- */

static struct str method_of(const struct exchange *x)
{
	return (struct str){ x->method, x->n_method };
}

static void choose_framing(struct exchange *x, const struct http_head *h)
{
	http_body_init(&x->down, h, method_of(x));
	x->keep_link = h->keep_alive && x->down.kind != HTTP_BODY_CLOSE;
	if (x->down.kind == HTTP_BODY_CLOSE && !x->down.done)
		x->framing = x->old ? HEAD_CLOSE : HEAD_CHUNKED;
	else if (x->down.kind == HTTP_BODY_CHUNKED && !x->down.done && x->old)
		x->framing = HEAD_CLOSE;
	else
		x->framing = HEAD_AS_IS;
	if (x->framing == HEAD_CLOSE || x->client->ended || !x->up.done)
		x->keep = false;
}

static void write_answer(struct exchange *x, const struct http_head *h)
{
	struct head_answer a = { .from = h,
				 .framing = x->framing,
				 .keep = x->keep,
				 .old = x->old,
				 .upgrade = h->status == 101 };

	add_edits(&x->target->rule->filters.response, a.edits, &a.n_edits);
	add_edits(&x->backend->filters.response, a.edits, &a.n_edits);
	head_write_answer(&a, &worker_of(x)->out);
}

/* The whole answer was passed on. */
static void complete(struct exchange *x, bool leftover)
{
	const struct l7_pool *pool = x->era->generation->pools[x->backend->pool].config;
	bool whole = x->up.done, keep = x->keep_link && whole && !leftover;

	link_give(TAKE_PTR(x->link), keep ? pool->limits.idle : 0);
	worker_of(x)->answers++;
	leave(x, x->keep && whole);
}

/* Passes on a part of the body; used is set to the number of bytes that belong to it. */
static int pass(struct exchange *x, struct str head, const char *p, size_t n, size_t *ret_used)
{
	struct str pieces[4] = { head };
	struct str content;
	char size[20];
	size_t used = 0, at = head.n > 0;
	int r = 0;

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
		r = at ? stream_sendv(&x->client->stream, pieces, at) : 0;
		at = 0;
		head.n = 0;
	}
	*ret_used = used;
	return at && r == 0 ? stream_sendv(&x->client->stream, pieces, at) : r;
}

static void slow_down(struct exchange *x)
{
	if (!stream_unsent(&x->client->stream))
		return;
	link_read(x->link, false);
	stream_want(&x->client->stream, STREAM_READ | STREAM_WRITE);
}

void exchange_resume(struct exchange *x)
{
	if (is_sending(x))
		link_read(x->link, true);
}

/* 100 and 103 are passed on; 101 makes a tunnel, if the client asked for one. */
static int take_interim(struct exchange *x, const struct http_head *h)
{
	struct worker *w = worker_of(x);

	if (h->status == 101) {
		if (!x->upgrade)
			return -EBADMSG;
		x->tunnel = x->answering = true;
		x->keep = x->keep_link = false;
	} else if (x->old) {
		return 0;
	}
	x->framing = HEAD_AS_IS;
	write_answer(x, h);
	return stream_send(&x->client->stream, w->out.p, w->out.n);
}

static ssize_t pull_tunnel(struct exchange *x, const char *p, size_t n)
{
	if (n && stream_send(&x->client->stream, p, n) < 0) {
		exchange_drop(x);
		return -1;
	}
	slow_down(x);
	return (ssize_t)n;
}

static ssize_t spoil(struct exchange *x)
{
	fail(x, L7_BROKEN);
	return -1;
}

/* The rest of an answer, and its head if it was just parsed. */
static ssize_t pull_body(struct exchange *x, struct str head, const char *p, size_t n)
{
	size_t used = 0;
	int r = pass(x, head, p, n, &used);

	if (r == -EBADMSG)
		return spoil(x);
	if (r < 0) {
		exchange_drop(x);
		return -1;
	}
	if (x->down.done) {
		if (x->framing == HEAD_CHUNKED)
			stream_send(&x->client->stream, "0\r\n\r\n", 5);
		complete(x, used < n);
		return -1;
	}
	slow_down(x);
	return (ssize_t)used;
}

ssize_t exchange_pull(struct exchange *x, const char *p, size_t n)
{
	struct worker *w = worker_of(x);
	struct str head = { 0 };
	size_t used = 0;
	ssize_t more;

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
		choose_framing(x, &w->head);
		write_answer(x, &w->head);
		x->answering = true;
		head = (struct str){ w->out.p, w->out.n };
	}
	more = x->tunnel ? pull_tunnel(x, p + used, n - used)
			 : pull_body(x, head, p + used, n - used);
	return more < 0 ? more : (ssize_t)used + more;
}

/* Whether a request may be sent again although a server may have seen it. */
static bool is_idempotent(const struct exchange *x)
{
	static const struct str methods[] = { { "GET", 3 }, { "HEAD", 4 },   { "OPTIONS", 7 },
					      { "PUT", 3 }, { "DELETE", 6 }, { "TRACE", 5 } };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (str_eq(methods[i], method_of(x)))
			return true;
	return false;
}

/* A server may end a kept connection at the moment when a request is sent on it. */
static bool was_stale(const struct exchange *x)
{
	return x->link->served && !x->link->in && x->repeatable && is_idempotent(x);
}

void exchange_lost(struct exchange *x, int error)
{
	if (x->tunnel && error == 0 && !x->client->ended) {
		stream_shutdown(&x->client->stream);
		link_read(x->link, false);
	} else if (x->tunnel) {
		drop_link(x);
		x->sent = 0;
		leave(x, false);
	} else if (x->answering && error == 0 && http_body_eof(&x->down)) {
		if (x->framing == HEAD_CHUNKED)
			stream_send(&x->client->stream, "0\r\n\r\n", 5);
		complete(x, true);
	} else if (x->answering) {
		exchange_drop(x);
	} else if (was_stale(x)) {
		drop_link(x);
		try_server(x, true);
	} else {
		fail(x,
		     x->link->stream.failed_in == STREAM_CONNECTING ? L7_NOT_REACHED : L7_BROKEN);
	}
}

/* ---- the beginning ---- */

static struct exchange *make(struct client *c, size_t n)
{
	struct worker *w = c->worker;
	const struct http_head *h = &w->head;
	struct exchange *x = w->spare;

	if (x)
		w->spare = x->next;
	else
		x = mem_alloc(sizeof(*x));
	w->era->users++;
	*x = (struct exchange){ .client = c,
				.era = w->era,
				.start = c->in->at,
				.head = n,
				.sent = c->in->at + n,
				.old = h->minor == 0,
				.keep = h->keep_alive,
				.repeatable = true,
				.upgrade = h->upgrade && h->minor };
	x->n_method = (uint8_t)(h->method.n < ROUTER__METHOD ? h->method.n : ROUTER__METHOD);
	memcpy(x->method, h->method.p, x->n_method);
	http_body_init(&x->up, h, (struct str){ 0 });
	return x;
}

static struct l7_request view(const struct http_head *h)
{
	struct l7_request r = { .host = http_header(h, STR("host")),
				.path = h->target,
				.method = h->method,
				.headers = h->headers,
				.n_headers = h->n_headers };
	const char *query = memchr(h->target.p, '?', h->target.n);

	if (query) {
		r.path.n = (size_t)(query - h->target.p);
		r.query = (struct str){ query + 1, h->target.n - r.path.n - 1 };
	}
	return r;
}

static void redirect(struct exchange *x, const struct l7_request *r)
{
	const struct l7_redirect *to = x->target->rule->filters.redirect;
	const struct l7_place from = { .scheme = STR("http"),
				       .host = r->host,
				       .port = x->client->port->at.port,
				       .path = r->path,
				       .query = r->query };
	struct buf *path = &worker_of(x)->path;

	path->n = 0;
	l7_redirect_location(to, x->target->match->path, &from, path);
	answer_with(x, to->status, (struct str){ path->p, path->n });
}

void exchange_begin(struct client *c, size_t n)
{
	struct worker *w = c->worker;
	struct l7_request r = view(&w->head);
	struct exchange *x = c->x = make(c, n);
	unsigned status;

	w->requests++;
	switch (choose_rule(x, &r, &status)) {
	case CHOICE_SERVER:
		try_server(x, false);
		break;
	case CHOICE_REDIRECT:
		redirect(x, &r);
		break;
	case CHOICE_ANSWER:
		answer(x, status);
		break;
	}
}
