/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the planner for muxes, channels, port modes, texts and events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/mux/testkit.h"

#define MUX "svc-mux/mux"
#define P "svc-mux.nowake.ai/"

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

static const struct mux_view_channel *channel(struct test_cluster *c, const char *name)
{
	const struct mux_view *v = test_view(c);

	for (size_t i = 0; i < v->n_channels; i++)
		if (strcmp(v->channels[i].name, name) == 0)
			return &v->channels[i];
	return NULL;
}

/* Port modes: without an annotation the port of the Service is the port of the mux */
static void default_mode_takes_the_port_of_the_service(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "80/TCP=bcaefde");
	assert_string_equal(test_value(c, "app/api", "ports"), "http:80->80");
	expect_logged(c, "MuxPortsChanged svc-mux/mux: Added 1 port(s): 80/TCP; "
			 "Removed 1 port(s): 101/TCP");
	expect_logged(c, "MuxEndpointsCreated svc-mux/mux: Mux endpoints created: 1 ready, 0 not "
			 "ready");
	expect_logged(c, "MuxAnnotationsUpdated svc-mux/mux: Mux annotations updated: 1 channel(s) "
			 "| 1 port(s) | 1 pod(s) | DNS: pending");
}

/* Port modes: external-ports gives other numbers; ports that are not named keep theirs */
static void explicit_mode_takes_the_number_of_the_annotation(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80 grpc:9090 x:7", "'external-ports':'http:8080,grpc:1'");
	test_settle(c);
	assert_string_equal(test_value(c, "app/api", "ports"),
			    "http:80->8080, grpc:9090->1, x:7->7");
}

/* Port modes: auto takes the first free number, in the order of ranges and of ports */
static void automatic_mode_takes_the_first_free_number(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'30,20-21'");
	test_channel(c, "app/a", "http:80 grpc:90", "'external-ports':'http:auto,grpc:auto'");
	test_channel(c, "app/b", "http:80 dns:53/UDP", "'external-ports':'http:auto,dns:auto'");
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->30, grpc:90->20");
	/* TCP and UDP have a pool each */
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->21, dns:53->30");
}

/* Auto: numbers that others ask for are not given away, wherever these sort */
static void automatic_ports_avoid_numbers_that_are_asked_for(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20-29'");
	test_channel(c, "app/a", "http:80", "'external-ports':'http:auto'");
	test_channel(c, "app/z", "http:20", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->21");
	assert_string_equal(test_value(c, "app/z", "ports"), "http:20->20");
}

/* Auto: exhaustion and a missing range are InvalidPortMapping */
static void an_exhausted_range_refuses(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", "'external-ports':'http:auto'");
	test_settle(c);
	expect_logged(c, "InvalidPortMapping app/a: " P
			 "external-ports automatic allocation requires a mux port range");
	test_note(c, MUX, "port-range", "20000-20000");
	test_channel(c, "app/b", "http:80", "'external-ports':'http:auto'");
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "20000/TCP=f0ad37a");
	expect_logged(c, "InvalidPortMapping app/b: No available TCP port in mux port range 20000");
	/* what one port of a refused channel got on the way is free for others */
	test_note(c, MUX, "port-range", "20000-20001");
	test_channel(c, "app/b", "http:80 x:81", "'external-ports':'http:auto,x:auto'");
	test_channel(c, "app/c", "http:80", "'external-ports':'http:auto'");
	test_settle(c);
	expect_logged(c, "InvalidPortMapping app/b: No available TCP port in mux port range "
			 "20000-20001");
	assert_string_equal(test_value(c, "app/c", "ports"), "http:80->20001");
}

/* Detection: a mux is a LoadBalancer without selector */
static void an_invalid_mux_is_told_and_serves_nothing(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_settle(c);
	test_patch(c, TEST_SERVICE, MUX, "{'spec':{'type':'ClusterIP','selector':{'a':'b'}}}");
	test_settle(c);
	expect_logged(c, "NotLoadBalancer svc-mux/mux: Multiplexer service has to be of type "
			 "LoadBalancer");
	assert_false(test_logged(c, "NotSupported"));
	assert_int_equal(test_view(c)->condition, MUX_INVALID);
	assert_int_equal(channel(c, "api")->fate, MUX_PENDING);
	/* and nothing of it remains at channels and endpoints */
	assert_string_equal(test_value(c, "app/api", "ports"), "");
	assert_int_equal(test_count(c, TEST_SLICE), 1);
	assert_int_equal(test_count(c, TEST_ENDPOINTS), 0);
	test_patch(c, TEST_SERVICE, MUX, "{'spec':{'type':'LoadBalancer'}}");
	test_settle(c);
	expect_logged(c, "NotSupported svc-mux/mux: Multiplexer service with selectors are not "
			 "supported");
	test_patch(c, TEST_SERVICE, MUX, "{'spec':{'selector':null}}");
	test_settle(c);
	assert_string_equal(test_value(c, "app/api", "ports"), "http:80->80");
}

static void a_mux_is_no_channel(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_patch(c, TEST_SERVICE, MUX, "{'spec':{'loadBalancerClass':'" P "other'}}");
	test_settle(c);
	expect_logged(c, "NotSupported svc-mux/mux: Multiplexer service as a channel of another "
			 "one is not supported");
}

/* Detection: without its mux a channel waits without an event, and is served when it comes */
static void a_channel_waits_for_its_mux(void **state)
{
	struct test_cluster *c = *state;

	test_channel(c, "app/api", "http:80", NULL);
	test_settle(c);
	assert_int_equal(test_view(c)->condition, MUX_MISSING);
	assert_string_equal(test_log(c), "");
	test_mux(c, MUX, NULL);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "80/TCP=bcaefde");
}

/* Channel ports: the order of checks, and what each says */
static void channels_that_cannot_be_understood_are_refused(void **state)
{
	static const struct {
		const char *ports, *notes, *event;
	} rows[] = {
		{ "-:80", "'external-ports':'x'",
		  "InvalidPortMapping app/api: Invalid " P
		  "external-ports entry 'x'; expected name:port" },
		{ "-:80", "'external-ports':'zz:1'",
		  "InvalidPortMapping app/api: channel Service ports must be named; missing name "
		  "at spec.ports index(es): 0" },
		{ "-:80", NULL, "InvalidPort app/api: Port name is required @spec.ports[0]" },
		{ "a:1 -:2 b:3 -:4", NULL,
		  "InvalidPortMapping app/api: channel Service ports must be named; missing name "
		  "at spec.ports index(es): 1, 3" },
		{ "a:1 -:2", NULL, "InvalidPort app/api: Port name is required @spec.ports[1]" },
		{ "http:80", "'external-ports':'zz:1,grpc:2,zz:3'",
		  "InvalidPortMapping app/api: " P
		  "external-ports references unknown port name(s): grpc, zz" },
		{ "http:80/ICMP", NULL,
		  "InvalidPortMapping app/api: port http of the channel Service is not supported" },
	};
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		test_forget_log(c);
		test_channel(c, "app/api", rows[i].ports, rows[i].notes);
		test_settle(c);
		expect_logged(c, rows[i].event);
		assert_string_equal(test_ports(c, MUX), "101/TCP=placeholder");
		assert_int_equal(channel(c, "api")->fate, MUX_REFUSED);
	}
}

/* Events: what persists is told once, and again when it changes */
static void a_refusal_is_told_once(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "-:80", NULL);
	test_settle(c);
	assert_true(test_logged(c, "InvalidPort "));
	test_forget_log(c);
	test_pass(c, MUX, SIZE_MAX);
	assert_string_equal(test_log(c), "");
	test_restart(c);
	test_pass(c, MUX, SIZE_MAX);
	assert_true(test_logged(c, "InvalidPort "));
}

/* Ports of the mux: what a user puts there is removed, the placeholder is normalised */
static void ports_of_the_mux_belong_to_the_controller(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_patch(c, TEST_SERVICE, MUX,
		   "{'spec':{'ports':[{'port':8888,'protocol':'TCP'}]}}"); /* and unnamed */
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "101/TCP=placeholder");
	test_channel(c, "app/api", "http:101", NULL);
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "101/TCP=bcaefde");
	test_delete(c, TEST_SERVICE, "app/api");
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "101/TCP=placeholder");
	expect_logged(c, "MuxPortsChanged svc-mux/mux: Added 1 port(s): 101/TCP; Removed 1 "
			 "port(s): 101/TCP");
}

/* Status: a channel has all addresses of its mux, and none when the mux has none */
static void channels_have_the_addresses_of_the_mux(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/api", "http:80", NULL);
	test_patch(c, TEST_SERVICE, MUX,
		   "{'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.1','ipMode':'VIP',"
		   "'ports':[{'port':80,'protocol':'TCP'}]},{'hostname':'lb.example.com'}]}}}");
	test_settle(c);
	assert_string_equal(test_get(c, TEST_SERVICE, "app/api", "status.loadBalancer.ingress"),
			    "[{\"ip\":\"192.0.2.1\",\"ipMode\":\"VIP\",\"ports\":[{\"port\":80,"
			    "\"protocol\":\"TCP\"}]},{\"hostname\":\"lb.example.com\"}]");
	test_patch(c, TEST_SERVICE, MUX, "{'status':{'loadBalancer':{'ingress':null}}}");
	test_settle(c);
	assert_string_equal(test_get(c, TEST_SERVICE, "app/api", "status.loadBalancer"), "{}");
}

/* Refused and detached channels lose their mapping and addresses */
static void a_refused_channel_is_cleaned(void **state)
{
	struct test_cluster *c = *state;
	struct arena *arena = arena_new();
	const struct k8s_object *s;
	struct mux_plan plan;

	test_mux(c, MUX, NULL);
	test_patch(c, TEST_SERVICE, MUX,
		   "{'status':{'loadBalancer':{'ingress':[{'ip':'1.2.3.4'}]}}}");
	test_channel(c, "app/api", "http:80", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "app/api", "ports"), "http:80->80");
	test_note(c, "app/api", "external-ports", "broken");
	test_settle(c);
	assert_string_equal(test_value(c, "app/api", "ports"), "");
	assert_string_equal(test_get(c, TEST_SERVICE, "app/api", "status.loadBalancer"), "{}");
	/* detached: no channel any more */
	test_note(c, "app/api", "ports", "http:80->80");
	test_patch(c, TEST_SERVICE, "app/api",
		   "{'spec':{'type':'ClusterIP','loadBalancerClass':null}}");
	s = k8s_cache_get(test_cache(c, TEST_SERVICE), "app", "api");
	mux_plan_stray(test_settings(c), (const struct mux_service *)s, false, arena, &plan);
	assert_int_equal(plan.n_writes, 1);
	assert_int_equal(plan.n_events, 0);
	assert_string_equal(plan.writes[0].annotations[0].key, P "ports");
	assert_null(plan.writes[0].annotations[0].value);
	arena_free(arena);
}

/* A class that names no mux */
static void an_invalid_class_is_told(void **state)
{
	struct test_cluster *c = *state;
	struct arena *arena = arena_new();
	struct mux_plan plan;
	const struct mux_service *s;

	test_channel(c, "app/api", "http:80", NULL);
	test_patch(c, TEST_SERVICE, "app/api",
		   "{'spec':{'loadBalancerClass':'" P "a.b.c'},'status':{'loadBalancer':{'ingress':"
		   "[{'ip':'1.2.3.4'}]}}}");
	s = (const struct mux_service *)k8s_cache_get(test_cache(c, TEST_SERVICE), "app", "api");
	mux_plan_stray(test_settings(c), s, false, arena, &plan);
	assert_int_equal(plan.n_events, 1);
	assert_string_equal(plan.events[0].reason, "InvalidLoadBalancerClass");
	assert_string_equal(plan.events[0].note,
			    "Invalid loadBalancerClass format: Invalid LoadBalancerClass '" P
			    "a.b.c'; expected svc-mux.nowake.ai/<name>[.<namespace>]");
	assert_true(plan.events[0].warning);
	assert_int_equal(plan.n_writes, 1);
	assert_int_equal(plan.writes[0].object, MUX_SERVICE_STATUS);
	mux_plan_stray(test_settings(c), s, true, arena, &plan);
	assert_int_equal(plan.n_events, 0);
	arena_free(arena);
}

/* Texts: channels, topology, summary */
static void a_mux_is_readable(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_settle(c);
	assert_string_equal(test_value(c, MUX, "channels"), "[]");
	assert_string_equal(test_value(c, MUX, "topology"),
			    "Channels:\n\nSummary: 0 channel(s), 0 port(s), 0 backend pod(s)");
	assert_string_equal(test_value(c, MUX, "summary"),
			    "0 channel(s) | 0 port(s) | 0 pod(s) | DNS: pending");
	test_channel(c, "app/web", "-:80", NULL);
	test_channel(c, "app/api", "http:80 grpc:90",
		     "'external-ports':'http:auto,grpc:auto','external-dns-hostname':'a.example, "
		     "b.example'");
	test_patch(c, TEST_SERVICE, MUX,
		   "{'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.1','hostname':"
		   "'lb.example.com'}]}}}");
	test_settle(c);
	assert_string_equal(test_value(c, MUX, "channels"), "[\"app/api\", \"app/web\"]");
	assert_string_equal(test_value(c, MUX, "topology"),
			    "Mux DNS: lb.example.com\n\nChannels:\n"
			    "  - app/api\n    DNS: a.example (+1 more) (custom)\n"
			    "    Ports: http:80->20000 grpc:90->20001\n"
			    "    Backend: 1 pod(s) ready\n"
			    "  - app/web\n    DNS: lb.example.com\n"
			    "    Ports: unnamed:80->pending\n    Backend: 1 pod(s) ready\n"
			    "\nSummary: 2 channel(s), 3 port(s), 2 backend pod(s)");
	assert_string_equal(test_value(c, MUX, "summary"),
			    "2 channel(s) | 2 port(s) | 2 pod(s) | DNS: lb.example.com");
	/* what is changed by hand is set right */
	test_note(c, MUX, "summary", "mine");
	test_settle(c);
	assert_string_equal(test_value(c, MUX, "summary"),
			    "2 channel(s) | 2 port(s) | 2 pod(s) | DNS: lb.example.com");
}

/* external-dns: union of hostnames, AND of proxied, a marker of what is ours */
static void external_dns_is_aggregated(void **state)
{
	static const char host[] = "external-dns.alpha.kubernetes.io/hostname";
	static const char proxied[] = "external-dns.alpha.kubernetes.io/cloudflare-proxied";
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/b", "http:80", "'external-dns-hostname':'b.example, a.example,,'");
	test_channel(c, "app/a", "http:80",
		     "'external-dns-hostname':'a.example','external-dns.alpha.kubernetes.io/"
		     "cloudflare-proxied':' TRUE '");
	test_channel(c, "app/c", "http:81",
		     "'external-dns.alpha.kubernetes.io/cloudflare-proxied':'x'");
	test_settle(c);
	/* app/b is refused and has a say */
	assert_string_equal(test_value(c, MUX, host), "a.example,b.example");
	assert_string_equal(test_value(c, MUX, proxied), "true");
	assert_string_equal(test_value(c, MUX, "aggregated-external-dns"),
			    "external-dns.alpha.kubernetes.io/hostname,"
			    "external-dns.alpha.kubernetes.io/cloudflare-proxied");
	test_note(c, "app/c", proxied, "false");
	test_note(c, "app/a", "external-dns-hostname", NULL);
	test_note(c, "app/b", "external-dns-hostname", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, MUX, host), "");
	assert_string_equal(test_value(c, MUX, proxied), "false");
	test_note(c, "app/c", proxied, NULL);
	test_note(c, "app/a", proxied, NULL);
	test_settle(c);
	assert_string_equal(test_value(c, MUX, "aggregated-external-dns"), "");
	assert_string_equal(test_value(c, MUX, proxied), "");
	/* a key of the user stays the user's */
	test_note(c, MUX, host, "mine.example");
	test_note(c, "app/a", "external-dns-hostname", "a.example");
	test_settle(c);
	assert_string_equal(test_value(c, MUX, host), "mine.example");
	expect_logged(c, "MuxExternalDnsAnnotationConflict app/a: channel annotation " P
			 "external-dns-hostname cannot be aggregated because mux svc-mux/mux "
			 "already owns external-dns.alpha.kubernetes.io/hostname");
}

/* disabled: a channel leaves the mux and keeps its numbers */
static void a_disabled_channel_keeps_its_numbers(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", "'external-ports':'http:auto'");
	test_channel(c, "app/b", "http:80", "'external-ports':'http:auto'");
	test_settle(c);
	test_note(c, "app/a", "disabled", "true");
	test_channel(c, "app/c", "http:80", "'external-ports':'http:auto'");
	test_settle(c);
	assert_int_equal(channel(c, "a")->fate, MUX_DISABLED);
	assert_string_equal(test_value(c, "app/a", "ports"), "");
	assert_string_equal(test_value(c, "app/c", "ports"), "http:80->20002");
	test_note(c, "app/a", "disabled", NULL);
	test_settle(c);
	assert_string_equal(test_value(c, "app/a", "ports"), "http:80->20000");
}

/* disabled: nothing of a mux is written */
static void a_disabled_mux_is_left_alone(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_settle(c);
	test_note(c, MUX, "disabled", "true");
	test_note(c, MUX, "summary", "mine");
	test_channel(c, "app/b", "http:81", NULL);
	test_delete(c, TEST_SERVICE, "app/a");
	assert_int_equal(test_pass(c, MUX, SIZE_MAX), 0);
	assert_int_equal(test_view(c)->condition, MUX_PAUSED);
	assert_string_equal(test_ports(c, MUX), "80/TCP=f0ad37a");
	test_note(c, MUX, "disabled", "false");
	test_settle(c);
	assert_string_equal(test_ports(c, MUX), "81/TCP=0241458");
}

/* allowed-namespaces: who may join */
static void a_mux_says_who_may_join(void **state)
{
	struct test_cluster *c = *state;

	test_put(c, TEST_NAMESPACE, "gold", "{'metadata':{'labels':{'tier':'gold'}}}");
	test_put(c, TEST_NAMESPACE, "lead", "{'metadata':{'labels':{'tier':'lead'}}}");
	test_mux(c, MUX, "'allowed-namespaces':'app, team-*, tier=gold'");
	test_channel(c, "app/a", "http:1", NULL);
	test_channel(c, "team-x/a", "http:2", NULL);
	test_channel(c, "gold/a", "http:3", NULL);
	test_channel(c, "lead/a", "http:4", "'external-dns-hostname':'evil.example'");
	test_channel(c, "svc-mux/a", "http:5", NULL); /* its own namespace always may */
	test_settle(c);
	assert_int_equal(test_view(c)->n_served, 4);
	assert_true(test_view(c)->reads_namespaces);
	expect_logged(c, "NamespaceNotAllowed lead/a: namespace lead may not join mux svc-mux/mux "
			 "(" P "allowed-namespaces)");
	assert_string_equal(test_value(c, MUX, "external-dns.alpha.kubernetes.io/hostname"), "");
	/* one that may join no longer gives its numbers back */
	test_channel(c, "svc-mux/b", "http:3", NULL);
	test_patch(c, TEST_NAMESPACE, "gold", "{'metadata':{'labels':{'tier':'old'}}}");
	test_settle(c);
	assert_string_equal(test_value(c, "gold/a", "ports"), "");
	assert_string_equal(test_value(c, "svc-mux/b", "ports"), "http:3->3");
	test_note(c, MUX, "allowed-namespaces", "");
	test_settle(c);
	assert_int_equal(test_view(c)->n_served, 2);
}

/* Leftovers: finalizers and notes of the original are removed, others stay */
static void leftovers_of_the_original_are_removed(void **state)
{
	static const char *const all[] = { MUX, "app/a", "app/gone" };
	struct test_cluster *c = *state;

	test_mux(c, MUX, NULL);
	test_channel(c, "app/a", "http:80", NULL);
	test_channel(c, "app/gone", "http:81", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		test_patch(c, TEST_SERVICE, all[i],
			   "{'metadata':{'finalizers':['other/x','" P "finalizer'],'annotations':{"
			   "'kopf.zalando.org/last-handled-configuration':'{}'}}}");
	test_patch(c, TEST_SERVICE, "app/gone",
		   "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z'}}");
	test_settle(c);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_string_equal(test_get(c, TEST_SERVICE, all[i], "metadata.finalizers"),
				    "[\"other/x\"]");
		assert_string_equal(
			test_value(c, all[i], "kopf.zalando.org/last-handled-configuration"), "");
	}
	/* a channel that is being deleted is gone */
	assert_string_equal(test_ports(c, MUX), "80/TCP=f0ad37a");
	/* and so is a mux */
	test_patch(c, TEST_SERVICE, MUX,
		   "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z','finalizers':['" P
		   "finalizer']}}");
	test_settle(c);
	assert_string_equal(test_get(c, TEST_SERVICE, MUX, "metadata.finalizers"), "[]");
	assert_string_equal(test_value(c, "app/a", "ports"), "");
	assert_true(test_exists(c, TEST_CONFIG_MAP, "svc-mux/mux-port-allocations"));
}

/* Deletion: a mux that comes again has the old numbers again */
static void a_new_mux_adopts_the_state(void **state)
{
	struct test_cluster *c = *state;

	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_channel(c, "app/a", "http:80", "'external-ports':'http:auto'");
	test_channel(c, "app/b", "http:80", "'external-ports':'http:auto'");
	test_settle(c);
	test_delete(c, TEST_SERVICE, "app/a");
	test_settle(c);
	test_delete(c, TEST_SERVICE, MUX);
	test_settle(c);
	test_restart(c);
	test_mux(c, MUX, "'port-range':'20000-20009'");
	test_settle(c);
	assert_string_equal(test_value(c, "app/b", "ports"), "http:80->20001");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(default_mode_takes_the_port_of_the_service),
		T(explicit_mode_takes_the_number_of_the_annotation),
		T(automatic_mode_takes_the_first_free_number),
		T(automatic_ports_avoid_numbers_that_are_asked_for),
		T(an_exhausted_range_refuses),
		T(an_invalid_mux_is_told_and_serves_nothing),
		T(a_mux_is_no_channel),
		T(a_channel_waits_for_its_mux),
		T(channels_that_cannot_be_understood_are_refused),
		T(a_refusal_is_told_once),
		T(ports_of_the_mux_belong_to_the_controller),
		T(channels_have_the_addresses_of_the_mux),
		T(a_refused_channel_is_cleaned),
		T(an_invalid_class_is_told),
		T(a_mux_is_readable),
		T(external_dns_is_aggregated),
		T(a_disabled_channel_keeps_its_numbers),
		T(a_disabled_mux_is_left_alone),
		T(a_mux_says_who_may_join),
		T(leftovers_of_the_original_are_removed),
		T(a_new_mux_adopts_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
