/* SPDX-License-Identifier: Apache-2.0 */
/* request: checks the configuration of a call and writes the bytes of its request. */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/client_private.h"

/* Headers that the client itself writes: a caller must not set them. */
static bool is_ours(struct str name)
{
	static const struct str ours[] = {
		{ "content-length", 14 }, { "transfer-encoding", 17 },
		{ "connection", 10 },	  { "te", 2 },
		{ "trailer", 7 },	  { "upgrade", 7 },
		{ "expect", 6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (str_ieq(ours[i], name))
			return true;
	return false;
}

static bool headers_are_fine(const struct http_call_config *c)
{
	for (size_t i = 0; i < c->n_headers; i++)
		if (!http_is_token(c->headers[i].name) || !http_is_value(c->headers[i].value) ||
		    is_ours(c->headers[i].name))
			return false;
	return true;
}

static bool is_given(const struct http_call_config *c, struct str name)
{
	for (size_t i = 0; i < c->n_headers; i++)
		if (str_ieq(c->headers[i].name, name))
			return true;
	return false;
}

/* No byte may end the header or look like the start of a port. */
static bool host_is_fine(const char *host)
{
	struct addr a;

	if (addr_parse(host, &a) == 0)
		return true;
	return http_is_token(str_of(host)) && strlen(host) < 256;
}

static bool proxy_is_fine(const struct http_target *t)
{
	const struct http_proxy *p = t->proxy;

	if (!p)
		return true;
	return !t->socket && p->host && host_is_fine(p->host) &&
	       (!p->authorization || http_is_value(str_of(p->authorization)));
}

static bool config_is_fine(const struct http_call_config *c)
{
	const struct http_target *t = &c->target;

	if (!t->host && !t->socket)
		return false;
	if ((t->host && !host_is_fine(t->host)) || !proxy_is_fine(t))
		return false;
	if (c->method && !http_is_token(str_of(c->method)))
		return false;
	if (!c->path || !http_is_target(str_of(c->path)) || (*c->path != '/' && *c->path != '*'))
		return false;
	return headers_are_fine(c) && !(c->source && c->body.n);
}

/* host, or host:port where the port is not the usual one. */
static void add_host(struct buf *b, const struct http_call *call)
{
	uint16_t usual = call->config.target.tls ? 443 : 80;
	bool brackets = strchr(call->host, ':');

	buf_printf(b, brackets ? "[%s]" : "%s", call->host);
	if (call->port != usual && !call->socket)
		buf_printf(b, ":%u", (unsigned)call->port);
}

/* A server may refuse a POST without a length, so a length of 0 is sent, too. */
static bool says_length(const struct http_call *call)
{
	static const struct str with_body[] = { { "POST", 4 }, { "PUT", 3 }, { "PATCH", 5 } };

	for (size_t i = 0; i < ARRAY_SIZE(with_body); i++)
		if (str_eq(with_body[i], str_of(call->method)))
			return true;
	return call->config.body.n > 0;
}

static void add_framing(struct buf *b, const struct http_call *call)
{
	const struct http_call_config *c = &call->config;

	if (c->source && !c->source->length)
		buf_add_lit(b, "Transfer-Encoding: chunked\r\n");
	else if (c->source || says_length(call))
		buf_printf(b, "Content-Length: %llu\r\n",
			   (unsigned long long)(c->source ? c->source->length : c->body.n));
}

static void add_request(struct http_call *call)
{
	const struct http_call_config *c = &call->config;
	struct buf *b = &call->request;

	buf_printf(b, "%s %s HTTP/1.1\r\n", call->method, c->path);
	if (!is_given(c, STR("host"))) {
		buf_add_lit(b, "Host: ");
		add_host(b, call);
		buf_add_lit(b, "\r\n");
	}
	add_framing(b, call);
	for (size_t i = 0; i < c->n_headers; i++) {
		buf_add(b, c->headers[i].name.p, c->headers[i].name.n);
		buf_add_lit(b, ": ");
		buf_add(b, c->headers[i].value.p, c->headers[i].value.n);
		buf_add_lit(b, "\r\n");
	}
	buf_add_lit(b, "\r\n");
	buf_add(b, c->body.p, c->body.n);
}

static char *text_of(struct buf *b)
{
	char *text = mem_strdup(buf_cstr(b));

	buf_free(b);
	return text;
}

/* All properties that calls on one connection share, separated by newlines. */
static char *make_key(const struct http_call *call)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s\n%s\n%u\n%s\n%p\n%s\n%u\n", call->socket ? call->socket : "", call->host,
		   (unsigned)call->port, call->server_name ? call->server_name : "",
		   (void *)call->config.target.tls, call->proxy ? call->proxy : "",
		   (unsigned)call->dial_port);
	buf_add(&b, call->tunnel.p, call->tunnel.n);
	return text_of(&b);
}

static char *make_name(const struct http_call *call)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s ", call->method);
	if (call->socket)
		buf_printf(&b, "%s", call->socket);
	else
		add_host(&b, call);
	buf_printf(&b, " %s", call->config.path);
	return text_of(&b);
}

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

/* The authority has a port even if it is the usual one. */
static void add_tunnel(struct http_call *call, const struct http_proxy *p)
{
	bool brackets = strchr(call->host, ':');
	struct buf authority = { 0 };

	call->proxy = mem_strdup(p->host);
	call->dial_port = p->port ? p->port : 80;
	buf_printf(&authority, brackets ? "[%s]:%u" : "%s:%u", call->host, (unsigned)call->port);
	buf_printf(&call->tunnel, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", buf_cstr(&authority),
		   authority.p);
	if (p->authorization)
		buf_printf(&call->tunnel, "Proxy-Authorization: %s\r\n", p->authorization);
	buf_add_lit(&call->tunnel, "\r\n");
	buf_free(&authority);
}

int http__call_prepare(struct http_call *call)
{
	const struct http_call_config *c = &call->config;
	const struct http_target *t = &c->target;

	if (!config_is_fine(c))
		return -EINVAL;
	call->host = mem_strdup(t->host ? t->host : "localhost");
	call->socket = copy(t->socket);
	call->server_name = copy(t->server_name);
	call->method = mem_strdup(c->method ? c->method : "GET");
	call->port = t->port;
	if (!call->port)
		call->port = t->tls ? 443 : 80;
	call->dial_port = call->port;
	if (t->proxy)
		add_tunnel(call, t->proxy);
	call->key = make_key(call);
	call->name = make_name(call);
	add_request(call);
	return 0;
}
