/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: the life of one client's connection.
 *
 *	IDLE -> HEAD -> [BODY] -> ANSWER -> IDLE ...
 *	                       any -> LINGER -> closed
 *
 * Each state has a step function. It does what can be done without waiting and returns whether to
 * continue, to wait for the loop, or to close. They run within steps of the stream's task while
 * there is time; after that, a connection with more to do goes to the end of the task queue. Each
 * step of the task produces one slice of an answer; the next one follows when the socket is ready.
 *
 * Pipelined requests wait in `in` until the answer before them was sent; reading stops when `in`
 * has the size of one head. The server always closes through LINGER: if it closed at once while the
 * client still sends, the kernel would send RST and the client could lose the answer.
 *
 * A connection has one deadline, whose meaning depends on the state: to finish the request
 * (measured from its first byte, so that sending slowly does not extend it), to take HTTP_SLICE
 * bytes of the answer, or to send another request.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server_private.h"

#define LINGER_TIME (1 * NSEC_PER_SEC)
/* While draining: time to close after the last answer, to finish a TLS handshake, or to begin. */
#define DRAIN_PATIENCE (300 * NSEC_PER_MSEC)

enum step { AGAIN, WAIT, CLOSE };

static bool has_output(const struct http__conn *c)
{
	return stream_unsent(&c->stream) > 0;
}

static void set_deadline(struct http__conn *c, int64_t ns)
{
	c->taken = 0;
	stream_set_deadline(&c->stream, ns);
}

/* Whether the answer is in slices and the next slice can be produced now. */
static bool is_producing(const struct http__conn *c)
{
	return c->state == HTTP__ANSWER && c->x.streaming && !c->x.ended && !c->x.waiting;
}

/* Whether the handler waits for a piece of the body. */
static bool awaits_body(const struct http__conn *c)
{
	return c->state == HTTP__ANSWER && c->x.later && c->x.receiving && !c->x.paused;
}

static enum http__rank rank_of(const struct http__conn *c)
{
	if (c->refused) /* not closed to make room */
		return HTTP__RANKS;

	switch (c->state) {
	case HTTP__IDLE:
		return c->served ? HTTP__SPARE : HTTP__ASKING;
	case HTTP__HEAD:
	case HTTP__BODY:
		return HTTP__ASKING;
	case HTTP__ANSWER:
		if (awaits_body(c))
			return HTTP__ASKING;
		if (has_output(c) || is_producing(c) || c->in.n > HTTP__KEEP_MAX)
			return HTTP__TAKING;
		return HTTP__RANKS;
	case HTTP__LINGER:
		return c->stream.state == STREAM_LINGERING ? HTTP__SPARE : HTTP__TAKING;
	case HTTP__MOVED:
		return HTTP__RANKS;
	case HTTP__STATES:
		break;
	}
	assert(false);
	return HTTP__RANKS;
}

static void set_rank(struct http__conn *c, enum http__rank rank)
{
	struct http_server *s = c->server;

	if (c->member.rank == rank && !c->moved)
		return;
	stream_crowd_rank(&s->crowd, &c->member, rank);
	c->since = ev_now(s->loop);
	c->moved = false;
}

static void set_state(struct http__conn *c, enum http__state state)
{
	const struct http_server_config *config = &c->server->config;

	c->state = state;

	switch (state) {
	case HTTP__IDLE:
		set_deadline(c, config->idle_timeout);
		break;
	case HTTP__HEAD:
		set_deadline(c, config->request_timeout);
		break;
	case HTTP__BODY: /* the deadline of the request continues */
		break;
	case HTTP__ANSWER:
	case HTTP__LINGER:
		set_deadline(c, config->write_timeout);
		break;
	case HTTP__MOVED:
	case HTTP__STATES:
		assert(false);
	}
}

/* Shrinks a buffer of which less than half is used. */
static void shrink(struct buf *b)
{
	if (b->cap <= HTTP__KEEP_MAX || b->n > b->cap / 2)
		return;
	if (!b->n) {
		buf_free(b);
		return;
	}
	b->cap = b->n;
	b->p = mem_resize(b->p, b->cap, 1);
}

static size_t weight(const struct buf *b)
{
	return b->cap > HTTP__KEEP_MAX ? b->cap : 0;
}

/* A client may be slow for minutes, so its connection keeps no more memory than needed. */
static void shrink_all(struct http__conn *c)
{
	size_t queue;

	shrink(&c->in);
	shrink(&c->content);
	shrink(&c->trailers);
	stream_shrink(&c->stream);
	queue = stream_held(&c->stream);
	http__server_hold(c->server, c,
			  weight(&c->in) + weight(&c->content) + weight(&c->trailers) +
				  (queue > HTTP__KEEP_MAX ? queue : 0));
}

/* Counts the bytes sent since the last call; a client that takes them gets more time. */
static void note_sent(struct http__conn *c)
{
	uint64_t n = c->stream.sent - c->counted;

	if (!n)
		return;
	c->counted += n;
	c->taken += n;
	c->moved = true;
	c->server->stats.bytes_sent += n;
	if (c->taken >= HTTP_SLICE && c->state >= HTTP__ANSWER)
		set_deadline(c, c->server->config.write_timeout);
}

/* Sends some of the output. Returns false if the connection is broken. */
static bool flush(struct http__conn *c)
{
	int r = stream_flush(&c->stream);

	note_sent(c);
	return r == 0 || r == -EAGAIN;
}

/* A client that goes on sending its body gets more time. */
static void note_body(struct http__conn *c, size_t n)
{
	c->taken += n;
	if (c->taken >= HTTP_SLICE)
		set_deadline(c, c->server->config.request_timeout);
}

/* Reads input. Returns false if the connection is broken. */
static bool receive(struct http__conn *c)
{
	ssize_t n = stream_read(&c->stream, c->server->input, sizeof(c->server->input));

	if (n < 0)
		return n == -EAGAIN;
	if (n == 0)
		c->peer_closed = true;
	else if (c->state != HTTP__LINGER)
		buf_add(&c->in, c->server->input, (size_t)n);
	if (awaits_body(c))
		note_body(c, (size_t)n);
	return true;
}

static void trace(struct http__conn *c, struct str method, struct str target)
{
	const struct http_server_config *config = &c->server->config;
	const struct http_trace t = { c->peer, method, target, c->x.status,
				      c->x.asked_at ? loop_monotonic() - c->x.asked_at : 0 };

	if (config->trace)
		config->trace(&t, config->user);
}

static enum step refuse(struct http__conn *c, unsigned status)
{
	http__exchange_end(&c->x, false); /* a handler may be receiving the body */
	c->x = (struct http_exchange){ .conn = c, .minor = 1, .close = true };
	c->served = true;
	set_state(c, HTTP__LINGER);
	http__reply_error(&c->x, status);
	trace(c, STR(""), STR(""));
	buf_free(&c->in);
	buf_free(&c->content);
	buf_free(&c->trailers);
	return AGAIN;
}

static enum step refuse_malformed(struct http__conn *c, unsigned status)
{
	c->server->stats.malformed++;
	return refuse(c, status);
}

/* The status for an error of http_parse_request() and similar functions. */
static unsigned status_of(int error)
{
	return error == -E2BIG ? 431 : 400;
}

/*
 * Called when the request is complete, or when its handler takes the body in pieces. Its head is in
 * server->head.
 */
static enum step handle(struct http__conn *c)
{
	struct http_server *s = c->server;
	int n = http_parse_trailers(c->trailers.p, c->trailers.n, s->trailers);
	struct http_request request = {
		.head = &s->head,
		.body = { c->content.p, c->content.n },
		.trailers = s->trailers,
		.n_trailers = (size_t)n,
		.peer = c->peer,
		.peer_name = c->stream.tls ? tls_peer_name(c->stream.tls) : NULL,
	};

	if (n < 0)
		return refuse_malformed(c, status_of(n));
	http__split_target(s->head.target, &request);
	c->x = (struct http_exchange){
		.conn = c,
		.minor = s->head.minor,
		.head_only = str_eq(s->head.method, STR("HEAD")),
		.close = !s->head.keep_alive || s->draining,
		.upgrade = s->head.upgrade && s->head.minor >= 1,
		.asked_at = s->config.trace ? loop_monotonic() : 0,
	};
	s->stats.requests++;
	c->served = true;
	set_state(c, HTTP__ANSWER);
	http__route(&c->x, &request);
	assert(c->x.answered || c->x.later);
	if (c->x.answered && !c->x.asked.n) /* a later answer is traced when it is given */
		trace(c, s->head.method, s->head.target);
	buf_consume(&c->in, c->head_len);
	c->head_len = 0;
	buf_free(&c->content);
	buf_free(&c->trailers);
	if (awaits_body(c))
		set_deadline(c, s->config.request_timeout);
	return AGAIN;
}

/* More input is needed: waits, or closes after end of file. */
static enum step need_input(const struct http__conn *c)
{
	return c->peer_closed ? CLOSE : WAIT;
}

static enum step step_idle(struct http__conn *c)
{
	if (!c->in.n)
		return need_input(c);
	set_state(c, HTTP__HEAD);
	return AGAIN;
}

/* Whether the handler of the current request takes the body in pieces. */
static bool wants_pieces(const struct http_server *s)
{
	struct http_request request = { .head = &s->head };
	const struct http_route *route;

	http__split_target(s->head.target, &request);
	route = http__find_route(s, &request).route;
	return route && route->methods & HTTP_IN_PIECES;
}

static enum step step_head(struct http__conn *c)
{
	struct http_server *s = c->server;
	int r = http_parse_request(c->in.p, c->in.n, &c->scanned, &s->head);

	if (r == 0)
		return need_input(c);
	if (r < 0)
		return refuse_malformed(c, status_of(r));
	if (s->head.expect_other)
		return refuse_malformed(c, 417);
	c->head_len = (size_t)r;
	http_body_init(&c->body, &s->head, s->head.method);
	if (c->body.done || wants_pieces(s))
		return handle(c);
	if (c->body.kind == HTTP_BODY_LENGTH && c->body.left > s->config.max_body)
		return refuse_malformed(c, 413);
	if (s->head.expect_continue && c->in.n == c->head_len)
		buf_add_lit(stream_out(&c->stream), "HTTP/1.1 100 Continue\r\n\r\n");
	set_state(c, HTTP__BODY);
	return AGAIN;
}

/* Moves body bytes from the input to `content`. Returns 0, or the status to refuse with. */
static unsigned take_body(struct http__conn *c)
{
	size_t at = c->head_len;

	while (!c->body.done && at < c->in.n) {
		struct str part;
		ssize_t r = http_body_feed(&c->body, c->in.p + at, c->in.n - at, &part);

		if (r < 0)
			return 400;
		if (part.n > c->server->config.max_body - c->content.n)
			return 413;
		buf_add(&c->content, part.p, part.n);
		buf_add(&c->trailers, c->body.trailer.p, c->body.trailer.n);
		at += (size_t)r;
	}
	memmove(c->in.p + c->head_len, c->in.p + at, c->in.n - at);
	c->in.n -= at - c->head_len;
	return 0;
}

static enum step step_body(struct http__conn *c)
{
	unsigned status = take_body(c);
	int r;

	if (status)
		return refuse_malformed(c, status);
	if (!c->body.done)
		return need_input(c);
	/* `in` may have moved since, and the slices of the head point into it */
	r = http_parse_request(c->in.p, c->head_len, NULL, &c->server->head);
	assert(r > 0 && (size_t)r == c->head_len);
	return handle(c);
}

static enum step step_stream(struct http__conn *c)
{
	if (c->x.waiting) {
		set_deadline(c, 0);
		return c->peer_closed || c->server->draining ? CLOSE : WAIT;
	}
	http__produce(&c->x);
	set_deadline(c, c->server->config.write_timeout);
	if (c->x.lost || !flush(c))
		return CLOSE;
	/* one slice in a step: the next one is produced when the socket can take it */
	return has_output(c) || is_producing(c) ? WAIT : AGAIN;
}

/* The answer was sent. No request can follow if a part of the body was not taken. */
static enum step end_answer(struct http__conn *c)
{
	bool last = c->x.close || c->x.receiving || c->server->draining;

	http__exchange_end(&c->x, true);
	set_state(c, last ? HTTP__LINGER : HTTP__IDLE);
	if (last)
		buf_free(&c->in);
	return AGAIN;
}

static enum step step_reply(struct http__conn *c)
{
	if (has_output(c))
		return WAIT;
	if (c->x.later) {
		if (!awaits_body(c))
			set_deadline(c, 0);
		return WAIT;
	}
	if (c->x.streaming && !c->x.ended)
		return step_stream(c);
	return end_answer(c);
}

/* For a body in pieces: WAIT if nothing can be done now. */
static enum step step_receive(struct http__conn *c)
{
	int r = http__receive(c);

	if (r < 0)
		return c->x.answered ? CLOSE : refuse_malformed(c, status_of(r));
	if (r > 0)
		return AGAIN;
	return c->x.receiving && !c->x.paused ? need_input(c) : WAIT;
}

/* Both directions work at the same time. */
static enum step step_answer(struct http__conn *c)
{
	enum step in = c->x.receiving ? step_receive(c) : WAIT;
	enum step out;

	if (in == CLOSE || c->state != HTTP__ANSWER)
		return in;
	out = step_reply(c);
	return out == WAIT ? in : out;
}

static enum step step_moved(struct http__conn *c)
{
	return CLOSE;
}

/* Sends the rest of the answer under the usual deadline; then the stream closes. */
static enum step step_linger(struct http__conn *c)
{
	if (has_output(c) || c->stream.state == STREAM_LINGERING)
		return WAIT;
	if (c->peer_closed)
		return CLOSE;
	stream_linger(&c->stream, c->server->draining ? DRAIN_PATIENCE : LINGER_TIME);
	return WAIT;
}

static enum step (*const steps[HTTP__STATES])(struct http__conn *c) = {
	[HTTP__IDLE] = step_idle,     [HTTP__HEAD] = step_head,	    [HTTP__BODY] = step_body,
	[HTTP__ANSWER] = step_answer, [HTTP__LINGER] = step_linger, [HTTP__MOVED] = step_moved,
};

/* Tells the stream what the connection waits for. */
static void watch(struct http__conn *c)
{
	bool room = c->state != HTTP__ANSWER || c->in.n < HTTP_HEAD_MAX;

	stream_want(&c->stream, (room && !c->peer_closed ? STREAM_READ : 0) |
					(is_producing(c) || has_output(c) ? STREAM_WRITE : 0));
}

/* Does at least one step, and more while there is time. May free c. */
static void advance(struct http__conn *c)
{
	struct http_server *s = c->server;
	enum step step;

	s->running = c;
	do {
		step = flush(c) ? steps[c->state](c) : CLOSE;
	} while (step == AGAIN && task_has_time(s->loop));
	s->running = NULL;
	if (step == CLOSE) {
		http__conn_close(c);
		return;
	}
	set_rank(c, rank_of(c));
	watch(c);
	if (step == AGAIN)
		stream_wake(&c->stream);
	shrink_all(c);
}

static void on_opened(struct stream *stream)
{
	struct http__conn *c = container_of(stream, struct http__conn, stream);

	c->secured = true;
	watch(c);
}

static void on_ready(struct stream *stream, unsigned what)
{
	struct http__conn *c = container_of(stream, struct http__conn, stream);

	note_sent(c); /* the stream may have sent queued bytes */
	if ((what & STREAM_READ) && !receive(c))
		http__conn_close(c);
	else
		advance(c);
}

static void on_closed(struct stream *stream, int error)
{
	struct http__conn *c = container_of(stream, struct http__conn, stream);

	if (!c->secured)
		c->server->stats.tls_failures++;
	http__conn_close(c);
}

/* A request that has begun is answered with 408; an idle connection is closed. */
static void on_expired(struct stream *stream)
{
	struct http__conn *c = container_of(stream, struct http__conn, stream);

	if (c->member.rank != HTTP__SPARE)
		c->server->stats.timeouts++;
	if (c->state == HTTP__HEAD || c->state == HTTP__BODY || awaits_body(c))
		http__conn_refuse(c, 408);
	else
		http__conn_close(c);
}

static const struct stream_events events = {
	.opened = on_opened,
	.ready = on_ready,
	.closed = on_closed,
	.expired = on_expired,
};

/*
 * Bounds the kernel's send buffer. Otherwise it would take megabytes of each slow client's answer,
 * and events would be old by the time they are sent.
 */
static void bound_unsent(int fd)
{
	const int bytes = HTTP_SLICE;

	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

struct http__conn *http__conn_new(struct http_server *s, int fd, struct endpoint peer, bool refused)
{
	struct http__conn *c = mem_zalloc(sizeof(*c));

	c->server = s;
	c->peer = peer;
	bound_unsent(fd);
	stream_init(&c->stream, s->loop, TASK_ORDINARY, &events);
	stream_set_marks(&c->stream, HTTP_SLICE, SIZE_MAX); /* report all progress */
	stream_adopt(&c->stream, fd);
	c->secured = !s->config.tls;
	if (s->config.tls)
		stream_secure(&c->stream, tls_accept(s->config.tls, fd));
	TAILQ_INSERT_TAIL(&s->conns, c, all);
	s->stats.connections++;
	c->refused = refused;
	c->member.rank = STREAM_KEPT;
	if (!refused)
		stream_crowd_join(&s->crowd, &c->member, &peer);
	set_rank(c, rank_of(c));
	set_deadline(c, s->config.request_timeout);
	watch(c);
	return c;
}

void http__conn_close(struct http__conn *c)
{
	struct http_server *s = c->server;

	note_sent(c);
	stream_crowd_leave(&s->crowd, &c->member);
	http__server_hold(s, c, 0);
	stream_end(&c->stream);
	http__server_forget(s, c);
	http__exchange_end(&c->x, false);
	buf_free(&c->in);
	buf_free(&c->content);
	buf_free(&c->trailers);
	free(c);
}

void http__conn_refuse(struct http__conn *c, unsigned status)
{
	refuse(c, status);
	set_rank(c, rank_of(c));
	stream_wake(&c->stream);
}

void http__conn_answered(struct http__conn *c)
{
	const struct http_exchange *x = &c->x;

	trace(c, (struct str){ x->asked.p, x->method_n },
	      (struct str){ x->asked.p + x->method_n, x->asked.n - x->method_n });
	set_deadline(c, c->server->config.write_timeout);
	stream_wake(&c->stream);
}

void http__conn_resumed(struct http__conn *c)
{
	if (awaits_body(c))
		set_deadline(c, c->server->config.request_timeout);
	stream_wake(&c->stream);
}

/* A request may be in the socket that was not read yet; it is answered, too. */
static bool has_unread(const struct http__conn *c)
{
	char byte;

	return recv(c->stream.fd, &byte, 1, MSG_PEEK) > 0;
}

void http__conn_drain(struct http__conn *c)
{
	bool waits = c->state == HTTP__ANSWER && c->x.streaming && c->x.waiting && !has_output(c);
	bool silent = c->state == HTTP__IDLE && !has_unread(c);

	if ((silent && c->served) || waits)
		http__conn_close(c);
	else if (silent || !c->secured || c->stream.state == STREAM_LINGERING)
		set_deadline(c, DRAIN_PATIENCE); /* a first request may be on its way */
}
