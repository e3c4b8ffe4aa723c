/* SPDX-License-Identifier: Apache-2.0 */
/* Statements are compared as "kind|context|key|line", one a line, in the order of the struct. */
#include "core/frr/conf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void print(const struct frr_conf *c, struct buf *out)
{
	for (size_t i = 0; i < c->statements.n; i++) {
		const struct frr_statement *s = &c->statements.items[i];

		buf_printf(out, "%s|", frr_kind_name(s->kind));
		for (const char *p = s->context; *p; p++)
			buf_addc(out, *p == '\n' ? '/' : *p);
		buf_printf(out, "|%s|%s\n", s->key, s->line);
	}
	for (size_t i = 0; i < c->foreign.n; i++)
		buf_printf(out, "foreign|%s\n", c->foreign.items[i]);
}

static void check(const char *text, const char *expected)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	_cleanup_(frr_conf_free) struct frr_conf c = { 0 };

	assert_int_equal(frr_conf_parse(str_of(text), &c), 0);
	print(&c, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

static void a_running_configuration_is_known_line_by_line(void **state)
{
	check("frr version 8.4.4\n"
	      "!\n"
	      "router bgp 64512\n"
	      " no bgp ebgp-requires-policy\n"
	      " neighbor 10.0.0.2 remote-as 64513\n"
	      " neighbor 10.0.0.2 timers 3 9\n"
	      " neighbor 10.0.0.2 timers connect 5\n"
	      " !\n"
	      " address-family ipv4 unicast\n"
	      "  network 192.0.2.1/32 route-map ORIG1\n"
	      "  neighbor 10.0.0.2 activate\n"
	      "  neighbor 10.0.0.2 route-map out1 out\n"
	      " exit-address-family\n"
	      "exit\n"
	      "!\n"
	      "bgp community-list standard M1 seq 5 permit 64512:1\n"
	      "route-map ORIG1 permit 10\n"
	      " set community 64512:1\n"
	      "exit\n"
	      "bfd\n"
	      " profile fast\n"
	      "  transmit-interval 100\n"
	      " exit\n"
	      " peer 10.0.0.2 local-address 10.0.0.1\n"
	      "  profile fast\n"
	      " exit\n"
	      "exit\n",
	      "list||bgp community-list standard M1 seq 5|"
	      "bgp community-list standard M1 seq 5 permit 64512:1\n"
	      "route-map||route-map ORIG1 10|route-map ORIG1 permit 10\n"
	      "bfd-profile|bfd|peer 10.0.0.2 local-address 10.0.0.1|"
	      "peer 10.0.0.2 local-address 10.0.0.1\n"
	      "bfd-profile|bfd|profile fast|profile fast\n"
	      "bfd-line|bfd/peer 10.0.0.2 local-address 10.0.0.1|profile|profile fast\n"
	      "bfd-line|bfd/profile fast|transmit-interval|transmit-interval 100\n"
	      "route-map-line|route-map ORIG1 permit 10|set community|set community 64512:1\n"
	      "neighbor|router bgp 64512|neighbor 10.0.0.2 remote-as|"
	      "neighbor 10.0.0.2 remote-as 64513\n"
	      "neighbor-option|router bgp 64512|neighbor 10.0.0.2 timers|"
	      "neighbor 10.0.0.2 timers 3 9\n"
	      "neighbor-option|router bgp 64512|neighbor 10.0.0.2 timers connect|"
	      "neighbor 10.0.0.2 timers connect 5\n"
	      "neighbor-option|router bgp 64512/address-family ipv4 unicast|"
	      "neighbor 10.0.0.2 activate|neighbor 10.0.0.2 activate\n"
	      "neighbor-option|router bgp 64512/address-family ipv4 unicast|"
	      "neighbor 10.0.0.2 route-map out|neighbor 10.0.0.2 route-map out1 out\n"
	      "network|router bgp 64512/address-family ipv4 unicast|network 192.0.2.1/32|"
	      "network 192.0.2.1/32 route-map ORIG1\n"
	      "foreign|router bgp 64512\n"
	      "foreign|router bgp 64512: no bgp ebgp-requires-policy\n");
}

static void lines_are_brought_into_the_form_that_frr_prints(void **state)
{
	check("router bgp 1\n"
	      "neighbor   2001:DB8::0:1 \t remote-as external\r\n"
	      "address-family ipv6\n"
	      "network 2001:DB8:1::1/64\n"
	      "exit-address-family\n"
	      "ip prefix-list P seq 03 permit 192.0.2.7/24 le 32\n"
	      "route-map A permit 010\n"
	      "ip prefix-list P permit 198.51.100.0/24\n"
	      "bgp community-list standard C permit 65535:0\n",
	      "list||bgp community-list standard C seq 5|"
	      "bgp community-list standard C seq 5 permit graceful-shutdown\n"
	      "list||ip prefix-list P seq 3|ip prefix-list P seq 3 permit 192.0.2.0/24 le 32\n"
	      "list||ip prefix-list P seq 5|ip prefix-list P seq 5 permit 198.51.100.0/24\n"
	      "route-map||route-map A 10|route-map A permit 10\n"
	      "neighbor|router bgp 1|neighbor 2001:db8::1 remote-as|"
	      "neighbor 2001:db8::1 remote-as external\n"
	      "network|router bgp 1/address-family ipv6 unicast|network 2001:db8:1::/64|"
	      "network 2001:db8:1::/64\n"
	      "foreign|router bgp 1\n");
}

static void a_context_ends_where_the_next_one_begins(void **state)
{
	check("route-map A permit 1\n"
	      "set metric 5\n"
	      "route-map B deny 2\n"
	      "router bgp 1\n"
	      "address-family ipv4 unicast\n"
	      "network 10.0.0.0/8\n"
	      "ip prefix-list P seq 1 permit any\n"
	      "interface eth0\n"
	      "ip address 10.0.0.1/24\n"
	      "router bgp 1 vrf red\n"
	      "network 10.1.0.0/16\n",
	      "list||ip prefix-list P seq 1|ip prefix-list P seq 1 permit any\n"
	      "route-map||route-map A 1|route-map A permit 1\n"
	      "route-map||route-map B 2|route-map B deny 2\n"
	      "route-map-line|route-map A permit 1|set metric|set metric 5\n"
	      "network|router bgp 1/address-family ipv4 unicast|network 10.0.0.0/8|"
	      "network 10.0.0.0/8\n"
	      "network|router bgp 1 vrf red/address-family ipv4 unicast|network 10.1.0.0/16|"
	      "network 10.1.0.0/16\n"
	      "foreign|router bgp 1\n"
	      "foreign|interface eth0\n"
	      "foreign|interface eth0: ip address 10.0.0.1/24\n"
	      "foreign|router bgp 1 vrf red\n");
}

static void the_last_of_two_lines_about_one_thing_counts(void **state)
{
	check("router bgp 1\n"
	      "neighbor eth0 interface remote-as internal\n"
	      "neighbor eth0 interface remote-as external\n",
	      "neighbor|router bgp 1|neighbor eth0 remote-as|"
	      "neighbor eth0 interface remote-as external\n"
	      "foreign|router bgp 1\n");
}

static void lines_of_no_known_kind_are_foreign(void **state)
{
	check("hostname x\n"
	      "router bgp 1\n"
	      "neighbor 10.0.0.2 peer-group G\n"
	      "no neighbor 10.0.0.2 activate\n"
	      "network 2001:db8::/32\n"
	      "address-family l2vpn evpn\n"
	      "advertise-all-vni\n"
	      "exit-address-family\n"
	      "route-map X\n"
	      "set metric 5\n"
	      "ip prefix-list P description some words\n",
	      "foreign|hostname x\n"
	      "foreign|router bgp 1\n"
	      "foreign|router bgp 1: neighbor 10.0.0.2 peer-group G\n"
	      "foreign|router bgp 1: no neighbor 10.0.0.2 activate\n"
	      "foreign|router bgp 1: network 2001:db8::/32\n"
	      "foreign|router bgp 1\naddress-family l2vpn evpn: advertise-all-vni\n"
	      "foreign|route-map X\n"
	      "foreign|route-map X: set metric 5\n"
	      "foreign|ip prefix-list P description some words\n");
}

static void undo_removes_what_the_line_creates(void **state)
{
	_cleanup_(frr_conf_free) struct frr_conf c = { 0 };
	const struct frr_statement *s;

	assert_int_equal(frr_conf_parse(STR("router bgp 1\nnetwork 10.0.0.0/8 route-map A\n"), &c),
			 0);
	s = frr_conf_find(&c, "router bgp 1\naddress-family ipv4 unicast", "network 10.0.0.0/8");
	assert_non_null(s);
	assert_string_equal(s->undo, "no network 10.0.0.0/8");
	assert_null(frr_conf_find(&c, "router bgp 1", "network 10.0.0.0/8"));
	assert_true(frr_conf_has_router(&c, "router bgp 1"));
	assert_false(frr_conf_has_router(&c, "router bgp 2"));
}

/* bfdd has a copy of the lists, which may be old: only its own statements count */
static void the_running_configuration_is_joined_from_two_daemons(void **state)
{
	_cleanup_(frr_conf_free) struct frr_conf bgpd = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };
	struct frr_conf bfdd = { 0 };

	assert_int_equal(frr_conf_parse(STR("ip prefix-list P seq 5 permit any\n"
					    "bfd\nprofile old\n"),
					&bgpd),
			 0);
	assert_int_equal(frr_conf_parse(STR("ip prefix-list P seq 6 permit any\n"
					    "hostname x\n"
					    "bfd\nprofile fast\npassive-mode\n"),
					&bfdd),
			 0);
	frr_conf_keep(&bgpd, FRR_BGPD);
	frr_conf_add_from(&bgpd, &bfdd, FRR_BFDD);
	frr_conf_free(&bfdd);
	print(&bgpd, &out);
	assert_string_equal(buf_cstr(&out),
			    "list||ip prefix-list P seq 5|ip prefix-list P seq 5 permit any\n"
			    "bfd-profile|bfd|profile fast|profile fast\n"
			    "bfd-line|bfd/profile fast|passive-mode|passive-mode\n");
}

static void text_that_cannot_be_a_configuration_is_refused(void **state)
{
	struct frr_conf c = { 0 };
	_cleanup_(buf_free) struct buf text = { 0 };

	assert_int_equal(frr_conf_parse((struct str){ "a\0b", 3 }, &c), -EINVAL);
	while (text.n <= FRR_LINE_MAX)
		buf_adds(&text, "0123456789");
	assert_int_equal(frr_conf_parse((struct str){ text.p, text.n }, &c), -EMSGSIZE);
	assert_null(c.arena);
}

static void an_empty_text_is_an_empty_configuration(void **state)
{
	check("", "");
	check("\n\n!\n   \n", "");
}

static void a_multihop_peer_without_a_number_has_all_hops(void **state)
{
	check("router bgp 1\n"
	      " neighbor 10.0.0.2 ebgp-multihop\n"
	      " neighbor 10.0.0.3 ebgp-multihop 4\n",
	      "neighbor-option|router bgp 1|neighbor 10.0.0.2 ebgp-multihop|"
	      "neighbor 10.0.0.2 ebgp-multihop 255\n"
	      "neighbor-option|router bgp 1|neighbor 10.0.0.3 ebgp-multihop|"
	      "neighbor 10.0.0.3 ebgp-multihop 4\n"
	      "foreign|router bgp 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_configuration_is_known_line_by_line),
		cmocka_unit_test(lines_are_brought_into_the_form_that_frr_prints),
		cmocka_unit_test(a_context_ends_where_the_next_one_begins),
		cmocka_unit_test(the_last_of_two_lines_about_one_thing_counts),
		cmocka_unit_test(lines_of_no_known_kind_are_foreign),
		cmocka_unit_test(undo_removes_what_the_line_creates),
		cmocka_unit_test(the_running_configuration_is_joined_from_two_daemons),
		cmocka_unit_test(text_that_cannot_be_a_configuration_is_refused),
		cmocka_unit_test(an_empty_text_is_an_empty_configuration),
		cmocka_unit_test(a_multihop_peer_without_a_number_has_all_hops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
