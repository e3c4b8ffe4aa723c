/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: turns the answers of handlers into bytes.
 *
 * Nothing is sent here: bytes are appended to the queue of the connection's stream, which sends
 * them in its next step.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/server_private.h"

static const struct {
	unsigned status;
	const char *reason;
} reasons[] = {
	{ 100, "Continue" },
	{ 101, "Switching Protocols" },
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 422, "Unprocessable Content" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
};

const char *http_status_reason(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

static struct buf *out_of(const struct http_exchange *x)
{
	return stream_out(&x->conn->stream);
}

/* The Date header's value (RFC 9110 §5.6.7), made once a second; English in any locale. */
static const char *date(struct http_server *s)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	int64_t second = loop_realtime() / NSEC_PER_SEC;
	time_t t = (time_t)second;
	struct tm tm;

	if (second == s->date_at)
		return s->date;
	gmtime_r(&t, &tm);
	snprintf(s->date, sizeof(s->date), "%s, %02d %s %d %02d:%02d:%02d GMT", days[tm.tm_wday],
		 tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
		 tm.tm_sec);
	s->date_at = second;
	return s->date;
}

static void add_field(struct buf *out, struct str name, struct str value)
{
	buf_add(out, name.p, name.n);
	buf_add_lit(out, ": ");
	buf_add(out, value.p, value.n);
	buf_add_lit(out, "\r\n");
}

static void add_header(struct buf *out, const char *name, const char *value)
{
	add_field(out, str_of(name), str_of(value));
}

/* Writes the head without the framing headers and the empty line. */
static void add_head(struct http_exchange *x, unsigned status, const char *content_type)
{
	const struct http_server_config *config = &x->conn->server->config;
	struct buf *out = out_of(x);

	assert(!x->answered && status >= 200 && status <= 999);
	x->answered = true;
	x->status = status;
	buf_add_lit(out, "HTTP/1.1 ");
	buf_addu(out, status);
	buf_addc(out, ' ');
	buf_adds(out, http_status_reason(status));
	buf_add_lit(out, "\r\n");
	add_header(out, "Date", date(x->conn->server));
	if (content_type)
		add_header(out, "Content-Type", content_type);
	if (x->close)
		add_header(out, "Connection", "close");
	else if (x->minor == 0)
		add_header(out, "Connection", "keep-alive");
	for (size_t i = 0; i < config->n_headers; i++)
		add_field(out, config->headers[i].name, config->headers[i].value);
	buf_add(out, x->extra.p, x->extra.n);
	buf_free(&x->extra);
}

static void add_length(struct buf *out, uint64_t length)
{
	buf_add_lit(out, "Content-Length: ");
	buf_addu(out, length);
	buf_add_lit(out, "\r\n");
}

/* Whether the end of a stream is marked by chunks. */
static bool is_chunked(const struct http_exchange *x)
{
	return x->minor >= 1 && !x->stream.length;
}

static bool has_no_content(unsigned status)
{
	return status == 204 || status == 304;
}

int http_reply_header(struct http_exchange *x, const char *name, struct str value)
{
	assert(x && name && !x->answered);

	if (!http_is_token(str_of(name)) || !http_is_value(value))
		return -EINVAL;
	add_field(&x->extra, str_of(name), value);
	return 0;
}

void http_reply_later(struct http_exchange *x, void (*gone)(void *user), void *user)
{
	const struct http_head *head = &x->conn->server->head;

	assert(gone && !x->answered);
	x->gone = gone;
	x->gone_user = user;
	if (x->later)
		return;
	x->later = true;
	x->method_n = head->method.n;
	buf_add(&x->asked, head->method.p, head->method.n);
	buf_add(&x->asked, head->target.p, head->target.n);
}

/* If the handler has already returned, the connection waits for this answer. */
static void tell_if_late(struct http_exchange *x)
{
	if (!x->later)
		return;
	x->later = false;
	http__conn_answered(x->conn);
}

/* If a part of the body was not taken, no request can follow on this connection. */
static void end_receiving(struct http_exchange *x)
{
	if (x->receiving || (x->pieces && !x->conn->body.done))
		x->close = true;
	x->receiving = false;
}

void http_reply(struct http_exchange *x, unsigned status, const char *content_type, struct str body)
{
	struct buf *out = out_of(x);

	assert(!has_no_content(status) || !body.n);
	end_receiving(x);
	add_head(x, status, content_type);
	if (!has_no_content(status))
		add_length(out, body.n);
	buf_add_lit(out, "\r\n");
	if (!x->head_only)
		buf_add(out, body.p, body.n);
	tell_if_late(x);
}

void http_reply_status(struct http_exchange *x, unsigned status)
{
	struct buf text = { 0 };

	if (!has_no_content(status))
		buf_printf(&text, "%u %s\n", status, http_status_reason(status));
	http_reply(x, status, text.n ? "text/plain; charset=utf-8" : NULL,
		   (struct str){ text.p, text.n });
	buf_free(&text);
}

void http__reply_error(struct http_exchange *x, unsigned status)
{
	const struct http_server_config *config = &x->conn->server->config;

	if (config->error)
		config->error(x, status, config->user);
	else
		http_reply_status(x, status);
	assert(x->answered);
}

void http_reply_stream(struct http_exchange *x, unsigned status, const char *content_type,
		       const struct http_stream *stream)
{
	assert(stream->produce && stream->closed && !has_no_content(status));

	x->stream = *stream;
	if (x->minor == 0 && !stream->length)
		x->close = true;
	add_head(x, status, content_type);
	if (is_chunked(x))
		add_header(out_of(x), "Transfer-Encoding", "chunked");
	else if (stream->length)
		add_length(out_of(x), stream->length);
	buf_add_lit(out_of(x), "\r\n");
	x->streaming = true;
	x->ended = x->head_only;
	tell_if_late(x);
}

void http__produce(struct http_exchange *x)
{
	enum http_stream_state state;

	assert(x->streaming && !x->ended && !x->waiting);
	state = http__slice(&x->stream, out_of(x), is_chunked(x), &x->made);
	x->ended = state == HTTP_STREAM_END;
	x->lost = state == HTTP_STREAM_LOST;
	x->waiting = state == HTTP_STREAM_WAIT;
}

void http__exchange_end(struct http_exchange *x, bool whole)
{
	buf_free(&x->extra);
	buf_free(&x->asked);
	x->receiving = false;
	if (x->later) {
		x->later = false;
		x->conn->server->stats.cancelled++;
		x->gone(x->gone_user);
	}
	if (!x->streaming)
		return;
	x->streaming = false;
	if (!whole)
		x->conn->server->stats.cancelled++;
	x->stream.closed(whole, x->stream.user);
}

/* The answer is only a head, so it has neither length nor date. */
static void add_switching_head(struct http_exchange *x, const char *protocol)
{
	const struct http_server_config *config = &x->conn->server->config;
	struct buf *out = out_of(x);

	buf_add_lit(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n");
	add_header(out, "Upgrade", protocol);
	for (size_t i = 0; i < config->n_headers; i++)
		add_field(out, config->headers[i].name, config->headers[i].value);
	buf_add(out, x->extra.p, x->extra.n);
	buf_free(&x->extra);
	buf_add_lit(out, "\r\n");
}

int http_upgrade(struct http_exchange *x, const char *protocol, struct stream *to,
		 struct buf *ret_early)
{
	struct http__conn *c = x->conn;

	assert(http_is_value(str_of(protocol)) && !x->answered && to->fd < 0);
	if (!x->upgrade || !c->body.done || x->receiving)
		return -EINVAL;
	add_switching_head(x, protocol);
	x->answered = true;
	x->status = 101;
	buf_add(ret_early, c->in.p + c->head_len, c->in.n - c->head_len);
	c->server->stats.upgraded++;
	c->state = HTTP__MOVED;
	stream_move(to, &c->stream);
	tell_if_late(x);
	return 0;
}

void http_wake(struct http_exchange *x)
{
	assert(x->streaming);
	if (!x->waiting)
		return;
	x->waiting = false;
	stream_wake(&x->conn->stream);
}
