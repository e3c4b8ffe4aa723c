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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "lib/stream/proxy.h"
#include "src/router/internal.h"

#define LINGER_TIME (1 * NSEC_PER_SEC)
#define FLUSH_TIME (3600 * NSEC_PER_SEC) /* with a least rate, which ends slow clients before */
#define REFUSED_MAX 256 /* connections that wait for the end of their refusal; others get none */

void client_free(struct client *c)
{
	struct worker *w = c->worker;
	struct port *port = c->port;

	buffers_give(&w->buffers, c->in);
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

void client_drain(struct client *c)
{
	c->last = true; /* the answer says so, if it is not too late */
	if (c->stream.state == STREAM_PROXY)
		client_free(c);
	else if (!c->x && !c->in && !c->closing)
		client_end(c);
}

/* What is queued is sent first. How long that may take is a matter of the rate, if there is one. */
void client_end(struct client *c)
{
	const struct worker_limits *limits = &c->worker->config.limits;
	int64_t flush = worker_clients(c->worker)->rate ? FLUSH_TIME : limits->stall_time;

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
	if (c->leaves && !stream_unsent(&c->stream) && (!c->in || c->in->at == c->in->n))
		client_free(c);
	else
		client_end(c);
}

/* ---- answers of the router itself ---- */

ssize_t client_answer(struct client *c, const struct client_answer *a)
{
	struct buf *out = &c->worker->out;
	const char *reason = http_status_reason(a->status), *text = a->text ?: reason;
	bool empty = a->status == 204;
	int r;

	out->n = 0;
	buf_printf(out, "HTTP/1.1 %u %s\r\n", a->status, reason);
	buf_add(out, a->lines.p, a->lines.n);
	if (!empty)
		buf_printf(out, "content-type: text/plain\r\ncontent-length: %zu\r\n",
			   strlen(text) + 1);
	buf_adds(out, a->keep ? "\r\n" : "connection: close\r\n\r\n");
	if (!empty && !a->head)
		buf_printf(out, "%s\n", text);
	count(&c->worker->counters.answers[a->status / 100 - 1], 1);
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

static void take_head(struct client *c, size_t n)
{
	const struct l7_clients *limits = worker_clients(c->worker);

	if (n > limits->head)
		client_refuse(c, REFUSAL_HEAD_BYTES);
	else if (c->worker->head.n_headers > limits->fields)
		client_refuse(c, REFUSAL_FIELDS);
	else
		exchange_begin(c, n);
}

/* Looks for a request among the bytes that wait. */
static void serve(struct client *c)
{
	struct buffer *in = c->in;
	size_t scanned = c->scanned;
	int r = http_parse_request(in->p + in->at, in->n - in->at, &scanned, &c->worker->head);

	c->scanned = (uint32_t)scanned;
	if (r > 0) {
		take_head(c, (size_t)r);
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

	if ((what & STREAM_WRITE) && c->x)
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
	if (c->x)
		exchange_drop(c->x);
	else
		client_free(c);
}

static void on_expired(struct stream *s)
{
	struct client *c = container_of(s, struct client, stream);

	if (c->x)
		exchange_expired(c->x);
}

/* It has sent no PROXY header, or may not send one. */
static void give_up(struct client *c)
{
	count(&c->worker->counters.refusals[REFUSAL_PROXY], 1);
	client_free(c);
}

/* ---- time ---- */

/* Whether the client has to send the rest of a request, or to take what is queued for it. */
static bool is_awaited(const struct client *c)
{
	if (c->x && c->x->tunnel)
		return false;
	return stream_unsent(&c->stream) || (c->x && exchange_awaits_client(c->x));
}

/*
 * Once per second: a client that is awaited owes the bytes of the least rate. It may owe as much as
 * that rate makes in the time of grace.
 */
static bool is_too_slow(struct client *c)
{
	const struct l7_clients *limits = worker_clients(c->worker);
	uint64_t moved = c->received + c->stream.sent;
	bool awaited = is_awaited(c);

	if (awaited && c->awaited && limits->rate) {
		c->debt += (int64_t)limits->rate - (int64_t)(moved - c->seen);
		c->debt = c->debt < 0 ? 0 : c->debt;
	}
	c->awaited = awaited;
	c->seen = moved;
	return awaited && (double)c->debt > limits->rate * loop_seconds(limits->grace);
}

static void end_slow(struct client *c)
{
	if (c->x) {
		exchange_too_slow(c->x);
		return;
	}
	count(&c->worker->counters.refusals[REFUSAL_READ_TIME], 1);
	client_free(c);
}

void client_sweep(struct client *c, ev_tstamp now)
{
	const struct worker_limits *limits = &c->worker->config.limits;
	bool proxy = c->stream.state == STREAM_PROXY;
	int64_t limit = c->in || proxy ? limits->head_time : limits->idle_time;

	if (is_too_slow(c)) {
		end_slow(c);
		return;
	}
	if (c->closing) {
		sweep_closing(c);
		return;
	}
	if (stream_unsent(&c->stream))
		limit = worker_clients(c->worker)->rate ? FLUSH_TIME : limits->stall_time;
	if (c->x)
		exchange_sweep(c->x, now);
	else if (now - c->since < loop_seconds(limit))
		return;
	else if (proxy)
		give_up(c);
	else if (c->in && !stream_unsent(&c->stream))
		client_refuse(c, REFUSAL_HEAD_TIME);
	else
		client_end(c);
}

/* Counts the client again, by the address in its header. False: it got its refusal. */
static bool enter_again(struct client *c)
{
	struct worker *w = c->worker;
	const struct l7_clients *limits = worker_clients(w);
	enum gate_verdict verdict;

	gate_leave(w->config.gate, &c->counted);
	c->counted = c->source.addr;
	verdict = gate_enter(w->config.gate, &c->counted, limits->connections, limits->each);
	if (verdict == GATE_OPEN)
		return true;
	c->refused = true;
	w->n_refused++;
	client_refuse(c, verdict == GATE_FULL ? REFUSAL_CONNECTIONS : REFUSAL_CONNECTIONS_EACH);
	return false;
}

/* The PROXY header has come: the limits are those of the client that it names. */
static void on_opened(struct stream *s)
{
	struct client *c = container_of(s, struct client, stream);
	const struct stream_proxy *header = stream_proxy_header(s);

	stream_peer(s, &c->source);
	c->from = c->source.addr;
	c->secure = header && header->ssl.present && (header->ssl.client & STREAM_PROXY_OVER_TLS);
	if (enter_again(c))
		stream_want(s, STREAM_READ);
}

static const struct stream_events events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

/* The listeners of an address agree on it. */
static const struct l7_listener *proxied_listener(const struct port *port)
{
	const struct generation *g = port->worker->era->generation;
	const struct l7_listener *l =
		port->rules ? g->listeners[port->rules->listeners[0]].config : NULL;

	return l && l->expect_proxy ? l : NULL;
}

/* A PROXY header is required; with a list of trusted proxies nobody else may send one. */
static void expect_proxy(struct client *c, const struct l7_listener *l)
{
	if (l->trusted.n && !proxies_trust(&l->trusted, &c->peer.addr))
		give_up(c);
	else
		stream_expect_proxy(&c->stream);
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
	TAILQ_INSERT_TAIL(&w->clients, c, all);
	stream_init(&c->stream, w->loop, TASK_ORDINARY, &events);
	stream_adopt(&c->stream, fd);
	return c;
}

static void turn_away(struct port *port, int fd, const struct endpoint *peer, enum refusal why)
{
	struct worker *w = port->worker;
	struct client *c;

	if (w->n_refused >= REFUSED_MAX) {
		count(&w->counters.refusals[why], 1);
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

	if (proxied) {
		expect_proxy(c, proxied);
		return;
	}
	stream_want(&c->stream, STREAM_READ);
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
