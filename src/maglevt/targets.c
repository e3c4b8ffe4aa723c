/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/targets.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

static const char *const names[] = {
	[SCHEME_HTTP] = "http", [SCHEME_HTTPS] = "https", [SCHEME_TCP] = "tcp"
};

const char *scheme_name(enum scheme s)
{
	return names[s];
}

/* ---- the check of a VIP ---- */

static const struct doc_backend *find_backend(const struct l4_doc *doc, const char *name)
{
	for (size_t i = 0; i < doc->n_backends; i++)
		if (strcmp(doc->backends[i].name, name) == 0)
			return &doc->backends[i];
	return NULL;
}

/* A check over HTTP of that port; NULL if the backend has none. */
static const struct doc_check *check_of(const struct l4_doc *doc, const struct doc_backend *b,
					uint16_t port)
{
	for (size_t i = 0; b && b->healthcheck.set && i < doc->n_checks; i++) {
		const struct doc_check *c = &doc->checks[i];

		if (strcmp(c->name, b->healthcheck.v) == 0 && c->type.set &&
		    (strcmp(c->type.v, "http") == 0 || strcmp(c->type.v, "https") == 0) &&
		    c->port.set && c->port.v == port)
			return c;
	}
	return NULL;
}

static const struct doc_check *find_check(const struct l4_doc *doc, const struct doc_frontend *f,
					  uint16_t port)
{
	for (size_t i = 0; i < f->n_pools; i++)
		for (size_t j = 0; j < f->pools[i].n_members; j++) {
			const char *name = f->pools[i].members[j].backend;
			const struct doc_check *c = check_of(doc, find_backend(doc, name), port);

			if (c)
				return c;
		}
	return NULL;
}

static const char *text_of(const struct targets *t, const struct doc_text *d)
{
	return d->set && *d->v ? arena_strdup(t->arena, d->v) : NULL;
}

/* A list with a mistake counts as none. */
static void read_codes(const struct targets *t, const char *text, struct target *one)
{
	struct str rest = str_of(text), part;
	struct l4_code_range *codes =
		arena_array_of(t->arena, strlen(text) + 1, struct l4_code_range);
	size_t n = 0;

	while (str_cut(&rest, ',', &part))
		if (l4_code_range_parse(part, &codes[n++]) < 0)
			return;
	one->codes = codes;
	one->n_codes = n;
}

/* The path of a check has a default of its own. */
static void read_check(const struct targets *t, const struct doc_check *c, struct target *one)
{
	const char *path = text_of(t, &c->params.path);

	one->path = path && *path == '/' ? path : "/";
	one->host = text_of(t, &c->params.host);
	one->server_name = text_of(t, &c->params.server_name);
	if (c->params.response_code.set)
		read_codes(t, c->params.response_code.v, one);
}

/* ---- targets ---- */

/*
 * Ports other than those of HTTP and HTTPS get a plain TCP connection, which any service
 * accepts.
 */
static enum scheme scheme_of(const char *wanted, uint16_t port)
{
	for (size_t i = 0; wanted && i < ARRAY_SIZE(names); i++)
		if (strcmp(wanted, names[i]) == 0)
			return (enum scheme)i;
	if (port == 443 || port == 8443)
		return SCHEME_HTTPS;
	return port == 80 || port == 8080 ? SCHEME_HTTP : SCHEME_TCP;
}

/* Several frontends may share a VIP and port in different files; it is tested once. */
static bool is_known(const struct targets *t, const struct target *one)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].scheme == one->scheme && t->items[i].at.port == one->at.port &&
		    addr_cmp(&t->items[i].at.addr, &one->at.addr) == 0)
			return true;
	return false;
}

/* Fills *ret and returns true if the frontend can be tested over TCP. */
static bool read_frontend(const struct doc_frontend *f, struct target *ret)
{
	struct endpoint at;

	if (!f->address.set || addr_parse(f->address.v, &at.addr) < 0)
		return false;
	if (!f->protocol.set || strcmp(f->protocol.v, "tcp") != 0)
		return false;
	if (!f->port.set || f->port.v < 1 || f->port.v > UINT16_MAX)
		return false;
	at.port = (uint16_t)f->port.v;
	*ret = (struct target){ .name = f->name, .at = at };
	return true;
}

static void add(struct targets *t, struct target one)
{
	const char *scheme = names[one.scheme];
	char at[ENDPOINT_STRLEN];

	endpoint_format(&one.at, at);
	one.name = arena_strdup(t->arena, one.name);
	one.label = arena_printf(t->arena, "%s %s", scheme, at);
	one.text = arena_printf(t->arena, "%s %s://%s", one.name, scheme, at);
	vec_push(t, one);
}

void targets_add(struct targets *t, const struct l4_doc *doc, const char *scheme)
{
	assert(t->arena && doc);

	for (size_t i = 0; i < doc->n_frontends; i++) {
		const struct doc_check *check;
		struct target one;

		if (!read_frontend(&doc->frontends[i], &one)) {
			t->skipped++;
			continue;
		}
		check = find_check(doc, &doc->frontends[i], one.at.port);
		one.scheme = scheme_of(scheme || !check ? scheme : check->type.v, one.at.port);
		if (is_known(t, &one))
			continue;
		if (check)
			read_check(t, check, &one);
		add(t, one);
	}
}

void targets_free(struct targets *t)
{
	vec_free(t);
}
