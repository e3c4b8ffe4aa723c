/* SPDX-License-Identifier: Apache-2.0 */
/* What contexts and connections share; private to lib/tls. */
#pragma once

#include <openssl/ssl.h>

#include "lib/tls/tls.h"

/*
 * struct tls_context is never defined: it is an SSL_CTX under a name that needs no OpenSSL
 * header.
 */
static inline SSL_CTX *tls__ctx(struct tls_context *c)
{
	return (SSL_CTX *)c;
}

/* OpenSSL's callback for each session that a server offers. */
int tls__keep_session(SSL *ssl, SSL_SESSION *session);
