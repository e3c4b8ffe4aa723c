/* SPDX-License-Identifier: Apache-2.0 */
/* What a server has beside its certificates: sessions, ciphers, OCSP responses, records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "lib/tls/testkit.h"

static struct pki pki;

static struct tls_context *server_of(const char *name, const char *ca)
{
	return pki_server(&pki, name, ca, "h2");
}

static struct tls_context *client_of(const char *name, const char *ca)
{
	return pki_client(&pki, name, ca, "h2");
}

static void expect_refusal(const struct tls_config *config, enum tls_part part, const char *words)
{
	struct tls_context *c = NULL;
	struct tls_refusal why;

	assert_int_equal(tls_context_new(config, &c, &why), -EINVAL);
	assert_null(c);
	if (!strstr(why.reason, words))
		fail_msg("'%s' without '%s'", why.reason, words);
	assert_int_equal(why.part, part);
}

/* ---- sessions ---- */

static struct tls_context *resuming(struct tls_tickets *tickets, const char *scope,
				    enum tls_clients clients)
{
	struct tls_pair pair = pki_pair(&pki, "server");
	const struct tls_config config = { .role = TLS_SERVER,
					   .pairs = &pair,
					   .n_pairs = 1,
					   .tickets = tickets,
					   .scope = scope,
					   .ca = pki_file(&pki, "ca.pem"),
					   .clients = clients };
	struct tls_context *c = NULL;

	assert_int_equal(tls_context_new(&config, &c, &(struct tls_refusal){ 0 }), 0);
	pki_free_pairs(&pair, 1);
	return c;
}

/* Connects, and replaces *session by the one that the server offers. Returns if it resumed. */
static bool visit(struct tls_context *server, struct tls_context *client,
		  struct tls_session **session, const char *peer)
{
	struct tls_session *fresh;
	struct ends e;
	bool resumed;
	char byte;
	int c, s;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, e.fds),
			 0);
	assert_int_equal(tls_connect(client, e.fds[0], "localhost", *session, &e.client), 0);
	e.server = tls_accept(server, e.fds[1]);
	ends_shake(&e, &c, &s);
	assert_int_equal(c | s, 0);
	assert_int_equal(tls_read(e.client, &byte, 1), -EAGAIN); /* the tickets of TLS 1.3 */
	resumed = tls_resumed(e.server);
	assert_int_equal(tls_resumed(e.client), resumed);
	if (peer)
		assert_string_equal(tls_peer_name(e.server), peer);
	fresh = tls_take_session(e.client);
	assert_non_null(fresh);
	tls_session_free(*session);
	*session = fresh;
	ends_part(&e);
	return resumed;
}

static void resume_with(int version)
{
	struct tls_context *client = pki_client(&pki, "alice", NULL, NULL);
	struct tls_tickets *tickets = tls_tickets_new(), *next = tls_tickets_new();
	struct tls_context *first = resuming(tickets, "x", TLS_CLIENTS_REQUIRED);
	struct tls_context *second = resuming(tickets, "x", TLS_CLIENTS_REQUIRED);
	struct tls_context *successor = resuming(next, "x", TLS_CLIENTS_REQUIRED);
	struct tls_context *elsewhere = resuming(tickets, "y", TLS_CLIENTS_REQUIRED);
	struct tls_context *laxer = resuming(tickets, "x", TLS_CLIENTS_ANY);
	struct tls_session *session = NULL;
	uint8_t saved[TLS_TICKETS_SIZE];

	SSL_CTX_set_max_proto_version((SSL_CTX *)client, version);
	assert_false(visit(first, client, &session, "alice"));
	assert_true(visit(first, client, &session, "alice"));
	assert_true(visit(second, client, &session, "alice")); /* another context, same keys */
	tls_tickets_rotate(tickets);
	assert_true(visit(first, client, &session, "alice"));
	assert_int_equal(tls_tickets_load(next, saved, tls_tickets_save(tickets, saved)), 0);
	assert_true(visit(successor, client, &session, "alice"));
	assert_false(visit(elsewhere, client, &session, "alice"));
	assert_false(visit(laxer, client, &session, "alice"));
	assert_false(visit(first, client, &session, "alice"));
	for (int i = 0; i < TLS_TICKET_KEYS; i++)
		tls_tickets_rotate(tickets);
	assert_false(visit(first, client, &session, "alice")); /* the key is forgotten */
	tls_session_free(session);
	tls_context_free(first);
	tls_context_free(second);
	tls_context_free(successor);
	tls_context_free(elsewhere);
	tls_context_free(laxer);
	tls_context_free(client);
	tls_tickets_free(tickets);
	tls_tickets_free(next);
}

static void sessions_are_resumed_by_whoever_has_the_keys(void **state)
{
	resume_with(TLS1_3_VERSION);
	resume_with(TLS1_2_VERSION);
}

static void saved_keys_of_a_wrong_size_are_refused(void **state)
{
	struct tls_tickets *t = tls_tickets_new();
	uint8_t bytes[TLS_TICKETS_SIZE + TLS_TICKET_KEY] = { 0 };

	assert_int_equal(tls_tickets_save(t, bytes), TLS_TICKET_KEY);
	assert_int_equal(tls_tickets_load(t, bytes, 0), -EINVAL);
	assert_int_equal(tls_tickets_load(t, bytes, TLS_TICKET_KEY - 1), -EINVAL);
	assert_int_equal(tls_tickets_load(t, bytes, sizeof(bytes)), -EINVAL);
	assert_int_equal(tls_tickets_load(t, bytes, TLS_TICKETS_SIZE), 0);
	tls_tickets_free(t);
}

/* ---- ciphers ---- */

static const char *cipher_with(const char *ciphers, int version)
{
	struct tls_pair pair = pki_pair(&pki, "server");
	const struct tls_config config = {
		.role = TLS_SERVER, .pairs = &pair, .n_pairs = 1, .ciphers = ciphers
	};
	struct tls_context *client = pki_client(&pki, NULL, NULL, NULL), *server;
	static char name[64];
	struct ends e;
	int c, s;

	SSL_CTX_set_max_proto_version((SSL_CTX *)client, version);
	assert_int_equal(tls_context_new(&config, &server, &(struct tls_refusal){ 0 }), 0);
	ends_join(&e, server, client, "localhost");
	ends_shake(&e, &c, &s);
	snprintf(name, sizeof(name), "%s", s == 0 ? tls_cipher_name(e.server) : "");
	ends_part(&e);
	pki_free_pairs(&pair, 1);
	return name;
}

static void each_version_has_its_own_ciphers(void **state)
{
	const char *both = "TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384";

	assert_string_equal(cipher_with(both, TLS1_3_VERSION), "TLS_CHACHA20_POLY1305_SHA256");
	assert_string_equal(cipher_with(both, TLS1_2_VERSION), "ECDHE-ECDSA-AES256-GCM-SHA384");
	assert_string_equal(cipher_with("TLS_AES_128_GCM_SHA256", TLS1_3_VERSION),
			    "TLS_AES_128_GCM_SHA256");
	assert_memory_equal(cipher_with("TLS_AES_128_GCM_SHA256", TLS1_2_VERSION), "ECDHE-", 6);
	assert_string_equal(cipher_with("ECDHE-RSA-AES256-GCM-SHA384", TLS1_2_VERSION), "");
}

/* ---- OCSP responses ---- */

static X509 *read_certificate(const char *file)
{
	FILE *f = fopen(pki_file(&pki, file), "r");
	X509 *x = PEM_read_X509(f, NULL, NULL, NULL);

	fclose(f);
	assert_non_null(x);
	return x;
}

static EVP_PKEY *read_key(const char *file)
{
	FILE *f = fopen(pki_file(&pki, file), "r");
	EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);

	fclose(f);
	assert_non_null(key);
	return key;
}

/* Writes a response of "ca" about a certificate; it expires in that many seconds. */
static void answer_about(const char *file, int status, long seconds, const char *to)
{
	X509 *x = read_certificate(file), *ca = read_certificate("ca.pem");
	EVP_PKEY *key = read_key("ca.key");
	OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
	OCSP_CERTID *id = OCSP_cert_to_id(NULL, x, ca);
	ASN1_TIME *now = X509_gmtime_adj(NULL, -60), *next = X509_gmtime_adj(NULL, seconds);
	OCSP_RESPONSE *response;
	unsigned char *der = NULL;
	FILE *f = fopen(pki_file(&pki, to), "w");
	int n;

	assert_non_null(OCSP_basic_add1_status(basic, id, status, 0, now, now, next));
	assert_int_equal(OCSP_basic_sign(basic, ca, key, EVP_sha256(), NULL, 0), 1);
	response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
	n = i2d_OCSP_RESPONSE(response, &der);
	assert_int_equal(fwrite(der, 1, (size_t)n, f), n);
	fclose(f);
	OPENSSL_free(der);
	OCSP_RESPONSE_free(response);
	OCSP_BASICRESP_free(basic);
	OCSP_CERTID_free(id);
	ASN1_TIME_free(now);
	ASN1_TIME_free(next);
	EVP_PKEY_free(key);
	X509_free(x);
	X509_free(ca);
}

static long stapled; /* bytes that the last client got; -1: none */

static int on_response(SSL *ssl, void *arg)
{
	const unsigned char *p;

	stapled = SSL_get_tlsext_status_ocsp_resp(ssl, &p);
	return 1;
}

static long staple_with(const char *ocsp)
{
	struct tls_pair pair = pki_pair(&pki, "server");
	struct tls_context *client = pki_client(&pki, NULL, NULL, NULL), *server;
	const struct tls_config config = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 };
	struct ends e;
	int c, s;

	pair.ocsp = pki_file(&pki, ocsp);
	assert_int_equal(tls_context_new(&config, &server, &(struct tls_refusal){ 0 }), 0);
	SSL_CTX_set_tlsext_status_type((SSL_CTX *)client, TLSEXT_STATUSTYPE_ocsp);
	SSL_CTX_set_tlsext_status_cb((SSL_CTX *)client, on_response);
	stapled = 0;
	ends_join(&e, server, client, "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(c | s, 0);
	ends_part(&e);
	pki_free_pairs(&pair, 1);
	return stapled;
}

static void an_ocsp_response_is_stapled_until_it_expires(void **state)
{
	struct tls_pair pair = pki_pair(&pki, "server");
	const struct tls_config config = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 };

	answer_about("server.pem", V_OCSP_CERTSTATUS_GOOD, 600, "good.der");
	answer_about("server.pem", V_OCSP_CERTSTATUS_GOOD, -1, "old.der");
	answer_about("server.pem", V_OCSP_CERTSTATUS_REVOKED, 600, "revoked.der");
	answer_about("alice.pem", V_OCSP_CERTSTATUS_GOOD, 600, "other.der");
	assert_true(staple_with("good.der") > 100);
	assert_true(staple_with("old.der") <= 0);
	pair.ocsp = pki_file(&pki, "revoked.der");
	expect_refusal(&config, TLS_PART_OCSP, "revoked.der: says that the certificate is revoked");
	pair.ocsp = pki_file(&pki, "other.der");
	expect_refusal(&config, TLS_PART_OCSP, "other.der: is for another certificate");
	pki_free_pairs(&pair, 1);
}

/* ---- bytes that were read before ---- */

static void bytes_that_were_read_before_come_first(void **state)
{
	struct tls_context *client = pki_client(&pki, NULL, NULL, NULL);
	struct tls_context *server = server_of("server", NULL);
	unsigned char hello[4096];
	struct ends e;
	ssize_t n;
	int c, s;

	ends_join(&e, server, client, "localhost");
	assert_int_equal(tls_handshake(e.client), -EAGAIN);
	n = read(e.fds[1], hello, sizeof(hello));
	assert_true(n > 100);
	tls_feed(e.server, hello, 3);
	assert_int_equal(tls_handshake(e.server), -EAGAIN);
	tls_feed(e.server, hello + 3, (size_t)n - 3);
	ends_shake(&e, &c, &s);
	assert_int_equal(c | s, 0);
	ends_part(&e);
}

/* Without the notice OpenSSL's own clients report an error. */
static void an_end_is_announced(void **state)
{
	struct tls_context *client = client_of(NULL, "ca.pem");
	struct ends e;
	char text[8];
	int c, s;

	SSL_CTX_clear_options((SSL_CTX *)client, SSL_OP_IGNORE_UNEXPECTED_EOF);
	ends_join(&e, server_of("server", NULL), client, "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(tls_write(e.server, "last", 4), 4);
	tls_end(e.server);
	shutdown(e.fds[1], SHUT_WR);
	assert_int_equal(tls_read(e.client, text, sizeof(text)), 4);
	assert_int_equal(tls_read(e.client, text, sizeof(text)), 0);
	assert_int_equal(tls_write(e.client, "more", 4), 4); /* the other direction is open */
	assert_int_equal(tls_read(e.server, text, sizeof(text)), 4);
	ends_part(&e);
}

/* Three records in one segment: the first read takes one, the others need no readable socket. */
static void records_that_came_together_are_read_one_by_one(void **state)
{
	struct ends e;
	char text[8];
	int c, s;

	ends_join(&e, server_of("server", NULL), client_of(NULL, "ca.pem"), "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(tls_read(e.client, text, 1), -EAGAIN);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tls_write(e.server, &"abc"[i], 1), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tls_read(e.client, text, sizeof(text)), 1);
		assert_int_equal(text[0], 'a' + i);
		assert_int_equal(tls_has_more(e.client), i < 2);
	}
	assert_int_equal(tls_read(e.client, text, sizeof(text)), -EAGAIN);
	ends_part(&e);
}

static int make_certificates(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, "ca", "server");
	pki_issue(&pki, "ca", "alice");
	return 0;
}

static int remove_certificates(void **state)
{
	pki_remove(&pki);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_are_resumed_by_whoever_has_the_keys),
		cmocka_unit_test(saved_keys_of_a_wrong_size_are_refused),
		cmocka_unit_test(each_version_has_its_own_ciphers),
		cmocka_unit_test(an_ocsp_response_is_stapled_until_it_expires),
		cmocka_unit_test(bytes_that_were_read_before_come_first),
		cmocka_unit_test(an_end_is_announced),
		cmocka_unit_test(records_that_came_together_are_read_one_by_one),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
