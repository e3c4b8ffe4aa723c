/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/issue.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/tls/tls.h"

#define DAY ((int64_t)86400)
#define NOW (20000 * DAY)

static const char *const servers[] = { "hook.ns.svc", "hook.ns.svc.cluster.local" };

struct pair {
	struct buf certificate, key;
};

static struct pair authority(void)
{
	struct pair p = { 0 };

	assert_int_equal(tls_issue(&(struct tls_issue){ .name = "authority",
							.not_before = NOW,
							.not_after = NOW + 10 * DAY },
				   &p.certificate, &p.key),
			 0);
	return p;
}

static int serve(struct pair *ca, struct pair *ret)
{
	return tls_issue(&(struct tls_issue){ .name = "hook",
					      .servers = servers,
					      .n_servers = 2,
					      .not_before = NOW,
					      .not_after = NOW + DAY,
					      .ca = buf_cstr(&ca->certificate),
					      .ca_key = buf_cstr(&ca->key) },
			 &ret->certificate, &ret->key);
}

static void release(struct pair *p)
{
	buf_free(&p->certificate);
	buf_free(&p->key);
}

static void a_server_certificate_fits_its_authority_only(void **state)
{
	struct pair ca = authority(), other = authority(), server = { 0 };
	int64_t ends;

	assert_int_equal(serve(&ca, &server), 0);
	assert_true(tls_pem_fits(buf_cstr(&server.certificate), buf_cstr(&server.key),
				 buf_cstr(&ca.certificate)));
	assert_false(tls_pem_fits(buf_cstr(&server.certificate), buf_cstr(&server.key),
				  buf_cstr(&other.certificate)));
	assert_false(tls_pem_fits(buf_cstr(&server.certificate), buf_cstr(&ca.key),
				  buf_cstr(&ca.certificate)));
	assert_int_equal(tls_pem_ends(buf_cstr(&server.certificate), &ends), 0);
	assert_int_equal(ends, NOW + DAY);
	assert_true(tls_pem_names(buf_cstr(&server.certificate), "hook.ns.svc"));
	assert_false(tls_pem_names(buf_cstr(&server.certificate), "hook.other.svc"));
	release(&ca);
	release(&other);
	release(&server);
}

static void a_server_can_use_it(void **state)
{
	struct pair ca = authority(), server = { 0 };
	struct tls_context *context;
	struct tls_refusal why;
	struct tls_pair pair;

	assert_int_equal(serve(&ca, &server), 0);
	pair = (struct tls_pair){ .certificate = buf_cstr(&server.certificate),
				  .key = buf_cstr(&server.key) };
	if (tls_context_new(
		    &(struct tls_config){ .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 },
		    &context, &why) < 0)
		fail_msg("%s", why.reason);
	tls_context_free(context);
	release(&ca);
	release(&server);
}

static void broken_texts_are_refused(void **state)
{
	struct pair ca = authority(), other = authority(), none = { 0 };
	int64_t ends = 7;
	struct pair mixed = { ca.certificate, other.key };

	assert_int_equal(serve(&mixed, &none), -EINVAL);
	assert_int_equal(none.certificate.n + none.key.n, 0);
	assert_int_equal(tls_pem_ends("nonsense", &ends), -EINVAL);
	assert_int_equal(ends, 7);
	assert_false(tls_pem_fits("", NULL, NULL));
	release(&ca);
	release(&other);
	release(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_certificate_fits_its_authority_only),
		cmocka_unit_test(a_server_can_use_it),
		cmocka_unit_test(broken_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
