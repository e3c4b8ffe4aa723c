/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends use our contexts, over a pair of sockets. */
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
#include <openssl/ssl.h>
#include <openssl/x509.h>

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

static void both_ends_agree_on_h2(void **state)
{
	struct ends e;
	int c, s;
	char text[8];

	ends_join(&e, server_of("server", NULL), client_of(NULL, "ca.pem"), "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(c, 0);
	assert_int_equal(s, 0);
	assert_true(str_eq(tls_protocol(e.client), STR("h2")));
	assert_true(str_eq(tls_protocol(e.server), STR("h2")));
	assert_null(tls_peer_name(e.server));
	assert_string_equal(tls_peer_name(e.client), "server");
	assert_int_equal(tls_write(e.server, "pong", 4), 4);
	assert_int_equal(tls_read(e.client, text, sizeof(text)), 4);
	ends_part(&e);
}

static void a_client_that_speaks_no_h2_is_refused(void **state)
{
	struct ends e;
	int c, s;

	ends_join(&e, server_of("server", NULL), pki_client(&pki, NULL, NULL, "http/1.1"),
		  "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(s, -EPROTO);
	assert_string_equal(tls_reason(e.server), "no application protocol");
	assert_int_equal(c, -EPROTO);
	ends_part(&e);
}

/* The protocol that an HTTP/1 server selects for this offer; "" if there is none in common. */
static void expect_choice(const char *offer, const char *choice)
{
	struct ends e;
	int c, s;

	ends_join(&e, pki_server(&pki, "server", NULL, "http/1.1,http/1.0"),
		  pki_client(&pki, NULL, NULL, offer), "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(s, *choice ? 0 : -EPROTO);
	assert_true(str_eq(tls_protocol(e.server), str_of(choice)));
	ends_part(&e);
}

static void a_server_of_http1_takes_both_of_its_versions(void **state)
{
	expect_choice("http/1.1", "http/1.1");
	expect_choice("http/1.0", "http/1.0");
	expect_choice("http/1.0,http/1.1", "http/1.1");
	expect_choice("h2,http/1.0", "http/1.0");
	expect_choice("h2", "");
}

static void a_server_of_another_authority_is_refused(void **state)
{
	struct ends e;
	int c, s;

	ends_join(&e, server_of("stranger", NULL), client_of(NULL, "ca.pem"), "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(c, -EKEYREJECTED);
	ends_part(&e);
	ends_join(&e, server_of("server", NULL), client_of(NULL, "ca.pem"), "elsewhere.example");
	ends_shake(&e, &c, &s);
	assert_int_equal(c, -EKEYREJECTED);
	assert_string_equal(tls_reason(e.client), "hostname mismatch");
	ends_part(&e);
}

static void a_client_is_known_by_its_certificate(void **state)
{
	struct ends e;
	int c, s;

	ends_join(&e, server_of("server", "ca.pem"), client_of("alice", "ca.pem"), "127.0.0.1");
	ends_shake(&e, &c, &s);
	assert_int_equal(c, 0);
	assert_int_equal(s, 0);
	assert_string_equal(tls_peer_name(e.server), "alice");
	ends_part(&e);
}

static void a_client_without_a_certificate_of_ours_is_refused(void **state)
{
	struct ends e;
	int c, s;

	ends_join(&e, server_of("server", "ca.pem"), client_of(NULL, "ca.pem"), "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(s, -EPROTO);
	assert_string_equal(tls_reason(e.server), "peer did not return a certificate");
	ends_part(&e);
	ends_join(&e, server_of("server", "ca.pem"), client_of("stranger", "ca.pem"), "localhost");
	ends_shake(&e, &c, &s);
	assert_true(s < 0);
	assert_null(tls_peer_name(e.server));
	ends_part(&e);
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

static void what_is_wrong_with_a_file_is_said(void **state)
{
	const char *pem = pki_file(&pki, "server.pem"), *key = pki_file(&pki, "server.key");
	const char *other = pki_file(&pki, "alice.key"), *rsa = pki_file(&pki, "rsa.key");
	const struct {
		struct tls_pair pair;
		const char *ca;
		enum tls_part part;
		const char *words;
	} rows[] = {
		{ { 0 }, NULL, TLS_PART_CERTIFICATE, "needs a certificate" },
		{ { pem, NULL, NULL }, NULL, TLS_PART_KEY, "come together" },
		{ { NULL, key, NULL }, NULL, TLS_PART_CERTIFICATE, "come together" },
		{ { "/nonexistent.pem", key, NULL },
		  NULL,
		  TLS_PART_CERTIFICATE,
		  "/nonexistent.pem: No such file" },
		{ { pem, "/nonexistent.key", NULL },
		  NULL,
		  TLS_PART_KEY,
		  "/nonexistent.key: No such file" },
		{ { "/tmp", key, NULL }, NULL, TLS_PART_CERTIFICATE, "/tmp: Is a directory" },
		{ { "/dev/zero", key, NULL }, NULL, TLS_PART_CERTIFICATE, "not a regular file" },
		{ { pem, other, NULL }, NULL, TLS_PART_KEY, "alice.key: key values mismatch" },
		{ { pem, rsa, NULL }, NULL, TLS_PART_KEY, "rsa.key: different key types" },
		{ { key, key, NULL }, NULL, TLS_PART_CERTIFICATE, "server.key: no start line" },
		{ { pem, key, pem }, NULL, TLS_PART_OCSP, "not an OCSP response" },
		{ { pem, key, NULL }, "/nonexistent.ca", TLS_PART_CA, "/nonexistent.ca: No such" },
		{ { pem, key, NULL }, key, TLS_PART_CA, "server.key: has no certificate" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refusal(&(struct tls_config){ .role = TLS_SERVER,
						     .pairs = &rows[i].pair,
						     .n_pairs = 1,
						     .ca = rows[i].ca },
			       rows[i].part, rows[i].words);
}

static void other_mistakes_are_said_too(void **state)
{
	const struct tls_pair pair = { pki_file(&pki, "server.pem"), pki_file(&pki, "server.key"),
				       NULL };
	const struct tls_pair pairs[] = { pair, { pair.certificate, "/nonexistent.key", NULL } };
	struct tls_config c = { .role = TLS_SERVER, .pairs = pairs, .n_pairs = 1 };
	struct tls_context *unused;
	struct tls_refusal why;

	c.ciphers = "ECDHE-RSA-AES128-GCM-SHA256:NONSENSE";
	expect_refusal(&c, TLS_PART_CIPHERS, "unknown cipher 'NONSENSE'");
	c.ciphers = "TLS_NONSENSE";
	expect_refusal(&c, TLS_PART_CIPHERS, "unknown cipher 'TLS_NONSENSE'");
	c.ciphers = NULL;
	c.protocols = "h2,,http/1.1";
	expect_refusal(&c, TLS_PART_PROTOCOLS, "without a name");
	c.protocols = NULL;
	c.clients = TLS_CLIENTS_OPTIONAL;
	expect_refusal(&c, TLS_PART_CA, "need the authorities");
	c.clients = TLS_CLIENTS_OFF;
	c.n_pairs = 2;
	assert_int_equal(tls_context_new(&c, &unused, &why), -EINVAL);
	assert_int_equal(why.pair, 1);
	c.role = TLS_CLIENT;
	c.pairs = (struct tls_pair[]){ pair, pair };
	expect_refusal(&c, TLS_PART_CERTIFICATE, "too many");
}

static char *text_of(const char *file)
{
	FILE *f = fopen(pki_file(&pki, file), "r");
	char *text = calloc(1, 8192);

	assert_non_null(f);
	assert_true(fread(text, 1, 8191, f) > 0);
	fclose(f);
	return text;
}

static void pem_comes_from_memory_as_well(void **state)
{
	char *pem = text_of("server.pem"), *key = text_of("server.key"), *ca = text_of("ca.pem");
	struct tls_config config = { .role = TLS_SERVER,
				     .pairs = &(struct tls_pair){ pem, key, NULL },
				     .n_pairs = 1 };
	struct tls_context *server, *client;
	struct tls_refusal why;
	struct ends e;
	int c, s;

	assert_true(tls_is_pem(pem));
	assert_false(tls_is_pem("/etc/ssl/a.pem"));
	assert_int_equal(tls_context_new(&config, &server, &why), 0);
	config = (struct tls_config){ .role = TLS_CLIENT, .ca = ca };
	assert_int_equal(tls_context_new(&config, &client, &why), 0);
	ends_join(&e, server, client, "localhost");
	ends_shake(&e, &c, &s);
	assert_int_equal(c, 0);
	ends_part(&e);
	/* a mistake in the text of a key must not put the key into a log */
	key[60] ^= 1;
	key[61] = '!';
	config = (struct tls_config){ .role = TLS_SERVER,
				      .pairs = &(struct tls_pair){ pem, key, NULL },
				      .n_pairs = 1 };
	assert_int_equal(tls_context_new(&config, &server, &why), -EINVAL);
	assert_int_equal(why.part, TLS_PART_KEY);
	assert_null(strstr(why.reason, "-----"));
	assert_true(strlen(why.reason) < 60);
	free(pem);
	free(key);
	free(ca);
}

/* ---- which certificate a name gets ---- */

/* A client that knows only RSA signatures, or the usual ones. */
static struct tls_context *plain_client(bool rsa)
{
	static char algorithms[] = "RSA-PSS+SHA256:RSA+SHA256";
	struct tls_context *c = pki_client(&pki, NULL, NULL, NULL);

	if (rsa)
		SSL_CTX_set1_sigalgs_list((SSL_CTX *)c, algorithms);
	return c;
}

/* The common name of the certificate that a client sees which asks for name; NULL: refused. */
static char *seen(struct tls_context *server, const char *name, bool rsa)
{
	struct ends e;
	int c, s;
	char *text = NULL;

	ends_join(&e, tls_context_ref(server), plain_client(rsa), name);
	ends_shake(&e, &c, &s);
	if (c == 0) {
		char byte;
		ssize_t n = tls_read(e.client, &byte, 1); /* the tickets of TLS 1.3 */
		SSL_SESSION *session = (SSL_SESSION *)tls_take_session(e.client);
		const X509 *x = session ? SSL_SESSION_get0_peer((SSL_SESSION *)session) : NULL;
		char buf[64] = "?";

		if (x)
			X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, buf,
						  sizeof(buf));
		assert_int_equal(n, -EAGAIN);
		text = strdup(buf);
		SSL_SESSION_free(session);
	}
	ends_part(&e);
	return text;
}

static void expect_certificate(struct tls_context *server, const char *name, bool rsa,
			       const char *wanted)
{
	char *got = seen(server, name, rsa);

	if (!got || strcmp(got, wanted) != 0)
		fail_msg("%s (%s): %s instead of %s", name ? name : "-", rsa ? "rsa" : "any",
			 got ? got : "refused", wanted);
	free(got);
}

/* Tickets make the client keep a session, which has the certificate that it saw. */
static void the_name_chooses_the_certificate(void **state)
{
	struct tls_pair pairs[] = { pki_pair(&pki, "server"), pki_pair(&pki, "wild"),
				    pki_pair(&pki, "exact"), pki_pair(&pki, "exact-rsa") };
	struct tls_config config = {
		.role = TLS_SERVER, .pairs = pairs, .n_pairs = 4, .tickets = tls_tickets_new()
	};
	struct tls_context *server;
	struct tls_refusal why;

	config.minimum = TLS_1_2;
	assert_int_equal(tls_context_new(&config, &server, &why), 0);
	SSL_CTX_set_max_proto_version((SSL_CTX *)server, TLS1_3_VERSION);
	expect_certificate(server, "localhost", false, "server");
	expect_certificate(server, "unknown.test", false, "server");
	expect_certificate(server, NULL, false, "server");
	expect_certificate(server, "127.0.0.1", false, "server");
	expect_certificate(server, "a.example", false, "exact");
	expect_certificate(server, "A.Example", false, "exact");
	expect_certificate(server, "a.example.", false, "exact");
	expect_certificate(server, "a.example", true, "exact-rsa");
	expect_certificate(server, "b.example", false, "wild");
	expect_certificate(server, "a.b.example", false, "server");
	expect_certificate(server, "example", false, "server");
	assert_null(seen(server, "b.example", true));
	assert_int_equal(tls_context_count(server), 4);
	assert_string_equal(tls_context_certificate(server, 3)->algorithm, "RSA");
	assert_string_equal(tls_context_certificate(server, 1)->names[0].value, "*.example");
	assert_string_equal(tls_context_certificate(server, 1)->subject, "CN=wild");
	assert_string_equal(tls_context_certificate(server, 1)->issuer, "CN=ca");
	assert_int_equal(strlen(tls_context_certificate(server, 1)->fingerprint), 64);
	assert_true(tls_context_certificate(server, 1)->not_after >
		    tls_context_certificate(server, 1)->not_before);
	tls_context_free(server);
	tls_tickets_free(config.tickets);
	pki_free_pairs(pairs, 4);
}

/* ---- choose() ---- */

struct table {
	struct tls_context *a, *b;
	char asked[64];
};

static struct tls_context *on_choose(void *user, struct str name)
{
	struct table *t = user;

	snprintf(t->asked, sizeof(t->asked), "%.*s", (int)name.n, name.p);
	if (str_eq(name, STR("a.example")))
		return t->a;
	return str_eq(name, STR("b.example")) ? t->b : NULL;
}

static void join_table(struct ends *e, struct tls_context *door, struct table *t,
		       struct tls_context *client, const char *name,
		       const struct tls_session *session)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, e->fds),
			 0);
	assert_int_equal(tls_connect(client, e->fds[0], name, session, &e->client), 0);
	e->server = tls_accept(door, e->fds[1]);
	tls_set_user(e->server, t);
}

static void the_callback_chooses_everything_by_name(void **state)
{
	struct tls_context *door, *client = pki_client(&pki, "alice", NULL, "h2,http/1.1");
	struct table t = { pki_server(&pki, "exact", NULL, "http/1.1"),
			   pki_server(&pki, "wild", "ca.pem", "h2"), "" };
	struct ends e;
	int c, s;

	assert_int_equal(
		tls_context_new(&(struct tls_config){ .role = TLS_SERVER, .choose = on_choose },
				&door, &(struct tls_refusal){ 0 }),
		0);
	join_table(&e, door, &t, client, "A.example", NULL);
	ends_shake(&e, &c, &s);
	assert_int_equal(c | s, 0);
	assert_string_equal(t.asked, "a.example");
	assert_true(str_eq(tls_server_name(e.server), STR("a.example")));
	assert_true(str_eq(tls_protocol(e.server), STR("http/1.1")));
	assert_null(tls_peer(e.server));
	assert_string_equal(tls_version_name(e.server), "TLSv1.3");
	ends_part(&e);
	join_table(&e, door, &t, client, "b.example", NULL);
	ends_shake(&e, &c, &s);
	assert_int_equal(c | s, 0);
	assert_true(str_eq(tls_protocol(e.server), STR("h2")));
	assert_string_equal(tls_peer(e.server)->subject, "CN=alice");
	ends_part(&e);
	join_table(&e, door, &t, client, "c.example", NULL);
	ends_shake(&e, &c, &s);
	assert_int_equal(s, -EPROTO);
	assert_int_equal(c, -EPROTO);
	assert_string_equal(tls_reason(e.client), "tlsv1 unrecognized name");
	ends_part(&e);
	tls_context_free(door);
	tls_context_free(client);
	tls_context_free(t.a);
	tls_context_free(t.b);
}

/* The lowest version is that of the chosen context, although the door accepts more. */
static void the_version_is_that_of_the_chosen_context(void **state)
{
	struct tls_pair pair = pki_pair(&pki, "server");
	struct tls_config config = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 };
	struct tls_context *door, *client = pki_client(&pki, NULL, NULL, NULL);
	struct tls_refusal why;
	struct table t = { 0 };
	struct ends e;
	int c, s;

	assert_int_equal(tls_context_new(&config, &t.a, &why), 0);
	config.minimum = TLS_1_3;
	assert_int_equal(tls_context_new(&config, &t.b, &why), 0);
	config = (struct tls_config){ .role = TLS_SERVER, .choose = on_choose };
	assert_int_equal(tls_context_new(&config, &door, &why), 0);
	SSL_CTX_set_max_proto_version((SSL_CTX *)client, TLS1_2_VERSION);
	join_table(&e, door, &t, client, "a.example", NULL);
	ends_shake(&e, &c, &s);
	assert_int_equal(c | s, 0);
	ends_part(&e);
	join_table(&e, door, &t, client, "b.example", NULL);
	ends_shake(&e, &c, &s);
	assert_int_equal(s, -EPROTO);
	assert_string_equal(tls_reason(e.server), "unsupported protocol");
	ends_part(&e);
	tls_context_free(door);
	tls_context_free(client);
	tls_context_free(t.a);
	tls_context_free(t.b);
	pki_free_pairs(&pair, 1);
}

/* ---- clients' certificates ---- */

static struct tls_context *server_with(enum tls_clients clients)
{
	struct tls_pair pair = pki_pair(&pki, "server");
	struct tls_config config = { .role = TLS_SERVER,
				     .pairs = &pair,
				     .n_pairs = 1,
				     .ca = pki_file(&pki, "ca.pem"),
				     .clients = clients };
	struct tls_context *c = NULL;

	assert_int_equal(tls_context_new(&config, &c, &(struct tls_refusal){ 0 }), 0);
	pki_free_pairs(&pair, 1);
	return c;
}

/* wanted is the name that the server knows the client by; NULL: none; "!": the server refuses. */
static void expect_client(enum tls_clients clients, const char *name, const char *wanted)
{
	struct ends e;
	int c, s;

	ends_join(&e, server_with(clients), pki_client(&pki, name, NULL, NULL), "localhost");
	ends_shake(&e, &c, &s);
	if (wanted && *wanted == '!')
		assert_true(s < 0);
	else
		assert_int_equal(s, 0);
	if (wanted && *wanted != '!')
		assert_string_equal(tls_peer_name(e.server), wanted);
	else
		assert_null(tls_peer(e.server));
	ends_part(&e);
}

static void certificates_of_clients_are_off_optional_required_or_any(void **state)
{
	expect_client(TLS_CLIENTS_OFF, "alice", NULL);
	expect_client(TLS_CLIENTS_OPTIONAL, "alice", "alice");
	expect_client(TLS_CLIENTS_OPTIONAL, NULL, NULL);
	expect_client(TLS_CLIENTS_OPTIONAL, "stranger", "!");
	expect_client(TLS_CLIENTS_REQUIRED, "alice", "alice");
	expect_client(TLS_CLIENTS_REQUIRED, NULL, "!");
	expect_client(TLS_CLIENTS_REQUIRED, "stranger", "!");
	expect_client(TLS_CLIENTS_ANY, "alice", "alice");
	expect_client(TLS_CLIENTS_ANY, NULL, NULL);
	expect_client(TLS_CLIENTS_ANY, "stranger", NULL);
}

/* ---- a client's own names ---- */

static int verify_names(const char *server, const struct tls_name *names, size_t n, const char *sni)
{
	const struct tls_config config = {
		.role = TLS_CLIENT, .ca = pki_file(&pki, "ca.pem"), .names = names, .n_names = n
	};
	struct tls_context *client;
	struct ends e;
	int c, s;

	assert_int_equal(tls_context_new(&config, &client, &(struct tls_refusal){ 0 }), 0);
	ends_join(&e, server_of(server, NULL), client, sni);
	ends_shake(&e, &c, &s);
	if (c == 0) {
		assert_true(str_eq(tls_server_name(e.server), str_of(sni ? sni : "")));
		assert_string_equal(tls_peer(e.client)->subject, "CN=service");
		assert_int_equal(tls_peer(e.client)->names[1].kind, TLS_NAME_URI);
	} else {
		assert_true(s < 0); /* the server is told by an alert */
	}
	ends_part(&e);
	return c;
}

static void one_of_a_clients_names_must_be_in_the_certificate(void **state)
{
	const struct tls_name uri = { TLS_NAME_URI, "spiffe://a/service" };
	const struct tls_name longer = { TLS_NAME_URI, "spiffe://a/service2" };
	const struct tls_name dns = { TLS_NAME_DNS, "service.internal" };
	const struct tls_name other = { TLS_NAME_DNS, "elsewhere.internal" };

	assert_int_equal(verify_names("service", &uri, 1, "any.example"), 0);
	assert_int_equal(verify_names("service", &dns, 1, "any.example"), 0);
	assert_int_equal(verify_names("service", &dns, 1, NULL), 0);
	assert_int_equal(verify_names("service", (struct tls_name[]){ other, uri }, 2, NULL), 0);
	assert_int_equal(verify_names("service", &other, 1, "service.internal"), -EKEYREJECTED);
	assert_int_equal(verify_names("service", &longer, 1, NULL), -EKEYREJECTED);
	assert_int_equal(verify_names("strange-service", &uri, 1, NULL), -EKEYREJECTED);
}

static int make_certificates(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, NULL, "foreign");
	pki_issue(&pki, "ca", "server");
	pki_issue(&pki, "ca", "alice");
	pki_issue(&pki, "foreign", "stranger");
	pki_issue_for(&pki, &(struct pki_request){ "ca", "rsa", "DNS:localhost", true, 0 });
	pki_issue_for(&pki, &(struct pki_request){ "ca", "wild", "DNS:*.example", false, 0 });
	pki_issue_for(&pki, &(struct pki_request){ "ca", "exact", "DNS:A.example", false, 0 });
	pki_issue_for(&pki, &(struct pki_request){ "ca", "exact-rsa", "DNS:a.example", true, 0 });
	pki_issue_for(&pki, &(struct pki_request){ "ca", "service",
						   "DNS:service.internal,URI:spiffe://a/service",
						   false, 0 });
	pki_issue_for(&pki, &(struct pki_request){ "foreign", "strange-service",
						   "URI:spiffe://a/service", false, 0 });
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
		cmocka_unit_test(other_mistakes_are_said_too),
		cmocka_unit_test(pem_comes_from_memory_as_well),
		cmocka_unit_test(the_name_chooses_the_certificate),
		cmocka_unit_test(the_callback_chooses_everything_by_name),
		cmocka_unit_test(the_version_is_that_of_the_chosen_context),
		cmocka_unit_test(certificates_of_clients_are_off_optional_required_or_any),
		cmocka_unit_test(one_of_a_clients_names_must_be_in_the_certificate),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
