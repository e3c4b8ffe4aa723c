/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends use our contexts, over a pair of sockets. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

static struct pki pki;

struct ends {
	int fds[2];
	struct tls *client, *server;
};

static struct tls_context *server_of(const char *name, const char *ca)
{
	char pem[64], key[64], reason[128];
	struct tls_context *c = NULL;
	struct tls_files files;

	snprintf(pem, sizeof(pem), "%s.pem", name);
	snprintf(key, sizeof(key), "%s.key", name);
	files = (struct tls_files){ pki_file(&pki, pem), pki_file(&pki, key),
				    ca ? pki_file(&pki, ca) : NULL };
	assert_int_equal(tls_h2_server_context_new(&files, &c, reason, sizeof(reason)), 0);
	return c;
}

static struct tls_context *client_of(const char *name, const char *ca)
{
	char pem[64], key[64], reason[128];
	struct tls_context *c = NULL;
	struct tls_files files = { .ca = pki_file(&pki, ca) };

	if (name) {
		snprintf(pem, sizeof(pem), "%s.pem", name);
		snprintf(key, sizeof(key), "%s.key", name);
		files.certificate = pki_file(&pki, pem);
		files.key = pki_file(&pki, key);
	}
	assert_int_equal(tls_h2_client_context_new(&files, &c, reason, sizeof(reason)), 0);
	return c;
}

/* The contexts are freed at once: connections hold their own references. */
static void join(struct ends *e, struct tls_context *server, struct tls_context *client,
		 const char *name)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, e->fds),
			 0);
	assert_int_equal(tls_connect(client, e->fds[0], name, NULL, &e->client), 0);
	e->server = tls_accept(server, e->fds[1]);
	tls_context_free(server);
	tls_context_free(client);
}

static void part(struct ends *e)
{
	tls_free(e->client);
	tls_free(e->server);
	close(e->fds[0]);
	close(e->fds[1]);
}

/* Runs both handshakes until neither waits for the other; returns their last results. */
static void shake(struct ends *e, int *ret_client, int *ret_server)
{
	*ret_client = *ret_server = -EAGAIN;
	for (int i = 0; i < 10; i++) {
		if (*ret_client == -EAGAIN)
			*ret_client = tls_handshake(e->client);
		if (*ret_server == -EAGAIN)
			*ret_server = tls_handshake(e->server);
	}
}

static void both_ends_agree_on_h2(void **state)
{
	struct ends e;
	int c, s;
	char text[8];

	join(&e, server_of("server", NULL), client_of(NULL, "ca.pem"), "localhost");
	shake(&e, &c, &s);
	assert_int_equal(c, 0);
	assert_int_equal(s, 0);
	assert_true(str_eq(tls_protocol(e.client), STR("h2")));
	assert_true(str_eq(tls_protocol(e.server), STR("h2")));
	assert_null(tls_peer_name(e.server));
	assert_string_equal(tls_peer_name(e.client), "server");
	assert_int_equal(tls_write(e.server, "pong", 4), 4);
	assert_int_equal(tls_read(e.client, text, sizeof(text)), 4);
	part(&e);
}

static void a_client_that_speaks_no_h2_is_refused(void **state)
{
	struct ends e;
	int c, s;

	join(&e, server_of("server", NULL), tls_client_context_new(false), "localhost");
	shake(&e, &c, &s);
	assert_int_equal(s, -EPROTO);
	assert_string_equal(tls_reason(e.server), "no application protocol");
	assert_int_equal(c, -EPROTO);
	part(&e);
}

/* The protocol that an HTTP/1 server selects for this offer; "" if there is none in common. */
static void expect_choice(const char *offer, const char *choice)
{
	struct tls_files files = { pki_file(&pki, "server.pem"), pki_file(&pki, "server.key"),
				   NULL };
	struct tls_context *client = tls_client_context_new(false), *server;
	char reason[128];
	struct ends e;
	int c, s;

	assert_int_equal(tls_http_server_context_new(&files, &server, reason, sizeof(reason)), 0);
	SSL_CTX_set_alpn_protos((SSL_CTX *)client, (const unsigned char *)offer,
				(unsigned)strlen(offer));
	join(&e, server, client, "localhost");
	shake(&e, &c, &s);
	assert_int_equal(s, *choice ? 0 : -EPROTO);
	assert_true(str_eq(tls_protocol(e.server), str_of(choice)));
	part(&e);
}

static void a_server_of_http1_takes_both_of_its_versions(void **state)
{
	expect_choice("\x08http/1.1", "http/1.1");
	expect_choice("\x08http/1.0", "http/1.0");
	expect_choice("\x08http/1.0\x08http/1.1", "http/1.1");
	expect_choice("\x02h2\x08http/1.0", "http/1.0");
	expect_choice("\x02h2", "");
}

static void a_server_of_another_authority_is_refused(void **state)
{
	struct ends e;
	int c, s;

	join(&e, server_of("stranger", NULL), client_of(NULL, "ca.pem"), "localhost");
	shake(&e, &c, &s);
	assert_int_equal(c, -EKEYREJECTED);
	part(&e);
	join(&e, server_of("server", NULL), client_of(NULL, "ca.pem"), "elsewhere.example");
	shake(&e, &c, &s);
	assert_int_equal(c, -EKEYREJECTED);
	assert_string_equal(tls_reason(e.client), "hostname mismatch");
	part(&e);
}

static void a_client_is_known_by_its_certificate(void **state)
{
	struct ends e;
	int c, s;

	join(&e, server_of("server", "ca.pem"), client_of("alice", "ca.pem"), "127.0.0.1");
	shake(&e, &c, &s);
	assert_int_equal(c, 0);
	assert_int_equal(s, 0);
	assert_string_equal(tls_peer_name(e.server), "alice");
	part(&e);
}

static void a_client_without_a_certificate_of_ours_is_refused(void **state)
{
	struct ends e;
	int c, s;

	join(&e, server_of("server", "ca.pem"), client_of(NULL, "ca.pem"), "localhost");
	shake(&e, &c, &s);
	assert_int_equal(s, -EPROTO);
	assert_string_equal(tls_reason(e.server), "peer did not return a certificate");
	part(&e);
	join(&e, server_of("server", "ca.pem"), client_of("stranger", "ca.pem"), "localhost");
	shake(&e, &c, &s);
	assert_true(s < 0);
	assert_null(tls_peer_name(e.server));
	part(&e);
}

static void what_is_wrong_with_a_file_is_said(void **state)
{
	struct tls_context *c = NULL;
	char reason[256];
	const char *pem = pki_file(&pki, "server.pem");
	const char *key = pki_file(&pki, "server.key");
	const char *other = pki_file(&pki, "alice.key");
	const struct {
		struct tls_files files;
		const char *words;
	} rows[] = {
		{ { 0 }, "needs a certificate" },
		{ { pem, NULL, NULL }, "come together" },
		{ { "/nonexistent.pem", key, NULL }, "/nonexistent.pem: No such file" },
		{ { pem, "/nonexistent.key", NULL }, "/nonexistent.key: No such file" },
		{ { pem, other, NULL }, "alice.key: key values mismatch" },
		{ { key, key, NULL }, "server.key: no start line" },
		{ { pem, key, "/nonexistent.ca" }, "/nonexistent.ca: " },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int r = tls_h2_server_context_new(&rows[i].files, &c, reason, sizeof(reason));

		assert_int_equal(r, -EINVAL);
		assert_null(c);
		if (!strstr(reason, rows[i].words))
			fail_msg("'%s' without '%s'", reason, rows[i].words);
	}
}

static int make_certificates(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, NULL, "foreign");
	pki_issue(&pki, "ca", "server");
	pki_issue(&pki, "ca", "alice");
	pki_issue(&pki, "foreign", "stranger");
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
		cmocka_unit_test(both_ends_agree_on_h2),
		cmocka_unit_test(a_client_that_speaks_no_h2_is_refused),
		cmocka_unit_test(a_server_of_http1_takes_both_of_its_versions),
		cmocka_unit_test(a_server_of_another_authority_is_refused),
		cmocka_unit_test(a_client_is_known_by_its_certificate),
		cmocka_unit_test(a_client_without_a_certificate_of_ours_is_refused),
		cmocka_unit_test(what_is_wrong_with_a_file_is_said),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
