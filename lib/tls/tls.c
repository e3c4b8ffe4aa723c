/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: OpenSSL behind a small door; nobody else includes its headers.
 *
 * A struct tls is one SSL with a BIO of our own over the socket, because OpenSSL's writes with
 * write(), which raises SIGPIPE. Sessions reach us through a callback (TLS 1.3 sends its tickets
 * after the handshake, while the answer is read); the newest one waits in the struct tls until it
 * is taken. OpenSSL's own caches stay off.
 *
 * A struct tls_session is an SSL_SESSION under another name. A struct tls_context is an SSL_CTX.
 */
#include "lib/tls/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mem.h"

struct tls {
	SSL *ssl;
	int fd;
	int sys_errno; /* of the last call on the socket that failed */
	bool ended;    /* the socket gave end of file */
	SSL_SESSION *offered;
	char reason[96];
};

static int on_bio_write(BIO *bio, const char *p, size_t n, size_t *ret_n)
{
	struct tls *t = BIO_get_data(bio);
	ssize_t sent = send(t->fd, p, n, MSG_NOSIGNAL);

	BIO_clear_retry_flags(bio);
	if (sent >= 0) {
		*ret_n = (size_t)sent;
		return 1;
	}
	if (errno == EAGAIN || errno == EINTR)
		BIO_set_retry_write(bio);
	else
		t->sys_errno = errno;
	return 0;
}

static int on_bio_read(BIO *bio, char *p, size_t n, size_t *ret_n)
{
	struct tls *t = BIO_get_data(bio);
	ssize_t got = recv(t->fd, p, n, 0);

	BIO_clear_retry_flags(bio);
	if (got > 0) {
		*ret_n = (size_t)got;
		return 1;
	}
	if (got == 0)
		t->ended = true;
	else if (errno == EAGAIN || errno == EINTR)
		BIO_set_retry_read(bio);
	else
		t->sys_errno = errno;
	return 0;
}

static long on_bio_control(BIO *bio, int command, long number, void *p)
{
	const struct tls *t = BIO_get_data(bio);

	(void)number;
	(void)p;
	if (command == BIO_CTRL_EOF)
		return t->ended;
	return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

/* One for the process; freed at its end only. */
static BIO_METHOD *socket_method(void)
{
	static BIO_METHOD *method;

	if (method)
		return method;
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
	if (!method)
		abort();
	BIO_meth_set_write_ex(method, on_bio_write);
	BIO_meth_set_read_ex(method, on_bio_read);
	BIO_meth_set_ctrl(method, on_bio_control);
	return method;
}

static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = SSL_get_app_data(ssl);

	SSL_SESSION_free(t->offered);
	t->offered = session;
	return 1; /* the reference is ours now */
}

static SSL_CTX *from_context(struct tls_context *c)
{
	return (SSL_CTX *)c;
}

struct tls_context *tls_client_context_new(bool verify)
{
	static const unsigned char http11[] = "\x08http/1.1";
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (!ctx)
		return NULL;
	if (verify) {
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_default_verify_paths(ctx);
	}
	SSL_CTX_set_alpn_protos(ctx, http11, sizeof(http11) - 1);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* Many servers just close; HTTP itself tells whether the answer was whole. */
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, on_new_session);
	return (struct tls_context *)ctx;
}

void tls_context_free(struct tls_context *c)
{
	SSL_CTX_free(from_context(c));
}

/* An address is verified as one and never sent: RFC 6066 allows only names in SNI. */
static bool set_name(SSL *ssl, const char *name)
{
	struct addr a;

	if (addr_parse(name, &a) == 0)
		return X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), a.bytes,
						 a.family == AF_INET ? 4 : 16) == 1;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	/* SSL_set_tlsext_host_name() without its cast */
	return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			(void *)(uintptr_t)name) == 1 &&
	       SSL_set1_host(ssl, name) == 1;
}

static struct tls *wrap(struct tls_context *c, int fd)
{
	struct tls *t = mem_zalloc(sizeof(*t));
	BIO *bio = BIO_new(socket_method());

	t->fd = fd;
	t->ssl = SSL_new(from_context(c));
	if (!t->ssl || !bio)
		abort(); /* out of memory, as base/mem.h does */
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_app_data(t->ssl, t);
	SSL_set_connect_state(t->ssl);
	return t;
}

int tls_connect(struct tls_context *c, int fd, const char *name, const struct tls_session *session,
		struct tls **ret)
{
	struct tls *t;

	assert(c && fd >= 0 && name && ret);
	ERR_clear_error();
	t = wrap(c, fd);
	if (!*name || !set_name(t->ssl, name)) {
		tls_free(t);
		return -EINVAL;
	}
	/* Counts a reference and changes nothing else. One that does not fit is left out. */
	if (session)
		SSL_set_session(t->ssl, (SSL_SESSION *)(uintptr_t)session);
	*ret = t;
	return 0;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	/* As if both had said goodbye: without it OpenSSL declares the session bad. */
	SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(t->ssl);
	SSL_SESSION_free(t->offered);
	ERR_clear_error();
	free(t);
}

static int protocol_failure(struct tls *t)
{
	long verdict = SSL_get_verify_result(t->ssl);
	unsigned long code = ERR_peek_error();
	const char *word = ERR_reason_error_string(code);

	if (SSL_get_verify_mode(t->ssl) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
		snprintf(t->reason, sizeof(t->reason), "%s",
			 X509_verify_cert_error_string(verdict));
		return -EKEYREJECTED;
	}
	snprintf(t->reason, sizeof(t->reason), "%s", word ? word : "no word for it");
	return -EPROTO;
}

/* What the call on t->ssl that returned r means; 0 is the orderly end. */
static int judge(struct tls *t, int r)
{
	int kind = SSL_get_error(t->ssl, r);
	int result;

	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (kind == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (t->sys_errno)
		result = -t->sys_errno;
	else if (t->ended)
		result = -ECONNRESET;
	else
		result = protocol_failure(t);
	ERR_clear_error();
	return result;
}

int tls_handshake(struct tls *t)
{
	int r;

	assert(t);
	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	if (r == 1)
		return 0;
	r = judge(t, r);
	return r ? r : -ECONNRESET;
}

bool tls_resumed(const struct tls *t)
{
	return SSL_session_reused(t->ssl);
}

const char *tls_reason(const struct tls *t)
{
	return t->reason;
}

ssize_t tls_write(struct tls *t, const void *p, size_t n)
{
	size_t done;
	int r;

	assert(t && p && n);
	ERR_clear_error();
	r = SSL_write_ex(t->ssl, p, n, &done);
	if (r == 1)
		return (ssize_t)done;
	r = judge(t, r);
	return r ? r : -ECONNRESET;
}

ssize_t tls_read(struct tls *t, void *p, size_t n)
{
	size_t done;
	int r;

	assert(t && p && n);
	ERR_clear_error();
	r = SSL_read_ex(t->ssl, p, n, &done);
	return r == 1 ? (ssize_t)done : judge(t, r);
}

bool tls_wants_write(const struct tls *t)
{
	return SSL_want_write(t->ssl);
}

struct tls_session *tls_take_session(struct tls *t)
{
	SSL_SESSION *s = TAKE_PTR(t->offered);

	if (s && !SSL_SESSION_is_resumable(s)) {
		SSL_SESSION_free(s);
		s = NULL;
	}
	return (struct tls_session *)s;
}

void tls_session_free(struct tls_session *s)
{
	SSL_SESSION_free((SSL_SESSION *)s);
}
