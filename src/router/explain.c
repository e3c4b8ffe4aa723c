/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule is found by generation_find(), as for a request that came over the network. The
 * candidates come from l7_explain(), which finds the same one by comparing all of them.
 */
#include "src/router/explain.h"

#include <string.h>

#include "core/l7/explain.h"
#include "src/router/words.h"

#define CANDIDATES 100
#define HEADERS 100

/* What is explained, and the message that is filled. */
struct work {
	const struct info *info;
	const struct generation *g;
	struct l7_request request;
	Maglev__RequestExplanation *to;
};

/* ---- the request ---- */

static bool read_header(const char *text, struct field *ret)
{
	struct str value = str_of(text), name;

	if (!strchr(text, ':') || !str_cut(&value, ':', &name) || !name.n)
		return false;
	*ret = (struct field){ name, str_trim(value) };
	return true;
}

static const char *read_request(struct work *w, const Maglev__ExplainRequestRequest *from)
{
	struct str target = str_of(from->path), path;
	struct field *headers = arena_array_of(w->info->arena, from->n_headers, struct field);

	if (*from->path != '/')
		return "path: it has to begin with '/'";
	if (from->n_headers > HEADERS)
		return "headers: there are too many";
	if (!str_cut(&target, '?', &path))
		path = str_of(from->path);
	for (size_t i = 0; i < from->n_headers; i++)
		if (!read_header(from->headers[i], &headers[i]))
			return "headers: not of the form \"Name: value\"";
	w->request =
		(struct l7_request){ .host = str_of(from->host),
				     .path = path,
				     .query = target,
				     .method = *from->method ? str_of(from->method) : STR("GET"),
				     .headers = headers,
				     .n_headers = from->n_headers };
	return NULL;
}

/* ---- listeners ---- */

static bool is_named(const struct generation *g, const struct generation_listener *l,
		     const char *name)
{
	return !*name || strcmp(g->listeners[l - g->listeners].config->name, name) == 0;
}

/* The listener of the first address that takes the request, and that is asked for. */
static const struct generation_listener *find(const struct work *w, const char *name)
{
	for (size_t i = 0; i < w->g->config.n_listeners; i++) {
		const struct generation_port *p =
			generation_port(w->g, &w->g->config.listeners[i].at);
		const struct generation_listener *l = generation_listener(w->g, p, w->request.host);

		if (l && is_named(w->g, l, name))
			return l;
	}
	return NULL;
}

/* The path in the form in which rules are compared. False if it is refused. */
static bool fit_path(struct work *w, enum l7_paths policy)
{
	struct buf path = { 0 };
	int r = policy == L7_PATHS_AS_IS ? 0 : l7_path_normalize(w->request.path, policy, &path);

	if (path.n)
		w->request.path = str_of(arena_strndup(w->info->arena, path.p, path.n));
	buf_free(&path);
	return r == 0;
}

static bool exists(const struct generation *g, const char *name)
{
	for (size_t i = 0; i < g->config.n_listeners; i++)
		if (strcmp(g->config.listeners[i].name, name) == 0)
			return true;
	return !*name;
}

/* ---- candidates ---- */

static void add_candidate(struct work *w, const struct generation_listener *l,
			  const struct l7_candidate *c)
{
	struct arena *arena = w->info->arena;
	const struct l7_target *t = &l->entries.targets[c->entry];
	const struct l7_entry *e = &l->entries.entries[c->entry];
	Maglev__RequestCandidate *one =
		INFO_NEW(arena, Maglev__RequestCandidate, maglev__request_candidate__init);

	one->host = arena_strndup(arena, e->host.p, e->host.n);
	one->route = info_text(t->route->name);
	one->rule = info_text(t->rule->name);
	one->match = words_match(t->match, arena);
	one->applies = c->verdict == L7_FOUND;
	one->reason = words_verdict(c, t->match, arena);
	if (one->applies)
		w->to->host = one->host;
	w->to->candidates[w->to->n_candidates++] = one;
}

static void add_candidates(struct work *w, const struct generation_listener *l)
{
	struct arena *arena = w->info->arena;
	struct l7_explanation e = l7_explain(l->entries.entries, l->entries.n, &w->request,
					     settings_matches, CANDIDATES, arena);

	w->to->candidates = arena_array_of(arena, e.n, Maglev__RequestCandidate *);
	for (size_t i = 0; i < e.n; i++)
		add_candidate(w, l, &e.candidates[i]);
	w->to->left_out = (uint32_t)e.left_out;
}

/* ---- the outcome ---- */

static void answer(struct work *w, unsigned status, const char *summary)
{
	w->to->outcome = info_text("answer");
	w->to->status = status;
	w->to->summary = info_text(summary);
}

static void add_backends(struct work *w, const struct l7_rule *r)
{
	struct arena *arena = w->info->arena;
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n_backends; i++)
		sum += r->backends[i].weight;
	w->to->n_backends = r->n_backends;
	w->to->backends = arena_array_of(arena, r->n_backends, Maglev__ExplainedBackend *);
	for (size_t i = 0; i < r->n_backends; i++) {
		const struct l7_backend *b = &r->backends[i];
		Maglev__ExplainedBackend *one =
			INFO_NEW(arena, Maglev__ExplainedBackend, maglev__explained_backend__init);

		one->weight = b->weight;
		one->share = info_share(b->weight, sum);
		if (b->pool != L7_NO_POOL) {
			one->pool = info_text(w->g->config.pools[b->pool].name);
			one->servers = info_servers(w->info, b->pool, &one->n_servers);
		}
		w->to->backends[i] = one;
	}
}

/* The pools that share the requests of a rule; empty if nothing is passed on. */
static void add_pools(const struct work *w, struct buf *out)
{
	for (size_t i = 0; i < w->to->n_backends; i++) {
		const Maglev__ExplainedBackend *b = w->to->backends[i];

		if (!b->weight)
			continue;
		buf_adds(out, out->n ? ", " : "");
		if (b->share < 1)
			buf_printf(out, "%.3g %% ", b->share * 100);
		buf_printf(out, *b->pool ? "to pool %s" : "answered with 500%s", b->pool);
	}
}

static void set_outcome(struct work *w, const struct l7_target *t)
{
	const struct l7_redirect *redirect = t->rule->filters.redirect;
	struct buf pools = { 0 };

	w->to->route = info_text(t->route ? t->route->name : VIEW_FALLBACK);
	w->to->rule = info_text(t->rule->name);
	w->to->match = words_match(t->match, w->info->arena);
	if (redirect) {
		w->to->outcome = info_text("redirect");
		w->to->status = redirect->status;
		w->to->summary = arena_printf(w->info->arena, "redirected: %s",
					      words_redirect(redirect, w->info->arena));
		return;
	}
	add_backends(w, t->rule);
	add_pools(w, &pools);
	if (pools.n) {
		w->to->outcome = info_text("forward");
		w->to->summary = arena_strdup(w->info->arena, buf_cstr(&pools));
	} else {
		answer(w, 500, "answered with 500: the rule has no backend with a weight");
	}
	buf_free(&pools);
}

static void decide(struct work *w, const char *name)
{
	const struct generation_listener *l = find(w, name);
	const struct l7_target *t;

	if (!l7_config_allows(&w->g->config, w->request.host)) {
		answer(w, 421, "answered with 421: the host is not among allowed_hosts");
		return;
	}
	if (!l) {
		answer(w, 404, "answered with 404: no listener has this host");
		return;
	}
	w->to->listener = info_text(l->config->name);
	if (!fit_path(w, l->config->paths)) {
		answer(w, 400, "answered with 400: servers may read this path in different ways");
		return;
	}
	t = generation_find(w->g, l, &w->request);
	add_candidates(w, l);
	if (t)
		set_outcome(w, t);
	else
		answer(w, 404, "answered with 404: no route matches");
}

Maglev__RequestExplanation *
explain_of(const struct info *i, const Maglev__ExplainRequestRequest *request, const char **ret_why)
{
	struct work w = { .info = i, .g = i->view->g };
	const char *why = read_request(&w, request);

	if (!w.g)
		why = "there is no configuration yet";
	else if (!why && !exists(w.g, request->listener))
		why = "listener: there is none of that name";
	if (why) {
		*ret_why = why;
		return NULL;
	}
	w.to = INFO_NEW(i->arena, Maglev__RequestExplanation, maglev__request_explanation__init);
	w.to->generation = w.g->number;
	decide(&w, request->listener);
	return w.to;
}
