/* SPDX-License-Identifier: Apache-2.0 */
/*
 * https: the TLS handshake of a question, and the session kept for the next one.
 *
 * The environment owns contexts that verify and some that do not. A probe keeps one
 * session after a success; a failure drops it, so that the next question verifies the certificate.
 * The session and the kept connection are also dropped if the certificate would otherwise not be
 * verified again within 60 s. That is predicted from the interval between the last two questions
 * plus a quarter, because callers jitter their intervals by about a tenth.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/probe/internal.h"

#define NAME_MAX_LEN 256 /* longer than any DNS name */

/* The host of a Host header value, without port and brackets. */
static struct str bare_host(const char *host)
{
	struct str s = str_of(host);
	const char *colon = memchr(host, ':', s.n), *end;

	if (*host == '[') {
		end = memchr(host, ']', s.n);
		return end ? (struct str){ host + 1, (size_t)(end - host) - 1 } : s;
	}
	/* more than one colon is an IPv6 address, and has no port */
	if (colon && !strchr(colon + 1, ':'))
		s.n = (size_t)(colon - host);
	return s;
}

/* The name to verify. False if it is too long for a DNS name. */
static bool server_name(const struct probe_spec *spec, char name[static NAME_MAX_LEN])
{
	struct str s;

	if (!spec->server_name && !spec->host) {
		addr_format(&spec->target.addr, name);
		return true;
	}
	s = spec->server_name ? str_of(spec->server_name) : bare_host(spec->host);
	if (s.n >= NAME_MAX_LEN)
		return false;
	memcpy(name, s.p, s.n);
	name[s.n] = '\0';
	return true;
}

/* NULL if OpenSSL cannot create one; the next question tries again. */
static struct tls_context *context_for(struct probe_env *env, bool http, bool verify)
{
	const struct tls_config config = {
		.role = TLS_CLIENT,
		.minimum = TLS_SYSTEM,
		.protocols = http ? "http/1.1" : NULL,
		.insecure = !verify,
		.resume = true,
	};
	struct tls_refusal why;

	if (!env->tls[http][verify])
		tls_context_new(&config, &env->tls[http][verify], &why);
	return env->tls[http][verify];
}

/* An invalid name is a local failure: the mistake is in the spec, not in the server. */
void probe__tls_start(struct probe *p)
{
	struct tls_context *context = p->spec.tls
					      ?: context_for(p->env, p->spec.kind == PROBE_HTTPS,
							     !p->spec.insecure_skip_verify);
	char name[NAME_MAX_LEN];
	struct tls *tls;

	if (!context || !server_name(&p->spec, name) ||
	    tls_connect(context, p->stream.fd, name, p->session, &tls) < 0) {
		probe__fail(p, PROBE_STAGE_LOCAL, PROBE_ERR_TLS, EINVAL, "TLS set-up: %s",
			    context ? "not a server name" : "broken OpenSSL configuration");
		return;
	}
	p->state = STATE_TLS;
	stream_secure(&p->stream, tls);
}

void probe__on_handshake_failed(struct probe *p, int err)
{
	char text[ENDPOINT_STRLEN];

	endpoint_format(&p->spec.target, text);
	if (err == EKEYREJECTED)
		probe__fail(p, PROBE_STAGE_TLS, PROBE_ERR_CERTIFICATE, 0, "%s",
			    tls_reason(p->stream.tls));
	else if (err == EPROTO)
		probe__fail(p, PROBE_STAGE_TLS, PROBE_ERR_TLS, 0, "TLS handshake with %s: %s", text,
			    tls_reason(p->stream.tls));
	else
		probe__fail(p, PROBE_STAGE_TLS,
			    err == ETIMEDOUT ? PROBE_ERR_TIMEOUT : PROBE_ERR_RESET, err,
			    "TLS handshake with %s: %s", text, net_error_word(err));
}

/* The start of the question counts as the time of the verification, not the end. */
void probe__on_secured(struct probe *p)
{
	p->resumed = tls_resumed(p->stream.tls);
	if (!p->resumed)
		p->full_handshake = p->started;
	if (p->spec.kind == PROBE_GRPC)
		probe__grpc_send(p);
	else if (p->spec.kind == PROBE_TLS)
		probe__talk_start(p);
	else
		probe__http_send(p);
}

/* TLS 1.3 sends session tickets after the handshake, so they are taken at the end. */
void probe__tls_end(struct probe *p, bool good)
{
	struct tls_session *fresh;

	if (!good) {
		probe__tls_forget(p);
		return;
	}
	fresh = p->stream.tls ? tls_take_session(p->stream.tls) : NULL;
	if (fresh) {
		probe__tls_forget(p);
		p->session = fresh;
	}
}

/* See the top of the file. In the first question there is nothing to drop. */
void probe__tls_prepare(struct probe *p)
{
	int64_t since = p->started - p->full_handshake;
	int64_t gap = p->started - p->previous;

	if ((p->spec.kind != PROBE_HTTPS && p->spec.kind != PROBE_TLS) ||
	    since + gap + gap / 4 <= PROBE_FULL_HANDSHAKE)
		return;
	probe__tls_forget(p);
	probe__disconnect(p);
}

void probe__tls_forget(struct probe *p)
{
	tls_session_free(p->session);
	p->session = NULL;
}
