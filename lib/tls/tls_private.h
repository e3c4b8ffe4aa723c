/* SPDX-License-Identifier: Apache-2.0 */
/* What contexts and connections share; private to lib/tls. */
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/map.h"
#include "base/vec.h"
#include "lib/tls/tls.h"

/*
 * struct tls_context is never defined: it is an SSL_CTX under a name that needs no OpenSSL
 * header.
 */
static inline SSL_CTX *tls__ctx(const struct tls_context *c)
{
	return (SSL_CTX *)(uintptr_t)c;
}

/* ---- pem.c: bytes and what is in them ---- */

static inline void tls__stack_free(STACK_OF(X509) * s)
{
	sk_X509_pop_free(s, X509_free);
}

struct tls__identity {
	X509 *certificate;
	STACK_OF(X509) * chain; /* intermediate certificates; never NULL */
	EVP_PKEY *key;
	struct buf ocsp;      /* DER; empty without one */
	int64_t ocsp_expires; /* seconds since the epoch; INT64_MAX if it never does */
};

/* -EINVAL with *why. why->pair is set by the caller. */
int tls__identity_read(const struct tls_pair *pair, struct tls__identity *ret,
		       struct tls_refusal *why);
void tls__identity_free(struct tls__identity *i);
/* At least one certificate. The caller frees *ret with tls__stack_free(). */
int tls__authorities_read(const char *pem, STACK_OF(X509) * *ret, struct tls_refusal *why);
/* Writes the first error of OpenSSL's queue after what (a path; NULL: none). Returns -EINVAL. */
int tls__complain(struct tls_refusal *why, enum tls_part part, const char *what);

/* ---- certificate.c: certificates as people see them ---- */

void tls__certificate_describe(X509 *x, struct tls_certificate *ret);
void tls__certificate_free(struct tls_certificate *c);
/* Whether x is valid for one of the names. */
bool tls__certificate_has(X509 *x, const struct tls_name *names, size_t n);

/* ---- context.c ---- */

struct tls__staple {
	const X509 *certificate; /* which the SSL_CTX owns */
	struct buf der;
	int64_t expires;
};

/* A set is the pairs that serve one name: at most one per algorithm. Each set is an SSL_CTX. */
struct tls__extra {
	unsigned char *protocols; /* as in the ClientHello, each after its length */
	unsigned n_protocols;
	struct tls_tickets *tickets;
	struct tls_context *(*choose)(void *user, struct str name);
	struct tls_name *names; /* a client's */
	size_t n_names;
	VEC(struct tls__staple) staples;      /* of this set */
	struct tls_certificate *certificates; /* of all sets; only in the first one */
	size_t n_certificates;
	VEC(SSL_CTX *) sets;	/* the others; the first one is the context itself */
	struct map set_of_name; /* name in a certificate -> SSL_CTX, borrowed */
};

struct tls__extra *tls__extra(const SSL_CTX *ctx);

/* ---- choice.c: what a server does with a ClientHello ---- */

int tls__on_hello(SSL *ssl, int *alert, void *unused);

/* ---- tickets.c ---- */

struct tls_tickets *tls__tickets_ref(struct tls_tickets *t);
/* Those of the context that the connection began with, whatever context was chosen. */
struct tls_tickets *tls__tickets_of(const SSL *ssl);
int tls__on_ticket(SSL *ssl, unsigned char name[16], unsigned char *iv, EVP_CIPHER_CTX *cipher,
		   EVP_MAC_CTX *mac, int encrypt);

/* ---- tls.c ---- */

/* OpenSSL's callback for each session that a server offers. */
int tls__keep_session(SSL *ssl, SSL_SESSION *session);
/* The connection keeps name, at most TLS__NAME_MAX bytes, in lower case; returns it. */
#define TLS__NAME_MAX 255
struct str tls__keep_name(SSL *ssl, struct str name);
void *tls__user(const SSL *ssl);
