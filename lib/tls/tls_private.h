/* SPDX-License-Identifier: Apache-2.0 */
/* What contexts and connections share. */
#pragma once

#include <openssl/ssl.h>

#include "lib/tls/tls.h"

static inline SSL_CTX *tls__ctx(struct tls_context *c)
{
	return (SSL_CTX *)c;
}

/* OpenSSL's callback for sessions that a server offered. */
int tls__keep_session(SSL *ssl, SSL_SESSION *session);
