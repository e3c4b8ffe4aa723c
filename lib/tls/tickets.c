/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tickets: the keys that encrypt session tickets, shared by threads and by processes.
 *
 * A session ticket is a session in the client's hands (RFC 5077; RFC 8446, section 4.6.1), so the
 * server keeps no table of sessions, and a resumption works on any thread that has the key. The
 * newest key encrypts. Older ones only decrypt, and the client then gets a ticket of the newest. A
 * key that leaked decrypts recorded TLS 1.2 connections of its time, so keys are rotated and
 * forgotten: a program rotates at least once in TLS_TICKET_LIFETIME / 2, so that TLS_TICKET_KEYS
 * keys cover every ticket that is still valid.
 *
 * The lock is taken once per handshake for a copy of 80 bytes.
 */
#include <assert.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/tls/tls_private.h"

struct key {
	uint8_t name[16];
	uint8_t aes[32];
	uint8_t hmac[32];
};
_Static_assert(sizeof(struct key) == TLS_TICKET_KEY, "saved keys have this size");

struct tls_tickets {
	atomic_uint refs;
	pthread_mutex_t lock;
	size_t n;
	struct key keys[TLS_TICKET_KEYS]; /* newest first */
};

static void make_key(struct key *k)
{
	if (RAND_priv_bytes((unsigned char *)k, sizeof(*k)) != 1)
		abort(); /* without random numbers there is no TLS */
}

struct tls_tickets *tls_tickets_new(void)
{
	struct tls_tickets *t = mem_zalloc(sizeof(*t));

	atomic_init(&t->refs, 1);
	pthread_mutex_init(&t->lock, NULL);
	make_key(&t->keys[0]);
	t->n = 1;
	return t;
}

struct tls_tickets *tls__tickets_ref(struct tls_tickets *t)
{
	if (t)
		atomic_fetch_add(&t->refs, 1);
	return t;
}

void tls_tickets_free(struct tls_tickets *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	pthread_mutex_destroy(&t->lock);
	OPENSSL_cleanse(t->keys, sizeof(t->keys));
	free(t);
}

void tls_tickets_rotate(struct tls_tickets *t)
{
	struct key fresh;

	make_key(&fresh);
	pthread_mutex_lock(&t->lock);
	memmove(&t->keys[1], &t->keys[0], sizeof(t->keys) - sizeof(t->keys[0]));
	t->keys[0] = fresh;
	if (t->n < TLS_TICKET_KEYS)
		t->n++;
	pthread_mutex_unlock(&t->lock);
	OPENSSL_cleanse(&fresh, sizeof(fresh));
}

size_t tls_tickets_save(struct tls_tickets *t, uint8_t ret[static TLS_TICKETS_SIZE])
{
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n * sizeof(t->keys[0]);
	memcpy(ret, t->keys, n);
	pthread_mutex_unlock(&t->lock);
	return n;
}

int tls_tickets_load(struct tls_tickets *t, const void *p, size_t n)
{
	if (!n || n > sizeof(t->keys) || n % sizeof(t->keys[0]))
		return -EINVAL;
	pthread_mutex_lock(&t->lock);
	memcpy(t->keys, p, n);
	t->n = n / sizeof(t->keys[0]);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

/* The key of that name, or the newest one; its place, or -1. */
static int copy_key(struct tls_tickets *t, const unsigned char *name, struct key *ret)
{
	int at = -1;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->n && at < 0; i++)
		if (!name || memcmp(t->keys[i].name, name, sizeof(t->keys[i].name)) == 0)
			at = (int)i;
	if (at >= 0)
		*ret = t->keys[at];
	pthread_mutex_unlock(&t->lock);
	return at;
}

static bool set_mac(EVP_MAC_CTX *mac, struct key *k)
{
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, k->hmac, sizeof(k->hmac)),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){ "SHA256" }, 0),
		OSSL_PARAM_construct_end(),
	};

	return EVP_MAC_CTX_set_params(mac, params) == 1;
}

static bool begin_ticket(struct key *k, unsigned char *name, unsigned char *iv,
			 EVP_CIPHER_CTX *cipher)
{
	memcpy(name, k->name, sizeof(k->name));
	return RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 &&
	       EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, k->aes, iv) == 1;
}

/*
 * -1: error, 0: no such key, 1: fine, 2: fine, and the client gets a new ticket. A ticket of TLS
 * 1.3 is used once, so there its client always gets the next one.
 */
int tls__on_ticket(SSL *ssl, unsigned char name[16], unsigned char *iv, EVP_CIPHER_CTX *cipher,
		   EVP_MAC_CTX *mac, int encrypt)
{
	struct key k;
	int at = copy_key(tls__tickets_of(ssl), encrypt ? NULL : name, &k);
	int r = -1;

	if (at < 0)
		return 0;
	if (encrypt)
		r = begin_ticket(&k, name, iv, cipher) ? 1 : -1;
	else if (EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, k.aes, iv) == 1)
		r = at > 0 || SSL_version(ssl) == TLS1_3_VERSION ? 2 : 1;
	if (r > 0 && !set_mac(mac, &k))
		r = -1;
	OPENSSL_cleanse(&k, sizeof(k));
	return r;
}
