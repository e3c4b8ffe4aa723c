/* SPDX-License-Identifier: Apache-2.0 */
/*
 * talk: one question and one answer, in bytes over TCP, TLS or UDP, or as a message of DNS.
 *
 * Over TCP and TLS the answer has no end that this program knows, so it is matched whenever more of
 * it has arrived, and passes with the first match. What was collected is bounded by PROBE_BODY_MAX.
 * A datagram is one answer. The socket is connected, so only the server can send one, and each
 * question has a socket of its own, so that an answer to an earlier question cannot come.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/net/dns_message.h"
#include "lib/probe/internal.h"
#include "lib/regex/regex.h"

#define SHOWN 40 /* bytes of an answer in a reason */

bool probe__judges(const struct probe_spec *spec)
{
	switch (spec->kind) {
	case PROBE_TCP:
	case PROBE_TLS:
	case PROBE_UDP:
		return spec->talk && (spec->talk->expect.n || spec->body);
	case PROBE_DNS:
		return true;
	case PROBE_HTTP:
	case PROBE_HTTPS:
	case PROBE_GRPC:
	case PROBE_ICMP:
		break;
	}
	return false;
}

bool probe__talks(const struct probe_spec *spec)
{
	bool bytes = spec->kind == PROBE_TCP || spec->kind == PROBE_TLS;

	return probe__is_datagram(spec) || probe__judges(spec) ||
	       (bytes && spec->talk && spec->talk->send.n);
}

/* ---- verdicts ---- */

/* The socket of a datagram has no connection: its errors are ICMP messages about what was sent. */
static void fail_datagram(struct probe *p, int err)
{
	char text[ENDPOINT_STRLEN];
	bool refused = err == ECONNREFUSED;

	probe__fail(p, PROBE_STAGE_CONNECT, refused ? PROBE_ERR_REFUSED : PROBE_ERR_UNREACHABLE,
		    err, "answer of %s: %s", endpoint_format(&p->spec.target, text),
		    refused ? "port unreachable" : net_error_word(err));
}

/* The connection has ended without any answer. err 0: closed by the server. */
static void fail_silent(struct probe *p, int err)
{
	char text[ENDPOINT_STRLEN];
	const char *word = err == EPROTO || err == EKEYREJECTED ? tls_reason(p->stream.tls)
			   : err				? net_error_word(err)
								: "closed by the server";

	probe__fail(p, PROBE_STAGE_HTTP, err == ETIMEDOUT ? PROBE_ERR_TIMEOUT : PROBE_ERR_RESET,
		    err, "answer of %s: %s", endpoint_format(&p->spec.target, text), word);
}

/* There is an answer, and it is not the one that is expected. */
static void fail_content(struct probe *p, struct str answer, bool costly)
{
	_cleanup_(buf_free) struct buf shown = { 0 };

	buf_add_shown(&shown, answer, SHOWN);
	probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_BODY, 0,
		    costly ? "pattern too costly on %zu bytes of answer: %s"
			   : "not the expected answer, but %zu bytes: %s",
		    answer.n, buf_cstr(&shown));
}

static bool contains(struct str answer, struct str wanted)
{
	return !wanted.n || (answer.n && memmem(answer.p, answer.n, wanted.p, wanted.n));
}

/* Both `expect` and the pattern, if there are both. */
static enum regex_result match(const struct probe_spec *spec, struct str answer)
{
	if (!contains(answer, spec->talk->expect))
		return REGEX_NO_MATCH;
	return spec->body ? regex_match(spec->body, answer.n ? answer.p : "", answer.n)
			  : REGEX_MATCH;
}

static struct str collected(const struct probe *p)
{
	return p->answer ? (struct str){ p->answer->content.p, p->answer->content.n }
			 : (struct str){ 0 };
}

/* ---- answers ---- */

static void take_bytes(struct probe *p, struct str in)
{
	struct buf *content;
	enum regex_result r;
	size_t room;

	if (!p->answer)
		p->answer = mem_zalloc(sizeof(*p->answer));
	content = &p->answer->content;
	room = PROBE_BODY_MAX - content->n;
	buf_add(content, in.p, in.n < room ? in.n : room);
	r = match(&p->spec, collected(p));
	if (r == REGEX_MATCH)
		probe__succeed(p);
	else if (r == REGEX_LIMIT || content->n == PROBE_BODY_MAX)
		fail_content(p, collected(p), r == REGEX_LIMIT);
}

static void take_datagram(struct probe *p, struct str in)
{
	enum regex_result r = match(&p->spec, in);

	if (r == REGEX_MATCH)
		probe__succeed(p);
	else
		fail_content(p, in, r == REGEX_LIMIT);
}

static const char *rcode_name(unsigned code)
{
	static const char *const names[] = { "NOERROR",	 "FORMERR", "SERVFAIL",
					     "NXDOMAIN", "NOTIMP",  "REFUSED" };

	return code < ARRAY_SIZE(names) ? names[code] : "another code";
}

/* The name was checked with the configuration; one that cannot be parsed asks for the root. */
static void fill_question(const struct probe *p, struct dns_question *ret)
{
	*ret = (struct dns_question){ .id = p->sequence, .type = p->spec.dns->type };
	if (dns_name_parse(p->spec.dns->name, &ret->name) < 0)
		ret->name = (struct dns_name){ .n = 1 };
}

static bool has_address(const struct dns_answer *answer, const struct addr *wanted)
{
	for (size_t i = 0; i < answer->n; i++)
		if (addr_cmp(&answer->found[i], wanted) == 0)
			return true;
	return false;
}

static void take_dns(struct probe *p, struct str in)
{
	const struct probe_dns *dns = p->spec.dns;
	struct dns_question question;
	struct dns_answer answer;
	char text[ADDR_STRLEN];

	fill_question(p, &question);
	if (dns_read_answer((const uint8_t *)in.p, in.n, &question, &answer) < 0)
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED, 0,
			    "%zu bytes that are no answer to the question", in.n);
	else if (answer.code != dns->rcode)
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_STATUS, 0, "%s (%u) for %s, not %s",
			    rcode_name(answer.code), answer.code, dns->name,
			    rcode_name(dns->rcode));
	else if (addr_is_set(&dns->address) && !has_address(&answer, &dns->address))
		probe__fail(p, PROBE_STAGE_HTTP, PROBE_ERR_BODY, 0,
			    "%s is not among the %zu addresses of %s%s",
			    addr_format(&dns->address, text), answer.n, dns->name,
			    answer.verdict == DNS_TRUNCATED ? ": the answer is truncated" : "");
	else
		probe__succeed(p);
}

/* ---- the question ---- */

static struct str dns_query(struct probe *p)
{
	struct dns_question question;
	struct buf *out = &p->env->request;

	if (getrandom(&p->sequence, sizeof(p->sequence), 0) != sizeof(p->sequence))
		abort(); /* getrandom(2) does not return less for up to 256 bytes */
	fill_question(p, &question);
	out->n = 0;
	buf_reserve(out, DNS_QUERY_MAX);
	return (struct str){ out->p, dns_write_query(&question, (uint8_t *)out->p) };
}

void probe__talk_failed(struct probe *p, int err)
{
	if (probe__is_datagram(&p->spec))
		fail_datagram(p, err);
	else if (p->answer)
		fail_content(p, collected(p), false);
	else
		fail_silent(p, err);
}

/* Without anything to send or to expect, the connection was the question. */
void probe__talk_start(struct probe *p)
{
	struct str question;
	int r;

	if (!probe__talks(&p->spec)) {
		probe__succeed(p);
		return;
	}
	question = p->spec.kind == PROBE_DNS ? dns_query(p) : p->spec.talk->send;
	p->state = STATE_TALK;
	r = question.n ? stream_send(&p->stream, question.p, question.n) : 0;
	if (r < 0 && probe__is_datagram(&p->spec))
		probe__fail_local(p, "send to", -r);
	else if (r < 0)
		fail_silent(p, -r);
	else
		stream_want(&p->stream, STREAM_READ);
}

/* One read per step. A datagram of no bytes is an answer; over TCP it is the end. */
void probe__talk_receive(struct probe *p)
{
	ssize_t n = stream_read(&p->stream, p->env->input, sizeof(p->env->input));
	struct str in = { p->env->input, n > 0 ? (size_t)n : 0 };

	if (n == -EAGAIN)
		return;
	if (n < 0 || (n == 0 && !probe__is_datagram(&p->spec)))
		probe__talk_failed(p, (int)-n);
	else if (p->spec.kind == PROBE_DNS)
		take_dns(p, in);
	else if (p->spec.kind == PROBE_UDP)
		take_datagram(p, in);
	else
		take_bytes(p, in);
}

/* Nothing tells a lost datagram from a server that does not answer: it is the layer below. */
void probe__talk_deadline(struct probe *p)
{
	char text[ENDPOINT_STRLEN], duration[DURATION_STRLEN];
	bool datagram = probe__is_datagram(&p->spec);

	if (p->answer) {
		fail_content(p, collected(p), false);
		return;
	}
	probe__fail(p, datagram ? PROBE_STAGE_CONNECT : PROBE_STAGE_HTTP, PROBE_ERR_TIMEOUT, 0,
		    "answer of %s: timed out after %s", endpoint_format(&p->spec.target, text),
		    duration_format(p->spec.timeout, duration));
}
