/* SPDX-License-Identifier: Apache-2.0 */
/* One rule as JSON. */
#include "base/cleanup.h"
#include "wire/router_json_private.h"

static const char *const kinds[] = {
	[L7_EXACT] = "exact", [L7_REGEX] = "regex", [L7_PREFIX] = "prefix", [L7_METHOD] = "exact"
};

/* ---- matches ---- */

static void add_conditions(struct buf *out, const char *key, const struct l7_condition *list,
			   size_t n)
{
	if (!n)
		return;
	rj__open(out, key, '[');
	for (size_t i = 0; i < n; i++) {
		rj__next(out);
		buf_addc(out, '{');
		rj__str(out, "name", list[i].name);
		rj__text(out, "type", kinds[list[i].kind]);
		rj__str(out, "value", list[i].value);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_path(struct buf *out, const struct l7_match *m)
{
	rj__open(out, "path", '{');
	rj__text(out, "type", kinds[m->kind]);
	rj__str(out, "value", m->path);
	buf_addc(out, '}');
}

static void add_grpc(struct buf *out, const struct l7_match *m)
{
	rj__open(out, "grpc", '{');
	rj__text(out, "type", m->kind == L7_REGEX ? "regex" : "exact");
	if (m->grpc->service.n)
		rj__str(out, "service", m->grpc->service);
	if (m->grpc->method.n)
		rj__str(out, "method", m->grpc->method);
	buf_addc(out, '}');
}

static void add_match(struct buf *out, const struct l7_match *m)
{
	rj__next(out);
	buf_addc(out, '{');
	if (m->grpc)
		add_grpc(out, m);
	else
		add_path(out, m);
	if (m->method.n)
		rj__str(out, "method", m->method);
	add_conditions(out, "headers", m->headers, m->n_headers);
	add_conditions(out, "queries", m->queries, m->n_queries);
	buf_addc(out, '}');
}

/* Whether path_prefix or path_exact says all of it. */
static bool is_short_match(const struct l7_rule *r)
{
	const struct l7_match *m = &r->matches[0];

	return r->n_matches == 1 && m->kind != L7_REGEX && !m->grpc && !m->method.n &&
	       !m->n_headers && !m->n_queries;
}

static void add_matches(struct buf *out, const struct l7_rule *r)
{
	if (is_short_match(r)) {
		rj__str(out, r->matches[0].kind == L7_EXACT ? "path_exact" : "path_prefix",
			r->matches[0].path);
		return;
	}
	rj__open(out, "matches", '[');
	for (size_t i = 0; i < r->n_matches; i++)
		add_match(out, &r->matches[i]);
	buf_addc(out, ']');
}

/* ---- filters ---- */

void rj__list(struct buf *out, const char *key, const struct str *list, size_t n)
{
	if (!n)
		return;
	rj__open(out, key, '[');
	for (size_t i = 0; i < n; i++) {
		rj__next(out);
		json_write_string(out, list[i].p, list[i].n);
	}
	buf_addc(out, ']');
}

static void add_fields(struct buf *out, const char *key, const struct field *list, size_t n)
{
	if (!n)
		return;
	rj__open(out, key, '{');
	for (size_t i = 0; i < n; i++) {
		rj__next(out);
		json_write_string(out, list[i].name.p, list[i].name.n);
		buf_addc(out, ':');
		json_write_string(out, list[i].value.p, list[i].value.n);
	}
	buf_addc(out, '}');
}

static void add_edits(struct buf *out, const char *key, const struct l7_header_edits *e)
{
	if (!e->n_set && !e->n_add && !e->n_remove)
		return;
	rj__open(out, key, '{');
	add_fields(out, "set", e->set, e->n_set);
	add_fields(out, "add", e->add, e->n_add);
	rj__list(out, "remove", e->remove, e->n_remove);
	buf_addc(out, '}');
}

/* The members of a rewrite, which a redirect has, too. */
static void add_edit(struct buf *out, const struct l7_rewrite *w)
{
	if (w->host.n)
		rj__str(out, "hostname", w->host);
	if (!w->edit)
		return;
	rj__open(out, "path", '{');
	rj__text(out, "type", w->edit == L7_PATH_PREFIX ? "prefix" : "full");
	rj__str(out, "value", w->path);
	buf_addc(out, '}');
}

static void add_redirect(struct buf *out, const struct l7_redirect *r)
{
	rj__open(out, "redirect", '{');
	if (r->scheme.n)
		rj__str(out, "scheme", r->scheme);
	add_edit(out, &r->to);
	if (r->port)
		rj__uint(out, "port", r->port);
	rj__uint(out, "status", r->status);
	buf_addc(out, '}');
}

static void add_mirrors(const struct l7_config *c, struct buf *out, const struct l7_mirror *list,
			size_t n)
{
	if (!n)
		return;
	rj__open(out, "mirrors", '[');
	for (size_t i = 0; i < n; i++) {
		const struct l7_mirror *m = &list[i];

		rj__next(out);
		buf_addc(out, '{');
		rj__text(out, "pool", c->pools[m->pool].name);
		rj__share(out, m->numerator, m->denominator);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_cors(struct buf *out, const struct l7_cors *c)
{
	rj__open(out, "cors", '{');
	rj__list(out, "allow_origins", c->origins, c->n_origins);
	rj__list(out, "allow_methods", c->methods, c->n_methods);
	rj__list(out, "allow_headers", c->headers, c->n_headers);
	rj__list(out, "expose_headers", c->expose, c->n_expose);
	rj__bool(out, "allow_credentials", c->credentials);
	rj__duration(out, "max_age", c->max_age * NSEC_PER_SEC);
	buf_addc(out, '}');
}

static void add_filters(const struct l7_config *c, struct buf *out, const struct l7_filters *f)
{
	size_t start = out->n, empty;

	rj__open(out, "filters", '{');
	empty = out->n;
	add_edits(out, "request_headers", &f->request);
	add_edits(out, "response_headers", &f->response);
	if (f->redirect)
		add_redirect(out, f->redirect);
	if (f->rewrite) {
		rj__open(out, "rewrite", '{');
		add_edit(out, f->rewrite);
		buf_addc(out, '}');
	}
	add_mirrors(c, out, f->mirrors, f->n_mirrors);
	if (f->cors)
		add_cors(out, f->cors);
	if (out->n == empty)
		out->n = start;
	else
		buf_addc(out, '}');
}

static bool has_filters(const struct l7_filters *f)
{
	return f->request.n_set || f->request.n_add || f->request.n_remove || f->response.n_set ||
	       f->response.n_add || f->response.n_remove || f->redirect || f->rewrite ||
	       f->n_mirrors || f->cors;
}

/* ---- backends ---- */

void rj__backends(const struct l7_config *c, struct buf *out, const struct l7_backend *b, size_t n,
		  enum rj__form form)
{
	if (n == 1 && b->pool != L7_NO_POOL && b->weight == 1 && !has_filters(&b->filters)) {
		if (form == RJ__NAMED)
			rj__text(out, "pool", c->pools[b->pool].name);
		else
			rj__uint(out, "pool_idx", b->pool);
		return;
	}
	rj__open(out, "backends", '[');
	for (size_t i = 0; i < n; i++) {
		rj__next(out);
		buf_addc(out, '{');
		if (b[i].pool == L7_NO_POOL)
			rj__bool(out, "invalid", true);
		else
			rj__text(out, "pool", c->pools[b[i].pool].name);
		rj__uint(out, "weight", b[i].weight);
		add_filters(c, out, &b[i].filters);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

/* ---- timeouts, retry, persistence ---- */

static void add_tries(struct buf *out, const struct l7_rule *r)
{
	if (r->request_timeout || r->try_timeout) {
		rj__open(out, "timeouts", '{');
		rj__duration(out, "request", r->request_timeout);
		rj__duration(out, "backend", r->try_timeout);
		buf_addc(out, '}');
	}
	if (r->retry.attempts == L7_RETRY_ATTEMPTS && r->retry.backoff == L7_RETRY_BACKOFF &&
	    !r->retry.n_codes)
		return;
	rj__open(out, "retry", '{');
	rj__uint(out, "attempts", r->retry.attempts);
	rj__duration(out, "backoff", r->retry.backoff);
	rj__open(out, "codes", '[');
	for (size_t i = 0; i < r->retry.n_codes; i++) {
		rj__next(out);
		buf_addu(out, r->retry.codes[i]);
	}
	buf_add_lit(out, "]}");
}

static void add_persistence(struct buf *out, const struct l7_persistence *p)
{
	if (!p->enabled)
		return;
	rj__open(out, "persistence", '{');
	rj__text(out, "type", p->key == L7_KEY_HEADER ? "header" : "cookie");
	rj__text(out, "name", p->name);
	if (p->path)
		rj__text(out, "path", p->path);
	if (p->lifetime)
		rj__duration(out, "lifetime", p->lifetime);
	buf_addc(out, '}');
}

/* ---- rules ---- */

static bool strips_prefix(const struct l7_rule *r)
{
	const struct l7_rewrite *w = r->filters.rewrite;

	return w && w->edit == L7_PATH_PREFIX && !w->host.n && str_eq(w->path, STR("/"));
}

void rj__rule(const struct l7_config *c, const struct l7_rule *r, enum rj__form form,
	      struct buf *out)
{
	struct l7_filters filters = r->filters;
	bool strip = strips_prefix(r);

	add_matches(out, r);
	if (r->n_backends || !r->filters.redirect)
		rj__backends(c, out, r->backends, r->n_backends, form);
	if (strip || (form != RJ__FALLBACK && r->n_backends && r->matches[0].kind == L7_PREFIX &&
		      is_short_match(r)))
		rj__bool(out, "strip_prefix", strip);
	if (strip)
		filters.rewrite = NULL;
	if (r->grpc_web)
		rj__bool(out, "grpc_web", true);
	add_filters(c, out, &filters);
	add_tries(out, r);
	add_persistence(out, &r->persistence);
}
