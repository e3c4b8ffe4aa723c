/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: the connection of a client, from request to request.
 *
 * Requests are read into a buffer, which is taken when bytes arrive and given back when none are
 * left. While a request is answered, input is still read, up to the size of the buffer: it is the
 * rest of the request, or the next one, or the end of the connection.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "lib/stream/proxy.h"
#include "lib/tls/tls.h"
#include "src/router/internal.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define LINGER_TIME (1 * NSEC_PER_SEC)
#define FLUSH_TIME (3600 * NSEC_PER_SEC) /* with a least rate, which ends slow clients before */
#define DRAIN_IDLE 1.	/* s that a connection without a request stays open in a drain */
#define OWN_FIELDS 40	/* fields of an answer of the router */
#define REFUSED_MAX 256 /* connections that wait for the end of their refusal; others get none */

void client_free(struct client *c)
{
	struct worker *w = c->worker;
	struct port *port = c->port;

	if (c->is_stream) {
		session_drop(c);
		return;
	}
	buffers_give(&w->buffers, c->in);
	free(c->hello);
	stream_end(&c->stream);
	if (c->refused)
		w->n_refused--;
	else
		gate_leave(w->config.gate, &c->counted);
	port->clients--;
	TAILQ_REMOVE(&w->clients, c, all);
	w->n_clients--;
	count(&w->counters.clients, -1);
	free(c);
	worker_look(w);
}

/* Before its first request: a PROXY header or a handshake is under way. */
static bool is_arriving(const struct client *c)
{
	return c->stream.state == STREAM_PROXY || c->stream.state == STREAM_SECURING;
}

void client_drain(struct client *c)
{
	if (c->relay) /* what has begun goes on */
		return;
	c->last = true; /* the answer says so, if it is not too late */
	if (c->session)
		session_drain(c);
	else if (is_arriving(c))
		client_free(c);
	else if (!c->x && !c->in && !c->closing)
		client_end(c);
}

/* What is queued is sent first. How long that may take is a matter of the rate, if there is one. */
void client_end(struct client *c)
{
	const struct worker_limits *limits = &c->worker->config.limits;
	int64_t flush = worker_clients(c->worker)->rate ? FLUSH_TIME : limits->stall_time;

	if (c->is_stream) {
		session_rest(c);
		return;
	}
	buffers_give(&c->worker->buffers, c->in);
	c->in = NULL;
	c->closing = true;
	c->flushing = stream_unsent(&c->stream) > 0;
	stream_linger(&c->stream, c->flushing ? flush : LINGER_TIME);
}

/* The queue of a connection that is to end may be empty by now. */
static void sweep_closing(struct client *c)
{
	if (!c->flushing || stream_unsent(&c->stream))
		return;
	c->flushing = false;
	stream_set_deadline(&c->stream, LINGER_TIME);
}

/*
 * A client that has said that it sends no further request needs no linger: nothing that it sends
 * can make the kernel drop what it has not read yet.
 */
void client_leave(struct client *c)
{
	if (!c->leaves || c->is_stream || stream_unsent(&c->stream) ||
	    (c->in && c->in->at < c->in->n)) {
		client_end(c);
		return;
	}
	if (c->stream.tls)
		tls_end(c->stream.tls); /* says that nothing was cut off */
	client_free(c);
}

/* ---- answers of the router itself ---- */

/* By HTTP/2: fields and content. */
static ssize_t answer_stream(struct client *c, const struct client_answer *a)
{
	const char *text = a->text ?: http_status_reason(a->status);
	bool empty = a->status == 204 || a->bare;
	char status[4], length[24];
	struct field fields[OWN_FIELDS] = { { STR(":status"), { status, 3 } } };
	size_t n = 1;
	ssize_t r;

	snprintf(status, sizeof(status), "%u", a->status);
	snprintf(length, sizeof(length), "%zu", strlen(text) + 1);
	n += head_split(a->lines, fields + n, OWN_FIELDS - 3);
	if (!empty) {
		fields[n++] = (struct field){ STR("content-type"), STR("text/plain") };
		fields[n++] = (struct field){ STR("content-length"), str_of(length) };
	}
	r = session_respond(c, fields, n, empty || a->head);
	if (r < 0 || empty || a->head)
		return r;
	session_send(c, str_of(text));
	session_send(c, STR("\n"));
	session_finish(c);
	return r + (ssize_t)strlen(text) + 1;
}

ssize_t client_answer(struct client *c, const struct client_answer *a)
{
	struct buf *out = &c->worker->out;
	const char *reason = http_status_reason(a->status), *text = a->text ?: reason;
	bool empty = a->status == 204 || a->bare;
	int r;

	count(&c->worker->counters.answers[a->status / 100 - 1], 1);
	if (c->is_stream)
		return answer_stream(c, a);
	out->n = 0;
	buf_printf(out, "HTTP/1.1 %u %s\r\n", a->status, reason);
	buf_add(out, a->lines.p, a->lines.n);
	if (a->bare)
		buf_add_lit(out, "content-length: 0\r\n");
	else if (!empty)
		buf_printf(out, "content-type: text/plain\r\ncontent-length: %zu\r\n",
			   strlen(text) + 1);
	buf_adds(out, a->keep ? "\r\n" : "connection: close\r\n\r\n");
	if (!empty && !a->head)
		buf_printf(out, "%s\n", text);
	if (!a->keep)
		stream_is_last(&c->stream);
	r = stream_send(&c->stream, out->p, out->n);
	return r < 0 ? r : (ssize_t)out->n;
}

void client_refuse(struct client *c, enum refusal why)
{
	const struct refusal_words *words = &refusal_words[why];

	count(&c->worker->counters.refusals[why], 1);
	client_answer(c, &(struct client_answer){ .status = words->status, .text = words->text });
	journal_refused(c, words->status, words->label);
	client_end(c);
}

/* ---- input ---- */

/* Moves what waits to the start of the buffer, so that a head of any size fits. */
static void make_room(struct buffer *in)
{
	if (!in->at)
		return;
	memmove(in->p, in->p + in->at, in->n - in->at);
	in->n -= in->at;
	in->at = 0;
}

static void client_read_on(struct client *c)
{
	if (!c->ended && !c->closing)
		stream_want(&c->stream, STREAM_READ);
	stream_wake(&c->stream); /* most clients have sent their request by now */
}

void client_take_head(struct client *c, size_t n)
{
	const struct l7_clients *limits = worker_clients(c->worker);

	if (n > limits->head)
		client_refuse(c, REFUSAL_HEAD_BYTES);
	else if (c->worker->head.n_headers > limits->fields)
		client_refuse(c, REFUSAL_FIELDS);
	else
		exchange_begin(c, n);
}

/* The listeners of an address agree on what comes before a request. NULL: it has gone. */
static const struct l7_listener *listener_of(const struct port *port)
{
	const struct generation *g = port->worker->era->generation;

	return port->rules ? g->listeners[port->rules->listeners[0]].config : NULL;
}

static bool speaks_h2(const struct port *port)
{
	const struct l7_listener *l = listener_of(port);

	return l && l->http2;
}

/*
 * Whether the connection begins as one of HTTP/2 (RFC 9113, 3.4), which a client may know that the
 * router speaks. It is asked when the parser has refused the first line: so HTTP/1 pays nothing.
 */
static bool may_be_preface(const struct client *c)
{
	size_t n = c->in->n - c->in->at;

	if (c->requests || c->stream.tls || !speaks_h2(c->port))
		return false;
	n = n < sizeof(PREFACE) - 1 ? n : sizeof(PREFACE) - 1;
	return memcmp(c->in->p + c->in->at, PREFACE, n) == 0;
}

/* Looks for a request among the bytes that wait. */
static void serve(struct client *c)
{
	struct buffer *in = c->in;
	size_t scanned = c->scanned;
	int r = http_parse_request(in->p + in->at, in->n - in->at, &scanned, &c->worker->head);

	c->scanned = (uint32_t)scanned;
	if (r > 0) {
		client_take_head(c, (size_t)r);
		return;
	}
	if (r < 0 && may_be_preface(c)) {
		if (in->n - in->at >= sizeof(PREFACE) - 1)
			session_begin(c);
		else if (c->ended)
			client_end(c);
		else
			client_read_on(c);
		return;
	}
	make_room(in);
	if ((r == 0 || r == -E2BIG) && in->n >= worker_clients(c->worker)->head)
		client_refuse(c, REFUSAL_HEAD_BYTES);
	else if (r == -E2BIG)
		client_refuse(c, REFUSAL_FIELDS);
	else if (r < 0)
		client_refuse(c, REFUSAL_MALFORMED);
	else if (c->ended)
		client_end(c);
	else
		client_read_on(c);
}

/* A client that sends requests and does not take the answers is not answered further. */
static void serve_next(struct client *c)
{
	if (stream_unsent(&c->stream))
		stream_want(&c->stream, STREAM_WRITE);
	else
		serve(c);
}

void client_next(struct client *c)
{
	c->x = NULL;
	if (c->is_stream) {
		session_rest(c);
		return;
	}
	c->since = ev_now(c->worker->loop);
	if (c->closing)
		return;
	if (c->in && c->in->at < c->in->n && !c->last) {
		serve_next(c);
		return;
	}
	buffers_give(&c->worker->buffers, c->in);
	c->in = NULL;
	if (c->ended || c->last)
		client_end(c);
	else
		client_read_on(c);
}

static void on_end(struct client *c)
{
	c->ended = true;
	if (!c->x) {
		client_end(c);
		return;
	}
	exchange_steer(c->x);
	exchange_push(c->x);
}

/* A connection without bytes holds no buffer. */
static void put_back(struct client *c)
{
	if (c->in->n)
		return;
	buffers_give(&c->worker->buffers, c->in);
	c->in = NULL;
}

static void read_some(struct client *c)
{
	struct buffer *in = c->in;
	ssize_t n;

	if (!in)
		in = c->in = buffers_take(&c->worker->buffers);
	if (in->n == BUFFER_SIZE) { /* until the exchange has taken some */
		if (c->x)
			exchange_steer(c->x);
		return;
	}
	if (!c->x && !in->n)
		c->since = ev_now(c->worker->loop);
	n = stream_read(&c->stream, in->p + in->n, BUFFER_SIZE - in->n);
	if (n == -EAGAIN) {
		put_back(c);
		if (!c->x)
			stream_want(&c->stream, STREAM_READ);
		return;
	}
	if (n <= 0) {
		if (n == 0)
			on_end(c);
		else if (c->x)
			exchange_drop(c->x);
		else
			client_free(c);
		return;
	}
	in->n += (size_t)n;
	c->received += (uint64_t)n;
	if (c->x)
		exchange_push(c->x);
	else
		serve_next(c);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct client *c = container_of(s, struct client, stream);

	if (c->relay)
		relay_ready(c->relay, what);
	else if (c->hello && what & (STREAM_READ | STREAM_WAKE))
		greeting_read(c);
	else if ((what & STREAM_WRITE) && c->x)
		exchange_resume(c->x);
	else if (what & STREAM_WRITE)
		client_next(c);
	else if (what & (STREAM_READ | STREAM_WAKE))
		read_some(c);
}

static void on_closed(struct stream *s, int error)
{
	struct client *c = container_of(s, struct client, stream);

	if (s->failed_in == STREAM_PROXY)
		count(&c->worker->counters.refusals[REFUSAL_PROXY], 1);
	if (s->failed_in == STREAM_SECURING && secure_failed(c, error))
		return;
	if (c->x)
		exchange_drop(c->x);
	else if (c->relay)
		relay_drop(c->relay, "client-gone");
	else
		client_free(c);
}

static void on_expired(struct stream *s)
{
	struct client *c = container_of(s, struct client, stream);

	if (c->x)
		exchange_expired(c->x);
	else if (c->relay)
		relay_expired(c->relay);
}

/* It has sent no PROXY header, or may not send one; or its handshake takes too long. */
static void give_up(struct client *c)
{
	bool secures = c->stream.state == STREAM_SECURING;

	count(&c->worker->counters.refusals[secures ? REFUSAL_TLS : REFUSAL_PROXY], 1);
	client_free(c);
}

/* ---- time ---- */

/* Whether the client has to send the rest of a request, or to take what is queued for it. */
bool client_is_awaited(const struct client *c)
{
	if (c->x && c->x->tunnel)
		return false;
	return client_unsent(c) || (c->x && exchange_awaits_client(c->x));
}

/*
 * Once per second: a client that is awaited owes the bytes of the least rate. It may owe as much as
 * that rate makes in the time of grace.
 */
bool client_is_too_slow(struct client *c, unsigned rate)
{
	uint64_t moved = c->is_stream ? session_moved(c) : c->received + c->stream.sent;
	bool awaited = client_is_awaited(c);

	if (awaited && c->awaited && rate) {
		c->debt += (int64_t)rate - (int64_t)(moved - c->seen);
		c->debt = c->debt < 0 ? 0 : c->debt;
	}
	c->awaited = awaited;
	c->seen = moved;
	return awaited && (double)c->debt > rate * loop_seconds(worker_clients(c->worker)->grace);
}

void client_end_slow(struct client *c)
{
	if (c->x) {
		exchange_too_slow(c->x);
		return;
	}
	count(&c->worker->counters.refusals[REFUSAL_READ_TIME], 1);
	client_free(c);
}

/*
 * Whether there was no request for too long. In a drain, one may be on its way that the client sent
 * before it knew.
 */
static bool is_silent(const struct client *c, ev_tstamp now)
{
	const struct worker *w = c->worker;
	const struct worker_limits *limits = &w->config.limits;
	int64_t limit = c->in || is_arriving(c) ? limits->head_time : limits->idle_time;

	if (stream_unsent(&c->stream))
		limit = worker_clients(w)->rate ? FLUSH_TIME : limits->stall_time;
	else if (!c->in && w->phase == WORKER_DRAIN && now - w->drain_began >= DRAIN_IDLE)
		return true;
	return now - c->since >= loop_seconds(limit);
}

void client_sweep(struct client *c, ev_tstamp now)
{
	if (c->session) {
		session_sweep(c, now);
		return;
	}
	if (c->relay) {
		relay_sweep(c->relay, now);
		return;
	}
	if (client_is_too_slow(c, worker_clients(c->worker)->rate)) {
		client_end_slow(c);
		return;
	}
	if (c->closing) {
		sweep_closing(c);
		return;
	}
	if (c->x)
		exchange_sweep(c->x, now);
	else if (!is_silent(c, now))
		return;
	else if (is_arriving(c))
		give_up(c);
	else if (c->hello)
		greeting_late(c);
	else if (c->in && !stream_unsent(&c->stream))
		client_refuse(c, REFUSAL_HEAD_TIME);
	else
		client_end(c);
}

/* Whether a refusal can be written as an answer of HTTP. */
static bool can_be_answered(struct client *c)
{
	const struct generation_listener *l;

	if (!c->stream.tls)
		return c->port->opening == OPENING_HTTP;
	l = secure_listener(c, c->worker->era);
	return l && l->config->protocol == L7_HTTP;
}

/* Counts the client again, by the address in its header. False: it got its refusal. */
static bool enter_again(struct client *c)
{
	struct worker *w = c->worker;
	const struct l7_clients *limits = worker_clients(w);
	enum gate_verdict verdict;
	enum refusal why;

	gate_leave(w->config.gate, &c->counted);
	c->counted = c->source.addr;
	verdict = gate_enter(w->config.gate, &c->counted, limits->connections, limits->each);
	if (verdict == GATE_OPEN)
		return true;
	c->refused = true;
	w->n_refused++;
	why = verdict == GATE_FULL ? REFUSAL_CONNECTIONS : REFUSAL_CONNECTIONS_EACH;
	if (can_be_answered(c)) {
		client_refuse(c, why);
		return false;
	}
	count(&w->counters.refusals[why], 1);
	stream_reset(&c->stream);
	client_free(c);
	return false;
}

/*
 * The PROXY header has come, the handshake is done, or both. The limits are those of the client
 * that the header names.
 */
static void on_opened(struct stream *s)
{
	struct client *c = container_of(s, struct client, stream);
	const struct stream_proxy *header = stream_proxy_header(s);

	c->secure = s->tls ||
		    (header && header->ssl.present && (header->ssl.client & STREAM_PROXY_OVER_TLS));
	c->since = ev_now(c->worker->loop);
	if (s->tls)
		count(&c->worker->counters.handshakes[tls_resumed(s->tls)], 1);
	if (c->proxied) {
		stream_peer(s, &c->source);
		c->from = c->source.addr;
		if (!enter_again(c))
			return;
	}
	if (s->tls ? greeting_secured(c) : greeting_begin(c))
		return;
	if (s->tls && str_eq(tls_protocol(s->tls), STR("h2")))
		session_begin(c);
	else
		stream_want(s, STREAM_READ);
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

static const struct l7_listener *proxied_listener(const struct port *port)
{
	const struct l7_listener *l = listener_of(port);

	return l && l->expect_proxy ? l : NULL;
}

/*
 * A PROXY header is required; with a list of trusted proxies nobody else may send one. False if the
 * client is gone.
 */
static bool expect_proxy(struct client *c, const struct l7_listener *l)
{
	if (l->trusted.n && !proxies_trust(&l->trusted, &c->peer.addr)) {
		give_up(c);
		return false;
	}
	c->proxied = true;
	stream_expect_proxy(&c->stream);
	return true;
}

static struct client *make(struct port *port, int fd, const struct endpoint *peer)
{
	struct worker *w = port->worker;
	struct client *c = mem_zalloc(sizeof(*c));

	c->worker = w;
	c->port = port;
	c->peer = c->source = *peer;
	c->from = c->counted = peer->addr;
	port->clients++;
	w->n_clients++;
	count(&w->counters.clients, 1);
	c->since = c->opened = ev_now(w->loop);
	c->number = ++w->last_client;
	c->last = w->phase > WORKER_RUN;
	TAILQ_INSERT_TAIL(&w->clients, c, all);
	stream_init(&c->stream, w->loop, TASK_ORDINARY, &events);
	stream_adopt(&c->stream, fd);
	return c;
}

static void turn_away(struct port *port, int fd, const struct endpoint *peer, enum refusal why)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct worker *w = port->worker;
	struct client *c;

	/* with TLS an answer would cost a handshake */
	if (w->n_refused >= REFUSED_MAX || port->opening != OPENING_HTTP) {
		count(&w->counters.refusals[why], 1);
		if (port->opening == OPENING_TCP || port->opening == OPENING_HELLO)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		return;
	}
	c = make(port, fd, peer);
	c->refused = true;
	w->n_refused++;
	client_refuse(c, why);
}

static void begin(struct port *port, int fd, const struct endpoint *peer,
		  const struct l7_listener *proxied)
{
	struct client *c = make(port, fd, peer);

	if (proxied && !expect_proxy(c, proxied))
		return;
	if (greeting_begin(c) || c->stream.state != STREAM_OPEN)
		return;
	stream_wake(&c->stream); /* most clients have sent their request by now */
}

/* A proxy may have any number of connections; its clients are counted when they are known. */
void client_new(struct port *port, int fd, struct endpoint peer)
{
	struct worker *w = port->worker;
	const struct l7_clients *limits = worker_clients(w);
	const struct l7_listener *proxied = proxied_listener(port);

	switch (gate_enter(w->config.gate, &peer.addr, limits->connections,
			   proxied ? UINT_MAX : limits->each)) {
	case GATE_OPEN:
		begin(port, fd, &peer, proxied);
		break;
	case GATE_FULL:
		turn_away(port, fd, &peer, REFUSAL_CONNECTIONS);
		break;
	case GATE_CROWDED:
		turn_away(port, fd, &peer, REFUSAL_CONNECTIONS_EACH);
		break;
	}
}
