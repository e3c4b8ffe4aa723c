/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: the connection of a client, from request to request.
 *
 * Requests are read into a buffer, which is taken when bytes arrive and given back when none are
 * left. While a request is answered, input is still read, up to the size of the buffer: it is the
 * rest of the request, or the next one, or the end of the connection.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "src/router/internal.h"

#define LINGER_TIME (1 * NSEC_PER_SEC)

void client_free(struct client *c)
{
	struct worker *w = c->worker;
	struct port *port = c->port;

	buffers_give(&w->buffers, c->in);
	stream_end(&c->stream);
	stream_listener_release(&port->listener, &c->peer);
	port->clients--;
	TAILQ_REMOVE(&w->clients, c, all);
	w->n_clients--;
	free(c);
	worker_look(w);
}

void client_drain(struct client *c)
{
	if (!c->x && !c->closing)
		client_end(c);
	else
		c->ended = true; /* the answer says so, if it is not too late */
}

void client_end(struct client *c)
{
	buffers_give(&c->worker->buffers, c->in);
	c->in = NULL;
	c->closing = true;
	stream_linger(&c->stream, LINGER_TIME);
}

/* ---- answers of the router itself ---- */

void client_answer(struct client *c, unsigned status, struct str location, bool keep)
{
	struct buf *out = &c->worker->out;
	const char *reason = http_status_reason(status);

	out->n = 0;
	buf_printf(out, "HTTP/1.1 %u %s\r\n", status, reason);
	if (location.n) {
		buf_add_lit(out, "location: ");
		buf_add(out, location.p, location.n);
		buf_add_lit(out, "\r\n");
	}
	buf_printf(out, "content-type: text/plain\r\ncontent-length: %zu\r\n%s\r\n%s\n",
		   strlen(reason) + 1, keep ? "" : "connection: close\r\n", reason);
	if (stream_send(&c->stream, out->p, out->n) < 0)
		keep = false;
	if (!keep)
		client_end(c);
}

/* ---- input ---- */

static void refuse(struct client *c, int error)
{
	client_answer(c, error == -E2BIG ? 431 : 400, (struct str){ 0 }, false);
}

/* Moves what waits to the start of the buffer, so that a head of any size fits. */
static void make_room(struct buffer *in)
{
	if (!in->at)
		return;
	memmove(in->p, in->p + in->at, in->n - in->at);
	in->n -= in->at;
	in->at = 0;
}

/* Looks for a request among the bytes that wait. */
static void serve(struct client *c)
{
	struct buffer *in = c->in;
	size_t scanned = c->scanned;
	int r = http_parse_request(in->p + in->at, in->n - in->at, &scanned, &c->worker->head);

	c->scanned = (uint32_t)scanned;
	if (r > 0) {
		exchange_begin(c, (size_t)r);
		return;
	}
	make_room(in);
	if (r < 0 || in->n == BUFFER_SIZE)
		refuse(c, r < 0 ? r : -E2BIG);
	else if (c->ended)
		client_end(c);
}

void client_next(struct client *c)
{
	c->x = NULL;
	if (c->closing)
		return;
	if (c->in && c->in->at < c->in->n) {
		serve(c);
		return;
	}
	buffers_give(&c->worker->buffers, c->in);
	c->in = NULL;
	if (c->ended)
		client_end(c);
	else
		client_read_on(c);
}

static void on_end(struct client *c)
{
	c->ended = true;
	stream_want(&c->stream, 0);
	if (!c->x)
		client_end(c);
	else
		exchange_push(c->x);
}

void client_read_on(struct client *c)
{
	if (!c->ended && !c->closing)
		stream_want(&c->stream, STREAM_READ);
}

static void read_some(struct client *c)
{
	struct buffer *in = c->in;
	ssize_t n;

	if (!in)
		in = c->in = buffers_take(&c->worker->buffers);
	if (in->n == BUFFER_SIZE) { /* until the exchange has taken some */
		stream_want(&c->stream, 0);
		return;
	}
	n = stream_read(&c->stream, in->p + in->n, BUFFER_SIZE - in->n);
	if (n == -EAGAIN)
		return;
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
	if (c->x)
		exchange_push(c->x);
	else
		serve(c);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct client *c = container_of(s, struct client, stream);

	if (what & STREAM_WRITE) {
		client_read_on(c);
		if (c->x)
			exchange_resume(c->x);
	} else if (what & STREAM_READ) {
		read_some(c);
	}
}

static void on_closed(struct stream *s, int error)
{
	struct client *c = container_of(s, struct client, stream);

	if (c->x)
		exchange_drop(c->x);
	else
		client_free(c);
}

static const struct stream_events events = { .ready = on_ready, .closed = on_closed };

void client_new(struct port *port, int fd, struct endpoint peer)
{
	struct worker *w = port->worker;
	struct client *c = mem_zalloc(sizeof(*c));
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->worker = w;
	c->port = port;
	c->peer = peer;
	port->clients++;
	w->n_clients++;
	TAILQ_INSERT_TAIL(&w->clients, c, all);
	stream_init(&c->stream, w->loop, TASK_ORDINARY, &events);
	stream_adopt(&c->stream, fd);
	stream_want(&c->stream, STREAM_READ);
}
