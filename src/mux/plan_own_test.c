/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the planner for ownership of ports: state, recovery, conflicts, limits, freezing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/mux/names.h"
#include "src/mux/testkit.h"

#define MUX "svc-mux/mux"
#define STATE "svc-mux/mux-port-allocations"
#define P "svc-mux.nowake.ai/"
#define AUTO "'external-ports':'http:auto'"

static int set_up(void **state)
{
	*state = test_cluster_new();
	return 0;
}

static int tear_down(void **state)
{
	test_cluster_free(*state);
	return 0;
}

static void expect_logged(struct test_cluster *c, const char *start)
{
	if (!test_logged(c, start))
		fail_msg("no \"%s\" in:\n%s", start, test_log(c));
}

/* A state with these claims, which are JSON without outer brackets. */
static void put_state(struct test_cluster *c, const char *list, const char *claims)
{
	test_put(c, TEST_CONFIG_MAP, STATE, "{'data':{'allocations.json':'PLACE'}}");
	{
		struct buf text = { 0 };

		/* the text is JSON in a string, so its quotes are escaped */
		for (const char *p = claims; *p; p++)
			if (*p == '\'')
				buf_add_lit(&text, "\\'");
			else
				buf_addc(&text, *p);
		test_patch(c, TEST_CONFIG_MAP, STATE,
			   "{'data':{'allocations.json':'{\\'%s\\':[%s]}'}}", list,
			   buf_cstr(&text));
		buf_free(&text);
	}
}

#define CLAIM(service, port, source)                                                               \
	"{'namespace':'app','service':'" service "','portName':'http','protocol':'TCP',"           \
	"'channelPort':80,'muxPort':" #port ",'port':" #port ",'source':'" source "'}"

static const char *state_text(struct test_cluster *c)
{
	return test_get(c, TEST_CONFIG_MAP, STATE, "data|allocations.json");
}

/* State: created in any case, with labels and owner, before ports are exposed */
static void the_state_is_stored_before_ports_are_exposed(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_pass(c, MUX, 1);
	assert_string_equal(test_get(c, TEST_CONFIG_MAP, STATE, "metadata.labels"),
			    "{\"app.kubernetes.io/component\":\"mux-state\",\"app.kubernetes.io/"
			    "name\":\"svc-lb-mux\"}");
	assert_string_equal(test_get(c, TEST_CONFIG_MAP, STATE, "metadata|annotations|" P "mux"),
			    "svc-mux/mux");
	assert_non_null(strstr(state_text(c), "\"source\": \"static\""));
	assert_string_equal(test_ports(c, MUX), "101/TCP=placeholder");
	test_settle(c);
	test_delete(c, TEST_SERVICE, "app/api");
	test_settle(c);
	assert_null(strstr(state_text(c), "app"));
}

/* State: an own name */
static void the_state_can_have_another_name(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'allocation-configmap':'custom'");
	test_settle(c);
	assert_true(test_exists(c, TEST_CONFIG_MAP, "svc-mux/custom"));
	test_note(c, MUX, "allocation-configmap", "Not A Name");
	test_settle(c);
	expect_logged(c, "PortAllocationStoreInvalid svc-mux/mux: Invalid " P
			 "allocation-configmap 'Not A Name'; expected a name");
}

/* State: claims of automatic ports hold across restarts, also without a gap-free order */
static void claims_hold_across_restarts(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	test_channel(c, "app/a", "http:80", AUTO);
	test_settle(c);
	test_restart(c);
	test_settle(c);
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20000");
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20001");
}

/* State: allocation-only text is migrated at the next pass, and keeps the numbers */
static void an_old_state_is_migrated(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/api", "http:80", AUTO);
	put_state(c, "allocations", CLAIM("api", 20007, "auto"));
	test_settle(c);
	assert_string_equal(test_value(c, "app/api", "ports"), "http:80->20007");
	assert_non_null(strstr(state_text(c), "\"portClaims\""));
	assert_non_null(strstr(state_text(c), "\"allocations\""));
}

/* Conflicts: a stored owner wins over one whose name sorts before */
static void the_stored_owner_wins(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/b", "http:80", NULL);
	test_settle(c);
	test_channel(c, "app/a", "http:80 other:81", NULL);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "80/TCP=0241458");
	expect_logged(c, "MuxPortConflict app/a: 80/TCP is already claimed by app/b:0241458");
	/* the refused one gets it in the pass in which the owner goes */
	test_delete(c, TEST_SERVICE, "app/b");
	test_pass(c, MUX, SIZE_MAX);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->80, other:81->81");
}

/* Conflicts: two new channels are taken in the order of namespace and name */
static void newcomers_are_taken_in_order(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "b/x", "http:80", NULL);
	test_channel(c, "a/z", "http:80", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "a/z", "ports"), "http:80->80");
	assert_string_equal(test_value(c, "b/x", "ports"), "");
}

/* Conflicts: the protocol is part of the key, and a channel can be in conflict with itself */
static void a_number_is_per_protocol(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/dns", "dns-tcp:53 dns-udp:53/UDP dns-sctp:53/SCTP", NULL);
	test_channel(c, "app/api", "http:80 https:443", "'external-ports':'http:443'");
	test_settle(c);
	assert_string_equal(test_value(c, "app/dns", "ports"),
			    "dns-tcp:53->53, dns-udp:53->53, dns-sctp:53->53");
	expect_logged(c, "MuxPortConflict app/api: 443/TCP is already claimed by app/api:");
}

/* Conflicts: several are told together, by protocol and number */
static void all_conflicts_are_told(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80 x:53/UDP y:22", NULL);
	test_settle(c);
	test_channel(c, "app/b", "u:53/UDP http:80 y:22 free:99", NULL);
	test_settle(c);
	expect_logged(c,
		      "MuxPortConflict app/b: 22/TCP is already claimed by app/a:4adf229; 80/TCP "
		      "is already claimed by app/a:f0ad37a; 53/UDP is already claimed by "
		      "app/a:");
	assert_null(strstr(test_ports(c, MUX), "99/"));
}

/* A stored automatic owner wins over a new wish for its number */
static void an_automatic_owner_is_not_replaced(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	test_channel(c, "app/a", "http:20000", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20000");
	expect_logged(c, "MuxPortConflict app/a: 20000/TCP is already claimed by app/b:0241458");
}

/* A swap of ports is done in one pass */
static void ports_can_be_swapped(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/b", "http:81", NULL);
	test_settle(c);
	test_note(c, "app/a", "external-ports", "http:81");
	test_note(c, "app/b", "external-ports", "http:80");
	test_pass(c, MUX, SIZE_MAX);
	assert_string_equal(test_ports(c, MUX), "80/TCP=0241458 81/TCP=f0ad37a");
	assert_int_equal(test_view(c)->n_served, 2);
}

/* A channel that asks for a number it cannot have does not keep its old one */
static void a_number_that_is_not_wanted_is_free(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/b", "http:81", NULL);
	test_channel(c, "app/c", "http:80", NULL);
	test_settle(c);
	test_note(c, "app/a", "external-ports", "http:81");
	test_settle(c);
	assert_string_equal(test_value(c, "app/c", "ports"), "http:80->80");
	assert_string_equal(test_value(c, "app/a", "ports"), "");
}

/* A refused channel keeps what it owned and still wants, but nothing that it got on the way */
static void a_refused_channel_keeps_what_it_owned(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/b", "http:443", NULL);
	test_settle(c);
	test_channel(c, "app/a", "http:80 https:443 new:90", NULL);
	test_channel(c, "app/c", "http:80", NULL);
	test_channel(c, "app/d", "http:90", NULL);
	test_settle(c);
	assert_int_equal(test_view(c)->n_ports, 2);
	assert_string_equal(test_value(c, "app/d", "ports"), "http:90->90");
	expect_logged(c, "MuxPortConflict app/a: 443/TCP is already claimed by app/b:0241458");
	expect_logged(c, "MuxPortConflict app/c: 80/TCP is already claimed by app/a:f0ad37a");
}

/* A channel that cannot be understood keeps its numbers until it can */
static void an_invalid_channel_keeps_its_claims(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20001'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_settle(c);
	test_note(c, "app/a", "external-ports", "http:");
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "20001/TCP=0241458");
	test_note(c, "app/a", "external-ports", "http:auto");
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
}

/* Recovery: a lost state is made again from the ports of the mux, also automatic ones */
static void a_lost_state_is_recovered_from_the_mux(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_channel(c, "app/b", "http:80", AUTO);
	test_channel(c, "app/y", "http:80", NULL);
	test_settle(c);
	test_delete(c, TEST_SERVICE, "app/a");
	test_settle(c);
	test_delete(c, TEST_CONFIG_MAP, STATE);
	test_channel(c, "app/x", "http:80", NULL);
	test_restart(c);
	test_settle(c);
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20001");
	assert_string_equal(test_value(c, "app/y", "ports"), "http:80->80");
	assert_non_null(strstr(state_text(c), "20001"));
}

/* Recovery: without the ports of the mux, from the annotations of channels */
static void a_lost_mux_is_recovered_from_the_channels(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_note(c, "app/a", "ports", "http:80->20005");
	test_channel(c, "app/b", "http:80", AUTO);
	test_note(c, "app/b", "ports", "http:80->20006");
	test_channel(c, "app/c", "http:80", AUTO);
	test_note(c, "app/c", "ports", "http:80->20006"); /* ambiguous: no evidence */
	test_channel(c, "app/d", "http:80", AUTO);
	test_note(c, "app/d", "ports", "http:80->99"); /* outside of the range */
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20005");
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20000");
	assert_string_equal(test_value(c, "app/c", "ports"), "http:80->20001");
	assert_string_equal(test_value(c, "app/d", "ports"), "http:80->20002");
}

/* Recovery: claims come before ports of the mux, which come before annotations */
static void the_strongest_evidence_counts(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_note(c, "app/a", "ports", "http:80->20003");
	test_patch(c, TEST_SERVICE, MUX,
		   "{'spec':{'ports':[{'name':'f0ad37a','port':20002,'protocol':'TCP'}]}}");
	put_state(c, "portClaims", CLAIM("a", 20001, "auto"));
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20001");
	test_note(c, "app/a", "ports", "http:80->20003");
	test_patch(c, TEST_SERVICE, MUX,
		   "{'spec':{'ports':[{'name':'f0ad37a','port':20002,'protocol':'TCP'}]}}");
	test_delete(c, TEST_CONFIG_MAP, STATE);
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20002");
}

/* Auto: a claim holds while it is inside of the range, whatever its source was */
static void an_automatic_port_stays_in_its_range(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", "'external-ports':'http:20005'");
	test_settle(c);
	test_note(c, "app/a", "external-ports", "http:auto");
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20005");
	test_note(c, MUX, "port-range", "20000-20004");
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
}

/* State: of two claims for one number the first counts, the other gets a new one */
static void the_first_of_two_claims_counts(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_channel(c, "app/b", "http:80", AUTO);
	put_state(c, "portClaims", CLAIM("b", 20000, "auto") "," CLAIM("a", 20000, "auto"));
	test_settle(c);
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20000");
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20001");
}

/* port-range: an invalid one changes nothing that is given, and gives nothing */
static void an_invalid_range_keeps_what_is_given(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_settle(c);
	test_note(c, MUX, "port-range", "20000-2x");
	test_channel(c, "app/b", "http:80", AUTO);
	test_channel(c, "app/c", "http:80", NULL);
	test_settle(c);
	expect_logged(c, "InvalidPortRange svc-mux/mux: Invalid " P
			 "port-range port '2x'; expected integer");
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
	assert_string_equal(test_value(c, "app/b", "ports"), "");
	assert_string_equal(test_value(c, "app/c", "ports"), "http:80->80");
	/* without any range automatic ports go, and come back with their numbers */
	test_note(c, MUX, "port-range", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "");
	test_note(c, MUX, "port-range", "19999-20009");
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
}

/* State that cannot be trusted freezes the mux */
static void an_invalid_state_freezes(void **state)
{
	static const struct {
		const char *patch, *event;
	} rows[] = {
		{ "{'data':{'allocations.json':'{'}}",
		  "PortAllocationStoreInvalid svc-mux/mux: Invalid mux state ConfigMap JSON" },
		{ "{'data':{'allocations.json':'[]'}}",
		  "PortAllocationStoreInvalid svc-mux/mux: Invalid mux state ConfigMap JSON" },
		{ "{'data':{'allocations.json':'{\\'mux\\':{\\'namespace\\':\\'x\\',\\'name\\':"
		  "\\'y\\'}}'}}",
		  "PortAllocationStoreInvalid svc-mux/mux: Mux state ConfigMap " STATE
		  " contains state for mux x/y; expected svc-mux/mux. Use one state ConfigMap per "
		  "mux." },
		{ "{'metadata':{'annotations':{'" P "mux':'other/mux'}}}",
		  "PortAllocationStoreInvalid svc-mux/mux: Mux state ConfigMap " STATE
		  " is owned by mux other/mux; expected svc-mux/mux. Use one state ConfigMap per "
		  "mux." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_cluster *c = test_cluster_new();
		const char *before;

		test_mux(c, MUX, "'port-range':'20000-20009'");
		test_channel(c, "app/a", "http:80", AUTO);
		test_channel(c, "app/b", "http:81", NULL);
		test_settle(c);
		test_patch(c, TEST_CONFIG_MAP, STATE, "%s", rows[i].patch);
		before = strdup(state_text(c));
		test_delete(c, TEST_SERVICE, "app/b");
		test_channel(c, "app/c", "http:82", NULL);
		test_restart(c);
		test_settle(c);
		expect_logged(c, rows[i].event);
		assert_int_equal(test_view(c)->condition, MUX_FROZEN);
		assert_string_equal(test_ports(c, MUX), "81/TCP=0241458 20000/TCP=f0ad37a");
		assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
		assert_string_equal(test_value(c, "app/c", "ports"), "");
		assert_string_equal(state_text(c), before);
		free((void *)(uintptr_t)before);
		/* endpoints are followed */
		assert_int_equal(test_count(c, TEST_SLICE), 3 + 1);
		test_delete(c, TEST_SLICE, "app/a-x");
		test_settle(c);
		assert_int_equal(test_count(c, TEST_SLICE), 2);
		test_cluster_free(c);
	}
}

/* max-ports that is invalid freezes, and so do bad allowed-namespaces */
static void invalid_limits_freeze(void **state)
{
	static const struct {
		const char *key, *value, *event;
	} rows[] = {
		{ "max-ports", "1O0",
		  "InvalidMaxPorts svc-mux/mux: Invalid " P
		  "max-ports value '1O0'; expected integer" },
		{ "max-ports", "0",
		  "InvalidMaxPorts svc-mux/mux: Invalid " P "max-ports value 0; expected >= 1" },
		{ "allowed-namespaces", "App",
		  "InvalidAllowedNamespaces svc-mux/mux: Invalid " P
		  "allowed-namespaces entry 'App'; " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_cluster *c = test_cluster_new();

		test_mux(c, MUX, NULL);
		test_channel(c, "app/a", "http:80", NULL);
		test_settle(c);
		test_note(c, MUX, rows[i].key, rows[i].value);
		test_channel(c, "app/b", "http:81", NULL);
		test_settle(c);
		expect_logged(c, rows[i].event);
		assert_string_equal(test_ports(c, MUX), "80/TCP=f0ad37a");
		test_note(c, MUX, rows[i].key, NULL);
		test_settle(c);
		assert_string_equal(test_ports(c, MUX), "80/TCP=f0ad37a 81/TCP=0241458");
		test_cluster_free(c);
	}
}

/* Limits: established channels first; a smaller one may still fit */
static void the_limit_respects_established_channels(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'max-ports':'3'");
	test_channel(c, "app/m", "a:1 b:2", NULL);
	test_settle(c);
	test_channel(c, "app/a", "a:11 b:12", NULL);
	test_channel(c, "app/z", "a:21", NULL);
	test_settle(c);
	expect_logged(c, "MuxPortLimitExceeded app/a: mux svc-mux/mux is limited to 3 port(s); "
			 "skipping channel would exceed " P "max-ports");
	assert_string_equal(test_value(c, "app/m", "ports"), "a:1->1, b:2->2");
	assert_string_equal(test_value(c, "app/z", "ports"), "a:21->21");
	/* a lower limit refuses by name, and what it took comes back with its claims */
	test_note(c, MUX, "max-ports", "2");
	test_settle(c);
	assert_string_equal(test_value(c, "app/z", "ports"), "");
	test_note(c, MUX, "max-ports", "3");
	test_settle(c);
	assert_string_equal(test_value(c, "app/z", "ports"), "a:21->21");
}

/* Limits: one that returns with its claims does not replace one that is on the mux */
static void a_returning_channel_waits_at_the_limit(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'max-ports':'1'");
	test_channel(c, "app/a", "http:1", NULL);
	test_settle(c);
	test_note(c, "app/a", "external-ports", "broken");
	test_channel(c, "app/b", "http:2", NULL);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "2/TCP=0241458");
	test_note(c, "app/a", "external-ports", NULL);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "2/TCP=0241458");
	expect_logged(c, "MuxPortLimitExceeded app/a: ");
}

/* GKE: detection by class or key, cap of 100 */
static void gke_has_a_limit_of_100(void **state)
{
	static const struct {
		const char *notes, *class;
		unsigned limit;
		const char *event;
	} rows[] = {
		{ NULL, NULL, 0, NULL },
		{ "'max-ports':'200'", NULL, 200, NULL },
		{ "'cloud.google.com/l4-rbs':''", NULL, 100,
		  "GkePortLimitApplied svc-mux/mux: Detected a GKE LoadBalancer mux without " P
		  "max-ports; applying the GKE Service LoadBalancer limit of 100 ports" },
		{ "'networking.gke.io/load-balancer-type':'Internal','max-ports':'200'", NULL, 100,
		  "GkePortLimitApplied svc-mux/mux: Detected a GKE LoadBalancer mux with " P
		  "max-ports=200; using the GKE Service LoadBalancer limit of 100 ports" },
		{ "'networking.gke.io/load-balancer-ip-addresses':'x','max-ports':'50'", NULL, 50,
		  NULL },
		{ "'max-ports':'100'", "networking.gke.io/l4-regional-external", 100, NULL },
		{ "'cloud.google.com/network-tier':'x'", NULL, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_cluster *c = test_cluster_new();

		test_mux(c, MUX, rows[i].notes);
		if (rows[i].class)
			test_patch(c, TEST_SERVICE, MUX, "{'spec':{'loadBalancerClass':'%s'}}",
				   rows[i].class);
		test_settle(c);
		assert_int_equal(test_view(c)->max_ports, rows[i].limit);
		if (rows[i].event)
			expect_logged(c, rows[i].event);
		else
			assert_false(test_logged(c, "GkePortLimitApplied"));
		test_cluster_free(c);
	}
}

/* GKE: the 101st channel is refused */
static void gke_refuses_the_101st(void **state)
{
	struct test_cluster *c = *state;
	char name[32];

	test_mux(c, MUX, "'cloud.google.com/l4-rbs':'enabled','port-range':'20000-20199'");
	for (int i = 1; i <= 101; i++) {
		snprintf(name, sizeof(name), "app/channel-%03d", i);
		test_channel(c, name, "http:80", AUTO);
	}
	test_settle(c);
	assert_int_equal(test_view(c)->n_ports, 100);
	expect_logged(c, "MuxPortLimitExceeded app/channel-101: mux svc-mux/mux is limited to 100 "
			 "port(s); skipping channel would exceed the GKE Service LoadBalancer port "
			 "limit");
}

#define MINUTE (60 * NSEC_PER_SEC)

/* release-grace: a number that was given back rests, but its former owner may have it again */
static void a_released_number_rests(void **state)
{
	int64_t now = 1700000000 * NSEC_PER_SEC;
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009','release-grace':'10m'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	test_delete(c, TEST_SERVICE, "app/a");
	test_settle(c);
	assert_non_null(strstr(state_text(c), "\"releasedAt\""));
	assert_int_equal(test_plan(c)->due, now + 10 * MINUTE);
	test_channel(c, "app/c", "http:80", AUTO);
	test_set_time(c, now + 9 * MINUTE);
	test_settle(c);
	assert_string_equal(test_value(c, "app/c", "ports"), "http:80->20002");
	test_channel(c, "app/a", "http:80", AUTO);
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
	assert_null(strstr(state_text(c), "releasedAt"));
	test_delete(c, TEST_SERVICE, "app/a");
	test_settle(c);
	test_set_time(c, now + 19 * MINUTE);
	test_settle(c);
	assert_null(strstr(state_text(c), "releasedAt"));
	assert_int_equal(test_plan(c)->due, 0);
	test_channel(c, "app/d", "http:80", AUTO);
	test_settle(c);
	assert_string_equal(test_value(c, "app/d", "ports"), "http:80->20000");
}

/* release-grace: a channel that asks for the number gets it; a bad value frees nothing */
static void a_released_number_can_be_asked_for(void **state)
{
	int64_t now = 1700000000 * NSEC_PER_SEC;
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20001','release-grace':'ten'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	expect_logged(c, "InvalidReleaseGrace svc-mux/mux: ");
	test_delete(c, TEST_SERVICE, "app/a");
	test_settle(c);
	test_set_time(c, now + 10000 * MINUTE);
	test_channel(c, "app/c", "http:80", AUTO);
	test_settle(c);
	expect_logged(c, "InvalidPortMapping app/c: No available");
	test_channel(c, "app/d", "http:20000", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "app/d", "ports"), "http:20000->20000");
}

/* Without release-grace a number is free at once */
static void a_number_is_free_at_once_by_default(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", AUTO);
	test_settle(c);
	test_delete(c, TEST_SERVICE, "app/a");
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20000");
}

/* Two Services whose ports have the same seven digits, found by counting. */
static void find_collision(const struct mux_settings *s, char ret_a[32], char ret_b[32])
{
	static uint32_t seen[1 << 16];
	static char found[1 << 16][16];
	char hash[MUX_NAME_MAX + 1], name[16];

	for (unsigned i = 0;; i++) {
		unsigned long h;
		uint32_t *slot;

		snprintf(name, sizeof(name), "s%u", i);
		mux_port_hash(s, "app", name, "http", hash);
		hash[MUX_NAME_MIN] = 0;
		h = strtoul(hash, NULL, 16);
		slot = &seen[h & 0xffff];
		if (*slot == h + 1) {
			snprintf(ret_a, 32, "app/%s", found[h & 0xffff]);
			snprintf(ret_b, 32, "app/%s", name);
			return;
		}
		*slot = (uint32_t)h + 1;
		snprintf(found[h & 0xffff], sizeof(found[0]), "%s", name);
	}
}

/* Names: a collision of hashes is resolved, and stays so */
static void a_collision_of_names_is_resolved(void **state)
{
	struct test_cluster *c = *state;
	char a[32], b[32], hash[MUX_NAME_MAX + 1], long_a[64], first[256];

	find_collision(test_settings(c), a, b);
	mux_port_hash(test_settings(c), "app", a + 4, "http", hash);
	snprintf(long_a, sizeof(long_a), "81/TCP=%.8s", hash);
	test_mux(c, MUX, NULL);
	test_channel(c, b, "http:80", NULL);
	test_settle(c);
	snprintf(first, sizeof(first), "%s", test_ports(c, MUX));
	test_channel(c, a, "http:81", NULL);
	test_settle(c);
	/* the one that was there keeps its name, whatever the order of channels is */
	assert_memory_equal(test_ports(c, MUX), first, strlen(first));
	assert_string_equal(test_ports(c, MUX) + strlen(first) + 1, long_a);
	test_restart(c);
	test_delete(c, TEST_CONFIG_MAP, STATE);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX) + strlen(first) + 1, long_a);
	/* and when the other is gone the long name stays */
	test_delete(c, TEST_SERVICE, b);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), long_a);
}

/* A renamed port is a new one; a changed protocol is a new claim with the same name */
static void identity_is_namespace_service_port_and_protocol(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/api", "http:80", AUTO);
	test_channel(c, "app/b", "http:80", AUTO);
	test_settle(c);
	test_channel(c, "app/api", "http:80/UDP", AUTO);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "20000/UDP=bcaefde 20001/TCP=0241458");
	test_channel(c, "app/api", "web:80", "'external-ports':'web:auto'");
	test_settle(c);
	assert_null(strstr(test_ports(c, MUX), "bcaefde"));
	assert_string_equal(test_value(c, "app/api", "ports"), "web:80->20000");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(the_state_is_stored_before_ports_are_exposed),
		T(the_state_can_have_another_name),
		T(claims_hold_across_restarts),
		T(an_old_state_is_migrated),
		T(the_stored_owner_wins),
		T(newcomers_are_taken_in_order),
		T(a_number_is_per_protocol),
		T(all_conflicts_are_told),
		T(an_automatic_owner_is_not_replaced),
		T(ports_can_be_swapped),
		T(a_number_that_is_not_wanted_is_free),
		T(a_refused_channel_keeps_what_it_owned),
		T(an_invalid_channel_keeps_its_claims),
		T(a_lost_state_is_recovered_from_the_mux),
		T(a_lost_mux_is_recovered_from_the_channels),
		T(the_strongest_evidence_counts),
		T(an_automatic_port_stays_in_its_range),
		T(the_first_of_two_claims_counts),
		T(an_invalid_range_keeps_what_is_given),
		T(an_invalid_state_freezes),
		T(invalid_limits_freeze),
		T(the_limit_respects_established_channels),
		T(a_returning_channel_waits_at_the_limit),
		T(gke_has_a_limit_of_100),
		T(gke_refuses_the_101st),
		T(a_released_number_rests),
		T(a_released_number_can_be_asked_for),
		T(a_number_is_free_at_once_by_default),
		T(a_collision_of_names_is_resolved),
		T(identity_is_namespace_service_port_and_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
