/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS over a non-blocking socket of the caller's, both sides.
 *
 * A context is shared by many connections: it says who we are, whom we trust and what is spoken
 * inside. A connection keeps what it needs of its context, which may be freed or replaced while
 * connections last; it borrows the socket and never closes it. A session, taken from one connection
 * and given to a later one to the same server, saves most of the handshake (with TLS 1.3 it serves
 * once; the server offers the next); a resumed connection has not seen the certificate again, so
 * whoever cares for its validity resumes for a bounded time only.
 *
 * Nothing blocks, nothing raises SIGPIPE. Calls that cannot go on answer -EAGAIN; then
 * tls_wants_write() tells which way to wait for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

struct tls_context;
struct tls;
struct tls_session;

/*
 * For HTTPS: ALPN offers http/1.1 only; verified, if at all, against the system's trust store
 * (SSL_CERT_FILE and SSL_CERT_DIR are honoured). NULL when OpenSSL cannot set one up (its
 * configuration is broken).
 */
struct tls_context *tls_client_context_new(bool verify);

/* Names of PEM files; NULL: none. */
struct tls_files {
	const char *certificate; /* ours, with what leads to its authority behind it */
	const char *key;	 /* of it */
	const char *ca;		 /* who may sign the other side's */
};

/*
 * For HTTP/2: TLS 1.2 or newer, ALPN h2 and nothing else. A server needs certificate and key; with
 * a ca, clients must show a certificate that it signed. A client verifies the server against ca or,
 * without one, the system's trust store; certificate and key, if given, are shown when asked for.
 * -EINVAL with the file and the trouble in reason; *ret untouched then.
 */
int tls_h2_server_context_new(const struct tls_files *files, struct tls_context **ret, char *reason,
			      size_t reason_size);
/*
 * The same with ALPN http/1.1 or http/1.0 in the place of h2, the newer one where a client offers
 * both. Clients without ALPN are welcome in both contexts.
 */
int tls_http_server_context_new(const struct tls_files *files, struct tls_context **ret,
				char *reason, size_t reason_size);
int tls_h2_client_context_new(const struct tls_files *files, struct tls_context **ret, char *reason,
			      size_t reason_size);
void tls_context_free(struct tls_context *c);

/*
 * name: the DNS name (sent as SNI, and verified) or IP address (verified only) of the server.
 * session may be NULL; it stays the caller's. Sends nothing yet. -EINVAL for a name that is none.
 */
int tls_connect(struct tls_context *c, int fd, const char *name, const struct tls_session *session,
		struct tls **ret);
/* The server's side. Sends nothing yet. */
struct tls *tls_accept(struct tls_context *c, int fd);
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
/* What ALPN agreed on; empty when nothing. */
struct str tls_protocol(const struct tls *t);
/* The common name of the other side's verified certificate; NULL without one. Lives as t does. */
const char *tls_peer_name(struct tls *t);

/* Bytes taken or given (read: 0 at the end), -EAGAIN, or a failure as of tls_handshake(). */
ssize_t tls_write(struct tls *t, const void *p, size_t n);
ssize_t tls_read(struct tls *t, void *p, size_t n);
bool tls_wants_write(const struct tls *t);
/*
 * Going on makes sense although the socket may never be readable again: decrypted bytes wait, or
 * the last call stopped at its bound. One call reads at most a bounded number of times from the
 * socket, so that tiny records cannot keep it busy.
 */
bool tls_has_more(const struct tls *t);

/* The newest session that the server offered, for the caller to keep; NULL when none (or taken). */
struct tls_session *tls_take_session(struct tls *t);
void tls_session_free(struct tls_session *s);
