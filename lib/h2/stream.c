/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: the output of one stream.
 *
 * Each stream has a queue of bytes. nghttp2 calls on_read() when the windows of the stream and the
 * connection allow to send; an empty queue defers the stream until h2_sent() or h2_end(). The
 * trailers of a server are made from within on_read(), after the last byte of the queue: finish()
 * asks the user for them.
 */
#include <assert.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/h2/h2_private.h"

#define FIELDS_MAX 16 /* in one block that we send */

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

static void drop_queued(struct h2_stream *s)
{
	buf_free(&s->out);
	s->out_at = 0;
	count_queued(s);
}

struct h2_stream *h2__stream_new(struct h2_conn *c)
{
	struct h2_host *h = c->host;
	struct h2_stream *s = mem_zalloc(sizeof(*s) + h->config.stream_area);

	s->conn = c;
	LIST_INSERT_HEAD(&c->streams, s, all);
	c->n_streams++;
	c->idle_since = 0;
	h2__rank(c);
	h->stats.streams++;
	h->stats.opened++;
	return s;
}

void h2__stream_abandon(struct h2_stream *s, uint32_t error)
{
	const struct h2_config *config = &s->conn->host->config;

	if (!s->muted && config->events->closed)
		config->events->closed(s, error, config->user);
	s->muted = true;
	drop_queued(s);
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
	free(s);
	if (--c->n_streams == 0)
		c->idle_since = loop_monotonic();
	h2__rank(c);
}

void h2_set_minor(struct h2_stream *s)
{
	s->conn->n_minor += !s->minor;
	s->minor = true;
	h2__rank(s->conn);
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

/* NO_COPY_NAME is why names in struct h2_field must be constants. */
static size_t to_nv(const struct h2_field *fields, size_t n, nghttp2_nv *nv)
{
	assert(n <= FIELDS_MAX);
	for (size_t i = 0; i < n; i++)
		nv[i] = (nghttp2_nv){ (uint8_t *)(uintptr_t)fields[i].name,
				      (uint8_t *)(uintptr_t)fields[i].value.p,
				      strlen(fields[i].name), fields[i].value.n,
				      NGHTTP2_NV_FLAG_NO_COPY_NAME };
	return n;
}

/* The last byte was taken. A client's stream ends here, a server's after its trailers. */
static void end_of_data(struct h2_stream *s, uint32_t *flags)
{
	const struct h2_config *config = &s->conn->host->config;

	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (!config->server || s->muted)
		return;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	config->events->finish(s, config->user);
}

static void tell_drained(struct h2_stream *s)
{
	const struct h2_config *config = &s->conn->host->config;

	if (config->events->drained && !s->muted)
		config->events->drained(s, config->user);
}

/*
 * nghttp2 wants at most room bytes. A queue that has just become empty returns its bytes first and
 * is deferred by the next call, so that drained() comes before the stream sleeps.
 */
static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
		       uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct h2_stream *s = source->ptr;
	size_t queued = h2_queued(s);
	size_t n = queued < room ? queued : room;

	if (n)
		memcpy(to, s->out.p + s->out_at, n);
	s->out_at += n;
	count_queued(s);
	if (n < queued)
		return (ssize_t)n;
	s->out.n = s->out_at = 0;
	if (s->out.cap > H2__KEEP_MAX)
		buf_free(&s->out);
	if (s->ended)
		end_of_data(s, flags);
	else if (n == 0)
		s->deferred = true;
	else
		tell_drained(s);
	return s->deferred ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

struct h2_stream *h2_request(struct h2_conn *c, const struct h2_field *fields, size_t n)
{
	struct h2_stream *s;
	nghttp2_data_provider provider = { .read_callback = on_read };
	nghttp2_nv nv[FIELDS_MAX];

	assert(c && !c->host->config.server);
	if ((c->state != H2__OPEN && c->state != H2__GREETING) || c->going || c->leaving)
		return NULL;
	s = h2__stream_new(c);
	provider.source.ptr = s;
	s->id = nghttp2_submit_request(c->session, NULL, nv, to_nv(fields, n, nv), &provider, s);
	if (s->id < 0) {
		s->muted = true;
		h2__stream_close(s, H2_NO_ERROR);
		return NULL;
	}
	h2__conn_touch(c);
	return s;
}

void h2_respond(struct h2_stream *s, const struct h2_field *fields, size_t n, bool last)
{
	nghttp2_data_provider provider = { .source.ptr = s, .read_callback = on_read };
	nghttp2_nv nv[FIELDS_MAX];

	assert(s && !s->muted && s->conn->host->config.server);
	nghttp2_submit_response(s->conn->session, s->id, nv, to_nv(fields, n, nv),
				last ? NULL : &provider);
	h2__conn_touch(s->conn);
}

/* Sent bytes are removed only when they are the larger half, so the copying stays linear. */
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
static void resume(struct h2_stream *s)
{
	if (s->deferred) {
		s->deferred = false;
		nghttp2_session_resume_data(s->conn->session, s->id);
	}
	h2__conn_touch(s->conn);
}

void h2_sent(struct h2_stream *s)
{
	count_queued(s);
	resume(s);
}

size_t h2_queued(const struct h2_stream *s)
{
	return s->out.n - s->out_at;
}

void h2_end(struct h2_stream *s)
{
	assert(s && !s->ended && !s->muted);
	s->ended = true;
	count_queued(s);
	resume(s);
}

void h2_trailers(struct h2_stream *s, const struct h2_field *fields, size_t n)
{
	nghttp2_nv nv[FIELDS_MAX];

	assert(s && s->ended);
	nghttp2_submit_trailer(s->conn->session, s->id, nv, to_nv(fields, n, nv));
}

void h2_reset(struct h2_stream *s, enum h2_error error)
{
	assert(s && !s->muted);
	s->muted = true;
	drop_queued(s);
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, (uint32_t)error);
	h2__conn_touch(s->conn);
}
