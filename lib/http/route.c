/* SPDX-License-Identifier: Apache-2.0 */
/* route: finds the handler of a request; answers 404 and 405. */
#include <assert.h>

#include "base/cleanup.h"
#include "lib/http/server_private.h"

/* In the order in which Allow lists them. HEAD is routed as GET. */
static const struct {
	struct str name;
	unsigned bit;
} methods[] = {
	{ { "GET", 3 }, HTTP_GET },	    { { "HEAD", 4 }, HTTP_GET },
	{ { "POST", 4 }, HTTP_POST },	    { { "PUT", 3 }, HTTP_PUT },
	{ { "PATCH", 5 }, HTTP_PATCH },	    { { "DELETE", 6 }, HTTP_DELETE },
	{ { "OPTIONS", 7 }, HTTP_OPTIONS },
};

/* Returns 0 for a method that no route can have. */
static unsigned method_bit(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (str_eq(methods[i].name, name))
			return methods[i].bit;
	return 0;
}

static bool path_matches(const char *pattern, struct str path)
{
	struct str want = str_of(pattern);

	if (!want.n || want.p[want.n - 1] != '*')
		return str_eq(want, path);
	want.n--;
	return str_starts(path, want);
}

static void reply_not_allowed(struct http_exchange *x, unsigned allowed)
{
	struct buf list = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!(methods[i].bit & allowed))
			continue;
		if (list.n)
			buf_add_lit(&list, ", ");
		buf_add(&list, methods[i].name.p, methods[i].name.n);
	}
	r = http_reply_header(x, "Allow", (struct str){ list.p, list.n });
	assert(r == 0);
	http__reply_error(x, 405);
	buf_free(&list);
}

/* The first route that matches. *allowed collects the methods of others with that path. */
static const struct http_route *search(const struct http_mount *m,
				       const struct http_request *request, unsigned *allowed)
{
	unsigned method = method_bit(request->head->method);

	for (size_t i = 0; i < m->n_routes; i++) {
		const struct http_route *route = &m->routes[i];

		if (!path_matches(route->path, request->path))
			continue;
		if (route->methods & method)
			return route;
		*allowed |= route->methods;
	}
	return NULL;
}

/* Mounted routes come first, because the program may have a route for every path. */
struct http__choice http__find_route(const struct http_server *s,
				     const struct http_request *request)
{
	const struct http_mount own = { s->config.routes, s->config.n_routes, s->config.user };
	struct http__choice c = { .user = s->config.mount.user };

	c.route = search(&s->config.mount, request, &c.allowed);
	c.mounted = c.route;
	if (c.route)
		return c;
	c.user = own.user;
	c.route = search(&own, request, &c.allowed);
	return c;
}

void http__route(struct http_exchange *x, const struct http_request *request)
{
	const struct http_server *s = x->conn->server;
	const struct http__choice c = http__find_route(s, request);

	if (!c.mounted && s->config.admits && !s->config.admits(x, request, s->config.user))
		return;
	if (c.route) {
		x->pieces = c.route->methods & HTTP_IN_PIECES;
		c.route->handler(x, request, c.user);
	} else if (c.allowed) {
		reply_not_allowed(x, c.allowed);
	} else {
		http__reply_error(x, 404);
	}
}

/* "http://" or "https://": a proxy may have terminated TLS. */
static size_t scheme_len(struct str target)
{
	static const struct str schemes[] = { { "http://", 7 }, { "https://", 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (target.n >= schemes[i].n &&
		    str_ieq((struct str){ target.p, schemes[i].n }, schemes[i]))
			return schemes[i].n;
	return 0;
}

/*
 * RFC 9112 §3.2.2: a server must accept the absolute form. The authority ends at a slash or a
 * question mark.
 */
static struct str without_origin(struct str target)
{
	size_t at = scheme_len(target);

	while (at && at < target.n && target.p[at] != '/' && target.p[at] != '?')
		at++;
	return (struct str){ target.p + at, target.n - at };
}

void http__split_target(struct str target, struct http_request *ret)
{
	struct str rest = without_origin(target);
	bool absolute = rest.p != target.p;

	str_cut(&rest, '?', &ret->path);
	if (absolute && !ret->path.n)
		ret->path = STR("/");
	ret->query = rest.p ? rest : STR("");
}
