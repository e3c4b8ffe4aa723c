/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: the life of one client's connection.
 *
 *	IDLE -> HEAD -> [BODY] -> ANSWER -> IDLE ...
 *	                       any -> LINGER -> closed
 *
 * Each state has a step, which does what can be done without waiting and says whether to go on,
 * to wait for the loop, or to close. One turn of the loop runs a bounded number of steps; slices of
 * streams are asked for in turn, by the server, so that neither one client nor many hold the loop.
 *
 * Requests that were sent ahead wait in `in` (bounded: reading stops at one head's size) until
 * the answer before them has gone. The server always closes by LINGER: an answer followed by a
 * close at once would be destroyed on its way when the client is still sending.
 *
 * The one deadline of a connection means what its state says: to finish the request (from its
 * first byte: a trickle does not help), to take HTTP_SLICE bytes of the answer, to ask again.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server_private.h"

#define STEPS_PER_TURN 64
#define SEND_MAX ((size_t)256 * 1024)
#define LINGER_TIME (1 * NSEC_PER_SEC)

enum step { AGAIN, WAIT, CLOSE };

static bool has_output(const struct http__conn *c)
{
	return c->out_at < c->out.n;
}

static void set_deadline(struct http__conn *c, int64_t ns)
{
	c->gone = 0;
	c->deadline.repeat = loop_seconds(ns);
	ev_timer_again(c->server->loop, &c->deadline); /* stops it when repeat is 0 */
}

/* A stream that has more to say than the client has taken. */
static bool is_producing(const struct http__conn *c)
{
	return c->state == HTTP__ANSWER && c->x.streaming && !c->x.ended && !c->x.waiting;
}

static enum http__rank rank_of(const struct http__conn *c)
{
	if (c->refused) /* gives no room */
		return HTTP__RANKS;

	switch (c->state) {
	case HTTP__IDLE:
		return c->served ? HTTP__SPARE : HTTP__ASKING;
	case HTTP__HEAD:
	case HTTP__BODY:
		return HTTP__ASKING;
	case HTTP__ANSWER:
		if (has_output(c) || is_producing(c) || c->in.n > HTTP__KEEP_MAX)
			return HTTP__TAKING;
		return HTTP__RANKS;
	case HTTP__LINGER:
		return c->shut ? HTTP__SPARE : HTTP__TAKING;
	case HTTP__STATES:
		break;
	}
	assert(false);
	return HTTP__RANKS;
}

static void set_rank(struct http__conn *c, enum http__rank rank)
{
	struct http_server *s = c->server;

	if (c->rank == rank && !c->moved)
		return;
	if (c->rank < HTTP__RANKS)
		TAILQ_REMOVE(&s->ranks[c->rank], c, ranked);
	if (rank < HTTP__RANKS)
		TAILQ_INSERT_TAIL(&s->ranks[rank], c, ranked);
	c->rank = rank;
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
	case HTTP__BODY: /* the request's deadline goes on */
		break;
	case HTTP__ANSWER:
	case HTTP__LINGER:
		set_deadline(c, config->write_timeout);
		break;
	case HTTP__STATES:
		assert(false);
	}
}

/* Gives back what a buffer does not need, when that is more than half of it. */
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

/* A client may be slow for minutes: only what it has not sent or taken yet stays here. */
static void shrink_all(struct http__conn *c)
{
	if (c->out_at > c->out.n / 2) {
		buf_consume(&c->out, c->out_at);
		c->out_at = 0;
	}
	shrink(&c->in);
	shrink(&c->content);
	shrink(&c->out);
	http__server_hold(c->server, c, weight(&c->in) + weight(&c->content) + weight(&c->out));
}

/* Bytes that went, 0 for none right now, or a negative errno. */
static ssize_t send_some(struct http__conn *c, const char *p, size_t n)
{
	ssize_t r = c->tls ? tls_write(c->tls, p, n) : send(c->fd, p, n, MSG_NOSIGNAL);

	if (!c->tls && r < 0)
		r = errno == EINTR ? -EAGAIN : -errno;
	return r == -EAGAIN ? 0 : r;
}

/* Bytes that came, 0 at the end, or a negative errno; -EAGAIN for none right now. */
static ssize_t receive_some(struct http__conn *c, char *p, size_t n)
{
	ssize_t r;

	if (c->tls)
		return tls_read(c->tls, p, n);
	r = recv(c->fd, p, n, 0);
	if (r < 0)
		r = errno == EINTR ? -EAGAIN : -errno;
	return r;
}

/* Sends some of the output. False when the connection is broken. */
static bool flush(struct http__conn *c)
{
	size_t left = c->out.n - c->out_at;
	ssize_t n;

	if (!left || !c->secured)
		return true;
	n = send_some(c, c->out.p + c->out_at, left < SEND_MAX ? left : SEND_MAX);
	if (n < 0)
		return false;
	c->out_at += (size_t)n;
	c->gone += (size_t)n;
	c->moved |= n > 0;
	c->server->stats.bytes_sent += (uint64_t)n;
	if (!has_output(c))
		c->out.n = c->out_at = 0;
	if (c->gone >= HTTP_SLICE && c->state >= HTTP__ANSWER)
		set_deadline(c, c->server->config.write_timeout);
	return true;
}

/* Takes what has come. False when the connection is broken. */
static bool receive(struct http__conn *c)
{
	ssize_t n = receive_some(c, c->server->input, sizeof(c->server->input));

	if (n < 0)
		return n == -EAGAIN;
	if (n == 0)
		c->peer_closed = true;
	else if (c->state != HTTP__LINGER)
		buf_add(&c->in, c->server->input, (size_t)n);
	return true;
}

static void trace(struct http__conn *c, struct str method, struct str target)
{
	const struct http_server_config *config = &c->server->config;
	const struct http_trace t = { c->peer, method, target, c->x.status };

	if (config->trace)
		config->trace(&t, config->user);
}

static enum step refuse(struct http__conn *c, unsigned status)
{
	c->x = (struct http_exchange){ .conn = c, .minor = 1, .close = true };
	c->served = true;
	set_state(c, HTTP__LINGER);
	http__reply_error(&c->x, status);
	trace(c, STR(""), STR(""));
	buf_free(&c->in);
	buf_free(&c->content);
	return AGAIN;
}

static enum step refuse_malformed(struct http__conn *c, unsigned status)
{
	c->server->stats.malformed++;
	return refuse(c, status);
}

/* The request is whole, its head parsed into the server's. */
static enum step handle(struct http__conn *c)
{
	struct http_server *s = c->server;
	struct http_request request = {
		.head = &s->head,
		.body = { c->content.p, c->content.n },
		.peer = c->peer,
	};

	http__split_target(s->head.target, &request);
	c->x = (struct http_exchange){
		.conn = c,
		.minor = s->head.minor,
		.head_only = str_eq(s->head.method, STR("HEAD")),
		.close = !s->head.keep_alive || s->draining,
	};
	s->stats.requests++;
	c->served = true;
	set_state(c, HTTP__ANSWER);
	http__route(&c->x, &request);
	assert(c->x.answered || c->x.later);
	if (c->x.answered)
		trace(c, s->head.method, s->head.target);
	buf_consume(&c->in, c->head_len);
	buf_free(&c->content);
	return AGAIN;
}

/* What comes next has not come: wait for it, unless it never will. */
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

static enum step step_head(struct http__conn *c)
{
	struct http_server *s = c->server;
	int r = http_parse_request(c->in.p, c->in.n, &c->scanned, &s->head);

	if (r == 0)
		return need_input(c);
	if (r < 0)
		return refuse_malformed(c, r == -E2BIG ? 431 : 400);
	if (s->head.expect_other)
		return refuse_malformed(c, 417);
	c->head_len = (size_t)r;
	http_body_init(&c->body, &s->head, s->head.method);
	if (c->body.kind == HTTP_BODY_LENGTH && c->body.left > s->config.max_body)
		return refuse_malformed(c, 413);
	if (c->body.done)
		return handle(c);
	if (s->head.expect_continue && c->in.n == c->head_len)
		buf_add_lit(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
	set_state(c, HTTP__BODY);
	return AGAIN;
}

/* Moves body bytes from behind the head to content. 0, or the status to refuse with. */
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
	/* `in` has moved since: the head's slices must point into it anew */
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
	if (!c->its_turn && !http__server_turn(c->server, c))
		return WAIT;
	c->its_turn = false;
	http__produce(&c->x);
	set_deadline(c, c->server->config.write_timeout);
	if (c->x.lost || !flush(c))
		return CLOSE;
	/* one slice a turn: a stream with more to say is queued when the socket can take it */
	return has_output(c) || !(c->x.waiting || c->x.ended) ? WAIT : AGAIN;
}

static enum step step_answer(struct http__conn *c)
{
	if (has_output(c))
		return WAIT;
	if (c->x.later) {
		set_deadline(c, 0);
		return WAIT;
	}
	if (c->x.streaming && !c->x.ended)
		return step_stream(c);
	http__exchange_end(&c->x, true);
	set_state(c, c->x.close || c->server->draining ? HTTP__LINGER : HTTP__IDLE);
	return AGAIN;
}

static enum step step_linger(struct http__conn *c)
{
	if (has_output(c))
		return WAIT;
	if (!c->shut) {
		shutdown(c->fd, SHUT_WR);
		c->shut = true;
		set_deadline(c, LINGER_TIME);
	}
	return need_input(c);
}

static enum step (*const steps[HTTP__STATES])(struct http__conn *c) = {
	[HTTP__IDLE] = step_idle,     [HTTP__HEAD] = step_head,	    [HTTP__BODY] = step_body,
	[HTTP__ANSWER] = step_answer, [HTTP__LINGER] = step_linger,
};

void http__conn_watch(struct http__conn *c, bool also_write)
{
	bool room = c->state != HTTP__ANSWER || c->in.n < HTTP_HEAD_MAX;
	int events =
		(room && !c->peer_closed ? EV_READ : 0) |
		(also_write || (is_producing(c) && !c->in_queue) || has_output(c) ? EV_WRITE : 0);

	if (!c->secured)
		events = tls_wants_write(c->tls) ? EV_WRITE : EV_READ;
	if (ev_is_active(&c->io) && (c->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(c->server->loop, &c->io);
	ev_io_set(&c->io, c->fd, events);
	if (events)
		ev_io_start(c->server->loop, &c->io);
}

/* All that can be done now. May free the connection. */
static void advance(struct http__conn *c)
{
	enum step step = AGAIN;

	for (int i = 0; step == AGAIN && i < STEPS_PER_TURN; i++)
		step = flush(c) ? steps[c->state](c) : CLOSE;
	if (step == CLOSE) {
		http__conn_close(c);
		return;
	}
	set_rank(c, rank_of(c));
	http__conn_watch(c, step == AGAIN);
	shrink_all(c);
}

/* True when bytes can go both ways; otherwise the connection waits, or is gone. */
static bool secure(struct http__conn *c)
{
	int r = tls_handshake(c->tls);

	c->secured = r == 0;
	if (r == -EAGAIN) {
		http__conn_watch(c, false);
	} else if (r < 0) {
		c->server->stats.tls_failures++;
		http__conn_close(c);
	}
	return r == 0;
}

static void on_io(struct ev_loop *loop, ev_io *w, int revents)
{
	struct http__conn *c = container_of(w, struct http__conn, io);

	if (!c->secured && !secure(c))
		return;
	if ((revents & EV_READ) && !receive(c))
		http__conn_close(c);
	else
		advance(c);
}

/* Only a request that has begun gets an answer; idleness and lingering just end. */
static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct http__conn *c = container_of(w, struct http__conn, deadline);
	bool in_request = c->state == HTTP__HEAD || c->state == HTTP__BODY;

	if (c->rank != HTTP__SPARE && !c->shut)
		c->server->stats.timeouts++;
	if (in_request)
		http__conn_refuse(c, 408);
	else
		http__conn_close(c);
}

/*
 * What a client does not take waits with whoever produces it, not in the kernel: that is megabytes
 * a connection, and what is sent at last would be old.
 */
static void bound_unsent(int fd)
{
	const int bytes = HTTP_SLICE;

	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

struct http__conn *http__conn_new(struct http_server *s, int fd, struct endpoint peer)
{
	struct http__conn *c = mem_zalloc(sizeof(*c));

	c->server = s;
	c->fd = fd;
	c->peer = peer;
	c->tls = s->config.tls ? tls_accept(s->config.tls, fd) : NULL;
	c->secured = !c->tls;
	bound_unsent(fd);
	TAILQ_INSERT_TAIL(&s->conns, c, all);
	s->stats.connections++;
	c->rank = HTTP__RANKS;
	set_rank(c, rank_of(c));
	ev_init(&c->deadline, on_deadline);
	set_deadline(c, s->config.request_timeout);
	ev_init(&c->io, on_io);
	ev_set_priority(&c->io, 1); /* after a stall, what has come counts before the deadline */
	http__conn_watch(c, false);
	return c;
}

void http__conn_close(struct http__conn *c)
{
	struct http_server *s = c->server;

	set_rank(c, HTTP__RANKS);
	http__server_unqueue(s, c);
	http__server_hold(s, c, 0);
	ev_io_stop(s->loop, &c->io);
	ev_timer_stop(s->loop, &c->deadline);
	tls_free(c->tls);
	close(c->fd);
	http__server_forget(s, c);
	http__exchange_end(&c->x, false);
	buf_free(&c->in);
	buf_free(&c->content);
	buf_free(&c->out);
	free(c);
}

void http__conn_refuse(struct http__conn *c, unsigned status)
{
	refuse(c, status);
	advance(c);
}

void http__conn_produce(struct http__conn *c)
{
	c->its_turn = true;
	advance(c);
}

void http__conn_answered(struct http__conn *c)
{
	const struct http_exchange *x = &c->x;

	trace(c, (struct str){ x->asked.p, x->method_n },
	      (struct str){ x->asked.p + x->method_n, x->asked.n - x->method_n });
	set_deadline(c, c->server->config.write_timeout);
	http__conn_watch(c, true);
}

void http__conn_drain(struct http__conn *c)
{
	char byte;
	bool waits = c->state == HTTP__ANSWER && c->x.streaming && c->x.waiting && !has_output(c);

	/* a request may have come that was not read yet: it is under way, too */
	if (c->state == HTTP__IDLE && recv(c->fd, &byte, 1, MSG_PEEK) > 0)
		return;
	if (c->state == HTTP__IDLE || waits)
		http__conn_close(c);
}
