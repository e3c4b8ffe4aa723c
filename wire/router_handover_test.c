/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/router_handover.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"

static int setup(void **state)
{
	*state = arena_new();
	return 0;
}

static int teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static struct router_handover_socket listener(const char *at)
{
	struct router_handover_socket s = { .kind = ROUTER_HANDOVER_LISTENER };

	assert_int_equal(endpoint_parse(at, &s.at), 0);
	return s;
}

static void what_is_written_is_read(void **state)
{
	struct router_handover_socket sockets[] = {
		listener("127.0.0.1:0"),
		listener("127.0.0.1:0"),
		listener(":80"),
		listener("[2001:db8::1]:443"),
		{ .kind = ROUTER_HANDOVER_ADMIN, .text = "/run/with space/admin.sock" },
		{ .kind = ROUTER_HANDOVER_GRPC, .text = ":9902" },
	};
	struct addr addresses[2];
	struct router_handover_server servers[] = {
		{ .pool = 0, .server = 3, .down = true },
		{ .pool = 7, .server = 65534, .addresses = addresses, .n = 2 },
	};
	const struct router_handover h = { .generation = UINT64_MAX,
					   .last = 77,
					   .sockets = sockets,
					   .n = ARRAY_SIZE(sockets),
					   .servers = servers,
					   .n_servers = ARRAY_SIZE(servers),
					   .tickets = (const uint8_t[]){ 0, 0x5f, 0xff },
					   .n_tickets = 3,
					   .config = STR("{\n\"pools\":[]}\n\n") };
	_cleanup_(buf_free) struct buf text = { 0 };
	struct router_handover back;

	assert_int_equal(addr_parse("192.0.2.1", &addresses[0]), 0);
	assert_int_equal(addr_parse("2001:db8::1", &addresses[1]), 0);
	router_handover_write(&h, &text);
	assert_int_equal(router_handover_parse((struct str){ text.p, text.n }, *state, &back), 0);
	assert_int_equal(back.n_servers, 2);
	assert_true(back.servers[0].down && back.servers[0].server == 3 && !back.servers[0].n);
	assert_true(!back.servers[1].down && back.servers[1].pool == 7);
	assert_int_equal(back.servers[1].server, 65534);
	assert_int_equal(back.servers[1].n, 2);
	assert_int_equal(addr_cmp(&back.servers[1].addresses[1], &addresses[1]), 0);
	assert_true(back.generation == UINT64_MAX && back.last == 77);
	assert_int_equal(back.n, h.n);
	for (size_t i = 0; i < h.n; i++) {
		assert_int_equal(back.sockets[i].kind, sockets[i].kind);
		assert_int_equal(endpoint_cmp(&back.sockets[i].at, &sockets[i].at), 0);
	}
	assert_string_equal(back.sockets[4].text, "/run/with space/admin.sock");
	assert_string_equal(back.sockets[5].text, ":9902");
	assert_int_equal(back.n_tickets, 3);
	assert_memory_equal(back.tickets, h.tickets, 3);
	assert_true(str_eq(back.config, h.config));
}

static void without_a_configuration_there_is_no_document(void **state)
{
	struct router_handover h;

	assert_int_equal(
		router_handover_parse(STR("maglev-router 1\ngeneration 0\n\n"), *state, &h), 0);
	assert_int_equal(h.generation, 0);
	assert_int_equal(h.n, 0);
	assert_int_equal(h.config.n, 0);
}

static void words_of_other_versions_are_skipped(void **state)
{
	struct router_handover h;

	assert_int_equal(router_handover_parse(STR("maglev-router 1\nhealth 10.0.0.1:80 up\n"
						   "server 0 1 tired\n"
						   "generation 7\nlistener :80\n\n{}"),
					       *state, &h),
			 0);
	assert_int_equal(h.generation, 7);
	assert_int_equal(h.n, 1);
}

static void what_is_malformed_is_refused(void **state)
{
	static const struct {
		struct str text;
		int error;
	} cases[] = {
		{ STR(""), -EBADMSG },
		{ STR("{}"), -EBADMSG },
		{ STR("maglev-router 1"), -EBADMSG },
		{ STR("maglev-router 1\ntickets abc\n\n"), -EBADMSG },
		{ STR("maglev-router 1\ntickets xy\n\n"), -EBADMSG },
		{ STR("maglev-router 1\n"), -EBADMSG },
		{ STR("maglev-router 1\ngeneration 5\n"), -EBADMSG },
		{ STR("maglev-router 1\ngeneration\n\n"), -EBADMSG },
		{ STR("maglev-router 1\ngeneration -5\n\n"), -EBADMSG },
		{ STR("maglev-router 1\ngeneration 18446744073709551616\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nlistener 10.0.0.1\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nadmin a\0b\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nserver 0\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nserver 0 1\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nserver 0 -1 down\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nserver 0 4294967296 down\n\n"), -EBADMSG },
		{ STR("maglev-router 1\nserver 0 1 down 10.0.0\n\n"), -EBADMSG },
		{ STR("generation 5\nmaglev-router 1\n\n"), -EBADMSG },
		{ STR("maglev-router 2\n\n"), -EPROTONOSUPPORT },
		{ STR("maglev-router \n\n"), -EPROTONOSUPPORT },
	};
	struct router_handover h = { .generation = 99 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(router_handover_parse(cases[i].text, *state, &h), cases[i].error);
	assert_int_equal(h.generation, 99);
}

static void bounds_hold(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct router_handover h;

	buf_adds(&text, "maglev-router 1\n");
	for (int i = 0; i < ROUTER_HANDOVER_SOCKETS; i++)
		buf_adds(&text, "listener :80\n");
	buf_adds(&text, "\n");
	assert_int_equal(router_handover_parse((struct str){ text.p, text.n }, *state, &h), 0);
	assert_int_equal(h.n, ROUTER_HANDOVER_SOCKETS);
	text.n--;
	buf_adds(&text, "listener :80\n\n");
	assert_int_equal(router_handover_parse((struct str){ text.p, text.n }, *state, &h), -E2BIG);
	text.n = 0;
	buf_printf(&text, "maglev-router 1\nadmin %*s\n\n", ROUTER_HANDOVER_LINE, "x");
	assert_int_equal(router_handover_parse((struct str){ text.p, text.n }, *state, &h), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_written_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_configuration_there_is_no_document, setup,
						teardown),
		cmocka_unit_test_setup_teardown(words_of_other_versions_are_skipped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_malformed_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(bounds_hold, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
