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

struct tls {
	SSL *ssl;
	int fd;
	int sys_errno;	      /* errno of the last failed socket call */
	bool ended;	      /* the socket gave end of file */
	size_t got;	      /* bytes that the current call has read from the socket */
	unsigned reads;	      /* and the number of its recv() calls */
	bool cut;	      /* the call stopped at one of its bounds */
	bool without;	      /* the server asked for a certificate, and we have none */
	SSL_SESSION *offered; /* newest session, not taken yet */
	char *peer_name;      /* cached by tls_peer_name() */
	char reason[96];      /* text of the last protocol or certificate failure */
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

/* At a bound it behaves like an empty socket; `cut` makes tls_has_more() true. */
static int on_bio_read(BIO *bio, char *p, size_t n, size_t *ret_n)
{
	struct tls *t = BIO_get_data(bio);
	ssize_t got;

	BIO_clear_retry_flags(bio);
	if (t->got >= READ_PER_CALL || t->reads >= READS_PER_CALL) {
		t->cut = true;
		BIO_set_retry_read(bio);
		return 0;
	}
	t->reads++;
	got = recv(t->fd, p, n, 0);
	if (got > 0) {
		t->got += (size_t)got;
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

/* An IP address is verified but never sent: RFC 6066, section 3, allows only DNS names in SNI. */
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
	BIO *bio;

	pthread_once(&once, make_socket_method);
	bio = BIO_new(socket_method);
	t->fd = fd;
	t->ssl = SSL_new(tls__ctx(c));
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

	assert(c && fd >= 0 && name && ret);
	ERR_clear_error();
	t = wrap(c, fd);
	SSL_set_connect_state(t->ssl);
	SSL_set_cert_cb(t->ssl, on_asked, t);
	if (!*name || !set_name(t->ssl, name)) {
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

void tls_free(struct tls *t)
{
	if (!t)
		return;
	/* Marks both directions as closed: otherwise SSL_free() makes the session not resumable. */
	SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(t->ssl);
	SSL_SESSION_free(t->offered);
	ERR_clear_error();
	free(t->peer_name);
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

	if (SSL_get_verify_mode(t->ssl) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
		snprintf(t->reason, sizeof(t->reason), "%s",
			 X509_verify_cert_error_string(verdict));
		return -EKEYREJECTED;
	}
	snprintf(t->reason, sizeof(t->reason), "%s", word_of(t, ERR_peek_error()));
	return -EPROTO;
}

/*
 * Called before each call that may use the socket. OpenSSL's error queue belongs to the thread,
 * so errors of other connections have to be removed first.
 */
static void begin_call(struct tls *t)
{
	ERR_clear_error();
	t->got = 0;
	t->reads = 0;
	t->cut = false;
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
	int r;

	assert(t);
	begin_call(t);
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

struct str tls_protocol(const struct tls *t)
{
	const unsigned char *p = NULL;
	unsigned n = 0;

	SSL_get0_alpn_selected(t->ssl, &p, &n);
	return (struct str){ (const char *)p, n };
}

/*
 * The last CN is the most specific one. A name with a NUL inside is refused, because as a C
 * string it could pass for another name.
 */
static char *common_name(X509 *certificate)
{
	X509_NAME *subject = X509_get_subject_name(certificate);
	int at = -1;
	unsigned char *text = NULL;
	char *name = NULL;
	int last, n;

	for (last = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
		last = at;
	if (last < 0)
		return NULL;
	n = ASN1_STRING_to_UTF8(&text,
				X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
	if (n > 0 && strlen((char *)text) == (size_t)n)
		name = mem_strdup((char *)text);
	OPENSSL_free(text);
	return name;
}

/* Without verification the name would be whatever the peer claims, so there is none. */
const char *tls_peer_name(struct tls *t)
{
	X509 *certificate;

	if (t->peer_name || SSL_get_verify_mode(t->ssl) == SSL_VERIFY_NONE)
		return t->peer_name;
	certificate = SSL_get0_peer_certificate(t->ssl);
	if (certificate && SSL_get_verify_result(t->ssl) == X509_V_OK)
		t->peer_name = common_name(certificate);
	return t->peer_name;
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

	begin_call(t);
	t->sys_errno = 0;
	r = SSL_peek_ex(t->ssl, &byte, sizeof(byte), &n) == 1 ? 0 : judge(t, 0);
	t->sys_errno = -error;
	return r == -EPROTO || r == -EKEYREJECTED ? r : error;
}

ssize_t tls_write(struct tls *t, const void *p, size_t n)
{
	size_t done;
	int r;

	assert(t && p && n);
	begin_call(t);
	r = SSL_write_ex(t->ssl, p, n, &done);
	if (r == 1)
		return (ssize_t)done;
	r = judge(t, r);
	if (r == -EPIPE || r == -ECONNRESET)
		r = prefer_alert(t, r);
	return r ? r : -ECONNRESET;
}

ssize_t tls_read(struct tls *t, void *p, size_t n)
{
	size_t done;
	int r;

	assert(t && p && n);
	begin_call(t);
	r = SSL_read_ex(t->ssl, p, n, &done);
	return r == 1 ? (ssize_t)done : judge(t, r);
}

bool tls_wants_write(const struct tls *t)
{
	return SSL_want_write(t->ssl);
}

bool tls_has_more(const struct tls *t)
{
	return t->cut || SSL_pending(t->ssl) > 0;
}

/* OpenSSL may hand out sessions that cannot be resumed; the caller never gets those. */
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
