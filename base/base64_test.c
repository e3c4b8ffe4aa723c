/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

/* RFC 4648, section 10 */
static const struct {
	const char *bytes, *text;
} vectors[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

static void the_vectors_of_the_rfc_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct buf out = { 0 };
		char back[16];

		base64_encode(&out, str_of(vectors[i].bytes));
		assert_string_equal(buf_cstr(&out), vectors[i].text);
		assert_int_equal(base64_decode(str_of(vectors[i].text), back),
				 strlen(vectors[i].bytes));
		assert_memory_equal(back, vectors[i].bytes, strlen(vectors[i].bytes));
		buf_free(&out);
	}
}

static void what_was_encoded_is_decoded(void **state)
{
	uint64_t random = 7;
	char bytes[64], back[96];

	(void)state;
	for (size_t n = 0; n < sizeof(bytes); n++) {
		struct buf out = { 0 };

		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)random_next(&random);
		base64_encode(&out, (struct str){ bytes, n });
		assert_int_equal(base64_decode((struct str){ out.p, out.n }, back), n);
		assert_memory_equal(back, bytes, n);
		buf_free(&out);
	}
}

static void line_ends_are_skipped(void **state)
{
	char back[16];

	(void)state;
	assert_int_equal(base64_decode(STR("Zm9v\r\nYmFy\n"), back), 6);
}

static void other_text_is_refused(void **state)
{
	static const char *const bad[] = { "Z",	   "Zg",   "Zg=",   "Zg===", "=Zg=",	 "Z===",
					   "Zh==", "Zm9=", "Zm9v!", "Zm 9v", "Zg==Zg==", "Zm9-" };
	char back[16];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(base64_decode(str_of(bad[i]), back), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_rfc_hold),
		cmocka_unit_test(what_was_encoded_is_decoded),
		cmocka_unit_test(line_ends_are_skipped),
		cmocka_unit_test(other_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
