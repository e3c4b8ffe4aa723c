/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/cors.h"

#include <string.h>

#include "core/l7/table.h"

bool l7_cors_is_preflight(const struct l7_cors_request *r)
{
	return str_eq(r->method, STR("OPTIONS")) && r->origin.n && r->wants_method.n;
}

/* ---- origins ---- */

struct origin {
	struct str scheme, host;
	uint16_t port;
};

/* "https://host:8443"; a port that is not a number is kept in the host, and matches nothing. */
static bool parse_origin(struct str text, struct origin *ret)
{
	const char *at = memmem(text.p, text.n, "://", 3);
	struct str rest;
	uint64_t port;

	if (!at)
		return false;
	ret->scheme = (struct str){ text.p, (size_t)(at - text.p) };
	rest = (struct str){ at + 3, text.n - ret->scheme.n - 3 };
	ret->host = l7_host_name(rest);
	ret->port = str_ieq(ret->scheme, STR("https")) ? 443 : 80;
	if (ret->host.n == rest.n)
		return rest.n > 0;
	rest = (struct str){ rest.p + ret->host.n + 1, rest.n - ret->host.n - 1 };
	if (str_to_u64(rest, UINT16_MAX, &port) < 0)
		return false;
	ret->port = (uint16_t)port;
	return ret->host.n > 0;
}

static bool host_matches(struct str pattern, struct str host)
{
	if (!pattern.n || pattern.p[0] != '*')
		return str_ieq(pattern, host);
	pattern.p++;
	pattern.n--;
	return host.n > pattern.n &&
	       str_ieq(pattern, (struct str){ host.p + host.n - pattern.n, pattern.n });
}

static bool is_any(const struct str *list, size_t n)
{
	return n == 1 && str_eq(list[0], STR("*"));
}

static bool origin_matches(struct str pattern, const struct origin *o)
{
	struct origin p;

	return parse_origin(pattern, &p) && str_ieq(p.scheme, o->scheme) && p.port == o->port &&
	       host_matches(p.host, o->host);
}

bool l7_cors_allows(const struct l7_cors *c, struct str origin)
{
	struct origin o;

	if (!origin.n)
		return false;
	if (is_any(c->origins, c->n_origins))
		return true;
	if (!parse_origin(origin, &o))
		return false;
	for (size_t i = 0; i < c->n_origins; i++)
		if (origin_matches(c->origins[i], &o))
			return true;
	return false;
}

/* ---- fields ---- */

/* The room was reserved before, so that earlier pieces stay in place. */
static struct str join(struct buf *scratch, const struct str *list, size_t n)
{
	size_t start = scratch->n;

	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_lit(scratch, ", ");
		buf_add(scratch, list[i].p, list[i].n);
	}
	return (struct str){ scratch->p + start, scratch->n - start };
}

/* A list, or what the request asks for if all are allowed. */
static struct str allowed(const struct l7_cors *c, struct buf *scratch, const struct str *list,
			  size_t n, struct str wanted)
{
	if (!is_any(list, n))
		return join(scratch, list, n);
	return wanted.n || c->credentials ? wanted : list[0];
}

static size_t bound(const struct l7_cors *c)
{
	size_t n = 16; /* of max-age */

	for (size_t i = 0; i < c->n_methods; i++)
		n += c->methods[i].n + 2;
	for (size_t i = 0; i < c->n_headers; i++)
		n += c->headers[i].n + 2;
	for (size_t i = 0; i < c->n_expose; i++)
		n += c->expose[i].n + 2;
	return n;
}

static void put(struct field *ret, size_t *n, struct str name, struct str value)
{
	if (value.n)
		ret[(*n)++] = (struct field){ name, value };
}

static void put_preflight(const struct l7_cors *c, const struct l7_cors_request *r,
			  struct buf *scratch, struct field *ret, size_t *n)
{
	size_t start;

	put(ret, n, STR("access-control-allow-methods"),
	    allowed(c, scratch, c->methods, c->n_methods, r->wants_method));
	put(ret, n, STR("access-control-allow-headers"),
	    allowed(c, scratch, c->headers, c->n_headers, r->wants_headers));
	start = scratch->n;
	buf_addu(scratch, c->max_age);
	put(ret, n, STR("access-control-max-age"),
	    (struct str){ scratch->p + start, scratch->n - start });
}

size_t l7_cors_fields(const struct l7_cors *c, const struct l7_cors_request *r, struct buf *scratch,
		      struct field ret[static L7_CORS_FIELDS])
{
	bool any = is_any(c->origins, c->n_origins);
	size_t n = 0;

	if (!l7_cors_allows(c, r->origin))
		return 0;
	buf_reserve(scratch, bound(c)); /* so that pieces of it stay in place */
	put(ret, &n, STR("access-control-allow-origin"),
	    any && !c->credentials ? STR("*") : r->origin);
	if (c->credentials)
		put(ret, &n, STR("access-control-allow-credentials"), STR("true"));
	if (l7_cors_is_preflight(r))
		put_preflight(c, r, scratch, ret, &n);
	if (!is_any(c->expose, c->n_expose))
		put(ret, &n, STR("access-control-expose-headers"),
		    join(scratch, c->expose, c->n_expose));
	else if (!c->credentials)
		put(ret, &n, STR("access-control-expose-headers"), STR("*"));
	if (!any || c->credentials)
		put(ret, &n, STR("vary"), STR("origin"));
	return n;
}
