/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/certificates.h"

#include <assert.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "lib/tls/issue.h"

#define DAY ((int64_t)86400)
#define SKEW 3600 /* s: clocks of others may be late */

static const char *decoded(const struct secret *s, const char *name, struct arena *arena)
{
	const char *text = s ? k8s_map_get(&s->data, name) : NULL;
	size_t n = text ? strlen(text) : 0;
	char *out = arena_alloc(arena, n + 1);
	ssize_t got = n ? base64_decode((struct str){ text, n }, out) : -1;

	if (got <= 0 || memchr(out, '\0', (size_t)got))
		return NULL;
	out[got] = '\0';
	return out;
}

struct certificates certificates_of(const struct secret *secret, struct arena *arena)
{
	return (struct certificates){
		.ca = decoded(secret, "ca.crt", arena),
		.ca_key = decoded(secret, "ca.key", arena),
		.certificate = decoded(secret, "tls.crt", arena),
		.key = decoded(secret, "tls.key", arena),
	};
}

/* Whether a certificate lasts for more than a part of its life. */
static bool lasts(const char *pem, int64_t now, int64_t left)
{
	int64_t ends;

	return pem && tls_pem_ends(pem, &ends) == 0 && ends - now > left;
}

static bool authority_is_good(const struct certificates *c, int64_t now)
{
	return c->ca_key && lasts(c->ca, now, AUTHORITY_DAYS * DAY / 10) &&
	       tls_pem_fits(c->ca, c->ca_key, c->ca);
}

bool certificates_are_good(const struct certificates *c, const char *server, int64_t now)
{
	return authority_is_good(c, now) && c->key &&
	       lasts(c->certificate, now, CERTIFICATE_DAYS * DAY / 3) &&
	       tls_pem_fits(c->certificate, c->key, c->ca) && tls_pem_names(c->certificate, server);
}

static const char *kept(struct buf *b, struct arena *arena)
{
	const char *copy = arena_strndup(arena, b->p, b->n);

	buf_free(b);
	return copy;
}

/* The old authority follows the new one in the text. */
static void make_authority(const struct certificates *old, int64_t now, struct arena *arena,
			   struct certificates *to)
{
	struct buf certificate = { 0 }, key = { 0 };
	int r = tls_issue(&(struct tls_issue){ .name = "maglev-controller authority",
					       .not_before = now - SKEW,
					       .not_after = now + AUTHORITY_DAYS * DAY },
			  &certificate, &key);

	assert(r == 0);
	if (lasts(old->ca, now, 0))
		buf_adds(&certificate, old->ca);
	to->ca = kept(&certificate, arena);
	to->ca_key = kept(&key, arena);
}

struct certificates certificates_make(const struct certificates *old, const char *server,
				      int64_t now, struct arena *arena)
{
	struct certificates c = *old;
	const char *names[] = { server, arena_printf(arena, "%s.cluster.local", server) };
	struct buf certificate = { 0 }, key = { 0 };
	int r;

	if (!authority_is_good(old, now))
		make_authority(old, now, arena, &c);
	r = tls_issue(&(struct tls_issue){ .name = "maglev-controller",
					   .servers = names,
					   .n_servers = ARRAY_SIZE(names),
					   .not_before = now - SKEW,
					   .not_after = now + CERTIFICATE_DAYS * DAY,
					   .ca = c.ca,
					   .ca_key = c.ca_key },
		      &certificate, &key);
	assert(r == 0);
	c.certificate = kept(&certificate, arena);
	c.key = kept(&key, arena);
	return c;
}

void certificates_write(const struct certificates *c, struct buf *out)
{
	const struct {
		const char *name, *text;
	} rows[] = { { "ca.crt", c->ca },
		     { "ca.key", c->ca_key },
		     { "tls.crt", c->certificate },
		     { "tls.key", c->key } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_printf(out, "%s\"%s\":\"", i ? "," : "{", rows[i].name);
		base64_encode(out, str_of(rows[i].text));
		buf_addc(out, '"');
	}
	buf_addc(out, '}');
}
