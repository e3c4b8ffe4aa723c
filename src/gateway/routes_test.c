/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: their parents and backends with reasons, and their rules as the router's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/gateway/testing.h"

#define LISTENERS                                                                                  \
	"{'name':'a','port':80,'protocol':'HTTP','hostname':'*.a.example'},"                       \
	"{'name':'b','port':8080,'protocol':'HTTP','allowedRoutes':{'namespaces':{'from':'All'}}}" \
	","                                                                                        \
	"{'name':'t','port':9000,'protocol':'TCP'},"                                               \
	"{'name':'g','port':81,'protocol':'HTTP','allowedRoutes':{'kinds':[{'kind':'GRPCRoute'}]}" \
	"},"                                                                                       \
	"{'name':'l','port':82,'protocol':'HTTP','allowedRoutes':{'namespaces':{'from':'Selector'" \
	","                                                                                        \
	"'selector':{'matchExpressions':[{'key':'team','operator':'In','values':['x','y']}]}}}}"

static void gateway(struct world *w)
{
	usual(w);
	put(w, GW_GATEWAY, "default/gw", "'spec':{'gatewayClassName':'maglev','listeners':[%s]}",
	    LISTENERS);
	put_meta(w, GW_NAMESPACE, "/x", ",'labels':{'team':'x'}", "");
	put_meta(w, GW_NAMESPACE, "/z", ",'labels':{'team':'z'}", "");
}

#define RULES "'rules':[{'backendRefs':[{'name':'web','port':80}]}]"

static const struct {
	enum gw_kind kind;
	const char *key, *ref, *hosts, *condition;
} parents[] = {
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw'", "", "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'", "",
	  "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'none'", "",
	  "Accepted False NoMatchingParent" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','port':8080", "", "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','port':8081", "",
	  "Accepted False NoMatchingParent" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','port':8080,'sectionName':'a'", "",
	  "Accepted False NoMatchingParent" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','port':80,'sectionName':'a'", "",
	  "Accepted True Accepted" },
	/* namespaces */
	{ GW_HTTP_ROUTE, "other/r", "'name':'gw','namespace':'default','sectionName':'a'", "",
	  "Accepted False NotAllowedByListeners" },
	{ GW_HTTP_ROUTE, "other/r", "'name':'gw','namespace':'default','sectionName':'b'", "",
	  "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "x/r", "'name':'gw','namespace':'default','sectionName':'l'", "",
	  "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "z/r", "'name':'gw','namespace':'default','sectionName':'l'", "",
	  "Accepted False NotAllowedByListeners" },
	{ GW_HTTP_ROUTE, "unknown/r", "'name':'gw','namespace':'default','sectionName':'l'", "",
	  "Accepted False NotAllowedByListeners" },
	/* kinds */
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'t'", "",
	  "Accepted False NotAllowedByListeners" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'g'", "",
	  "Accepted False NotAllowedByListeners" },
	{ GW_GRPC_ROUTE, "default/r", "'name':'gw','sectionName':'g'", "",
	  "Accepted True Accepted" },
	{ GW_TCP_ROUTE, "default/r", "'name':'gw','sectionName':'t'", "",
	  "Accepted True Accepted" },
	{ GW_TCP_ROUTE, "default/r", "'name':'gw','sectionName':'a'", "",
	  "Accepted False NotAllowedByListeners" },
	{ GW_UDP_ROUTE, "default/r", "'name':'gw'", "", "Accepted False NotAllowedByListeners" },
	{ GW_TLS_ROUTE, "default/r", "'name':'gw'", ",'hostnames':['x.a.example']",
	  "Accepted False NotAllowedByListeners" },
	/* host names, after all other questions */
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'", ",'hostnames':['a.example']",
	  "Accepted False NoMatchingListenerHostname" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'",
	  ",'hostnames':['x.a.example']", "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'",
	  ",'hostnames':['x.y.A.Example']", "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'", ",'hostnames':['*.example']",
	  "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'",
	  ",'hostnames':['*.x.a.example']", "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'",
	  ",'hostnames':['*.b.example']", "Accepted False NoMatchingListenerHostname" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw','sectionName':'a'",
	  ",'hostnames':['no.example','x.a.example']", "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "default/r", "'name':'gw'", ",'hostnames':['no.example']",
	  "Accepted True Accepted" },
	{ GW_HTTP_ROUTE, "other/r", "'name':'gw','namespace':'default','sectionName':'a'",
	  ",'hostnames':['no.example']", "Accepted False NotAllowedByListeners" },
};

static void parents_have_their_reasons(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		struct world w;

		world_make(&w);
		gateway(&w);
		put(&w, parents[i].kind, parents[i].key, "'spec':{'parentRefs':[{%s}]%s," RULES "}",
		    parents[i].ref, parents[i].hosts);
		assert_condition(&w, parents[i].kind, parents[i].key, parents[i].condition);
		world_free(&w);
	}
}

static void a_parent_that_is_not_ours_is_not_judged(void **state)
{
	static const char *const refs[] = { "'name':'none'",
					    "'name':'gw','kind':'Service','group':''",
					    "'name':'gw','kind':'Other'",
					    "'name':'none','kind':'ListenerSet'" };
	struct world w;

	for (size_t i = 0; i < ARRAY_SIZE(refs); i++) {
		world_make(&w);
		gateway(&w);
		put(&w, GW_HTTP_ROUTE, "default/r", "'spec':{'parentRefs':[{%s}]," RULES "}",
		    refs[i]);
		assert_string_equal(status_of(&w, GW_HTTP_ROUTE, "default/r"), "");
		assert_no_entry(&w, GW_ROUTES, "HTTPRoute/default/r");
		world_free(&w);
	}
}

/* ---- backends ---- */

static const struct {
	enum gw_kind kind;
	const char *backends, *condition;
} backends[] = {
	{ GW_HTTP_ROUTE, "{'name':'web','port':80}", "ResolvedRefs True ResolvedRefs" },
	{ GW_HTTP_ROUTE, "", "ResolvedRefs True ResolvedRefs" },
	{ GW_HTTP_ROUTE, "{'name':'none','port':80}", "ResolvedRefs False BackendNotFound" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':81}", "ResolvedRefs False BackendNotFound" },
	{ GW_HTTP_ROUTE, "{'name':'web'}", "ResolvedRefs False BackendNotFound" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':80,'kind':'Other'}",
	  "ResolvedRefs False InvalidKind" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':80,'group':'other.example','kind':'Service'}",
	  "ResolvedRefs False InvalidKind" },
	/* permission before existence */
	{ GW_HTTP_ROUTE, "{'name':'none','port':80,'namespace':'other'}",
	  "ResolvedRefs False RefNotPermitted" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':80,'namespace':'other'}",
	  "ResolvedRefs False RefNotPermitted" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':80,'namespace':'open'}",
	  "ResolvedRefs True ResolvedRefs" },
	{ GW_GRPC_ROUTE, "{'name':'web','port':80,'namespace':'open'}",
	  "ResolvedRefs False RefNotPermitted" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':80},{'name':'none','port':80}",
	  "ResolvedRefs False BackendNotFound" },
	/* the protocol of a port */
	{ GW_HTTP_ROUTE, "{'name':'web','port':443}", "ResolvedRefs False UnsupportedProtocol" },
	{ GW_HTTP_ROUTE, "{'name':'web','port':53}", "ResolvedRefs False BackendNotFound" },
	{ GW_HTTP_ROUTE, "{'name':'far','port':80}", "ResolvedRefs False UnsupportedProtocol" },
	{ GW_TCP_ROUTE, "{'name':'none','port':80}", "ResolvedRefs False BackendNotFound" },
	{ GW_TCP_ROUTE, "{'name':'web','port':443}", "ResolvedRefs True ResolvedRefs" },
	{ GW_TCP_ROUTE, "{'name':'web','port':80,'namespace':'other'}",
	  "ResolvedRefs False RefNotPermitted" },
};

static void services(struct world *w)
{
	put(w, GW_SERVICE, "default/web",
	    "'spec':{'ports':[{'name':'http','port':80},{'name':'h2','port':81,"
	    "'appProtocol':'kubernetes.io/h2c','protocol':'UDP'},{'name':'tls','port':443,"
	    "'appProtocol':'https'},{'name':'dns','port':53,'protocol':'UDP'},{'name':'h2c',"
	    "'port':82,'appProtocol':'kubernetes.io/h2c'},{'name':'ws','port':83,"
	    "'appProtocol':'kubernetes.io/ws'}]}");
	put(w, GW_SERVICE, "default/far", "'spec':{'type':'ExternalName','ports':[{'port':80}]}");
	put(w, GW_SERVICE, "other/web", "'spec':{'ports':[{'port':80}]}");
	put(w, GW_SERVICE, "open/web", "'spec':{'ports':[{'port':80}]}");
	put(w, GW_REFERENCE_GRANT, "open/grant",
	    "'spec':{'from':[{'group':'" GW_GROUP "','kind':'HTTPRoute','namespace':'default'}],"
	    "'to':[{'group':'','kind':'Service'}]}");
}

static void backends_have_their_reasons(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		struct world w;

		world_make(&w);
		gateway(&w);
		services(&w);
		put(&w, backends[i].kind, "default/r",
		    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'backendRefs':[%s]}]}",
		    backends[i].backends);
		assert_condition(&w, backends[i].kind, "default/r", backends[i].condition);
		assert_condition(&w, backends[i].kind, "default/r", "Accepted True Accepted");
		world_free(&w);
	}
}

/* Near misses: each differs from the grant that would do in one word. */
static void a_grant_must_fit_in_every_word(void **state)
{
	static const struct {
		const char *grant;
		bool fits;
	} grants[] = {
		{ "other/g|" GW_GROUP "|HTTPRoute|default||Service|web", true },
		{ "other/g|" GW_GROUP "|HTTPRoute|default||Service|", true },
		{ "default/g|" GW_GROUP "|HTTPRoute|default||Service|web", false },
		{ "other/g|other.example|HTTPRoute|default||Service|web", false },
		{ "other/g|" GW_GROUP "|TCPRoute|default||Service|web", false },
		{ "other/g|" GW_GROUP "|HTTPRoute|else||Service|web", false },
		{ "other/g|" GW_GROUP "|HTTPRoute|default|x|Service|web", false },
		{ "other/g|" GW_GROUP "|HTTPRoute|default||Secret|web", false },
		{ "other/g|" GW_GROUP "|HTTPRoute|default||Service|we", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
		struct str rest = str_of(grants[i].grant), p[7];
		char key[32];
		struct world w;

		world_make(&w);
		gateway(&w);
		services(&w);
		for (size_t k = 0; k < 7; k++)
			assert_true(str_cut(&rest, '|', &p[k]) || k == 6);
		if (!p[6].p || rest.p == p[6].p)
			p[6] = STR("");
		snprintf(key, sizeof(key), "%.*s", (int)p[0].n, p[0].p);
		put(&w, GW_REFERENCE_GRANT, key,
		    "'spec':{'from':[{'group':'%.*s','kind':'%.*s','namespace':'%.*s'}],"
		    "'to':[{'group':'%.*s','kind':'%.*s'%s%.*s%s}]}",
		    (int)p[1].n, p[1].p, (int)p[2].n, p[2].p, (int)p[3].n, p[3].p, (int)p[4].n,
		    p[4].p, (int)p[5].n, p[5].p, p[6].n ? ",'name':'" : "", (int)p[6].n, p[6].p,
		    p[6].n ? "'" : "");
		put(&w, GW_HTTP_ROUTE, "default/r",
		    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'backendRefs':[{'name':'web',"
		    "'port':80,'namespace':'other'}]}]}");
		assert_condition(&w, GW_HTTP_ROUTE, "default/r",
				 grants[i].fits ? "ResolvedRefs True ResolvedRefs"
						: "ResolvedRefs False RefNotPermitted");
		world_free(&w);
	}
}

static void a_grant_that_goes_takes_its_permission_along(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	services(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'backendRefs':[{'name':'web',"
	    "'port':80,'namespace':'open'}]}]}");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'pool':'open/web:80'");
	drop(&w, GW_REFERENCE_GRANT, "open/grant");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r",
		     "'backends':[{'invalid':true,'weight':1}]");
	assert_no_entry(&w, GW_POOLS, "open/web:80");
	world_free(&w);
}

/* ---- rules ---- */

#define B "'backendRefs':[{'name':'web','port':80}]"
#define HTTP_FILTER(text) "'filters':[{" text "}]," B

static const struct {
	const char *rule, *part;
} rules[] = {
	{ B, "'path_prefix':'/','pool':'default/web:80'" },
	{ "'matches':[{'path':{'type':'Exact','value':'/x'}}]," B, "'path_exact':'/x'" },
	{ "'matches':[{'path':{'type':'RegularExpression','value':'/a.*'}}]," B,
	  "'path':{'type':'regex','value':'/a.*'}" },
	{ "'matches':[{'method':'GET','headers':[{'name':'a','value':'b'},{'name':'c',"
	  "'type':'RegularExpression','value':'d.*'}],'queryParams':[{'name':'q','value':'1'}]}]"
	  "," B,
	  "'method':'GET','headers':[{'name':'a','type':'exact','value':'b'},{'name':'c',"
	  "'type':'regex','value':'d.*'}],'queries':[{'name':'q','type':'exact','value':'1'}]" },
	{ "'name':'named'," B, "'name':'HTTPRoute/default/r/named'" },
	/* weights: an invalid backend keeps its share */
	{ "'backendRefs':[{'name':'web','port':80,'weight':3},{'name':'none','port':80,"
	  "'weight':7},{'name':'web','port':83,'weight':0}]",
	  "'backends':[{'pool':'default/web:80','weight':3},{'invalid':true,'weight':7},"
	  "{'pool':'default/web:83','weight':0}]" },
	{ "'matches':[]", "'backends':[]" },
	/* protocols of servers */
	{ "'backendRefs':[{'name':'web','port':82}]", "'pool':'default/web:82+h2'" },
	{ "'backendRefs':[{'name':'web','port':83}]", "'pool':'default/web:83'" },
	/* filters */
	{ HTTP_FILTER("'type':'RequestHeaderModifier','requestHeaderModifier':{'set':[{'name':'a',"
		      "'value':'1'}],'add':[{'name':'b','value':'2'}],'remove':['c']}"),
	  "'filters':{'request_headers':{'set':{'a':'1'},'add':{'b':'2'},'remove':['c']}}" },
	{ HTTP_FILTER("'type':'ResponseHeaderModifier','responseHeaderModifier':{'remove':['c']}"),
	  "'filters':{'response_headers':{'remove':['c']}}" },
	{ "'filters':[{'type':'RequestRedirect','requestRedirect':{'scheme':'https',"
	  "'hostname':'b.example','port':8443,'statusCode':301,'path':{'type':'ReplaceFullPath',"
	  "'replaceFullPath':'/y'}}}]",
	  "'redirect':{'scheme':'https','hostname':'b.example','path':{'type':'full',"
	  "'value':'/y'},'port':8443,'status':301}" },
	{ "'filters':[{'type':'RequestRedirect','requestRedirect':{'hostname':'b.example'}}]",
	  "'redirect':{'hostname':'b.example','status':302}" },
	{ HTTP_FILTER("'type':'URLRewrite','urlRewrite':{'hostname':'b.example','path':{"
		      "'type':'ReplacePrefixMatch','replacePrefixMatch':'/z'}}"),
	  "'rewrite':{'hostname':'b.example','path':{'type':'prefix','value':'/z'}}" },
	{ HTTP_FILTER("'type':'URLRewrite','urlRewrite':{'path':{'type':'ReplacePrefixMatch',"
		      "'replacePrefixMatch':''}}"),
	  "'strip_prefix':true" },
	{ HTTP_FILTER("'type':'RequestMirror','requestMirror':{'backendRef':{'name':'web',"
		      "'port':83},'percent':20}},{'type':'RequestMirror','requestMirror':{"
		      "'backendRef':{'name':'web','port':80},'fraction':{'numerator':1,"
		      "'denominator':3}}"),
	  "'mirrors':[{'pool':'default/web:83','percent':20},{'pool':'default/web:80',"
	  "'fraction':{'numerator':1,'denominator':3}}]" },
	{ HTTP_FILTER("'type':'CORS','cors':{'allowOrigins':['https://a.example'],"
		      "'allowMethods':['GET'],'allowHeaders':['x'],'exposeHeaders':['y'],"
		      "'allowCredentials':true,'maxAge':60}"),
	  "'cors':{'allow_origins':['https://a.example'],'allow_methods':['GET'],"
	  "'allow_headers':['x'],'expose_headers':['y'],'allow_credentials':true,"
	  "'max_age':'1m0s'}" },
	{ "'backendRefs':[{'name':'web','port':80,'filters':[{'type':'RequestHeaderModifier',"
	  "'requestHeaderModifier':{'set':[{'name':'a','value':'1'}]}}]}]",
	  "'backends':[{'pool':'default/web:80','weight':1,'filters':{'request_headers':"
	  "{'set':{'a':'1'}}}}]" },
	{ "'backendRefs':[{'name':'web','port':80,'filters':[{'type':'URLRewrite','urlRewrite':{"
	  "'path':{'type':'ReplaceFullPath','replaceFullPath':'/q'}}}]}]",
	  "'filters':{'rewrite':{'path':{'type':'full','value':'/q'}}}" },
	/* a filter that nobody knows must not be skipped */
	{ HTTP_FILTER("'type':'ExtensionRef','extensionRef':{'group':'a','kind':'b','name':'c'}"),
	  "'backends':[]" },
	/* tries */
	{ "'timeouts':{'request':'10s','backendRequest':'500ms'}," B,
	  "'timeouts':{'request':'10s','backend':'500ms'}" },
	{ "'timeouts':{'request':'0s'}," B, "'pool':'default/web:80'" },
	{ "'retry':{'attempts':3,'codes':[500,503],'backoff':'100ms'}," B,
	  "'retry':{'attempts':3,'backoff':'100ms','codes':[500,503]}" },
	{ "'retry':{'attempts':0}," B, "'retry':{'attempts':0,'backoff':'25ms','codes':[]}" },
	{ "'retry':{'codes':[500]}," B, "'retry':{'attempts':1,'backoff':'25ms','codes':[500]}" },
	/* persistence, in the words of both versions */
	{ "'sessionPersistence':{'sessionName':'s','type':'Cookie','absoluteTimeout':'1h',"
	  "'cookieConfig':{'lifetimeType':'Permanent'}}," B,
	  "'persistence':{'type':'cookie','name':'s','path':'/','lifetime':'1h0m0s'}" },
	{ "'sessionPersistence':{'header':{'name':'x-s'}}," B,
	  "'persistence':{'type':'header','name':'x-s'}" },
};

static void rules_are_those_of_the_router(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct world w;

		world_make(&w);
		gateway(&w);
		services(&w);
		put(&w, GW_HTTP_ROUTE, "default/r",
		    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{%s}]}", rules[i].rule);
		assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", rules[i].part);
		assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted True Accepted");
		world_free(&w);
	}
}

static void calls_of_grpc_are_matched_by_service_and_method(void **state)
{
	static const struct {
		const char *match, *part;
	} cases[] = {
		{ "'method':{'service':'a.B','method':'C'}",
		  "'grpc':{'type':'exact','service':'a.B','method':'C'}" },
		{ "'method':{'service':'a.B'}", "'grpc':{'type':'exact','service':'a.B'}" },
		{ "'method':{'method':'C'}", "'grpc':{'type':'exact','method':'C'}" },
		{ "'method':{'type':'RegularExpression','service':'a.*'}",
		  "'grpc':{'type':'regex','service':'a.*'}" },
		{ "'headers':[{'name':'a','value':'b'}]",
		  "'headers':[{'name':'a','type':'exact','value':'b'}]" },
	};
	struct world w;

	world_make(&w);
	gateway(&w);
	services(&w);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put(&w, GW_GRPC_ROUTE, "default/r",
		    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'matches':[{%s}]," B "}]}",
		    cases[i].match);
		assert_entry(&w, GW_ROUTES, "GRPCRoute/default/r", cases[i].part);
		assert_entry(&w, GW_ROUTES, "GRPCRoute/default/r", "'pool':'default/web:80+h2'");
	}
	assert_entry(&w, GW_POOLS, "default/web:80+h2", "'protocol':'h2'");
	world_free(&w);
}

/* One bad rule does not stop the others, and one bad route no other route. */
static void a_rule_that_the_router_refuses_is_dropped(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'matches':[{'path':{'type':"
	    "'RegularExpression','value':'(bad'}}]," B
	    "},{'matches':[{'path':{'value':'/good'}}]," B "}]}");
	put(&w, GW_HTTP_ROUTE, "default/s",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'matches':[{'path':{'type':"
	    "'RegularExpression','value':'(bad'}}]," B "}]}");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'path_prefix':'/good'");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted True Accepted");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "PartiallyInvalid True UnsupportedValue");
	assert_no_entry(&w, GW_ROUTES, "HTTPRoute/default/s");
	assert_condition(&w, GW_HTTP_ROUTE, "default/s", "Accepted False UnsupportedValue");
	world_free(&w);
}

/* Of equal rules the first counts, also if it has no valid backend; names need not differ. */
static void equal_rules_stay_apart(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'name':'x','backendRefs':[{'name':"
	    "'none','port':80}]},{'name':'x'," B "},{'name':'3'," B "},{" B "}]}");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r",
		     "'rules':[{'name':'HTTPRoute/default/r/x','path_prefix':'/','backends':["
		     "{'invalid':true,'weight':1}]");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "{'name':'HTTPRoute/default/r/1~'");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "{'name':'HTTPRoute/default/r/3~'");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted True Accepted");
	world_free(&w);
}

static void filters_that_exclude_each_other_are_refused(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'filters':[{'type':'URLRewrite',"
	    "'urlRewrite':{'hostname':'a.example'}},{'type':'RequestRedirect','requestRedirect':{"
	    "'hostname':'b.example'}}]}]}");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted False IncompatibleFilters");
	assert_no_entry(&w, GW_ROUTES, "HTTPRoute/default/r");
	world_free(&w);
}

static void an_unknown_filter_is_said_to_be_unsupported(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{" HTTP_FILTER("'type':'New'") "}]}");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "PartiallyInvalid True UnsupportedValue");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'backends':[]");
	world_free(&w);
}

/* ---- order, and several Gateways ---- */

static void older_routes_go_first(void **state)
{
	static const char *const names[] = { "HTTPRoute/default/z", "HTTPRoute/default/a",
					     "GRPCRoute/default/m" };
	struct world w;

	world_make(&w);
	gateway(&w);
	put(&w, GW_HTTP_ROUTE, "default/z", "'spec':{'parentRefs':[{'name':'gw'}]," RULES "}");
	put(&w, GW_HTTP_ROUTE, "default/a", "'spec':{'parentRefs':[{'name':'gw'}]," RULES "}");
	put(&w, GW_GRPC_ROUTE, "default/m", "'spec':{'parentRefs':[{'name':'gw'}]," RULES "}");
	settle(&w);
	assert_int_equal(gw_entries(w.gw, GW_ROUTES), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(gw_entry_at(w.gw, GW_ROUTES, i)->name, names[i]);
	world_free(&w);
}

static void second(struct world *w, const char *rest)
{
	struct addr address;

	assert_int_equal(addr_parse("192.0.2.2", &address), 0);
	put(w, GW_GATEWAY, "default/two",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'http','port':80,"
	    "'protocol':'HTTP'}]%s}",
	    rest);
	gw_set_addresses(w->gw, "default", "two",
			 &(struct gw_addresses){ &address, 1, GW_ADDRESS_OK, NULL });
	put(w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw','sectionName':'b'},{'name':'two'}]," RULES "}");
}

static void a_route_of_two_gateways_is_one_entry(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	second(&w, "");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r",
		     "'listeners':['default/gw/b','default/two/http']");
	world_free(&w);
}

/* Servers see a certificate of the Gateway, so its pools are its own. */
static void a_gateway_with_a_certificate_has_pools_of_its_own(void **state)
{
	struct world w;

	world_make(&w);
	gateway(&w);
	put(&w, GW_SECRET, "default/client",
	    "'data':{'tls.crt':'LS0tLS1CRUdJTiBD','tls.key':'LS0tLS1CRUdJTiBL'}");
	put(&w, GW_CONFIG_MAP, "default/ca", "'data':{'ca.crt':'-----BEGIN CA'}");
	put(&w, GW_BACKEND_TLS_POLICY, "default/p",
	    "'spec':{'targetRefs':[{'group':'','kind':'Service','name':'web'}],'validation':{"
	    "'caCertificateRefs':[{'group':'','kind':'ConfigMap','name':'ca'}],"
	    "'hostname':'web.example'}}");
	second(&w, ",'tls':{'backend':{'clientCertificateRef':{'name':'client'}}}");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'listeners':['default/gw/b']");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r@default/two",
		     "'listeners':['default/two/http']");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r@default/two",
		     "'pool':'default/web:80@default/two'");
	assert_entry(&w, GW_POOLS, "default/web:80@default/two",
		     "'certificate':'-----BEGIN C','key':'-----BEGIN K'");
	assert_entry(&w, GW_POOLS, "default/web:80",
		     "'tls':{'ca':'-----BEGIN CA\\n',"
		     "'name':'web.example'}");
	world_free(&w);
}

static void a_route_of_a_set_reaches_only_its_listeners(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	put(&w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','allowedListeners':{'namespaces':{'from':'All'}},"
	    "'listeners':[{'name':'http','port':80,'protocol':'HTTP'}]}");
	put(&w, GW_LISTENER_SET, "default/set",
	    "'spec':{'parentRef':{'name':'gw'},'listeners':[{'name':'s','port':81,"
	    "'protocol':'HTTP'}]}");
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'set','kind':'ListenerSet'}]," RULES "}");
	put(&w, GW_HTTP_ROUTE, "default/g", "'spec':{'parentRefs':[{'name':'gw'}]," RULES "}");
	put(&w, GW_HTTP_ROUTE, "default/x",
	    "'spec':{'parentRefs':[{'name':'gw','sectionName':'s'}]," RULES "}");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r",
		     "'listeners':['default/gw/default/set/s']");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/g", "'listeners':['default/gw/http']");
	assert_condition(&w, GW_HTTP_ROUTE, "default/x", "Accepted False NoMatchingParent");
	assert_status(&w, GW_LISTENER_SET, "default/set", "{'name':'s','attachedRoutes':1");
	assert_status(&w, GW_GATEWAY, "default/gw", "{'name':'http','attachedRoutes':1");
	world_free(&w);
}

/* A route is counted also where it cannot be served. */
static void routes_are_counted_on_listeners_that_fail(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	put(&w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'s','port':443,"
	    "'protocol':'HTTPS','tls':{'certificateRefs':[{'name':'none'}]}}]}");
	put(&w, GW_HTTP_ROUTE, "default/r", "'spec':{'parentRefs':[{'name':'gw'}]," RULES "}");
	assert_condition(&w, GW_HTTP_ROUTE, "default/r", "Accepted True Accepted");
	assert_status(&w, GW_GATEWAY, "default/gw", "'attachedRoutes':1");
	assert_no_entry(&w, GW_ROUTES, "HTTPRoute/default/r");
	drop(&w, GW_HTTP_ROUTE, "default/r");
	assert_status(&w, GW_GATEWAY, "default/gw", "'attachedRoutes':0");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parents_have_their_reasons),
		cmocka_unit_test(a_parent_that_is_not_ours_is_not_judged),
		cmocka_unit_test(backends_have_their_reasons),
		cmocka_unit_test(a_grant_must_fit_in_every_word),
		cmocka_unit_test(a_grant_that_goes_takes_its_permission_along),
		cmocka_unit_test(rules_are_those_of_the_router),
		cmocka_unit_test(calls_of_grpc_are_matched_by_service_and_method),
		cmocka_unit_test(a_rule_that_the_router_refuses_is_dropped),
		cmocka_unit_test(equal_rules_stay_apart),
		cmocka_unit_test(filters_that_exclude_each_other_are_refused),
		cmocka_unit_test(an_unknown_filter_is_said_to_be_unsupported),
		cmocka_unit_test(older_routes_go_first),
		cmocka_unit_test(a_route_of_two_gateways_is_one_entry),
		cmocka_unit_test(a_gateway_with_a_certificate_has_pools_of_its_own),
		cmocka_unit_test(a_route_of_a_set_reaches_only_its_listeners),
		cmocka_unit_test(routes_are_counted_on_listeners_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
