/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/websocket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The example of RFC 6455, 1.3. */
static void the_example_of_the_rfc(void **state)
{
	static const uint8_t nonce[] = "the sample nonce";
	char key[HTTP_WEBSOCKET_KEY + 1], accept[HTTP_WEBSOCKET_ACCEPT + 1];

	http_websocket_key(nonce, key);
	assert_string_equal(key, "dGhlIHNhbXBsZSBub25jZQ==");
	http_websocket_accept(str_of(key), accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_example_of_the_rfc) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
