/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: verification, resumption and its time limit. The test creates its certificates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/loop/task.h"
#include "lib/probe/internal.h"
#include "lib/probe/test_server.h"
#include "lib/regex/regex.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define DAY (24 * 3600L)
#define OK_SHORT "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static EVP_PKEY *key, *ca_key;
static X509 *ca;
static char ca_file[64];

static void add_extension(X509 *cert, int kind, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

	assert_non_null(e);
	X509_add_ext(cert, e, -1);
	X509_EXTENSION_free(e);
}

/* issuer NULL: self-signed. */
static X509 *make_certificate(X509 *issuer, EVP_PKEY *subject_key, const char *names, long from,
			      long until)
{
	static long serial = 1;
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);

	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(cert), from);
	X509_gmtime_adj(X509_getm_notAfter(cert), until);
	X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC,
				   (const unsigned char *)(names ? "leaf" : "authority"), -1, -1,
				   0);
	X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);
	X509_set_pubkey(cert, subject_key);
	if (names)
		add_extension(cert, NID_subject_alt_name, names);
	else
		add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(X509_sign(cert, issuer ? ca_key : subject_key, EVP_sha256()) > 0);
	return cert;
}

static void use(SSL_CTX *ctx, X509 *cert)
{
	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	X509_free(cert);
}

static void use_good(SSL_CTX *ctx)
{
	use(ctx, make_certificate(ca, key, "DNS:www.example.net,IP:127.0.0.1,IP:::1", -DAY, DAY));
}

static void use_expired(SSL_CTX *ctx)
{
	use(ctx, make_certificate(ca, key, "DNS:www.example.net", -2 * DAY, -DAY));
}

static int on_sni(SSL *ssl, int *alert, void *arg)
{
	struct server *s = arg;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	snprintf(s->sni, sizeof(s->sni), "%s", name ? name : "");
	return SSL_TLSEXT_ERR_OK;
}

static void start(struct bench *b, int family, int version, const struct step *script)
{
	server_start(&b->server, b->loop, family, script);
	b->server.tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_min_proto_version(b->server.tls, version);
	SSL_CTX_set_max_proto_version(b->server.tls, version);
	SSL_CTX_set_tlsext_servername_callback(b->server.tls, on_sni);
	SSL_CTX_set_tlsext_servername_arg(b->server.tls, &b->server);
	use_good(b->server.tls);
}

static const struct step serve_once[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT), STEP(CLOSE) };
static const struct step serve_on[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT), STEP(AGAIN) };

static struct probe_spec named_spec(struct bench *b)
{
	struct probe_spec spec = bench_spec(b, PROBE_HTTPS);

	spec.server_name = "www.example.net";
	return spec;
}

static const struct probe_outcome *ask_once(struct bench *b, const struct probe_spec *spec)
{
	struct probe *p = bench_probe(b, spec);

	bench_ask(b, p);
	probe_free(p);
	return &b->outcome;
}

static void a_good_certificate_passes_with_both_versions(void **state)
{
	const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct probe_spec spec;

		start(b, AF_INET, versions[i], serve_once);
		spec = named_spec(b);
		bench_expect(ask_once(b, &spec), PROBE_STAGE_DONE, PROBE_OK);
		assert_int_equal(b->outcome.status, 200);
		assert_string_equal(b->server.sni, "www.example.net");
		server_stop(&b->server);
	}
}

static void the_name_is_server_name_else_host_else_the_address(void **state)
{
	static const struct {
		const char *server_name, *host, *sni;
		bool good;
	} rows[] = {
		{ "www.example.net", "other", "www.example.net", true },
		{ NULL, "www.example.net", "www.example.net", true },
		{ NULL, "www.example.net:8443", "www.example.net", true },
		{ NULL, "[::1]:8443", "", true },
		{ NULL, "::1", "", true },
		{ NULL, NULL, "", true },
		{ "127.0.0.1", "other", "", true },
		{ "127.0.0.2", "www.example.net", "", false },
		{ "other.example.net", "www.example.net", "other.example.net", false },
		{ NULL, "other.example.net", "other.example.net", false },
	};
	const int families[] = { AF_INET, AF_INET6 };
	struct bench *b = *state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		size_t r = i / 2;
		struct probe_spec spec;

		start(b, families[i % 2], TLS1_3_VERSION, serve_once);
		spec = bench_spec(b, PROBE_HTTPS);
		spec.server_name = rows[r].server_name;
		spec.host = rows[r].host;
		ask_once(b, &spec);
		if (rows[r].good)
			bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
		else
			bench_expect(&b->outcome, PROBE_STAGE_TLS, PROBE_ERR_CERTIFICATE);
		assert_string_equal(b->server.sni, rows[r].sni);
		server_stop(&b->server);
	}
}

static void bad_certificates_each_have_their_word(void **state)
{
	struct {
		X509 *cert;
		const char *word;
	} rows[] = {
		{ make_certificate(ca, key, "DNS:other.example.net", -DAY, DAY),
		  "hostname mismatch" },
		{ make_certificate(ca, key, "DNS:www.example.net", -2 * DAY, -DAY),
		  "certificate has expired" },
		{ make_certificate(ca, key, "DNS:www.example.net", DAY, 2 * DAY),
		  "certificate is not yet valid" },
		{ make_certificate(NULL, key, "DNS:www.example.net", -DAY, DAY),
		  "self-signed certificate" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_spec spec;

		start(b, AF_INET, TLS1_3_VERSION, serve_once);
		X509_up_ref(rows[i].cert);
		use(b->server.tls, rows[i].cert);
		spec = named_spec(b);
		bench_expect(ask_once(b, &spec), PROBE_STAGE_TLS, PROBE_ERR_CERTIFICATE);
		assert_string_equal(b->outcome.reason, rows[i].word);
		assert_false(probe_outcome_is_local(&b->outcome));

		spec.insecure_skip_verify = true;
		bench_expect(ask_once(b, &spec), PROBE_STAGE_DONE, PROBE_OK);
		server_stop(&b->server);
		X509_free(rows[i].cert);
	}
}

static void what_is_not_tls_fails_in_the_handshake(void **state)
{
	static const struct step garbage[] = { STEP_WITH(SEND, "HTTP/1.1 400 Bad\r\n\r\n"),
					       STEP(END) };
	static const struct step closing[] = { STEP(CLOSE) };
	static const struct step resetting[] = { STEP(RESET) };
	static const struct step silent[] = { STEP(END) };
	static const struct {
		const struct step *script;
		enum probe_error error;
	} rows[] = {
		{ garbage, PROBE_ERR_TLS },
		{ closing, PROBE_ERR_RESET },
		{ resetting, PROBE_ERR_RESET },
		{ silent, PROBE_ERR_TIMEOUT },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_spec spec;

		server_start(&b->server, b->loop, AF_INET, rows[i].script);
		spec = named_spec(b);
		if (rows[i].error == PROBE_ERR_TIMEOUT)
			spec.timeout = 100 * MS;
		bench_expect(ask_once(b, &spec), PROBE_STAGE_TLS, rows[i].error);
		server_stop(&b->server);
	}
}

static void a_server_that_wants_another_version_fails_with_its_alert(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;

	start(b, AF_INET, TLS1_3_VERSION, serve_once);
	SSL_CTX_set_min_proto_version(b->server.tls, 0);
	SSL_CTX_set_max_proto_version(b->server.tls, TLS1_2_VERSION);
	assert_int_equal(SSL_CTX_set_cipher_list(b->server.tls, "RSA"), 1); /* has no such key */
	spec = named_spec(b);
	bench_expect(ask_once(b, &spec), PROBE_STAGE_TLS, PROBE_ERR_TLS);
	assert_non_null(strstr(b->outcome.reason, "handshake failure"));
}

static void closed_after_the_handshake_is_a_failure_of_http(void **state)
{
	static const struct step closing[] = { STEP(REQUEST), STEP(CLOSE) };
	static const struct step resetting[] = { STEP(REQUEST), STEP_WITH(SEND, "HTTP/1"),
						 STEP(RESET) };
	static const struct step silent[] = { STEP(REQUEST), STEP(END) };
	struct bench *b = *state;
	struct probe_spec spec;

	start(b, AF_INET, TLS1_3_VERSION, closing);
	spec = named_spec(b);
	bench_expect(ask_once(b, &spec), PROBE_STAGE_HTTP, PROBE_ERR_RESET);
	b->server.script = resetting;
	bench_expect(ask_once(b, &spec), PROBE_STAGE_HTTP, PROBE_ERR_RESET);
	b->server.script = silent;
	spec.timeout = 100 * MS;
	bench_expect(ask_once(b, &spec), PROBE_STAGE_HTTP, PROBE_ERR_TIMEOUT);
}

/* A task of the rank of probes that always has more to do. */
struct other {
	struct task task;
	unsigned steps;
};

static bool on_other_step(struct task *t)
{
	container_of(t, struct other, task)->steps++;
	return true;
}

/* All are in the socket at once, but each takes a step of its own, so others run as well. */
static void an_answer_in_many_records_leaves_turns_to_others(void **state)
{
	static struct step script[100];
	static const struct step head[] = {
		STEP(REQUEST), STEP_WITH(SEND, "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n")
	};
	_cleanup_(regex_freep) struct regex *body = NULL;
	char reason[REGEX_REASON_SIZE];
	struct bench *b = *state;
	struct other other = { 0 };
	struct probe_spec spec;

	memcpy(script, head, sizeof(head));
	for (size_t i = 0; i < 90; i++)
		script[ARRAY_SIZE(head) + i] = (struct step)STEP_WITH(SEND, "x");
	start(b, AF_INET, TLS1_3_VERSION, script);
	assert_int_equal(regex_compile("^x{90}$", &body, reason, sizeof(reason)), 0);
	spec = named_spec(b);
	spec.body = body;
	task_init(&other.task, b->loop, TASK_URGENT, on_other_step);
	task_wake(&other.task);
	bench_expect(ask_once(b, &spec), PROBE_STAGE_DONE, PROBE_OK);
	task_cancel(&other.task);
	assert_true(other.steps >= 90);
}

/* ---- sessions ---- */

static int64_t leap; /* ns by which the clock of the probes is ahead */

static int64_t leaping_clock(void)
{
	return loop_monotonic() + leap;
}

static struct probe *resumer(struct bench *b, int version, const struct step *script)
{
	struct probe_spec spec;

	leap = 0;
	b->env->clock = leaping_clock;
	start(b, AF_INET, version, script);
	spec = named_spec(b);
	return bench_probe(b, &spec);
}

static void sessions_are_resumed_with_both_versions(void **state)
{
	const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct probe *p = resumer(b, versions[i], serve_once);

		for (int n = 0; n < 5; n++) {
			bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
			assert_int_equal(b->outcome.resumed, n > 0);
		}
		probe_free(p);
		server_stop(&b->server);
	}
}

/* Asked every 10, 19, 29 s, a tenth more or less: never more than 60 s without a full handshake. */
static void a_full_handshake_comes_within_sixty_seconds(void **state)
{
	static const int64_t gaps[][6] = {
		{ 10200, 10200, 10200, 10200, 9000, 11000 },
		{ 19000, 19000, 19000, 19000, 19000, 19000 },
		{ 29900, 31900, 26100, 31900, 29000, 31900 },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
		struct probe *p = resumer(b, TLS1_3_VERSION, serve_once);
		int64_t full = 0;

		for (size_t n = 0; n <= ARRAY_SIZE(gaps[i]); n++) {
			bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
			assert_true(leap - full < 60 * SECOND);
			if (!b->outcome.resumed)
				full = leap;
			leap += n < ARRAY_SIZE(gaps[i]) ? gaps[i][n] * MS : 0;
		}
		probe_free(p);
		server_stop(&b->server);
	}
}

static void an_expired_certificate_is_seen_within_sixty_seconds(void **state)
{
	struct bench *b = *state;
	struct probe *p = resumer(b, TLS1_3_VERSION, serve_once);

	bench_ask(b, p);
	use_expired(b->server.tls);
	leap += 14 * SECOND;
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_true(b->outcome.resumed);
	leap += 14 * SECOND;
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	leap += 14 * SECOND;
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	leap += 14 * SECOND;
	bench_expect(bench_ask(b, p), PROBE_STAGE_TLS, PROBE_ERR_CERTIFICATE);
	assert_string_equal(b->outcome.reason, "certificate has expired");
	bench_expect(bench_ask(b, p), PROBE_STAGE_TLS, PROBE_ERR_CERTIFICATE);
	use_good(b->server.tls);
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	probe_free(p);
}

static void a_failure_is_followed_by_a_full_handshake(void **state)
{
	static const struct step sorry[] = { STEP(REQUEST),
					     STEP_WITH(SEND, "HTTP/1.1 503 x\r\n\r\n"),
					     STEP(CLOSE) };
	struct bench *b = *state;
	struct probe *p = resumer(b, TLS1_3_VERSION, serve_once);

	bench_ask(b, p);
	bench_ask(b, p);
	assert_true(b->outcome.resumed);
	b->server.script = sorry;
	bench_expect(bench_ask(b, p), PROBE_STAGE_HTTP, PROBE_ERR_STATUS);
	b->server.script = serve_once;
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_false(b->outcome.resumed);
	bench_ask(b, p);
	assert_true(b->outcome.resumed);
	probe_free(p);
}

static void a_new_spec_drops_the_session(void **state)
{
	struct bench *b = *state;
	struct probe *p = resumer(b, TLS1_3_VERSION, serve_once);
	struct probe_spec spec = named_spec(b);

	bench_ask(b, p);
	probe_set_spec(p, &spec);
	bench_ask(b, p);
	assert_false(b->outcome.resumed);
	probe_free(p);
}

static void kept_connections_work_over_tls_too(void **state)
{
	const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct probe *p = resumer(b, versions[i], serve_on);
		struct probe_spec spec = named_spec(b);

		spec.keep_alive = true;
		probe_set_spec(p, &spec);
		for (unsigned n = 0; n < 15; n++) {
			bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
			assert_int_equal(b->outcome.reused, n % 10 != 0);
			bench_turns(b, 2);
		}
		assert_int_equal(b->server.accepted, 2);
		server_drop_all(&b->server);
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		assert_false(b->outcome.reused);
		probe_free(p);
		server_stop(&b->server);
	}
}

static void a_kept_connection_does_not_hide_an_expired_certificate(void **state)
{
	struct bench *b = *state;
	struct probe *p = resumer(b, TLS1_3_VERSION, serve_on);
	struct probe_spec spec = named_spec(b);

	spec.keep_alive = true;
	probe_set_spec(p, &spec);
	bench_ask(b, p);
	use_expired(b->server.tls);
	leap += 25 * SECOND;
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_true(b->outcome.reused);
	leap += 25 * SECOND;
	bench_expect(bench_ask(b, p), PROBE_STAGE_TLS, PROBE_ERR_CERTIFICATE);
	probe_free(p);
}

static int make_authority(void **state)
{
	FILE *f;
	int fd;

	snprintf(ca_file, sizeof(ca_file), "/tmp/https_test.XXXXXX");
	fd = mkstemp(ca_file);
	if (fd < 0)
		return -1;
	key = EVP_EC_gen("P-256");
	ca_key = EVP_EC_gen("P-256");
	ca = make_certificate(NULL, ca_key, NULL, -30 * DAY, 30 * DAY);
	f = fdopen(fd, "w");
	PEM_write_X509(f, ca);
	fclose(f);
	return setenv("SSL_CERT_FILE", ca_file, 1);
}

static int drop_authority(void **state)
{
	unlink(ca_file);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
	return 0;
}

#define ON_BENCH(f) cmocka_unit_test_setup_teardown(f, bench_setup, bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(a_good_certificate_passes_with_both_versions),
		ON_BENCH(the_name_is_server_name_else_host_else_the_address),
		ON_BENCH(bad_certificates_each_have_their_word),
		ON_BENCH(what_is_not_tls_fails_in_the_handshake),
		ON_BENCH(a_server_that_wants_another_version_fails_with_its_alert),
		ON_BENCH(closed_after_the_handshake_is_a_failure_of_http),
		ON_BENCH(an_answer_in_many_records_leaves_turns_to_others),
		ON_BENCH(sessions_are_resumed_with_both_versions),
		ON_BENCH(a_full_handshake_comes_within_sixty_seconds),
		ON_BENCH(an_expired_certificate_is_seen_within_sixty_seconds),
		ON_BENCH(a_failure_is_followed_by_a_full_handshake),
		ON_BENCH(a_new_spec_drops_the_session),
		ON_BENCH(kept_connections_work_over_tls_too),
		ON_BENCH(a_kept_connection_does_not_hide_an_expired_certificate),
	};

	return cmocka_run_group_tests(tests, make_authority, drop_authority);
}
