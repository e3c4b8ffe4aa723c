/* SPDX-License-Identifier: Apache-2.0 */
/* The text that clients parse, exact to the space, and the commands of operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/support/vpp/machine.h"

static struct machine m;

static int set_up(void **state)
{
	machine_init(&m, PERSONALITY_NEW, 1);
	return 0;
}

static int tear_down(void **state)
{
	machine_free(&m);
	return 0;
}

static void assert_says(const char *line, const char *answer)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	machine_cli(&m, line, &out);
	assert_string_equal(buf_cstr(&out), answer);
}

static void fill(const char *const *lines)
{
	for (; *lines; lines++) {
		_cleanup_(buf_free) struct buf out = { 0 };

		machine_cli(&m, *lines, &out);
		assert_null(strstr(buf_cstr(&out), "error"));
	}
}

static void adding_a_vip_tells_its_index(void **state)
{
	assert_says("lb vip 192.0.2.1/32", "lb_vip_add ok 1\n");
	assert_says("lb vip 192.0.2.1/32 del", "");
}

static const char *const one_vip[] = {
	"lb vip 192.0.2.10/32 protocol udp port 443 encap gre4 new_len 1024 src_ip_sticky",
	"lb as 192.0.2.10/32 protocol udp port 443 10.0.0.1 weight 100",
	"lb as 192.0.2.10/32 protocol udp port 443 10.0.0.2",
	"lb as 192.0.2.10/32 protocol udp port 443 10.0.0.2 del",
	NULL,
};

static void a_vip_in_all_detail(void **state)
{
	fill(one_vip);
	assert_says("show lb vips verbose",
		    " ip4-gre4 [1] 192.0.2.10/32 src_ip_sticky\n"
		    "  new_size:1024\n"
		    "  protocol:17 port:443\n"
		    "  counters:\n"
		    "    packet from existing sessions: 0\n"
		    "    first session packet: 0\n"
		    "    untracked packet: 0\n"
		    "    no server configured: 0\n"
		    "  #as:2\n"
		    "    10.0.0.1 weight:100 buckets:1024 flows:0 dpo:9 used\n"
		    "    10.0.0.2 weight:100 buckets:0 flows:0 dpo:10  removed\n"
		    "\n");
}

static void a_vip_in_short(void **state)
{
	fill(one_vip);
	assert_says("show lb vips",
		    "ip4-gre4 192.0.2.10/32 new_size:1024 #as:2  protocol:17 port:443 \n");
}

static void a_removed_vip_is_listed_as_such(void **state)
{
	fill((const char *const[]){ "lb vip 2001:db8::1/128 encap gre6",
				    "lb vip 2001:db8::1/128 del", NULL });
	assert_says("show lb vips", "ip6-gre6 2001:db8::1/128 new_size:1024 #as:0 removed\n");
}

static void nat_has_its_counters_on_the_same_line_and_a_swapped_port(void **state)
{
	struct plugin_vip_args args = { .key = { .plen = 128, .protocol = 6, .port = 80 },
					.encap = PLUGIN_NAT4,
					.table_length = 1,
					.target_port = 8080 };

	assert_int_equal(plugin_vip_add(&m.plugin, 0, &args), 0);
	assert_says("show lb vips verbose",
		    " ip4-nat4 [1] 0.0.0.0/32\n"
		    "  new_size:1\n"
		    "  protocol:6 port:80\n"
		    "  type:clusterip port:20480 target_port:8080  counters:\n"
		    "    packet from existing sessions: 0\n"
		    "    first session packet: 0\n"
		    "    untracked packet: 0\n"
		    "    no server configured: 0\n"
		    "  #as:0\n"
		    "\n");
}

static void a_weight_by_hand_changes_an_as_that_is_there(void **state)
{
	fill(one_vip);
	fill((const char *const[]){ "lb as 192.0.2.10/32 protocol udp port 443 10.0.0.1 weight 7",
				    NULL });
	assert_int_equal(m.plugin.ass.items[1].weight, 7);
}

static void conf_by_hand_keeps_what_is_not_named(void **state)
{
	fill((const char *const[]){ "lb conf ip4-src-address 10.99.0.2 timeout 60", NULL });
	assert_int_equal(m.plugin.src4[3], 2);
	assert_int_equal(m.plugin.src6[0], 255);
	assert_int_equal(m.plugin.flow_timeout, 60);
	assert_int_equal(m.plugin.buckets, 1024);
	assert_says("lb conf buckets 1000", "lb conf: error -70\n");
}

static void mistakes_are_named(void **state)
{
	fill(one_vip);
	assert_says("lb vip 192.0.2.10/32 protocol udp port 443", "lb vip: error -81\n");
	assert_says("lb vip 192.0.2.10/33", "lb vip: parse error\n");
	assert_says("lb as 192.0.2.10/32 10.0.0.1", "lb as: error -6\n");
	assert_says("lb as 192.0.2.10/32 nonsense", "lb as: parse error\n");
	assert_says("show lbx", "unknown input `show lbx'\n");
}

static void without_the_plugin_there_is_no_such_command(void **state)
{
	machine_free(&m);
	machine_init(&m, PERSONALITY_NO_PLUGIN, 1);
	assert_says("show lb vips verbose", "unknown input `show lb vips verbose'\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(adding_a_vip_tells_its_index),
		CASE(a_vip_in_all_detail),
		CASE(a_vip_in_short),
		CASE(a_removed_vip_is_listed_as_such),
		CASE(nat_has_its_counters_on_the_same_line_and_a_swapped_port),
		CASE(a_weight_by_hand_changes_an_as_that_is_there),
		CASE(conf_by_hand_keeps_what_is_not_named),
		CASE(mistakes_are_named),
		CASE(without_the_plugin_there_is_no_such_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
