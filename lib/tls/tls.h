/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS 1.2 and 1.3 over a non-blocking socket, both sides (OpenSSL).
 *
 * A context has what connections share: our certificates, the trusted authorities, the ALPN
 * protocols, the versions. It is made from one struct tls_config and never changes. To replace it
 * at run time, the program makes another one, uses that for new connections, and frees the old
 * one: connections hold references of their own. A connection borrows the socket and never closes
 * it.
 *
 * A session, taken from one connection and given to a later one to the same server, saves most of
 * the handshake; a TLS 1.3 session is used once, and the server then offers the next one. A
 * resumed connection does not see the certificate again, so a program that checks its validity
 * resumes for a bounded time only.
 *
 * Threads may share a context and keys of tickets. A connection and a session are used by one
 * thread at a time.
 *
 * No call blocks, except that tls_context_new() reads files, and none raises SIGPIPE. A call that
 * cannot proceed returns -EAGAIN; tls_wants_write() then says which direction to wait for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

struct tls_context;
struct tls;
struct tls_session;
struct tls_tickets;

/* ---- contexts ---- */

/*
 * A certificate, a key and authorities are PEM: the path of a file, or the text itself, which
 * begins with "-----BEGIN". NULL: none. A key must not be encrypted. At most TLS_PEM_MAX bytes.
 */
#define TLS_PEM_MAX ((size_t)4 * 1024 * 1024)
bool tls_is_pem(const char *text);

/* A pair without certificate and key counts as absent. */
struct tls_pair {
	const char *certificate; /* ours, followed by the intermediate certificates */
	const char *key;	 /* of that certificate */
	const char *ocsp;	 /* the path of an OCSP response (DER), or NULL; see below */
};

/* One pair and the authorities of the peer, for programs whose flags name files. */
struct tls_files {
	const char *certificate, *key, *ca;
};

enum tls_role {
	TLS_CLIENT,
	TLS_SERVER,
};

/* The lowest version that is accepted. */
enum tls_version {
	TLS_1_2,
	TLS_1_3,
	TLS_SYSTEM, /* what OpenSSL's configuration file allows */
};

/* What a server wants of clients. All but OFF ask for a certificate and need a ca. */
enum tls_clients {
	TLS_CLIENTS_OFF,
	TLS_CLIENTS_OPTIONAL, /* no certificate is fine, an invalid one is refused */
	TLS_CLIENTS_REQUIRED,
	TLS_CLIENTS_ANY, /* nothing is refused; tls_peer() is NULL if ca did not sign it */
};

enum tls_name_kind {
	TLS_NAME_DNS,
	TLS_NAME_URI,
	TLS_NAME_IP,
	TLS_NAME_EMAIL,
};

/* A subject alternative name. */
struct tls_name {
	enum tls_name_kind kind;
	const char *value;
};

struct tls_config {
	enum tls_role role;
	enum tls_version minimum;
	/*
	 * A server has at least one, or choose(). Of several, the server name in the ClientHello
	 * chooses by the names in the certificates: the same name, then a wildcard, then the first
	 * pair. Pairs of several algorithms with the same name serve the clients that know them
	 * (ECDSA beside RSA). An OCSP response is sent to clients that ask for it until the
	 * response expires. A client has at most one pair, which it presents on request.
	 */
	const struct tls_pair *pairs;
	size_t n_pairs;
	/* PEM. NULL: a client uses the system's trust store (SSL_CERT_FILE, SSL_CERT_DIR). */
	const char *ca;
	/*
	 * ALPN in the order of preference, "h2,http/1.1"; NULL: none. A server accepts clients
	 * without ALPN, and refuses those that offer none of its protocols.
	 */
	const char *protocols;
	/*
	 * OpenSSL's names with ":" between them; those that begin with "TLS_" are of TLS 1.3. A
	 * version for which there is none has its default: all of TLS 1.3; of TLS 1.2, a server
	 * has those with forward secrecy and authenticated encryption, a client OpenSSL's list.
	 */
	const char *ciphers;

	/* servers */
	enum tls_clients clients;
	/*
	 * The context takes a reference. NULL: sessions are not resumed. They are resumed only by
	 * contexts with the same scope (NULL: the empty one), clients and ca.
	 */
	struct tls_tickets *tickets;
	const char *scope;
	/*
	 * Called by tls_handshake() when the ClientHello is complete; name is its server name in
	 * lower case, empty if there is none. Returns the context, borrowed, that has everything
	 * for this connection except the keys of tickets, or NULL to refuse it with the alert
	 * unrecognized_name. user is that of tls_set_user().
	 */
	struct tls_context *(*choose)(void *user, struct str name);

	/* clients */
	bool insecure; /* the server is not verified */
	bool resume;   /* sessions are kept for tls_take_session() */
	/*
	 * The server's certificate needs one of these (DNS or URI), instead of the name that is
	 * given to tls_connect().
	 */
	const struct tls_name *names;
	size_t n_names;
};

/* What a context could not be made of. */
enum tls_part {
	TLS_PART_NONE,
	TLS_PART_CERTIFICATE,
	TLS_PART_KEY,
	TLS_PART_OCSP,
	TLS_PART_CA,
	TLS_PART_CIPHERS,
	TLS_PART_PROTOCOLS,
};

struct tls_refusal {
	enum tls_part part;
	size_t pair;	  /* its index, for the first three parts */
	char reason[256]; /* with the path, if there is one; never with text of a PEM */
};

/*
 * -EINVAL with *why; *ret is untouched then. config and all it points to are borrowed for the call.
 * The caller frees *ret with tls_context_free().
 */
int tls_context_new(const struct tls_config *config, struct tls_context **ret,
		    struct tls_refusal *why);
struct tls_context *tls_context_ref(struct tls_context *c);
/* Drops a reference. NULL is allowed. */
void tls_context_free(struct tls_context *c);

/* A certificate as people see it. */
struct tls_certificate {
	const char *subject, *issuer;  /* RFC 2253 */
	const char *name;	       /* the last common name of subject; NULL without one */
	const char *serial;	       /* hexadecimal */
	const char *algorithm;	       /* of its key: "RSA", "EC", ... */
	char fingerprint[65];	       /* SHA-256, hexadecimal */
	int64_t not_before, not_after; /* seconds since the epoch */
	const struct tls_name *names;  /* subject alternative names */
	size_t n_names;
};

/* Our certificates in the order of the pairs; they live as long as c. */
size_t tls_context_count(const struct tls_context *c);
const struct tls_certificate *tls_context_certificate(const struct tls_context *c, size_t i);

/* ---- keys of session tickets ---- */

#define TLS_TICKET_KEYS 3		     /* of each set; a rotation drops the oldest */
#define TLS_TICKET_KEY 80		     /* bytes */
#define TLS_TICKET_LIFETIME ((long)4 * 3600) /* seconds a session may be resumed */
#define TLS_TICKETS_SIZE ((size_t)TLS_TICKET_KEYS * TLS_TICKET_KEY)

/* Keys that threads share, with one random key. */
struct tls_tickets *tls_tickets_new(void);
void tls_tickets_free(struct tls_tickets *t);
/* A new key encrypts from now on. Tickets of the older keys are accepted, and renewed. */
void tls_tickets_rotate(struct tls_tickets *t);
/* The keys for another process, newest first. Returns the number of bytes. */
size_t tls_tickets_save(struct tls_tickets *t, uint8_t ret[static TLS_TICKETS_SIZE]);
/* Replaces all keys by saved ones. -EINVAL for a size that no saved keys have. */
int tls_tickets_load(struct tls_tickets *t, const void *p, size_t n);

/* ---- connections ---- */

/*
 * name is the server's DNS name (sent as SNI, and verified unless the context has names) or IP
 * address (verified only). It may be NULL if the context is insecure or has names: no SNI then.
 * session may be NULL and stays the caller's; it comes from a connection with the same name and
 * with a context of the same settings. Sends nothing yet. -EINVAL for an invalid name; *ret is
 * untouched then.
 */
int tls_connect(struct tls_context *c, int fd, const char *name, const struct tls_session *session,
		struct tls **ret);
/* The server side. Sends nothing yet. */
struct tls *tls_accept(struct tls_context *c, int fd);
/* For choose(). Must be set before the handshake of a context that has choose(). */
void tls_set_user(struct tls *t, void *user);
/* Bytes that the caller has read from the socket before the handshake: they come first. Copied. */
void tls_feed(struct tls *t, const void *p, size_t n);
/*
 * Sends close_notify, which says that nothing was cut off, if the socket takes it at once.
 * Nothing can be written after that; reading goes on.
 */
void tls_end(struct tls *t);
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
/* Whether the handshake failed because the client speaks HTTP without TLS. */
bool tls_got_http(const struct tls *t);
/* The protocol that ALPN selected, borrowed from t; empty if none. */
struct str tls_protocol(const struct tls *t);
/* Servers: the name in the ClientHello in lower case, borrowed from t; empty if none. */
struct str tls_server_name(const struct tls *t);
/* "TLSv1.3" and the name of the cipher; after the handshake. */
const char *tls_version_name(const struct tls *t);
const char *tls_cipher_name(const struct tls *t);
/* The peer's verified certificate; NULL without one. Lives as long as t. */
const struct tls_certificate *tls_peer(struct tls *t);
/* Its common name; NULL without one. */
const char *tls_peer_name(struct tls *t);

/*
 * The number of bytes written or read (read: 0 at the end of the stream), -EAGAIN, or a failure
 * as of tls_handshake(). n must not be 0. Fewer bytes than n may be written.
 */
ssize_t tls_write(struct tls *t, const void *p, size_t n);
ssize_t tls_read(struct tls *t, void *p, size_t n);
bool tls_wants_write(const struct tls *t);
/*
 * Whether the caller should read again without waiting for the socket: bytes are buffered, or the
 * last call stopped at its bound. One call reads a bounded number of times from the socket, so that
 * tiny records cannot hold the loop.
 */
bool tls_has_more(const struct tls *t);

/*
 * The newest session that the server offered, which the caller then owns; NULL if there is none
 * or it was already taken.
 */
struct tls_session *tls_take_session(struct tls *t);
void tls_session_free(struct tls_session *s);
