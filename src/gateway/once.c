/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/once.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/gateway/checks.h"
#include "src/gateway/gateway.h"
#include "src/gateway/kinds.h"

#define PATIENCE 60. /* s */

struct once {
	struct ev_loop *loop;
	const struct options *options;
	ev_timer patience;
	int status;
};

/* ---- the dry run ---- */

/* Private keys are replaced: what is printed is read by people, and kept. */
static void hide_keys(struct buf *text)
{
	static const struct str start = { "\"key\":\"", 7 };
	struct buf out = { 0 };
	char *p = text->p, *end = text->p + text->n;

	for (char *found; (found = memmem(p, (size_t)(end - p), start.p, start.n));) {
		buf_add(&out, p, (size_t)(found - p) + start.n);
		p = found + start.n;
		while (p < end && *p != '"')
			p += *p == '\\' ? 2 : 1;
		buf_adds(&out, "(hidden)");
	}
	buf_add(&out, p, (size_t)(end - p));
	buf_free(text);
	*text = out;
}

static void print_plan(struct gateway *g)
{
	struct gw *gw = gateway_translation(g);
	_cleanup_(buf_free) struct buf document = { 0 };
	struct gw_status next;

	document_write(gateway_document(g), &document);
	hide_keys(&document);
	printf("routers would get:\n%s", buf_cstr(&document));
	for (;;) {
		_cleanup_(buf_free) struct buf patch = { 0 };

		if (!gw_take_status(gw, "1970-01-01T00:00:00Z", &next, &patch))
			break;
		printf("%s %s%s%s would get: %s\n", gw_kinds[next.kind].kind, next.namespace,
		       *next.namespace ? "/" : "", next.name, buf_cstr(&patch));
	}
}

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "maglev-gateway: %s: %s\n", what, why);
	return 1;
}

/* ---- explain ---- */

static int kind_of(const char *name, enum gw_kind *ret)
{
	for (enum gw_kind kind = GW_HTTP_ROUTE; kind <= GW_UDP_ROUTE; kind++)
		if (strcasecmp(gw_kinds[kind].kind, name) == 0 ||
		    strcasecmp(gw_kinds[kind].resource, name) == 0) {
			*ret = kind;
			return 0;
		}
	return -EINVAL;
}

/* Takes what follows the last separator off *text; empty: there is none. */
static struct str split(struct str *text, char separator, bool last)
{
	const char *at =
		last ? memrchr(text->p, separator, text->n) : memchr(text->p, separator, text->n);
	struct str rest = { NULL, 0 };

	if (!at)
		return rest;
	rest = (struct str){ at + 1, (size_t)(text->p + text->n - at) - 1 };
	text->n = (size_t)(at - text->p);
	return rest;
}

/* "http://host:port/path?query" */
static int parse_url(const char *method, const char *url, struct gw_question *ret)
{
	bool secure = strncmp(url, "https://", 8) == 0;
	struct str host = str_of(url + (secure ? 8 : 7)), path, query, port;
	uint64_t number = secure ? 443 : 80;

	if (!secure && strncmp(url, "http://", 7) != 0)
		return -EINVAL;
	path = split(&host, '/', false);
	if (path.p)
		path = (struct str){ path.p - 1, path.n + 1 };
	else
		path = STR("/");
	query = split(&path, '?', false);
	port = split(&host, ':', true);
	if (port.p && str_to_u64(port, UINT16_MAX, &number) < 0)
		return -EINVAL;
	ret->port = (uint16_t)number;
	ret->request = (struct l7_request){
		.method = str_of(method), .host = host, .path = path, .query = query
	};
	return host.n ? 0 : -EINVAL;
}

static int explain_route(struct gateway *g, char *const *words, const struct gw_question *question)
{
	_cleanup_(buf_free) struct buf out = { 0 }, namespace = { 0 };
	const char *slash = strchr(words[1], '/');
	enum gw_kind kind;

	if (kind_of(words[0], &kind) < 0)
		return complain(words[0], "is not a kind of route");
	if (!slash)
		return complain(words[1], "must be NAMESPACE/NAME");
	buf_add(&namespace, words[1], (size_t)(slash - words[1]));
	if (gw_explain(gateway_translation(g), kind, buf_cstr(&namespace), slash + 1, question,
		       &out) < 0)
		return complain(words[1], "there is no such route");
	fputs(buf_cstr(&out), stdout);
	return 0;
}

/* How well a route fits a host: 3 the same name, 2 a wildcard, 1 every host, 0 not at all. */
static unsigned fit(const struct gw_route *route, struct str host)
{
	unsigned best = route->hostnames.n ? 0 : 1;

	for (size_t i = 0; i < route->hostnames.n; i++) {
		struct str name = str_of(k8s_string_at(&route->hostnames, i));
		struct str end = { name.p + 1, name.n - 1 };

		if (str_ieq(name, host))
			return 3;
		if (name.n > 1 && name.p[0] == '*' && host.n > end.n &&
		    str_ieq((struct str){ host.p + host.n - end.n, end.n }, end))
			best = 2;
	}
	return best;
}

/* Explains the request with the route that fits its host best: the answer names the one it meets.
 */
static int explain_request(struct gateway *g, const struct gw_question *question)
{
	static const enum gw_kind kinds[] = { GW_HTTP_ROUTE, GW_GRPC_ROUTE };
	const struct k8s_object *found = NULL;
	_cleanup_(buf_free) struct buf out = { 0 };
	enum gw_kind kind = GW_HTTP_ROUTE;
	unsigned best = 0;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		const struct k8s_cache *c = observe_cache(gateway_observe(g), kinds[k]);

		for (size_t i = 0; c && i < k8s_cache_count(c); i++) {
			const struct k8s_object *o = k8s_cache_at(c, i);
			unsigned fits = fit((const struct gw_route *)o, question->request.host);

			if (fits > best) {
				best = fits;
				found = o;
				kind = kinds[k];
			}
		}
	}
	if (!found)
		return complain("the host", "no route has it");
	printf("%s %s/%s\n", gw_kinds[kind].kind, found->namespace, found->name);
	if (gw_explain(gateway_translation(g), kind, found->namespace, found->name, question,
		       &out) < 0)
		return complain(found->name, "the route is not translated");
	fputs(buf_cstr(&out), stdout);
	return 0;
}

/* KIND NAMESPACE/NAME, METHOD URL, or both. */
static int explain(struct gateway *g, char *const *words, size_t n)
{
	struct checks *checks = gateway_checks(g);
	struct gw_question question = { .regex = checks_regex(checks), .matches = checks_matches };
	bool has_url = n == 4 || strstr(words[1], "://");

	if (has_url && parse_url(words[n - 2], words[n - 1], &question) < 0)
		return complain(words[n - 1], "must be http://HOST/PATH or https://HOST/PATH");
	if (has_url && n == 2)
		return explain_request(g, &question);
	return explain_route(g, words, has_url ? &question : NULL);
}

/* ---- the whole ---- */

static void on_translated(struct gateway *g, void *user)
{
	struct once *o = user;
	const struct cli_list *words = &o->options->words;

	o->status = 0;
	if (words->n)
		o->status = explain(g, words->items + 1, words->n - 1);
	else
		print_plan(g);
	ev_break(o->loop, EVBREAK_ALL);
}

static void on_patience(struct ev_loop *loop, ev_timer *timer, int revents)
{
	complain("the API server", "did not answer in time");
	ev_break(loop, EVBREAK_ALL);
}

int once_run(struct ev_loop *loop, const struct options *options)
{
	struct once o = { .loop = loop, .options = options, .status = 1 };
	struct options quiet = *options;
	const struct gateway_config config = {
		.loop = loop, .options = &quiet, .translated = on_translated, .user = &o
	};
	struct gateway *g;

	quiet.operator.dry_run = true;
	log_to_fd(STDERR_FILENO, LOG_WARN);
	if (gateway_new(&config, &g) < 0)
		return 1;
	ev_timer_init(&o.patience, on_patience, PATIENCE, 0.);
	ev_timer_start(loop, &o.patience);
	gateway_start(g);
	ev_run(loop, 0);
	ev_timer_stop(loop, &o.patience);
	gateway_free(g);
	return o.status;
}
