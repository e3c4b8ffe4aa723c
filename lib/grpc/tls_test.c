/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC over TLS, with and without client certificates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/grpc/testkit.h"
#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

#define MIB ((size_t)1024 * 1024)

static struct pki pki;

static struct tls_context *server_context(const char *name, const char *client_ca)
{
	return pki_server(&pki, name, client_ca, "h2");
}

static struct tls_context *client_context(const char *name)
{
	return pki_client(&pki, name[0] ? name : NULL, "ca.pem", "h2");
}

/* One call of Who, with the client certificate of that name. */
static void ask_who(struct kit *kit, const char *name, struct heard *h)
{
	struct tls_context *tls = client_context(name);

	kit_reconnect(kit, (struct grpc_client_config){ .tls = tls });
	kit_call(kit, h, &kit_who, "", 0, 0);
	kit_wait_done(kit, h);
	tls_context_free(tls);
}

static void calls_go_through_tls(void **state)
{
	struct tls_context *server = server_context("server", NULL);
	struct tls_context *client = client_context("");
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .tls = server });
	ask_who(&kit, "", &h);
	assert_int_equal(h.status, GRPC_OK);
	assert_string_equal(h.note, "nobody");
	memset(&h, 0, sizeof(h));
	kit_reconnect(&kit, (struct grpc_client_config){ .tls = client });
	kit_call_with_data(&kit, &h, &kit_echo, 3 * MIB);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_OK);
	assert_int_equal(h.data_size, 3 * MIB);
	kit_stop(&kit);
	tls_context_free(server);
	tls_context_free(client);
}

static void a_client_is_known_by_its_certificate(void **state)
{
	struct tls_context *server = server_context("server", "ca.pem");
	struct heard alice = { 0 }, bob = { 0 }, nobody = { 0 }, stranger = { 0 };
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .tls = server });
	ask_who(&kit, "alice", &alice);
	assert_string_equal(alice.note, "alice");
	ask_who(&kit, "bob", &bob);
	assert_string_equal(bob.note, "bob");
	ask_who(&kit, "", &nobody);
	assert_int_equal(nobody.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(nobody.text, "the server requires a client certificate"));
	assert_int_equal(nobody.messages, 0);
	ask_who(&kit, "stranger", &stranger);
	assert_int_equal(stranger.status, GRPC_UNAVAILABLE);
	assert_int_equal(stranger.messages, 0);
	kit_stop(&kit);
	tls_context_free(server);
}

static void a_server_that_is_not_trusted_is_not_talked_to(void **state)
{
	struct tls_context *server = server_context("stranger", NULL);
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .tls = server });
	ask_who(&kit, "", &h);
	assert_int_equal(h.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(h.text, "TLS: "));
	kit_stop(&kit);
	tls_context_free(server);
}

/* Certificates are replaced while the server runs: open connections stay. */
static void a_new_context_serves_new_connections(void **state)
{
	struct tls_context *first = server_context("server", NULL);
	struct tls_context *second = server_context("stranger", NULL);
	struct tls_context *client = client_context("");
	struct heard a = { 0 }, b = { 0 }, c = { 0 };
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .tls = first });
	kit_reconnect(&kit, (struct grpc_client_config){ .tls = client });
	kit_call(&kit, &a, &kit_watch, "", 0, 0);
	kit_wait_messages(&kit, &a, 1);
	grpc_server_set_tls(kit.server, second);
	tls_context_free(first);
	kit_call(&kit, &b, &kit_echo, "", 0, 0);
	kit_wait_done(&kit, &b);
	assert_int_equal(b.status, GRPC_OK);
	assert_int_equal(kit_send(&kit, "still here", 0), 0);
	kit_wait_messages(&kit, &a, 2);
	ask_who(&kit, "", &c);
	assert_int_equal(c.status, GRPC_UNAVAILABLE);
	kit_stop(&kit);
	tls_context_free(second);
	tls_context_free(client);
}

/* The same in the client: after a refusal it uses another certificate. */
static void a_client_with_a_new_context_connects_with_it(void **state)
{
	struct tls_context *server = server_context("server", "ca.pem");
	struct tls_context *first = client_context(""), *second = client_context("alice"),
			   *third = client_context("bob");
	struct heard refused = { 0 }, alice = { 0 }, still = { 0 };
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .tls = server });
	kit_reconnect(&kit, (struct grpc_client_config){ .tls = first });
	kit_call(&kit, &refused, &kit_who, "", 0, 0);
	kit_wait_done(&kit, &refused);
	assert_int_equal(refused.status, GRPC_UNAVAILABLE);
	grpc_client_set_tls(kit.client, second);
	tls_context_free(first);
	kit_call(&kit, &alice, &kit_who, "", 0, 0);
	kit_wait_done(&kit, &alice);
	assert_string_equal(alice.note, "alice");
	grpc_client_set_tls(kit.client, third);
	tls_context_free(second);
	kit_call(&kit, &still, &kit_who, "", 0, 0);
	kit_wait_done(&kit, &still);
	assert_string_equal(still.note, "alice");
	kit_stop(&kit);
	tls_context_free(third);
	tls_context_free(server);
}

static void tls_and_plain_do_not_mix(void **state)
{
	struct tls_context *server = server_context("server", NULL);
	struct heard plain = { 0 }, secure = { 0 };
	struct kit kit;

	kit_start(&kit, (struct grpc_server_config){ .tls = server });
	kit_call(&kit, &plain, &kit_who, "", 0, 0);
	kit_wait_done(&kit, &plain);
	assert_int_equal(plain.status, GRPC_UNAVAILABLE);
	grpc_server_set_tls(kit.server, NULL);
	ask_who(&kit, "", &secure);
	assert_int_equal(secure.status, GRPC_UNAVAILABLE);
	kit_stop(&kit);
	tls_context_free(server);
}

static int make_certificates(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, NULL, "foreign");
	pki_issue(&pki, "ca", "server");
	pki_issue(&pki, "ca", "alice");
	pki_issue(&pki, "ca", "bob");
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
		cmocka_unit_test(calls_go_through_tls),
		cmocka_unit_test(a_client_is_known_by_its_certificate),
		cmocka_unit_test(a_server_that_is_not_trusted_is_not_talked_to),
		cmocka_unit_test(a_new_context_serves_new_connections),
		cmocka_unit_test(a_client_with_a_new_context_connects_with_it),
		cmocka_unit_test(tls_and_plain_do_not_mix),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
