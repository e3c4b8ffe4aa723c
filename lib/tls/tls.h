/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: the client side of TLS over a non-blocking socket of the caller's.
 *
 * A context is shared by many connections: it says whether certificates are verified, against the
 * system's trust store (SSL_CERT_FILE and SSL_CERT_DIR are honoured). A connection borrows the
 * socket and never closes it. A session, taken from one connection and given to a later one to the
 * same server, saves most of the handshake (with TLS 1.3 it serves once; the server offers the
 * next); a resumed connection has not seen the certificate again, so whoever cares for its validity
 * resumes for a bounded time only.
 *
 * Nothing blocks, nothing raises SIGPIPE. Calls that cannot go on answer -EAGAIN; then
 * tls_wants_write() tells which way to wait for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tls_context;
struct tls;
struct tls_session;

/* ALPN offers http/1.1 only. NULL when OpenSSL cannot set one up (its configuration is broken). */
struct tls_context *tls_client_context_new(bool verify);
void tls_context_free(struct tls_context *c);

/*
 * name: the DNS name (sent as SNI, and verified) or IP address (verified only) of the server.
 * session may be NULL; it stays the caller's. Sends nothing yet. -EINVAL for a name that is none.
 */
int tls_connect(struct tls_context *c, int fd, const char *name, const struct tls_session *session,
		struct tls **ret);
/* Says no goodbye: the session stays good, the socket is the caller's to end. NULL is fine. */
void tls_free(struct tls *t);

/*
 * 0 when done, -EAGAIN, or a failure: -EKEYREJECTED when the certificate was not accepted, -EPROTO
 * when the other side does not speak TLS as we do, -ECONNRESET when it closed, or the errno of the
 * socket. tls_reason() has OpenSSL's word for the first two.
 */
int tls_handshake(struct tls *t);
bool tls_resumed(const struct tls *t);
const char *tls_reason(const struct tls *t);

/* Bytes taken or given (read: 0 at the end), -EAGAIN, or a failure as of tls_handshake(). */
ssize_t tls_write(struct tls *t, const void *p, size_t n);
ssize_t tls_read(struct tls *t, void *p, size_t n);
bool tls_wants_write(const struct tls *t);

/* The newest session that the server offered, for the caller to keep; NULL when none (or taken). */
struct tls_session *tls_take_session(struct tls *t);
void tls_session_free(struct tls_session *s);
