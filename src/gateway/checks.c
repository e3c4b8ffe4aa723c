/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "lib/regex/regex.h"
#include "lib/tls/tls.h"

struct l7_regex {
	char *pattern;
	struct regex *compiled;
};

struct checks {
	struct map patterns;
	char reason[sizeof(((struct tls_refusal *)0)->reason)];
};

/* Patterns are kept: the same ones come again with every translation of their route. */
static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	struct checks *c = user;
	struct l7_regex *r = map_get(&c->patterns, pattern);
	struct regex *compiled;

	if (r)
		return r;
	if (c->patterns.n >= CHECKS_PATTERNS_MAX) {
		snprintf(reason, size, "there are more than %d patterns", CHECKS_PATTERNS_MAX);
		return NULL;
	}
	if (regex_compile_whole(pattern, &compiled, reason, size) < 0)
		return NULL;
	r = mem_zalloc(sizeof(*r));
	r->pattern = mem_strdup(pattern);
	r->compiled = compiled;
	map_put(&c->patterns, r->pattern, r);
	return r;
}

bool checks_matches(const struct l7_regex *r, struct str text)
{
	return regex_match(r->compiled, text.p, text.n) == REGEX_MATCH;
}

static const char *try_context(struct checks *c, const struct tls_config *config)
{
	struct tls_context *made;
	struct tls_refusal why;

	if (tls_context_new(config, &made, &why) == 0) {
		tls_context_free(made);
		return NULL;
	}
	memcpy(c->reason, why.reason, sizeof(c->reason));
	return c->reason;
}

const char *checks_pair(struct checks *c, const char *certificate, const char *key)
{
	const struct tls_pair pair = { .certificate = certificate, .key = key };
	const struct tls_config config = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 };

	if (!tls_is_pem(certificate))
		return "the certificate is not PEM";
	if (!tls_is_pem(key))
		return "the key is not PEM";
	return try_context(c, &config);
}

const char *checks_ca(struct checks *c, const char *text)
{
	const struct tls_config config = { .role = TLS_CLIENT, .ca = text };

	return tls_is_pem(text) ? try_context(c, &config) : "the authorities are not PEM";
}

struct l7_calls checks_regex(struct checks *c)
{
	return (struct l7_calls){ compile, c };
}

struct checks *checks_new(void)
{
	return mem_zalloc(sizeof(struct checks));
}

void checks_free(struct checks *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->patterns.cap; i++) {
		struct l7_regex *r = c->patterns.slots[i].value;

		if (!c->patterns.slots[i].key)
			continue;
		regex_free(r->compiled);
		free(r->pattern);
		free(r);
	}
	map_free(&c->patterns);
	free(c);
}
