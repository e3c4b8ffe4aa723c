/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/certificates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/tls/issue.h"

#define DAY ((int64_t)86400)
#define NOW (20000 * DAY)
#define SERVER "hook.ns.svc"

static void they_are_renewed_before_they_end(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct certificates none = { 0 };
	struct certificates first = certificates_make(&none, SERVER, NOW, arena), second, third;

	assert_false(certificates_are_good(&none, SERVER, NOW));
	assert_true(certificates_are_good(&first, SERVER, NOW));
	assert_false(certificates_are_good(&first, "other.ns.svc", NOW));
	assert_true(certificates_are_good(&first, SERVER, NOW + 59 * DAY));
	assert_false(certificates_are_good(&first, SERVER, NOW + 61 * DAY));
	/* with the same authority, so that nobody has to be told */
	second = certificates_make(&first, SERVER, NOW + 61 * DAY, arena);
	assert_string_equal(second.ca, first.ca);
	assert_true(certificates_are_good(&second, SERVER, NOW + 61 * DAY));
	/* and with another one, beside the old one, when that comes to its end */
	third = certificates_make(&second, SERVER, NOW + 3300 * DAY, arena);
	assert_true(certificates_are_good(&third, SERVER, NOW + 3300 * DAY));
	assert_non_null(strstr(third.ca, first.ca));
	assert_true(strlen(third.ca) > strlen(first.ca));
}

static void a_secret_that_does_not_fit_is_not_used(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct certificates none = { 0 }, a = certificates_make(&none, SERVER, NOW, arena),
			    b = certificates_make(&none, SERVER, NOW, arena);

	b.ca = a.ca;
	assert_false(certificates_are_good(&b, SERVER, NOW));
	a.ca_key = NULL;
	assert_false(certificates_are_good(&a, SERVER, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_renewed_before_they_end),
		cmocka_unit_test(a_secret_that_does_not_fit_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
