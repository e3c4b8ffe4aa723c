/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners of Gateways and ListenerSets: reasons, conflicts, certificates, kinds of routes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/gateway/testing.h"

/* base64 of "-----BEGIN C", "-----BEGIN K", "-----BEGIN BAD", and of a path. */
#define GOOD "'data':{'tls.crt':'LS0tLS1CRUdJTiBD','tls.key':'LS0tLS1CRUdJTiBL'}"
#define BAD "'data':{'tls.crt':'LS0tLS1CRUdJTiBCQUQ=','tls.key':'LS0tLS1CRUdJTiBL'}"
#define PATH "'data':{'tls.crt':'L2V0Yy9wYXNzd2Q=','tls.key':'LS0tLS1CRUdJTiBL'}"

static void gateway(struct world *w, const char *listeners, const char *rest)
{
	put(w, GW_GATEWAY, "default/gw", "'spec':{'gatewayClassName':'maglev','listeners':[%s]%s}",
	    listeners, rest);
}

/* The conditions of one listener, from its name to the next one. */
static void assert_listener(struct world *w, enum gw_kind kind, const char *key, const char *name,
			    const char *condition)
{
	char type[64], status[16], reason[64], part[256], start[128];
	const char *text = status_of(w, kind, key), *from, *to, *found;

	assert_int_equal(sscanf(condition, "%63s %15s %63s", type, status, reason), 3);
	snprintf(start, sizeof(start), "{\"name\":\"%s\",\"attached", name);
	snprintf(part, sizeof(part), "\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"%s\"", type,
		 status, reason);
	from = strstr(text, start);
	if (!from) {
		fail_msg("listener %s is not in %s", name, text);
		return;
	}
	to = strstr(from + 1, "\"attachedRoutes\"");
	to = to ? strstr(to, "{\"name\":") : NULL;
	found = strstr(from, part);
	if (!found || (to && found > to))
		fail_msg("%s of %s is not in %s", part, name, from);
}

#define HTTP(name, port, host)                                                                     \
	"{'name':'" name "','port':" port ",'protocol':'HTTP','hostname':'" host "'}"
#define HTTPS(name, port, host)                                                                    \
	"{'name':'" name "','port':" port ",'protocol':'HTTPS','hostname':'" host                  \
	"','tls':{'certificateRefs':[{'name':'good'}]}}"
#define TLS(name, port, host, mode)                                                                \
	"{'name':'" name "','port':" port ",'protocol':'TLS','hostname':'" host                    \
	"','tls':{'mode':'" mode "','certificateRefs':[{'name':'good'}]}}"
#define RAW(name, port, protocol) "{'name':'" name "','port':" port ",'protocol':'" protocol "'}"
#define CERTIFICATE(ref)                                                                           \
	"{'name':'a','port':443,'protocol':'HTTPS','tls':{'certificateRefs':[" ref "]}}"
#define KINDS(protocol, kinds)                                                                     \
	"{'name':'a','port':80,'protocol':'" protocol "','allowedRoutes':{'kinds':[" kinds "]}}"

static const struct {
	const char *listeners, *of, *condition;
} rules[] = {
	{ HTTP("a", "80", ""), "a", "Accepted True Accepted" },
	{ HTTP("a", "80", ""), "a", "ResolvedRefs True ResolvedRefs" },
	{ HTTP("a", "80", ""), "a", "Programmed True Programmed" },
	{ HTTP("a", "80", ""), "a", "Conflicted False NoConflicts" },
	{ RAW("a", "80", "INVALID"), "a", "Accepted False UnsupportedProtocol" },
	{ RAW("a", "80", "INVALID"), "a", "Programmed False Invalid" },
	/* the same port: told apart by the host */
	{ HTTP("a", "80", "x.example") "," HTTP("b", "80", ""), "b", "Accepted True Accepted" },
	{ HTTP("a", "80", "x.example") "," HTTP("b", "80", "X.Example"), "a",
	  "Conflicted True HostnameConflict" },
	{ HTTP("a", "80", "x.example") "," HTTP("b", "80", "x.example"), "b",
	  "Accepted False HostnameConflict" },
	{ HTTP("a", "80", "x.example") "," HTTP("b", "80", "x.example"), "b",
	  "Programmed False HostnameConflict" },
	{ HTTP("a", "80", "x.example") "," HTTP("b", "81", "x.example"), "b",
	  "Accepted True Accepted" },
	/* or not at all */
	{ HTTP("a", "80", "x.example") "," HTTPS("b", "80", "y.example"), "a",
	  "Conflicted True ProtocolConflict" },
	{ HTTP("a", "80", "") "," RAW("b", "80", "TCP"), "a", "Accepted False ProtocolConflict" },
	{ RAW("a", "80", "TCP") "," RAW("b", "80", "TCP"), "b", "Accepted False ProtocolConflict" },
	{ RAW("a", "80", "TCP") "," RAW("b", "80", "UDP"), "b", "Accepted True Accepted" },
	{ RAW("a", "80", "UDP") "," RAW("b", "80", "UDP"), "a",
	  "Conflicted True ProtocolConflict" },
	{ HTTP("a", "80", "") "," RAW("b", "80", "UDP"), "a", "Accepted True Accepted" },
	/* TLS of all kinds by the name that clients ask for */
	{ HTTPS("a", "443", "x.example") "," TLS("b", "443", "y.example", "Passthrough"), "b",
	  "Programmed True Programmed" },
	{ TLS("a", "443", "x.example", "Terminate") "," TLS("b", "443", "y.example", "Passthrough"),
	  "a", "Programmed True Programmed" },
	{ TLS("a", "443", "x.example", "Terminate") "," TLS("b", "443", "x.example", "Passthrough"),
	  "a", "Conflicted True HostnameConflict" },
	{ HTTPS("a", "443", "x.example") "," TLS("b", "443", "x.example", "Passthrough"), "b",
	  "Accepted False HostnameConflict" },
	/* a listener that nobody knows excludes no other */
	{ RAW("a", "80", "INVALID") "," HTTP("b", "80", ""), "b", "Programmed True Programmed" },
	/* certificates */
	{ CERTIFICATE("{'name':'good'}"), "a", "ResolvedRefs True ResolvedRefs" },
	{ CERTIFICATE("{'name':'none'}"), "a", "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE("{'name':'none'}"), "a", "Accepted True Accepted" },
	{ CERTIFICATE("{'name':'none'}"), "a", "Programmed False Invalid" },
	{ CERTIFICATE("{'name':'bad'}"), "a", "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE("{'name':'path'}"), "a", "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE("{'name':'empty'}"), "a", "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE("{'name':'good','kind':'Other'}"), "a",
	  "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE("{'name':'good','group':'other.example','kind':'Secret'}"), "a",
	  "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE(""), "a", "ResolvedRefs False InvalidCertificateRef" },
	/* one good certificate is enough to serve */
	{ CERTIFICATE("{'name':'none'},{'name':'good'}"), "a",
	  "ResolvedRefs False InvalidCertificateRef" },
	{ CERTIFICATE("{'name':'none'},{'name':'good'}"), "a", "Programmed True Programmed" },
	/* permission is asked for before existence */
	{ CERTIFICATE("{'name':'none','namespace':'other'}"), "a",
	  "ResolvedRefs False RefNotPermitted" },
	{ CERTIFICATE("{'name':'good','namespace':'other'}"), "a",
	  "ResolvedRefs False RefNotPermitted" },
	{ CERTIFICATE("{'name':'granted','namespace':'other'}"), "a",
	  "ResolvedRefs True ResolvedRefs" },
	/* kinds of routes */
	{ KINDS("HTTP", "{'kind':'HTTPRoute'}"), "a", "ResolvedRefs True ResolvedRefs" },
	{ KINDS("HTTP", "{'kind':'TCPRoute'}"), "a", "ResolvedRefs False InvalidRouteKinds" },
	{ KINDS("HTTP", "{'kind':'Other'},{'kind':'HTTPRoute'}"), "a",
	  "ResolvedRefs False InvalidRouteKinds" },
	{ KINDS("HTTP", "{'kind':'Other'},{'kind':'HTTPRoute'}"), "a",
	  "Programmed True Programmed" },
	{ KINDS("HTTP", "{'kind':'HTTPRoute','group':'other.example'}"), "a",
	  "ResolvedRefs False InvalidRouteKinds" },
};

static void secrets(struct world *w)
{
	put(w, GW_SECRET, "default/good", GOOD);
	put(w, GW_SECRET, "default/bad", BAD);
	put(w, GW_SECRET, "default/path", PATH);
	put(w, GW_SECRET, "default/empty", "'data':{}");
	put(w, GW_SECRET, "other/good", GOOD);
	put(w, GW_SECRET, "other/granted", GOOD);
	put(w, GW_REFERENCE_GRANT, "other/grant",
	    "'spec':{'from':[{'group':'" GW_GROUP "','kind':'Gateway','namespace':'default'}],"
	    "'to':[{'group':'','kind':'Secret','name':'granted'}]}");
}

static void every_rule_has_its_reason(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct world w;

		world_make(&w);
		usual(&w);
		secrets(&w);
		gateway(&w, rules[i].listeners, "");
		assert_listener(&w, GW_GATEWAY, "default/gw", rules[i].of, rules[i].condition);
		world_free(&w);
	}
}

static const struct {
	const char *listener, *kinds;
} kinds[] = {
	{ HTTP("a", "80", ""), "HTTPRoute,GRPCRoute" },
	{ HTTPS("a", "80", ""), "HTTPRoute,GRPCRoute" },
	{ TLS("a", "80", "", "Passthrough"), "TLSRoute" },
	{ TLS("a", "80", "", "Terminate"), "TLSRoute" },
	{ RAW("a", "80", "TCP"), "TCPRoute" },
	{ RAW("a", "80", "UDP"), "UDPRoute" },
	{ RAW("a", "80", "INVALID"), "" },
	{ KINDS("HTTP", "{'kind':'GRPCRoute'}"), "GRPCRoute" },
	{ KINDS("HTTP", "{'kind':'Other'}"), "" },
	{ KINDS("HTTP", "{'kind':'Other'},{'kind':'HTTPRoute'}"), "HTTPRoute" },
};

static void kinds_of_routes_follow_the_protocol(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_(buf_free) struct buf wanted = { 0 };
		struct str rest = str_of(kinds[i].kinds), kind;
		struct world w;

		world_make(&w);
		usual(&w);
		secrets(&w);
		gateway(&w, kinds[i].listener, "");
		buf_adds(&wanted, "'supportedKinds':[");
		while (rest.n && str_cut(&rest, ',', &kind))
			buf_printf(&wanted, "%s{'group':'" GW_GROUP "','kind':'%.*s'}",
				   wanted.p[wanted.n - 1] == '[' ? "" : ",", (int)kind.n, kind.p);
		buf_addc(&wanted, ']');
		assert_status(&w, GW_GATEWAY, "default/gw", buf_cstr(&wanted));
		world_free(&w);
	}
}

/* ---- the Gateway as a whole ---- */

static const struct {
	const char *listeners, *rest, *condition;
} gateways[] = {
	{ HTTP("a", "80", ""), "", "Accepted True Accepted" },
	{ HTTP("a", "80", ""), "", "Programmed True Programmed" },
	{ RAW("a", "80", "INVALID"), "", "Accepted False ListenersNotValid" },
	{ RAW("a", "80", "INVALID"), "", "Programmed False Invalid" },
	{ RAW("a", "80", "INVALID") "," HTTP("b", "80", ""), "",
	  "Accepted True ListenersNotValid" },
	{ RAW("a", "80", "INVALID") "," HTTP("b", "80", ""), "", "Programmed True Programmed" },
	{ HTTP("a", "80", ""), ",'addresses':[{'type':'test/Other','value':'x'}]",
	  "Accepted False UnsupportedAddress" },
	{ HTTP("a", "80", ""), ",'addresses':[{'value':'192.0.2.1'}]", "Accepted True Accepted" },
	{ HTTP("a", "80", ""), ",'addresses':[{'type':'IPAddress'}]", "Accepted True Accepted" },
	{ HTTP("a", "80", ""),
	  ",'infrastructure':{'parametersRef':{'group':'x','kind':'Y','name':'z'}}",
	  "Accepted False InvalidParameters" },
	{ HTTP("a", "80", ""),
	  ",'infrastructure':{'parametersRef':{'group':'','kind':'ConfigMap','name':'none'}}",
	  "Accepted False InvalidParameters" },
	{ HTTP("a", "80", ""),
	  ",'infrastructure':{'parametersRef':{'group':'','kind':'ConfigMap','name':'good'}}",
	  "Accepted True Accepted" },
	{ HTTP("a", "80", ""),
	  ",'infrastructure':{'parametersRef':{'group':'','kind':'ConfigMap','name':'unknown'}}",
	  "Accepted False InvalidParameters" },
	{ HTTP("a", "80", ""),
	  ",'infrastructure':{'parametersRef':{'group':'','kind':'ConfigMap','name':'wrong'}}",
	  "Accepted False InvalidParameters" },
	/* the certificate that is shown to servers */
	{ HTTP("a", "80", ""), ",'tls':{'backend':{'clientCertificateRef':{'name':'good'}}}",
	  "ResolvedRefs True ResolvedRefs" },
	{ HTTP("a", "80", ""), ",'tls':{'backend':{'clientCertificateRef':{'name':'none'}}}",
	  "ResolvedRefs False InvalidClientCertificateRef" },
	{ HTTP("a", "80", ""), ",'tls':{'backend':{'clientCertificateRef':{'name':'bad'}}}",
	  "ResolvedRefs False InvalidClientCertificateRef" },
	{ HTTP("a", "80", ""),
	  ",'tls':{'backend':{'clientCertificateRef':{'name':'good','kind':'ConfigMap'}}}",
	  "ResolvedRefs False InvalidClientCertificateRef" },
	{ HTTP("a", "80", ""),
	  ",'tls':{'backend':{'clientCertificateRef':{'name':'good','namespace':'other'}}}",
	  "ResolvedRefs False RefNotPermitted" },
	{ HTTP("a", "80", ""), ",'tls':{'backend':{'clientCertificateRef':{'name':'none'}}}",
	  "Accepted True Accepted" },
	{ HTTPS("a", "443", ""),
	  ",'tls':{'frontend':{'default':{'validation':{'mode':'AllowInsecureFallback',"
	  "'caCertificateRefs':[{'group':'','kind':'ConfigMap','name':'ca'}]}}}}",
	  "InsecureFrontendValidationMode True ConfigurationChanged" },
};

static void config_maps(struct world *w)
{
	put(w, GW_CONFIG_MAP, "default/good", "'data':{'server_timing':'true','paths':'strict'}");
	put(w, GW_CONFIG_MAP, "default/unknown", "'data':{'nonsense':'true'}");
	put(w, GW_CONFIG_MAP, "default/wrong", "'data':{'paths':'crooked'}");
	put(w, GW_CONFIG_MAP, "default/ca", "'data':{'ca.crt':'-----BEGIN CA'}");
	put(w, GW_CONFIG_MAP, "default/bad", "'data':{'ca.crt':'-----BEGIN BAD'}");
	put(w, GW_CONFIG_MAP, "default/path", "'data':{'ca.crt':'/etc/passwd'}");
	put(w, GW_CONFIG_MAP, "other/ca", "'data':{'ca.crt':'-----BEGIN CA'}");
}

static void gateways_have_their_reasons(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(gateways); i++) {
		struct world w;

		world_make(&w);
		usual(&w);
		secrets(&w);
		config_maps(&w);
		gateway(&w, gateways[i].listeners, gateways[i].rest);
		assert_condition(&w, GW_GATEWAY, "default/gw", gateways[i].condition);
		world_free(&w);
	}
}

static void settings_of_a_config_map_reach_the_listeners(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	config_maps(&w);
	gateway(&w, HTTP("a", "80", ""),
		",'infrastructure':{'parametersRef':{'group':'','kind':'ConfigMap','name':'good'}"
		"}");
	assert_entry(&w, GW_LISTENERS, "default/gw/a", "'paths':'strict'");
	assert_entry(&w, GW_LISTENERS, "default/gw/a", "'server_timing':true");
	put(&w, GW_CONFIG_MAP, "default/good", "'data':{'paths':'as-is'}");
	assert_entry(&w, GW_LISTENERS, "default/gw/a", "'paths':'as-is'");
	put(&w, GW_CONFIG_MAP, "default/good", "'data':{'paths':'?'}");
	assert_no_entry(&w, GW_LISTENERS, "default/gw/a");
	world_free(&w);
}

/* ---- addresses ---- */

static void a_gateway_without_an_address_is_not_programmed(void **state)
{
	static const struct {
		enum gw_address_state state;
		const char *condition;
	} cases[] = {
		{ GW_ADDRESS_PENDING, "Programmed False AddressNotAssigned" },
		{ GW_ADDRESS_NOT_USABLE, "Programmed False AddressNotUsable" },
		{ GW_ADDRESS_NONE_LEFT, "Programmed False AddressNotAssigned" },
	};
	struct world w;

	world_make(&w);
	usual(&w);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		gw_set_addresses(w.gw, "default", "gw",
				 &(struct gw_addresses){ .state = cases[i].state });
		assert_condition(&w, GW_GATEWAY, "default/gw", cases[i].condition);
		assert_condition(&w, GW_GATEWAY, "default/gw", "Accepted True Accepted");
		assert_no_entry(&w, GW_LISTENERS, "default/gw/http");
		assert_status(&w, GW_GATEWAY, "default/gw", "'addresses':[]");
	}
	world_free(&w);
}

static void each_address_has_a_listener(void **state)
{
	struct addr list[2];
	struct world w;

	world_make(&w);
	usual(&w);
	assert_int_equal(addr_parse("192.0.2.1", &list[0]), 0);
	assert_int_equal(addr_parse("2001:db8::1", &list[1]), 0);
	gw_set_addresses(w.gw, "default", "gw",
			 &(struct gw_addresses){ list, 2, GW_ADDRESS_OK, NULL });
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'gw'}],'rules':[{'backendRefs':[{'name':'web',"
	    "'port':80}]}]}");
	assert_entry(&w, GW_LISTENERS, "default/gw/http@2001:db8::1",
		     "'address':'[2001:db8::1]:80'");
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r",
		     "'listeners':['default/gw/http','default/gw/http@2001:db8::1']");
	assert_status(&w, GW_GATEWAY, "default/gw",
		      "'addresses':[{'type':'IPAddress','value':'192.0.2.1'},{'type':'IPAddress',"
		      "'value':'2001:db8::1'}]");
	world_free(&w);
}

/* ---- certificates of clients ---- */

#define DEFAULT_CA(name)                                                                           \
	",'tls':{'frontend':{'default':{'validation':{'caCertificateRefs':[{'group':'',"           \
	"'kind':'ConfigMap','name':'" name "'}]}}}}"
#define PORT_CA(ref)                                                                               \
	",'tls':{'frontend':{'default':{},'perPort':[{'port':8443,'tls':{'validation':{"           \
	"'caCertificateRefs':[" ref "]}}}]}}"

static const struct {
	const char *rest, *of, *condition;
} clients[] = {
	{ DEFAULT_CA("ca"), "a", "ResolvedRefs True ResolvedRefs" },
	{ DEFAULT_CA("none"), "a", "ResolvedRefs False InvalidCACertificateRef" },
	{ DEFAULT_CA("none"), "a", "Accepted False NoValidCACertificate" },
	{ DEFAULT_CA("none"), "a", "Programmed False Invalid" },
	{ DEFAULT_CA("bad"), "a", "ResolvedRefs False InvalidCACertificateRef" },
	{ DEFAULT_CA("path"), "a", "ResolvedRefs False InvalidCACertificateRef" },
	{ DEFAULT_CA("none"), "h", "Programmed True Programmed" },
	{ PORT_CA("{'group':'','kind':'ConfigMap','name':'none'}"), "a",
	  "Programmed True Programmed" },
	{ PORT_CA("{'group':'','kind':'ConfigMap','name':'none'}"), "b",
	  "ResolvedRefs False InvalidCACertificateRef" },
	{ PORT_CA("{'group':'','kind':'Secret','name':'ca'}"), "b",
	  "ResolvedRefs False InvalidCACertificateKind" },
	{ PORT_CA("{'group':'','kind':'ConfigMap','name':'ca','namespace':'other'}"), "b",
	  "ResolvedRefs False RefNotPermitted" },
	{ PORT_CA("{'group':'','kind':'ConfigMap','name':'ca','namespace':'other'}"), "b",
	  "Accepted False NoValidCACertificate" },
	{ PORT_CA("{'group':'','kind':'ConfigMap','name':'ca'}"), "b",
	  "ResolvedRefs True ResolvedRefs" },
};

static void certificates_of_clients_have_their_reasons(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		struct world w;

		world_make(&w);
		usual(&w);
		secrets(&w);
		config_maps(&w);
		gateway(&w,
			HTTPS("a", "443", "") "," HTTPS("b", "8443", "") "," HTTP("h", "80", ""),
			clients[i].rest);
		assert_listener(&w, GW_GATEWAY, "default/gw", clients[i].of, clients[i].condition);
		world_free(&w);
	}
}

static void authorities_of_clients_reach_the_router(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	secrets(&w);
	config_maps(&w);
	gateway(&w, HTTPS("a", "443", "x.example"), DEFAULT_CA("ca"));
	assert_entry(&w, GW_LISTENERS, "default/gw/a",
		     "'tls':{'mode':'terminate','certificates':[{'certificate':'-----BEGIN C',"
		     "'key':'-----BEGIN K'}]");
	assert_entry(&w, GW_LISTENERS, "default/gw/a",
		     "'clients':{'mode':'require','ca':'-----BEGIN CA\\n'}");
	/* another certificate changes the listener alone */
	changes(&w);
	put(&w, GW_CONFIG_MAP, "default/ca", "'data':{'ca.crt':'-----BEGIN CA2'}");
	assert_string_equal(changes(&w), "+listeners default/gw/a\n");
	world_free(&w);
}

/* ---- ListenerSets ---- */

static void listener_set(struct world *w, const char *key, const char *listeners)
{
	put(w, GW_LISTENER_SET, key,
	    "'spec':{'parentRef':{'name':'gw','namespace':'default'},'listeners':[%s]}", listeners);
}

static const struct {
	const char *allowed, *accepted;
	int attached;
} allowed[] = {
	{ "", "Accepted False NotAllowed", 0 },
	{ ",'allowedListeners':{'namespaces':{'from':'None'}}", "Accepted False NotAllowed", 0 },
	{ ",'allowedListeners':{'namespaces':{'from':'Same'}}", "Accepted False NotAllowed", 0 },
	{ ",'allowedListeners':{'namespaces':{'from':'All'}}", "Accepted True Accepted", 1 },
	{ ",'allowedListeners':{'namespaces':{'from':'Selector','selector':{'matchLabels':"
	  "{'a':'b'}}}}",
	  "Accepted True Accepted", 1 },
	{ ",'allowedListeners':{'namespaces':{'from':'Selector','selector':{'matchLabels':"
	  "{'a':'c'}}}}",
	  "Accepted False NotAllowed", 0 },
};

static void a_gateway_chooses_listener_sets(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		char attached[64];
		struct world w;

		world_make(&w);
		usual(&w);
		put_meta(&w, GW_NAMESPACE, "/other", ",'labels':{'a':'b'}", "");
		gateway(&w, HTTP("a", "80", ""), allowed[i].allowed);
		listener_set(&w, "other/set", HTTP("s", "81", ""));
		snprintf(attached, sizeof(attached), "'attachedListenerSets':%d",
			 allowed[i].attached);
		assert_condition(&w, GW_LISTENER_SET, "other/set", allowed[i].accepted);
		assert_status(&w, GW_GATEWAY, "default/gw", attached);
		if (allowed[i].attached)
			assert_entry(&w, GW_LISTENERS, "default/gw/other/set/s", "192.0.2.1:81");
		else
			assert_condition(&w, GW_LISTENER_SET, "other/set",
					 "Programmed False NotAllowed");
		world_free(&w);
	}
}

/* The Gateway goes first, then the older set. */
static void the_older_listener_keeps_its_place(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, HTTP("a", "80", "a.example"),
		",'allowedListeners':{'namespaces':{'from':'All'}}");
	listener_set(&w, "default/z",
		     HTTP("s", "80", "b.example") "," HTTP("t", "80", "a.example"));
	listener_set(&w, "default/b", HTTP("s", "80", "b.example"));
	assert_listener(&w, GW_GATEWAY, "default/gw", "a", "Programmed True Programmed");
	assert_listener(&w, GW_LISTENER_SET, "default/z", "s", "Programmed True Programmed");
	assert_listener(&w, GW_LISTENER_SET, "default/z", "t", "Conflicted True HostnameConflict");
	assert_listener(&w, GW_LISTENER_SET, "default/z", "t", "Programmed False HostnameConflict");
	assert_condition(&w, GW_LISTENER_SET, "default/z", "Accepted True ListenersNotValid");
	assert_condition(&w, GW_LISTENER_SET, "default/b", "Accepted False ListenersNotValid");
	assert_condition(&w, GW_LISTENER_SET, "default/b", "Programmed False ListenersNotValid");
	/* when the older one goes, the younger one has the place */
	drop(&w, GW_LISTENER_SET, "default/z");
	assert_listener(&w, GW_LISTENER_SET, "default/b", "s", "Programmed True Programmed");
	world_free(&w);
}

/* One that the Gateway keeps from its place is no reason against the others of its set. */
static void a_listener_that_lost_leaves_its_siblings_alone(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, HTTP("a", "80", "a.example"),
		",'allowedListeners':{'namespaces':{'from':'All'}}");
	listener_set(&w, "default/s",
		     HTTP("s", "80", "b.example") ",{'name':'t','port':80,'protocol':'TCP'}");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "s", "Programmed True Programmed");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "s", "Conflicted False NoConflicts");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "t", "Accepted False ProtocolConflict");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "t", "Conflicted True ProtocolConflict");
	/* on another port only the two of them are left, and nothing says which was meant */
	listener_set(&w, "default/s",
		     HTTP("s", "81", "b.example") ",{'name':'t','port':81,'protocol':'TCP'}");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "s", "Accepted False ProtocolConflict");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "t", "Accepted False ProtocolConflict");
	/* they still keep a younger set from the place */
	listener_set(&w, "default/u", HTTP("u", "81", "b.example"));
	assert_listener(&w, GW_LISTENER_SET, "default/u", "u", "Accepted False HostnameConflict");
	world_free(&w);
}

static void a_set_of_a_gateway_that_is_not_accepted_waits(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, HTTP("a", "80", ""),
		",'allowedListeners':{'namespaces':{'from':'All'}},"
		"'addresses':[{'type':'Other','value':'x'}]");
	listener_set(&w, "default/s", HTTP("s", "81", ""));
	assert_condition(&w, GW_LISTENER_SET, "default/s", "Accepted False ParentNotAccepted");
	world_free(&w);
}

static void a_set_needs_a_grant_of_its_own(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	secrets(&w);
	gateway(&w, HTTP("a", "80", ""), ",'allowedListeners':{'namespaces':{'from':'All'}}");
	listener_set(&w, "default/s",
		     "{'name':'s','port':443,'protocol':'HTTPS','tls':{'certificateRefs':[{"
		     "'name':'granted','namespace':'other'}]}}");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "s",
			"ResolvedRefs False RefNotPermitted");
	assert_condition(&w, GW_LISTENER_SET, "default/s", "Accepted False ListenersNotValid");
	assert_condition(&w, GW_LISTENER_SET, "default/s", "Programmed False ListenersNotValid");
	put(&w, GW_REFERENCE_GRANT, "other/sets",
	    "'spec':{'from':[{'group':'" GW_GROUP "','kind':'ListenerSet','namespace':'default'}],"
	    "'to':[{'group':'','kind':'Secret'}]}");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "s", "ResolvedRefs True ResolvedRefs");
	assert_condition(&w, GW_LISTENER_SET, "default/s", "Accepted True Accepted");
	drop(&w, GW_REFERENCE_GRANT, "other/sets");
	assert_listener(&w, GW_LISTENER_SET, "default/s", "s",
			"ResolvedRefs False RefNotPermitted");
	world_free(&w);
}

/* ---- which Gateways ---- */

static void only_gateways_of_our_classes_count(void **state)
{
	struct world w;
	struct gw_view view;

	world_make(&w);
	usual(&w);
	put(&w, GW_GATEWAY_CLASS, "/other", "'spec':{'controllerName':'other.example/x'}");
	put(&w, GW_GATEWAY, "default/o",
	    "'spec':{'gatewayClassName':'other','listeners':[" HTTP("a", "80", "") "]}");
	settle(&w);
	assert_int_equal(gw_gateways(w.gw), 1);
	assert_string_equal(status_of(&w, GW_GATEWAY, "default/o"), "");
	assert_string_equal(status_of(&w, GW_GATEWAY_CLASS, "/other"), "");
	assert_false(gw_gateway_find(w.gw, "default", "o", &view));
	assert_true(gw_gateway_find(w.gw, "default", "gw", &view));
	assert_int_equal(view.n_ports, 1);
	assert_int_equal(view.ports[0].port, 80);
	/* the class appears later, and goes again */
	put(&w, GW_GATEWAY_CLASS, "/other", "'spec':{'controllerName':'" GW_CONTROLLER "'}");
	settle(&w);
	assert_int_equal(gw_gateways(w.gw), 2);
	drop(&w, GW_GATEWAY_CLASS, "/maglev");
	settle(&w);
	assert_int_equal(gw_gateways(w.gw), 1);
	assert_no_entry(&w, GW_LISTENERS, "default/gw/http");
	world_free(&w);
}

static void names_may_be_long(void **state)
{
	char name[254], key[300];
	struct addr address;
	struct world w;

	world_make(&w);
	usual(&w);
	memset(name, 'a', 253);
	name[253] = '\0';
	snprintf(key, sizeof(key), "default/%s", name);
	put(&w, GW_GATEWAY, key,
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'%s','port':80,"
	    "'protocol':'HTTP'}]}",
	    name);
	assert_int_equal(addr_parse("192.0.2.7", &address), 0);
	gw_set_addresses(w.gw, "default", name,
			 &(struct gw_addresses){ &address, 1, GW_ADDRESS_OK, NULL });
	assert_condition(&w, GW_GATEWAY, key, "Programmed True Programmed");
	put(&w, GW_HTTP_ROUTE, "default/r",
	    "'spec':{'parentRefs':[{'name':'%s'}],'rules':[{'backendRefs':[{'name':'web',"
	    "'port':80}]}]}",
	    name);
	assert_entry(&w, GW_ROUTES, "HTTPRoute/default/r", "'pool':'default/web:80'");
	world_free(&w);
}

static void secrets_are_wanted_while_they_are_referred_to(void **state)
{
	struct world w;

	world_make(&w);
	usual(&w);
	gateway(&w, HTTPS("a", "443", ""), "");
	settle(&w);
	assert_string_equal(buf_cstr(&w.wanted), "+Secret default/good\n");
	put(&w, GW_SECRET, "default/good", GOOD);
	settle(&w);
	gateway(&w, HTTP("a", "80", ""), "");
	settle(&w);
	assert_string_equal(buf_cstr(&w.wanted), "+Secret default/good\n-Secret default/good\n");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_has_its_reason),
		cmocka_unit_test(kinds_of_routes_follow_the_protocol),
		cmocka_unit_test(gateways_have_their_reasons),
		cmocka_unit_test(settings_of_a_config_map_reach_the_listeners),
		cmocka_unit_test(a_gateway_without_an_address_is_not_programmed),
		cmocka_unit_test(each_address_has_a_listener),
		cmocka_unit_test(certificates_of_clients_have_their_reasons),
		cmocka_unit_test(authorities_of_clients_reach_the_router),
		cmocka_unit_test(a_gateway_chooses_listener_sets),
		cmocka_unit_test(the_older_listener_keeps_its_place),
		cmocka_unit_test(a_listener_that_lost_leaves_its_siblings_alone),
		cmocka_unit_test(a_set_of_a_gateway_that_is_not_accepted_waits),
		cmocka_unit_test(a_set_needs_a_grant_of_its_own),
		cmocka_unit_test(only_gateways_of_our_classes_count),
		cmocka_unit_test(names_may_be_long),
		cmocka_unit_test(secrets_are_wanted_while_they_are_referred_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
