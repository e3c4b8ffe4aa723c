/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of listeners: the rules about what is written. What is in the files is checked by the program
 * that reads them.
 *
 * A complaint never has the text of a value that may be a private key.
 */
#include <string.h>

#include "base/cleanup.h"
#include "core/l7/validate_build.h"

static const char code[] = "InvalidTls";

/* A path, or PEM text. NULL after a complaint. */
static const char *build_pem(struct l7__build *b, const struct rule_spot *spot, const char *word,
			     struct place at, const struct doc_text *d)
{
	if (!d->set)
		rule_fail(&b->sink, spot, word, at, "is required");
	else if (!*d->v)
		rule_fail(&b->sink, spot, word, d->at, "must be the path of a file or PEM text");
	else
		return l7__keep(b, d->v).p;
	return NULL;
}

static void build_certificate(struct l7__build *b, const struct rule_spot *spot,
			      const struct l7_doc_certificate *d, struct l7_certificate *ret)
{
	ret->certificate = build_pem(b, spot, "certificate", d->at, &d->certificate);
	ret->key = build_pem(b, spot, "key", d->at, &d->key);
	if (!d->ocsp.set)
		return;
	if (!*d->ocsp.v || d->ocsp.v[0] == '-')
		rule_fail(&b->sink, spot, "ocsp", d->ocsp.at, "must be the path of a file");
	else
		ret->ocsp = l7__keep(b, d->ocsp.v).p;
}

static void build_certificates(struct l7__build *b, const struct rule_spot *tls,
			       const struct l7_doc_listener_tls *d, struct l7_listener_tls *ret)
{
	const struct rule_spot in = { .in = tls, .name = "certificates", .code = code };
	struct l7_certificate *list;

	if (!d->n_certificates) {
		rule_fail(&b->sink, tls, "certificates", d->at, "must have at least one entry");
		return;
	}
	if (!l7__few(b, &in, NULL, d->at, d->n_certificates, L7_CERTIFICATES_MAX))
		return;
	list = arena_array_of(b->arena, d->n_certificates, struct l7_certificate);
	for (size_t i = 0; i < d->n_certificates; i++)
		build_certificate(b, &(struct rule_spot){ .in = &in, .index = i, .code = code },
				  &d->certificates[i], &list[i]);
	ret->certificates = list;
	ret->n_certificates = d->n_certificates;
}

static bool is_cipher(const char *name)
{
	return *name && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(name);
}

/* Whether OpenSSL knows them is not known here. */
static void build_ciphers(struct l7__build *b, const struct rule_spot *tls,
			  const struct doc_words *d, struct l7_listener_tls *ret)
{
	const struct rule_spot in = { .in = tls, .name = "ciphers", .code = code };
	_cleanup_(buf_free) struct buf all = { 0 };

	if (!d->set)
		return;
	if (!d->n)
		rule_fail(&b->sink, tls, "ciphers", d->at, "must have at least one name");
	for (size_t i = 0; i < d->n; i++) {
		if (!is_cipher(d->items[i].v))
			rule_fail(&b->sink, &(struct rule_spot){ .in = &in, .index = i }, NULL,
				  d->items[i].at, "%s must be the name of a cipher, for example %s",
				  rule_quote(&b->sink, d->items[i].v), "TLS_AES_128_GCM_SHA256");
		buf_printf(&all, "%s%s", i ? ":" : "", d->items[i].v);
	}
	ret->ciphers = l7__keep(b, buf_cstr(&all)).p;
}

static void build_clients(struct l7__build *b, const struct rule_spot *tls,
			  const struct l7_doc_tls_clients *d, struct l7_listener_tls *ret)
{
	static const char *const modes[] = { "require", "optional", "insecure-fallback" };
	static const struct rule_words words = { "mode", modes, ARRAY_SIZE(modes) };
	const struct rule_spot spot = { .in = tls, .name = "clients", .code = code };

	if (!d->set)
		return;
	ret->clients = (enum l7_tls_clients)(L7_TLS_CLIENTS_REQUIRE +
					     l7__choose(b, &spot, &words, &d->mode, 0));
	ret->ca = build_pem(b, &spot, "ca", d->at, &d->ca);
	if (d->header.set)
		ret->header = l7__token(b, &spot, "header", &d->header);
}

void l7__build_tls(struct l7__build *b, const struct rule_spot *listener,
		   const struct l7_doc_listener_tls *d, struct l7_listener_tls *ret)
{
	static const char *const modes[] = { "terminate", "passthrough" };
	static const char *const versions[] = { "1.2", "1.3" };
	static const struct rule_words mode_words = { "mode", modes, ARRAY_SIZE(modes) },
				       version_words = { "min_version", versions,
							 ARRAY_SIZE(versions) };
	const struct rule_spot spot = { .in = listener, .name = "tls", .code = code };

	if (!d->set)
		return;
	ret->mode = (enum l7_tls_mode)(L7_TLS_TERMINATE +
				       l7__choose(b, &spot, &mode_words, &d->mode, 0));
	ret->newest = l7__choose(b, &spot, &version_words, &d->min_version, 0);
	ret->tickets = rule_flag(&d->tickets, true);
	if (ret->mode == L7_TLS_PASSTHROUGH)
		return;
	build_certificates(b, &spot, d, ret);
	build_ciphers(b, &spot, &d->ciphers, ret);
	build_clients(b, &spot, &d->clients, ret);
}

void l7__check_tls(struct l7__build *b, const struct rule_spot *listener,
		   const struct l7_doc_listener_tls *d, const struct l7_listener *l)
{
	const struct rule_spot spot = { .in = listener, .name = "tls", .code = code };
	const char *key = d->certificates      ? "certificates"
			  : d->clients.set     ? "clients"
			  : d->ciphers.set     ? "ciphers"
			  : d->min_version.set ? "min_version"
			  : d->tickets.set     ? "tickets"
					       : NULL;

	if (l->tls.mode != L7_TLS_OFF && l->protocol == L7_UDP)
		rule_fail(&b->sink, L7__AS(listener, code), "tls", d->at,
			  "is not possible with protocol: udp");
	if (l->tls.mode != L7_TLS_PASSTHROUGH)
		return;
	if (l->protocol != L7_TCP)
		rule_fail(&b->sink, &spot, "mode", d->mode.at, "passthrough needs protocol: tcp");
	if (key)
		rule_fail(&b->sink, &spot, key, d->at,
			  "is not possible with mode: passthrough: the servers end TLS");
}
