/* SPDX-License-Identifier: Apache-2.0 */
/* digest: SHA-256, SHA-1, and messages that are signed with a shared key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_SHA256 32 /* bytes */
#define TLS_SHA1 20

void tls_sha256(const void *p, size_t n, uint8_t ret[static TLS_SHA256]);
/* Only for protocols that name it and do not rely on its strength, such as WebSocket. */
void tls_sha1(const void *p, size_t n, uint8_t ret[static TLS_SHA1]);
/* HMAC (RFC 2104) with SHA-256. The key may have any length. */
void tls_hmac_sha256(const void *key, size_t key_len, const void *p, size_t n,
		     uint8_t ret[static TLS_SHA256]);
/* Compares in a time that depends on n alone, for signatures. */
bool tls_same(const void *a, const void *b, size_t n);
