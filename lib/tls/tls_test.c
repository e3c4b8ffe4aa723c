/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends in one process, over a pair of sockets. Verification is tested in lib/probe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

struct pair {
	struct tls_context *context;
	SSL_CTX *server_context;
	SSL *server;
	struct tls *client;
	int fds[2]; /* client, server */
};

static void certify(SSL_CTX *ctx)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();

	X509_set_version(cert, X509_VERSION_3);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	X509_free(cert);
	EVP_PKEY_free(key);
}

/* Selects the client's first protocol, so that the test sees what the client offers. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
		   const unsigned char *in, unsigned in_len, void *arg)
{
	assert_int_equal(in_len, 9);
	assert_memory_equal(in, "\x08http/1.1", 9);
	*out = in + 1;
	*out_len = in[0];
	return SSL_TLSEXT_ERR_OK;
}

static void connect_pair(struct pair *p, const struct tls_session *session)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p->fds),
			 0);
	assert_int_equal(tls_connect(p->context, p->fds[0], "a.example", session, &p->client), 0);
	p->server = SSL_new(p->server_context);
	SSL_set_fd(p->server, p->fds[1]);
	SSL_set_accept_state(p->server);
}

static void disconnect_pair(struct pair *p)
{
	tls_free(p->client);
	SSL_free(p->server);
	close(p->fds[0]);
	if (p->fds[1] >= 0)
		close(p->fds[1]);
	p->client = NULL;
	p->server = NULL;
}

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->context = pki_client(NULL, NULL, NULL, "http/1.1");
	p->server_context = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_alpn_select_cb(p->server_context, on_alpn, NULL);
	certify(p->server_context);
	connect_pair(p, NULL);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	disconnect_pair(p);
	tls_context_free(p->context);
	SSL_CTX_free(p->server_context);
	free(p);
	return 0;
}

static void shake_hands(struct pair *p)
{
	int r;

	while ((r = tls_handshake(p->client)) == -EAGAIN) {
		assert_false(tls_wants_write(p->client));
		SSL_do_handshake(p->server);
	}
	assert_int_equal(r, 0);
	assert_int_equal(SSL_do_handshake(p->server), 1);
}

/* The server's alert arrives before its reset, which is what the client's write runs into. */
static void refuse_without_certificate(struct pair *p, int version)
{
	ssize_t r = 0;

	SSL_set_verify(p->server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_set_max_proto_version(p->server, version);
	do
		SSL_do_handshake(p->server);
	while ((r = tls_handshake(p->client)) == -EAGAIN);
	if (r == 0) {
		assert_true(tls_write(p->client, "unread", 6) > 0); /* makes the close a reset */
		assert_int_equal(SSL_do_handshake(p->server), -1);
		close(p->fds[1]);
		p->fds[1] = -1;
		do
			r = tls_write(p->client, "x", 1);
		while (r > 0);
	}
	assert_int_equal(r, -EPROTO);
	assert_string_equal(tls_reason(p->client), "the server requires a client certificate");
}

static void a_missing_certificate_is_told_whatever_the_version(void **state)
{
	struct pair *p = *state;

	refuse_without_certificate(p, TLS1_3_VERSION);
	disconnect_pair(p);
	connect_pair(p, NULL);
	refuse_without_certificate(p, TLS1_2_VERSION);
}

static void bytes_cross_both_ways(void **state)
{
	struct pair *p = *state;
	char text[16];

	shake_hands(p);
	assert_false(tls_resumed(p->client));
	assert_int_equal(tls_read(p->client, text, sizeof(text)), -EAGAIN);
	assert_int_equal(tls_write(p->client, "ping", 4), 4);
	assert_int_equal(SSL_read(p->server, text, sizeof(text)), 4);
	assert_int_equal(SSL_write(p->server, "pong", 4), 4);
	assert_int_equal(tls_read(p->client, text, sizeof(text)), 4);
	assert_memory_equal(text, "pong", 4);
}

static void both_ways_of_ending_are_an_end(void **state)
{
	struct pair *p = *state;
	char text[16];

	shake_hands(p);
	SSL_shutdown(p->server); /* with close_notify */
	assert_int_equal(tls_read(p->client, text, sizeof(text)), 0);
	disconnect_pair(p);

	connect_pair(p, NULL);
	shake_hands(p);
	close(p->fds[1]); /* without close_notify */
	p->fds[1] = -1;
	assert_int_equal(tls_read(p->client, text, sizeof(text)), 0);
}

/* A SIGPIPE would end the test. */
static void writing_to_a_closed_socket_is_an_error_and_no_signal(void **state)
{
	struct pair *p = *state;

	shake_hands(p);
	close(p->fds[1]);
	p->fds[1] = -1;
	assert_int_equal(tls_write(p->client, "ping", 4), -EPIPE);
}

static void closed_in_the_handshake_is_a_reset(void **state)
{
	struct pair *p = *state;

	assert_int_equal(tls_handshake(p->client), -EAGAIN);
	shutdown(p->fds[1], SHUT_WR);
	assert_int_equal(tls_handshake(p->client), -ECONNRESET);
}

static void what_is_not_tls_has_a_word(void **state)
{
	struct pair *p = *state;

	assert_int_equal(tls_handshake(p->client), -EAGAIN);
	assert_int_equal(write(p->fds[1], "HTTP/1.1 400\r\n\r\n", 16), 16);
	assert_int_equal(tls_handshake(p->client), -EPROTO);
	assert_string_equal(tls_reason(p->client), "wrong version number");
}

static size_t unread(int fd)
{
	int n;

	assert_int_equal(ioctl(fd, FIONREAD, &n), 0);
	return (size_t)n;
}

/* Sends HelloRequests, which a client ignores during a handshake, until the socket is full. */
static void flood(int fd)
{
	static const unsigned char header[] = { 22, 3, 3, 0x40, 0 };
	unsigned char record[sizeof(header) + 0x4000] = { 0 };

	memcpy(record, header, sizeof(header));
	while (write(fd, record, sizeof(record)) == sizeof(record))
		;
}

static void a_flood_does_not_keep_a_call_from_returning(void **state)
{
	struct pair *p = *state;
	size_t before;

	assert_int_equal(tls_handshake(p->client), -EAGAIN);
	flood(p->fds[1]);
	before = unread(p->fds[0]);
	assert_true(before > 100000);
	assert_int_equal(tls_handshake(p->client), -EAGAIN);
	assert_false(tls_wants_write(p->client));
	assert_in_range(unread(p->fds[0]), before - 70000, before - 1);
}

static void each_connection_offers_the_session_for_the_next(void **state)
{
	struct pair *p = *state;
	struct tls_session *session;
	char text[16];

	for (int i = 0; i < 3; i++) {
		shake_hands(p);
		assert_int_equal(tls_resumed(p->client), i > 0);
		assert_int_equal(tls_read(p->client, text, sizeof(text)), -EAGAIN); /* tickets */
		session = tls_take_session(p->client);
		assert_non_null(session);
		assert_null(tls_take_session(p->client));
		disconnect_pair(p);
		connect_pair(p, session);
		tls_session_free(session);
	}
}

static void an_empty_name_is_refused(void **state)
{
	struct pair *p = *state;
	struct tls *t = NULL;

	assert_int_equal(tls_connect(p->context, p->fds[0], "", NULL, &t), -EINVAL);
	assert_null(t);
}

#define ON_PAIR(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_PAIR(a_missing_certificate_is_told_whatever_the_version),
		ON_PAIR(bytes_cross_both_ways),
		ON_PAIR(both_ways_of_ending_are_an_end),
		ON_PAIR(writing_to_a_closed_socket_is_an_error_and_no_signal),
		ON_PAIR(closed_in_the_handshake_is_a_reset),
		ON_PAIR(what_is_not_tls_has_a_word),
		ON_PAIR(a_flood_does_not_keep_a_call_from_returning),
		ON_PAIR(each_connection_offers_the_session_for_the_next),
		ON_PAIR(an_empty_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
