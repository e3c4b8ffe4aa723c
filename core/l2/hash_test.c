/* SPDX-License-Identifier: Apache-2.0 */
/* With a digest that shows what it was given. The real one is in tests/support/l2/order_test.c. */
#include "core/l2/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char given[8][32];
static size_t n_given;

/* The later the first letter of the node in the alphabet, the smaller. */
static void reverse_alphabet(const void *p, size_t n, uint8_t ret[static L2_DIGEST])
{
	const char *text = p;

	assert_true(n < sizeof(given[0]) && n_given < 8);
	memcpy(given[n_given], text, n);
	given[n_given++][n] = '\0';
	memset(ret, 0, L2_DIGEST);
	ret[0] = (uint8_t)(255 - (uint8_t)text[0]);
}

static int reset(void **state)
{
	memset(given, 0, sizeof(given));
	n_given = 0;
	return 0;
}

static void the_digest_is_of_node_and_address(void **state)
{
	struct l2_candidate c[] = { { .node = "node-a" } };

	l2_elect_by_hash(c, 1, "10.0.0.1", reverse_alphabet);
	assert_int_equal(n_given, 1);
	assert_string_equal(given[0], "node-a#10.0.0.1");
}

static void the_smallest_digest_is_first(void **state)
{
	struct l2_candidate c[] = { { .node = "a" }, { .node = "c" }, { .node = "b" } };

	l2_elect_by_hash(c, 3, "::1", reverse_alphabet);
	assert_string_equal(c[0].node, "c");
	assert_string_equal(c[1].node, "b");
	assert_string_equal(c[2].node, "a");
}

static void the_score_goes_before_the_digest(void **state)
{
	struct l2_candidate c[] = { { .node = "a", .score = 1 },
				    { .node = "b", .score = -1 },
				    { .node = "c" } };

	l2_elect_by_hash(c, 3, "::1", reverse_alphabet);
	assert_string_equal(c[0].node, "a");
	assert_string_equal(c[1].node, "c");
	assert_string_equal(c[2].node, "b");
}

static void nobody_is_elected_from_none(void **state)
{
	l2_elect_by_hash(NULL, 0, "::1", reverse_alphabet);
	assert_int_equal(n_given, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_digest_is_of_node_and_address, reset),
		cmocka_unit_test_setup(the_smallest_digest_is_first, reset),
		cmocka_unit_test_setup(the_score_goes_before_the_digest, reset),
		cmocka_unit_test_setup(nobody_is_elected_from_none, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
