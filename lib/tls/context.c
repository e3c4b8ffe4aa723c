/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: our certificate, the trusted authorities, the ALPN protocols.
 *
 * A context is an SSL_CTX and nothing else. Every SSL holds its own reference, so a server can
 * replace its context for new connections without affecting open ones. Servers offer no sessions,
 * because a resumed client would not present its certificate again.
 */
#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/tls/tls_private.h"

/* ALPN protocols in the order of preference, each after its length (RFC 7301, section 3.1). */
static const unsigned char http11[] = "\x08http/1.1";
static const unsigned char http1[] = "\x08http/1.1\x08http/1.0";
static const unsigned char h2[] = "\x02h2";

/*
 * Partial writes and moving buffers: a write that got -EAGAIN may be repeated from another
 * address and with more bytes. Buffers are released while a connection is idle, which saves some
 * 34 KiB.
 */
static SSL_CTX *new_ctx(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/*
	 * Many servers close without close_notify; HTTP itself shows whether a message is
	 * complete.
	 */
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	return ctx;
}

struct tls_context *tls_client_context_new(bool verify)
{
	SSL_CTX *ctx = new_ctx(TLS_client_method());

	if (!ctx)
		return NULL;
	if (verify) {
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_default_verify_paths(ctx);
	}
	SSL_CTX_set_alpn_protos(ctx, http11, sizeof(http11) - 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, tls__keep_session);
	return (struct tls_context *)ctx;
}

void tls_context_free(struct tls_context *c)
{
	SSL_CTX_free(tls__ctx(c));
}

/* Where the public functions put the reason. */
struct complaint {
	char *reason;
	size_t size;
};

/* Writes "file: reason", with the system's error text if the file could not be read. -EINVAL. */
static int complain(const struct complaint *to, const char *file)
{
	unsigned long code = ERR_peek_error();
	const char *word = ERR_reason_error_string(code);

	if (ERR_SYSTEM_ERROR(code))
		word = strerrordesc_np(ERR_GET_REASON(code));
	snprintf(to->reason, to->size, "%s: %s", file, word ? word : "cannot be used");
	ERR_clear_error();
	return -EINVAL;
}

static int load(SSL_CTX *ctx, const struct tls_files *files, const struct complaint *to)
{
	ERR_clear_error();
	if (files->certificate && SSL_CTX_use_certificate_chain_file(ctx, files->certificate) != 1)
		return complain(to, files->certificate);
	if (files->key && SSL_CTX_use_PrivateKey_file(ctx, files->key, SSL_FILETYPE_PEM) != 1)
		return complain(to, files->key);
	if (files->ca && SSL_CTX_load_verify_file(ctx, files->ca) != 1)
		return complain(to, files->ca);
	return 0;
}

/* Certificate and key need each other; OpenSSL would notice only in the first handshake. */
static int check_pair(const struct tls_files *files, bool needed, const struct complaint *to)
{
	if (!files->certificate != !files->key)
		snprintf(to->reason, to->size, "certificate and key come together");
	else if (!files->certificate && needed)
		snprintf(to->reason, to->size, "a server needs a certificate and its key");
	else
		return 0;
	return -EINVAL;
}

/*
 * The server's order decides. Without a common protocol the handshake fails with a fatal alert,
 * as RFC 7301, section 3.2, demands. Clients without ALPN do not get here.
 */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
		   const unsigned char *in, unsigned in_n, void *arg)
{
	unsigned ours = (unsigned)strlen(arg);
	unsigned char *chosen;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_n, arg, ours, in, in_n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* The names of the authorities tell clients which of their certificates to present. */
static void demand_certificates(SSL_CTX *ctx, const char *ca)
{
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(ca));
}

/* Tickets are switched off for TLS 1.2 (SSL_OP_NO_TICKET) and TLS 1.3 (number of tickets). */
static int set_up_server(SSL_CTX *ctx, const struct tls_files *files,
			 const unsigned char *protocols, const struct complaint *to)
{
	int r = check_pair(files, true, to);

	if (r == 0)
		r = load(ctx, files, to);
	if (r < 0)
		return r;
	if (files->ca)
		demand_certificates(ctx, files->ca);
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, (void *)(uintptr_t)protocols);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_num_tickets(ctx, 0);
	return 0;
}

static int set_up_h2_server(SSL_CTX *ctx, const struct tls_files *files, const struct complaint *to)
{
	return set_up_server(ctx, files, h2, to);
}

static int set_up_http_server(SSL_CTX *ctx, const struct tls_files *files,
			      const struct complaint *to)
{
	return set_up_server(ctx, files, http1, to);
}

static int set_up_client(SSL_CTX *ctx, const struct tls_files *files, const struct complaint *to)
{
	int r = check_pair(files, false, to);

	if (r == 0)
		r = load(ctx, files, to);
	if (r < 0)
		return r;
	if (!files->ca)
		SSL_CTX_set_default_verify_paths(ctx);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_alpn_protos(ctx, h2, sizeof(h2) - 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return 0;
}

typedef int (*set_up_fn)(SSL_CTX *ctx, const struct tls_files *files, const struct complaint *to);

/*
 * Renegotiation is forbidden with HTTP/2 (RFC 9113, section 9.2.1), and it would cost us
 * processor time at the peer's will.
 */
static int make(const SSL_METHOD *method, set_up_fn set_up, const struct tls_files *files,
		const struct complaint *to, struct tls_context **ret)
{
	SSL_CTX *ctx = new_ctx(method);
	int r;

	if (!ctx)
		return complain(to, "OpenSSL's configuration");
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
	r = set_up(ctx, files, to);
	if (r < 0)
		SSL_CTX_free(ctx);
	else
		*ret = (struct tls_context *)ctx;
	return r;
}

int tls_h2_server_context_new(const struct tls_files *files, struct tls_context **ret, char *reason,
			      size_t reason_size)
{
	const struct complaint to = { reason, reason_size };

	assert(files && ret && reason && reason_size);
	return make(TLS_server_method(), set_up_h2_server, files, &to, ret);
}

int tls_http_server_context_new(const struct tls_files *files, struct tls_context **ret,
				char *reason, size_t reason_size)
{
	const struct complaint to = { reason, reason_size };

	assert(files && ret && reason && reason_size);
	return make(TLS_server_method(), set_up_http_server, files, &to, ret);
}

int tls_h2_client_context_new(const struct tls_files *files, struct tls_context **ret, char *reason,
			      size_t reason_size)
{
	const struct complaint to = { reason, reason_size };

	assert(files && ret && reason && reason_size);
	return make(TLS_client_method(), set_up_client, files, &to, ret);
}
