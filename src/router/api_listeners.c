/* SPDX-License-Identifier: Apache-2.0 */
/* GET /listeners: the listeners in force, and what is known of their certificates. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "lib/json/json.h"
#include "src/router/api_private.h"

static void add_names(struct buf *out, const struct tls_certificate *c)
{
	api__key(out, "names");
	buf_addc(out, '[');
	for (size_t i = 0; i < c->n_names; i++) {
		if (i)
			buf_addc(out, ',');
		json_write_string(out, c->names[i].value, strlen(c->names[i].value));
	}
	buf_addc(out, ']');
}

static void add_time(struct buf *out, const char *key, int64_t seconds)
{
	api__key(out, key);
	buf_printf(out, "%" PRId64, seconds);
}

static void add_certificate(struct buf *out, const struct tls_certificate *c)
{
	buf_addc(out, '{');
	api__text(out, "subject", str_of(c->subject));
	api__text(out, "issuer", str_of(c->issuer));
	add_names(out, c);
	api__text(out, "serial", str_of(c->serial));
	api__text(out, "algorithm", str_of(c->algorithm));
	api__text(out, "fingerprint", str_of(c->fingerprint));
	add_time(out, "not_before", c->not_before);
	add_time(out, "not_after", c->not_after);
	buf_addc(out, '}');
}

static void add_tls(struct buf *out, const struct tls_context *context)
{
	api__key(out, "tls");
	buf_adds(out, "{\"certificates\":[");
	for (size_t i = 0; i < tls_context_count(context); i++) {
		if (i)
			buf_addc(out, ',');
		add_certificate(out, tls_context_certificate(context, i));
	}
	buf_adds(out, "]}");
}

static void add_listener(struct buf *out, const struct generation *g, size_t i)
{
	const struct l7_listener *l = &g->config.listeners[i];
	char address[ENDPOINT_STRLEN];

	buf_addc(out, '{');
	api__text(out, "name", str_of(l->name));
	api__text(out, "address", str_of(endpoint_format(&l->at, address)));
	if (l->host.n)
		api__text(out, "host", l->host);
	if (g->secrets[i])
		add_tls(out, g->secrets[i]->context);
	buf_addc(out, '}');
}

void api__on_listeners(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	const struct generation *g = router_current(a->config.router);
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_adds(&body, "{\"listeners\":[");
	for (size_t i = 0; g && i < g->config.n_listeners; i++) {
		if (i)
			buf_addc(&body, ',');
		add_listener(&body, g, i);
	}
	buf_addc(&body, ']');
	api__number(&body, "generation", api__generation(a));
	buf_addc(&body, '}');
	api__reply(a, x, 200, &body);
}
