/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevc/drain.h"

/* A backend behind two VIPs, on a data plane that counts. */
static struct {
	Maglev__VPPLBState state;
	Maglev__VPPLBVIP vip[2], *vips[2];
	Maglev__VPPLBAS as[2], *servers[2];
} world;

static int setup(void **state)
{
	static char xdp[] = "xdp";

	maglev__vpplbstate__init(&world.state);
	for (size_t i = 0; i < 2; i++) {
		maglev__vpplbvip__init(&world.vip[i]);
		maglev__vpplbas__init(&world.as[i]);
		world.vips[i] = &world.vip[i];
		world.servers[i] = &world.as[i];
		world.vip[i].application_servers = &world.servers[i];
		world.vip[i].n_application_servers = 1;
		world.as[i].present = world.as[i].drained = true;
	}
	world.state.vips = world.vips;
	world.state.n_vips = 2;
	world.state.dataplane = xdp;
	world.state.connected = world.state.has_as_flows = true;
	world.state.counted = 1;
	return 0;
}

static void check(enum drain_state expected, const char *text)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct drain d = drain_of(&world.state);

	assert_int_equal(d.state, expected);
	drain_describe(&d, &out);
	assert_string_equal(buf_cstr(&out), text);
}

static void it_is_over_when_no_vip_has_a_flow(void **state)
{
	check(DRAIN_OVER, "drained");
	world.as[0].drained = false;
	world.as[0].flows = 16;
	world.as[1].drained = false;
	world.as[1].flows = 1;
	check(DRAIN_RUNNING, "17 flows left");
	world.as[0].flows = 0;
	check(DRAIN_RUNNING, "1 flow left");
	world.as[1].weight = 50;
	check(DRAIN_RUNNING, "its weight is 50");
}

/* No flows, but counted before the weight became 0. */
static void a_count_that_is_too_old_is_not_the_end(void **state)
{
	world.as[1].drained = false;
	check(DRAIN_RUNNING, "its flows are not counted yet");
}

static void a_server_that_is_not_programmed_has_no_flows(void **state)
{
	world.as[0].present = world.as[0].drained = false;
	check(DRAIN_OVER, "drained");
	world.state.n_vips = 0;
	check(DRAIN_OVER, "drained");
}

static void a_state_that_was_not_read_says_nothing(void **state)
{
	world.state.as_of = 1;
	check(DRAIN_RUNNING, "the data plane cannot be read");
	world.state.as_of = 0;
	world.state.connected = false;
	check(DRAIN_RUNNING, "the data plane cannot be read");
}

static void without_a_count_of_flows_there_is_no_end(void **state)
{
	static char none[] = "none";

	world.state.has_as_flows = false;
	assert_int_equal(drain_of(&world.state).state, DRAIN_UNKNOWN);
	world.state.counted = 0; /* not yet */
	world.as[0].drained = false;
	check(DRAIN_RUNNING, "its flows are not counted yet");
	world.state.dataplane = none;
	assert_int_equal(drain_of(&world.state).state, DRAIN_UNKNOWN);
}

static void a_vip_is_drained_when_it_is_withdrawn(void **state)
{
	static const struct {
		bool drained;
		char vip_state[16];
		enum drain_state want;
		const char *left;
	} rows[] = {
		{ true, "draining", DRAIN_RUNNING, "draining" },
		{ true, "withdrawn", DRAIN_OVER, "withdrawn" },
		{ false, "announced", DRAIN_UNKNOWN, "its drain was ended" },
		{ false, "withdrawn", DRAIN_UNKNOWN, "its drain was ended" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_free) struct buf left = { 0 };
		char vip_state[sizeof(rows[i].vip_state)];
		Maglev__AnnouncementInfo a;

		maglev__announcement_info__init(&a);
		memcpy(vip_state, rows[i].vip_state, sizeof(vip_state));
		a.state = vip_state;
		a.drained = rows[i].drained;
		assert_int_equal(drain_judge_vip(&a.base, &left), rows[i].want);
		assert_string_equal(buf_cstr(&left), rows[i].left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_is_over_when_no_vip_has_a_flow, setup),
		cmocka_unit_test_setup(a_count_that_is_too_old_is_not_the_end, setup),
		cmocka_unit_test_setup(a_server_that_is_not_programmed_has_no_flows, setup),
		cmocka_unit_test_setup(a_state_that_was_not_read_says_nothing, setup),
		cmocka_unit_test_setup(without_a_count_of_flows_there_is_no_end, setup),
		cmocka_unit_test(a_vip_is_drained_when_it_is_withdrawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
