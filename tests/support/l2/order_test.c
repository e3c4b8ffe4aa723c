/* SPDX-License-Identifier: Apache-2.0 */
/* The order of nodes with SHA-256 itself: the same as that of MetalLB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/l2/hash.h"
#include "lib/tls/digest.h"

static void assert_order(const struct l2_candidate *c, const char *first, const char *second,
			 const char *third)
{
	assert_string_equal(c[0].node, first);
	assert_string_equal(c[1].node, second);
	assert_string_equal(c[2].node, third);
}

static void each_address_has_its_own_order(void **state)
{
	struct l2_candidate c[] = { { .node = "node-a" },
				    { .node = "node-b" },
				    { .node = "node-c" } };

	l2_elect_by_hash(c, 3, "10.0.0.1", tls_sha256);
	assert_order(c, "node-b", "node-a", "node-c");
	l2_elect_by_hash(c, 3, "10.0.0.2", tls_sha256);
	assert_order(c, "node-b", "node-c", "node-a");
}

static void preferred_nodes_come_first(void **state)
{
	struct l2_candidate c[] = { { .node = "worker-a" },
				    { .node = "edge-a", .score = 100 },
				    { .node = "edge-b", .score = 100 } };

	l2_elect_by_hash(c, 3, "10.20.30.1", tls_sha256);
	assert_order(c, "edge-b", "edge-a", "worker-a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_own_order),
		cmocka_unit_test(preferred_nodes_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
