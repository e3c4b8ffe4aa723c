/* SPDX-License-Identifier: Apache-2.0 */
/* The sections routes and default_route: matches, backends, and how requests are tried. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/validate_build.h"

#define VALUE_BYTES 4096
#define LONGEST (99999 * (int64_t)3600 * NSEC_PER_SEC) /* five digits of hours */
#define ATTEMPTS_MAX 1000

static const struct rule_spot routes_spot = { .name = "routes", .code = "InvalidRoute" };

/* ---- matches ---- */

static void build_condition(struct l7__build *b, const struct rule_spot *spot,
			    const struct l7_doc_condition *d, struct l7_condition *c)
{
	static const char *const list[] = { "exact", "regex" };
	static const struct rule_words words = { "type", list, ARRAY_SIZE(list) };

	c->kind = l7__choose(b, spot, &words, &d->type, 0) ? L7_REGEX : L7_EXACT;
	if (!d->value.set) {
		rule_fail(&b->sink, spot, "value", d->at, "is required");
		return;
	}
	if (c->kind == L7_REGEX)
		c->regex = l7__regex(b, spot, "value", &d->value, VALUE_BYTES);
	else if (strlen(d->value.v) > VALUE_BYTES)
		rule_fail(&b->sink, spot, "value", d->value.at, "is longer than %d bytes",
			  VALUE_BYTES);
	c->value = l7__keep(b, d->value.v);
}

/* Parameters of the query have any name; that of a header is a token. */
static struct str condition_name(struct l7__build *b, const struct rule_spot *spot,
				 const struct l7_doc_condition *d, bool header)
{
	if (!d->name.set || !*d->name.v)
		rule_fail(&b->sink, spot, "name", d->at, "is required");
	else if (header)
		return l7__token(b, spot, "name", &d->name);
	else
		return l7__keep(b, d->name.v);
	return STR("");
}

/* Of two conditions on one name the first counts. */
static bool is_first(const struct l7_condition *list, size_t n, struct str name, bool header)
{
	for (size_t i = 0; i < n; i++)
		if (header ? str_ieq(list[i].name, name) : str_eq(list[i].name, name))
			return false;
	return true;
}

static const struct l7_condition *build_conditions(struct l7__build *b,
						   const struct rule_spot *spot,
						   const struct l7_doc_condition *d, size_t n,
						   size_t *ret_n)
{
	struct l7_condition *list = arena_array_of(b->arena, n, struct l7_condition);
	bool header = strcmp(spot->name, "headers") == 0;

	*ret_n = 0;
	if (n && !l7__few(b, spot, NULL, d->at, n, L7_CONDITIONS_MAX))
		return list;
	for (size_t i = 0; i < n; i++) {
		const struct rule_spot own = { .in = spot, .index = i };
		struct l7_condition *c = &list[*ret_n];

		c->name = condition_name(b, &own, &d[i], header);
		build_condition(b, &own, &d[i], c);
		if (is_first(list, *ret_n, c->name, header))
			(*ret_n)++;
		else
			rule_doubt(&b->sink, &own, "name", d[i].at,
				   "occurs twice; only the first condition counts");
	}
	return list;
}

static void build_match_path(struct l7__build *b, const struct rule_spot *match,
			     const struct l7_doc_path *d, struct l7_match *m)
{
	static const char *const list[] = {
		[L7_EXACT] = "exact", [L7_REGEX] = "regex", [L7_PREFIX] = "prefix"
	};
	static const struct rule_words words = { "type", list, ARRAY_SIZE(list) };
	const struct rule_spot spot = { .in = match, .name = "path" };

	m->kind = (enum l7_kind)l7__choose(b, &spot, &words, &d->type, L7_PREFIX);
	if (!d->value.set && d->type.set && m->kind != L7_PREFIX)
		rule_fail(&b->sink, &spot, "value", d->at, "is required");
	else if (!d->value.set)
		m->path = STR("/");
	else if (m->kind != L7_REGEX)
		m->path = l7__path(b, &spot, "value", &d->value);
	else {
		m->regex = l7__regex(b, &spot, "value", &d->value, L7_PATH_MAX);
		m->path = l7__keep(b, d->value.v);
	}
}

/* ---- gRPC ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Names of protobuf with dots between them, if `dots`; the first may follow a dot, too. */
static bool is_grpc_name(const char *text, bool dots)
{
	const char *p = dots && *text == '.' ? text + 1 : text;

	while (is_letter(*p)) {
		while (is_letter(*p) || (*p >= '0' && *p <= '9'))
			p++;
		if (!dots || *p != '.')
			return !*p;
		p++;
	}
	return false;
}

/* One part of a call: a name, or a regular expression. */
static struct str build_call_part(struct l7__build *b, const struct rule_spot *spot,
				  const char *word, const struct doc_text *d,
				  const struct l7_regex **ret_regex)
{
	bool dots = strcmp(word, "service") == 0;

	if (!d->set || !*d->v)
		return STR("");
	if (ret_regex)
		*ret_regex = l7__regex(b, spot, word, d, L7_GRPC_NAME_MAX);
	else if (strlen(d->v) > L7_GRPC_NAME_MAX || !is_grpc_name(d->v, dots))
		rule_fail(&b->sink, spot, word, d->at,
			  "%s must be the name of a %s of at most %d bytes",
			  rule_quote(&b->sink, d->v), word, L7_GRPC_NAME_MAX);
	return l7__keep(b, d->v);
}

/* The path of calls: "/service/method". */
static struct str call_path(struct l7__build *b, const struct l7_match *m)
{
	const struct l7_grpc_match *g = m->grpc;
	const char *any = m->kind == L7_REGEX ? "[^/]+" : "";
	char *path;

	if (m->kind == L7_PREFIX || m->kind == L7_METHOD)
		path = arena_printf(b->arena, "/%s%s", g->service.p, g->method.p);
	else
		path = arena_printf(b->arena, "/%s/%s", g->service.n ? g->service.p : any,
				    g->method.n ? g->method.p : any);
	return str_of(path);
}

static void build_match_grpc(struct l7__build *b, const struct rule_spot *match,
			     const struct l7_doc_grpc *d, struct l7_match *m)
{
	static const char *const list[] = { "exact", "regex" };
	static const struct rule_words words = { "type", list, ARRAY_SIZE(list) };
	const struct rule_spot spot = { .in = match, .name = "grpc" };
	struct l7_grpc_match *g = arena_new_of(b->arena, struct l7_grpc_match);
	bool regex = l7__choose(b, &spot, &words, &d->type, 0);

	g->service =
		build_call_part(b, &spot, "service", &d->service, regex ? &g->service_regex : NULL);
	g->method =
		build_call_part(b, &spot, "method", &d->method, regex ? &g->method_regex : NULL);
	m->grpc = g;
	if (!g->method.n && (!regex || !g->service.n))
		m->kind = L7_PREFIX;
	else if (regex)
		m->kind = L7_REGEX;
	else
		m->kind = g->service.n ? L7_EXACT : L7_METHOD;
	m->path = call_path(b, m);
}

static void build_method(struct l7__build *b, const struct rule_spot *spot,
			 const struct doc_text *d, struct l7_match *m)
{
	if (!d->set)
		return;
	m->method = l7__token(b, spot, "method", d);
	for (size_t i = 0; i < m->method.n; i++)
		if (m->method.p[i] >= 'a' && m->method.p[i] <= 'z') {
			rule_fail(&b->sink, spot, "method", d->at,
				  "%s must be in capital letters, as methods have case",
				  rule_quote(&b->sink, d->v));
			return;
		}
}

static void build_match(struct l7__build *b, const struct rule_spot *spot,
			const struct l7_doc_match *d, struct l7_match *m)
{
	const struct rule_spot headers = { .in = spot, .name = "headers" };
	const struct rule_spot queries = { .in = spot, .name = "queries" };

	if (d->grpc.set && (d->path.set || d->method.set || d->n_queries))
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "grpc", d->grpc.at,
			  "must not be used together with path, method or queries");
	if (d->grpc.set)
		build_match_grpc(b, spot, &d->grpc, m);
	else
		build_match_path(b, spot, &d->path, m);
	build_method(b, spot, &d->method, m);
	m->headers = build_conditions(b, &headers, d->headers, d->n_headers, &m->n_headers);
	m->queries = build_conditions(b, &queries, d->queries, d->n_queries, &m->n_queries);
}

/* path_prefix or path_exact; without them, every path. */
static void build_short_match(struct l7__build *b, const struct rule_spot *spot,
			      const struct l7_doc_rule *d, struct l7_match *m)
{
	bool exact = d->path_exact.set;

	m->kind = exact ? L7_EXACT : L7_PREFIX;
	if (exact)
		m->path = l7__path(b, spot, "path_exact", &d->path_exact);
	else if (d->path_prefix.set)
		m->path = l7__path(b, spot, "path_prefix", &d->path_prefix);
	else
		m->path = STR("/");
	if (exact && d->path_prefix.set)
		rule_doubt(&b->sink, spot, "path_prefix", d->path_prefix.at,
			   "has no effect with path_exact");
}

static void build_matches(struct l7__build *b, const struct rule_spot *spot,
			  const struct l7_doc_rule *d, struct l7_rule *r)
{
	const struct rule_spot in = { .in = spot, .name = "matches", .code = "InvalidMatch" };
	size_t n = d->n_matches ?: 1;
	struct l7_match *list = arena_array_of(b->arena, n, struct l7_match);

	r->matches = list;
	if (d->matches && (d->path_prefix.set || d->path_exact.set)) {
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "matches", d->at,
			  "must not be used together with path_prefix or path_exact");
		return;
	}
	if (!l7__few(b, &in, NULL, d->at, n, L7_MATCHES_MAX))
		return;
	if (!d->n_matches)
		build_short_match(b, spot, d, &list[0]);
	for (size_t i = 0; i < d->n_matches; i++)
		build_match(b, &(struct rule_spot){ .in = &in, .index = i }, &d->matches[i],
			    &list[i]);
	r->n_matches = n;
}

/* ---- backends ---- */

void l7__build_backend(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_backend *d, struct l7_backend *ret)
{
	static const struct rule_range weight = { "weight", 0, L7_WEIGHT_MAX, 1 };
	bool named = d->pool.set || d->pool_idx.set;

	ret->pool = L7_NO_POOL;
	ret->weight = (uint32_t)rule_number(&b->sink, spot, &weight, &d->weight);
	if (rule_flag(&d->invalid, false) && named)
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "invalid", d->invalid.at,
			  "must not be used together with a pool");
	else if (named)
		ret->pool = l7__pool(b, spot, &d->pool, &d->pool_idx);
	else if (!rule_flag(&d->invalid, false))
		rule_fail(&b->sink, L7__AS(spot, "MissingPool"), "pool", d->at, "is required");
	l7__build_filters(b, spot, &d->filters, &ret->filters);
}

static void build_backend_list(struct l7__build *b, const struct rule_spot *spot,
			       const struct l7_doc_rule *d, struct l7_rule *r)
{
	const struct rule_spot in = { .in = spot, .name = "backends", .code = "InvalidBackend" };
	struct l7_backend *list = arena_array_of(b->arena, d->n_backends, struct l7_backend);
	uint64_t sum = 0;

	if (!l7__few(b, &in, NULL, d->at, d->n_backends, L7_BACKENDS_MAX))
		return;
	for (size_t i = 0; i < d->n_backends; i++) {
		l7__build_backend(b, &(struct rule_spot){ .in = &in, .index = i }, &d->backends[i],
				  &list[i]);
		sum += list[i].weight;
	}
	if (!sum && !r->filters.redirect)
		rule_doubt(&b->sink, &in, NULL, d->at,
			   "has no weight, so every request is answered with 500");
	r->backends = list;
	r->n_backends = d->n_backends;
}

/* One of: backends; pool or pool_idx, the short form; a redirect. */
static void build_backends(struct l7__build *b, const struct rule_spot *spot,
			   const struct l7_doc_rule *d, struct l7_rule *r)
{
	bool named = d->pool.set || d->pool_idx.set;
	struct l7_backend *only;

	if (d->backends && named) {
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "backends", d->at,
			  "must not be used together with pool or pool_idx");
		return;
	}
	if (r->filters.redirect && (named || d->n_backends))
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), named ? "pool" : "backends",
			  d->at, "must not be used together with a redirect");
	else if (!r->filters.redirect && !named && !d->backends)
		rule_fail(&b->sink, L7__AS(spot, "MissingPool"), "pool", d->at,
			  "is required, or pool_idx, backends or a redirect");
	if (d->backends)
		build_backend_list(b, spot, d, r);
	if (!named)
		return;
	only = arena_new_of(b->arena, struct l7_backend);
	only->pool = l7__pool(b, spot, &d->pool, &d->pool_idx);
	only->weight = 1;
	r->backends = only;
	r->n_backends = 1;
}

/* ---- strip_prefix, and prefixes that are replaced ---- */

static void build_strip(struct l7__build *b, const struct rule_spot *spot,
			const struct l7_doc_rule *d, struct l7_rule *r)
{
	struct l7_rewrite *w;

	if (!rule_flag(&d->strip_prefix, false))
		return;
	if (d->path_exact.set) {
		rule_doubt(&b->sink, spot, "strip_prefix", d->strip_prefix.at,
			   "has no effect with path_exact");
		return;
	}
	if (r->filters.redirect || (r->filters.rewrite && r->filters.rewrite->edit)) {
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "strip_prefix",
			  d->strip_prefix.at,
			  "must not be used together with a redirect or the rewrite of a path");
		return;
	}
	w = arena_new_of(b->arena, struct l7_rewrite);
	if (r->filters.rewrite)
		*w = *r->filters.rewrite;
	w->edit = L7_PATH_PREFIX;
	w->path = STR("/");
	r->filters.rewrite = w;
}

static bool replaces_prefix(const struct l7_filters *f)
{
	return (f->redirect && f->redirect->to.edit == L7_PATH_PREFIX) ||
	       (f->rewrite && f->rewrite->edit == L7_PATH_PREFIX);
}

/* Only a match by prefix says what is replaced. */
static void check_prefixes(struct l7__build *b, const struct rule_spot *spot,
			   const struct l7_doc_rule *d, const struct l7_rule *r)
{
	bool replaced = replaces_prefix(&r->filters);

	for (size_t i = 0; i < r->n_backends; i++)
		replaced |= replaces_prefix(&r->backends[i].filters);
	for (size_t i = 0; i < r->n_matches && replaced; i++)
		if (r->matches[i].kind != L7_PREFIX || r->matches[i].grpc) {
			rule_fail(&b->sink, L7__AS(spot, "InvalidMatch"),
				  d->matches ? "matches" : NULL, d->at,
				  "must match by prefix only, because a filter replaces the "
				  "prefix");
			return;
		}
}

/* ---- timeouts, retry, persistence ---- */

static void build_timeouts(struct l7__build *b, const struct rule_spot *rule,
			   const struct l7_doc_timeouts *d, struct l7_rule *r)
{
	static const struct rule_range request = { "request", 0, LONGEST, 0 },
				       backend = { "backend", 0, LONGEST, 0 };
	const struct rule_spot spot = { .in = rule, .name = "timeouts", .code = "InvalidTimeout" };

	r->request_timeout = rule_duration(&b->sink, &spot, &request, &d->request);
	r->try_timeout = rule_duration(&b->sink, &spot, &backend, &d->backend);
	if (r->request_timeout && r->try_timeout > r->request_timeout)
		rule_fail(&b->sink, &spot, "backend", d->backend.at,
			  "must not be longer than request");
}

static int by_code(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Sorted, each once. */
static void build_codes(struct l7__build *b, const struct rule_spot *spot,
			const struct doc_words *d, struct l7_retry *r)
{
	uint16_t *codes = arena_array_of(b->arena, d->n, uint16_t);
	size_t n = 0, kept = 0;
	uint64_t code;

	for (size_t i = 0; i < d->n; i++)
		if (str_to_u64(str_of(d->items[i].v), 599, &code) == 0 && code >= 400)
			codes[n++] = (uint16_t)code;
		else
			rule_fail(&b->sink, spot, "codes", d->items[i].at,
				  "%s must be a status from 400 to 599",
				  rule_quote(&b->sink, d->items[i].v));
	if (n)
		qsort(codes, n, sizeof(*codes), by_code);
	for (size_t i = 0; i < n; i++)
		if (!kept || codes[kept - 1] != codes[i])
			codes[kept++] = codes[i];
	r->codes = codes;
	r->n_codes = kept;
}

static void build_retry(struct l7__build *b, const struct rule_spot *rule,
			const struct l7_doc_retry *d, struct l7_retry *r)
{
	static const struct rule_range attempts = { "attempts", 0, ATTEMPTS_MAX,
						    L7_RETRY_ATTEMPTS },
				       backoff = { "backoff", 0, LONGEST, L7_RETRY_BACKOFF };
	const struct rule_spot spot = { .in = rule, .name = "retry", .code = "InvalidRetry" };

	r->attempts = (unsigned)rule_number(&b->sink, &spot, &attempts, &d->attempts);
	r->backoff = rule_duration(&b->sink, &spot, &backoff, &d->backoff);
	build_codes(b, &spot, &d->codes, r);
}

static void build_persistence(struct l7__build *b, const struct rule_spot *rule,
			      const struct l7_doc_persistence *d, struct l7_persistence *p)
{
	static const char *const list[] = { "cookie", "header" };
	static const struct rule_words words = { "type", list, ARRAY_SIZE(list) };
	static const struct rule_range lifetime = { "lifetime", 0, LONGEST, 0 };
	const struct rule_spot spot = { .in = rule,
					.name = "persistence",
					.code = "InvalidPersistence" };
	bool header = l7__choose(b, &spot, &words, &d->type, 0);

	if (!d->set)
		return;
	*p = (struct l7_persistence){ .enabled = true,
				      .key = header ? L7_KEY_HEADER : L7_KEY_COOKIE,
				      .name = "maglev",
				      .path = header ? NULL : "/" };
	if (d->name.set)
		p->name = l7__token(b, &spot, "name", &d->name).p;
	else if (header)
		rule_fail(&b->sink, &spot, "name", d->at, "is required with type: header");
	if (header && (d->path.set || d->lifetime.set))
		rule_fail(&b->sink, &spot, d->path.set ? "path" : "lifetime", d->at,
			  "needs type: cookie");
	else if (d->path.set)
		p->path = l7__path(b, &spot, "path", &d->path).p;
	if (p->path && strchr(p->path, ';'))
		rule_fail(&b->sink, &spot, "path", d->path.at,
			  "must not contain ';', which ends it in a cookie");
	p->lifetime = rule_duration(&b->sink, &spot, &lifetime, &d->lifetime);
	if (p->lifetime % NSEC_PER_SEC)
		rule_fail(&b->sink, &spot, "lifetime", d->lifetime.at,
			  "must be a whole number of seconds");
}

/* ---- rules ---- */

/* All of a rule but its name. */
static void build_rule(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_rule *d, struct l7_rule *ret)
{
	build_matches(b, spot, d, ret);
	l7__build_filters(b, spot, &d->filters, &ret->filters);
	build_strip(b, spot, d, ret);
	build_backends(b, spot, d, ret);
	check_prefixes(b, spot, d, ret);
	build_timeouts(b, spot, &d->timeouts, ret);
	build_retry(b, spot, &d->retry, &ret->retry);
	build_persistence(b, spot, &d->persistence, &ret->persistence);
	ret->grpc_web = rule_flag(&d->grpc_web, false);
}

/* ---- routes ---- */

/* The first key of a rule that a route has beside its rules; NULL if there is none. */
static const char *own_key(const struct l7_doc_rule *d)
{
	return d->path_prefix.set    ? "path_prefix"
	       : d->path_exact.set   ? "path_exact"
	       : d->pool.set	     ? "pool"
	       : d->pool_idx.set     ? "pool_idx"
	       : d->strip_prefix.set ? "strip_prefix"
	       : d->grpc_web.set     ? "grpc_web"
	       : d->matches	     ? "matches"
	       : d->filters.set	     ? "filters"
	       : d->backends	     ? "backends"
	       : d->timeouts.set     ? "timeouts"
	       : d->retry.set	     ? "retry"
	       : d->persistence.set  ? "persistence"
				     : NULL;
}

static const char *rule_name(struct l7__build *b, const struct rule_spot *spot,
			     const struct l7_doc_rule *d, const struct l7_rule *rules, size_t i,
			     const char *route)
{
	const char *name =
		d->name.set ? d->name.v : arena_printf(b->sink.scratch, "%s/%zu", route, i);
	struct doc_text text = { true, d->name.set ? d->name.at : d->at, name };
	bool twice = false;

	for (size_t j = 0; j < i; j++)
		twice |= strcmp(rules[j].name, name) == 0;
	return l7__name(b, spot, text.at, &text, twice);
}

static void build_rules(struct l7__build *b, const struct rule_spot *route,
			const struct l7_doc_route *d, struct l7_route *r)
{
	const struct rule_spot in = { .in = route, .name = "rules", .code = "InvalidRule" };
	struct l7_rule *list = arena_array_of(b->arena, d->n_rules, struct l7_rule);
	const char *own = own_key(&d->rule);

	if (own)
		rule_fail(&b->sink, L7__AS(route, "ConflictingKeys"), own, d->rule.at,
			  "must be in a rule, because the route has rules");
	if (!d->n_rules)
		rule_fail(&b->sink, &in, NULL, d->rule.at, "must have at least one rule");
	if (!l7__few(b, &in, NULL, d->rule.at, d->n_rules, L7_RULES_MAX))
		return;
	for (size_t i = 0; i < d->n_rules; i++) {
		const struct rule_spot spot = { .in = &in, .index = i };

		list[i].name = rule_name(b, &spot, &d->rules[i], list, i, r->name);
		build_rule(b, &spot, &d->rules[i], &list[i]);
	}
	r->rules = list;
	r->n_rules = d->n_rules;
}

static void build_short_rule(struct l7__build *b, const struct rule_spot *spot,
			     const struct l7_doc_rule *d, struct l7_route *r)
{
	struct l7_rule *only = arena_new_of(b->arena, struct l7_rule);

	only->name = r->name;
	build_rule(b, spot, d, only);
	r->rules = only;
	r->n_rules = 1;
}

static void build_hosts(struct l7__build *b, const struct rule_spot *route,
			const struct l7_doc_route *d, struct l7_route *r)
{
	const struct rule_spot in = { .in = route, .name = "hosts" };
	const struct doc_text *items = d->host.set ? &d->host : d->hosts.items;
	size_t n = d->host.set ? 1 : d->hosts.n;
	struct str *list = arena_array_of(b->arena, n, struct str);

	if (d->host.set && d->hosts.set)
		rule_fail(&b->sink, L7__AS(route, "ConflictingKeys"), "hosts", d->hosts.at,
			  "must not be used together with host");
	else if (d->hosts.set && !d->hosts.n)
		rule_fail(&b->sink, &in, NULL, d->hosts.at,
			  "must have at least one host; without it, all are meant");
	if (!l7__few(b, &in, NULL, d->hosts.at, n, L7_ROUTE_HOSTS_MAX))
		return;
	for (size_t i = 0; i < n; i++)
		list[i] = d->host.set ? l7__host(b, route, "host", &items[i], true)
				      : l7__host(b, &(struct rule_spot){ .in = &in, .index = i },
						 NULL, &items[i], true);
	r->hosts = list;
	r->n_hosts = n;
}

static void build_route_listeners(struct l7__build *b, const struct rule_spot *route,
				  const struct l7_doc_route *d, struct l7_route *r)
{
	const struct rule_spot in = { .in = route, .name = "listeners" };
	size_t n = d->listeners.n;
	size_t *list = arena_array_of(b->arena, n, size_t);

	for (size_t i = 0; i < n; i++) {
		const struct rule_spot spot = { .in = &in, .index = i };
		const struct doc_text *name = &d->listeners.items[i];

		list[i] = l7__find(b, &spot, NULL, name, &b->listeners);
		if (list[i] != SIZE_MAX && b->config->listeners[list[i]].protocol != L7_HTTP)
			rule_fail(&b->sink, &spot, NULL, name->at,
				  "listener %s must have protocol: http; others are for streams",
				  rule_quote(&b->sink, name->v));
	}
	if (d->listeners.set && !n)
		rule_fail(&b->sink, &in, NULL, d->listeners.at,
			  "must name at least one listener; without it, all are meant");
	r->listeners = list;
	r->n_listeners = n;
}

/* The number of entries bounds the size of the compiled tables. */
static void count_entries(struct l7__build *b, const struct rule_spot *spot,
			  const struct l7_doc_route *d, const struct l7_route *r)
{
	size_t matches = 0, before = b->n_entries;

	for (size_t i = 0; i < r->n_rules; i++)
		matches += r->rules[i].n_matches;
	b->n_entries += (r->n_hosts ?: 1) * matches;
	if (before <= L7_ENTRIES_MAX && b->n_entries > L7_ENTRIES_MAX)
		rule_fail(&b->sink, L7__AS(spot, "TooMany"), NULL, d->rule.at,
			  "makes more than %d entries of host names times matches", L7_ENTRIES_MAX);
}

static void build_route(struct l7__build *b, const struct l7_doc_route *d, struct map *names,
			struct l7_route *r)
{
	const struct rule_spot spot = { .in = &routes_spot, .index = (size_t)(d - b->doc->routes) };
	const struct doc_text *name = &d->rule.name;
	bool twice = name->set && map_get(names, name->v);

	r->name = l7__name(b, &spot, d->rule.at, name, twice);
	if (name->set && !twice)
		map_put(names, name->v, (void *)(uintptr_t)d);
	build_hosts(b, &spot, d, r);
	build_route_listeners(b, &spot, d, r);
	if (d->rules)
		build_rules(b, &spot, d, r);
	else
		build_short_rule(b, &spot, &d->rule, r);
	count_entries(b, &spot, d, r);
}

/* The name of the default route is optional. */
static void build_default(struct l7__build *b)
{
	static const struct rule_spot spot = { .name = "default_route", .code = "InvalidRoute" };
	const struct l7_doc_rule *d = &b->doc->default_route;
	struct l7_rule *rule;

	if (!d->set)
		return;
	rule = arena_new_of(b->arena, struct l7_rule);
	rule->name = d->name.set ? l7__name(b, &spot, d->at, &d->name, false) : "default";
	build_rule(b, &spot, d, rule);
	b->config->fallback = rule;
}

void l7__build_routes(struct l7__build *b)
{
	size_t n = b->doc->n_routes;
	struct l7_route *list = arena_array_of(b->arena, n, struct l7_route);
	_cleanup_(map_free) struct map names = { 0 };

	for (size_t i = 0; i < n; i++)
		build_route(b, &b->doc->routes[i], &names, &list[i]);
	b->config->routes = list;
	b->config->n_routes = n;
	build_default(b);
}
