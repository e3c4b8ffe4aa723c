/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call: one request and its response over a connection.
 *
 *	START -> [LOOK_UP] -> CONNECT -> [TUNNEL] -> RESPONSE -> CONTENT -> done
 *	      \____________ kept connection _____________/
 *
 * Everything happens in steps of the stream's task. A callback may cancel the call; it is then
 * freed as soon as the callback returns, and the step returns GONE. Neither call nor connection may
 * be used after that. The same holds for a call that is finished, and for one that is repeated on
 * another connection.
 *
 * Both directions work at the same time: a server may answer before it has read the whole request.
 * The call is then finished, and the connection is closed.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/client_private.h"
#include "lib/tls/tls.h"

#define INTERIM_MAX 16 /* 1xx responses before the final one */

enum step { AGAIN, WAIT, GONE };

/* ---- the end of a call ---- */

/* Calls closed() of the source, if that was not done yet. */
static void end_source(struct http_call *call, bool whole)
{
	if (!call->sending)
		return;
	call->sending = false;
	call->running = true;
	call->source.closed(whole, call->source.user);
	call->running = false;
}

static void complete(struct http_call *call, struct http_result result, bool keep)
{
	struct http_client *c = call->client;
	int r;

	TAILQ_REMOVE(&c->calls, call, all);
	c->stats.calls--;
	call->cancelled = true; /* a cancel from now on has no effect */
	http__link_give(call, keep);
	end_source(call, false);
	if (call->head.n) {
		r = http_parse_response(call->head.p, call->head.n, NULL, &c->head);
		assert(r > 0);
		result.head = &c->head;
	}
	result.body = (struct str){ call->content.p, call->content.n };
	call->config.done(&result, call->config.user); /* may free the client */
	http__call_free(call);
}

void http__call_fail(struct http_call *call, int error, const char *words)
{
	struct buf reason = { 0 };

	buf_printf(&reason, "%s: %s", call->name, words);
	complete(call, (struct http_result){ .error = error, .reason = buf_cstr(&reason) }, false);
	buf_free(&reason);
}

static enum step fail(struct http_call *call, int error, const char *words)
{
	http__call_fail(call, error, words);
	return GONE;
}

/* To be called after a callback: true if it has cancelled the call, which is freed then. */
static bool is_cancelled(struct http_call *call)
{
	call->running = false;
	if (!call->cancelled)
		return false;
	http__call_free(call);
	return true;
}

/* ---- deadlines ---- */

void http__call_set_deadline(struct http_call *call)
{
	int64_t at = call->phase_ends < call->ends ? call->phase_ends : call->ends;
	int64_t left = at - loop_monotonic();

	if (at == INT64_MAX)
		stream_set_deadline(&call->link->stream, 0);
	else
		stream_set_deadline(&call->link->stream, left > 0 ? left : 1);
}

static void set_phase(struct http_call *call, enum http__phase phase, int64_t ns)
{
	call->phase = phase;
	call->phase_ends = http__from_now(ns);
	http__call_set_deadline(call);
}

static void fail_late(struct http_call *call, const char *what, int64_t limit)
{
	char words[64 + DURATION_STRLEN], time[DURATION_STRLEN];

	snprintf(words, sizeof(words), "%s within %s", what, duration_format(limit, time));
	fail(call, -ETIMEDOUT, words);
}

static void on_expired(struct stream *s)
{
	struct http__link *l = container_of(s, struct http__link, stream);
	struct http_call *call = l->call;

	if (!call)
		http__link_drop(l);
	else if (loop_monotonic() >= call->ends)
		fail_late(call, "no whole answer", call->config.timeout);
	else if (call->phase < HTTP__RESPONSE)
		fail_late(call, "no connection", call->config.connect_timeout);
	else
		fail_late(call, "no answer", call->config.head_timeout);
}

/* ---- a connection that broke ---- */

static bool may_be_repeated(const struct http_call *call)
{
	static const struct str safe[] = {
		{ "GET", 3 }, { "HEAD", 4 }, { "PUT", 3 }, { "DELETE", 6 }, { "OPTIONS", 7 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
		if (str_eq(safe[i], str_of(call->method)))
			return !call->config.source;
	return false;
}

/* The server may have closed a kept connection before it saw the request: not a failure. */
static enum step repeat(struct http_call *call)
{
	call->retried = true;
	call->client->stats.retried++;
	http__link_give(call, false);
	http__link_take(call, true);
	set_phase(call, HTTP__START, call->config.connect_timeout);
	return GONE;
}

static enum step broken(struct http_call *call, int error, const char *words)
{
	bool kept = call->link->used && !call->heard;

	if (kept && !call->retried && may_be_repeated(call))
		return repeat(call);
	return fail(call, error, words);
}

static enum step ended_early(struct http_call *call)
{
	return broken(call, -ECONNRESET,
		      call->phase == HTTP__CONTENT ? "the answer ends in the middle"
						   : "the connection was closed without an answer");
}

/* ---- the response ---- */

static enum step finish(struct http_call *call)
{
	const struct http__link *l = call->link;
	int n = http_parse_trailers(call->trailers.p, call->trailers.n, call->client->trailers);
	bool keep = call->keep && call->body.kind != HTTP_BODY_CLOSE && !l->eof && !l->in.n &&
		    call->sent && !call->sending;
	struct http_result result = { .reason = "",
				      .trailers = call->client->trailers,
				      .n_trailers = (size_t)n };

	if (n < 0)
		return fail(call, -EBADMSG, "the trailers of the answer are malformed");
	complete(call, result, keep);
	return GONE;
}

/* Passes content at offset `at` of the input to the caller. */
static enum step hand_over(struct http_call *call, size_t *at)
{
	const struct http_call_config *c = &call->config;
	size_t n = call->fed;

	if (c->take) {
		call->running = true;
		n = c->take((struct str){ call->link->in.p + *at, n }, c->user);
		if (is_cancelled(call))
			return GONE;
		assert(n <= call->fed);
	} else if (n > c->max_body - call->content.n) {
		return fail(call, -EMSGSIZE, "the answer is too large");
	} else {
		buf_add(&call->content, call->link->in.p + *at, n);
	}
	*at += n;
	call->fed -= n;
	call->paused = call->fed > 0;
	return call->paused ? WAIT : AGAIN;
}

/* Consumes framing up to the next content. */
static enum step feed(struct http_call *call, size_t *at)
{
	const struct buf *in = &call->link->in;
	struct str content;
	ssize_t n;

	if (*at == in->n)
		return WAIT;
	n = http_body_feed(&call->body, in->p + *at, in->n - *at, &content);
	if (n < 0)
		return fail(call, -EBADMSG, "the body of the answer is malformed");
	buf_add(&call->trailers, call->body.trailer.p, call->body.trailer.n);
	*at += (size_t)n - content.n;
	call->fed = content.n;
	return AGAIN;
}

static bool is_whole(const struct http_call *call)
{
	return !call->fed && call->body.done;
}

/* Processes pieces while there are some and there is time. */
static enum step step_content(struct http_call *call)
{
	struct http__link *l = call->link;
	enum step step = AGAIN;
	size_t at = 0;

	while (step == AGAIN && !call->paused && !is_whole(call)) {
		step = call->fed ? AGAIN : feed(call, &at);
		if (step == AGAIN && call->fed)
			step = hand_over(call, &at);
		if (step == AGAIN && !task_has_time(call->client->loop))
			break;
	}
	if (step == GONE)
		return GONE;
	buf_consume(&l->in, at);
	if (step == WAIT && l->eof && !call->paused && !http_body_eof(&call->body))
		return ended_early(call);
	if (is_whole(call))
		return finish(call);
	return call->paused ? WAIT : step;
}

/* The final head has arrived; the caller may inspect it and cancel. */
static enum step begin_content(struct http_call *call, size_t len)
{
	struct http_head *head = &call->client->head;
	struct buf *in = &call->link->in;

	call->keep = head->keep_alive;
	http_body_init(&call->body, head, str_of(call->method));
	if (!call->config.take && call->body.kind == HTTP_BODY_LENGTH &&
	    call->body.left > call->config.max_body)
		return fail(call, -EMSGSIZE, "the answer is too large");
	buf_add(&call->head, in->p, len);
	set_phase(call, HTTP__CONTENT, HTTP_NO_TIMEOUT);
	if (call->config.head) {
		call->running = true;
		call->config.head(head, call->config.user);
		if (is_cancelled(call))
			return GONE;
	}
	buf_consume(in, len);
	return AGAIN;
}

static enum step step_response(struct http_call *call)
{
	struct buf *in = &call->link->in;
	int r = http_parse_response(in->p, in->n, &call->scanned, &call->client->head);

	if (r == 0)
		return call->link->eof ? ended_early(call) : WAIT;
	if (r < 0)
		return fail(call, -EBADMSG,
			    r == -E2BIG ? "the head of the answer is too large"
					: "the answer is malformed");
	if (call->client->head.status >= 200)
		return begin_content(call, (size_t)r);
	if (call->client->head.status == 101)
		return fail(call, -EBADMSG, "the server switches protocols unasked");
	if (++call->interim > INTERIM_MAX)
		return fail(call, -EBADMSG, "too many interim answers");
	buf_consume(in, (size_t)r);
	return AGAIN;
}

/* ---- the request ---- */

/* The time for the head starts when the whole request was sent. */
static void note_sent(struct http_call *call)
{
	call->sent = true;
	if (call->phase == HTTP__RESPONSE)
		set_phase(call, HTTP__RESPONSE, call->config.head_timeout);
}

static bool is_producing(const struct http_call *call)
{
	return call->sending && !call->sent && !call->waiting;
}

static enum step produce(struct http_call *call)
{
	struct buf *out = stream_out(&call->link->stream);
	enum http_stream_state state;

	call->running = true;
	state = http__slice(&call->source, out, !call->source.length, &call->made);
	if (is_cancelled(call))
		return GONE;
	if (state == HTTP_STREAM_LOST)
		return fail(call, -EPIPE, "the rest of the request was lost");
	call->waiting = state == HTTP_STREAM_WAIT;
	if (state == HTTP_STREAM_END)
		note_sent(call);
	return AGAIN;
}

/* Sends, one slice of a source at a time. Returns WAIT unless the call is gone. */
static enum step step_request(struct http_call *call)
{
	struct stream *s = &call->link->stream;
	int r = stream_flush(s);

	if (r == 0 && is_producing(call)) {
		if (produce(call) == GONE)
			return GONE;
		r = stream_flush(s);
	}
	if (r < 0 && r != -EAGAIN)
		return broken(call, r, stream_reason(s, r));
	if (call->sent && call->sending && r == 0) {
		end_source(call, true);
		if (is_cancelled(call))
			return GONE;
	}
	return WAIT;
}

/* ---- steps ---- */

static enum step step_call(struct http_call *call)
{
	if (step_request(call) == GONE)
		return GONE;
	return call->phase == HTTP__CONTENT ? step_content(call) : step_response(call);
}

static void advance(struct http_call *call)
{
	struct http__link *l = call->link;
	enum step step;

	do {
		step = step_call(call);
	} while (step == AGAIN && task_has_time(l->client->loop));
	if (step == GONE)
		return;
	stream_want(&l->stream,
		    (call->paused || l->eof ? 0 : STREAM_READ) |
			    (stream_unsent(&l->stream) || is_producing(call) ? STREAM_WRITE : 0));
	if (step == AGAIN)
		stream_wake(&l->stream);
}

static bool may_send(const struct http_call *call)
{
	return !call->config.may_send || call->config.may_send(call->config.user);
}

static void begin_request(struct http_call *call)
{
	if (!may_send(call)) {
		fail(call, -EPERM, "the request was not sent: the caller no longer wants it");
		return;
	}
	call->scanned = 0;
	call->interim = 0;
	set_phase(call, HTTP__RESPONSE, HTTP_NO_TIMEOUT);
	buf_add(stream_out(&call->link->stream), call->request.p, call->request.n);
	if (!call->config.source)
		note_sent(call);
	advance(call);
}

/* ---- the way to the server ---- */

static void secure(struct http_call *call)
{
	const char *name = call->server_name ? call->server_name : call->host;
	struct stream *s = &call->link->stream;
	struct tls *tls;

	if (!call->config.target.tls || s->fd < 0)
		return;
	if (tls_connect(call->config.target.tls, s->fd, name, NULL, &tls) < 0)
		fail(call, -EINVAL, "that is not a name that a certificate can have");
	else
		stream_secure(s, tls);
}

static void connect_unix(struct http_call *call)
{
	stream_connect_unix(&call->link->stream, call->socket);
	call->client->stats.connections++;
	secure(call);
}

/* Tries the next address. words describe why the last one failed or why there is none. */
static void connect_next(struct http_call *call, int error, const char *words)
{
	struct sockaddr_storage sa;
	socklen_t len;

	if (call->tried == call->n_found) {
		fail(call, error, words);
		return;
	}
	len = endpoint_to_sockaddr(&call->found[call->tried++], &sa);
	stream_connect(&call->link->stream, (struct sockaddr *)&sa, len);
	call->client->stats.connections++;
	if (!call->proxy)
		secure(call);
}

/* ---- a proxy ---- */

/* The connection to the proxy is open: asks for a tunnel. */
static void begin_tunnel(struct http_call *call)
{
	struct stream *s = &call->link->stream;
	int r = stream_send(s, call->tunnel.p, call->tunnel.n);

	call->phase = HTTP__TUNNEL;
	call->scanned = 0;
	if (r < 0)
		fail(call, r, stream_reason(s, r));
	else
		stream_want(s, STREAM_READ);
}

static void refuse_tunnel(struct http_call *call, const struct http_head *head)
{
	char words[80];

	snprintf(words, sizeof(words), "the proxy answers %u %.*s", head->status,
		 (int)(head->reason.n < 40 ? head->reason.n : 40), head->reason.p);
	fail(call, -ECONNREFUSED, words);
}

/* Nothing may follow the head: the server speaks only after us. */
static void step_tunnel(struct http_call *call)
{
	struct http__link *l = call->link;
	struct http_head *head = &call->client->head;
	ssize_t n = stream_read(&l->stream, call->client->input, sizeof(call->client->input));
	int r;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		fail(call, n < 0 ? (int)n : -ECONNRESET, "the proxy closes the connection");
		return;
	}
	buf_add(&l->in, call->client->input, (size_t)n);
	r = http_parse_response(l->in.p, l->in.n, &call->scanned, head);
	if (r == 0)
		return;
	if (r < 0 || (head->status / 100 == 2 && (size_t)r != l->in.n)) {
		fail(call, -EBADMSG, "the answer of the proxy is malformed");
	} else if (head->status / 100 != 2) {
		refuse_tunnel(call, head);
	} else {
		buf_consume(&l->in, l->in.n);
		stream_want(&l->stream, 0);
		if (call->config.target.tls)
			secure(call);
		else
			begin_request(call);
	}
}

static void on_found(const struct endpoint *found, size_t n, const char *why, void *user)
{
	struct http_call *call = user;

	call->lookup = NULL;
	for (size_t i = 0; i < n; i++)
		call->found[i] = found[i];
	call->n_found = n;
	if (!n)
		call->trouble = mem_strdup(why);
	call->phase = HTTP__CONNECT;
	stream_wake(&call->link->stream);
}

static void look_up(struct http_call *call)
{
	const struct net_lookup_query query = { .host = call->proxy ? call->proxy : call->host,
						.port = call->dial_port,
						.timeout = call->config.connect_timeout,
						.done = on_found,
						.user = call };
	int r;

	call->phase = HTTP__LOOK_UP;
	r = net_lookup_start(call->client->loop, &query, &call->lookup);
	if (r < 0)
		fail(call, r, "the name cannot be looked up");
}

static void start(struct http_call *call)
{
	struct addr addr;

	call->tried = call->n_found = 0;
	if (call->link->stream.state == STREAM_OPEN) {
		begin_request(call);
		return;
	}
	call->phase = HTTP__CONNECT;
	if (call->socket) {
		connect_unix(call);
	} else if (addr_parse(call->proxy ? call->proxy : call->host, &addr) == 0) {
		call->found[call->n_found++] = (struct endpoint){ addr, call->dial_port };
		connect_next(call, 0, "");
	} else {
		look_up(call);
	}
}

/* ---- events of the connection ---- */

static void on_opened(struct stream *s)
{
	struct http_call *call = container_of(s, struct http__link, stream)->call;

	if (call->proxy && call->phase == HTTP__CONNECT)
		begin_tunnel(call);
	else
		begin_request(call);
}

/* Returns false if the connection is broken. */
static bool receive(struct http__link *l)
{
	ssize_t n = stream_read(&l->stream, l->client->input, sizeof(l->client->input));

	if (n == -EAGAIN)
		return true;
	if (n < 0) {
		broken(l->call, (int)n, stream_reason(&l->stream, (int)n));
		return false;
	}
	l->eof = n == 0;
	l->call->heard |= n > 0;
	buf_add(&l->in, l->client->input, (size_t)n);
	return true;
}

static void on_ready(struct stream *s, unsigned what)
{
	struct http__link *l = container_of(s, struct http__link, stream);
	struct http_call *call = l->call;

	if (!call)
		http__link_drop(l);
	else if (call->phase == HTTP__START)
		start(call);
	else if (call->phase == HTTP__CONNECT)
		connect_next(call, -EHOSTUNREACH, call->trouble ? call->trouble : "no address");
	else if (call->phase == HTTP__TUNNEL && (what & STREAM_READ))
		step_tunnel(call);
	else if (call->phase >= HTTP__RESPONSE && (!(what & STREAM_READ) || receive(l)))
		advance(call);
}

static void on_closed(struct stream *s, int error)
{
	struct http__link *l = container_of(s, struct http__link, stream);
	struct http_call *call = l->call;
	const char *words = stream_reason(s, error);

	if (!call) {
		http__link_drop(l);
	} else if (call->phase >= HTTP__RESPONSE) {
		broken(call, error, words);
	} else if (s->failed_in != STREAM_CONNECTING || call->tried == call->n_found) {
		fail(call, error, words);
	} else {
		stream_close(s);
		connect_next(call, error, words);
	}
}

const struct stream_events http__link_events = {
	.opened = on_opened,
	.ready = on_ready,
	.closed = on_closed,
	.expired = on_expired,
};
