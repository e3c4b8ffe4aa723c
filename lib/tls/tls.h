/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS over a non-blocking socket of the caller, client and server side.
 *
 * A context is shared by many connections: it holds our certificate, the trusted authorities and
 * the ALPN protocols. A connection holds a reference to its context, which may be freed or
 * replaced while connections are open. A connection borrows the socket and never closes it.
 *
 * A session, taken from one connection and given to a later one to the same server, saves most of
 * the handshake; a TLS 1.3 session is used once, and the server then offers the next one. A
 * resumed connection does not see the certificate again, so a program that checks its validity
 * resumes for a bounded time only.
 *
 * Threads may share a context: it does not change after it was made, and its references are counted
 * atomically. A connection and a session are used by one thread at a time.
 *
 * No call blocks or raises SIGPIPE. A call that cannot proceed returns -EAGAIN; tls_wants_write()
 * then says which direction to wait for.
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
 * A context for an HTTPS client: ALPN offers http/1.1 only. If verify is set, the server is
 * verified against the system's trust store (SSL_CERT_FILE and SSL_CERT_DIR are honoured). NULL
 * if OpenSSL cannot create one, because its configuration file is invalid.
 */
struct tls_context *tls_client_context_new(bool verify);

/* Paths of PEM files; NULL for none. They are read once, when the context is made. */
struct tls_files {
	const char *certificate; /* ours, followed by the intermediate certificates */
	const char *key;	 /* of that certificate */
	const char *ca;		 /* authorities that may sign the peer's certificate */
};

/*
 * Contexts for HTTP/2: TLS 1.2 or newer, ALPN h2 only. A server needs certificate and key; with a
 * ca, clients must present a certificate that it signed. A client verifies the server against ca
 * or, without one, the system's trust store; its certificate and key, if given, are presented on
 * request. -EINVAL with the file and the error in reason; *ret is untouched then. The caller
 * frees *ret with tls_context_free().
 */
int tls_h2_server_context_new(const struct tls_files *files, struct tls_context **ret, char *reason,
			      size_t reason_size);
/*
 * The same with ALPN http/1.1 or http/1.0 instead of h2; http/1.1 wins if a client offers both.
 * Both servers also accept clients without ALPN.
 */
int tls_http_server_context_new(const struct tls_files *files, struct tls_context **ret,
				char *reason, size_t reason_size);
int tls_h2_client_context_new(const struct tls_files *files, struct tls_context **ret, char *reason,
			      size_t reason_size);
void tls_context_free(struct tls_context *c);

/*
 * name is the server's DNS name (sent as SNI and verified) or IP address (verified only). session
 * may be NULL and stays the caller's. Sends nothing yet. -EINVAL for an invalid name; *ret is
 * untouched then.
 */
int tls_connect(struct tls_context *c, int fd, const char *name, const struct tls_session *session,
		struct tls **ret);
/* The server side. Sends nothing yet. */
struct tls *tls_accept(struct tls_context *c, int fd);
/*
 * Frees the connection without sending close_notify: the session stays resumable, and the caller
 * closes the socket. NULL is allowed.
 */
void tls_free(struct tls *t);

/*
 * 0 if done, -EAGAIN, or a failure: -EKEYREJECTED if the certificate was not accepted, -EPROTO
 * for a TLS protocol error, -ECONNRESET if the peer closed, or the errno of the socket.
 * tls_reason() has OpenSSL's text for the first two; it lives as long as t.
 */
int tls_handshake(struct tls *t);
bool tls_resumed(const struct tls *t);
const char *tls_reason(const struct tls *t);
/* The protocol that ALPN selected, borrowed from t; empty if none. */
struct str tls_protocol(const struct tls *t);
/* The common name of the peer's verified certificate; NULL without one. Lives as long as t. */
const char *tls_peer_name(struct tls *t);

/*
 * The number of bytes written or read (read: 0 at the end of the stream), -EAGAIN, or a failure
 * as of tls_handshake(). n must not be 0. Fewer bytes than n may be written.
 */
ssize_t tls_write(struct tls *t, const void *p, size_t n);
ssize_t tls_read(struct tls *t, void *p, size_t n);
bool tls_wants_write(const struct tls *t);
/*
 * Whether the caller should read again without waiting for the socket: decrypted bytes are
 * buffered, or the last call stopped at its bound. One call reads a bounded number of times from
 * the socket, so that tiny records cannot hold the loop.
 */
bool tls_has_more(const struct tls *t);

/*
 * The newest session that the server offered, which the caller then owns; NULL if there is none
 * or it was already taken.
 */
struct tls_session *tls_take_session(struct tls *t);
void tls_session_free(struct tls_session *s);
