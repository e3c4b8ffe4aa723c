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
static bool read_frontend(const struct doc_frontend *f, const char *scheme, struct target *ret)
{
	struct endpoint at;

	if (!f->address.set || addr_parse(f->address.v, &at.addr) < 0)
		return false;
	if (!f->protocol.set || strcmp(f->protocol.v, "tcp") != 0)
		return false;
	if (!f->port.set || f->port.v < 1 || f->port.v > UINT16_MAX)
		return false;
	at.port = (uint16_t)f->port.v;
	*ret = (struct target){ .name = f->name, .scheme = scheme_of(scheme, at.port), .at = at };
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
		struct target one;

		if (!read_frontend(&doc->frontends[i], scheme, &one))
			t->skipped++;
		else if (!is_known(t, &one))
			add(t, one);
	}
}

void targets_free(struct targets *t)
{
	vec_free(t);
}
