/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct addr at(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static enum gate_verdict enter(struct gate *g, const char *client)
{
	struct addr a = at(client);

	return gate_enter(g, &a, 5, 2);
}

static void leave(struct gate *g, const char *client)
{
	struct addr a = at(client);

	gate_leave(g, &a);
}

static void one_client_has_its_share(void **state)
{
	struct gate *g = gate_new();

	assert_int_equal(enter(g, "192.0.2.1"), GATE_OPEN);
	assert_int_equal(enter(g, "192.0.2.1"), GATE_OPEN);
	assert_int_equal(enter(g, "192.0.2.1"), GATE_CROWDED);
	assert_int_equal(enter(g, "192.0.2.2"), GATE_OPEN);
	leave(g, "192.0.2.1");
	assert_int_equal(enter(g, "192.0.2.1"), GATE_OPEN);
	assert_int_equal(enter(g, "192.0.2.1"), GATE_CROWDED);
	gate_free(g);
}

static void a_64_is_one_client(void **state)
{
	struct gate *g = gate_new();

	assert_int_equal(enter(g, "2001:db8::1"), GATE_OPEN);
	assert_int_equal(enter(g, "2001:db8::ffff:1"), GATE_OPEN);
	assert_int_equal(enter(g, "2001:db8::2"), GATE_CROWDED);
	assert_int_equal(enter(g, "2001:db8:0:1::2"), GATE_OPEN);
	gate_free(g);
}

static void all_together_have_a_limit(void **state)
{
	struct gate *g = gate_new();

	for (int i = 0; i < 5; i++) {
		char text[ADDR_STRLEN];

		snprintf(text, sizeof(text), "192.0.2.%d", i);
		assert_int_equal(enter(g, text), GATE_OPEN);
	}
	assert_int_equal(enter(g, "192.0.2.9"), GATE_FULL);
	assert_int_equal(enter(g, "192.0.2.9"),
			 GATE_FULL); /* those that were refused do not count */
	leave(g, "192.0.2.0");
	assert_int_equal(enter(g, "192.0.2.9"), GATE_OPEN);
	gate_free(g);
}

/* Each has one connection: 50,000 of them do not make the counters of others full. */
static void many_clients_do_not_disturb_each_other(void **state)
{
	struct gate *g = gate_new();
	struct addr a = at("10.0.0.0");

	for (unsigned i = 0; i < 50000; i++) {
		a.bytes[1] = (uint8_t)(i >> 16);
		a.bytes[2] = (uint8_t)(i >> 8);
		a.bytes[3] = (uint8_t)i;
		assert_int_equal(gate_enter(g, &a, 100000, 32), GATE_OPEN);
	}
	gate_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_client_has_its_share),
		cmocka_unit_test(a_64_is_one_client),
		cmocka_unit_test(all_together_have_a_limit),
		cmocka_unit_test(many_clients_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
