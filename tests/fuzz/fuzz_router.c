/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a router's configuration, read as YAML and as JSON, and through both phases: an
 * answer, within the bounds; what is refused is refused with words that can be printed, and as an
 * answer of the API that is JSON; what is taken keeps what core/l7/config.h promises, and is the
 * same after the way to JSON and back.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/json/tree.h"
#include "wire/router_doc.h"
#include "wire/router_json.h"

#define TABLE_MAX 2000 /* entries of a table that is built, so that an input takes milliseconds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): the check must not depend on how the harness was built. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	if (*pattern != '(')
		return (const void *)pattern;
	snprintf(reason, size, "refused");
	return NULL;
}

static void check_json(struct buf *text)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *tree;

	require(json_parse((struct str){ text->p, text->n }, NULL, arena, &tree, &errors) == 0);
}

static void check_errors(const struct errs *errors, const struct l7_doc *doc)
{
	_cleanup_(buf_free) struct buf out = { 0 }, answer = { 0 };
	size_t lines = 0;

	errs_print(errors, "fuzz", &out);
	require(utf8_valid(out.p, out.n));
	for (size_t i = 0; i < out.n; i++)
		lines += out.p[i] == '\n';
	require(lines == errors->n + !!errors->dropped);
	if (!errors->n)
		return;
	router_json_error(errors, doc, true, &answer);
	check_json(&answer);
}

static void check_filters(const struct l7_config *c, const struct l7_filters *f)
{
	for (size_t i = 0; i < f->n_mirrors; i++) {
		require(f->mirrors[i].pool < c->n_pools && f->mirrors[i].denominator);
		require(f->mirrors[i].numerator <= f->mirrors[i].denominator);
	}
	require(!f->redirect || (f->redirect->status >= 301 && f->redirect->status <= 308));
	require(!f->redirect || !f->rewrite);
}

static void check_rule(const struct l7_config *c, const struct l7_rule *r)
{
	require(*r->name && r->n_matches && r->n_matches <= L7_MATCHES_MAX);
	require(r->n_backends <= L7_BACKENDS_MAX);
	for (size_t i = 0; i < r->n_matches; i++) {
		const struct l7_match *m = &r->matches[i];

		require(m->path.n && m->path.n <= L7_PATH_MAX);
		require(m->kind == L7_REGEX && !m->grpc ? !!m->regex : m->path.p[0] == '/');
	}
	check_filters(c, &r->filters);
	for (size_t i = 0; i < r->n_backends; i++) {
		require(r->backends[i].pool < c->n_pools || r->backends[i].pool == L7_NO_POOL);
		check_filters(c, &r->backends[i].filters);
	}
	require(!r->request_timeout || r->try_timeout <= r->request_timeout);
}

static void check_pool(const struct l7_pool *p)
{
	require(*p->name && p->connect_timeout > 0);
	require(p->probe.interval > 0 && p->probe.timeout > 0);
	require(p->key == L7_KEY_SOURCE || *p->key_name);
	for (size_t i = 0; i < p->n_servers; i++)
		require(p->servers[i].host && p->servers[i].port);
}

static void check_clients(const struct l7_clients *c)
{
	require(c->connections && c->each && c->grace > 0);
	require(c->head >= 1024 && c->head <= L7_CLIENT_HEAD);
	require(c->fields && c->fields <= L7_CLIENT_FIELDS);
}

static void check_config(const struct l7_config *c, struct arena *arena)
{
	check_clients(&c->clients);
	for (size_t i = 0; i < c->n_pools; i++)
		check_pool(&c->pools[i]);
	for (size_t i = 0; i < c->n_routes; i++)
		for (size_t r = 0; r < c->routes[i].n_rules; r++)
			check_rule(c, &c->routes[i].rules[r]);
	if (c->fallback)
		check_rule(c, c->fallback);
	for (size_t i = 0; i < c->n_listeners && i < 3; i++) {
		struct l7_entries e = l7_config_entries(c, i, arena);

		require(e.n <= L7_ENTRIES_MAX);
		if (e.n <= TABLE_MAX)
			l7_table_build(arena, e.entries, e.n, NULL);
	}
}

/* The text of the configuration; empty if the bytes are refused. */
static void convert(struct str bytes, enum router_syntax syntax, struct buf *out)
{
	static const struct l7_calls calls = { .compile = compile };
	_cleanup_(arena_freep) struct arena *document = arena_new(), *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l7_config config;
	struct l7_doc doc;
	int r = router_doc_parse(bytes, syntax, document, &doc, &errors);

	require(r == 0 || r == -EINVAL);
	if (r == 0)
		r = l7_config_build(&doc, arena, &calls, &config, &errors, &warnings);
	require((r == 0) == (errors.n == 0));
	check_errors(&errors, &doc);
	check_errors(&warnings, &doc);
	if (r < 0)
		return;
	/* the configuration refers to nothing in the document */
	arena_free(TAKE_PTR(document));
	check_config(&config, arena);
	router_json_config(&config, out);
}

static void check_both_ways(struct str bytes, enum router_syntax syntax)
{
	_cleanup_(buf_free) struct buf once = { 0 }, twice = { 0 };

	convert(bytes, syntax, &once);
	/* names with many escapes, and what aliases repeat, may be larger than a text may be */
	if (!once.n || once.n > (size_t)1 << 20)
		return;
	convert((struct str){ once.p, once.n }, ROUTER_JSON, &twice);
	require(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
}

/* The body of POST /pools/NAME/endpoints. */
static void check_servers(struct str bytes)
{
	static const struct l7_calls calls = { .compile = compile };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l7_config config;
	struct l7_doc_pool pool;
	const struct l7_doc doc = { .pools = &pool, .n_pools = 1 };
	int r = router_doc_parse_servers(bytes, arena, &pool, &errors);

	pool.name = (struct doc_text){ .set = true, .v = "p" };
	if (r == 0)
		r = l7_config_build(&doc, arena, &calls, &config, &errors, &warnings);
	require((r == 0) == (errors.n == 0));
	check_errors(&errors, &doc);
	if (r == 0)
		check_pool(&config.pools[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = { (const char *)data, size };

	check_servers(bytes);
	check_both_ways(bytes, ROUTER_YAML);
	check_both_ways(bytes, ROUTER_JSON);
	return 0;
}
