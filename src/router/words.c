/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/words.h"

#include "base/cleanup.h"

static char *take(struct buf *b, struct arena *arena)
{
	return arena_strndup(arena, b->p, utf8_fitting(b->p, b->n, WORDS_MAX));
}

static void add_str(struct buf *out, struct str s)
{
	buf_add(out, s.p, s.n);
}

/* ---- matches ---- */

static void add_conditions(struct buf *out, const char *what, const char *equals,
			   const struct l7_condition *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, ", %s ", what);
		add_str(out, list[i].name);
		buf_adds(out, list[i].kind == L7_REGEX ? " ~ " : equals);
		add_str(out, list[i].value);
	}
}

static void add_path(struct buf *out, const struct l7_match *m)
{
	static const char *const kinds[] = {
		[L7_EXACT] = "exact ", [L7_REGEX] = "regex ", [L7_PREFIX] = "prefix "
	};

	if (m->method.n) {
		add_str(out, m->method);
		buf_addc(out, ' ');
	}
	buf_adds(out, kinds[m->kind]);
	add_str(out, m->path);
}

/* A part that may be anything is a star. */
static void add_call(struct buf *out, const struct l7_match *m)
{
	const struct l7_grpc_match *g = m->grpc;

	buf_adds(out, m->kind == L7_REGEX ? "grpc regex " : "grpc ");
	add_str(out, g->service.n ? g->service : STR("*"));
	buf_addc(out, '/');
	add_str(out, g->method.n ? g->method : STR("*"));
}

char *words_match(const struct l7_match *m, struct arena *arena)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (m->grpc)
		add_call(&out, m);
	else
		add_path(&out, m);
	add_conditions(&out, "header", ": ", m->headers, m->n_headers);
	add_conditions(&out, "query", "=", m->queries, m->n_queries);
	return take(&out, arena);
}

/* ---- what a rule does ---- */

static void add_target(struct buf *out, const struct l7_rewrite *w)
{
	add_str(out, w->host);
	if (w->edit == L7_PATH_PREFIX)
		buf_adds(out, w->host.n ? ", prefix " : "prefix ");
	else if (w->edit == L7_PATH_REPLACED)
		buf_adds(out, w->host.n ? "" : "path ");
	if (w->edit != L7_PATH_KEPT)
		add_str(out, w->path);
}

char *words_redirect(const struct l7_redirect *r, struct arena *arena)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!r)
		return arena_strdup(arena, "");
	buf_printf(&out, "%u to ", r->status);
	add_str(&out, r->scheme);
	if (r->scheme.n && (r->to.host.n || r->to.edit != L7_PATH_KEPT))
		buf_adds(&out, r->to.host.n ? "://" : ", ");
	add_target(&out, &r->to);
	if (r->port)
		buf_printf(&out, ", port %u", r->port);
	return take(&out, arena);
}

static char *of_edits(const struct l7_header_edits *e, const char *what, struct arena *arena)
{
	size_t n = e->n_set + e->n_add + e->n_remove;

	return n ? arena_printf(arena, "changes %zu %s header%s", n, what, n == 1 ? "" : "s")
		 : NULL;
}

static char *of_rewrite(const struct l7_rewrite *w, struct arena *arena)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!w)
		return NULL;
	if (w->edit == L7_PATH_PREFIX && !w->host.n && str_eq(w->path, STR("/")))
		return arena_strdup(arena, "strips the prefix");
	buf_adds(&out, "rewrites to ");
	add_target(&out, w);
	return take(&out, arena);
}

static char *of_time(int64_t ns, const char *what, struct arena *arena)
{
	return ns ? arena_printf(arena, "%s %gs", what, (double)ns / 1e9) : NULL;
}

size_t words_filters(const struct l7_rule *rule, char *texts[static WORDS_FILTERS],
		     struct arena *arena)
{
	const struct l7_filters *f = &rule->filters;
	char *const all[] = {
		of_rewrite(f->rewrite, arena),
		of_edits(&f->request, "request", arena),
		of_edits(&f->response, "response", arena),
		f->n_mirrors ? arena_printf(arena, "copies to %zu mirror%s", f->n_mirrors,
					    f->n_mirrors == 1 ? "" : "s")
			     : NULL,
		f->cors ? arena_strdup(arena, "cors") : NULL,
		rule->persistence.enabled ? arena_strdup(arena, "sessions stay at a server") : NULL,
		of_time(rule->request_timeout, "within", arena),
		of_time(rule->try_timeout, "each try within", arena),
	};
	size_t n = 0;

	_Static_assert(ARRAY_SIZE(all) == WORDS_FILTERS, "one text each");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i])
			texts[n++] = all[i];
	return n;
}

const char *words_balance(enum l7_balance b)
{
	static const char *const names[] = { [L7_ROUND_ROBIN] = "round_robin",
					     [L7_LEAST_REQUEST] = "least_request",
					     [L7_RANDOM_TWO] = "random",
					     [L7_MAGLEV] = "maglev" };

	return names[b];
}

/* ---- explanations ---- */

char *words_verdict(const struct l7_candidate *c, const struct l7_match *m, struct arena *arena)
{
	static const char *const texts[] = {
		[L7_FOUND] = "",
		[L7_LATER] = "it applies, but another one goes first",
		[L7_PATH_DIFFERS] = "the path differs",
		[L7_METHOD_DIFFERS] = "the method is not ",
		[L7_HEADER_MISSING] = "there is no header ",
		[L7_HEADER_DIFFERS] = "another value of header ",
		[L7_QUERY_MISSING] = "the query has no ",
		[L7_QUERY_DIFFERS] = "another value in the query of ",
	};
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_adds(&out, texts[c->verdict]);
	if (c->verdict == L7_METHOD_DIFFERS)
		add_str(&out, m->method);
	else if (c->condition)
		add_str(&out, c->condition->name);
	return take(&out, arena);
}
