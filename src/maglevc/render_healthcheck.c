/* SPDX-License-Identifier: Apache-2.0 */
/* render_healthcheck: health checks, their intervals and parameters. */
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/render_internal.h"

static void duration_cell(struct columns *c, int64_t ns)
{
	char text[DURATION_STRLEN];

	columns_cell(c, TINT_NONE, "%s", duration_format(ns, text));
}

static void add_row(struct columns *c, const Maglev__HealthCheckInfo *h)
{
	_cleanup_(buf_free) struct buf backends = { 0 };

	render__add_list(h->backends, h->n_backends, &backends);
	columns_cell(c, TINT_NONE, "%s", h->name);
	columns_cell(c, TINT_NONE, "%s", h->type);
	if (h->port)
		columns_cell(c, TINT_NONE, "%u", h->port);
	else
		columns_cell(c, TINT_NONE, "%s", *h->ports ? h->ports : "-");
	duration_cell(c, h->interval);
	duration_cell(c, h->fast_interval);
	duration_cell(c, h->down_interval);
	duration_cell(c, h->timeout);
	columns_cell(c, TINT_NONE, "%u", h->rise);
	columns_cell(c, TINT_NONE, "%u", h->fall);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&backends));
	columns_end_row(c);
}

void render_healthchecks(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListHealthChecksResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,TYPE,PORT,INTERVAL,FAST,DOWN,TIMEOUT,RISE,FALL,BACKENDS");
	for (size_t i = 0; i < list->n_healthchecks; i++)
		add_row(c, list->healthchecks[i]);
	columns_write(c, 0, r->out);
}

static void pair_duration(struct columns *c, const char *label, int64_t ns)
{
	char text[DURATION_STRLEN];

	render__pair(c, label, "%s", duration_format(ns, text));
}

/* The question and the answer in bytes, or of DNS. */
static void add_talk(struct columns *c, const Maglev__HealthCheckInfo *h)
{
	render__pair_if(c, "send", h->send);
	render__pair_if(c, "send-hex", h->send_hex);
	render__pair_if(c, "expect", h->expect);
	render__pair_if(c, "expect-regexp", h->expect_regexp);
	render__pair_if(c, "query-name", h->query_name);
	render__pair_if(c, "query-type", h->query_type);
	render__pair_if(c, "expect-rcode", h->expect_rcode);
	render__pair_if(c, "expect-address", h->expect_address);
}

/* Adds the parameters that only http and https checks have. */
static void add_http(struct columns *c, const Maglev__HealthCheckInfo *h)
{
	if (strncmp(h->type, "http", 4) != 0)
		return;
	render__pair(c, "path", "%s", h->path);
	render__pair_if(c, "host", h->host);
	render__pair(c, "response-code", "%s", h->response_code);
	render__pair_if(c, "response-regexp", h->response_regexp);
	render__pair(c, "keep-alive", "%s", h->keep_alive ? "yes" : "no");
}

static void add_tls(struct columns *c, const Maglev__HealthCheckInfo *h)
{
	if (strcmp(h->type, "https") != 0 && strcmp(h->type, "tls") != 0)
		return;
	render__pair_if(c, "server-name", h->server_name);
	render__pair_if(c, "ca-file", h->ca_file);
	render__pair(c, "insecure-skip-verify", "%s", h->insecure_skip_verify ? "yes" : "no");
}

void render_healthcheck(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__HealthCheckInfo *h = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf backends = { 0 };

	render__add_list(h->backends, h->n_backends, &backends);
	render__pair(c, "name", "%s", h->name);
	render__pair(c, "type", "%s", h->type);
	if (h->port)
		render__pair(c, "port", "%u", h->port);
	render__pair_if(c, "ports", h->ports);
	pair_duration(c, "interval", h->interval);
	pair_duration(c, "fast-interval", h->fast_interval);
	pair_duration(c, "down-interval", h->down_interval);
	pair_duration(c, "timeout", h->timeout);
	render__pair(c, "rise", "%u", h->rise);
	render__pair(c, "fall", "%u", h->fall);
	render__pair_if(c, "probe-ipv4-src", h->probe_ipv4_src);
	render__pair_if(c, "probe-ipv6-src", h->probe_ipv6_src);
	add_http(c, h);
	add_tls(c, h);
	add_talk(c, h);
	render__pair(c, "backends", "%s", buf_cstr(&backends));
	columns_write(c, 0, r->out);
}
