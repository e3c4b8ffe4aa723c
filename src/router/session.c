/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: HTTP/2 connections of clients.
 *
 * A connection is a client that has given its byte stream to lib/h2. Each of its streams is a
 * client, too, with one request. The request is written into the buffer of the stream as the text
 * that an HTTP/1.1 client would have sent (convert.h); a body without a length is written in
 * chunks. So tries, copies, time-outs and the access log need to know nothing of HTTP/2. The answer
 * goes out as fields and content.
 *
 * What a server does not take stays in `held`, and the window of the stream is not opened again:
 * a stream holds its buffer and at most one window. What a client does not take stays in the queue
 * of lib/h2, and the server is not read from.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "base/units.h"
#include "src/router/internal.h"

#define END_TIME (1 * NSEC_PER_SEC)	 /* for the end of a request that was answered */
#define STREAMS_MAX 100			 /* of a connection at once */
#define WINDOW (64 * 1024)		 /* bytes that a stream may send before they are taken */
#define QUEUE_HIGH ((size_t)32 * 1024)	 /* bytes for a client before its server has to wait */
#define QUEUE_LOW ((size_t)8 * 1024)	 /* and at which it goes on */
#define FIELDS_BYTES (2 * HTTP_HEAD_MAX) /* of a head, as HTTP/2 counts them: 32 more for each */
#define CHUNK_BYTES 8			 /* "3fff\r\n" and "\r\n" around a chunk */
#define KEPT_BUFFER ((size_t)16 * 1024)	 /* an empty one that is larger is freed */

static struct session_stream *stream_of(const struct client *c)
{
	struct client *own = (struct client *)(uintptr_t)c;

	return container_of(own, struct session_stream, client);
}

static struct h2_conn *conn_of(const struct session *s)
{
	return h2_conn_of((void *)(uintptr_t)s);
}

const struct stream *session_transport(const struct client *c)
{
	return h2_conn_stream(conn_of(c->session));
}

/* ---- the end of a stream ---- */

static void forget_input(struct session_stream *s)
{
	struct client *c = &s->client;

	buffers_give(&c->worker->buffers, TAKE_PTR(c->in));
	buf_free(&s->held);
	buf_free(&s->tail);
	s->held_at = s->tail_at = 0;
}

void session_drop(struct client *c)
{
	struct session_stream *s = stream_of(c);

	forget_input(s);
	buf_free(&s->trailers);
	stream_end(&c->stream);
	TAILQ_REMOVE(&c->session->streams, c, all);
	c->session->n_streams--;
	if (s->h2)
		h2_reset(s->h2, s->answered && !h2_queued(s->h2) ? H2_NO_ERROR : H2_INTERNAL_ERROR);
}

/*
 * lib/h2 tells the client to stop, if its request is not complete. If only the end is missing,
 * since the length has told it, that comes soon. What still comes is dropped.
 */
void session_rest(struct client *c)
{
	struct session_stream *s = stream_of(c);

	if (!s->responded) {
		session_drop(c);
		return;
	}
	c->closing = true;
	c->since = ev_now(c->worker->loop);
	forget_input(s);
	h2_consume(s->h2, h2_unread(s->h2));
	if (h2_stream_received(s->h2) == s->length)
		h2_set_patient(s->h2);
	if (!s->answered)
		session_finish(c);
}

static void on_stream_closed(struct h2_stream *h2, uint32_t error, void *user)
{
	struct session_stream *s = h2_stream_area(h2);

	s->h2 = NULL;
	if (s->client.x)
		exchange_drop(s->client.x);
	else
		session_drop(&s->client);
}

/* ---- the answer ---- */

size_t session_unsent(const struct client *c)
{
	return h2_queued(stream_of(c)->h2);
}

bool session_is_full(const struct client *c)
{
	return h2_is_full(stream_of(c)->h2);
}

uint64_t session_moved(const struct client *c)
{
	return c->received + h2_stream_sent(stream_of(c)->h2);
}

static ssize_t size_of(const struct field *fields, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fields[i].name.n + fields[i].value.n + 4;
	return (ssize_t)sum;
}

ssize_t session_respond(struct client *c, const struct field *fields, size_t n, bool last)
{
	struct session_stream *s = stream_of(c);
	int r = h2_respond(s->h2, fields, n, last);

	s->responded = r == 0;
	s->answered = last;
	return r < 0 ? r : size_of(fields, n);
}

ssize_t session_inform(struct client *c, const struct field *fields, size_t n)
{
	int r = h2_inform(stream_of(c)->h2, fields, n);

	return r < 0 ? r : size_of(fields, n);
}

void session_send(struct client *c, struct str content)
{
	h2_send(stream_of(c)->h2, content);
}

void session_trail(struct client *c, struct str lines)
{
	buf_add(&stream_of(c)->trailers, lines.p, lines.n);
}

/* Trailers that speak of a connection are left out. */
int session_finish(struct client *c)
{
	struct session_stream *s = stream_of(c);
	struct field fields[HTTP_HEADERS_MAX];
	int n = http_parse_trailers(s->trailers.p, s->trailers.n, fields);
	size_t kept = 0;

	if (s->answered)
		return 0;
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		if (!l7_header_is_hop(fields[i].name, NULL, 0))
			fields[kept++] = fields[i];
	s->answered = true;
	if (c->x && c->x->grpc)
		call_read_trailers(c->x, fields, kept);
	n = h2_end(s->h2, fields, kept);
	buf_free(&s->trailers);
	return n;
}

bool session_accepts(const struct client *c, struct str accept)
{
	char wanted[HTTP_WEBSOCKET_ACCEPT + 1];

	http_websocket_accept(str_of(stream_of(c)->key), wanted);
	return str_eq(accept, str_of(wanted));
}

static void on_writable(struct h2_stream *h2, void *user)
{
	struct session_stream *s = h2_stream_area(h2);

	if (s->client.x && s->client.x->full_down)
		exchange_resume(s->client.x);
}

/* ---- the request ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t put_raw(struct buffer *in, struct str bytes)
{
	size_t n = least(bytes.n, BUFFER_SIZE - in->n);

	memcpy(in->p + in->n, bytes.p, n);
	in->n += n;
	return n;
}

static size_t put_chunk(struct buffer *in, struct str content)
{
	static const char digits[] = "0123456789abcdef";
	size_t room = BUFFER_SIZE - in->n;
	size_t n = room < CLIENT_SLACK ? 0 : least(content.n, room - CHUNK_BYTES);
	bool begun = false;

	if (!n)
		return 0;
	for (unsigned shift = 16; shift; shift -= 4) {
		size_t digit = n >> (shift - 4) & 15;

		begun |= digit > 0;
		if (begun)
			in->p[in->n++] = digits[digit];
	}
	put_raw(in, STR("\r\n"));
	put_raw(in, (struct str){ content.p, n });
	put_raw(in, STR("\r\n"));
	return n;
}

/* Content into the buffer, as much as fits; the client may send as much again. */
static size_t put(struct session_stream *s, struct str content)
{
	struct buffer *in = s->client.in;
	size_t n = s->chunked ? put_chunk(in, content) : put_raw(in, content);

	if (n)
		h2_consume(s->h2, n);
	return n;
}

/* The last chunk and the trailers; true when all of it is in the buffer. */
static bool put_end(struct session_stream *s)
{
	struct str rest = { s->tail.p + s->tail_at, s->tail.n - s->tail_at };

	s->tail_at += put_raw(s->client.in, rest);
	return s->tail_at == s->tail.n;
}

/* After the content comes its end. That of a tunnel is the end of the client's side. */
static void fill(struct session_stream *s)
{
	struct client *c = &s->client;

	if (s->held_at < s->held.n) {
		struct str rest = { s->held.p + s->held_at, s->held.n - s->held_at };

		s->held_at += put(s, rest);
	}
	if (s->held_at < s->held.n)
		return;
	s->held.n = s->held_at = 0;
	if (s->held.cap > KEPT_BUFFER)
		buf_free(&s->held);
	if (!s->finished || s->told)
		return;
	if (c->x->tunnel)
		c->ended = s->told = true;
	else if (!c->x->upgrade)
		s->told = put_end(s);
}

static bool has_more(const struct session_stream *s)
{
	return s->held_at < s->held.n || (s->finished && !s->told);
}

/* The exchange says when there is room again; the rest is passed on in a step of its own. */
void session_want(struct client *c, unsigned what)
{
	struct session_stream *s = stream_of(c);

	s->wants = what & STREAM_READ;
	if (s->wants && has_more(s))
		stream_wake(&c->stream);
}

static void pass_on(struct session_stream *s)
{
	fill(s);
	exchange_push(s->client.x);
}

static void on_wake(struct stream *stream, unsigned what)
{
	struct session_stream *s = stream_of(container_of(stream, struct client, stream));

	if (s->client.x && s->wants && (has_more(s) || s->client.x->tunnel))
		pass_on(s);
}

void session_tunnel(struct client *c)
{
	struct session_stream *s = stream_of(c);

	s->wants = true;
	h2_set_patient(s->h2);
	stream_wake(&c->stream);
}

static void on_expired(struct stream *stream)
{
	struct client *c = container_of(stream, struct client, stream);

	if (c->x)
		exchange_expired(c->x);
}

static void on_data(struct h2_stream *h2, struct str bytes, void *user)
{
	struct session_stream *s = h2_stream_area(h2);
	struct client *c = &s->client;
	size_t n = 0;

	c->received += bytes.n;
	c->session->client->received += bytes.n;
	if (!c->x) { /* it was answered before it was complete */
		h2_consume(h2, bytes.n);
		return;
	}
	if (s->wants && s->held_at == s->held.n)
		n = put(s, bytes);
	buf_add(&s->held, bytes.p + n, bytes.n - n);
	if (n)
		exchange_push(c->x);
}

/* ---- the head ---- */

/* Never called: there is no socket. */
static void on_closed(struct stream *stream, int error)
{
}

static const struct stream_events stream_events = { .ready = on_wake,
						    .closed = on_closed,
						    .expired = on_expired };

static void on_begin(struct h2_stream *h2, void *user)
{
	struct session_stream *s = h2_stream_area(h2);
	struct session *session = h2_conn_area(h2_stream_conn(h2));
	const struct client *all = session->client;
	struct worker *w = all->worker;
	struct client *c = &s->client;

	s->h2 = h2;
	s->length = UINT64_MAX;
	s->wants = true;
	c->session = session;
	c->is_stream = true;
	c->worker = w;
	c->port = all->port;
	c->peer = all->peer;
	c->source = all->source;
	c->from = all->source.addr;
	c->secure = all->secure;
	c->number = all->number;
	c->since = c->opened = ev_now(w->loop);
	c->in = buffers_take(&w->buffers);
	s->fields = (struct convert_fields){ .p = c->in->p, .cap = BUFFER_SIZE };
	stream_init(&c->stream, w->loop, TASK_ORDINARY, &stream_events);
	TAILQ_INSERT_TAIL(&session->streams, c, all);
	session->n_streams++;
}

static void add_trailer(struct buf *tail, struct str name, struct str value)
{
	if (!tail->n)
		buf_add_lit(tail, "0\r\n");
	buf_add(tail, name.p, name.n);
	buf_add_lit(tail, ": ");
	buf_add(tail, value.p, value.n);
	buf_add_lit(tail, "\r\n");
}

static void on_header(struct h2_stream *h2, struct str name, struct str value, void *user)
{
	struct session_stream *s = h2_stream_area(h2);

	if (!s->headed) {
		convert_add(&s->fields, name, value);
		return;
	}
	if (!s->client.x || !s->chunked) /* HTTP/1.1 has trailers only after chunks */
		return;
	if (convert_is_regular(&(struct field){ name, value }))
		add_trailer(&s->tail, name, value);
	else
		exchange__refuse(s->client.x, REFUSAL_MALFORMED);
}

static void make_key(struct session_stream *s)
{
	uint64_t nonce[2], *state = &s->client.worker->random;

	nonce[0] = random_next(state);
	nonce[1] = random_next(state);
	http_websocket_key((const uint8_t *)nonce, s->key);
}

/* The text replaces the fields in the buffer of the stream. */
static int convert(struct session_stream *s)
{
	struct client *c = &s->client;
	struct worker *w = c->worker;
	struct buffer *text = buffers_take(&w->buffers);
	struct convert_request r = { .fields = &s->fields, .ended = h2_is_ended(s->h2) };
	int n;

	if (s->fields.extended)
		make_key(s);
	r.key = str_of(s->key);
	n = convert_request(&r, text->p, &w->head);
	buffers_give(&w->buffers, c->in);
	c->in = text;
	s->fields = (struct convert_fields){ 0 };
	text->n = n < 0 ? 0 : (size_t)n;
	return n;
}

static void refuse(struct client *c, int why)
{
	if (why == -EPROTONOSUPPORT) {
		client_answer(c, &(struct client_answer){ .status = 501 });
		session_rest(c);
		return;
	}
	client_refuse(c, why == -E2BIG	   ? REFUSAL_HEAD_BYTES
			 : why == -ENOBUFS ? REFUSAL_FIELDS
					   : REFUSAL_MALFORMED);
}

static void begin_request(struct session_stream *s)
{
	struct client *c = &s->client, *all = c->session->client;
	int n = convert(s);

	s->headed = true;
	if (n < 0) {
		refuse(c, n);
		return;
	}
	c->received += (uint64_t)n;
	all->received += (uint64_t)n;
	s->chunked = c->worker->head.chunked;
	if (c->worker->head.has_length)
		s->length = c->worker->head.length;
	count(&c->worker->counters.streams, 1);
	if (!s->length && !h2_is_ended(s->h2))
		s->waits = true;
	else
		client_take_head(c, (size_t)n);
	if (all->last)
		session_drain(all);
}

/*
 * A request that says that it has no content was held until it has ended. One that has some after
 * all is reset by lib/h2, and then no server has seen it.
 */
static void begin_late(struct session_stream *s)
{
	struct client *c = &s->client;
	int n = http_parse_request(c->in->p, c->in->n, NULL, &c->worker->head);

	s->waits = false;
	client_take_head(c, (size_t)n);
}

static void on_end(struct h2_stream *h2, void *user)
{
	struct session_stream *s = h2_stream_area(h2);
	struct client *c = &s->client;

	if (s->waits) {
		begin_late(s);
		return;
	}
	if (!c->x || !(s->chunked || c->x->upgrade)) /* the length has told it */
		return;
	s->finished = true;
	if (s->tail.n) /* after the trailers */
		buf_add_lit(&s->tail, "\r\n");
	else if (s->chunked)
		buf_add_lit(&s->tail, "0\r\n\r\n");
	if (s->wants)
		pass_on(s);
}

static void on_headers(struct h2_stream *h2, enum h2_block block, void *user)
{
	if (block == H2_HEAD)
		begin_request(h2_stream_area(h2));
}

static void on_oversized(struct h2_stream *h2, void *user)
{
	struct session_stream *s = h2_stream_area(h2);

	s->headed = true;
	client_refuse(&s->client, REFUSAL_HEAD_BYTES);
}

/* ---- connections ---- */

static void on_open(struct h2_conn *conn, void *user)
{
	struct session *s = h2_conn_area(conn);

	s->open = true;
	if (s->client->last)
		session_drain(s->client);
}

static void on_lost(struct h2_conn *conn, const char *why, void *user)
{
	struct client *c = ((struct session *)h2_conn_area(conn))->client;
	struct counters *counters = &c->worker->counters;
	uint32_t error = h2_conn_error(conn);

	count(&counters->sessions, -1);
	if (error)
		count(&counters->refusals[error == H2_ENHANCE_YOUR_CALM ? REFUSAL_ABUSE
									: REFUSAL_PROTOCOL],
		      1);
	client_free(c);
}

static const struct h2_events events = {
	.open = on_open,
	.lost = on_lost,
	.begin = on_begin,
	.header = on_header,
	.headers = on_headers,
	.oversized = on_oversized,
	.data = on_data,
	.end = on_end,
	.writable = on_writable,
	.closed = on_stream_closed,
};

struct h2_host *session_host_new(struct worker *w)
{
	const struct worker_limits *limits = &w->config.limits;
	const struct h2_config config = {
		.server = true,
		.connect_protocol = true,
		.events = &events,
		.user = w,
		.conn_area = sizeof(struct session),
		.stream_area = sizeof(struct session_stream),
		.max_connections = SIZE_MAX, /* the gate has the limits */
		.max_per_source = SIZE_MAX,
		.max_streams = STREAMS_MAX,
		.max_header_list = FIELDS_BYTES,
		.window = WINDOW,
		.high = QUEUE_HIGH,
		.low = QUEUE_LOW,
		.handshake_timeout = limits->head_time,
		.idle_timeout = limits->idle_time,
	};

	return h2_host_new(w->loop, &config);
}

void session_begin(struct client *c)
{
	struct worker *w = c->worker;
	struct buffer *in = TAKE_PTR(c->in);
	struct str early = { in ? in->p + in->at : NULL, in ? in->n - in->at : 0 };
	struct h2_conn *conn = h2_take(w->h2, &c->stream, early, c->source);

	c->received = 0; /* what was read is counted as requests */
	c->session = h2_conn_area(conn);
	c->session->client = c;
	TAILQ_INIT(&c->session->streams);
	buffers_give(&w->buffers, in);
	count(&w->counters.sessions, 1);
}

/* A connection that is not open yet leaves when it is. */
void session_drain(struct client *c)
{
	struct session *s = c->session;

	if (!s->open || s->leaving)
		return;
	s->leaving = true;
	h2_leave(conn_of(s));
}

/* ---- time ---- */

/* The answer is complete, and the client neither takes it nor ends its side. */
static bool is_stuck(const struct client *c, ev_tstamp now)
{
	const struct worker_limits *limits = &c->worker->config.limits;
	int64_t limit = session_unsent(c) ? limits->stall_time : END_TIME;

	if (!c->closing || (session_unsent(c) && worker_clients(c->worker)->rate))
		return false;
	return now - c->since >= loop_seconds(limit);
}

static void refuse_late(struct session_stream *s)
{
	s->waits = false;
	client_refuse(&s->client, REFUSAL_HEAD_TIME);
}

static void sweep_stream(struct client *c, ev_tstamp now, unsigned rate)
{
	struct session_stream *s = stream_of(c);

	if (client_is_too_slow(c, rate))
		client_end_slow(c);
	else if (s->waits && now - c->since >= loop_seconds(c->worker->config.limits.head_time))
		refuse_late(s);
	else if (c->x)
		exchange_sweep(c->x, now);
	else if (is_stuck(c, now))
		client_free(c);
}

/*
 * A connection owes the least rate, and its streams share that: one of them is not slow because the
 * others are served, too. The debt of `grace` is shared in the same way, so a stream that moves
 * nothing is ended as early as a connection of HTTP/1.
 */
void session_sweep(struct client *connection, ev_tstamp now)
{
	unsigned rate = worker_clients(connection->worker)->rate, awaited = 0;
	struct client *c, *next;

	TAILQ_FOREACH(c, &connection->session->streams, all)
	{
		awaited += client_is_awaited(c);
	}
	if (rate && awaited)
		rate = rate / awaited ?: 1;
	for (c = TAILQ_FIRST(&connection->session->streams); c; c = next) {
		next = TAILQ_NEXT(c, all);
		sweep_stream(c, now, rate);
	}
}
