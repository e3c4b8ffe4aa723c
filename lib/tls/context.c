/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: an SSL_CTX from a struct tls_config.
 *
 * OpenSSL keeps one certificate per algorithm in an SSL_CTX. A server whose certificates have
 * different names therefore has several of them, its sets: the set of a name has, for each
 * algorithm, the first pair with that name. The first set is the context itself and serves clients
 * whose name no certificate has. What our callbacks need hangs on the SSL_CTX and dies with it
 * (struct tls__extra), because connections keep it alive for longer than its owner does.
 */
#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/tls/digest.h"
#include "lib/tls/tls_private.h"

#define PAIRS_MAX 64 /* bits of a mask */
#define PROTOCOLS_MAX 255

/* Forward secrecy and authenticated encryption. TLS 1.3 has nothing else. */
static const char server_ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

/* ---- what hangs on an SSL_CTX ---- */

static void free_extra(struct tls__extra *x)
{
	free(x->protocols);
	tls_tickets_free(x->tickets);
	for (size_t i = 0; i < x->n_names; i++)
		free((void *)(uintptr_t)x->names[i].value);
	free(x->names);
	for (size_t i = 0; i < x->staples.n; i++)
		buf_free(&x->staples.items[i].der);
	vec_free(&x->staples);
	for (size_t i = 0; i < x->n_certificates; i++)
		tls__certificate_free(&x->certificates[i]);
	free(x->certificates);
	for (size_t i = 0; i < x->sets.n; i++)
		SSL_CTX_free(x->sets.items[i]);
	vec_free(&x->sets);
	map_free(&x->set_of_name);
	free(x);
}

static void on_ctx_freed(void *parent, void *p, CRYPTO_EX_DATA *data, int index, long l, void *u)
{
	(void)parent;
	(void)data;
	(void)index;
	(void)l;
	(void)u;
	if (p)
		free_extra(p);
}

static int extra_index = -1; /* set once per process */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_index(void)
{
	extra_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, on_ctx_freed);
	if (extra_index < 0)
		abort();
}

struct tls__extra *tls__extra(const SSL_CTX *ctx)
{
	return SSL_CTX_get_ex_data(ctx, extra_index);
}

/*
 * Partial writes and moving buffers: a write that got -EAGAIN may be repeated from another
 * address and with more bytes. Buffers are released while a connection is idle, which saves some
 * 34 KiB. Many peers close without close_notify; HTTP itself shows whether a message is complete.
 * The chain is what the file has: OpenSSL would look for one in each handshake.
 */
static SSL_CTX *new_ctx(enum tls_role role)
{
	SSL_CTX *ctx = SSL_CTX_new(role == TLS_SERVER ? TLS_server_method() : TLS_client_method());

	if (!ctx)
		return NULL;
	pthread_once(&once, make_index);
	if (SSL_CTX_set_ex_data(ctx, extra_index, mem_zalloc(sizeof(struct tls__extra))) != 1)
		abort();
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	return ctx;
}

/* ---- one context in the making ---- */

struct making {
	const struct tls_config *config;
	struct tls_refusal *why;
	size_t n;		 /* pairs that are not absent */
	size_t place[PAIRS_MAX]; /* of each in config->pairs */
	struct tls__identity identities[PAIRS_MAX];
	struct tls_certificate *certificates;
	STACK_OF(X509) * authorities; /* NULL: none */
	X509_STORE *store;	      /* with them */
	uint8_t scope[TLS_SHA256];
};

static int refuse(struct tls_refusal *why, enum tls_part part, const char *word)
{
	why->part = part;
	snprintf(why->reason, sizeof(why->reason), "%s", word);
	return -EINVAL;
}

static bool is_absent(const struct tls_pair *p)
{
	return !p->certificate && !p->key && !p->ocsp;
}

static int read_pairs(struct making *m)
{
	const struct tls_config *c = m->config;

	for (size_t i = 0; i < c->n_pairs; i++) {
		if (is_absent(&c->pairs[i]))
			continue;
		m->why->pair = i;
		if (m->n == PAIRS_MAX || (c->role == TLS_CLIENT && m->n == 1))
			return refuse(m->why, TLS_PART_CERTIFICATE, "too many certificates");
		if (tls__identity_read(&c->pairs[i], &m->identities[m->n], m->why) < 0)
			return -EINVAL;
		m->place[m->n++] = i;
	}
	if (c->role == TLS_SERVER && !m->n && !c->choose)
		return refuse(m->why, TLS_PART_CERTIFICATE,
			      "a server needs a certificate and its key");
	m->certificates = mem_zalloc((m->n + 1) * sizeof(m->certificates[0]));
	for (size_t i = 0; i < m->n; i++)
		tls__certificate_describe(m->identities[i].certificate, &m->certificates[i]);
	return 0;
}

static int read_authorities(struct making *m)
{
	const struct tls_config *c = m->config;

	if (c->role == TLS_SERVER && c->clients != TLS_CLIENTS_OFF && !c->ca)
		return refuse(m->why, TLS_PART_CA,
			      "certificates of clients need the authorities that sign them");
	if (!c->ca)
		return 0;
	if (tls__authorities_read(c->ca, &m->authorities, m->why) < 0)
		return -EINVAL;
	m->store = X509_STORE_new();
	if (!m->store)
		abort();
	for (int i = 0; i < sk_X509_num(m->authorities); i++)
		X509_STORE_add_cert(m->store, sk_X509_value(m->authorities, i));
	return 0;
}

/* A session is resumed only where a full handshake would have had the same result. */
static void make_scope(struct making *m)
{
	_cleanup_(buf_free) struct buf all = { 0 };
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n;

	buf_adds(&all, m->config->scope ? m->config->scope : "");
	buf_addc(&all, '\0');
	buf_addc(&all, (char)m->config->clients);
	for (int i = 0; m->authorities && i < sk_X509_num(m->authorities); i++) {
		n = 0;
		X509_digest(sk_X509_value(m->authorities, i), EVP_sha256(), digest, &n);
		buf_add(&all, digest, n);
	}
	tls_sha256(all.p, all.n, m->scope);
}

/* ---- settings that both sides have ---- */

static int set_protocols(struct making *m, struct tls__extra *x)
{
	struct str rest, one;
	unsigned char *to;

	if (!m->config->protocols)
		return 0;
	rest = str_of(m->config->protocols);
	if (rest.n > PROTOCOLS_MAX)
		return refuse(m->why, TLS_PART_PROTOCOLS, "too many protocols");
	to = x->protocols = mem_alloc(rest.n + 1);
	while (str_cut(&rest, ',', &one)) {
		if (!one.n)
			return refuse(m->why, TLS_PART_PROTOCOLS, "a protocol without a name");
		*to++ = (unsigned char)one.n;
		memcpy(to, one.p, one.n);
		to += one.n;
	}
	x->n_protocols = (unsigned)(to - x->protocols);
	return 0;
}

static bool has_cipher(SSL_CTX *ctx, struct str name)
{
	STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ctx);

	for (int i = 0; i < sk_SSL_CIPHER_num(all); i++)
		if (str_eq(str_of(SSL_CIPHER_get_name(sk_SSL_CIPHER_value(all, i))), name))
			return true;
	return false;
}

/* OpenSSL passes over names that it does not know. */
static int check_ciphers(struct making *m, SSL_CTX *ctx)
{
	struct str rest = str_of(m->config->ciphers), one;

	while (str_cut(&rest, ':', &one))
		if (!has_cipher(ctx, one)) {
			m->why->part = TLS_PART_CIPHERS;
			snprintf(m->why->reason, sizeof(m->why->reason), "unknown cipher '%.*s'",
				 (int)(one.n < 100 ? one.n : 100), one.p);
			ERR_clear_error();
			return -EINVAL;
		}
	return 0;
}

/* The names of one version, with ":" between them. */
static void pick_ciphers(const char *list, bool of_tls13, struct buf *ret)
{
	struct str rest = str_of(list), one;

	while (str_cut(&rest, ':', &one)) {
		if (str_starts(one, STR("TLS_")) != of_tls13)
			continue;
		if (ret->n)
			buf_addc(ret, ':');
		buf_add(ret, one.p, one.n);
	}
}

static int set_ciphers(struct making *m, SSL_CTX *ctx)
{
	_cleanup_(buf_free) struct buf older = { 0 };
	_cleanup_(buf_free) struct buf newer = { 0 };

	if (m->config->role == TLS_SERVER && SSL_CTX_set_cipher_list(ctx, server_ciphers) != 1)
		abort();
	if (!m->config->ciphers)
		return 0;
	pick_ciphers(m->config->ciphers, false, &older);
	pick_ciphers(m->config->ciphers, true, &newer);
	if (older.n)
		SSL_CTX_set_cipher_list(ctx, buf_cstr(&older));
	if (newer.n)
		SSL_CTX_set_ciphersuites(ctx, buf_cstr(&newer));
	return check_ciphers(m, ctx);
}

/*
 * Renegotiation is forbidden with HTTP/2 (RFC 9113, section 9.2.1), and it would cost us
 * processor time at the peer's will.
 */
static int set_common(struct making *m, SSL_CTX *ctx)
{
	const struct tls_config *c = m->config;
	int r;

	if (c->minimum != TLS_SYSTEM)
		SSL_CTX_set_min_proto_version(ctx, c->minimum == TLS_1_3 ? TLS1_3_VERSION
									 : TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
	if (m->store)
		SSL_CTX_set1_cert_store(ctx, m->store);
	r = set_protocols(m, tls__extra(ctx));
	return r < 0 ? r : set_ciphers(m, ctx);
}

/* OpenSSL still refuses some certificates here, such as those with a key that is too short. */
static int use_pair(struct making *m, SSL_CTX *ctx, size_t i)
{
	struct tls__identity *id = &m->identities[i];
	const struct tls_pair *pair = &m->config->pairs[m->place[i]];
	struct tls__extra *x = tls__extra(ctx);

	ERR_clear_error();
	m->why->pair = m->place[i];
	if (SSL_CTX_use_cert_and_key(ctx, id->certificate, id->key, id->chain, 1) != 1)
		return tls__complain(m->why, TLS_PART_CERTIFICATE, pair->certificate);
	if (id->ocsp.n) {
		vec_push(&x->staples, (struct tls__staple){ .certificate = id->certificate,
							    .expires = id->ocsp_expires });
		buf_add(&x->staples.items[x->staples.n - 1].der, id->ocsp.p, id->ocsp.n);
	}
	return 0;
}

/* ---- servers ---- */

/*
 * The server's order decides. Without a common protocol the handshake fails with a fatal alert,
 * as RFC 7301, section 3.2, demands. Clients without ALPN do not get here.
 */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
		   const unsigned char *in, unsigned in_n, void *arg)
{
	const struct tls__extra *x = arg;
	unsigned char *chosen;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_n, x->protocols, x->n_protocols, in, in_n) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* Called if the client asks for an OCSP response; the certificate is the one that was selected. */
static int on_status(SSL *ssl, void *arg)
{
	const struct tls__extra *x = arg;
	const X509 *ours = SSL_get_certificate(ssl);

	for (size_t i = 0; i < x->staples.n; i++) {
		const struct tls__staple *s = &x->staples.items[i];

		if (s->certificate != ours || s->expires <= time(NULL))
			continue;
		SSL_set_tlsext_status_ocsp_resp(ssl, OPENSSL_memdup(s->der.p, s->der.n),
						(long)s->der.n);
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_NOACK;
}

/* The result of the verification stays that of the chain, and tls_peer() looks at it. */
static int on_any_client(int verified, X509_STORE_CTX *store)
{
	(void)verified;
	(void)store;
	return 1;
}

/* The names of the authorities tell clients which of their certificates to present. */
static void demand_certificates(struct making *m, SSL_CTX *ctx)
{
	enum tls_clients clients = m->config->clients;
	int mode = SSL_VERIFY_PEER;

	if (clients == TLS_CLIENTS_OFF)
		return;
	if (clients == TLS_CLIENTS_REQUIRED)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	SSL_CTX_set_verify(ctx, mode, clients == TLS_CLIENTS_ANY ? on_any_client : NULL);
	for (int i = 0; i < sk_X509_num(m->authorities); i++)
		SSL_CTX_add_client_CA(ctx, sk_X509_value(m->authorities, i));
}

/* Without keys, tickets are off for TLS 1.2 (SSL_OP_NO_TICKET) and TLS 1.3 (their number). */
static void set_sessions(struct making *m, SSL_CTX *ctx)
{
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_session_id_context(ctx, m->scope, sizeof(m->scope));
	if (!m->config->tickets) {
		SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
		SSL_CTX_set_num_tickets(ctx, 0);
		return;
	}
	tls__extra(ctx)->tickets = tls__tickets_ref(m->config->tickets);
	SSL_CTX_set_timeout(ctx, TLS_TICKET_LIFETIME);
	SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, tls__on_ticket);
}

static int set_up_server(struct making *m, SSL_CTX *ctx, uint64_t mask)
{
	struct tls__extra *x = tls__extra(ctx);
	int r = set_common(m, ctx);

	for (size_t i = 0; i < m->n && r == 0; i++)
		if (mask & UINT64_C(1) << i)
			r = use_pair(m, ctx, i);
	if (r < 0)
		return r;
	demand_certificates(m, ctx);
	set_sessions(m, ctx);
	x->choose = m->config->choose;
	SSL_CTX_set_client_hello_cb(ctx, tls__on_hello, NULL);
	if (x->n_protocols)
		SSL_CTX_set_alpn_select_cb(ctx, on_alpn, x);
	if (x->staples.n) {
		SSL_CTX_set_tlsext_status_cb(ctx, on_status);
		SSL_CTX_set_tlsext_status_arg(ctx, x);
	}
	SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
	return 0;
}

/* ---- the sets of a server ---- */

/* The DNS names of a certificate. Clients have not looked at common names for years. */
static const char *name_at(const struct tls_certificate *c, size_t *i)
{
	for (; *i < c->n_names; (*i)++)
		if (c->names[*i].kind == TLS_NAME_DNS)
			return c->names[(*i)++].value;
	return NULL;
}

static bool lists_name(const struct tls_certificate *c, const char *name)
{
	const char *one;

	for (size_t i = 0; (one = name_at(c, &i));)
		if (str_ieq(str_of(one), str_of(name)))
			return true;
	return false;
}

/* Adds pair i unless the set has one of the same algorithm. */
static void join_set(const struct making *m, uint64_t *mask, size_t i)
{
	for (size_t j = 0; j < m->n; j++)
		if (*mask & UINT64_C(1) << j &&
		    cstr_eq(m->certificates[j].algorithm, m->certificates[i].algorithm))
			return;
	*mask |= UINT64_C(1) << i;
}

/* A wildcard stands in for an algorithm that has no certificate with the very name. */
static uint64_t set_of(const struct making *m, const char *name)
{
	const struct tls_name wanted = { TLS_NAME_DNS, name };
	uint64_t mask = 0;

	for (size_t i = 0; i < m->n; i++)
		if (lists_name(&m->certificates[i], name))
			join_set(m, &mask, i);
	for (size_t i = 0; i < m->n; i++)
		if (tls__certificate_has(m->identities[i].certificate, &wanted, 1))
			join_set(m, &mask, i);
	return mask;
}

/* The first pair, and those of other algorithms that share a name with it. */
static uint64_t first_set(const struct making *m)
{
	uint64_t mask = m->n ? 1 : 0;
	const char *name;

	for (size_t j = 1; j < m->n; j++)
		for (size_t i = 0; (name = name_at(&m->certificates[0], &i));)
			if (lists_name(&m->certificates[j], name)) {
				join_set(m, &mask, j);
				break;
			}
	return mask;
}

/* The SSL_CTX of a mask, made if there is none yet; NULL with *why if it cannot be. */
static SSL_CTX *have_set(struct making *m, SSL_CTX *first, uint64_t *masks, uint64_t mask)
{
	struct tls__extra *x = tls__extra(first);
	SSL_CTX *ctx;

	if (masks[0] == mask)
		return first;
	for (size_t i = 0; i < x->sets.n; i++)
		if (masks[i + 1] == mask)
			return x->sets.items[i];
	if (x->sets.n + 1 == PAIRS_MAX) {
		refuse(m->why, TLS_PART_CERTIFICATE, "too many combinations of names");
		return NULL;
	}
	ctx = new_ctx(TLS_SERVER);
	if (!ctx)
		return NULL;
	masks[x->sets.n + 1] = mask;
	vec_push(&x->sets, ctx);
	return set_up_server(m, ctx, mask) < 0 ? NULL : ctx;
}

static int make_sets(struct making *m, SSL_CTX *first, uint64_t first_mask)
{
	struct tls__extra *x = tls__extra(first);
	uint64_t masks[PAIRS_MAX] = { first_mask };
	const char *name;

	for (size_t p = 0; m->n > 1 && p < m->n; p++)
		for (size_t i = 0; (name = name_at(&m->certificates[p], &i));) {
			SSL_CTX *set;

			if (map_get(&x->set_of_name, name))
				continue;
			set = have_set(m, first, masks, set_of(m, name));
			if (!set)
				return -EINVAL;
			map_put(&x->set_of_name, name, set);
		}
	return 0;
}

/* Names are compared in lower case from here on. */
static void lower_names(struct making *m)
{
	for (size_t p = 0; p < m->n; p++)
		for (size_t i = 0; i < m->certificates[p].n_names; i++) {
			char *at = (char *)(uintptr_t)m->certificates[p].names[i].value;

			for (; m->certificates[p].names[i].kind == TLS_NAME_DNS && *at; at++)
				if (*at >= 'A' && *at <= 'Z')
					*at = (char)(*at - 'A' + 'a');
		}
}

static int make_server(struct making *m, SSL_CTX *ctx)
{
	uint64_t mask = first_set(m);
	int r = set_up_server(m, ctx, mask);

	lower_names(m);
	return r < 0 ? r : make_sets(m, ctx, mask);
}

/* ---- clients ---- */

/* The names of the context are checked with the certificate, so that a failure sends an alert. */
static int on_server_verified(int verified, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	const struct tls__extra *x = tls__extra(SSL_get_SSL_CTX(ssl));

	if (!verified || X509_STORE_CTX_get_error_depth(store) != 0 ||
	    tls__certificate_has(X509_STORE_CTX_get_current_cert(store), x->names, x->n_names))
		return verified;
	X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
	return 0;
}

static void copy_names(const struct tls_config *c, struct tls__extra *to)
{
	to->names = mem_zalloc((c->n_names + 1) * sizeof(to->names[0]));
	to->n_names = c->n_names;
	for (size_t i = 0; i < c->n_names; i++)
		to->names[i] = (struct tls_name){ c->names[i].kind, mem_strdup(c->names[i].value) };
}

static int make_client(struct making *m, SSL_CTX *ctx)
{
	const struct tls_config *c = m->config;
	struct tls__extra *x = tls__extra(ctx);
	int r = set_common(m, ctx);

	if (r == 0 && m->n)
		r = use_pair(m, ctx, 0);
	if (r < 0)
		return r;
	copy_names(c, x);
	if (!c->insecure) {
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, c->n_names ? on_server_verified : NULL);
		if (!m->store)
			SSL_CTX_set_default_verify_paths(ctx);
	}
	if (x->n_protocols)
		SSL_CTX_set_alpn_protos(ctx, x->protocols, x->n_protocols);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	if (c->resume) {
		SSL_CTX_set_session_cache_mode(ctx,
					       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
		SSL_CTX_sess_set_new_cb(ctx, tls__keep_session);
	}
	return 0;
}

/* ---- life ---- */

/* The certificates are described in the context, whose sets borrow their names. */
static void give_certificates(struct making *m, struct tls__extra *to)
{
	to->certificates = TAKE_PTR(m->certificates);
	to->n_certificates = m->n;
}

static int make(struct making *m, SSL_CTX *ctx)
{
	int r = read_pairs(m);

	if (r == 0)
		r = read_authorities(m);
	if (r < 0)
		return r;
	make_scope(m);
	r = m->config->role == TLS_SERVER ? make_server(m, ctx) : make_client(m, ctx);
	give_certificates(m, tls__extra(ctx));
	return r;
}

static void end_making(struct making *m)
{
	for (size_t i = 0; i < m->n; i++)
		tls__identity_free(&m->identities[i]);
	for (size_t i = 0; m->certificates && i < m->n; i++)
		tls__certificate_free(&m->certificates[i]);
	free(m->certificates);
	tls__stack_free(m->authorities);
	X509_STORE_free(m->store);
}

int tls_context_new(const struct tls_config *config, struct tls_context **ret,
		    struct tls_refusal *why)
{
	struct making m = { .config = config, .why = why };
	SSL_CTX *ctx;
	int r;

	assert(config && ret && why && (!config->choose || config->role == TLS_SERVER));
	*why = (struct tls_refusal){ 0 };
	ERR_clear_error();
	ctx = new_ctx(config->role);
	if (!ctx)
		return tls__complain(why, TLS_PART_NONE, "OpenSSL's configuration");
	r = make(&m, ctx);
	end_making(&m);
	if (r < 0)
		SSL_CTX_free(ctx);
	else
		*ret = (struct tls_context *)ctx;
	ERR_clear_error();
	return r;
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
	SSL_CTX_up_ref(tls__ctx(c));
	return c;
}

void tls_context_free(struct tls_context *c)
{
	SSL_CTX_free(tls__ctx(c));
}

size_t tls_context_count(const struct tls_context *c)
{
	return tls__extra(tls__ctx(c))->n_certificates;
}

const struct tls_certificate *tls_context_certificate(const struct tls_context *c, size_t i)
{
	assert(i < tls_context_count(c));
	return &tls__extra(tls__ctx(c))->certificates[i];
}
