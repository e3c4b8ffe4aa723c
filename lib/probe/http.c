/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http: one GET and its answer, over plain TCP or TLS.
 *
 * The request is written into the environment's buffer and sent from there; the stream's queue
 * keeps only what the socket does not take at once. The response is parsed in the environment's
 * read buffer; a head is copied only if it arrives in pieces, content only if there is a pattern.
 * probe.h describes how a response is judged. Redirects are not followed, and interim responses
 * (1xx) are skipped.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/probe/internal.h"
#include "lib/regex/regex.h"
#include "lib/stream/proxy.h"

/* After PROBE_KEEP_ALIVE_MAX questions a new connection is opened, which is tested as well. */
static bool may_keep(const struct probe *p)
{
	return p->spec.keep_alive && p->served < PROBE_KEEP_ALIVE_MAX;
}

/* RFC 9110 §7.2: the port is left out if it is the default of the scheme. */
void probe__add_host(struct buf *b, const struct probe_spec *spec)
{
	char text[ENDPOINT_STRLEN];
	uint16_t usual = spec->kind == PROBE_HTTPS ? 443 : 80;
	size_t n;

	if (spec->host) {
		buf_adds(b, spec->host);
		return;
	}
	endpoint_format(&spec->target, text);
	n = strlen(text);
	if (spec->target.port == usual)
		n = (size_t)(strrchr(text, ':') - text);
	buf_add(b, text, n);
}

static void write_request(const struct probe *p, struct buf *b)
{
	static const struct stream_proxy local = { .version = 2, .local = true };

	assert(!p->spec.send_proxy || !p->spec.keep_alive);
	b->n = 0;
	if (p->spec.send_proxy && p->spec.kind == PROBE_HTTP)
		stream_proxy_format(&local, b);
	buf_add_lit(b, "GET ");
	buf_adds(b, p->spec.path ? p->spec.path : "/");
	buf_add_lit(b, " HTTP/1.1\r\nHost: ");
	probe__add_host(b, &p->spec);
	if (p->spec.user_agent) {
		buf_add_lit(b, "\r\nUser-Agent: ");
		buf_adds(b, p->spec.user_agent);
	}
	if (!may_keep(p))
		buf_add_lit(b, "\r\nConnection: close");
	buf_add_lit(b, "\r\n\r\n");
}

/* err 0 means that the server has closed the connection. */
static void fail_transport(struct probe *p, const char *doing, int err)
{
	char text[ENDPOINT_STRLEN];
	enum probe_error error = err == ETIMEDOUT ? PROBE_ERR_TIMEOUT : PROBE_ERR_RESET;
	const char *word = err == EPROTO || err == EKEYREJECTED ? tls_reason(p->stream.tls)
			   : err				? net_error_word(err)
								: "closed by the server";

	probe__fail(p, PROBE_STAGE_HTTP, error, err, "%s %s: %s", doing,
		    endpoint_format(&p->spec.target, text), word);
}

/* The server may close an idle connection at any time (RFC 9112 §9.5): use a new connection. */
static void ask_again(struct probe *p)
{
	if (p->answer)
		probe__answer_free(TAKE_PTR(p->answer));
	p->reused = false;
	probe__disconnect(p);
	probe__connect(p);
}

void probe__http_sent(struct probe *p)
{
	p->state = STATE_HEAD;
	probe__on_asked(p);
	stream_want(&p->stream, STREAM_READ);
}

void probe__http_send_failed(struct probe *p, int err)
{
	if (p->reused)
		ask_again(p);
	else
		fail_transport(p, "send request to", err);
}

void probe__http_send(struct probe *p)
{
	struct buf *request = &p->env->request;
	int r;

	p->state = STATE_SEND;
	write_request(p, request);
	r = stream_send(&p->stream, request->p, request->n);
	if (r < 0)
		probe__http_send_failed(p, -r);
	else if (stream_unsent(&p->stream))
		stream_want(&p->stream, STREAM_WRITE);
	else
		probe__http_sent(p);
}

static bool is_wanted(const struct probe_spec *spec, unsigned status)
{
	for (size_t i = 0; i < spec->n_codes; i++)
		if (status >= spec->codes[i].first && status <= spec->codes[i].last)
			return true;
	return false;
}

/* The list of wanted codes is cut if it does not fit: it is only for people. */
static void fail_status(struct probe *p)
{
	char wanted[96] = "";
	size_t n = 0;

	for (size_t i = 0; i < p->spec.n_codes && n < sizeof(wanted); i++) {
		const struct probe_code_range *r = &p->spec.codes[i];
		const char *comma = i ? "," : "";

		if (r->first == r->last)
			n += (size_t)snprintf(wanted + n, sizeof(wanted) - n, "%s%u", comma,
					      r->first);
		else
			n += (size_t)snprintf(wanted + n, sizeof(wanted) - n, "%s%u-%u", comma,
					      r->first, r->last);
	}
	probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_STATUS, 0, "status %u not in %s", p->status,
		    wanted);
}

/* Matches the content; without a pattern the head has been accepted already. */
static void judge_content(struct probe *p)
{
	const struct buf *content = &p->answer->content;
	enum regex_result r = REGEX_MATCH;

	if (p->spec.body)
		r = regex_match(p->spec.body, content->n ? content->p : "", content->n);
	switch (r) {
	case REGEX_MATCH:
		probe__succeed(p);
		break;
	case REGEX_NO_MATCH:
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_BODY, 0,
			    "pattern not found in %zu bytes of body", content->n);
		break;
	case REGEX_LIMIT:
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_BODY, 0,
			    "pattern too costly on %zu bytes of body", content->n);
		break;
	}
}

/* Bytes are counted also without a pattern: the same limit ends the reading of the body. */
static void collect(struct probe *p, struct str content)
{
	struct probe__answer *a = p->answer;
	size_t room = PROBE_BODY_MAX - a->content.n;

	a->seen += content.n;
	if (p->spec.body)
		buf_add(&a->content, content.p, content.n < room ? content.n : room);
}

/* Without a pattern a malformed body only means that the connection cannot be kept. */
static void take_body(struct probe *p, struct str in)
{
	struct probe__answer *a = p->answer;
	struct str content;

	while (in.n && !a->body.done && a->seen < PROBE_BODY_MAX) {
		ssize_t used = http_body_feed(&a->body, in.p, in.n, &content);

		if (used < 0) {
			p->keep = false;
			if (!p->spec.body)
				probe__succeed(p);
			else
				probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED, 0,
					    "malformed chunk in the body");
			return;
		}
		collect(p, content);
		in.p += used;
		in.n -= (size_t)used;
	}
	if (!a->body.done && a->seen < PROBE_BODY_MAX)
		return;
	/* an unread body, or bytes after it, would be taken for the next response */
	p->keep = p->keep && a->body.done && !in.n;
	judge_content(p);
}

static void keep_header(struct probe *p, const struct http_head *head)
{
	struct str value;

	if (!p->spec.header)
		return;
	value = http_header(head, str_of(p->spec.header));
	snprintf(p->answer->header, sizeof(p->answer->header), "%.*s", (int)value.n,
		 value.n ? value.p : "");
}

/* Without a pattern the body is read only to keep the connection. */
static void on_head(struct probe *p, const struct http_head *head, struct str rest)
{
	struct probe__answer *a = p->answer;

	/* 408 on a kept connection was sent before our request arrived (RFC 9110 §15.5.9) */
	if (p->reused && head->status == 408) {
		ask_again(p);
		return;
	}
	p->status = (uint16_t)head->status;
	keep_header(p, head);
	if (!is_wanted(&p->spec, head->status)) {
		fail_status(p);
		return;
	}
	http_body_init(&a->body, head, STR("GET"));
	p->keep = may_keep(p) && head->keep_alive && head->status != 101 &&
		  a->body.kind != HTTP_BODY_CLOSE;
	if (!p->spec.body && !p->keep) {
		probe__succeed(p);
		return;
	}
	p->state = STATE_BODY;
	take_body(p, rest);
}

/* Keeps the rest of the input, an incomplete head. in may point into a->head itself. */
static void collect_head(struct probe__answer *a, struct str in)
{
	if (a->head.n)
		buf_consume(&a->head, a->head.n - in.n);
	else
		buf_add(&a->head, in.p, in.n);
}

/* The input may hold several heads, because interim responses come before the final one. */
static void take_head(struct probe *p, struct str in)
{
	struct probe__answer *a = p->answer;
	struct http_head head;
	int len;

	if (a->head.n) {
		buf_add(&a->head, in.p, in.n);
		in = (struct str){ a->head.p, a->head.n };
	}
	while ((len = http_parse_response(in.p, in.n, &a->scanned, &head)) > 0) {
		in.p += len;
		in.n -= (size_t)len;
		a->scanned = 0;
		if (head.status >= 200 || head.status == 101) {
			on_head(p, &head, in);
			return;
		}
		if (++a->interim > PROBE_INTERIM_MAX) {
			len = -EBADMSG;
			break;
		}
	}
	if (len == 0) {
		collect_head(a, in);
		return;
	}
	if (len == -E2BIG)
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_TOO_LARGE, 0, "header block too large");
	else
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED, 0, "%s",
			    a->interim > PROBE_INTERIM_MAX ? "too many interim answers"
							   : "answer is not HTTP");
}

/*
 * End of file (err 0) or an error before the verdict. Only a kept connection that has sent nothing
 * at all is replaced; a body that is delimited by the close (http_body_eof) is complete.
 */
static void on_closed(struct probe *p, int err)
{
	if (!p->answer) {
		if (p->reused && err != ETIMEDOUT)
			ask_again(p);
		else
			fail_transport(p, "answer of", err);
		return;
	}
	p->keep = false;
	if (p->state == STATE_BODY && (!p->spec.body || (!err && http_body_eof(&p->answer->body))))
		judge_content(p);
	else
		fail_transport(p, p->state == STATE_BODY ? "body from" : "answer of", err);
}

/* One read per step, so that a large body does not delay other probes. */
void probe__http_receive(struct probe *p)
{
	ssize_t n = stream_read(&p->stream, p->env->input, sizeof(p->env->input));
	struct str in;

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		on_closed(p, (int)-n);
		return;
	}
	if (!p->answer)
		p->answer = mem_zalloc(sizeof(*p->answer));
	in = (struct str){ p->env->input, (size_t)n };
	if (p->state == STATE_HEAD)
		take_head(p, in);
	else
		take_body(p, in);
}

/* The timeout has passed in the body; see the top of probe.h for the verdict. */
void probe__http_deadline(struct probe *p)
{
	const struct buf *content = &p->answer->content;
	char text[ENDPOINT_STRLEN], duration[DURATION_STRLEN];

	p->keep = false;
	if (!p->spec.body ||
	    (content->n && regex_match(p->spec.body, content->p, content->n) == REGEX_MATCH)) {
		probe__succeed(p);
		return;
	}
	probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_TIMEOUT, 0,
		    "body from %s: not whole after %s (%zu bytes)",
		    endpoint_format(&p->spec.target, text),
		    duration_format(p->spec.timeout, duration), content->n);
}

void probe__answer_free(struct probe__answer *a)
{
	buf_free(&a->head);
	buf_free(&a->content);
	free(a);
}
