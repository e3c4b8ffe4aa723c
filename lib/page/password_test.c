/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/page/password.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* "secret", as htpasswd -B writes it */
#define BCRYPT "$2y$05$abcdefghijklmnopqrstuuWm4IySIQTv6vlqzB4mFFJM2f6ZTKZcy"

static void a_hash_is_matched_by_its_password_alone(void **state)
{
	char hash[PAGE_HASH_SIZE], other[PAGE_HASH_SIZE];

	assert_int_equal(page_password_hash("secret", hash), 0);
	assert_int_equal(strncmp(hash, "$y$", 3), 0);
	assert_true(page_password_is_hash(hash));
	assert_true(page_password_matches("secret", hash));
	assert_false(page_password_matches("secret ", hash));
	assert_false(page_password_matches("", hash));
	assert_int_equal(page_password_hash("secret", other), 0);
	assert_string_not_equal(hash, other); /* another salt */
}

static void weak_and_broken_hashes_are_none(void **state)
{
	static const char *const bad[] = {
		"",
		"secret",
		"*",
		"$apr1$abc$0123456789",
		"{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
		"ab.JQvJqRyrIc",		 /* DES */
		"$1$abc$BXBqpb9BZcZhXLgbee.0s/", /* MD5 */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_false(page_password_is_hash(bad[i]));
		assert_false(page_password_matches("secret", "*"));
	}
}

static void hashes_of_other_programs_are_understood(void **state)
{
	assert_true(page_password_is_hash(BCRYPT));
	assert_true(page_password_is_hash("$6$saltsalt$0123456789"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hash_is_matched_by_its_password_alone),
		cmocka_unit_test(weak_and_broken_hashes_are_none),
		cmocka_unit_test(hashes_of_other_programs_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
