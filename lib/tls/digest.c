/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/digest.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

/* Only a library without SHA-256 fails here, which none that speaks TLS is. */
void tls_sha256(const void *p, size_t n, uint8_t ret[static TLS_SHA256])
{
	if (EVP_Digest(p, n, ret, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

void tls_sha1(const void *p, size_t n, uint8_t ret[static TLS_SHA1])
{
	if (EVP_Digest(p, n, ret, NULL, EVP_sha1(), NULL) != 1)
		abort();
}

void tls_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
		     uint8_t ret[static TLS_SHA256])
{
	assert(key_len <= INT_MAX);
	if (!HMAC(EVP_sha256(), key, (int)key_len, p, n, ret, NULL))
		abort();
}

bool tls_same(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}
