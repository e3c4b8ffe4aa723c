/* SPDX-License-Identifier: Apache-2.0 */
/* Plans are compared as they print, one operation a line. */
#include "core/frr/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define ROUTER                                                                                     \
	"router bgp 64512\n"                                                                       \
	"no bgp network import-check\n"                                                            \
	"neighbor 10.0.0.2 remote-as 64513\n"
#define FAMILY                                                                                     \
	"address-family ipv4 unicast\n"                                                            \
	"neighbor 10.0.0.2 activate\n"                                                             \
	"neighbor 10.0.0.2 route-map out out\n"
#define POLICY                                                                                     \
	"bgp community-list standard M seq 5 permit 64512:1\n"                                     \
	"route-map tag permit 10\n"                                                                \
	"set community 64512:1\n"                                                                  \
	"route-map out permit 10\n"                                                                \
	"match community M\n"
#define BASE ROUTER FAMILY "network 192.0.2.1/32 route-map tag\n" POLICY

static struct frr_conf parse(const char *text)
{
	struct frr_conf c = { 0 };

	assert_int_equal(frr_conf_parse(str_of(text), &c), 0);
	return c;
}

/* expected is the plan, or "! reason". */
static struct frr_plan plan(const char *from, const char *to, const char *expected)
{
	_cleanup_(frr_conf_free) struct frr_conf running = parse(from), wanted = parse(to);
	_cleanup_(buf_free) struct buf out = { 0 };
	struct frr_plan p;

	frr_diff(&running, &running, &wanted, &p);
	if (p.why[0])
		buf_printf(&out, "! %s\n", p.why);
	for (size_t i = 0; i < p.ops.n; i++) {
		frr_op_print(&p.ops.items[i], &out);
		buf_addc(&out, '\n');
	}
	assert_string_equal(buf_cstr(&out), expected);
	frr_plan_free(&p); /* its counts are still valid */
	return p;
}

#define V4 "bgpd: router bgp 64512 / address-family ipv4 unicast: "

static void equal_configurations_need_nothing(void **state)
{
	struct frr_plan p = plan(BASE, BASE, "");

	assert_false(p.policy);
	assert_int_equal(p.announced, 0);
}

static void a_new_network_touches_nothing_else(void **state)
{
	struct frr_plan p = plan(BASE,
				 ROUTER FAMILY "network 192.0.2.0/32 route-map tag\n"
					       "network 192.0.2.1/32 route-map tag\n" POLICY,
				 V4 "network 192.0.2.0/32 route-map tag\n");

	assert_false(p.policy);
	assert_int_equal(p.announced, 1);
	assert_int_equal(p.withdrawn, 0);
}

static void a_withdrawal_overtakes_everything(void **state)
{
	plan(BASE,
	     ROUTER FAMILY "network 192.0.2.9/32 route-map tag2\n" POLICY
			   "route-map tag2 permit 10\n"
			   "set community 64512:2\n",
	     V4 "no network 192.0.2.1/32\n"
		"bgpd: route-map tag2 permit 10\n"
		"bgpd: route-map tag2 permit 10: set community 64512:2\n" V4
		"network 192.0.2.9/32 route-map tag2\n");
}

static void another_route_map_replaces_the_first_in_place(void **state)
{
	plan(BASE, ROUTER FAMILY "network 192.0.2.1/32 route-map out\n" POLICY,
	     V4 "network 192.0.2.1/32 route-map out\n");
}

static void a_new_neighbour_comes_after_what_it_uses(void **state)
{
	struct frr_plan p =
		plan(BASE,
		     ROUTER
		     "neighbor 10.0.0.3 remote-as 64514\n"
		     "neighbor 10.0.0.3 bfd profile fast\n" FAMILY "neighbor 10.0.0.3 activate\n"
		     "neighbor 10.0.0.3 route-map out3 out\n"
		     "network 192.0.2.1/32 route-map tag\n" POLICY "route-map out3 permit 10\n"
		     "bfd\n"
		     "profile fast\n"
		     "receive-interval 100\n",
		     "bfdd: bfd: profile fast\n"
		     "bfdd: bfd / profile fast: receive-interval 100\n"
		     "bgpd: route-map out3 permit 10\n"
		     "bgpd: router bgp 64512: neighbor 10.0.0.3 remote-as 64514\n"
		     "bgpd: router bgp 64512: neighbor 10.0.0.3 bfd profile fast\n" V4
		     "neighbor 10.0.0.3 activate\n" V4 "neighbor 10.0.0.3 route-map out3 out\n");

	assert_true(p.policy);
}

static void a_neighbour_that_goes_takes_its_options_along(void **state)
{
	plan(ROUTER "neighbor 10.0.0.3 remote-as 64514\n"
		    "neighbor 10.0.0.3 timers 3 9\n" FAMILY "neighbor 10.0.0.3 activate\n" POLICY
		    "route-map out3 permit 10\n"
		    "match community M\n",
	     ROUTER FAMILY POLICY,
	     "bgpd: router bgp 64512: no neighbor 10.0.0.3 remote-as 64514\n"
	     "bgpd: no route-map out3 permit 10\n");
}

static void what_is_used_is_removed_after_what_uses_it(void **state)
{
	plan(BASE, ROUTER "address-family ipv4 unicast\nneighbor 10.0.0.2 activate\n",
	     V4 "no network 192.0.2.1/32\n" V4 "no neighbor 10.0.0.2 route-map out out\n"
		"bgpd: no route-map out permit 10\n"
		"bgpd: no route-map tag permit 10\n"
		"bgpd: no bgp community-list standard M seq 5 permit 64512:1\n");
}

static void an_option_that_ends_the_session_is_marked(void **state)
{
	_cleanup_(frr_conf_free) struct frr_conf running = parse(ROUTER);
	_cleanup_(frr_conf_free) struct frr_conf wanted =
		parse(ROUTER "neighbor 10.0.0.2 password x\nneighbor 10.0.0.2 timers 3 9\n");
	struct frr_plan p;

	frr_diff(&running, &running, &wanted, &p);
	assert_int_equal(p.ops.n, 2);
	assert_true(p.ops.items[0].drops);
	assert_false(p.ops.items[1].drops);
	frr_plan_free(&p);
}

static void what_cannot_be_done_in_steps_needs_the_full_reload(void **state)
{
	plan(BASE, BASE "hostname x\n", "! only a full reload can add \"hostname x\"\n");
	plan(BASE "hostname x\n", BASE, "! only a full reload can remove \"hostname x\"\n");
	plan("router bgp 1\n", "router bgp 1\nrouter bgp 2\n",
	     "! only a full reload can add \"router bgp 2\"\n");
	plan("ip prefix-list P seq 5 permit 10.0.0.0/8\n", "ip prefix-list P seq 5 permit any\n",
	     "! \"ip prefix-list P seq 5 permit 10.0.0.0/8\" becomes "
	     "\"ip prefix-list P seq 5 permit any\" under the same number\n");
	plan("route-map A permit 10\n", "route-map A deny 10\n",
	     "! \"route-map A permit 10\" becomes \"route-map A deny 10\" under the same number\n");
}

/* bgpd has started again without its configuration; the file is as it was */
static void a_router_that_is_not_running_needs_the_full_reload(void **state)
{
	_cleanup_(frr_conf_free) struct frr_conf running = parse("hostname x\n");
	_cleanup_(frr_conf_free) struct frr_conf wanted = parse(BASE);
	struct frr_plan p;

	frr_diff(&running, &wanted, &wanted, &p);
	assert_string_equal(p.why, "\"router bgp 64512\" is not running yet");
	assert_int_equal(p.ops.n, 0);
	frr_plan_free(&p);
}

/* The commands that follow a change of the first text to the second. */
static void check_refresh(const char *from, const char *to, const char *expected)
{
	_cleanup_(frr_conf_free) struct frr_conf running = parse(from), wanted = parse(to);
	_cleanup_(buf_free) struct buf out = { 0 };
	struct frr_plan p;

	frr_diff(&running, &wanted, &wanted, &p);
	assert_string_equal(p.why, "");
	frr_refresh_print(&wanted, &p, &out);
	assert_string_equal(buf_cstr(&out), expected);
	frr_plan_free(&p);
}

#define TWO                                                                                        \
	ROUTER FAMILY "neighbor 10.0.0.2 route-map out2 out\n"                                     \
		      "neighbor 10.0.0.3 route-map out3 out\n"                                     \
		      "router bgp 64512 vrf red\n"                                                 \
		      "address-family ipv6 unicast\n"                                              \
		      "neighbor fd00::2 route-map out2 out\n"                                      \
		      "neighbor fd00::3 activate\n"                                                \
		      "router bgp 64512 vrf blue\n"                                                \
		      "network 10.0.0.0/8\n"
#define ALL                                                                                        \
	"clear bgp ipv4 unicast * soft out\n"                                                      \
	"clear bgp vrf red ipv6 unicast * soft out\n"

static void a_changed_route_map_concerns_the_neighbours_that_use_it(void **state)
{
	static const char two[] = "clear bgp ipv4 unicast 10.0.0.2 soft out\n"
				  "clear bgp vrf red ipv6 unicast fd00::2 soft out\n";

	check_refresh(TWO "route-map out2 permit 10\n", TWO "route-map out2 permit 10\n", "");
	check_refresh(TWO "route-map out2 permit 10\n",
		      TWO "route-map out2 permit 10\nset metric 1\n", two);
	check_refresh(TWO "route-map out2 permit 10\nroute-map out2 permit 20\n",
		      TWO "route-map out2 permit 10\n", two);
	check_refresh(TWO, TWO "route-map out3 deny 10\n",
		      "clear bgp ipv4 unicast 10.0.0.3 soft out\n");
}

static void another_change_of_policy_concerns_all_neighbours(void **state)
{
	check_refresh(TWO, TWO "route-map tag permit 10\nroute-map out2 permit 10\n", ALL);
	check_refresh(TWO, TWO "ip prefix-list p seq 5 permit 10.0.0.0/8\n", ALL);
}

/* "clear bgp ipv4 unicast G soft out" would be refused for a group. */
static void a_neighbour_without_an_address_may_be_a_group(void **state)
{
	static const char interface[] = "router bgp 64512\n"
					"neighbor eth0 interface remote-as external\n"
					"address-family ipv4 unicast\n"
					"neighbor eth0 route-map out out\n"
					"route-map out permit 10\n";
	static const char group[] = ROUTER FAMILY "neighbor G route-map out out\n"
						  "neighbor 10.0.0.2 route-map out out\n"
						  "route-map out permit 10\n";
	_cleanup_(buf_free) struct buf to = { 0 };

	buf_printf(&to, "%sset metric 1\n", group);
	check_refresh(group, buf_cstr(&to), "clear bgp ipv4 unicast * soft out\n");
	to.n = 0;
	buf_printf(&to, "%sset metric 1\n", interface);
	check_refresh(interface, buf_cstr(&to), "clear bgp ipv4 unicast eth0 soft out\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_configurations_need_nothing),
		cmocka_unit_test(a_new_network_touches_nothing_else),
		cmocka_unit_test(a_withdrawal_overtakes_everything),
		cmocka_unit_test(another_route_map_replaces_the_first_in_place),
		cmocka_unit_test(a_new_neighbour_comes_after_what_it_uses),
		cmocka_unit_test(a_neighbour_that_goes_takes_its_options_along),
		cmocka_unit_test(what_is_used_is_removed_after_what_uses_it),
		cmocka_unit_test(an_option_that_ends_the_session_is_marked),
		cmocka_unit_test(what_cannot_be_done_in_steps_needs_the_full_reload),
		cmocka_unit_test(a_router_that_is_not_running_needs_the_full_reload),
		cmocka_unit_test(a_changed_route_map_concerns_the_neighbours_that_use_it),
		cmocka_unit_test(another_change_of_policy_concerns_all_neighbours),
		cmocka_unit_test(a_neighbour_without_an_address_may_be_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
