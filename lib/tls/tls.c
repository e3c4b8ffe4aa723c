/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: the only room that includes OpenSSL's headers.
 *
 * A struct tls is one SSL with our own BIO over the socket, because OpenSSL's socket BIO uses
 * write(), which raises SIGPIPE. Sessions arrive through a callback (TLS 1.3 sends its tickets
 * after the handshake, while the response is read); the newest one is kept in the struct tls
 * until it is taken. OpenSSL's own session caches are off.
 *
 * One call reads a bounded number of times and bytes. Without these bounds OpenSSL would continue
 * for as long as the peer sends records that it skips or collects (hello requests, tickets, a
 * ClientHello in records of one byte), and the loop would stop. At the bound the BIO reports an
 * empty socket and tls_has_more() is true.
 *
 * OpenSSL asks for the five bytes of a record's header and then for its body. Both come from one
 * recv() into a buffer on the stack of the call. What is left at its end, which is rare, moves to
 * the heap and comes first in the next call.
 *
 * A struct tls_session is an SSL_SESSION under another name. A struct tls_context is an SSL_CTX,
 * made in context.c.
 */
#include "lib/tls/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/tls/tls_private.h"

#define READ_PER_CALL ((size_t)64 * 1024)
#define READS_PER_CALL 32 /* two per record: its header and its body */
#define RECORD_HEADER 5
#define RECORD_MAX (RECORD_HEADER + 16384 + 256)

struct tls {
	SSL *ssl;
	int fd;
	int sys_errno;	/* errno of the last failed socket call */
	bool ended;	/* the socket gave end of file */
	size_t got;	/* bytes that the current call has read from the socket */
	unsigned reads; /* and how often OpenSSL has asked for bytes */
	bool cut;	/* the call stopped at one of its bounds */
	bool without;	/* the server asked for a certificate, and we have none */
	bool http;	/* the client speaks HTTP without TLS */
	char *room;	/* where recv() writes, during a call */
	bool in_room;
	struct str ahead;	      /* unread bytes, in room or in kept */
	char *kept;		      /* the unread bytes between calls */
	SSL_SESSION *offered;	      /* newest session, not taken yet */
	bool renewed;		      /* the session of a resumed connection was taken */
	SSL_CTX *origin;	      /* the context that was given; the SSL has a reference */
	void *user;		      /* for choose() */
	char *server_name;	      /* in the ClientHello; NULL: none */
	struct tls_certificate *peer; /* cached by tls_peer() */
	char reason[96];	      /* text of the last protocol or certificate failure */
};

/* A BIO returns 0 for failure; the retry flag makes OpenSSL report SSL_ERROR_WANT_WRITE. */
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

static size_t take_ahead(struct tls *t, char *p, size_t n)
{
	size_t take = n < t->ahead.n ? n : t->ahead.n;

	memcpy(p, t->ahead.p, take);
	t->ahead.p += take;
	t->ahead.n -= take;
	return take;
}

/* A large body goes where OpenSSL wants it; small reads share one recv(). */
static ssize_t receive(struct tls *t, char *p, size_t n)
{
	ssize_t got;

	if (!t->room || n >= RECORD_MAX / 2) {
		got = recv(t->fd, p, n, 0);
		t->got += got > 0 ? (size_t)got : 0;
		return got;
	}
	got = recv(t->fd, t->room, RECORD_MAX, 0);
	if (got <= 0)
		return got;
	t->got += (size_t)got;
	t->ahead = (struct str){ t->room, (size_t)got };
	t->in_room = true;
	return (ssize_t)take_ahead(t, p, n);
}

/* At a bound it behaves like an empty socket; `cut` makes tls_has_more() true. */
static int on_bio_read(BIO *bio, char *p, size_t n, size_t *ret_n)
{
	struct tls *t = BIO_get_data(bio);
	ssize_t got;

	BIO_clear_retry_flags(bio);
	if (t->reads++ >= READS_PER_CALL || t->got >= READ_PER_CALL) {
		t->cut = true;
		BIO_set_retry_read(bio);
		return 0;
	}
	got = t->ahead.n ? (ssize_t)take_ahead(t, p, n) : receive(t, p, n);
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

/* OpenSSL fails without an answer to FLUSH; EOF lets it tell a closed connection from an error. */
static long on_bio_control(BIO *bio, int command, long number, void *p)
{
	const struct tls *t = BIO_get_data(bio);

	(void)number;
	(void)p;
	if (command == BIO_CTRL_EOF)
		return t->ended;
	return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

static BIO_METHOD *socket_method; /* one per process; never freed */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_socket_method(void)
{
	int type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK;

	socket_method = BIO_meth_new(type, "socket without SIGPIPE");
	if (!socket_method)
		abort();
	BIO_meth_set_write_ex(socket_method, on_bio_write);
	BIO_meth_set_read_ex(socket_method, on_bio_read);
	BIO_meth_set_ctrl(socket_method, on_bio_control);
}

int tls__keep_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = SSL_get_app_data(ssl);

	SSL_SESSION_free(t->offered);
	t->offered = session;
	return 1; /* the reference is ours now */
}

struct str tls__keep_name(SSL *ssl, struct str name)
{
	struct tls *t = SSL_get_app_data(ssl);
	char *to = mem_alloc(name.n + 1);

	for (size_t i = 0; i < name.n; i++)
		to[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] | 0x20 : name.p[i]);
	to[name.n] = '\0';
	free(t->server_name);
	t->server_name = to;
	return (struct str){ to, name.n };
}

void *tls__user(const SSL *ssl)
{
	const struct tls *t = SSL_get_app_data(ssl);

	return t->user;
}

struct tls_tickets *tls__tickets_of(const SSL *ssl)
{
	const struct tls *t = SSL_get_app_data(ssl);

	return tls__extra(t->origin)->tickets;
}

/* An IP address is verified but never sent: RFC 6066, section 3, allows only DNS names in SNI. */
static bool set_name(SSL *ssl, const char *name, bool verified)
{
	struct addr a;

	if (!name || !*name)
		return !name && !verified;
	if (addr_parse(name, &a) == 0)
		return !verified || X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), a.bytes,
							      a.family == AF_INET ? 4 : 16) == 1;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	/* SSL_set_tlsext_host_name() without its cast */
	return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			(void *)(uintptr_t)name) == 1 &&
	       (!verified || SSL_set1_host(ssl, name) == 1);
}

/* An insecure context verifies nothing; one with names of its own verifies those. */
static bool verifies_name(SSL_CTX *ctx)
{
	return SSL_CTX_get_verify_mode(ctx) != SSL_VERIFY_NONE && !tls__extra(ctx)->n_names;
}

static struct tls *wrap(struct tls_context *c, int fd)
{
	struct tls *t = mem_zalloc(sizeof(*t));
	BIO *bio;

	pthread_once(&once, make_socket_method);
	bio = BIO_new(socket_method);
	t->fd = fd;
	t->origin = tls__ctx(c);
	t->ssl = SSL_new(t->origin);
	if (!t->ssl || !bio)
		abort(); /* out of memory, as base/mem.h does */
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_app_data(t->ssl, t);
	return t;
}

/* Called on the client when the server asks for a certificate. */
static int on_asked(SSL *ssl, void *user)
{
	struct tls *t = user;

	t->without = !SSL_get_certificate(ssl);
	return 1;
}

int tls_connect(struct tls_context *c, int fd, const char *name, const struct tls_session *session,
		struct tls **ret)
{
	struct tls *t;

	assert(c && fd >= 0 && ret);
	ERR_clear_error();
	t = wrap(c, fd);
	SSL_set_connect_state(t->ssl);
	SSL_set_cert_cb(t->ssl, on_asked, t);
	if (!set_name(t->ssl, name, verifies_name(t->origin))) {
		tls_free(t);
		return -EINVAL;
	}
	/* Only takes a reference. OpenSSL ignores a session that does not fit the connection. */
	if (session)
		SSL_set_session(t->ssl, (SSL_SESSION *)(uintptr_t)session);
	*ret = t;
	return 0;
}

struct tls *tls_accept(struct tls_context *c, int fd)
{
	struct tls *t;

	assert(c && fd >= 0);
	ERR_clear_error();
	t = wrap(c, fd);
	SSL_set_accept_state(t->ssl);
	return t;
}

void tls_set_user(struct tls *t, void *user)
{
	t->user = user;
}

void tls_feed(struct tls *t, const void *p, size_t n)
{
	char *all = mem_alloc(t->ahead.n + n + 1);

	if (t->ahead.n)
		memcpy(all, t->ahead.p, t->ahead.n);
	memcpy(all + t->ahead.n, p, n);
	free(t->kept);
	t->kept = all;
	t->ahead = (struct str){ all, t->ahead.n + n };
}

static void free_peer(struct tls_certificate *peer)
{
	if (peer)
		tls__certificate_free(peer);
	free(peer);
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	/* Marks both directions as closed: otherwise SSL_free() makes the session not resumable. */
	SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(t->ssl);
	SSL_SESSION_free(t->offered);
	ERR_clear_error();
	free(t->kept);
	free(t->server_name);
	free_peer(t->peer);
	free(t);
}

/* TLS 1.3 has an alert of its own for a missing certificate; before, it was a general one. */
static const char *word_of(const struct tls *t, unsigned long code)
{
	const char *word = ERR_reason_error_string(code);
	int reason = ERR_GET_REASON(code);

	if (reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
	    (t->without && (reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE ||
			    reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE)))
		return "the server requires a client certificate";
	return word ? word : "unknown error";
}

/* A failed verification also surfaces as a protocol error; its own reason is more useful. */
static int protocol_failure(struct tls *t)
{
	long verdict = SSL_get_verify_result(t->ssl);
	unsigned long code = ERR_peek_error();

	t->http = ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST;
	if (SSL_get_verify_mode(t->ssl) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
		snprintf(t->reason, sizeof(t->reason), "%s",
			 X509_verify_cert_error_string(verdict));
		return -EKEYREJECTED;
	}
	snprintf(t->reason, sizeof(t->reason), "%s", word_of(t, code));
	return -EPROTO;
}

/*
 * Called before each call that may use the socket. OpenSSL's error queue belongs to the thread,
 * so errors of other connections have to be removed first.
 */
static void begin_call(struct tls *t, char *room)
{
	ERR_clear_error();
	t->got = 0;
	t->reads = 0;
	t->cut = false;
	t->room = room;
}

/* The room is on the stack of the call, so what is left in it moves to the heap. */
static void end_call(struct tls *t)
{
	char *before = t->kept;

	t->room = NULL;
	if (before && t->ahead.n && !t->in_room)
		return;
	t->in_room = false;
	t->kept = t->ahead.n ? mem_copy(t->ahead.p, t->ahead.n) : NULL;
	t->ahead.p = t->kept;
	free(before);
}

/* Translates the result r of a call on t->ssl; 0 is the orderly end of the stream. */
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

/* An orderly end during the handshake is a closed connection for the caller. */
int tls_handshake(struct tls *t)
{
	char room[RECORD_MAX];
	int r;

	assert(t);
	begin_call(t, room);
	r = SSL_do_handshake(t->ssl);
	end_call(t);
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

struct str tls_protocol(const struct tls *t)
{
	const unsigned char *p = NULL;
	unsigned n = 0;

	SSL_get0_alpn_selected(t->ssl, &p, &n);
	return (struct str){ (const char *)p, n };
}

bool tls_got_http(const struct tls *t)
{
	return t->http;
}

struct str tls_server_name(const struct tls *t)
{
	return str_of(t->server_name ? t->server_name : "");
}

const char *tls_version_name(const struct tls *t)
{
	return SSL_get_version(t->ssl);
}

const char *tls_cipher_name(const struct tls *t)
{
	return SSL_get_cipher_name(t->ssl);
}

/* Without verification the certificate is whatever the peer claims, so there is none. */
const struct tls_certificate *tls_peer(struct tls *t)
{
	X509 *certificate;

	if (t->peer || SSL_get_verify_mode(t->ssl) == SSL_VERIFY_NONE)
		return t->peer;
	certificate = SSL_get0_peer_certificate(t->ssl);
	if (certificate && SSL_get_verify_result(t->ssl) == X509_V_OK) {
		t->peer = mem_zalloc(sizeof(*t->peer));
		tls__certificate_describe(certificate, t->peer);
	}
	return t->peer;
}

const char *tls_peer_name(struct tls *t)
{
	const struct tls_certificate *peer = tls_peer(t);

	return peer ? peer->name : NULL;
}

/*
 * A server that refuses the client's certificate, or the lack of one, sends an alert and closes. In
 * TLS 1.3 the client's handshake is done by then, and its next write fails with a reset. The alert
 * is still in the socket's buffer and says why. Peeking leaves data of the server in its place.
 */
static int prefer_alert(struct tls *t, int error)
{
	char byte;
	size_t n;
	int r;

	begin_call(t, NULL);
	t->sys_errno = 0;
	r = SSL_peek_ex(t->ssl, &byte, sizeof(byte), &n) == 1 ? 0 : judge(t, 0);
	end_call(t);
	t->sys_errno = -error;
	return r == -EPROTO || r == -EKEYREJECTED ? r : error;
}

ssize_t tls_write(struct tls *t, const void *p, size_t n)
{
	size_t done;
	int r;

	assert(t && p && n);
	begin_call(t, NULL);
	r = SSL_write_ex(t->ssl, p, n, &done);
	end_call(t);
	if (r == 1)
		return (ssize_t)done;
	r = judge(t, r);
	if (r == -EPIPE || r == -ECONNRESET)
		r = prefer_alert(t, r);
	return r ? r : -ECONNRESET;
}

ssize_t tls_read(struct tls *t, void *p, size_t n)
{
	char room[RECORD_MAX];
	size_t done;
	int r;

	assert(t && p && n);
	begin_call(t, room);
	r = SSL_read_ex(t->ssl, p, n, &done);
	end_call(t);
	return r == 1 ? (ssize_t)done : judge(t, r);
}

/* In the middle of a handshake OpenSSL refuses it. */
void tls_end(struct tls *t)
{
	begin_call(t, NULL);
	SSL_shutdown(t->ssl);
	end_call(t);
	ERR_clear_error();
}

bool tls_wants_write(const struct tls *t)
{
	return SSL_want_write(t->ssl);
}

/* Between calls OpenSSL stands at the begin of a record, unless the last one was cut. */
static bool has_record(struct str ahead)
{
	const unsigned char *p = (const unsigned char *)ahead.p;

	return ahead.n >= RECORD_HEADER && ahead.n - RECORD_HEADER >= ((size_t)p[3] << 8 | p[4]);
}

bool tls_has_more(const struct tls *t)
{
	return t->cut || SSL_pending(t->ssl) > 0 || has_record(t->ahead);
}

/*
 * OpenSSL does not report a ticket of TLS 1.2 that a server renewed while it resumed a session, and
 * makes the session with the old ticket unusable.
 */
static SSL_SESSION *renewed_session(struct tls *t)
{
	if (t->renewed || !SSL_session_reused(t->ssl) || SSL_version(t->ssl) >= TLS1_3_VERSION ||
	    !(SSL_CTX_get_session_cache_mode(t->origin) & SSL_SESS_CACHE_CLIENT))
		return NULL;
	t->renewed = true;
	return SSL_get1_session(t->ssl);
}

/* OpenSSL may hand out sessions that cannot be resumed; the caller never gets those. */
struct tls_session *tls_take_session(struct tls *t)
{
	SSL_SESSION *s = t->offered ? TAKE_PTR(t->offered) : renewed_session(t);

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
