/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a route and a request. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/gateway/testing.h"

static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	(void)reason;
	(void)size;
	(void)user;
	return (const void *)pattern;
}

static bool matches(const struct l7_regex *regex, struct str text)
{
	return str_eq(str_of((const char *)regex), text);
}

static void make(struct world *w)
{
	world_make(w);
	usual(w);
	put(w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'},{'name':'gw','sectionName':'none'},"
	    "{'name':'else'}],'hostnames':['a.example'],'rules':[{'matches':[{'path':{'type':"
	    "'PathPrefix','value':'/x'},'headers':[{'name':'v','value':'2'}]}],'backendRefs':[{"
	    "'name':'web','port':80}]},{'matches':[{'path':{'type':'PathPrefix','value':'/x'}}],"
	    "'backendRefs':[{'name':'web','port':80,'weight':3},{'name':'none','port':80}]}]}");
	put(w, GW_HTTP_ROUTE, "default/s",
	    "'spec':{'parentRefs':[{'name':'gw'}],'hostnames':['b.example'],'rules':[{"
	    "'matches':[{'path':{'type':'Exact','value':'/x/y'}}],'backendRefs':[]}]}");
	settle(w);
}

static void explain(struct world *w, const char *name, const char *host, const char *path,
		    struct buf *out)
{
	const struct gw_question q = {
		.request = { .host = str_of(host), .path = str_of(path), .method = STR("GET") },
		.regex = { compile, NULL },
		.matches = matches
	};

	out->n = 0;
	assert_int_equal(gw_explain(w->gw, GW_HTTP_ROUTE, "default", name, &q, out), 0);
}

static void assert_said(struct buf *out, const char *part)
{
	if (!strstr(buf_cstr(out), part))
		fail_msg("%s\nis not in\n%s", part, buf_cstr(out));
}

static void parents_and_references_are_told(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct world w;

	make(&w);
	assert_int_equal(gw_explain(w.gw, GW_HTTP_ROUTE, "default", "r", NULL, &out), 0);
	assert_said(&out, "HTTPRoute default/r\nparent Gateway default/gw: accepted\n"
			  "parent Gateway default/gw, listener none: NoMatchingParent: no listener "
			  "has this name and port\n"
			  "parent Gateway default/else: does not exist, or belongs to another "
			  "controller\n"
			  "references: BackendNotFound: Service default/none does not exist\n"
			  "listener default/gw/http 192.0.2.1:80: served\n");
	assert_int_equal(gw_explain(w.gw, GW_HTTP_ROUTE, "default", "none", NULL, &out), -ENOENT);
	world_free(&w);
}

static void a_request_is_followed_to_its_servers(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct world w;

	make(&w);
	explain(&w, "r", "a.example", "/x/y", &out);
	assert_said(&out, "GET a.example/x/y at 192.0.2.1:80:\n  listener default/gw/http\n"
			  "  rule HTTPRoute/default/r/0 for a.example/x: wants the header v\n"
			  "  rule HTTPRoute/default/r/1 for a.example/x: gets the request\n"
			  "  75 % to pool default/web:80 (servers: 1)\n"
			  "  25 % answered with 500: the reference is not valid\n");
	explain(&w, "r", "a.example", "/", &out);
	assert_said(&out, "  rule HTTPRoute/default/r/1 for a.example/x: has another path\n");
	assert_said(&out, "  answered with 404: no rule applies\n");
	/* the rule of another route gets it, and this one has not the host */
	explain(&w, "r", "b.example", "/x/y", &out);
	assert_said(&out, "  rule HTTPRoute/default/s/0 for b.example/x/y: gets the request\n"
			  "  answered with 500: there is no backend with a weight\n"
			  "  the route has no host name of this request\n");
	world_free(&w);
}

static void a_stream_that_has_no_place_says_so(void **state)
{
	static const char body[] =
		"'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'backendRefs':[{'name':'web',"
		"'port':80}]}]}";
	_cleanup_(buf_free) struct buf out = { 0 };
	struct world w;

	world_make(&w);
	usual(&w);
	put(&w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'t','port':9000,"
	    "'protocol':'TCP'}]}");
	put(&w, GW_TCP_ROUTE, "default/old", "%s", body);
	put(&w, GW_TCP_ROUTE, "default/new", "%s", body);
	settle(&w);
	assert_int_equal(gw_explain(w.gw, GW_TCP_ROUTE, "default", "new", NULL, &out), 0);
	assert_said(&out, "an older route has it");
	out.n = 0;
	assert_int_equal(gw_explain(w.gw, GW_TCP_ROUTE, "default", "old", NULL, &out), 0);
	assert_said(&out, "\"pool\":\"default/web:80\"");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parents_and_references_are_told),
		cmocka_unit_test(a_request_is_followed_to_its_servers),
		cmocka_unit_test(a_stream_that_has_no_place_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
