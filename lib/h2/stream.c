/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: what is sent in one stream, and the account of what was received.
 *
 * Each stream has a queue of bytes. nghttp2 calls on_read() when the windows of the stream and the
 * connection allow to send, and h2__stream_frame() to have the frame written: the bytes are copied
 * from the queue of the stream to the output of the connection, and nowhere else. An empty queue
 * defers the stream until h2_sent() or h2_end(). Trailers wait after the queue in the same buffer;
 * nghttp2 gets them with the last byte of the queue, so that they follow it.
 *
 * A stream that was closed is kept for the next one, with a small buffer: a request in the steady
 * state allocates nothing here.
 */
#include <assert.h>
#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/h2/h2_private.h"

/* ---- the queue ---- */

static size_t end_of(const struct h2_stream *s)
{
	return s->n_trailers ? s->out_end : s->out.n;
}

size_t h2_queued(const struct h2_stream *s)
{
	return end_of(s) - s->out_at;
}

/*
 * Must be called whenever the queue has changed: keeps the sums of connection and host. The
 * differences may be negative; unsigned arithmetic wraps and the sums stay right.
 */
static void count_queued(struct h2_stream *s)
{
	size_t now = h2_queued(s);

	s->conn->queued += now - s->counted;
	s->conn->host->stats.queued += now - s->counted;
	s->counted = now;
}

static void count_unread(struct h2_stream *s, size_t now)
{
	s->conn->host->stats.unread += now - s->unread;
	s->unread = now;
}

static void empty(struct h2_stream *s)
{
	s->out.n = s->out_at = 0;
	s->n_trailers = 0;
	if (s->out.cap > H2__KEEP_MAX)
		buf_free(&s->out);
	count_queued(s);
}

/* ---- life ---- */

/* A spare stream is poisoned, so that AddressSanitizer reports a user that still has it. */
static size_t poisoned(const struct h2_host *h)
{
	return sizeof(struct h2_stream) + h->config.stream_area - offsetof(struct h2_stream, conn);
}

static struct h2_stream *take_spare(struct h2_host *h)
{
	struct h2_stream *s = LIST_FIRST(&h->spare);

	LIST_REMOVE(s, all);
	h->n_spare--;
	ASAN_UNPOISON_MEMORY_REGION(&s->conn, poisoned(h));
	return s;
}

static void keep(struct h2_host *h, struct h2_stream *s)
{
	LIST_INSERT_HEAD(&h->spare, s, all);
	h->n_spare++;
	ASAN_POISON_MEMORY_REGION(&s->conn, poisoned(h));
}

static void release(struct h2_stream *s)
{
	buf_free(&s->out);
	free(s);
}

void h2__streams_end(struct h2_host *h)
{
	while (h->n_spare)
		release(take_spare(h));
}

/* A stream that was used before keeps its small buffer. */
static struct h2_stream *reuse(struct h2_host *h)
{
	struct h2_stream *s = take_spare(h);
	struct buf out = s->out;

	memset(s, 0, sizeof(*s) + h->config.stream_area);
	s->out = out;
	return s;
}

struct h2_stream *h2__stream_new(struct h2_conn *c)
{
	struct h2_host *h = c->host;
	struct h2_stream *s =
		h->n_spare ? reuse(h) : mem_zalloc(sizeof(*s) + h->config.stream_area);

	s->conn = c;
	LIST_INSERT_HEAD(&c->streams, s, all);
	c->n_streams++;
	c->idle_since = 0;
	h2__rank(c);
	h->stats.streams++;
	h->stats.opened++;
	return s;
}

static void mute(struct h2_stream *s)
{
	s->muted = true;
	if (s->is_ready)
		LIST_REMOVE(s, ready);
	s->is_ready = false;
	count_unread(s, 0);
	empty(s);
}

void h2__stream_abandon(struct h2_stream *s, uint32_t error)
{
	const struct h2_config *config = h2__config(s->conn);

	if (!s->muted && config->events->closed)
		config->events->closed(s, error, config->user);
	mute(s);
}

/* Without its last stream, or without the last that is not minor, c may be evicted. */
void h2__stream_close(struct h2_stream *s, uint32_t error)
{
	struct h2_conn *c = s->conn;
	struct h2_host *h = c->host;

	LIST_REMOVE(s, all);
	h->stats.streams--;
	h->stats.resets += error != H2_NO_ERROR;
	h2__stream_abandon(s, error);
	c->n_minor -= s->minor;
	if (h->n_spare < H2__SPARE_MAX)
		keep(h, s);
	else
		release(s);
	if (--c->n_streams == 0)
		h2__conn_idle(c);
	h2__rank(c);
}

void h2_set_minor(struct h2_stream *s)
{
	s->conn->n_minor += !s->minor;
	s->minor = true;
	h2__rank(s->conn);
}

void h2_set_patient(struct h2_stream *s)
{
	s->patient = true;
}

void *h2_stream_area(struct h2_stream *s)
{
	return s->area;
}

struct h2_stream *h2_stream_of(void *area)
{
	return (struct h2_stream *)(void *)((char *)area - offsetof(struct h2_stream, area));
}

struct h2_conn *h2_stream_conn(const struct h2_stream *s)
{
	return s->conn;
}

int32_t h2_stream_id(const struct h2_stream *s)
{
	return s->id;
}

/* ---- fields ---- */

static bool fits(const struct field *fields, size_t n)
{
	size_t size = 0;

	for (size_t i = 0; i < n && size <= H2_BLOCK_MAX; i++)
		size += fields[i].name.n + fields[i].value.n + H2__FIELD_OVERHEAD;
	return size <= H2_BLOCK_MAX;
}

static void add_nv(struct h2_host *h, struct str name, struct str value)
{
	vec_push(&h->fields,
		 (nghttp2_nv){ (uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.n,
			       value.n, NGHTTP2_NV_FLAG_NONE });
}

/* nghttp2 copies names and values, and makes names lower-case. */
static const nghttp2_nv *to_nv(struct h2_host *h, const struct field *fields, size_t n)
{
	h->fields.n = 0;
	for (size_t i = 0; i < n; i++)
		add_nv(h, fields[i].name, fields[i].value);
	return h->fields.items;
}

/* Trailers in the buffer of the queue: the two lengths, then name and value. */
struct lengths {
	uint32_t name, value;
};

static void put_trailers(struct h2_stream *s, const struct field *fields, size_t n)
{
	s->out_end = s->out.n;
	s->n_trailers = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		const struct lengths l = { (uint32_t)fields[i].name.n,
					   (uint32_t)fields[i].value.n };

		buf_add(&s->out, &l, sizeof(l));
		if (l.name)
			buf_add(&s->out, fields[i].name.p, l.name);
		if (l.value)
			buf_add(&s->out, fields[i].value.p, l.value);
	}
}

static void submit_trailers(struct h2_stream *s)
{
	struct h2_host *h = s->conn->host;
	const char *p = s->out.p + s->out_end;
	struct lengths l;

	h->fields.n = 0;
	for (uint32_t i = 0; i < s->n_trailers; i++, p += l.name + l.value) {
		memcpy(&l, p, sizeof(l));
		p += sizeof(l);
		add_nv(h, (struct str){ p, l.name }, (struct str){ p + l.name, l.value });
	}
	nghttp2_submit_trailer(s->conn->session, s->id, h->fields.items, h->fields.n);
}

/* ---- frames ---- */

/*
 * nghttp2 can send at most room bytes. It gets no bytes here (NO_COPY): h2__stream_frame() follows.
 * END_STREAM is in the last frame of the queue, or in that of the trailers.
 */
static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
		       uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct h2_stream *s = source->ptr;
	size_t queued = h2_queued(s);
	size_t n = queued < room ? queued : room;

	if (!queued && !s->ended) {
		s->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (n == queued && s->ended) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->n_trailers) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			submit_trailers(s);
		}
	}
	return (ssize_t)n;
}

/* writable() is called after nghttp2 has returned, so that the user can append from it. */
static void after_taking(struct h2_stream *s, size_t before)
{
	size_t low = h2__config(s->conn)->low;
	size_t now = h2_queued(s);

	if (!now)
		empty(s);
	else
		count_queued(s);
	if (before > low && now <= low && !s->ended && !s->muted && !s->is_ready) {
		LIST_INSERT_HEAD(&s->conn->ready, s, ready);
		s->is_ready = true;
	}
}

/* A full output ends the work of nghttp2 for this write. */
int h2__stream_frame(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t n,
		     nghttp2_data_source *source, void *user)
{
	struct h2_stream *s = source->ptr;
	struct buf *out = &s->conn->host->out;
	size_t before = h2_queued(s);

	assert(n <= before);
	buf_add(out, head, 9);
	if (n)
		buf_add(out, s->out.p + s->out_at, n);
	s->out_at += n;
	s->sent += n;
	after_taking(s, before);
	return out->n >= H2__OUT_MAX ? NGHTTP2_ERR_PAUSE : 0;
}

bool h2__streams_tell(struct h2_conn *c)
{
	const struct h2_config *config = h2__config(c);
	struct h2_stream *s = LIST_FIRST(&c->ready);

	if (!s)
		return false;
	c->busy = true;
	for (; s; s = LIST_FIRST(&c->ready)) {
		LIST_REMOVE(s, ready);
		s->is_ready = false;
		if (config->events->writable && !s->ended)
			config->events->writable(s, config->user);
	}
	c->busy = false;
	return true;
}

/* ---- what users call ---- */

struct h2_stream *h2_request(struct h2_conn *c, const struct field *fields, size_t n, bool last)
{
	nghttp2_data_provider provider = { .read_callback = on_read };
	struct h2_stream *s;

	assert(c && !h2__config(c)->server);
	if ((c->state != H2__OPEN && c->state != H2__GREETING) || c->going || c->leaving ||
	    c->aborted || !fits(fields, n))
		return NULL;
	s = h2__stream_new(c);
	s->ended = last;
	provider.source.ptr = s;
	s->id = nghttp2_submit_request(c->session, NULL, to_nv(c->host, fields, n), n,
				       last ? NULL : &provider, s);
	if (s->id < 0) {
		s->muted = true;
		h2__stream_close(s, H2_NO_ERROR);
		return NULL;
	}
	h2__conn_touch(c);
	return s;
}

int h2_inform(struct h2_stream *s, const struct field *fields, size_t n)
{
	assert(s && !s->muted && !s->responded && h2__config(s->conn)->server);
	if (!fits(fields, n))
		return -EMSGSIZE;
	nghttp2_submit_headers(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NULL,
			       to_nv(s->conn->host, fields, n), n, NULL);
	h2__conn_touch(s->conn);
	return 0;
}

int h2_respond(struct h2_stream *s, const struct field *fields, size_t n, bool last)
{
	nghttp2_data_provider provider = { .source.ptr = s, .read_callback = on_read };

	assert(s && !s->muted && !s->responded && h2__config(s->conn)->server);
	if (!fits(fields, n))
		return -EMSGSIZE;
	s->responded = true;
	s->ended = last;
	nghttp2_submit_response(s->conn->session, s->id, to_nv(s->conn->host, fields, n), n,
				last ? NULL : &provider);
	h2__conn_touch(s->conn);
	return 0;
}

/* Framed bytes are removed only when they are the larger half, so the copying stays linear. */
struct buf *h2_out(struct h2_stream *s)
{
	assert(!s->muted && !s->ended);
	if (s->out_at > s->out.n / 2) {
		buf_consume(&s->out, s->out_at);
		s->out_at = 0;
	}
	return &s->out;
}

/* nghttp2 rejects the resumption of a stream that is not deferred, hence the flag. */
void h2_sent(struct h2_stream *s)
{
	count_queued(s);
	if (s->deferred && (s->counted || s->ended)) {
		s->deferred = false;
		nghttp2_session_resume_data(s->conn->session, s->id);
	}
	h2__conn_touch(s->conn);
}

void h2_send(struct h2_stream *s, struct str bytes)
{
	if (!bytes.n)
		return;
	buf_add(h2_out(s), bytes.p, bytes.n);
	h2_sent(s);
}

bool h2_is_full(const struct h2_stream *s)
{
	return h2_queued(s) >= h2__config(s->conn)->high;
}

int h2_end(struct h2_stream *s, const struct field *trailers, size_t n)
{
	assert(s && !s->ended && !s->muted);
	if (!fits(trailers, n))
		return -EMSGSIZE;
	if (n)
		put_trailers(s, trailers, n);
	s->ended = true;
	if (n && s->deferred && !h2_queued(s)) {
		submit_trailers(s); /* they need no window, as an empty DATA frame would */
		h2__conn_touch(s->conn);
	} else {
		h2_sent(s);
	}
	return 0;
}

/* After END_STREAM the peer sends nothing, so it needs no window. */
void h2_consume(struct h2_stream *s, size_t n)
{
	struct h2_conn *c = s->conn;

	assert(!s->muted && n <= s->unread);
	if (!n)
		return;
	count_unread(s, s->unread - n);
	if (s->remote_ended)
		return;
	nghttp2_session_consume_stream(c->session, s->id, n);
	if (nghttp2_session_want_write(c->session))
		h2__conn_touch(c);
}

void h2__stream_received(struct h2_stream *s, size_t n)
{
	s->received += n;
	count_unread(s, s->unread + n);
}

size_t h2_unread(const struct h2_stream *s)
{
	return s->unread;
}

bool h2_is_ended(const struct h2_stream *s)
{
	return s->remote_ended;
}

uint64_t h2_stream_sent(const struct h2_stream *s)
{
	return s->sent;
}

uint64_t h2_stream_received(const struct h2_stream *s)
{
	return s->received;
}

void h2_reset(struct h2_stream *s, enum h2_error error)
{
	assert(s && !s->muted);
	s->aborted = error != H2_PROTOCOL_ERROR && error != H2_ENHANCE_YOUR_CALM;
	mute(s);
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, (uint32_t)error);
	h2__conn_touch(s->conn);
}
