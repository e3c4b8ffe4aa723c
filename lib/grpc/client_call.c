/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_call: one call of a client.
 *
 * The request is encoded at once and kept until there is a connection. The stream's area holds a
 * pointer to the call, or NULL after the call has ended; the call has a pointer to its stream while
 * it runs. The result is the server's grpc-status if there was one, else it is derived from the
 * HTTP status, else from the error that ended the stream or the connection.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/grpc/client_private.h"
#include "lib/pb/pb.h"

#define TEXT_MAX 2048 /* bytes of the text of a result */

static struct grpc_client_call **slot_of(struct h2_stream *s)
{
	return h2_stream_area(s);
}

/* to is NULL when the call is about to be freed. */
static void move(struct grpc_client_call *call, struct grpc__calls *to)
{
	if (call->in)
		TAILQ_REMOVE(call->in, call, all);
	call->in = to;
	if (to)
		TAILQ_INSERT_TAIL(to, call, all);
}

/* Separates call and stream: callbacks of the stream find NULL from now on. */
static void let_go(struct grpc_client_call *call, bool reset)
{
	struct h2_stream *s = TAKE_PTR(call->stream);

	if (!s)
		return;
	*slot_of(s) = NULL;
	if (reset)
		h2_reset(s, H2_CANCEL);
}

void grpc__metadata_unref(struct grpc__metadata *m)
{
	if (!m || --m->references)
		return;
	for (size_t i = 0; i < m->n; i++)
		buf_free(&m->values[i]);
	free(m);
}

void grpc_client_set_metadata(struct grpc_client *c, const struct grpc_metadata *fields, size_t n)
{
	assert(n <= GRPC_METADATA_MAX);
	grpc__metadata_unref(TAKE_PTR(c->metadata));
	if (!n)
		return;
	c->metadata = mem_zalloc(sizeof(*c->metadata));
	c->metadata->references = 1;
	c->metadata->n = n;
	for (size_t i = 0; i < n; i++) {
		struct str value = str_of(fields[i].value);

		value.n = utf8_fitting(value.p, value.n, GRPC_METADATA_VALUE_MAX);
		c->metadata->names[i] = fields[i].name;
		grpc__message_encode(value, &c->metadata->values[i]);
	}
}

/* Also called by a client that is freed, so it must not call back. */
void grpc__call_free(struct grpc_client_call *call)
{
	let_go(call, true);
	move(call, NULL);
	ev_timer_stop(call->client->loop, &call->timer);
	grpc__reader_free(&call->reader);
	buf_free(&call->request);
	buf_free(&call->text);
	grpc__metadata_unref(call->metadata);
	free(call);
}

/* The text may contain bytes of the server, so it is made safe to show. */
void grpc__call_end(struct grpc_client_call *call, enum grpc_status status, const char *fmt, ...)
{
	struct grpc_client *c = call->client;
	struct buf text = { 0 };
	va_list ap;

	if (call->in == &c->ended)
		return;
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	call->status = status;
	call->text.n = 0;
	buf_add_shown(&call->text, (struct str){ text.p, text.n }, TEXT_MAX);
	buf_free(&text);
	ev_timer_stop(c->loop, &call->timer);
	let_go(call, true);
	move(call, &c->ended);
	ev_feed_event(c->loop, &c->deliver, EV_CUSTOM);
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct grpc_client_call *call = container_of(w, struct grpc_client_call, timer);
	const struct grpc_client *c = call->client;

	if (c->lookup && call->in == &c->waiting) /* the server knows nothing of it */
		grpc__call_end(call, GRPC_UNAVAILABLE,
			       "cannot reach %s: the name lookup did not end in time",
			       c->config.target);
	else
		grpc__call_end(call, GRPC_DEADLINE_EXCEEDED, "deadline exceeded");
}

#define FIELDS_MAX (8 + GRPC_METADATA_MAX)

/* The timeout that is sent is what is left of it: the call may have waited for the connection. */
static size_t fill_headers(const struct grpc_client_call *call,
			   struct field fields[static FIELDS_MAX],
			   char timeout[static GRPC_TIMEOUT_STRLEN])
{
	const struct grpc_client_config *config = &call->client->config;
	int64_t left = call->started + call->timeout - loop_monotonic();
	const struct field all[] = {
		{ STR(":method"), STR("POST") },
		{ STR(":scheme"), config->tls ? STR("https") : STR("http") },
		{ STR(":path"), str_of(call->method->path) },
		{ STR(":authority"), str_of(config->target) },
		{ STR("te"), STR("trailers") },
		{ STR("content-type"), STR("application/grpc") },
		{ STR("user-agent"), str_of(config->user_agent) },
	};

	const struct grpc__metadata *m = call->metadata;
	size_t n = ARRAY_SIZE(all);

	memcpy(fields, all, sizeof(all));
	for (size_t i = 0; m && i < m->n; i++)
		fields[n++] =
			(struct field){ str_of(m->names[i]), { m->values[i].p, m->values[i].n } };
	if (!call->timeout)
		return n;
	grpc_timeout_format(left > 0 ? left : 1, timeout);
	fields[n++] = (struct field){ STR("grpc-timeout"), str_of(timeout) };
	return n;
}

void grpc__call_start(struct grpc_client_call *call)
{
	struct grpc_client *c = call->client;
	struct field fields[FIELDS_MAX];
	char timeout[GRPC_TIMEOUT_STRLEN];
	size_t n = fill_headers(call, fields, timeout);
	struct h2_stream *s = h2_request(c->conn, fields, n, false);

	if (!s) {
		grpc__call_end(call, GRPC_UNAVAILABLE, "the connection takes no more calls");
		return;
	}
	*slot_of(s) = call;
	call->stream = s;
	h2_send(s, (struct str){ call->request.p, call->request.n });
	buf_free(&call->request);
	h2_end(s, NULL, 0);
	move(call, &c->running);
}

/* ---- what comes back ---- */

static void take_http_status(struct grpc_client_call *call, struct str value)
{
	uint64_t status = 0;

	str_to_u64(value, 999, &status);
	call->http_status = (unsigned)status;
}

static void take_content_type(struct grpc_client_call *call, struct str value)
{
	call->is_grpc = grpc__is_grpc(value);
}

/* Values that are not in the enum become UNKNOWN. */
static void take_status(struct grpc_client_call *call, struct str value)
{
	uint64_t status;

	call->has_status = true;
	if (str_to_u64(value, GRPC_UNAUTHENTICATED, &status) < 0)
		status = GRPC_UNKNOWN;
	call->status = (enum grpc_status)status;
}

static void take_message(struct grpc_client_call *call, struct str value)
{
	call->text.n = 0;
	grpc__message_decode(value, &call->text);
}

/* Fields of response headers and trailers; both have the same handlers. */
static const struct {
	struct str name;
	void (*take)(struct grpc_client_call *call, struct str value);
} headers[] = {
	{ { ":status", 7 }, take_http_status },
	{ { "content-type", 12 }, take_content_type },
	{ { "grpc-status", 11 }, take_status },
	{ { "grpc-message", 12 }, take_message },
};

void grpc__on_header(struct h2_stream *s, struct str name, struct str value, void *user)
{
	struct grpc_client_call *call = *slot_of(s);

	for (size_t i = 0; call && i < ARRAY_SIZE(headers); i++)
		if (str_eq(headers[i].name, name))
			headers[i].take(call, value);
}

/* Ends the call at once if the response is not gRPC. 1xx responses are skipped. */
void grpc__on_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	struct grpc_client_call *call = *slot_of(s);

	if (!call || call->http_status < 200 || call->has_status)
		return;
	if (call->http_status != 200)
		grpc__call_end(call, grpc__status_of_http(call->http_status),
			       "the server answered with HTTP status %u", call->http_status);
	else if (!call->is_grpc)
		grpc__call_end(call, GRPC_UNKNOWN, "the server's answer is not gRPC");
}

static void refuse_content(struct grpc_client_call *call, int error)
{
	if (error == -EMSGSIZE)
		grpc__call_end(call, GRPC_RESOURCE_EXHAUSTED, "the answer is longer than %zu bytes",
			       call->client->config.max_message);
	else
		grpc__call_end(call, GRPC_INTERNAL,
			       "the answer is compressed, which was not offered");
}

/* The message is in the scratch arena, which tell_message() resets after the callback. */
static int tell_decoded(struct grpc_client_call *call, struct str content)
{
	ProtobufCMessage *message;
	struct grpc_client *c = call->client;
	int r = pb_decode(call->method->response, content, &c->config.bounds, c->scratch, &message,
			  NULL);

	if (r == -E2BIG)
		grpc__call_end(call, GRPC_RESOURCE_EXHAUSTED,
			       "the answer has too many entries or "
			       "too long a text");
	else if (r < 0)
		grpc__call_end(call, GRPC_INTERNAL, "the answer is not a valid %s",
			       call->method->response->name);
	else if (call->events.message)
		call->events.message(message, call->events.user);
	return r;
}

/* Passes a complete message to the user. On failure it ends the call and returns -errno. */
static int tell_content(struct grpc_client_call *call)
{
	size_t most = call->client->config.max_message;
	struct str content;
	int r = grpc__content(&call->reader, false, most, &content);

	if (r < 0) {
		refuse_content(call, r);
		return r;
	}
	if (!call->events.content)
		return tell_decoded(call, content);
	call->events.content(content, call->events.user);
	return 0;
}

/*
 * Returns false if the call has ended or was freed. The user may cancel the call from within its
 * callback; telling postpones the release until the message is no longer in use.
 */
static bool tell_message(struct grpc_client_call *call)
{
	struct grpc_client *c = call->client;
	bool cancelled;

	if (call->answered && !call->method->server_streaming) {
		grpc__call_end(call, GRPC_INTERNAL, "the server gave more than one answer");
		return false;
	}
	call->telling = true;
	if (tell_content(call) == 0)
		call->answered = true;
	call->telling = false;
	arena_reset(c->scratch);
	grpc__next(&call->reader);
	cancelled = call->cancelled;
	if (cancelled)
		grpc__call_free(call);
	return !cancelled && call->in == &c->running;
}

/* One piece of data may complete several messages, and any callback may end the call. */
void grpc__on_data(struct h2_stream *s, struct str bytes, void *user)
{
	struct grpc_client_call *call = *slot_of(s);
	bool goes_on = call;

	h2_consume(s, bytes.n);
	while (goes_on && bytes.n) {
		int r = grpc__read(&call->reader, &bytes, call->client->config.max_message);

		if (r < 0)
			refuse_content(call, r);
		goes_on = r == 1 ? tell_message(call) : r == 0;
	}
}

/* OK without a message is an error of the server for a unary method. */
static void end_with_status(struct grpc_client_call *call)
{
	struct buf text = call->text;

	call->text = (struct buf){ 0 };
	if (call->status == GRPC_OK && !call->method->server_streaming && !call->answered)
		grpc__call_end(call, GRPC_INTERNAL, "the server gave no answer");
	else
		grpc__call_end(call, call->status, "%s", buf_cstr(&text));
	buf_free(&text);
}

/* A reason of the connection is preferred: all its streams end with the same HTTP/2 error. */
void grpc__on_closed(struct h2_stream *s, uint32_t error, void *user)
{
	struct grpc_client_call *call = *slot_of(s);
	const char *why = h2_conn_why(h2_stream_conn(s));

	if (!call)
		return;
	let_go(call, false);
	if (call->has_status)
		end_with_status(call);
	else if (*why)
		grpc__call_end(call, GRPC_UNAVAILABLE, "lost the connection to %s: %s",
			       call->client->config.target, why);
	else
		grpc__call_end(call, grpc__status_of_h2(error),
			       "the server ended the call without a status (HTTP/2 error %u)",
			       error);
}

/* ---- the door ---- */

struct grpc_client_call *grpc_client_call(struct grpc_client *c, const struct grpc_method *method,
					  const ProtobufCMessage *request, int64_t timeout,
					  const struct grpc_client_events *events)
{
	struct grpc_client_call *call = mem_zalloc(sizeof(*call));

	assert(c && method && request && events && events->done && timeout >= 0);
	assert(request->descriptor == method->request);
	call->client = c;
	call->method = method;
	call->events = *events;
	call->timeout = timeout;
	call->started = loop_monotonic();
	call->metadata = c->metadata;
	if (call->metadata)
		call->metadata->references++;
	grpc__frame(&call->request, request);
	move(call, &c->waiting);
	ev_init(&call->timer, on_deadline);
	if (timeout) {
		ev_now_update(c->loop); /* the caller may have computed for long in this turn */
		ev_timer_set(&call->timer, loop_seconds(timeout), 0);
		ev_timer_start(c->loop, &call->timer);
	}
	if (c->open)
		grpc__call_start(call);
	else
		grpc__client_connect(c);
	return call;
}

/* Inside of its own message() the call is still in use, so it is only marked. */
void grpc_client_cancel(struct grpc_client_call *call)
{
	if (call->telling)
		call->cancelled = true;
	else
		grpc__call_free(call);
}
