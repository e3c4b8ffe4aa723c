/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/vault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/tls/testkit.h"

static struct pki pki;

static struct tls_context *on_choose(void *user, struct str name)
{
	return NULL;
}

static struct vault_item *take(struct vault *v, const struct tls_config *config)
{
	struct vault_item *item;
	struct tls_refusal why;

	if (vault_take(v, config, &item, &why) < 0)
		fail_msg("%s", why.reason);
	return item;
}

/* Each item is kept by its first user, so that its address is not used again. */
static void contexts_are_shared_until_something_changes(void **state)
{
	struct vault *v = vault_new(on_choose);
	struct tls_pair pair = pki_pair(&pki, "a");
	struct tls_config c = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1, .scope = "l" };
	struct vault_item *first = take(v, &c), *second;

	assert_ptr_equal(take(v, &c), first);
	c.scope = "m";
	second = take(v, &c);
	assert_ptr_not_equal(second, first);
	c.scope = "l";
	c.minimum = TLS_1_3;
	assert_ptr_not_equal(take(v, &c), first);
	c.minimum = TLS_1_2;
	c.tickets = vault_tickets(v);
	assert_ptr_not_equal(take(v, &c), first);
	c.tickets = NULL;
	assert_ptr_equal(take(v, &c), first);
	pki_issue(&pki, NULL, "a"); /* the same names, other files */
	second = take(v, &c);
	assert_ptr_not_equal(second, first);
	assert_ptr_equal(take(v, &c), second);
	assert_string_not_equal(tls_context_certificate(first->context, 0)->fingerprint,
				tls_context_certificate(second->context, 0)->fingerprint);
	vault_free(v);
	pki_free_pairs(&pair, 1);
}

static void what_nobody_uses_goes_with_the_next_sweep(void **state)
{
	struct vault *v = vault_new(on_choose);
	struct tls_pair pair = pki_pair(&pki, "a");
	const struct tls_config c = { .role = TLS_SERVER, .pairs = &pair, .n_pairs = 1 };
	struct vault_item *item = take(v, &c);

	vault_hold(item);
	vault_give(item);
	vault_sweep(v);
	assert_ptr_equal(take(v, &c), item);
	vault_give(item);
	vault_give(item);
	assert_ptr_equal(take(v, &c), item); /* still there, and not read again */
	vault_give(item);
	vault_sweep(v);
	vault_give(take(v, &c));
	vault_free(v);
	pki_free_pairs(&pair, 1);
}

static void a_complaint_names_the_key_and_takes_nothing(void **state)
{
	struct vault *v = vault_new(on_choose);
	struct tls_pair pair = pki_pair(&pki, "a");
	const struct l7_certificate good[] = { { pair.certificate, pair.key, NULL } };
	const struct l7_certificate bad[] = { { pair.certificate, pair.key, NULL },
					      { pair.certificate, "/nonexistent", NULL } };
	struct l7_listener listeners[] = {
		{ .name = "plain" },
		{ .name = "good",
		  .tls = { .mode = L7_TLS_TERMINATE, .certificates = good, .n_certificates = 1 } },
		{ .name = "bad",
		  .tls = { .mode = L7_TLS_TERMINATE, .certificates = bad, .n_certificates = 2 } },
	};
	struct l7_config config = { .listeners = listeners, .n_listeners = 3 };
	_cleanup_(buf_free) struct buf why = { 0 };
	struct vault_item *items[3];

	assert_int_equal(vault_take_all(v, &config, items, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why),
			    "listeners[2].tls.certificates[1].key: /nonexistent: No "
			    "such file or directory");
	listeners[2].tls.n_certificates = 1;
	assert_int_equal(vault_take_all(v, &config, items, &why), 0);
	assert_null(items[0]);
	assert_int_equal(items[1]->users, 1);
	why.n = 0;
	listeners[2].tls.clients = L7_TLS_CLIENTS_REQUIRE;
	listeners[2].tls.ca = "/dev/null";
	assert_int_equal(vault_check(v, &config, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why),
			    "listeners[2].tls.clients.ca: /dev/null: is not a regular file");
	vault_free(v);
	pki_free_pairs(&pair, 1);
}

static int setup(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "a");
	return 0;
}

static int teardown(void **state)
{
	pki_remove(&pki);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_are_shared_until_something_changes),
		cmocka_unit_test(what_nobody_uses_goes_with_the_next_sweep),
		cmocka_unit_test(a_complaint_names_the_key_and_takes_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
