/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/match.h"

#include <string.h>

#include "core/l7/grpc.h"

#define DECODED_MAX 1024 /* bytes of a parameter that a regular expression is tried on */

/* ---- order ---- */

struct str l7_prefix(struct str path)
{
	if (path.n && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static struct str path_of(const struct l7_match *m)
{
	return m->kind == L7_PREFIX ? l7_prefix(m->path) : m->path;
}

/* The order of kinds; what fits every service goes after what has one. */
enum rank { EXACT, REGEX, PREFIX, METHOD, METHOD_REGEX, EVERYTHING };

static enum rank rank_of(const struct l7_match *m)
{
	switch (m->kind) {
	case L7_EXACT:
		return EXACT;
	case L7_REGEX:
		return l7_match_is_method(m) ? METHOD_REGEX : REGEX;
	case L7_PREFIX:
		return path_of(m).n ? PREFIX : EVERYTHING;
	case L7_METHOD:
		return METHOD;
	}
	return EVERYTHING;
}

bool l7_match_is_method(const struct l7_match *m)
{
	return m->grpc && !m->grpc->service.n && m->grpc->method.n;
}

/* Two expressions for gRPC are compared part by part, all other paths as a whole. */
static int compare_lengths(const struct l7_match *a, const struct l7_match *b)
{
	bool parts_a = a->kind == L7_REGEX && a->grpc, parts_b = b->kind == L7_REGEX && b->grpc;
	int c = compare(parts_a, parts_b);

	if (c || !parts_a)
		return c ? c : compare(path_of(b).n, path_of(a).n);
	c = compare(b->grpc->service.n, a->grpc->service.n);
	return c ? c : compare(b->grpc->method.n, a->grpc->method.n);
}

int l7_match_cmp(const struct l7_match *a, const struct l7_match *b)
{
	int c = compare(rank_of(a), rank_of(b));

	if (!c)
		c = compare_lengths(a, b);
	if (!c)
		c = compare(b->method.n > 0, a->method.n > 0);
	if (!c)
		c = compare(b->n_headers, a->n_headers);
	if (!c)
		c = compare(b->n_queries, a->n_queries);
	return c ? c : compare(a->order, b->order);
}

/* ---- conditions ---- */

static bool holds(const struct l7_condition *c, struct str value, l7_regex_fn regex)
{
	return c->kind == L7_REGEX ? regex(c->regex, value) : str_eq(c->value, value);
}

static bool header_holds(const struct l7_condition *c, const struct l7_request *r,
			 l7_regex_fn regex)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (str_ieq(r->headers[i].name, c->name))
			return holds(c, r->headers[i].value, regex);
	return false;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes the next character of a parameter; "%zz" stands for itself. */
static char decode(struct str *s)
{
	char c = *s->p;
	size_t n = 1;

	if (c == '+') {
		c = ' ';
	} else if (c == '%' && s->n > 2 && hex(s->p[1]) >= 0 && hex(s->p[2]) >= 0) {
		c = (char)(hex(s->p[1]) * 16 + hex(s->p[2]));
		n = 3;
	}
	s->p += n;
	s->n -= n;
	return c;
}

static bool decodes_to(struct str encoded, struct str plain)
{
	size_t i = 0;

	while (encoded.n && i < plain.n)
		if (decode(&encoded) != plain.p[i++])
			return false;
	return encoded.n == 0 && i == plain.n;
}

/* One that is too long for the buffer matches no expression. */
static bool decoded_holds(const struct l7_condition *c, struct str encoded, l7_regex_fn regex)
{
	char text[DECODED_MAX];
	size_t n = 0;

	if (c->kind != L7_REGEX)
		return decodes_to(encoded, c->value);
	while (encoded.n && n < sizeof(text))
		text[n++] = decode(&encoded);
	return encoded.n == 0 && regex(c->regex, (struct str){ text, n });
}

static bool query_holds(const struct l7_condition *c, const struct l7_request *r, l7_regex_fn regex)
{
	struct str rest = r->query, parameter, name;

	while (str_cut(&rest, '&', &parameter)) {
		if (!str_cut(&parameter, '=', &name) || !decodes_to(name, c->name))
			continue;
		return decoded_holds(c, parameter, regex);
	}
	return false;
}

bool l7_match_rest(const struct l7_match *m, const struct l7_request *r, l7_regex_fn regex)
{
	if (m->method.n && !str_eq(m->method, r->method))
		return false;
	for (size_t i = 0; i < m->n_headers; i++)
		if (!header_holds(&m->headers[i], r, regex))
			return false;
	for (size_t i = 0; i < m->n_queries; i++)
		if (!query_holds(&m->queries[i], r, regex))
			return false;
	return true;
}

/* ---- the whole ---- */

/* Whether the two parts of a path, of which either may be anything, are what a rule is for. */
static bool call_holds(const struct l7_match *m, struct str path, l7_regex_fn regex)
{
	const struct l7_grpc_match *g = m->grpc;
	struct str service, method;

	if (!l7_grpc_split(path, &service, &method))
		return false;
	if (m->kind == L7_METHOD)
		return str_eq(g->method, method);
	return (!g->service.n || regex(g->service_regex, service)) &&
	       (!g->method.n || regex(g->method_regex, method));
}

static bool path_holds(const struct l7_match *m, struct str path, l7_regex_fn regex)
{
	struct str prefix;

	if (m->kind == L7_METHOD || (m->kind == L7_REGEX && m->grpc))
		return call_holds(m, path, regex);
	if (m->kind == L7_REGEX)
		return regex(m->regex, path);
	if (m->kind == L7_EXACT)
		return str_eq(m->path, path);
	prefix = l7_prefix(m->path);
	return str_starts(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/');
}

bool l7_match_all(const struct l7_match *m, const struct l7_request *r, l7_regex_fn regex)
{
	return path_holds(m, r->path, regex) && l7_match_rest(m, r, regex);
}
