/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: from the client to the server.
 *
 * The head is written again for each server that is tried. Bytes of the body are passed on as they
 * came, while their framing is checked.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "lib/grpc/timeout.h"
#include "src/router/internal.h"

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
		if (content.n > x->room)
			return -EFBIG;
		x->room -= content.n;
		at += (size_t)r;
	}
	*ret_end = at;
	return 0;
}

void exchange__keep_head(struct exchange *x)
{
	if (x->era->generation->config.log.enabled && !x->kept_head)
		x->kept_head = mem_copy(x->client->in->p + x->start, x->head);
}

/* All that waits was passed on: the buffer is used for the next part of the body. */
static void recycle(struct exchange *x)
{
	struct buffer *in = x->client->in;

	if ((x->repeatable && client_has_room(x->client)) || x->up.done)
		return;
	exchange__keep_head(x);
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
	exchange__steer_client(x);
	if (!link_rescue(x->link))
		exchange_lost(x, -EPIPE);
}

static void push_pieces(struct exchange *x, struct str head)
{
	struct client *c = x->client;
	struct str pieces[2];
	size_t end = x->sent, n = 0;
	int r = body_end(x, &end);

	if (r < 0) {
		exchange__refuse(x, r == -EFBIG ? REFUSAL_BODY_BYTES : REFUSAL_MALFORMED);
		return;
	}
	if (head.n)
		pieces[n++] = head;
	if (end > x->sent)
		pieces[n++] = (struct str){ c->in->p + x->sent, end - x->sent };
	if (!LIST_EMPTY(&x->mirrors))
		mirror_feed(x, (struct str){ c->in->p + x->sent, end - x->sent });
	x->in += end - x->sent;
	x->sent = end;
	if (n && link_sendv(x->link, pieces, n) < 0) {
		be_cut(x);
		return;
	}
	recycle(x);
	if (c->ended && !x->up.done) {
		exchange_drop(x);
		return;
	}
	if (link_is_full(x->link)) {
		x->full_up = true;
		exchange__steer_server(x);
	}
	exchange__steer_client(x);
}

void exchange__end_tunnel(struct exchange *x)
{
	account_answered(x, x->status);
	x->done = true;
	link_leave(TAKE_PTR(x->link));
	count(&exchange__worker(x)->counters.answers[0], 1);
	x->sent = 0;
	exchange__leave(x, false);
}

static void push_tunnel(struct exchange *x)
{
	struct client *c = x->client;
	struct link *to = x->link;

	if (c->in && c->in->n > x->sent &&
	    link_sendv(to, &(struct str){ c->in->p + x->sent, c->in->n - x->sent }, 1) < 0) {
		exchange_drop(x);
		return;
	}
	if (c->in) {
		x->in += c->in->n - x->sent;
		c->in->at = c->in->n = x->sent = 0;
	}
	if (c->ended && x->server_ended) {
		exchange__end_tunnel(x);
		return;
	}
	if (c->ended)
		link_shutdown(to);
	x->full_up = link_is_full(to);
	exchange_steer(x);
}

void exchange_push(struct exchange *x)
{
	exchange__move(x);
	if (x->place.side && x->client->ended) {
		exchange_drop(x); /* nobody waits for the answer */
		return;
	}
	if (!exchange__is_sending(x) || x->cut)
		return;
	if (x->tunnel)
		push_tunnel(x);
	else if (!x->up.done)
		push_pieces(x, (struct str){ 0 });
}

/* The path was brought into another form for the rules; the server gets the same. */
static void straighten(const struct exchange *x, struct head_request *r)
{
	struct buf *out = &exchange__worker(x)->straight;
	const char *query = memchr(r->target.p, '?', r->target.n);
	struct str path = { r->target.p, query ? (size_t)(query - r->target.p) : r->target.n };

	out->n = 0;
	if (l7_path_normalize(path, x->listener->paths, out) < 0)
		return; /* cannot be: the same was done before */
	buf_add(out, path.p + path.n, r->target.n - path.n);
	r->target = (struct str){ out->p, out->n };
}

/* The target as the server gets it: the backend's rewrite wins over that of the rule. */
static void rewrite(struct exchange *x, struct head_request *r)
{
	const struct l7_rewrite *w = x->backend->filters.rewrite;
	struct buf *path = &exchange__worker(x)->path;
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

/* With a list of trusted proxies, what others say is replaced. */
static void set_forwarded(const struct exchange *x, struct head_request *r)
{
	const struct l7_listener *l = x->listener;

	r->forwarded = l->forwarded;
	r->fields = l->fields;
	if (!l->trusted.n || l->forwarded == L7_FORWARDED_DROP)
		return;
	r->trusted = proxies_trust(&l->trusted, &x->client->source.addr);
	if (!r->trusted)
		r->forwarded = L7_FORWARDED_REPLACE;
}

/* Two fields of the name are no valid one. */
static bool has_trace(const struct http_head *h)
{
	struct str value = { 0 };
	struct l7_trace t;
	unsigned n = 0;

	for (size_t i = 0; i < h->n_headers; i++)
		if (str_ieq(h->headers[i].name, STR("traceparent")))
			value = h->headers[i].value, n++;
	return n == 1 && l7_trace_parse(value, &t);
}

/* All tries of a request belong to one trace. */
static void make_trace(struct exchange *x)
{
	uint64_t *state = &exchange__worker(x)->random, random[3];

	for (size_t i = 0; i < ARRAY_SIZE(random); i++)
		random[i] = random_next(state);
	x->trace = l7_trace_new(random, random_next(state) % 100 < x->listener->trace_percent);
	x->traced = true;
}

static void set_trace(struct exchange *x, struct head_request *r, char text[L7_TRACE_SIZE])
{
	enum l7_tracing how = x->listener->tracing;

	if (how == L7_TRACING_PASS || (how == L7_TRACING_CREATE && has_trace(r->from)))
		return;
	r->untraced = true;
	if (how == L7_TRACING_OFF)
		return;
	if (!x->traced)
		make_trace(x);
	r->traceparent = str_of(l7_trace_format(&x->trace, text));
}

/* Copies of the request begin with its first try. Those of an upgrade could not go on with it. */
static void copy(struct exchange *x)
{
	const struct worker *w = exchange__worker(x);

	x->pushed = 0;
	if (x->copied || x->upgrade)
		return;
	x->copied = true;
	if (x->target->rule->filters.n_mirrors || x->backend->filters.n_mirrors)
		mirror_begin(x, (struct str){ w->out.p, w->out.n });
}

/* A server that knows how much time is left does not work on for a client that has gone. */
static void set_timeout(const struct exchange *x, struct head_request *r,
			char text[static GRPC_TIMEOUT_STRLEN])
{
	int64_t due = x->due, left;

	if (x->try_due && (!due || x->try_due < due))
		due = x->try_due;
	if (!due)
		return;
	left = due - loop_monotonic();
	r->grpc_timeout = str_of(grpc_timeout_format(left > 0 ? left : 1, text));
}

static void send_request(struct exchange *x, const struct http_head *h)
{
	struct client *c = x->client;
	struct worker *w = c->worker;
	char trace[L7_TRACE_SIZE], timeout[GRPC_TIMEOUT_STRLEN];
	struct head_request r = { .from = h,
				  .client = &c->source,
				  .scheme = c->secure ? STR("https") : STR("http"),
				  .upgrade = x->upgrade };

	if (x->listener->tls.header.n) {
		r.subject_name = x->listener->tls.header;
		r.subject = secure_subject(c);
	}
	head_read_target(h, &r.asked, &r.target);
	if (h->target.p[0] != '/')
		r.host = r.asked;
	if (!r.asked.n && !h->minor)
		r.host = str_of(x->server->authority);
	if (x->crooked)
		straighten(x, &r);
	set_forwarded(x, &r);
	set_trace(x, &r, trace);
	if (x->grpc)
		set_timeout(x, &r, timeout);
	rewrite(x, &r);
	exchange__add_edits(&x->target->rule->filters.request, r.edits, &r.n_edits);
	exchange__add_edits(&x->backend->filters.request, r.edits, &r.n_edits);
	if (x->web)
		r.edits[r.n_edits++] = &call_web_request;
	head_write_request(&r, &w->out);
	x->sent = x->start + x->head;
	x->in = x->head;
	http_body_init(&x->up, h, (struct str){ 0 });
	x->room = x->era->generation->config.clients.body ?: UINT64_MAX;
	x->interim = 0;
	copy(x);
	push_pieces(x, (struct str){ w->out.p, w->out.n });
}

/* Time that the present try has left; 0: it has no limit. */
static int64_t rest_of_try(const struct exchange *x)
{
	int64_t rest = x->try_due ? x->try_due - loop_monotonic() : 0;

	return x->try_due && rest <= 0 ? 1 : rest;
}

/* The head is parsed again, unless the request has just begun and a kept link was there for it. */
static const struct http_head *parsed_head(const struct exchange *x)
{
	const struct buffer *in = x->client->in;
	struct worker *w = exchange__worker(x);
	int r;

	if (w->head_of == x)
		return &w->head;
	r = http_parse_request(in->p + x->start, in->n - x->start, NULL, &w->head);
	assert(r > 0 && (size_t)r == x->head);
	return &w->head;
}

void exchange_connected(struct exchange *x)
{
	const struct http_head *h = parsed_head(x);

	exchange__worker(x)->head_of = NULL;
	exchange__move(x);
	if (!x->link->served)
		link_limit(x->link, rest_of_try(x));
	send_request(x, h);
}

static const struct generation_pool *pool_of(const struct exchange *x)
{
	return &x->era->generation->pools[x->backend->pool];
}

#define TAKES 8 /* servers that other threads may fill before us */

enum exchange__seat exchange__take_link(struct exchange *x, bool fresh, bool *ret_open)
{
	const struct link_wish wish = { .pool = pool_of(x)->config,
					.secure = pool_of(x)->secure,
					.client = x->client,
					.fresh = fresh };
	bool full = true;

	for (unsigned i = 0; i < TAKES; i++) {
		struct server *server = choose_server(x, fresh, &full);

		if (!server)
			return full ? SEAT_FULL : SEAT_NONE;
		x->link = link_take(exchange__worker(x), server, &wish);
		if (!x->link)
			continue;
		x->link->x = x;
		x->server = server;
		*ret_open = link_is_open(x->link);
		return SEAT_TAKEN;
	}
	return SEAT_FULL;
}

void exchange__begin_try(struct exchange *x, bool fresh, bool open)
{
	const struct l7_pool *pool = pool_of(x)->config;
	int64_t limit = x->target->rule->try_timeout;

	if (limit && !fresh) /* a fresh link continues the try of one that had ended */
		x->try_due = loop_monotonic() + limit;
	if (limit && fresh)
		limit = rest_of_try(x);
	x->tries++;
	account_try(x);
	if (!open && (!limit || pool->connect_timeout < limit))
		limit = pool->connect_timeout;
	link_limit(x->link, limit);
	if (open)
		exchange_connected(x);
}

void exchange__try_server(struct exchange *x, bool fresh)
{
	const struct generation_pool *pool = pool_of(x);
	enum exchange__seat seat = SEAT_FULL;
	bool open;

	if (!pool->config->limits.connections || !quota_is_crowded(pool->quota))
		seat = exchange__take_link(x, fresh, &open);
	switch (seat) {
	case SEAT_TAKEN:
		exchange__begin_try(x, fresh, open);
		break;
	case SEAT_NONE:
		x->why = "no-server";
		exchange__answer(x, 503);
		break;
	case SEAT_FULL:
		exchange__wait(x);
		break;
	}
}
