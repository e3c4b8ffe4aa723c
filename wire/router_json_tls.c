/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of a listener as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "core/l7/hash.h"
#include "wire/router_json_private.h"

/* The digest lets two keys be told apart; a key cannot be found from it. */
void rj__secret(struct buf *out, const char *key, const char *value, bool plain)
{
	uint64_t hash = l7_hash_start(0);
	char text[64];

	if (plain || !str_starts(str_of(value), STR("-----BEGIN"))) {
		rj__text(out, key, value);
		return;
	}
	for (const char *p = value; *p; p++)
		hash = l7_hash_add(hash, *p);
	snprintf(text, sizeof(text), "(hidden, digest %016" PRIx64 ")", l7_hash_end(hash));
	rj__text(out, key, text);
}

static void add_certificates(struct buf *out, const struct l7_listener_tls *t, bool plain)
{
	rj__open(out, "certificates", '[');
	for (size_t i = 0; i < t->n_certificates; i++) {
		const struct l7_certificate *c = &t->certificates[i];

		rj__next(out);
		buf_addc(out, '{');
		rj__text(out, "certificate", c->certificate);
		rj__secret(out, "key", c->key, plain);
		if (c->ocsp)
			rj__text(out, "ocsp", c->ocsp);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_ciphers(struct buf *out, const char *ciphers)
{
	struct str rest = str_of(ciphers), one;

	rj__open(out, "ciphers", '[');
	while (str_cut(&rest, ':', &one)) {
		rj__next(out);
		json_write_string(out, one.p, one.n);
	}
	buf_addc(out, ']');
}

static void add_clients(struct buf *out, const struct l7_listener_tls *t)
{
	static const char *const modes[] = { [L7_TLS_CLIENTS_REQUIRE] = "require",
					     [L7_TLS_CLIENTS_OPTIONAL] = "optional",
					     [L7_TLS_CLIENTS_FALLBACK] = "insecure-fallback" };

	rj__open(out, "clients", '{');
	rj__text(out, "mode", modes[t->clients]);
	rj__text(out, "ca", t->ca);
	if (t->header.n)
		rj__str(out, "header", t->header);
	buf_addc(out, '}');
}

void rj__listener_tls(struct buf *out, const struct l7_listener_tls *t, bool plain)
{
	if (t->mode == L7_TLS_OFF)
		return;
	rj__open(out, "tls", '{');
	rj__text(out, "mode", t->mode == L7_TLS_TERMINATE ? "terminate" : "passthrough");
	if (t->mode == L7_TLS_TERMINATE) {
		add_certificates(out, t, plain);
		rj__text(out, "min_version", t->newest ? "1.3" : "1.2");
		rj__bool(out, "tickets", t->tickets);
	}
	if (t->ciphers)
		add_ciphers(out, t->ciphers);
	if (t->clients != L7_TLS_CLIENTS_OFF)
		add_clients(out, t);
	buf_addc(out, '}');
}
