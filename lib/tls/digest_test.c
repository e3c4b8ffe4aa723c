/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of FIPS 180-4 and RFC 4231. */
#include "lib/tls/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_hex(const uint8_t digest[static TLS_SHA256], const char *expected)
{
	char text[2 * TLS_SHA256 + 1];

	for (size_t i = 0; i < TLS_SHA256; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(text, expected);
}

static void sha1_is_that_of_the_standard(void **state)
{
	static const uint8_t expected[TLS_SHA1] = { 0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81,
						    0x6a, 0xba, 0x3e, 0x25, 0x71, 0x78, 0x50,
						    0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d };
	uint8_t digest[TLS_SHA1];

	tls_sha1("abc", 3, digest);
	assert_memory_equal(digest, expected, sizeof(digest));
}

static void sha256_is_that_of_the_standard(void **state)
{
	uint8_t digest[TLS_SHA256];

	tls_sha256("abc", 3, digest);
	assert_hex(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	tls_sha256("", 0, digest);
	assert_hex(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void hmac_is_that_of_the_standard(void **state)
{
	const char *text = "Test Using Larger Than Block-Size Key - Hash Key First";
	uint8_t digest[TLS_SHA256], key[131];

	tls_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest);
	assert_hex(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	tls_hmac_sha256(key, sizeof(key), text, strlen(text), digest);
	assert_hex(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void every_byte_counts_in_a_comparison(void **state)
{
	uint8_t a[TLS_SHA256] = { 0 }, b[TLS_SHA256] = { 0 };

	assert_true(tls_same(a, b, sizeof(a)));
	for (size_t i = 0; i < sizeof(a); i++) {
		b[i] = 1;
		assert_false(tls_same(a, b, sizeof(a)));
		b[i] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha1_is_that_of_the_standard),
		cmocka_unit_test(sha256_is_that_of_the_standard),
		cmocka_unit_test(hmac_is_that_of_the_standard),
		cmocka_unit_test(every_byte_counts_in_a_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
