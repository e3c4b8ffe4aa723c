/* SPDX-License-Identifier: Apache-2.0 */
/* The section filters, of rules and of backends. */
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/validate_build.h"

#define ORIGINS_MAX 64
#define METHODS_MAX 9
#define HEADERS_MAX 64

/* ---- headers ---- */

/* Framing and connections are the router's; the host is changed by a rewrite. */
static const char *why_not_edited(struct str name)
{
	static const struct str fixed[] = {
		{ "connection", 10 }, { "content-length", 14 },	  { "keep-alive", 10 },
		{ "te", 2 },	      { "trailer", 7 },		  { "transfer-encoding", 17 },
		{ "upgrade", 7 },     { "proxy-connection", 16 },
	};

	if (str_ieq(name, STR("host")))
		return "is changed by rewrite.hostname";
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (str_ieq(fixed[i], name))
			return "belongs to the connection and cannot be changed";
	return NULL;
}

/* The name of a header to change; empty after a complaint. */
static struct str build_name(struct l7__build *b, const struct rule_spot *spot, const char *word,
			     const struct doc_text *d)
{
	struct str name = l7__token(b, spot, word, d);
	const char *why = name.n ? why_not_edited(name) : NULL;

	if (!why)
		return name;
	rule_fail(&b->sink, spot, word, d->at, "%s %s", rule_quote(&b->sink, d->v), why);
	return STR("");
}

static void refuse_twice(struct l7__build *b, const struct rule_spot *spot, const char *word,
			 const struct doc_text *d)
{
	rule_fail(&b->sink, spot, word, d->at, "%s occurs twice; names of headers have no case",
		  rule_quote(&b->sink, d->v));
}

static const struct field *build_pairs(struct l7__build *b, const struct rule_spot *spot,
				       const char *word, const struct doc_pairs *d)
{
	struct field *list = arena_array_of(b->arena, d->n, struct field);

	if (!l7__few(b, spot, word, d->at, d->n, L7_EDITS_MAX))
		return list;
	for (size_t i = 0; i < d->n; i++) {
		list[i].name = build_name(b, spot, word, &d->items[i].name);
		l7__value(b, spot, word, &d->items[i].value, &list[i].value);
		for (size_t j = 0; j < i; j++)
			if (list[i].name.n && str_ieq(list[i].name, list[j].name))
				refuse_twice(b, spot, word, &d->items[i].name);
	}
	return list;
}

static const struct str *build_removed(struct l7__build *b, const struct rule_spot *spot,
				       const struct doc_words *d)
{
	struct str *list = arena_array_of(b->arena, d->n, struct str);

	if (!l7__few(b, spot, "remove", d->at, d->n, L7_EDITS_MAX))
		return list;
	for (size_t i = 0; i < d->n; i++) {
		list[i] = build_name(b, spot, "remove", &d->items[i]);
		for (size_t j = 0; j < i; j++)
			if (list[i].n && str_ieq(list[i], list[j]))
				refuse_twice(b, spot, "remove", &d->items[i]);
	}
	return list;
}

static void build_edits(struct l7__build *b, const struct rule_spot *filters, const char *word,
			const struct l7_doc_edits *d, struct l7_header_edits *e)
{
	const struct rule_spot spot = { .in = filters, .name = word, .code = "InvalidHeader" };

	*e = (struct l7_header_edits){
		.set = build_pairs(b, &spot, "set", &d->edits.set),
		.n_set = d->edits.set.n,
		.add = build_pairs(b, &spot, "add", &d->edits.add),
		.n_add = d->edits.add.n,
		.remove = build_removed(b, &spot, &d->edits.remove),
		.n_remove = d->edits.remove.n,
	};
}

/* ---- redirect, rewrite ---- */

/* A prefix that is replaced by nothing is replaced by "/". */
static void build_path_edit(struct l7__build *b, const struct rule_spot *in,
			    const struct l7_doc_path *d, struct l7_rewrite *w)
{
	static const char *const list[] = { "full", "prefix" };
	static const struct rule_words words = { "type", list, ARRAY_SIZE(list) };
	const struct rule_spot spot = { .in = in, .name = "path" };

	if (!d->set)
		return;
	if (!d->type.set)
		rule_fail(&b->sink, &spot, "type", d->at, "is required: full or prefix");
	w->edit = l7__choose(b, &spot, &words, &d->type, 0) ? L7_PATH_PREFIX : L7_PATH_REPLACED;
	if (!d->value.set)
		rule_fail(&b->sink, &spot, "value", d->at, "is required");
	else if (w->edit == L7_PATH_PREFIX && !*d->value.v)
		w->path = STR("/");
	else
		w->path = l7__path(b, &spot, "value", &d->value);
}

static void build_redirect(struct l7__build *b, const struct rule_spot *filters,
			   const struct l7_doc_redirect *d, struct l7_filters *ret)
{
	static const char *const list[] = { "http", "https" };
	static const struct rule_words words = { "scheme", list, ARRAY_SIZE(list) };
	static const struct rule_range port = { "port", 1, UINT16_MAX, 0 };
	const struct rule_spot spot = { .in = filters,
					.name = "redirect",
					.code = "InvalidRedirect" };
	struct l7_redirect *r = arena_new_of(b->arena, struct l7_redirect);
	int64_t status = d->status.set ? d->status.v : 302;

	if (d->scheme.set)
		r->scheme = str_of(list[l7__choose(b, &spot, &words, &d->scheme, 0)]);
	if (d->host.set)
		r->to.host = l7__host(b, &spot, "hostname", &d->host, false);
	r->port = (uint16_t)rule_number(&b->sink, &spot, &port, &d->port);
	build_path_edit(b, &spot, &d->path, &r->to);
	if ((status < 301 || status > 303) && status != 307 && status != 308)
		rule_fail(&b->sink, &spot, "status", d->status.at,
			  "must be 301, 302, 303, 307 or 308, not %lld", (long long)status);
	r->status = (unsigned)status;
	if (!d->scheme.set && !d->host.set && !d->port.set && !d->path.set)
		rule_doubt(&b->sink, &spot, NULL, d->at, "leads back to where the request came to");
	ret->redirect = r;
}

static void build_rewrite(struct l7__build *b, const struct rule_spot *filters,
			  const struct l7_doc_rewrite *d, struct l7_filters *ret)
{
	const struct rule_spot spot = { .in = filters,
					.name = "rewrite",
					.code = "InvalidRewrite" };
	struct l7_rewrite *w = arena_new_of(b->arena, struct l7_rewrite);

	if (d->host.set)
		w->host = l7__host(b, &spot, "hostname", &d->host, false);
	build_path_edit(b, &spot, &d->path, w);
	if (!d->host.set && !d->path.set)
		rule_doubt(&b->sink, &spot, NULL, d->at, "changes nothing");
	ret->rewrite = w;
}

/* ---- mirrors ---- */

void l7__share(struct l7__build *b, const struct rule_spot *spot, struct l7__share d,
	       uint32_t *ret_numerator, uint32_t *ret_denominator)
{
	static const struct rule_range percent = { "percent", 0, 100, 100 },
				       numerator = { "numerator", 0, INT32_MAX, 1 },
				       denominator = { "denominator", 1, INT32_MAX, 100 };
	const struct rule_spot fraction = { .in = spot, .name = "fraction" };
	const struct l7_doc_fraction *f = d.fraction;
	int64_t part = rule_number(&b->sink, spot, &percent, d.percent), of = 100;

	if (f->set) {
		part = rule_number(&b->sink, &fraction, &numerator, &f->numerator);
		of = rule_number(&b->sink, &fraction, &denominator, &f->denominator);
	}
	if (f->set && d.percent->set)
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "fraction", f->at,
			  "must not be used together with percent");
	if (f->set && !f->numerator.set)
		rule_fail(&b->sink, &fraction, "numerator", f->at, "is required");
	if (part > of)
		rule_fail(&b->sink, &fraction, "numerator", f->numerator.at,
			  "must not be larger than the denominator, which is %lld", (long long)of);
	*ret_numerator = part == of ? 1 : (uint32_t)part;
	*ret_denominator = part == of ? 1 : (uint32_t)of;
}

static void build_mirrors(struct l7__build *b, const struct rule_spot *filters,
			  const struct l7_doc_filters *d, struct l7_filters *ret)
{
	const struct rule_spot in = { .in = filters, .name = "mirrors", .code = "InvalidMirror" };
	struct l7_mirror *list = arena_array_of(b->arena, d->n_mirrors, struct l7_mirror);

	if (!l7__few(b, &in, NULL, d->at, d->n_mirrors, L7_MIRRORS_MAX))
		return;
	for (size_t i = 0; i < d->n_mirrors; i++) {
		const struct l7_doc_mirror *m = &d->mirrors[i];
		const struct rule_spot spot = { .in = &in, .index = i };

		if (m->pool.set || m->pool_idx.set)
			list[i].pool = l7__pool(b, &spot, &m->pool, &m->pool_idx);
		else
			rule_fail(&b->sink, L7__AS(&spot, "MissingPool"), "pool", m->at,
				  "is required");
		l7__share(b, &spot, (struct l7__share){ &m->percent, &m->fraction },
			  &list[i].numerator, &list[i].denominator);
	}
	ret->mirrors = list;
	ret->n_mirrors = d->n_mirrors;
}

/* ---- CORS ---- */

typedef struct str (*check_fn)(struct l7__build *b, const struct rule_spot *spot, const char *word,
			       const struct doc_text *d);

/* "*" stands for all, so it stands alone. */
static const struct str *build_list(struct l7__build *b, const struct rule_spot *cors,
				    const char *word, const struct doc_words *d, size_t max,
				    check_fn check)
{
	const struct rule_spot spot = { .in = cors, .name = word };
	struct str *list = arena_array_of(b->arena, d->n, struct str);

	if (!l7__few(b, &spot, NULL, d->at, d->n, max))
		return list;
	for (size_t i = 0; i < d->n; i++) {
		const struct doc_text *item = &d->items[i];

		list[i] = check(b, &(struct rule_spot){ .in = &spot, .index = i }, NULL, item);
		if (strcmp(item->v, "*") == 0 && d->n > 1)
			rule_fail(&b->sink, &spot, NULL, item->at, "must have \"*\" alone");
	}
	return list;
}

static void build_cors(struct l7__build *b, const struct rule_spot *filters,
		       const struct l7_doc_cors *d, struct l7_filters *ret)
{
	static const struct rule_range max_age = { "max_age", 0, UINT32_MAX * NSEC_PER_SEC,
						   5 * NSEC_PER_SEC };
	const struct rule_spot spot = { .in = filters, .name = "cors", .code = "InvalidCors" };
	struct l7_cors *c = arena_new_of(b->arena, struct l7_cors);
	int64_t age = rule_duration(&b->sink, &spot, &max_age, &d->max_age);

	c->origins = build_list(b, &spot, "allow_origins", &d->origins, ORIGINS_MAX, l7__origin);
	c->n_origins = d->origins.n;
	c->methods = build_list(b, &spot, "allow_methods", &d->methods, METHODS_MAX, l7__token);
	c->n_methods = d->methods.n;
	c->headers = build_list(b, &spot, "allow_headers", &d->headers, HEADERS_MAX, l7__token);
	c->n_headers = d->headers.n;
	c->expose = build_list(b, &spot, "expose_headers", &d->expose, HEADERS_MAX, l7__token);
	c->n_expose = d->expose.n;
	c->credentials = rule_flag(&d->credentials, false);
	if (!d->origins.n)
		rule_fail(&b->sink, &spot, "allow_origins", d->at, "is required");
	if (age % NSEC_PER_SEC)
		rule_fail(&b->sink, &spot, "max_age", d->max_age.at,
			  "must be a whole number of seconds");
	c->max_age = (uint32_t)(age / NSEC_PER_SEC);
	ret->cors = c;
}

/* ---- all of them ---- */

void l7__build_filters(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_filters *d, struct l7_filters *ret)
{
	const struct rule_spot in = { .in = spot, .name = "filters", .code = "InvalidFilter" };

	if (!d->set)
		return;
	build_edits(b, &in, "request_headers", &d->request, &ret->request);
	build_edits(b, &in, "response_headers", &d->response, &ret->response);
	if (d->redirect.set)
		build_redirect(b, &in, &d->redirect, ret);
	if (d->rewrite.set)
		build_rewrite(b, &in, &d->rewrite, ret);
	if (d->redirect.set && d->rewrite.set)
		rule_fail(&b->sink, L7__AS(&in, "ConflictingKeys"), "rewrite", d->rewrite.at,
			  "must not be used together with redirect");
	build_mirrors(b, &in, d, ret);
	if (d->cors.set)
		build_cors(b, &in, &d->cors, ret);
}
