/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/router/socket_group.h"

static void sockets_are_closed_when_nobody_uses_them(void **state)
{
	struct socket_group *g = socket_group_new();

	assert_true(socket_group_enter(g, 2));
	assert_false(socket_group_close(g));
	socket_group_leave(g, 1); /* the configuration */
	assert_true(socket_group_is_used(g));
	assert_false(socket_group_close(g));
	socket_group_leave(g, 2);
	assert_false(socket_group_is_used(g));
	assert_true(socket_group_close(g));
	assert_true(socket_group_close(g)); /* by the next thread */
	assert_false(socket_group_enter(g, 1));
	assert_false(socket_group_is_used(g));
	socket_group_release(g);
}

static void an_address_that_returns_in_time_finds_its_sockets(void **state)
{
	struct socket_group *g = socket_group_hold(socket_group_new());

	socket_group_leave(g, 1);
	assert_true(socket_group_enter(g, 1));
	assert_false(socket_group_close(g));
	socket_group_release(g);
	socket_group_leave(g, 1);
	assert_true(socket_group_close(g));
	socket_group_release(g);
	socket_group_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_closed_when_nobody_uses_them),
		cmocka_unit_test(an_address_that_returns_in_time_finds_its_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
