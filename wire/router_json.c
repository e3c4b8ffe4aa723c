/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_json: the members of the document; router_json_rule.c has those of a rule, and
 * router_json_pool.c those of a pool.
 */
#include "wire/router_json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/router_json_private.h"

/* ---- routes ---- */

static void add_names(const struct l7_config *c, struct buf *out, const size_t *listeners, size_t n)
{
	if (!n)
		return;
	rj__open(out, "listeners", '[');
	for (size_t i = 0; i < n; i++) {
		rj__next(out);
		json_write_string(out, c->listeners[listeners[i]].name,
				  strlen(c->listeners[listeners[i]].name));
	}
	buf_addc(out, ']');
}

/* A rule that has the name of its route was written as a part of it. */
static bool is_short(const struct l7_route *r)
{
	return r->n_rules == 1 && strcmp(r->rules[0].name, r->name) == 0;
}

static void add_rules(const struct l7_config *c, struct buf *out, const struct l7_route *r,
		      enum rj__form form)
{
	rj__open(out, "rules", '[');
	for (size_t i = 0; i < r->n_rules; i++) {
		rj__next(out);
		buf_addc(out, '{');
		rj__text(out, "name", r->rules[i].name);
		rj__rule(c, &r->rules[i], form, out);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_route(const struct l7_config *c, struct buf *out, const struct l7_route *r,
		      enum rj__form form)
{
	rj__next(out);
	buf_addc(out, '{');
	rj__text(out, "name", r->name);
	if (r->n_hosts == 1)
		rj__str(out, "host", r->hosts[0]);
	else
		rj__list(out, "hosts", r->hosts, r->n_hosts);
	add_names(c, out, r->listeners, r->n_listeners);
	if (is_short(r))
		rj__rule(c, &r->rules[0], form, out);
	else
		add_rules(c, out, r, form);
	buf_addc(out, '}');
}

static void add_fallback(const struct l7_config *c, struct buf *out, enum rj__form form)
{
	if (!c->fallback)
		return;
	rj__open(out, "default_route", '{');
	rj__text(out, "name", c->fallback->name);
	rj__rule(c, c->fallback, form, out);
	buf_addc(out, '}');
}

static void add_routes(const struct l7_config *c, struct buf *out)
{
	rj__open(out, "routes", '[');
	for (size_t i = 0; i < c->n_routes; i++)
		add_route(c, out, &c->routes[i], RJ__NUMBERED);
	buf_addc(out, ']');
	add_fallback(c, out, RJ__FALLBACK);
}

void router_json_routes(const struct l7_config *c, uint64_t generation, struct buf *out)
{
	buf_addc(out, '{');
	add_routes(c, out);
	rj__uint(out, "generation", generation);
	buf_addc(out, '}');
}

void router_json_pools(const struct l7_config *c, uint64_t generation,
		       const struct router_json_state *state, struct buf *out)
{
	buf_addc(out, '{');
	rj__pools(c, state, false, out);
	rj__uint(out, "generation", generation);
	buf_addc(out, '}');
}

/* ---- streams ---- */

static void add_stream(const struct l7_config *c, struct buf *out, const struct l7_stream *s,
		       enum rj__form form)
{
	rj__next(out);
	buf_addc(out, '{');
	rj__text(out, "name", s->name);
	add_names(c, out, s->listeners, s->n_listeners);
	rj__list(out, "hosts", s->hosts, s->n_hosts);
	rj__backends(c, out, s->backends, s->n_backends, form);
	rj__duration(out, "idle_timeout", s->idle_timeout);
	if (s->answers)
		rj__uint(out, "answers", s->answers);
	buf_addc(out, '}');
}

static void add_streams(const struct l7_config *c, struct buf *out)
{
	if (!c->n_streams)
		return;
	rj__open(out, "streams", '[');
	for (size_t i = 0; i < c->n_streams; i++)
		add_stream(c, out, &c->streams[i], RJ__NUMBERED);
	buf_addc(out, ']');
}

/* ---- the document ---- */

static void add_trusted(struct buf *out, const struct proxies *p)
{
	char text[ADDR_STRLEN];

	if (!p->n)
		return;
	rj__open(out, "trusted_proxies", '[');
	for (size_t i = 0; i < p->n; i++) {
		rj__next(out);
		buf_printf(out, "\"%s/%u\"", addr_format(&p->items[i].addr, text),
			   p->items[i].bits);
	}
	buf_addc(out, ']');
}

/* What only requests have. */
static void add_seeing(struct buf *out, const struct l7_listener *l)
{
	static const char *const forwarded[] = { [L7_FORWARDED_APPEND] = "append",
						 [L7_FORWARDED_REPLACE] = "replace",
						 [L7_FORWARDED_KEEP] = "keep",
						 [L7_FORWARDED_DROP] = "drop" };
	static const char *const paths[] = { [L7_PATHS_NORMALIZE] = "normalize",
					     [L7_PATHS_STRICT] = "strict",
					     [L7_PATHS_AS_IS] = "as-is" };

	rj__text(out, "forwarded", forwarded[l->forwarded]);
	rj__text(out, "paths", paths[l->paths]);
	if (l->fields > L7_X_FORWARDED)
		rj__text(out, "forwarded_fields", l->fields == L7_FORWARDED ? "forwarded" : "both");
	if (l->tracing != L7_TRACING_PASS)
		rj__text(out, "tracing", l->tracing == L7_TRACING_CREATE ? "create" : "off");
	if (l->tracing == L7_TRACING_CREATE && l->trace_percent != 100)
		rj__uint(out, "trace_percent", l->trace_percent);
	if (l->server_timing)
		rj__bool(out, "server_timing", true);
}

static void add_listener(struct buf *out, const struct l7_listener *l, bool plain)
{
	static const char *const protocols[] = { [L7_TCP] = "tcp", [L7_UDP] = "udp" };
	char address[ENDPOINT_STRLEN];

	rj__next(out);
	buf_addc(out, '{');
	rj__text(out, "name", l->name);
	rj__text(out, "address", endpoint_format(&l->at, address));
	if (l->protocol != L7_HTTP)
		rj__text(out, "protocol", protocols[l->protocol]);
	if (l->host.n)
		rj__str(out, "host", l->host);
	if (l->expect_proxy)
		rj__bool(out, "expect_proxy", true);
	if (l->protocol == L7_HTTP && !l->http2)
		rj__bool(out, "http2", false);
	if (l->protocol == L7_HTTP)
		add_seeing(out, l);
	add_trusted(out, &l->trusted);
	rj__listener_tls(out, &l->tls, plain);
	buf_addc(out, '}');
}

static void add_log(struct buf *out, const struct l7_access_log *log)
{
	rj__open(out, "access_log", '{');
	rj__share(out, log->numerator, log->denominator);
	if (log->slow)
		rj__duration(out, "slow", log->slow);
	rj__bool(out, "failed", log->failed);
	rj__list(out, "headers", log->headers, log->n_headers);
	buf_addc(out, '}');
}

static void add_clients(struct buf *out, const struct l7_clients *c)
{
	if (!c->given)
		return;
	rj__open(out, "clients", '{');
	rj__uint(out, "connections", c->connections);
	rj__uint(out, "connections_each", c->each);
	rj__uint(out, "sessions", c->sessions);
	rj__uint(out, "sessions_each", c->sessions_each);
	rj__uint(out, "requests", c->requests);
	rj__uint(out, "head_bytes", c->head);
	rj__uint(out, "fields", c->fields);
	rj__uint(out, "body_bytes", c->body);
	rj__uint(out, "min_rate", c->rate);
	rj__duration(out, "grace", c->grace);
	buf_addc(out, '}');
}

/* The keys of the document that are no lists of entries. */
static void add_rest(const struct l7_config *c, struct buf *out)
{
	rj__list(out, "allowed_hosts", c->allowed_hosts, c->n_allowed_hosts);
	if (c->log.enabled)
		add_log(out, &c->log);
}

static void add_document(const struct l7_config *c, bool plain, struct buf *out)
{
	buf_addc(out, '{');
	rj__open(out, "listeners", '[');
	for (size_t i = 0; i < c->n_listeners; i++)
		add_listener(out, &c->listeners[i], plain);
	buf_addc(out, ']');
	add_clients(out, &c->clients);
	add_routes(c, out);
	add_streams(c, out);
	rj__pools(c, NULL, plain, out);
	add_rest(c, out);
	buf_addc(out, '}');
}

void router_json_config(const struct l7_config *c, struct buf *out)
{
	add_document(c, false, out);
}

void router_json_whole(const struct l7_config *c, struct buf *out)
{
	add_document(c, true, out);
}

/* ---- entries that are compared ---- */

size_t router_json_entries(const struct l7_config *c, enum router_entry kind)
{
	const size_t counts[] = { [ROUTER_LISTENERS] = c->n_listeners,
				  [ROUTER_ROUTES] = c->n_routes,
				  [ROUTER_STREAMS] = c->n_streams,
				  [ROUTER_POOLS] = c->n_pools,
				  [ROUTER_REST] = c->fallback ? 2 : 1 };

	return counts[kind];
}

const char *router_json_entry_name(const struct l7_config *c, enum router_entry kind, size_t i)
{
	switch (kind) {
	case ROUTER_LISTENERS:
		return c->listeners[i].name;
	case ROUTER_ROUTES:
		return c->routes[i].name;
	case ROUTER_STREAMS:
		return c->streams[i].name;
	case ROUTER_POOLS:
		return c->pools[i].name;
	case ROUTER_REST:
		break;
	}
	return i ? "default_route" : "other keys";
}

static void add_entry(const struct l7_config *c, enum router_entry kind, size_t i, bool plain,
		      struct buf *out)
{
	switch (kind) {
	case ROUTER_LISTENERS:
		add_listener(out, &c->listeners[i], plain);
		break;
	case ROUTER_ROUTES:
		add_route(c, out, &c->routes[i], RJ__NAMED);
		break;
	case ROUTER_STREAMS:
		add_stream(c, out, &c->streams[i], RJ__NAMED);
		break;
	case ROUTER_POOLS:
		rj__pool(c, i, plain, out);
		break;
	case ROUTER_REST:
		buf_addc(out, '{');
		if (i)
			add_fallback(c, out, RJ__NAMED);
		else
			add_rest(c, out);
		buf_addc(out, '}');
		break;
	}
}

void router_json_entry(const struct l7_config *c, enum router_entry kind, size_t i, struct buf *out)
{
	add_entry(c, kind, i, false, out);
}

void router_json_entry_whole(const struct l7_config *c, enum router_entry kind, size_t i,
			     struct buf *out)
{
	add_entry(c, kind, i, true, out);
}

/* ---- errors ---- */

/* The index in a key such as "routes[3].pool_idx"; *rest is what follows. False if it has none. */
static bool index_of(const char *key, struct str list, size_t n, size_t *ret, const char **rest)
{
	char *end;

	if (!str_starts(str_of(key), list) || key[list.n] != '[')
		return false;
	*ret = strtoull(key + list.n + 1, &end, 10);
	*rest = *end == ']' ? end + 1 : end;
	return *ret < n;
}

/* Appends "Route 'api'" and returns the rest of the key; the whole key if it has no name. */
static const char *add_subject(const char *key, const struct l7_doc *doc, struct buf *out)
{
	const struct doc_text *name = NULL;
	const char *what = "", *rest = key;
	size_t i;

	if (index_of(key, STR("routes"), doc->n_routes, &i, &rest)) {
		what = "Route";
		name = &doc->routes[i].rule.name;
	} else if (index_of(key, STR("streams"), doc->n_streams, &i, &rest)) {
		what = "Stream";
		name = &doc->streams[i].name;
	} else if (index_of(key, STR("pools"), doc->n_pools, &i, &rest)) {
		what = "Pool";
		name = &doc->pools[i].name;
	} else if (index_of(key, STR("listeners"), doc->n_listeners, &i, &rest)) {
		what = "Listener";
		name = &doc->listeners[i].name;
	} else if (str_starts(str_of(key), STR("default_route"))) {
		what = "Route";
		name = &doc->default_route.name;
		rest = key + strlen("default_route");
	}
	if (!name || !name->set)
		return key;
	buf_printf(out, "%s '", what);
	buf_add_shown(out, str_of(name->v), L7_NAME_MAX);
	buf_addc(out, '\'');
	return rest;
}

/* "Route 'api' is ...", "Route 'api': timeouts.request: must be ...", "allowed_hosts[0]: ..." */
static void add_message(struct buf *out, const struct err *e, const struct l7_doc *doc)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	const char *rest = add_subject(e->key, doc, &text);

	if (!*e->key && e->at.line)
		buf_printf(&text, "line %u, column %u: ", e->at.line, e->at.column);
	else if (!*rest)
		buf_addc(&text, ' ');
	else
		buf_printf(&text, "%s%s: ", text.n ? ": " : "", rest + (*rest == '.'));
	buf_adds(&text, e->text);
	rj__str(out, "message", (struct str){ text.p, text.n });
}

static void add_error(struct buf *out, const struct err *e, const struct l7_doc *doc)
{
	rj__text(out, "error", e->code ?: "InvalidSyntax");
	add_message(out, e, doc);
}

void router_json_error(const struct errs *errors, const struct l7_doc *doc, bool places,
		       struct buf *out)
{
	bool all = errors->n > 1 || places;

	assert(errors->n);
	buf_addc(out, '{');
	rj__text(out, "status", "error");
	add_error(out, &errors->items[0], doc);
	if (all)
		rj__open(out, "errors", '[');
	for (size_t i = 0; i < errors->n && all; i++) {
		rj__next(out);
		buf_addc(out, '{');
		add_error(out, &errors->items[i], doc);
		rj__uint(out, "line", errors->items[i].at.line);
		rj__uint(out, "column", errors->items[i].at.column);
		buf_addc(out, '}');
	}
	if (all)
		buf_addc(out, ']');
	buf_addc(out, '}');
}

void router_json_warnings(const struct errs *warnings, const struct l7_doc *doc, struct buf *out)
{
	if (!warnings->n)
		return;
	rj__open(out, "warnings", '[');
	for (size_t i = 0; i < warnings->n; i++) {
		rj__next(out);
		buf_addc(out, '{');
		add_message(out, &warnings->items[i], doc);
		rj__uint(out, "line", warnings->items[i].at.line);
		rj__uint(out, "column", warnings->items[i].at.column);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}
