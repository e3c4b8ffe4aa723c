/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/explain.h"

#include <assert.h>
#include <string.h>

/* What a search has; passed around instead of six parameters. */
struct search {
	const struct l7_entry *entries;
	const struct l7_request *request;
	l7_regex_fn regex;
	size_t most;
	struct l7_explanation *to;
};

/* ---- one entry ---- */

/* The first condition that does not hold alone decides; NULL: all hold. */
static const struct l7_condition *first_failing(const struct l7_condition *conditions, size_t n,
						bool query, const struct search *s)
{
	struct l7_match one = { 0 };

	for (size_t i = 0; i < n; i++) {
		*(query ? &one.queries : &one.headers) = &conditions[i];
		*(query ? &one.n_queries : &one.n_headers) = 1;
		if (!l7_match_rest(&one, s->request, s->regex))
			return &conditions[i];
	}
	return NULL;
}

/* Matches everything: a condition that it does not meet is about something that is missing. */
static bool anything(const struct l7_regex *regex, struct str text)
{
	return true;
}

static bool is_missing(const struct l7_condition *c, bool query, const struct search *s)
{
	const struct l7_condition any = { .name = c->name, .kind = L7_REGEX };
	struct l7_match one = { 0 };

	*(query ? &one.queries : &one.headers) = &any;
	*(query ? &one.n_queries : &one.n_headers) = 1;
	return !l7_match_rest(&one, s->request, anything);
}

static bool path_holds(const struct l7_match *m, const struct search *s)
{
	const struct l7_match path = {
		.kind = m->kind, .path = m->path, .regex = m->regex, .grpc = m->grpc
	};

	return l7_match_all(&path, s->request, s->regex);
}

/* L7_LATER if it applies: which one is the first is known at the end. */
static void judge(struct l7_candidate *c, const struct search *s)
{
	const struct l7_match *m = &s->entries[c->entry].match;
	const struct l7_condition *header, *query;

	c->verdict = L7_LATER;
	if (!path_holds(m, s)) {
		c->verdict = L7_PATH_DIFFERS;
	} else if (m->method.n && !str_eq(m->method, s->request->method)) {
		c->verdict = L7_METHOD_DIFFERS;
	} else if ((header = first_failing(m->headers, m->n_headers, false, s))) {
		c->condition = header;
		c->verdict = is_missing(header, false, s) ? L7_HEADER_MISSING : L7_HEADER_DIFFERS;
	} else if ((query = first_failing(m->queries, m->n_queries, true, s))) {
		c->condition = query;
		c->verdict = is_missing(query, true, s) ? L7_QUERY_MISSING : L7_QUERY_DIFFERS;
	}
}

/* ---- which are kept ---- */

/* Below 0 if a goes first. */
static int by_order(const struct l7_candidate *a, const struct l7_candidate *b,
		    const struct search *s)
{
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return l7_match_cmp(&s->entries[a->entry].match, &s->entries[b->entry].match);
}

static bool is_near(const struct l7_candidate *c)
{
	return c->verdict != L7_PATH_DIFFERS;
}

/* Below 0 if a is kept rather than b. */
static int by_interest(const struct l7_candidate *a, const struct l7_candidate *b,
		       const struct search *s)
{
	if ((a->verdict == L7_LATER) != (b->verdict == L7_LATER))
		return a->verdict == L7_LATER ? -1 : 1;
	if (is_near(a) != is_near(b))
		return is_near(a) ? -1 : 1;
	return by_order(a, b, s);
}

/* Puts a candidate into a sorted array that has room for it. */
static void insert(struct l7_candidate *items, size_t n, const struct l7_candidate *c,
		   int (*order)(const struct l7_candidate *, const struct l7_candidate *,
				const struct search *),
		   const struct search *s)
{
	size_t at = n;

	while (at > 0 && order(c, &items[at - 1], s) < 0)
		at--;
	memmove(&items[at + 1], &items[at], (n - at) * sizeof(*items));
	items[at] = *c;
}

/* Of those that are too many, the one that says least is left out. */
static void keep(const struct search *s, const struct l7_candidate *c)
{
	struct l7_explanation *e = s->to;

	if (e->n == s->most) {
		e->left_out++;
		if (by_interest(c, &e->candidates[e->n - 1], s) > 0)
			return;
		e->n--;
	}
	insert(e->candidates, e->n++, c, by_interest, s);
}

/* In the order in which they go, with the first that applies as the one that is found. */
static void put_in_order(const struct search *s)
{
	struct l7_explanation *e = s->to;

	for (size_t i = 1; i < e->n; i++) {
		const struct l7_candidate c = e->candidates[i];

		insert(e->candidates, i, &c, by_order, s);
	}
	for (size_t i = 0; i < e->n && e->found == L7_NONE; i++) {
		if (e->candidates[i].verdict != L7_LATER)
			continue;
		e->candidates[i].verdict = L7_FOUND;
		e->found = e->candidates[i].entry;
	}
}

/* ---- the door ---- */

/* How specific a name is for a host; 0 if it does not cover it. */
static size_t rank_of(struct str name, struct str host)
{
	if (!name.n)
		return 1;
	if (!l7_host_covers(name, host))
		return 0;
	return name.p[0] == '*' ? 1 + name.n : SIZE_MAX;
}

struct l7_explanation l7_explain(const struct l7_entry *entries, size_t n,
				 const struct l7_request *r, l7_regex_fn regex, size_t most,
				 struct arena *arena)
{
	struct l7_explanation e = { .found = L7_NONE };
	const struct search s = { entries, r, regex, most, &e };
	struct str host = l7_host_name(r->host);

	assert(most > 0);
	e.candidates = arena_array_of(arena, most, struct l7_candidate);
	for (size_t i = 0; i < n; i++) {
		struct l7_candidate c = { .entry = i, .rank = rank_of(entries[i].host, host) };

		if (!c.rank)
			continue;
		judge(&c, &s);
		keep(&s, &c);
	}
	put_in_order(&s);
	return e;
}
