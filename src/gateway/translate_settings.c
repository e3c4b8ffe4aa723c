/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of routers for the listeners of a Gateway: a ConfigMap that parametersRef names. Its
 * keys are those of a listener in the router's document, its values are texts.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/gateway/model.h"

#define AT(member) offsetof(struct l7_doc_listener, member)

static const struct {
	const char *key;
	enum schema_shape shape;
	size_t at;
	bool tls; /* of the section tls */
} keys[] = {
	{ "expect_proxy", SCHEMA_BOOL, AT(expect_proxy), false },
	{ "forwarded", SCHEMA_WORD, AT(forwarded), false },
	{ "forwarded_fields", SCHEMA_WORD, AT(fields), false },
	{ "http2", SCHEMA_BOOL, AT(http2), false },
	{ "paths", SCHEMA_WORD, AT(paths), false },
	{ "server_timing", SCHEMA_BOOL, AT(server_timing), false },
	{ "tls_ciphers", SCHEMA_WORDS, AT(tls.ciphers), true },
	{ "tls_min_version", SCHEMA_WORD, AT(tls.min_version), true },
	{ "tls_tickets", SCHEMA_BOOL, AT(tls.tickets), true },
	{ "trace_percent", SCHEMA_INT, AT(trace_percent), false },
	{ "tracing", SCHEMA_WORD, AT(tracing), false },
	{ "trusted_proxies", SCHEMA_WORDS, AT(trusted), false },
};

/* Words with commas or white space between them. */
static struct doc_words words_of(struct arena *arena, const char *text)
{
	struct doc_text *items = arena_array_of(arena, strlen(text) + 1, struct doc_text);
	size_t n = 0;

	for (;;) {
		size_t size;

		text += strspn(text, ", \t\r\n");
		size = strcspn(text, ", \t\r\n");
		if (!size)
			break;
		items[n++] =
			(struct doc_text){ .set = true, .v = arena_strndup(arena, text, size) };
		text += size;
	}
	return (struct doc_words){ .set = true, .items = items, .n = n };
}

/* False: the text is not of this shape. */
static bool set_value(struct arena *arena, enum schema_shape shape, const char *text, void *at)
{
	uint64_t number;

	if (shape == SCHEMA_WORD) {
		*(struct doc_text *)at =
			(struct doc_text){ .set = true, .v = arena_strdup(arena, text) };
	} else if (shape == SCHEMA_WORDS) {
		*(struct doc_words *)at = words_of(arena, text);
	} else if (shape == SCHEMA_INT) {
		if (str_to_u64(str_of(text), INT32_MAX, &number) < 0)
			return false;
		*(struct doc_int *)at = (struct doc_int){ .set = true, .v = (int64_t)number };
	} else {
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			return false;
		*(struct doc_bool *)at =
			(struct doc_bool){ .set = true, .v = strcmp(text, "true") == 0 };
	}
	return true;
}

static const char *set_key(struct gw *g, const struct k8s_pair *pair, struct l7_doc_listener *l)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].key, pair->key) != 0)
			continue;
		if (!set_value(g->scratch, keys[i].shape, pair->value, (char *)l + keys[i].at))
			return arena_printf(g->scratch, "%s: %s is not %s", pair->key,
					    err_shown(pair->value, g->scratch),
					    keys[i].shape == SCHEMA_INT ? "a number"
									: "true or false");
		return NULL;
	}
	return arena_printf(g->scratch, "%s is not a setting of a router", pair->key);
}

/* A listener with these settings that has everything else that the rules want. */
static const char *check(struct gw *g, const struct l7_doc_listener *settings)
{
	static const struct l7_doc_certificate pair = { .certificate = { .set = true, .v = "/x" },
							.key = { .set = true, .v = "/x" } };
	struct l7_doc_listener l = *settings;
	const struct l7_doc doc = { .listeners = &l, .n_listeners = 1 };
	_cleanup_(buf_free) struct buf text = { 0 };

	l.name = (struct doc_text){ .set = true, .v = "settings" };
	l.address = (struct doc_text){ .set = true, .v = "127.0.0.1:1" };
	l.tls.set = true;
	l.tls.certificates = &pair;
	l.tls.n_certificates = 1;
	return gw__render(g, &doc, GW_LISTENERS, &text);
}

const char *gw__settings(struct gw *g, const struct gw_config_map *map,
			 struct l7_doc_listener *listener)
{
	const struct k8s_pair *pairs = map->data.items;
	struct l7_doc_listener l = *listener;
	const char *why = NULL;

	for (size_t i = 0; i < map->data.n && !why; i++)
		why = set_key(g, &pairs[i], &l);
	if (!why)
		why = check(g, &l);
	if (!why)
		*listener = l;
	return why;
}
