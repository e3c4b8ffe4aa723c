/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of pools, TLS to them, streams, and what of a status belongs to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/gateway/testing.h"

#define RULES "'rules':[{'backendRefs':[{'name':'web','port':80}]}]"
#define SPEC(rest) "'spec':{'parentRefs':[{'name':'gw'}]" rest "," RULES "}"

static void make(struct world *w)
{
	world_make(w);
	usual(w);
	put(w, GW_HTTP_ROUTE, "default/r", SPEC(""));
}

/* ---- servers ---- */

static void slice(struct world *w, const char *key, const char *service, const char *body)
{
	char meta[128];

	snprintf(meta, sizeof(meta), ",'labels':{'kubernetes.io/service-name':'%s'}", service);
	put_meta(w, GW_ENDPOINT_SLICE, key, meta, body);
}

static const struct {
	const char *endpoints, *servers;
} conditions[] = {
	{ "{'addresses':['10.0.0.1']}", "{'host':'10.0.0.1','port':8080}" },
	{ "{'addresses':['10.0.0.1'],'conditions':{'ready':false}}", "" },
	{ "{'addresses':['10.0.0.1'],'conditions':{'ready':true,'serving':true}}",
	  "{'host':'10.0.0.1','port':8080}" },
	/* one that ends finishes what it has */
	{ "{'addresses':['10.0.0.1'],'conditions':{'ready':false,'serving':true,"
	  "'terminating':true}},{'addresses':['10.0.0.2']}",
	  "{'host':'10.0.0.1','port':8080,'drain':true},{'host':'10.0.0.2','port':8080}" },
	/* and is used if there is no other */
	{ "{'addresses':['10.0.0.1'],'conditions':{'ready':false,'serving':true,"
	  "'terminating':true}}",
	  "{'host':'10.0.0.1','port':8080}" },
	{ "{'addresses':['10.0.0.1'],'conditions':{'ready':false,'serving':false,"
	  "'terminating':true}}",
	  "" },
	/* each address once, in order */
	{ "{'addresses':['10.0.0.2']},{'addresses':['10.0.0.1']},{'addresses':['10.0.0.2']}",
	  "{'host':'10.0.0.1','port':8080},{'host':'10.0.0.2','port':8080}" },
	{ "{'addresses':['2001:db8::1']}", "{'host':'2001:db8::1','port':8080}" },
	{ "{'addresses':['name.example']}", "" },
};

static void conditions_of_endpoints_decide(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		_cleanup_(buf_free) struct buf body = { 0 }, wanted = { 0 };
		struct world w;

		make(&w);
		buf_printf(&body, "'ports':[{'name':'http','port':8080}],'endpoints':[%s]",
			   conditions[i].endpoints);
		slice(&w, "default/web-1", "web", buf_cstr(&body));
		buf_printf(&wanted, "'upstreams':[%s]", conditions[i].servers);
		assert_entry(&w, GW_POOLS, "default/web:80", buf_cstr(&wanted));
		world_free(&w);
	}
}

/* All slices count, each with the number that its port of this name has. */
static void ports_are_found_by_name(void **state)
{
	struct world w;

	make(&w);
	slice(&w, "default/web-2", "web",
	      "'ports':[{'name':'other','port':1},{'name':'http','port':9090}],"
	      "'endpoints':[{'addresses':['10.0.0.2']}]");
	slice(&w, "default/web-3", "web",
	      "'ports':[{'name':'other','port':1}],'endpoints':[{'addresses':['10.0.0.3']}]");
	slice(&w, "default/else-1", "else",
	      "'ports':[{'name':'http','port':1}],'endpoints':[{'addresses':['10.0.0.4']}]");
	assert_entry(&w, GW_POOLS, "default/web:80",
		     "'upstreams':[{'host':'10.0.0.1','port':8080},{'host':'10.0.0.2',"
		     "'port':9090}]");
	drop(&w, GW_ENDPOINT_SLICE, "default/web-1");
	assert_entry(&w, GW_POOLS, "default/web:80",
		     "'upstreams':[{'host':'10.0.0.2','port':9090}]");
	world_free(&w);
}

/* ---- BackendTLSPolicy ---- */

#define POLICY(target, validation)                                                                 \
	"'spec':{'targetRefs':[{'group':'','kind':'Service','name':'web'" target                   \
	"}],'validation':{" validation "}}"
#define CA(name) "'caCertificateRefs':[{'group':'','kind':'ConfigMap','name':'" name "'}]"
#define HOST ",'hostname':'web.example'"

static const struct {
	const char *policy, *condition;
	bool served;
} policies[] = {
	{ POLICY("", CA("ca") HOST), "Accepted True Accepted", true },
	{ POLICY("", CA("ca") HOST), "ResolvedRefs True ResolvedRefs", true },
	{ POLICY("", "'wellKnownCACertificates':'System'" HOST), "Accepted True Accepted", true },
	{ POLICY("", "'wellKnownCACertificates':'Other'" HOST), "Accepted False Invalid", false },
	{ POLICY("", CA("none") HOST), "Accepted False NoValidCACertificate", false },
	{ POLICY("", CA("none") HOST), "ResolvedRefs False InvalidCACertificateRef", false },
	{ POLICY("", CA("bad") HOST), "ResolvedRefs False InvalidCACertificateRef", false },
	{ POLICY("", "'caCertificateRefs':[{'group':'','kind':'Secret','name':'ca'}]" HOST),
	  "Accepted False NoValidCACertificate", false },
	{ POLICY("", "'caCertificateRefs':[{'group':'','kind':'Secret','name':'ca'}]" HOST),
	  "ResolvedRefs False InvalidKind", false },
	{ POLICY(",'sectionName':'http'", CA("ca") HOST), "Accepted True Accepted", true },
};

static void authorities(struct world *w)
{
	put(w, GW_CONFIG_MAP, "default/ca", "'data':{'ca.crt':'-----BEGIN CA'}");
	put(w, GW_CONFIG_MAP, "default/bad", "'data':{'ca.crt':'-----BEGIN BAD'}");
}

static void policies_have_their_reasons(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct world w;

		make(&w);
		authorities(&w);
		put(&w, GW_BACKEND_TLS_POLICY, "default/p", "%s", policies[i].policy);
		assert_condition(&w, GW_BACKEND_TLS_POLICY, "default/p", policies[i].condition);
		assert_status(&w, GW_BACKEND_TLS_POLICY, "default/p",
			      "'ancestorRef':{'group':'" GW_GROUP "','kind':'Gateway',"
			      "'namespace':'default','name':'gw'}");
		/* never plain text: without a valid policy there are no servers */
		assert_entry(&w, GW_POOLS, "default/web:80",
			     policies[i].served ? "'host':'10.0.0.1'" : "'upstreams':[]");
		if (policies[i].served)
			assert_entry(&w, GW_POOLS, "default/web:80", "'tls':{");
		world_free(&w);
	}
}

static void a_policy_says_how_servers_are_verified(void **state)
{
	struct world w;

	make(&w);
	authorities(&w);
	put(&w, GW_BACKEND_TLS_POLICY, "default/p", "%s",
	    POLICY("", CA("ca") HOST ",'subjectAltNames':[{'type':'Hostname','hostname':'a.example'"
				     "},{'type':'URI','uri':'spiffe://b'}]"));
	assert_entry(&w, GW_POOLS, "default/web:80",
		     "'tls':{'ca':'-----BEGIN CA\\n','name':'web.example','names':['a.example',"
		     "'spiffe://b']}");
	/* authorities are followed */
	put(&w, GW_CONFIG_MAP, "default/ca", "'data':{'ca.crt':'-----BEGIN CA2'}");
	assert_entry(&w, GW_POOLS, "default/web:80", "'ca':'-----BEGIN CA2\\n'");
	drop(&w, GW_CONFIG_MAP, "default/ca");
	assert_condition(&w, GW_BACKEND_TLS_POLICY, "default/p",
			 "ResolvedRefs False InvalidCACertificateRef");
	assert_entry(&w, GW_POOLS, "default/web:80", "'upstreams':[]");
	drop(&w, GW_BACKEND_TLS_POLICY, "default/p");
	assert_entry(&w, GW_POOLS, "default/web:80", "'host':'10.0.0.1'");
	world_free(&w);
}

static void the_older_policy_counts(void **state)
{
	struct world w;

	make(&w);
	authorities(&w);
	put(&w, GW_BACKEND_TLS_POLICY, "default/z", "%s", POLICY("", CA("ca") ",'hostname':'z'"));
	put(&w, GW_BACKEND_TLS_POLICY, "default/a", "%s", POLICY("", CA("ca") ",'hostname':'a'"));
	put(&w, GW_BACKEND_TLS_POLICY, "default/port", "%s",
	    POLICY(",'sectionName':'other'", CA("ca") ",'hostname':'port'"));
	assert_condition(&w, GW_BACKEND_TLS_POLICY, "default/z", "Accepted True Accepted");
	assert_condition(&w, GW_BACKEND_TLS_POLICY, "default/a", "Accepted False Conflicted");
	assert_condition(&w, GW_BACKEND_TLS_POLICY, "default/port", "Accepted True Accepted");
	assert_entry(&w, GW_POOLS, "default/web:80", "'name':'z'");
	drop(&w, GW_BACKEND_TLS_POLICY, "default/z");
	assert_condition(&w, GW_BACKEND_TLS_POLICY, "default/a", "Accepted True Accepted");
	assert_entry(&w, GW_POOLS, "default/web:80", "'name':'a'");
	/* one for the port goes before one for the Service */
	put(&w, GW_BACKEND_TLS_POLICY, "default/port", "%s",
	    POLICY(",'sectionName':'http'", CA("ca") ",'hostname':'port'"));
	assert_entry(&w, GW_POOLS, "default/web:80", "'name':'port'");
	world_free(&w);
}

static void https_needs_a_policy(void **state)
{
	struct world w;

	make(&w);
	authorities(&w);
	put(&w, GW_SERVICE, "default/web",
	    "'spec':{'ports':[{'name':'http','port':80,'appProtocol':'https'}]}");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "ResolvedRefs False UnsupportedProtocol");
	put(&w, GW_BACKEND_TLS_POLICY, "default/p", "%s", POLICY("", CA("ca") HOST));
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "ResolvedRefs True ResolvedRefs");
	world_free(&w);
}

/* A policy without routes has no ancestors, and loses ours when they go. */
static void ancestors_follow_the_routes(void **state)
{
	struct world w;

	make(&w);
	authorities(&w);
	put(&w, GW_BACKEND_TLS_POLICY, "default/p", "%s", POLICY("", CA("ca") HOST));
	write_statuses(&w);
	drop(&w, GW_HTTP_ROUTE, "default/r");
	assert_status(&w, GW_BACKEND_TLS_POLICY, "default/p", "'ancestors':[]");
	world_free(&w);
}

/* ---- streams ---- */

static void gateway(struct world *w, const char *listeners)
{
	put(w, GW_SECRET, "default/good",
	    "'data':{'tls.crt':'LS0tLS1CRUdJTiBD','tls.key':'LS0tLS1CRUdJTiBL'}");
	put(w, GW_GATEWAY, "default/gw", "'spec':{'gatewayClassName':'maglev','listeners':[%s]}",
	    listeners);
}

static void the_oldest_route_of_a_port_is_served(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, "{'name':'t','port':9000,'protocol':'TCP'}");
	assert_no_entry(&w, GW_LISTENERS, "default/gw/t");
	put(&w, GW_TCP_ROUTE, "default/z", SPEC(""));
	put(&w, GW_TCP_ROUTE, "default/a", SPEC(""));
	assert_entry(&w, GW_LISTENERS, "default/gw/t", "'protocol':'tcp'");
	assert_entry(&w, GW_STREAMS, "TCPRoute/default/z@default/gw/t", "'pool':'default/web:80'");
	assert_no_entry(&w, GW_STREAMS, "TCPRoute/default/a@default/gw/t");
	assert_condition(&w, GW_TCP_ROUTE, "default/a", "Accepted True Accepted");
	assert_status(&w, GW_GATEWAY, "default/gw", "'attachedRoutes':2");
	drop(&w, GW_TCP_ROUTE, "default/z");
	assert_entry(&w, GW_STREAMS, "TCPRoute/default/a@default/gw/t", "'pool':'default/web:80'");
	drop(&w, GW_TCP_ROUTE, "default/a");
	assert_no_entry(&w, GW_LISTENERS, "default/gw/t");
	assert_no_entry(&w, GW_POOLS, "default/web:80");
	world_free(&w);
}

static void a_listener_may_change_its_protocol(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, "{'name':'t','port':9000,'protocol':'TCP'}");
	put(&w, GW_TCP_ROUTE, "default/z", SPEC(""));
	assert_entry(&w, GW_LISTENERS, "default/gw/t", "'protocol':'tcp'");
	gateway(&w, "{'name':'t','port':9000,'protocol':'HTTP','hostname':'a.example'}");
	assert_entry(&w, GW_LISTENERS, "default/gw/t", "'host':'a.example'");
	gateway(&w, "{'name':'t','port':9000,'protocol':'TCP'}");
	assert_entry(&w, GW_LISTENERS, "default/gw/t", "'protocol':'tcp'");
	drop(&w, GW_TCP_ROUTE, "default/z");
	assert_no_entry(&w, GW_LISTENERS, "default/gw/t");
	world_free(&w);
}

static void datagrams_go_to_ports_for_datagrams(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, "{'name':'u','port':53,'protocol':'UDP'},{'name':'v','port':54,"
		    "'protocol':'UDP'}");
	put(&w, GW_SERVICE, "default/web",
	    "'spec':{'ports':[{'name':'tcp','port':80},{'name':'udp','port':80,"
	    "'protocol':'UDP'}]}");
	slice(&w, "default/web-1", "web",
	      "'ports':[{'name':'tcp','port':1},{'name':'udp','port':2,'protocol':'UDP'}],"
	      "'endpoints':[{'addresses':['10.0.0.1']}]");
	put(&w, GW_UDP_ROUTE, "default/r", SPEC("")); /* on both listeners */
	assert_entry(&w, GW_STREAMS, "UDPRoute/default/r@default/gw/u",
		     "'pool':'default/web:80/udp'");
	assert_entry(&w, GW_STREAMS, "UDPRoute/default/r@default/gw/v",
		     "'pool':'default/web:80/udp'");
	assert_entry(&w, GW_POOLS, "default/web:80/udp", "'port':2");
	world_free(&w);
}

static void weights_of_streams_keep_invalid_shares(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, "{'name':'t','port':9000,'protocol':'TCP'}");
	put(&w, GW_TCP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'backendRefs':[{'name':'web',"
	    "'port':80,'weight':9},{'name':'none','port':80,'weight':0}]}]}");
	assert_entry(&w, GW_STREAMS, "TCPRoute/default/r@default/gw/t",
		     "'backends':[{'pool':'default/web:80','weight':9},{'invalid':true,"
		     "'weight':0}]");
	assert_condition(&w, GW_TCP_ROUTE, "default/r", "ResolvedRefs False BackendNotFound");
	world_free(&w);
}

static void names_of_tls_belong_to_the_oldest_route(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, "{'name':'p','port':443,'protocol':'TLS','tls':{'mode':'Passthrough'}}");
	put(&w, GW_TLS_ROUTE, "default/z",
	    SPEC(",'hostnames':['a.example','*.b.example','A.example']"));
	put(&w, GW_TLS_ROUTE, "default/a", SPEC(",'hostnames':['A.example','c.example']"));
	assert_entry(&w, GW_LISTENERS, "default/gw/p", "'tls':{'mode':'passthrough'}");
	assert_entry(&w, GW_STREAMS, "TLSRoute/default/z@default/gw/p",
		     "'hosts':['a.example','*.b.example']");
	assert_entry(&w, GW_STREAMS, "TLSRoute/default/a@default/gw/p", "'hosts':['c.example']");
	world_free(&w);
}

/* TLS that ends at the router may begin again to the servers; what is passed on is left alone. */
static void a_policy_holds_where_tls_ends(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	authorities(&w);
	gateway(&w, "{'name':'p','port':443,'protocol':'TLS','hostname':'p.example','tls':{"
		    "'mode':'Passthrough'}},{'name':'t','port':443,'protocol':'TLS',"
		    "'hostname':'t.example','tls':{'mode':'Terminate','certificateRefs':["
		    "{'name':'good'}]}}");
	put(&w, GW_BACKEND_TLS_POLICY, "default/b", "%s", POLICY("", CA("ca") HOST));
	put(&w, GW_TLS_ROUTE, "default/r", SPEC(",'hostnames':['p.example','t.example']"));
	assert_entry(&w, GW_STREAMS, "TLSRoute/default/r@default/gw/p",
		     "'pool':'default/web:80+raw'");
	assert_entry(&w, GW_STREAMS, "TLSRoute/default/r@default/gw/t", "'pool':'default/web:80'");
	assert_entry(&w, GW_POOLS, "default/web:80", "'tls':{");
	assert_null(strstr(entry(&w, GW_POOLS, "default/web:80+raw"), "\"tls\":{"));
	assert_entry(&w, GW_LISTENERS, "default/gw/t", "'mode':'terminate'");
	assert_int_equal(gw_entries(w.gw, GW_POOLS), 2);
	/* without the listener that ends TLS, its pool is not needed */
	gateway(&w, "{'name':'p','port':443,'protocol':'TLS','tls':{'mode':'Passthrough'}}");
	assert_no_entry(&w, GW_POOLS, "default/web:80");
	world_free(&w);
}

/* ---- what belongs to others ---- */

#define FOREIGN                                                                                    \
	"{'type':'example.com/Stale','status':'Unknown','reason':'Old','message':'m',"             \
	"'lastTransitionTime':'2020-01-01T00:00:00Z','observedGeneration':1}"

static void conditions_of_others_stay(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	put(&w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'http','port':80,"
	    "'protocol':'HTTP'}]},'status':{'conditions':[" FOREIGN ",{'type':'Accepted',"
	    "'status':'True','reason':'Accepted','message':'','lastTransitionTime':"
	    "'2021-01-01T00:00:00Z','observedGeneration':1},{'type':'Programmed','status':"
	    "'Unknown','reason':'Pending','message':'Waiting','lastTransitionTime':"
	    "'1970-01-01T00:00:00Z'}],'listeners':[{'name':'http','attachedRoutes':0,"
	    "'supportedKinds':[],'conditions':[" FOREIGN "]}]}");
	assert_status(&w, GW_GATEWAY, "default/gw", "{'conditions':[" FOREIGN ",");
	assert_status(&w, GW_GATEWAY, "default/gw",
		      "'conditions':[" FOREIGN ",{'type':'Accepted',"
		      "'status':'True'");
	/* the time stays while the status does; the generation moves */
	assert_status(&w, GW_GATEWAY, "default/gw",
		      "'lastTransitionTime':'2021-01-01T00:00:00Z','observedGeneration':2}");
	assert_status(&w, GW_GATEWAY, "default/gw",
		      "{'type':'Programmed','status':'True','reason':'Programmed','message':'',"
		      "'lastTransitionTime':'" NOW "','observedGeneration':2}");
	assert_status(&w, GW_GATEWAY, "default/gw", "'conditions':[" FOREIGN ",{'type'");
	world_free(&w);
}

#define OTHERS                                                                                     \
	"{'parentRef':{'group':'" GW_GROUP "','kind':'Gateway','name':'else'},"                    \
	"'controllerName':'example.com/other','conditions':[" FOREIGN "]}"

static void parents_of_others_stay(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    SPEC("") ",'status':{'parents':[" OTHERS ",{'parentRef':{'group':'" GW_GROUP
		     "','kind':'Gateway','name':'old'},'controllerName':'" GW_CONTROLLER
		     "','conditions':[]}]}");
	assert_status(&w, GW_HTTP_ROUTE, "default/r",
		      "{'parents':[" OTHERS ",{'parentRef':{'group':'" GW_GROUP
		      "','kind':'Gateway','name':'gw'}");
	assert_null(strstr(status_of(&w, GW_HTTP_ROUTE, "default/r"), "\"old\""));
	/* the route goes to another controller's Gateway: only our entry goes */
	write_statuses(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'else'}]," RULES "},'status':{'parents':[" OTHERS
	    ",{'parentRef':{'group':'" GW_GROUP "','kind':'Gateway','name':'gw'},"
	    "'controllerName':'" GW_CONTROLLER "','conditions':[]}]}");
	assert_status(&w, GW_HTTP_ROUTE, "default/r", "'status':{'parents':[" OTHERS "]}");
	world_free(&w);
}

/* What names a parent is copied; each parent is judged alone. */
static void each_parent_has_an_entry(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw','namespace':'default','sectionName':'http',"
	    "'port':80},{'name':'gw','sectionName':'none'},{'name':'nothing'}]," RULES "}");
	assert_status(&w, GW_HTTP_ROUTE, "default/r",
		      "{'parentRef':{'group':'" GW_GROUP "','kind':'Gateway','namespace':'default',"
		      "'name':'gw','sectionName':'http','port':80},'controllerName':'" GW_CONTROLLER
		      "','conditions':[{'type':'Accepted','status':'True'");
	assert_status(&w, GW_HTTP_ROUTE, "default/r",
		      "'name':'gw','sectionName':'none'},'controllerName':'" GW_CONTROLLER
		      "','conditions':[{'type':'Accepted','status':'False',"
		      "'reason':'NoMatchingParent'");
	assert_null(strstr(status_of(&w, GW_HTTP_ROUTE, "default/r"), "nothing"));
	world_free(&w);
}

static void a_status_that_others_removed_is_written_again(void **state)
{
	struct world w;

	make(&w);
	write_statuses(&w);
	assert_string_equal(status_of(&w, GW_HTTP_ROUTE, "default/r"), "");
	/* the same generation, without the status */
	for (size_t i = 0; i < w.n_held; i++)
		if (w.held[i].kind == GW_HTTP_ROUTE)
			w.held[i].generation--;
	put(&w, GW_HTTP_ROUTE, "default/r", SPEC(""));
	assert_int_equal(gw_work(w.gw, 0), 0);
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted True Accepted");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_of_endpoints_decide),
		cmocka_unit_test(ports_are_found_by_name),
		cmocka_unit_test(policies_have_their_reasons),
		cmocka_unit_test(a_policy_says_how_servers_are_verified),
		cmocka_unit_test(the_older_policy_counts),
		cmocka_unit_test(https_needs_a_policy),
		cmocka_unit_test(ancestors_follow_the_routes),
		cmocka_unit_test(the_oldest_route_of_a_port_is_served),
		cmocka_unit_test(a_listener_may_change_its_protocol),
		cmocka_unit_test(datagrams_go_to_ports_for_datagrams),
		cmocka_unit_test(weights_of_streams_keep_invalid_shares),
		cmocka_unit_test(names_of_tls_belong_to_the_oldest_route),
		cmocka_unit_test(a_policy_holds_where_tls_ends),
		cmocka_unit_test(conditions_of_others_stay),
		cmocka_unit_test(parents_of_others_stay),
		cmocka_unit_test(each_parent_has_an_entry),
		cmocka_unit_test(a_status_that_others_removed_is_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
