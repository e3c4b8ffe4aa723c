/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strand: a request and its answer as a stream of HTTP/2.
 *
 * What uses a link speaks HTTP/1.1. The head of a request is taken apart into fields, and the
 * framing of its body is taken off. The answer is written as a server of HTTP/1.1 would send it: a
 * body without a length in chunks, with its trailers. So answers, copies and logs know one form.
 *
 * What a step of the connection brings for a stream is collected in one buffer of the thread and
 * passed on at the end of the step, or earlier if another stream needs the buffer. The window of
 * the stream is given back when the other side has room for what was passed on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/router/fields.h"
#include "src/router/trunk.h"

#define STAGE_MAX ((size_t)48 * 1024) /* bytes that are collected; a frame more is possible */
#define LEFT_TIME 5.		      /* s for a stream that nobody waits for to end */
#define FLUSH_TIME 60.		      /* s if it still has to send */

/* ---- requests ---- */

/* The server has not looked at the request; if it is leaving, that is nobody's failure. */
static void refuse(struct link *l)
{
	l->failed = L7_NOT_TAKEN;
	l->unseen = l->trunk->leaving;
}

static int begin(struct link *l, struct str *text)
{
	struct worker *w = l->worker;
	struct strand *s = &l->strand;
	struct trunk *t = l->trunk;
	struct fields_request *f = w->fields ?: (w->fields = mem_alloc(sizeof(*f)));
	size_t n = fields_of_request(*text, t->secure, h2_conn_can_connect(t->conn), f);
	bool bare;

	if (!n)
		return -EMSGSIZE;
	bare = !f->chunked && !f->length && !f->socket;
	s->h2 = h2_request(t->conn, f->list, f->n, bare);
	if (!s->h2) {
		refuse(l);
		return -EPIPE;
	}
	((struct strand_area *)h2_stream_area(s->h2))->link = l;
	s->begun = true;
	t->n_promised--;
	s->is_head = f->is_head;
	s->socket = f->socket;
	if (f->socket)
		fields_accept(f->key, s->accept);
	if (bare || f->socket)
		s->up.done = bare;
	else
		http_body_init(&s->up,
			       &(struct http_head){ .chunked = f->chunked,
						    .has_length = !f->chunked,
						    .length = f->length },
			       (struct str){ 0 });
	*text = (struct str){ text->p + n, text->n - n };
	return 0;
}

static void finish(struct strand *s, struct field *scratch)
{
	int n = s->trailers.n ? http_parse_trailers(s->trailers.p, s->trailers.n, scratch) : 0;

	h2_end(s->h2, scratch, n > 0 ? (size_t)n : 0);
	buf_free(&s->trailers);
}

static int send_body(struct link *l, struct str text)
{
	struct strand *s = &l->strand;
	struct str content;

	while (text.n && !s->up.done) {
		ssize_t r = http_body_feed(&s->up, text.p, text.n, &content);

		if (r < 0)
			return (int)r;
		if (content.n)
			h2_send(s->h2, content);
		buf_add(&s->trailers, s->up.trailer.p, s->up.trailer.n);
		text = (struct str){ text.p + r, text.n - (size_t)r };
		if (s->up.done)
			finish(s, l->worker->fields->list);
	}
	return 0;
}

int trunk_sendv(struct link *l, const struct str *pieces, size_t n)
{
	struct strand *s = &l->strand;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct str text = pieces[i];

		if (!s->begun)
			r = begin(l, &text);
		if (r < 0)
			break;
		if (!s->h2)
			r = -EPIPE;
		else if (s->socket)
			h2_send(s->h2, text);
		else
			r = send_body(l, text);
	}
	return r;
}

bool trunk_is_full(const struct link *l)
{
	return l->strand.h2 && h2_is_full(l->strand.h2);
}

size_t trunk_unsent(const struct link *l)
{
	return l->strand.h2 ? h2_queued(l->strand.h2) : 0;
}

void trunk_shutdown(struct link *l)
{
	if (l->strand.h2)
		h2_end(l->strand.h2, NULL, 0);
}

/* ---- what has come ---- */

/* The other side has taken all that was passed on. */
static void give_window(struct strand *s)
{
	size_t n = s->unread - s->staged;

	s->unread = s->staged;
	if (n && s->h2)
		h2_consume(s->h2, n);
}

void trunk_want(struct link *l, unsigned what)
{
	l->strand.want = (uint8_t)what;
	if (what & STREAM_READ)
		give_window(&l->strand);
}

/* The start of a block waits for the rest elsewhere. False: it is too long, and the link lost. */
static bool hold(struct link *l, struct str part)
{
	if (part.n > BUFFER_SIZE) {
		link_lose(l, -EMSGSIZE);
		return false;
	}
	l->in = buffers_take(&l->worker->buffers);
	memcpy(l->in->p, part.p, part.n);
	l->in->n = part.n;
	return true;
}

static ssize_t pull(struct link *l, const char *p, size_t n)
{
	return l->x ? exchange_pull(l->x, p, n) : mirror_pull(l->mirror, p, n);
}

/* Passes on what was collected. False: the link is no longer in use. */
static bool deliver(struct link *l)
{
	struct worker *w = l->worker;
	struct strand *s = &l->strand;
	size_t all = w->stage.n, n = s->reading ? s->block : all;

	if (w->staged != l)
		return true;
	w->staged = NULL;
	w->stage.n = 0;
	s->staged = 0;
	if (n && pull(l, w->stage.p, n) < 0)
		return false;
	if (s->want & STREAM_READ)
		give_window(s);
	return !s->reading || hold(l, (struct str){ w->stage.p + n, all - n });
}

/* The link of a stream, with the buffer for it; NULL: nobody waits for the stream. */
static struct link *stage(struct h2_stream *h2)
{
	struct strand_area *area = h2_stream_area(h2);
	struct link *l = area->link;
	struct worker *w;

	if (!l)
		return NULL;
	w = l->worker;
	if (w->staged == l)
		return l;
	if (w->staged)
		deliver(w->staged);
	l = area->link; /* it may have gone with the other one */
	w->staged = l;
	w->stage.n = 0;
	if (l && l->in) {
		buf_add(&w->stage, l->in->p, l->in->n);
		buffers_give(&w->buffers, TAKE_PTR(l->in));
		l->strand.block = 0;
	}
	return l;
}

void strand_on_settled(struct h2_conn *c, void *user)
{
	struct worker *w = user;

	if (w->staged)
		deliver(w->staged);
}

/* ---- heads ---- */

static void add_status(struct strand *s, struct str value, struct buf *out)
{
	uint64_t status = 0;

	str_to_u64(value, 999, &status);
	s->status = (unsigned)status;
	s->raw = s->socket && status / 100 == 2;
	if (!s->raw) {
		fields_add_status(out, s->status);
		return;
	}
	fields_add_status(out, 101);
	buf_add_lit(out, "connection: upgrade\r\nupgrade: websocket\r\n");
	fields_add(out, STR("sec-websocket-accept"), str_of(s->accept));
}

static void add_trailer(struct strand *s, struct str name, struct str value, struct buf *out)
{
	if (!s->chunked)
		return; /* a body with a length has no trailers in HTTP/1.1 */
	if (!s->trailing)
		buf_add_lit(out, "0\r\n");
	s->trailing = true;
	if (!fields_is_hop(name) && http_may_trail(name))
		fields_add(out, name, value);
}

void strand_on_header(struct h2_stream *h2, struct str name, struct str value, void *user)
{
	struct link *l = stage(h2);
	struct strand *s = l ? &l->strand : NULL;
	struct buf *out = l ? &l->worker->stage : NULL;

	if (!l)
		return;
	if (!s->reading) {
		s->sized = false;
		s->block = out->n;
	}
	s->reading = true;
	if (s->answered) {
		add_trailer(s, name, value, out);
	} else if (name.p[0] == ':') {
		if (str_eq(name, STR(":status")))
			add_status(s, value, out);
	} else if (!fields_is_hop(name)) {
		bool length = str_eq(name, STR("content-length"));

		s->sized |= length;
		if (!length || !s->raw)
			fields_add(out, name, value);
	}
}

static bool is_bodiless(const struct strand *s)
{
	return s->is_head || s->status == 204 || s->status == 304;
}

static void end_head(struct strand *s, bool last, struct buf *out)
{
	s->answered = true;
	if (!s->raw && !s->sized && !is_bodiless(s)) {
		s->chunked = !last;
		if (last)
			buf_add_lit(out, "content-length: 0\r\n");
		else
			buf_add_lit(out, "transfer-encoding: chunked\r\n");
	}
	buf_add_lit(out, "\r\n");
}

void strand_on_headers(struct h2_stream *h2, enum h2_block block, void *user)
{
	struct link *l = stage(h2);
	struct strand *s = l ? &l->strand : NULL;

	if (!l)
		return;
	s->reading = false;
	switch (block) {
	case H2_INTERIM:
		buf_add_lit(&l->worker->stage, "\r\n");
		break;
	case H2_HEAD:
		end_head(s, h2_is_ended(h2), &l->worker->stage);
		break;
	case H2_TRAILERS:
		if (s->trailing)
			buf_add_lit(&l->worker->stage, "\r\n");
		break;
	}
}

/* ---- bodies ---- */

void strand_on_data(struct h2_stream *h2, struct str bytes, void *user)
{
	struct link *l = stage(h2);
	struct buf *out = l ? &l->worker->stage : NULL;

	if (!l) {
		h2_consume(h2, bytes.n);
		return;
	}
	l->strand.unread += bytes.n;
	l->strand.staged += bytes.n;
	if (l->strand.chunked)
		buf_printf(out, "%zx\r\n", bytes.n);
	buf_add(out, bytes.p, bytes.n);
	if (l->strand.chunked)
		buf_add_lit(out, "\r\n");
	if (out->n >= STAGE_MAX)
		deliver(l);
}

/* Without trailers the end of the chunks is still to be written. */
void strand_on_end(struct h2_stream *h2, void *user)
{
	struct link *l = stage(h2);

	if (!l)
		return;
	l->strand.ended = true;
	if (l->strand.chunked && !l->strand.trailing)
		buf_add_lit(&l->worker->stage, "0\r\n\r\n");
	if (deliver(l))
		link_lose(l, 0);
}

void strand_on_writable(struct h2_stream *h2, void *user)
{
	struct link *l = ((struct strand_area *)h2_stream_area(h2))->link;

	if (l && l->x && l->strand.want & STREAM_WRITE)
		exchange_flushed(l->x);
}

/* ---- the end ---- */

void strand_on_closed(struct h2_stream *h2, uint32_t error, void *user)
{
	struct strand_area *area = h2_stream_area(h2);
	struct worker *w = user;
	struct link *l = area->link;

	if (!l) {
		TAILQ_REMOVE(&w->left_behind, area, left_behind);
		return;
	}
	l->strand.h2 = NULL;
	area->link = NULL;
	if (l->strand.ended || !deliver(l)) /* half of a tunnel may go on until it finds out */
		return;
	if (error == H2_REFUSED_STREAM)
		refuse(l);
	link_lose(l, error == H2_LOST ? -ECONNRESET : -EPROTO);
}

/*
 * A server that has sent all that it announced ends the stream in a moment: a reset would be taken
 * for an abuse.
 */
void strand_part(struct link *l, bool whole)
{
	struct worker *w = l->worker;
	struct strand *s = &l->strand;
	struct strand_area *area = s->h2 ? h2_stream_area(s->h2) : NULL;

	if (w->staged == l)
		w->staged = NULL;
	buffers_give(&w->buffers, TAKE_PTR(l->in));
	buf_free(&s->trailers);
	if (!area)
		return;
	area->link = NULL;
	if (!whole && !(s->ended && s->up.done)) {
		h2_reset(s->h2, s->ended ? H2_NO_ERROR : H2_CANCEL);
		return;
	}
	if (s->unread)
		h2_consume(s->h2, s->unread);
	area->left = ev_now(w->loop);
	TAILQ_INSERT_TAIL(&w->left_behind, area, left_behind);
}

void strand_sweep(struct worker *w, ev_tstamp now)
{
	struct strand_area *area, *next;

	for (area = TAILQ_FIRST(&w->left_behind); area; area = next) {
		struct h2_stream *s = h2_stream_of(area);

		next = TAILQ_NEXT(area, left_behind);
		if (now - area->left < (h2_queued(s) ? FLUSH_TIME : LEFT_TIME))
			continue;
		TAILQ_REMOVE(&w->left_behind, area, left_behind);
		h2_reset(s, H2_CANCEL);
	}
}
