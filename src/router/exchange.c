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
#include "base/random.h"
#include "src/router/internal.h"

static void try_server(struct exchange *x, bool fresh);
static void disarm(struct exchange *x);

static struct worker *worker_of(const struct exchange *x)
{
	return x->client->worker;
}

static struct str method_of(const struct exchange *x)
{
	return (struct str){ x->method, x->n_method };
}

static bool is_sending(const struct exchange *x)
{
	return x->link && x->link->stream.state == STREAM_OPEN;
}

/* ---- the end ---- */

static void release(struct exchange *x)
{
	struct worker *w = worker_of(x);

	buf_free(&x->cors);
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
	if (!x->tunnel)
		count(&c->worker->counters.aborts, 1);
	if (x->answering && x->framing == HEAD_CLOSE)
		stream_reset(&c->stream); /* otherwise the end would look like that of the body */
	release(x);
	c->x = NULL;
	client_free(c);
}

/* Nothing is left of the request but what may follow it. */
static void leave(struct exchange *x, bool keep)
{
	struct client *c = x->client;

	disarm(x);
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
static void answer_with(struct exchange *x, unsigned status, struct str lines)
{
	struct client *c = x->client;
	const struct client_answer a = {
		.status = status,
		.lines = lines,
		.keep = x->keep && x->up.done && !x->old && !c->ended && !c->last,
		.head = str_eq(method_of(x), STR("HEAD")),
	};

	drop_link(x);
	disarm(x);
	client_answer(c, &a);
	if (c->closing) {
		release(x);
		c->x = NULL;
	} else {
		leave(x, true);
	}
}

static void answer(struct exchange *x, unsigned status)
{
	answer_with(x, status, (struct str){ 0 });
}

/* ---- time ---- */

/* The client's stream has one deadline for all that the exchange waits for. */
static void arm(struct exchange *x)
{
	int64_t at = x->due, now = loop_monotonic();

	if (x->retry_at && (!at || x->retry_at < at))
		at = x->retry_at;
	if (at)
		stream_set_deadline(&x->client->stream, at > now ? at - now : 1);
}

static void disarm(struct exchange *x)
{
	if (x->due || x->retry_at)
		stream_set_deadline(&x->client->stream, 0);
	x->due = x->retry_at = 0;
}

static void move(struct exchange *x)
{
	x->moved = ev_now(worker_of(x)->loop);
}

/* ---- further tries ---- */

/* Tries again after a while, or returns false. */
static bool try_again(struct exchange *x, const struct l7_try *t)
{
	const struct l7_retry *policy = &x->target->rule->retry;
	struct worker *w = worker_of(x);
	int64_t wait;

	if (!l7_retry_again(policy, t))
		return false;
	wait = l7_retry_wait(policy, t, random_next(&w->random));
	drop_link(x);
	x->full_up = x->full_down = x->cut = false;
	count(&w->counters.retries, 1);
	x->retry_at = loop_monotonic() + wait;
	arm(x);
	return true;
}

static void fail(struct exchange *x, enum l7_ending ending)
{
	const struct l7_try t = { .ending = ending,
				  .number = x->tries,
				  .repeatable = x->repeatable,
				  .answering = x->answering };

	if (x->answering)
		exchange_drop(x);
	else if (!try_again(x, &t))
		answer(x, l7_retry_status(&t));
}

/* Whether the status of an answer asks for another try. */
static bool retry_status(struct exchange *x, unsigned status)
{
	const struct l7_try t = { .ending = L7_ANSWERED,
				  .status = status,
				  .number = x->tries,
				  .repeatable = x->repeatable };

	return status >= 400 && try_again(x, &t);
}

void exchange_late(struct exchange *x)
{
	fail(x, x->link->stream.state == STREAM_OPEN ? L7_TIMED_OUT : L7_NOT_REACHED);
}

void exchange_expired(struct exchange *x)
{
	int64_t now = loop_monotonic();

	if (x->due && x->due <= now) {
		if (x->answering)
			exchange_drop(x);
		else
			answer(x, 504);
	} else if (x->retry_at && x->retry_at <= now) {
		x->retry_at = 0;
		arm(x);
		try_server(x, false);
	} else {
		arm(x);
	}
}

void exchange_sweep(struct exchange *x, ev_tstamp now)
{
	const struct worker_limits *limits = &worker_of(x)->config.limits;
	int64_t limit = x->tunnel ? limits->tunnel_time : limits->stall_time;

	if (!is_sending(x) || now - x->moved < loop_seconds(limit))
		return;
	if (x->answering)
		exchange_drop(x);
	else if (!x->up.done && !x->full_up)
		answer(x, 408);
	else
		fail(x, L7_TIMED_OUT);
}

/* ---- who is read from ---- */

static void steer_client(struct exchange *x)
{
	struct client *c = x->client;
	bool room = !c->in || c->in->n < BUFFER_SIZE;

	stream_want(&c->stream, (c->ended || x->full_up || !room ? 0U : STREAM_READ) |
					(x->full_down ? STREAM_WRITE : 0U));
}

static void steer_server(struct exchange *x)
{
	if (is_sending(x))
		stream_want(&x->link->stream, (x->full_down || x->server_ended ? 0U : STREAM_READ) |
						      (x->full_up && !x->cut ? STREAM_WRITE : 0U));
}

void exchange_steer(struct exchange *x)
{
	steer_client(x);
	steer_server(x);
}

void exchange_resume(struct exchange *x)
{
	move(x);
	x->full_down = false;
	exchange_steer(x);
}

void exchange_flushed(struct exchange *x)
{
	move(x);
	x->full_up = x->cut;
	exchange_steer(x);
}

/* Does not read from the server until the client has taken what is queued. */
static void slow_down(struct exchange *x)
{
	if (!stream_unsent(&x->client->stream))
		return;
	x->full_down = true;
	exchange_steer(x);
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

/*
 * The server takes no more. It may have answered before it had read everything: then that answer is
 * passed on, and the client is not read from any more.
 */
static void be_cut(struct exchange *x)
{
	x->keep = x->keep_link = false;
	x->cut = x->full_up = true;
	steer_client(x);
	if (!link_rescue(x->link))
		exchange_lost(x, -EPIPE);
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
		be_cut(x);
		return;
	}
	recycle(x);
	if (c->ended && !x->up.done) {
		exchange_drop(x);
		return;
	}
	if (stream_is_full(&x->link->stream)) {
		x->full_up = true;
		steer_server(x);
	}
	steer_client(x);
}

/* Both sides have ended. */
static void end_tunnel(struct exchange *x)
{
	link_leave(TAKE_PTR(x->link));
	count(&worker_of(x)->counters.answers[0], 1);
	x->sent = 0;
	leave(x, false);
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
	if (c->ended && x->server_ended) {
		end_tunnel(x);
		return;
	}
	if (c->ended)
		stream_shutdown(to);
	x->full_up = stream_is_full(to);
	exchange_steer(x);
}

void exchange_push(struct exchange *x)
{
	move(x);
	if (!is_sending(x) || x->cut)
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
	if (w->host.n)
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
	char server[ENDPOINT_STRLEN];
	struct head_request r = { .from = h,
				  .client = &c->peer,
				  .scheme = STR("http"),
				  .forwarded = x->listener->forwarded,
				  .upgrade = x->upgrade };

	head_read_target(h, &r.asked, &r.target);
	if (h->target.p[0] != '/')
		r.host = r.asked;
	if (!r.asked.n && !h->minor)
		r.host = str_of(endpoint_format(&x->server->at, server));
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
	move(x);
	if (!x->link->served)
		link_limit(x->link, x->target->rule->try_timeout);
	send_request(x, h);
}

static void try_server(struct exchange *x, bool fresh)
{
	const struct server *server = choose_server(x);
	const struct l7_pool *pool = x->era->generation->pools[x->backend->pool].config;
	int64_t limit = x->target->rule->try_timeout;
	bool open;

	if (!server) {
		answer(x, 503);
		return;
	}
	x->tries++;
	x->server = server;
	x->link = link_take(x, server, fresh, &open);
	if (!open && (!limit || pool->connect_timeout < limit))
		limit = pool->connect_timeout;
	link_limit(x->link, limit);
	if (open)
		exchange_connected(x);
}

/* ---- the answer ---- */

static void choose_framing(struct exchange *x, const struct http_head *h)
{
	http_body_init(&x->down, h, method_of(x));
	x->status = h->status;
	x->keep_link = h->keep_alive && x->down.kind != HTTP_BODY_CLOSE;
	if (x->down.kind == HTTP_BODY_CLOSE && !x->down.done)
		x->framing = x->old ? HEAD_CLOSE : HEAD_CHUNKED;
	else if (x->down.kind == HTTP_BODY_CHUNKED && !x->down.done && x->old)
		x->framing = HEAD_CLOSE;
	else
		x->framing = HEAD_AS_IS;
	if (x->framing == HEAD_CLOSE || x->client->ended || x->client->last || !x->up.done)
		x->keep = false;
}

static void write_answer(struct exchange *x, const struct http_head *h)
{
	struct head_answer a = { .from = h,
				 .framing = x->framing,
				 .keep = x->keep || h->status < 200,
				 .old = x->old,
				 .upgrade = h->status == 101,
				 .cors = { x->cors.p, x->cors.n } };

	add_edits(&x->target->rule->filters.response, a.edits, &a.n_edits);
	add_edits(&x->backend->filters.response, a.edits, &a.n_edits);
	head_write_answer(&a, &worker_of(x)->out);
}

/* The whole answer was passed on. */
static void complete(struct exchange *x, bool leftover)
{
	const struct l7_pool *pool = x->era->generation->pools[x->backend->pool].config;
	bool whole = x->up.done, keep = x->keep_link && whole && !leftover;

	link_give(TAKE_PTR(x->link), keep ? &pool->limits : NULL);
	count(&worker_of(x)->counters.answers[x->status >= 600 ? 4 : x->status / 100 - 1], 1);
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

/* 100 and 103 are passed on; 101 makes a tunnel, if the client asked for one. */
static int take_interim(struct exchange *x, const struct http_head *h)
{
	struct worker *w = worker_of(x);

	if (h->status == 101) {
		if (!x->upgrade)
			return -EBADMSG;
		x->tunnel = x->answering = true;
		x->keep = x->keep_link = false;
		disarm(x);
		link_limit(x->link, 0);
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

	move(x);
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
		if (retry_status(x, w->head.status))
			return -1;
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
		x->server_ended = true;
		stream_shutdown(&x->client->stream);
		exchange_steer(x);
	} else if (x->tunnel && error == 0) {
		end_tunnel(x);
	} else if (x->answering && error == 0 && http_body_eof(&x->down)) {
		if (x->framing == HEAD_CHUNKED)
			stream_send(&x->client->stream, "0\r\n\r\n", 5);
		complete(x, true);
	} else if (x->answering) {
		exchange_drop(x);
	} else if (was_stale(x)) {
		drop_link(x);
		x->tries--; /* the server has not seen it */
		x->cut = x->full_up = false;
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
				.repeatable = true };
	x->n_method = (uint8_t)(h->method.n < ROUTER__METHOD ? h->method.n : ROUTER__METHOD);
	memcpy(x->method, h->method.p, x->n_method);
	http_body_init(&x->up, h, (struct str){ 0 });
	x->upgrade = h->upgrade && h->minor && x->up.done &&
		     !str_ieq(http_header(h, STR("upgrade")), STR("h2c"));
	x->moved = ev_now(w->loop);
	return x;
}

/* What rules look at. Returns 0, or the status to refuse the request with. */
static unsigned view(const struct http_head *h, struct l7_request *ret)
{
	struct str target;
	const char *query;
	unsigned status;

	*ret = (struct l7_request){ .method = h->method,
				    .headers = h->headers,
				    .n_headers = h->n_headers };
	status = h->expect_other ? 417 : head_read_target(h, &ret->host, &target);
	if (status)
		return status;
	query = memchr(target.p, '?', target.n);
	ret->path = target.p[0] == '*' ? STR("/") : target;
	if (query) {
		ret->path.n = (size_t)(query - target.p);
		ret->query = (struct str){ query + 1, target.n - ret->path.n - 1 };
	}
	return 0;
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
	buf_add_lit(path, "location: ");
	l7_redirect_location(to, x->target->match->path, &from, path);
	buf_add_lit(path, "\r\n");
	answer_with(x, to->status, (struct str){ path->p, path->n });
}

/* Writes the lines for the answer. Returns true if the request is a preflight. */
static bool apply_cors(struct exchange *x, const struct l7_cors *cors)
{
	const struct http_head *h = &worker_of(x)->head;
	const struct l7_cors_request r = {
		.method = h->method,
		.origin = http_header(h, STR("origin")),
		.wants_method = http_header(h, STR("access-control-request-method")),
		.wants_headers = http_header(h, STR("access-control-request-headers")),
	};
	struct buf *scratch = &worker_of(x)->path;
	struct field fields[L7_CORS_FIELDS];
	size_t n;

	scratch->n = 0;
	n = l7_cors_fields(cors, &r, scratch, fields);
	for (size_t i = 0; i < n; i++) {
		buf_add(&x->cors, fields[i].name.p, fields[i].name.n);
		buf_add_lit(&x->cors, ": ");
		buf_add(&x->cors, fields[i].value.p, fields[i].value.n);
		buf_add_lit(&x->cors, "\r\n");
	}
	return l7_cors_is_preflight(&r);
}

static void pass_on(struct exchange *x)
{
	const struct l7_rule *rule = x->target->rule;
	const struct l7_cors *cors = rule->filters.cors ?: x->backend->filters.cors;

	if (cors && apply_cors(x, cors)) {
		answer_with(x, 204, (struct str){ x->cors.p, x->cors.n });
		return;
	}
	if (rule->request_timeout) {
		x->due = loop_monotonic() + rule->request_timeout;
		arm(x);
	}
	try_server(x, false);
}

void exchange_begin(struct client *c, size_t n)
{
	struct worker *w = c->worker;
	struct exchange *x = c->x = make(c, n);
	struct l7_request r;
	unsigned status = view(&w->head, &r);

	count(&w->counters.requests, 1);
	if (status) {
		x->keep = false;
		answer(x, status);
		return;
	}
	switch (choose_rule(x, &r, &status)) {
	case CHOICE_SERVER:
		pass_on(x);
		break;
	case CHOICE_REDIRECT:
		redirect(x, &r);
		break;
	case CHOICE_ANSWER:
		answer(x, status);
		break;
	}
}
