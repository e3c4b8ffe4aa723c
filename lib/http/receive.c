/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive: the body of a request, passed to its handler in pieces.
 *
 * Input waits in conn->in. Its framing is removed as it is parsed; the first `fed` bytes are
 * content that was parsed and waits for the handler. If the handler does not take all of it,
 * reading stops: `in` fills up to the size of one head, and then TCP's flow control stops the
 * client.
 */
#include <assert.h>
#include <errno.h>

#include "lib/http/server_private.h"

/* Removes framing up to the next `fed` bytes of content. Returns 0 if more input is needed. */
static int feed_next(struct http__conn *c, size_t *at)
{
	struct str content;
	ssize_t n;

	if (*at == c->in.n)
		return 0;
	n = http_body_feed(&c->body, c->in.p + *at, c->in.n - *at, &content);
	if (n < 0)
		return (int)n;
	buf_add(&c->trailers, c->body.trailer.p, c->body.trailer.n);
	*at += (size_t)n - content.n;
	c->fed = content.n;
	return 1;
}

/* The handler may answer here; then it gets no more pieces. */
static void hand_over(struct http__conn *c, size_t *at)
{
	struct http_exchange *x = &c->x;
	size_t n = x->sink.take((struct str){ c->in.p + *at, c->fed }, x->sink.user);

	assert(n <= c->fed);
	*at += n;
	c->fed -= n;
	x->paused = c->fed > 0;
}

/* The handler has taken the whole body. */
static int finish(struct http__conn *c)
{
	struct http_server *s = c->server;
	int n = http_parse_trailers(c->trailers.p, c->trailers.n, s->trailers);

	if (n < 0)
		return n;
	c->x.receiving = false;
	c->x.sink.end(s->trailers, (size_t)n, c->x.sink.user);
	buf_free(&c->trailers);
	return 0;
}

/* Handles one piece. Returns 1 if another one may follow now, 0 if not, or an error. */
static int receive_piece(struct http__conn *c, size_t *at)
{
	int r = 1;

	if (!c->fed && c->body.done)
		return finish(c);
	if (!c->fed)
		r = feed_next(c, at);
	if (r > 0 && c->fed)
		hand_over(c, at);
	return r < 0 ? r : r > 0 && c->x.receiving && !c->x.paused;
}

int http__receive(struct http__conn *c)
{
	size_t at = 0;
	int r;

	if (c->x.paused)
		return 0;
	do {
		r = receive_piece(c, &at);
	} while (r > 0 && task_has_time(c->server->loop));
	buf_consume(&c->in, at);
	return r;
}

void http_receive(struct http_exchange *x, const struct http_sink *sink)
{
	struct http__conn *c = x->conn;

	assert(sink->take && sink->end && sink->gone && x->pieces);
	http_reply_later(x, sink->gone, sink->user);
	x->sink = *sink;
	x->receiving = true;
	c->fed = 0;
	if (c->server->head.expect_continue && c->in.n == c->head_len)
		buf_add_lit(stream_out(&c->stream), "HTTP/1.1 100 Continue\r\n\r\n");
}

void http_resume(struct http_exchange *x)
{
	if (!x->receiving || !x->paused)
		return;
	x->paused = false;
	http__conn_resumed(x->conn);
}
