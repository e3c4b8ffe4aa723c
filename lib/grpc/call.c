/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call: one call on the server, from its headers to its trailers.
 *
 * A call lives in the area of its stream, from the first header until lib/h2 closes the stream. It
 * is ended exactly once: by its handler, or with grpc__end() by a timeout, a limit or the drain of
 * the server. Input after the end is ignored.
 *
 * The bytes of incomplete requests are counted per connection and in total. The call whose bytes
 * exceed a bound is ended, unless its connection holds less than HELD_SHARE: so other clients
 * cannot use up the total and lock it out. A handler is called when its request is complete.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/server_private.h"
#include "lib/pb/pb.h"

#define HELD_FACTOR 2			 /* times max_message may be held by one connection */
#define HELD_FACTOR_ALL 16		 /* and by all connections */
#define HELD_SHARE ((size_t)64 * 1024)	 /* bytes that every connection may always hold */
#define UNREAD_SHARE ((size_t)64 * 1024) /* bytes that every stream may always have queued */
#define UNREAD "too many answers wait on this connection: read them first"

static struct h2_stream *stream_of(struct grpc_call *call)
{
	return h2_stream_of(call);
}

/* Adds the change of the reader's buffer to the sums; a decrease wraps and is right as well. */
static void count_held(struct grpc_call *call, size_t before)
{
	struct grpc__peer *peer = h2_conn_area(h2_stream_conn(stream_of(call)));
	size_t now = call->reader.bytes.n;

	peer->held += now - before;
	call->server->held += now - before;
}

static void drop_request(struct grpc_call *call)
{
	size_t before = call->reader.bytes.n;

	grpc__reader_free(&call->reader);
	count_held(call, before);
}

/* For an unknown method server->path still holds the path: such a call ends with its headers. */
static void trace(struct grpc_call *call)
{
	const struct grpc_server_config *config = &call->server->config;
	const struct grpc_trace t = {
		.peer = grpc_peer(call),
		.path = call->entry ? call->entry->method.path : call->server->path,
		.status = call->status,
		.duration = loop_monotonic() - call->started,
	};

	if (config->trace)
		config->trace(&t, config->trace_user ? config->trace_user : config->user);
}

/*
 * Ends the call's bookkeeping. The caller then sends the response and, last, calls trace(): the
 * callback of trace() may send messages to other calls and must find this one ended.
 */
static void settle(struct grpc_call *call, enum grpc_status status)
{
	assert(!call->ended);
	call->ended = true;
	call->status = status;
	ev_timer_stop(call->server->loop, &call->timer);
	LIST_REMOVE(call, all);
	call->server->stats->calls--;
	drop_request(call);
}

/* Sent before the first message, so that a call which fails early has only trailers. */
static void begin_answer(struct grpc_call *call)
{
	static const struct field fields[] = {
		{ { ":status", 7 }, { "200", 3 } },
		{ { "content-type", 12 }, { "application/grpc", 16 } },
		{ { "grpc-accept-encoding", 20 }, { "identity,gzip", 13 } },
	};

	if (call->answering)
		return;
	call->answering = true;
	h2_respond(stream_of(call), fields, ARRAY_SIZE(fields), false);
}

/* Adds grpc-status and grpc-message. code holds the digits while fields is in use. */
static size_t add_status(const struct grpc_call *call, struct field *fields, char code[static 4])
{
	int n = snprintf(code, 4, "%u", (unsigned)call->status);

	fields[0] = (struct field){ STR("grpc-status"), { code, (size_t)n } };
	if (!call->text)
		return 1;
	fields[1] = (struct field){ STR("grpc-message"), str_of(call->text) };
	return 2;
}

/* Also counts what was appended, so h2_sent() is not needed before it. */
static void end_answer(struct grpc_call *call)
{
	struct field fields[2];
	char code[4];

	h2_end(stream_of(call), fields, add_status(call, fields, code));
}

/* Trailers-Only of gRPC's specification: one HEADERS frame with the status, no message. */
static void answer_status_only(struct grpc_call *call)
{
	struct field fields[5] = {
		{ STR(":status"), STR("200") },
		{ STR("content-type"), STR("application/grpc") },
		{ STR("grpc-accept-encoding"), STR("identity,gzip") },
	};
	char code[4];
	size_t n = 3 + add_status(call, fields + 3, code);

	call->answering = true;
	h2_respond(stream_of(call), fields, n, true);
}

/* Sends the status after the messages that are queued already. */
static void finish_call(struct grpc_call *call, enum grpc_status status, struct str text)
{
	struct buf encoded = { 0 };

	if (text.n) {
		grpc__message_encode(text, &encoded);
		buf_cstr(&encoded);
		call->text = encoded.p;
	}
	settle(call, status);
	if (call->answering)
		end_answer(call);
	else
		answer_status_only(call);
}

static void end_call(struct grpc_call *call, enum grpc_status status, struct str text)
{
	finish_call(call, status, text);
	trace(call);
}

static void tell_cancelled(struct grpc_call *call)
{
	if (call->cancelled)
		call->cancelled(call->cancelled_user);
}

/* cancelled() comes after settle(), so that it cannot end the call a second time. */
void grpc__end(struct grpc_call *call, enum grpc_status status, const char *text)
{
	finish_call(call, status, str_of(text));
	tell_cancelled(call);
	trace(call);
}

/* ---- the request ---- */

/* The timer has two uses; the text names the limit that was the shorter one. */
static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct grpc_call *call = container_of(w, struct grpc_call, timer);
	int64_t limit = call->server->config.request_timeout;
	bool slow = !call->dispatched && (!call->timeout || call->timeout > limit);

	grpc__end(call, GRPC_DEADLINE_EXCEEDED,
		  slow ? "the request did not come in time" : "deadline exceeded");
}

/* Replaces the timer; 0 means none. */
static void set_timer(struct grpc_call *call, int64_t ns)
{
	struct ev_loop *loop = call->server->loop;

	ev_timer_stop(loop, &call->timer);
	if (!ns)
		return;
	ev_timer_set(&call->timer, loop_seconds(ns), 0);
	ev_timer_start(loop, &call->timer);
}

/* The first callback of a stream; h2 has zeroed the area in which the call lives. */
static void on_begin(struct h2_stream *stream, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);
	struct grpc_server *s = user;

	call->server = s;
	call->started = loop_monotonic();
	ev_init(&call->timer, on_timer);
	LIST_INSERT_HEAD(&s->calls, call, all);
	s->stats->calls++;
	s->stats->calls_started++;
	s->path[0] = '\0';
}

static void take_method(struct grpc_call *call, struct str value)
{
	call->post = str_eq(value, STR("POST"));
}

/* A path that does not fit is cut for the error text and never looked up. */
static void take_path(struct grpc_call *call, struct str value)
{
	struct grpc_server *s = call->server;
	size_t n = value.n < sizeof(s->path) ? value.n : sizeof(s->path) - 1;

	memcpy(s->path, value.p, n);
	s->path[n] = '\0';
	call->entry = n == value.n ? map_get(&s->by_path, s->path) : NULL;
}

static void take_content_type(struct grpc_call *call, struct str value)
{
	call->is_grpc = grpc__is_grpc(value);
}

static void take_timeout(struct grpc_call *call, struct str value)
{
	call->bad_timeout = grpc_timeout_parse(value, &call->timeout) < 0;
}

static void take_encoding(struct grpc_call *call, struct str value)
{
	call->gzip = str_eq(value, STR("gzip"));
	call->bad_encoding = !call->gzip && !str_eq(value, STR("identity"));
}

/* The request headers that matter here; all others are ignored. */
static const struct {
	struct str name;
	void (*take)(struct grpc_call *call, struct str value);
} headers[] = {
	{ { ":method", 7 }, take_method },
	{ { ":path", 5 }, take_path },
	{ { "content-type", 12 }, take_content_type },
	{ { "grpc-timeout", 12 }, take_timeout },
	{ { "grpc-encoding", 13 }, take_encoding },
};

/* Of a field that is sent several times the last one counts. */
static void take_metadata(char **place, struct str value)
{
	struct buf text = { 0 };

	grpc__message_decode(value, &text);
	text.n = utf8_fitting(buf_cstr(&text), strlen(buf_cstr(&text)), GRPC_METADATA_VALUE_MAX);
	free(*place);
	*place = (char *)(uintptr_t)buf_cstr(&text);
}

static void on_header(struct h2_stream *stream, struct str name, struct str value, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);
	const char *const *metadata = call->server->config.metadata;

	if (call->begun)
		return; /* trailers */
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (str_eq(headers[i].name, name))
			headers[i].take(call, value);
	for (size_t i = 0; i < GRPC_METADATA_MAX && metadata[i]; i++)
		if (str_eq(str_of(metadata[i]), name))
			take_metadata(&call->metadata[i], value);
}

/* A client that does not speak gRPC gets an HTTP status, as gRPC's specification asks. */
static void refuse(struct grpc_call *call, struct str http_status)
{
	const struct field field = { STR(":status"), http_status };

	settle(call, GRPC_UNKNOWN);
	h2_respond(stream_of(call), &field, 1, true);
	trace(call);
}

static void refuse_method(struct grpc_call *call)
{
	char text[GRPC__PATH_MAX + 32];

	snprintf(text, sizeof(text), "there is no method %s", call->server->path);
	end_call(call, GRPC_UNIMPLEMENTED, str_of(text));
}

/* Also called for trailers, which are ignored. */
static void on_headers(struct h2_stream *stream, enum h2_block block, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);
	int64_t limit = call->server->config.request_timeout;

	if (call->begun)
		return;
	call->begun = true;
	if (!call->post)
		refuse(call, STR("405"));
	else if (!call->is_grpc)
		refuse(call, STR("415"));
	else if (!call->entry)
		refuse_method(call);
	else if (call->bad_encoding)
		end_call(call, GRPC_UNIMPLEMENTED, STR("grpc-encoding may be identity or gzip"));
	else if (call->bad_timeout)
		end_call(call, GRPC_INVALID_ARGUMENT, STR("grpc-timeout is malformed"));
	else if (call->server->draining && grpc__is_stream(call->entry))
		end_call(call, GRPC_UNAVAILABLE, STR("the server is shutting down"));
	else
		set_timer(call, call->timeout && call->timeout < limit ? call->timeout : limit);
}

/* Bounds the memory that clients can occupy with requests they never complete. */
static bool holds_too_much(struct grpc_call *call)
{
	const struct grpc__peer *peer = h2_conn_area(h2_stream_conn(stream_of(call)));
	size_t max = call->server->config.max_message;

	if (peer->held <= HELD_SHARE)
		return false;
	return peer->held > HELD_FACTOR * max || call->server->held > HELD_FACTOR_ALL * max;
}

static void refuse_size(struct grpc_call *call)
{
	char text[96];

	snprintf(text, sizeof(text), "the request is longer than %zu bytes",
		 call->server->config.max_message);
	grpc__end(call, GRPC_RESOURCE_EXHAUSTED, text);
}

/* Translates the errors of grpc__content(). */
static void refuse_content(struct grpc_call *call, int error)
{
	if (error == -EMSGSIZE)
		refuse_size(call);
	else if (error == -EPROTO)
		grpc__end(call, GRPC_INTERNAL,
			  "the request is compressed, and its headers do not say how");
	else
		grpc__end(call, GRPC_INVALID_ARGUMENT, "the request is not valid gzip");
}

static void refuse_decoding(struct grpc_call *call, int error, const char *where)
{
	char text[160];

	if (error == -EILSEQ)
		snprintf(text, sizeof(text), "field %s is not valid UTF-8 without NULs", where);
	else
		snprintf(text, sizeof(text), "the request is not a valid %s",
			 call->entry->method.request->name);
	grpc__end(call, GRPC_INVALID_ARGUMENT, text);
}

/* The client sends requests and does not read the responses: it gets no more for now. */
static bool leaves_too_much(struct grpc_call *call)
{
	const struct grpc_server *s = call->server;
	size_t own = h2_conn_queued(h2_stream_conn(stream_of(call)));

	return own > s->config.max_unread ||
	       (own && h2_host_stats(s->host)->queued > s->config.max_unread_all);
}

/*
 * A message is complete: decodes it and calls the handler. The handler may end the call, but
 * cannot free it, because the stream is closed only when its last frame is sent.
 */
static void dispatch(struct grpc_call *call)
{
	struct grpc_server *s = call->server;
	ProtobufCMessage *request;
	const char *where = "";
	struct str content;
	size_t before = call->reader.bytes.n;
	int r = grpc__content(&call->reader, call->gzip, s->config.max_message, &content);

	count_held(call, before);
	if (r < 0) {
		refuse_content(call, r);
		return;
	}
	if (leaves_too_much(call)) {
		grpc__end(call, GRPC_RESOURCE_EXHAUSTED, UNREAD);
		return;
	}
	r = pb_decode(call->entry->method.request, content, NULL, s->scratch, &request, &where);
	if (r < 0) {
		refuse_decoding(call, r, where);
	} else {
		call->dispatched = true;
		call->entry->handler(call, request, call->entry->user);
	}
	arena_reset(s->scratch);
	if (!call->ended)
		drop_request(call);
}

/* Takes bytes of the request. The call may have ended when it returns. */
static void take_bytes(struct grpc_call *call, struct str *bytes)
{
	size_t before = call->reader.bytes.n;
	int r = grpc__read(&call->reader, bytes, call->server->config.max_message);

	count_held(call, before);
	if (r == -EMSGSIZE)
		refuse_size(call);
	else if (holds_too_much(call))
		grpc__end(call, GRPC_RESOURCE_EXHAUSTED, "too much is being received at once");
	else if (r == 1 && call->entry->many)
		dispatch(call);
}

/*
 * A second message is refused: for these methods gRPC allows one request message. The window is
 * returned at once, because what is held is bounded here.
 */
static void on_data(struct h2_stream *stream, struct str bytes, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);

	h2_consume(stream, bytes.n);
	while (bytes.n && !call->ended) {
		if (call->reader.whole)
			grpc__end(call, GRPC_INVALID_ARGUMENT, "there is more than one request");
		else
			take_bytes(call, &bytes);
	}
}

/* ns until the deadline, 0 without one. An expired one is 1, because 0 would mean none. */
static int64_t time_left(const struct grpc_call *call)
{
	int64_t left = call->started + call->timeout - loop_monotonic();

	if (!call->timeout)
		return 0;
	return left > 0 ? left : 1;
}

/* The request is complete: from now on only the client's deadline limits the call. */
static void on_end(struct h2_stream *stream, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);

	if (call->ended)
		return;
	set_timer(call, time_left(call));
	if (call->reader.whole)
		dispatch(call);
	else if (call->reader.bytes.n)
		grpc__end(call, GRPC_INVALID_ARGUMENT, "the request is cut off");
	else if (call->entry->many)
		grpc_finish(call);
	else
		grpc__end(call, GRPC_INVALID_ARGUMENT, "there is no request");
}

/* A call that has not ended yet was reset by its client or lost with the connection. */
static void on_closed(struct h2_stream *stream, uint32_t error, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);

	if (!call->ended) {
		settle(call, GRPC_CANCELLED);
		tell_cancelled(call);
		trace(call);
	}
	free(call->text);
	for (size_t i = 0; i < GRPC_METADATA_MAX; i++)
		free(call->metadata[i]);
}

/* Cleared before the call, so that drained() may register itself again. */
static void on_writable(struct h2_stream *stream, void *user)
{
	struct grpc_call *call = h2_stream_area(stream);
	void (*drained)(void *user) = call->drained;

	call->drained = NULL;
	if (drained && !call->ended)
		drained(call->drained_user);
}

const struct h2_events grpc__server_events = {
	.writable = on_writable,
	.begin = on_begin,
	.header = on_header,
	.headers = on_headers,
	.data = on_data,
	.end = on_end,
	.closed = on_closed,
};

/* ---- what handlers call ---- */

const char *grpc_peer_name(const struct grpc_call *call)
{
	struct grpc_call *c = (struct grpc_call *)(uintptr_t)call;

	return h2_conn_peer_name(h2_stream_conn(stream_of(c)));
}

struct endpoint grpc_peer(const struct grpc_call *call)
{
	struct grpc_call *c = (struct grpc_call *)(uintptr_t)call;

	return h2_conn_peer(h2_stream_conn(stream_of(c)));
}

const char *grpc_metadata(const struct grpc_call *call, size_t i)
{
	assert(i < GRPC_METADATA_MAX);
	return call->metadata[i];
}

static void end_reply(struct grpc_call *call)
{
	settle(call, GRPC_OK);
	end_answer(call);
	trace(call);
}

/* Not bounded here: dispatch() has refused calls of clients that do not read. */
void grpc_reply(struct grpc_call *call, const ProtobufCMessage *response)
{
	struct h2_stream *stream = stream_of(call);

	assert(!call->ended && response->descriptor == call->entry->method.response);
	begin_answer(call);
	grpc__frame(h2_out(stream), response);
	end_reply(call);
}

void grpc_reply_encoded(struct grpc_call *call, struct str message)
{
	assert(!call->ended);
	if (leaves_too_much(call)) { /* other responses may have been queued since the request */
		end_call(call, GRPC_RESOURCE_EXHAUSTED, STR(UNREAD));
		return;
	}
	begin_answer(call);
	grpc__frame_parts(h2_out(stream_of(call)), message, (struct str){ 0 });
	end_reply(call);
}

void grpc_fail(struct grpc_call *call, enum grpc_status status, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	assert(status != GRPC_OK);
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	end_call(call, status, (struct str){ text.p, text.n });
	buf_free(&text);
}

/* True if a stream with this many bytes queued must not queue more. */
static bool is_behind(struct grpc_call *call, size_t queued)
{
	const struct grpc_server_config *config = &call->server->config;
	size_t own = h2_conn_queued(h2_stream_conn(stream_of(call)));

	if (queued > config->max_queued)
		return true;
	return queued > UNREAD_SHARE &&
	       (own > config->max_unread ||
		h2_host_stats(call->server->host)->queued > config->max_unread_all);
}

/* Accepts what was appended since before, or removes it again if it is too much. */
static int keep_queued(struct grpc_call *call, struct buf *out, size_t before)
{
	struct h2_stream *stream = stream_of(call);

	if (is_behind(call, h2_queued(stream))) {
		out->n = before;
		return -ENOBUFS;
	}
	begin_answer(call);
	h2_sent(stream);
	return 0;
}

int grpc_send(struct grpc_call *call, const ProtobufCMessage *message)
{
	struct buf *out = h2_out(stream_of(call));
	size_t before = out->n;

	assert(!call->ended && message->descriptor == call->entry->method.response);
	grpc__frame(out, message);
	return keep_queued(call, out, before);
}

/* The size is known in advance, so a message that does not fit is not copied at all. */
int grpc_send_encoded(struct grpc_call *call, struct str shared, struct str own)
{
	struct buf *out = h2_out(stream_of(call));
	size_t before = out->n;

	assert(!call->ended);
	if (is_behind(call, h2_queued(stream_of(call)) + shared.n + own.n))
		return -ENOBUFS;
	grpc__frame_parts(out, shared, own);
	return keep_queued(call, out, before);
}

size_t grpc_queued(struct grpc_call *call)
{
	return h2_queued(stream_of(call));
}

void grpc_on_drained(struct grpc_call *call, void (*drained)(void *user), void *user)
{
	assert(!call->ended);
	call->drained = drained;
	call->drained_user = user;
}

void grpc_finish(struct grpc_call *call)
{
	begin_answer(call);
	end_call(call, GRPC_OK, STR(""));
}

void grpc_on_cancel(struct grpc_call *call, void (*cancelled)(void *user), void *user)
{
	assert(!call->ended);
	call->cancelled = cancelled;
	call->cancelled_user = user;
}
