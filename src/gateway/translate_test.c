/* SPDX-License-Identifier: Apache-2.0 */
/* From objects to entries of the router, and which of them change. */
#include "src/gateway/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define ROUTE(rest) "'spec':{'parentRefs':[{'name':'gw'}]," rest "}"
#define BACKEND "'backendRefs':[{'name':'web','port':80}]"
#define PLAIN ROUTE("'rules':[{" BACKEND "}]")

static void a_route_reaches_the_servers_of_its_service(void **state)
{
	struct world w;

	(void)state;
	world_make(&w);
	usual(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    ROUTE("'hostnames':['a.example'],'rules':[{'matches':[{'path':{'type':'PathPrefix',"
		  "'value':'/x'}}]," BACKEND "}]"));
	assert_entry(&w, GW_LISTENERS, "default/gw/http", "'address':'192.0.2.1:80'");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'host':'a.example'");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'listeners':['default/gw/http']");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'path_prefix':'/x'");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'pool':'default/web:80'");
	assert_entry(&w, GW_POOLS, "default/web:80",
		     "'upstreams':[{'host':'10.0.0.1','port':8080}]");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted True Accepted");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "ResolvedRefs True ResolvedRefs");
	assert_condition(&w, GW_GATEWAY, "default/gw", "Programmed True Programmed");
	assert_status(&w, GW_GATEWAY, "default/gw", "'attachedRoutes':1");
	assert_condition(&w, GW_GATEWAY_CLASS, "/maglev", "Accepted True Accepted");
	world_free(&w);
}

static void a_change_of_endpoints_changes_one_pool(void **state)
{
	struct world w;

	(void)state;
	world_make(&w);
	usual(&w);
	put(&w, GW_HTTP_ROUTE, "default/r", PLAIN);
	assert_string_equal(changes(&w), "+pools default/web:80\n+listeners default/gw/http\n"
					 "+routes HTTPRoute/default/r\n");
	put_meta(&w, GW_ENDPOINT_SLICE, "default/web-1",
		 ",'labels':{'kubernetes.io/service-name':'web'}",
		 "'addressType':'IPv4','ports':[{'name':'http','port':8080}],"
		 "'endpoints':[{'addresses':['10.0.0.2']},{'addresses':['10.0.0.1']}]");
	assert_string_equal(changes(&w), "~pools default/web:80\n");
	assert_entry(&w, GW_POOLS, "default/web:80",
		     "'upstreams':[{'host':'10.0.0.1','port':8080},{'host':'10.0.0.2',"
		     "'port':8080}]");
	world_free(&w);
}

static void one_route_changes_alone(void **state)
{
	struct world w;

	(void)state;
	world_make(&w);
	usual(&w);
	put(&w, GW_HTTP_ROUTE, "default/a", PLAIN);
	put(&w, GW_HTTP_ROUTE, "default/b", PLAIN);
	changes(&w);
	put(&w, GW_HTTP_ROUTE, "default/b",
	    ROUTE("'hostnames':['b.example'],'rules':[{" BACKEND "}]"));
	assert_string_equal(changes(&w), "+routes HTTPRoute/default/b\n");
	drop(&w, GW_HTTP_ROUTE, "default/b");
	assert_string_equal(changes(&w), "-routes HTTPRoute/default/b\n");
	drop(&w, GW_HTTP_ROUTE, "default/a");
	assert_string_equal(changes(&w), "-pools default/web:80\n-routes HTTPRoute/default/a\n");
	world_free(&w);
}

static void a_status_that_was_written_is_not_written_again(void **state)
{
	struct world w;

	(void)state;
	world_make(&w);
	usual(&w);
	put(&w, GW_HTTP_ROUTE, "default/r", PLAIN);
	write_statuses(&w);
	assert_string_equal(status_of(&w, GW_HTTP_ROUTE, "default/r"), "");
	assert_string_equal(status_of(&w, GW_GATEWAY, "default/gw"), "");
	assert_string_equal(status_of(&w, GW_GATEWAY_CLASS, "/maglev"), "");
	changes(&w);
	/* the status came back, and nothing is translated again */
	assert_int_equal(gw_work(w.gw, 0), 0);
	assert_string_equal(changes(&w), "");
	world_free(&w);
}

/* ---- size ---- */

#define ROUTES 10000
#define SERVICES 1000

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void put_many(struct world *w)
{
	char key[64], meta[96], body[160];

	for (int i = 0; i < SERVICES; i++) {
		snprintf(key, sizeof(key), "default/s%d", i);
		put(w, GW_SERVICE, key, "'spec':{'ports':[{'name':'http','port':80}]}");
		snprintf(meta, sizeof(meta), ",'labels':{'kubernetes.io/service-name':'s%d'}", i);
		snprintf(body, sizeof(body),
			 "'ports':[{'name':'http','port':8080}],'endpoints':[{'addresses':["
			 "'10.0.%d.%d']}]",
			 i / 250, i % 250 + 1);
		put_meta(w, GW_ENDPOINT_SLICE, key, meta, body);
	}
	for (int i = 0; i < ROUTES; i++) {
		snprintf(key, sizeof(key), "default/r%d", i);
		put(w, GW_HTTP_ROUTE, key,
		    ROUTE("'hostnames':['h%d.example'],'rules':[{'matches':[{'path':{'type':"
			  "'PathPrefix','value':'/a'}}],'backendRefs':[{'name':'s%d','port':80}]}"
			  "]"),
		    i, i % SERVICES);
	}
}

/* Until everything is translated again, and told. */
static int64_t cost(struct world *w, size_t *ret_results)
{
	int64_t start = now_us();

	for (*ret_results = 0; gw_work(w->gw, 1) || *ret_results == 0; ++*ret_results)
		continue;
	changes(w);
	return now_us() - start;
}

/*
 * The times are shown; what is asserted is the number of results that are made, and a bound that is
 * wide enough for a build with sanitizers on a busy machine.
 */
static void a_change_among_ten_thousand_routes_costs_little(void **state)
{
	int64_t all, route, slice, secret;
	size_t n, n_route, n_slice;
	struct world w;

	(void)state;
	world_make(&w);
	usual(&w);
	put_many(&w);
	all = cost(&w, &n);
	put(&w, GW_HTTP_ROUTE, "default/r77",
	    ROUTE("'hostnames':['other.example'],'rules':[{" BACKEND "}]"));
	route = cost(&w, &n_route);
	put_meta(&w, GW_ENDPOINT_SLICE, "default/s5",
		 ",'labels':{'kubernetes.io/service-name':'s5'}",
		 "'ports':[{'name':'http','port':8080}],'endpoints':[]");
	slice = cost(&w, &n_slice);
	put(&w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'http','port':80,"
	    "'protocol':'HTTP'}],'infrastructure':{'labels':{'a':'b'}}}");
	secret = cost(&w, &n);
	print_message("# all %lld us, a route %lld us, endpoints %lld us, a Gateway %lld us\n",
		      (long long)all, (long long)route, (long long)slice, (long long)secret);
	assert_true(n_route <= 3);
	assert_int_equal(n_slice, 1);
	assert_int_equal(n, 1);
	assert_true(route < 200000 && slice < 200000);
	world_free(&w);
}

#define STREAMS 1000

/* Routes of one listener share its names, but not their work. */
static void a_change_among_a_thousand_streams_costs_little(void **state)
{
	int64_t all, route;
	size_t n;
	char key[64];
	struct world w;

	(void)state;
	world_make(&w);
	usual(&w);
	put(&w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'p','port':443,"
	    "'protocol':'TLS','tls':{'mode':'Passthrough'}}]}");
	for (int i = 0; i < STREAMS; i++) {
		snprintf(key, sizeof(key), "default/t%d", i);
		put(&w, GW_TLS_ROUTE, key,
		    ROUTE("'hostnames':['h%d.example'],'rules':[{" BACKEND "}]"), i);
	}
	all = cost(&w, &n);
	put(&w, GW_TLS_ROUTE, "default/t7",
	    ROUTE("'hostnames':['other.example'],'rules':[{" BACKEND "}]"));
	route = cost(&w, &n);
	print_message("# all %lld us, a route %lld us\n", (long long)all, (long long)route);
	assert_true(n <= 2 && route < 200000);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_route_reaches_the_servers_of_its_service),
		cmocka_unit_test(a_change_of_endpoints_changes_one_pool),
		cmocka_unit_test(one_route_changes_alone),
		cmocka_unit_test(a_status_that_was_written_is_not_written_again),
		cmocka_unit_test(a_change_among_ten_thousand_routes_costs_little),
		cmocka_unit_test(a_change_among_a_thousand_streams_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
