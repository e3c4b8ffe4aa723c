/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc: one call of grpc.health.v1.Health/Check, over HTTP/2: by ALPN with TLS, by prior knowledge
 * without.
 *
 * The connection is opened as for the other kinds; then it moves to a client connection of lib/h2,
 * and the probe's own stream is left with the deadline alone. The two messages of the service have
 * one field each, so they are written and read here. A connection serves one question.
 *
 * The call may outlive the question by a moment, because lib/h2 closes connections from the loop:
 * then its areas no longer point to a probe.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/h2/h2.h"
#include "lib/probe/internal.h"

#define CONTENT_MAX 1024 /* bytes of the answer; SERVING has 7 */
#define PREFIX 5	 /* bytes before a message: not compressed, length */
#define PATH STR("/grpc.health.v1.Health/Check")

struct probe__call {
	struct h2_conn *conn;
	struct h2_stream *stream; /* NULL: it has ended */
	struct buf content;
	int code; /* grpc-status; -1: none yet */
	char message[64];
};

static struct probe *of_stream(struct h2_stream *s)
{
	return *(struct probe **)h2_stream_area(s);
}

/* ---- the question ---- */

static void add_varint(struct buf *out, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		buf_addc(out, (char)(n | 0x80));
	buf_addc(out, (char)n);
}

/* HealthCheckRequest { string service = 1; } with its prefix */
static void write_message(const struct probe *p, struct buf *out)
{
	size_t n = p->spec.service ? strlen(p->spec.service) : 0, start;
	uint32_t length;

	out->n = 0;
	buf_add(out, "\0\0\0\0\0", PREFIX);
	start = out->n;
	if (n) {
		buf_addc(out, 0x0a);
		add_varint(out, n);
		buf_add(out, p->spec.service, n);
	}
	length = (uint32_t)(out->n - start);
	for (size_t i = 0; i < 4; i++)
		out->p[1 + i] = (char)(length >> (24 - 8 * i));
}

static struct h2_stream *begin_call(struct probe *p)
{
	struct buf *host = &p->env->request;
	struct field fields[] = {
		{ STR(":method"), STR("POST") },
		{ STR(":scheme"), p->spec.tls ? STR("https") : STR("http") },
		{ STR(":path"), PATH },
		{ STR(":authority"), { 0 } },
		{ STR("content-type"), STR("application/grpc") },
		{ STR("te"), STR("trailers") },
		{ STR("user-agent"), { 0 } },
	};
	size_t n = ARRAY_SIZE(fields) - !p->spec.user_agent;

	host->n = 0;
	probe__add_host(host, &p->spec);
	fields[3].value = (struct str){ host->p, host->n };
	if (p->spec.user_agent)
		fields[6].value = str_of(p->spec.user_agent);
	return h2_request(p->call->conn, fields, n, false);
}

/* A server that knows no h2 answers in another protocol, or not at all. */
static bool speaks_h2(const struct probe *p)
{
	return !p->stream.tls || str_eq(tls_protocol(p->stream.tls), STR("h2"));
}

void probe__grpc_send(struct probe *p)
{
	struct probe__call *call;

	if (!speaks_h2(p)) {
		probe__fail(p, PROBE_STAGE_TLS, PROBE_ERR_TLS, 0, "the server does not offer h2");
		return;
	}
	call = p->call = mem_zalloc(sizeof(*call));
	p->state = STATE_CALL;
	call->code = -1;
	call->conn =
		h2_take(probe__grpc_host(p->env), &p->stream, (struct str){ 0 }, p->spec.target);
	call->stream = begin_call(p);
	assert(call->stream); /* the first of its connection */
	*(struct probe **)h2_stream_area(call->stream) = p;
	write_message(p, &p->env->request);
	h2_send(call->stream, (struct str){ p->env->request.p, p->env->request.n });
	h2_end(call->stream, NULL, 0);
}

void probe__grpc_end(struct probe *p)
{
	struct probe__call *call = p->spec.kind == PROBE_GRPC ? TAKE_PTR(p->call) : NULL;

	if (!call)
		return;
	if (call->stream)
		*(struct probe **)h2_stream_area(call->stream) = NULL;
	if (call->stream)
		h2_abort(call->conn, H2_NO_ERROR, "the probe has ended");
	else
		h2_leave(call->conn);
	buf_free(&call->content);
	free(call);
}

/* ---- the answer ---- */

/* Takes a varint; false if it is cut off or too long. */
static bool take_varint(struct str *in, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; in->n && shift < 64; shift += 7) {
		unsigned char c = (unsigned char)*in->p++;

		in->n--;
		value |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* HealthCheckResponse { ServingStatus status = 1; }; a message of another form is -1. */
static int read_status(struct str in)
{
	uint64_t tag, value = 0;
	uint32_t length = 0;

	if (in.n < PREFIX || in.p[0])
		return -1;
	for (size_t i = 0; i < 4; i++)
		length = length << 8 | (unsigned char)in.p[1 + i];
	in = (struct str){ in.p + PREFIX, in.n - PREFIX };
	if (length != in.n)
		return -1;
	while (in.n)
		if (!take_varint(&in, &tag) || tag != 0x08 || !take_varint(&in, &value))
			return -1;
	return value > 3 ? -1 : (int)value;
}

static void judge_status(struct probe *p)
{
	static const char *const names[] = { "UNKNOWN", "SERVING", "NOT_SERVING",
					     "SERVICE_UNKNOWN" };
	const struct buf *content = &p->call->content;
	int status = read_status((struct str){ content->p, content->n });

	if (status == 1)
		probe__succeed(p);
	else if (status < 0)
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED, 0,
			    "answer is no HealthCheckResponse");
	else
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_STATUS, 0, "%s", names[status]);
}

static void judge(struct probe *p)
{
	int code = p->call->code;
	char message[64];

	if (p->status != 200) {
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_STATUS, 0, "status %u", p->status);
	} else if (code < 0) {
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED, 0,
			    "answer has no grpc-status");
	} else if (code) {
		memcpy(message, p->call->message, sizeof(message)); /* the call is freed first */
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_STATUS, 0, "grpc-status %d: %s", code,
			    message);
	} else {
		judge_status(p);
	}
}

static void on_header(struct h2_stream *s, struct str name, struct str value, void *user)
{
	struct probe *p = of_stream(s);
	uint64_t number;

	if (!p)
		return;
	if (str_eq(name, STR(":status"))) {
		p->status = str_to_u64(value, 999, &number) < 0 ? 0 : (uint16_t)number;
	} else if (str_eq(name, STR("grpc-status"))) {
		p->call->code = str_to_u64(value, 999, &number) < 0 ? 999 : (int)number;
	} else if (str_eq(name, STR("grpc-message"))) {
		snprintf(p->call->message, sizeof(p->call->message), "%.*s", (int)value.n,
			 value.n ? value.p : "");
	}
}

static void on_data(struct h2_stream *s, struct str bytes, void *user)
{
	struct probe *p = of_stream(s);

	h2_consume(s, bytes.n);
	if (!p)
		return;
	if (p->call->content.n + bytes.n > CONTENT_MAX)
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_TOO_LARGE, 0, "answer is too large");
	else
		buf_add(&p->call->content, bytes.p, bytes.n);
}

static void on_closed(struct h2_stream *s, uint32_t error, void *user)
{
	struct probe *p = of_stream(s);
	char text[ENDPOINT_STRLEN], why[96];

	if (!p)
		return;
	snprintf(why, sizeof(why), "%s", h2_conn_why(p->call->conn));
	p->call->stream = NULL;
	endpoint_format(&p->spec.target, text);
	if (error == H2_NO_ERROR)
		judge(p);
	else if (error == H2_LOST)
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_RESET, 0, "answer of %s: %s", text,
			    *why ? why : "closed by the server");
	else
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_RESET, 0,
			    "answer of %s: error %u of HTTP/2", text, error);
}

struct h2_host *probe__grpc_host(struct probe_env *env)
{
	static const struct h2_events events = { .header = on_header,
						 .data = on_data,
						 .closed = on_closed };
	const struct h2_config config = { .events = &events,
					  .stream_area = sizeof(struct probe *) };

	if (!env->h2)
		env->h2 = h2_host_new(env->loop, &config);
	return env->h2;
}
