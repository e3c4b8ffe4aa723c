/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random objects that refer to each other, and random changes of them. After each step:
 *
 * - the entries are those of a translator that was told of all objects at once;
 * - so is the status of every object;
 * - what gw_take() tells leads from the entries before to those after;
 * - a router accepts the document.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "src/gateway/testing.h"
#include "wire/router_doc.h"

/*
 * A call has at most one roll among its arguments, because compilers evaluate arguments in any
 * order: each build tries the same objects.
 */
static uint64_t dice;

static unsigned roll(unsigned n)
{
	return (unsigned)(random_next(&dice) % n);
}

static const char *pick(const char *const *list)
{
	unsigned n = 0;

	while (list[n])
		n++;
	return list[roll(n)];
}

#define PICK(...) pick((const char *const[]){ __VA_ARGS__, NULL })

/* ---- objects ---- */

static void add_certificate(struct buf *out)
{
	buf_printf(out, ",'tls':{'certificateRefs':[{'name':'s%u'", roll(2));
	buf_printf(out, "%s}]}", PICK("", "", ",'namespace':'n1'"));
}

static void add_listener(struct buf *out, unsigned i)
{
	const char *protocol =
		PICK("HTTP", "HTTP", "HTTPS", "TLS", "TLS", "TCP", "TCP", "UDP", "ODD");
	const char *host = PICK("", "a.example", "*.example", "b.a.example");

	buf_printf(out, "%s{'name':'l%u','port':%u,'protocol':'%s'", i ? "," : "", i, 80 + roll(3),
		   protocol);
	if (*host && strcmp(protocol, "TCP") != 0 && strcmp(protocol, "UDP") != 0)
		buf_printf(out, ",'hostname':'%s'", host);
	if (strcmp(protocol, "TLS") == 0 && roll(2))
		buf_adds(out, ",'tls':{'mode':'Passthrough'}");
	else if (strcmp(protocol, "TLS") == 0 || strcmp(protocol, "HTTPS") == 0)
		add_certificate(out);
	buf_adds(out, PICK("}", ",'allowedRoutes':{'namespaces':{'from':'All'}}}",
			   ",'allowedRoutes':{'namespaces':{'from':'All'}}}",
			   (",'allowedRoutes':{'namespaces':{'from':'Selector','selector':{"
			    "'matchLabels':{'a':'b'}}}}}"),
			   ",'allowedRoutes':{'kinds':[{'kind':'HTTPRoute'}]}}"));
}

static void add_listeners(struct buf *out)
{
	unsigned n = 1 + roll(3);

	for (unsigned i = 0; i < n; i++)
		add_listener(out, i);
}

static void make_gateway(struct buf *out)
{
	buf_printf(out, "'spec':{'gatewayClassName':'c%d'", roll(4) == 0);
	buf_adds(out, PICK("", ",'allowedListeners':{'namespaces':{'from':'All'}}",
			   (",'allowedListeners':{'namespaces':{'from':'Selector','selector':{"
			    "'matchLabels':{'a':'b'}}}}")));
	buf_adds(out, PICK("", "", ",'tls':{'backend':{'clientCertificateRef':{'name':'s0'}}}",
			   (",'tls':{'frontend':{'default':{'validation':{'caCertificateRefs':[{"
			    "'group':'','kind':'ConfigMap','name':'m0'}]}}}}")));
	buf_adds(out, PICK("", "",
			   (",'infrastructure':{'parametersRef':{'group':'','kind':'ConfigMap',"
			    "'name':'m1'}}")));
	buf_adds(out, ",'listeners':[");
	add_listeners(out);
	buf_adds(out, "]}");
}

static void make_set(struct buf *out)
{
	buf_printf(out, "'spec':{'parentRef':{'name':'g%u',", roll(2));
	buf_printf(out, "'namespace':'n%u'},'listeners':[", roll(2));
	add_listeners(out);
	buf_adds(out, "]}");
}

static void add_backends(struct buf *out)
{
	unsigned n = roll(3);

	buf_adds(out, "'backendRefs':[");
	for (unsigned i = 0; i < n; i++) {
		buf_printf(out, "%s{'name':'w%u',", i ? "," : "", roll(3));
		buf_printf(out, "'port':%u", 80 + roll(2));
		buf_printf(out, "%s}", PICK("", "", ",'namespace':'n1'", ",'weight':0"));
	}
	buf_adds(out, "]");
}

static void add_parents(struct buf *out)
{
	unsigned n = 1 + roll(2);

	buf_adds(out, "'parentRefs':[");
	for (unsigned i = 0; i < n; i++) {
		buf_printf(out, "%s{'name':'%s%u',", i ? "," : "", i ? "t" : "g", roll(2));
		buf_printf(out, "'kind':'%s','namespace':'n%u'", i ? "ListenerSet" : "Gateway",
			   roll(2));
		buf_printf(out, "%s}", PICK("", "", ",'sectionName':'l0'", ",'port':81"));
	}
	buf_adds(out, "]");
}

static void make_route(struct buf *out)
{
	buf_adds(out, "'spec':{");
	add_parents(out);
	buf_adds(out, PICK("", ",'hostnames':['a.example']", ",'hostnames':['*.a.example']",
			   ",'hostnames':['c.example','a.example']"));
	buf_printf(out, ",'rules':[{%s", PICK("", "'name':'x',"));
	add_backends(out);
	buf_adds(out, "}]}");
}

static void make_http_route(struct buf *out)
{
	buf_adds(out, "'spec':{");
	add_parents(out);
	buf_adds(out, PICK("", ",'hostnames':['a.example']", ",'hostnames':['*.example']"));
	buf_printf(out, ",'rules':[{'matches':[{'path':{'type':'%s',",
		   PICK("PathPrefix", "Exact", "RegularExpression"));
	buf_printf(out, "'value':'%s'}}],", PICK("/", "/a", "/(", "/b()"));
	add_backends(out);
	buf_adds(out, "},{");
	buf_adds(out, PICK("",
			   ("'filters':[{'type':'RequestMirror','requestMirror':{'backendRef':{"
			    "'name':'w0','port':80}}}],"),
			   "'filters':[{'type':'Odd'}],", "'timeouts':{'request':'1s'},"));
	add_backends(out);
	buf_adds(out, "}]}");
}

static void make_service(struct buf *out)
{
	buf_printf(out, "'spec':{'ports':[{'name':'a','port':80%s},",
		   PICK("", ",'appProtocol':'kubernetes.io/h2c'", ",'appProtocol':'https'"));
	buf_printf(out, "{'name':'b','port':81,'protocol':'%s'}]}", PICK("TCP", "UDP"));
}

static void make_slice(struct buf *out)
{
	buf_printf(out, "'ports':[{'name':'%s','port':8080,", PICK("a", "b"));
	buf_printf(out, "'protocol':'%s'}],'endpoints':[{", PICK("TCP", "UDP"));
	buf_printf(out, "'addresses':['10.0.0.%u'],", roll(9));
	buf_printf(out, "'conditions':{'ready':%s}}]", PICK("true", "true", "false"));
}

static void make_grant(struct buf *out)
{
	buf_printf(out, "'spec':{'from':[{'group':'" GW_GROUP "','kind':'%s','namespace':'n0'}],",
		   PICK("HTTPRoute", "Gateway", "TCPRoute", "ListenerSet"));
	buf_printf(out, "'to':[{'group':'','kind':'%s'}]}", PICK("Service", "Secret"));
}

static void make_policy(struct buf *out)
{
	buf_printf(out, "'spec':{'targetRefs':[{'group':'','kind':'Service','name':'w%u'", roll(3));
	buf_printf(out, "%s}],", PICK("", ",'sectionName':'a'"));
	buf_printf(out, "'validation':{'hostname':'%s',", PICK("x.example", "y.example", "!"));
	buf_printf(out, "'caCertificateRefs':[{'group':'','kind':'ConfigMap','name':'m%u'}]}}",
		   roll(2));
}

static void make_secret(struct buf *out)
{
	buf_printf(out, "'data':{'tls.crt':'%s','tls.key':'LS0tLS1CRUdJTiBL'}",
		   PICK("LS0tLS1CRUdJTiBD", "LS0tLS1CRUdJTiBE", "LS0tLS1CRUdJTiBCQUQ="));
}

static void make_config_map(struct buf *out)
{
	buf_printf(out, "'data':{%s}",
		   PICK("'ca.crt':'-----BEGIN CA'", "'ca.crt':'-----BEGIN CB'", "",
			"'paths':'strict'", "'ca.crt':'-----BEGIN BAD'"));
}

static void make_class(struct buf *out)
{
	buf_printf(out, "'spec':{'controllerName':'%s'}",
		   PICK(GW_CONTROLLER, GW_CONTROLLER, "example.com/other"));
}

static void make_nothing(struct buf *out)
{
	(void)out;
}

static const struct {
	enum gw_kind kind;
	char letter;
	unsigned n;
	void (*make)(struct buf *out);
} makers[] = {
	{ GW_GATEWAY_CLASS, 'c', 2, make_class },
	{ GW_GATEWAY, 'g', 2, make_gateway },
	{ GW_LISTENER_SET, 't', 2, make_set },
	{ GW_HTTP_ROUTE, 'h', 3, make_http_route },
	{ GW_HTTP_ROUTE, 'h', 3, make_http_route },
	{ GW_GRPC_ROUTE, 'r', 2, make_route },
	{ GW_TLS_ROUTE, 'l', 3, make_route },
	{ GW_TCP_ROUTE, 'p', 3, make_route },
	{ GW_UDP_ROUTE, 'u', 2, make_route },
	{ GW_REFERENCE_GRANT, 'e', 2, make_grant },
	{ GW_BACKEND_TLS_POLICY, 'b', 3, make_policy },
	{ GW_SERVICE, 'w', 3, make_service },
	{ GW_ENDPOINT_SLICE, 'x', 4, make_slice },
	{ GW_ENDPOINT_SLICE, 'x', 4, make_slice },
	{ GW_SECRET, 's', 2, make_secret },
	{ GW_CONFIG_MAP, 'm', 2, make_config_map },
	{ GW_NAMESPACE, 'n', 2, make_nothing },
};

static bool is_there(const struct world *w, enum gw_kind kind, const char *key)
{
	for (size_t i = 0; i < w->n_held; i++)
		if (w->held[i].kind == kind && strcmp(w->held[i].key, key) == 0)
			return true;
	return false;
}

/* ---- addresses, which both translators are told ---- */

static unsigned addressed; /* bits: which of the four Gateways has an address */

static void tell_addresses(struct gw *g)
{
	for (unsigned i = 0; i < 4; i++) {
		char namespace[8], name[8], text[32];
		struct addr address;

		snprintf(namespace, sizeof(namespace), "n%u", i / 2);
		snprintf(name, sizeof(name), "g%u", i % 2);
		snprintf(text, sizeof(text), "192.0.2.%u", i + 1);
		assert_int_equal(addr_parse(text, &address), 0);
		if (addressed & (1u << i))
			gw_set_addresses(g, namespace, name,
					 &(struct gw_addresses){ &address, 1, GW_ADDRESS_OK,
								 NULL });
		else
			gw_set_addresses(g, namespace, name, &(struct gw_addresses){ 0 });
	}
}

static void step(struct world *w)
{
	size_t i = roll(ARRAY_SIZE(makers));
	unsigned namespace, name;
	_cleanup_(buf_free) struct buf body = { 0 };
	char key[32], meta[96] = "";

	if (roll(20) == 0) {
		addressed = roll(16);
		tell_addresses(w->gw);
		return;
	}
	namespace = roll(2);
	name = roll(makers[i].n);
	snprintf(key, sizeof(key), "n%u/%c%u", namespace, makers[i].letter, name);
	if (!gw_kinds[makers[i].kind].namespaced)
		snprintf(key, sizeof(key), "/%c%u", makers[i].letter, name);
	if (roll(4) == 0 && is_there(w, makers[i].kind, key)) {
		drop(w, makers[i].kind, key);
		return;
	}
	if (makers[i].kind == GW_ENDPOINT_SLICE)
		snprintf(meta, sizeof(meta), ",'labels':{'kubernetes.io/service-name':'w%u'}",
			 roll(3));
	if (makers[i].kind == GW_NAMESPACE && roll(2))
		snprintf(meta, sizeof(meta), ",'labels':{'a':'b'}");
	makers[i].make(&body);
	put_meta(w, makers[i].kind, key, meta, buf_cstr(&body));
}

/* ---- comparisons ---- */

static void assert_same_entries(const struct gw *a, const struct gw *b)
{
	_cleanup_(buf_free) struct buf x = { 0 }, y = { 0 };

	gw_document(a, &x);
	gw_document(b, &y);
	assert_string_equal(buf_cstr(&x), buf_cstr(&y));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All patches, sorted. */
static char *statuses(struct world *w, struct gw *g)
{
	_cleanup_(buf_free) struct buf patch = { 0 };
	char **list = mem_zalloc((w->n_held + 1) * sizeof(char *));
	struct buf all = { 0 };
	struct gw_status s;
	size_t n = 0;

	for (size_t i = 0; i < w->n_held; i++)
		gw_again(g, w->held[i].kind, w->held[i].object->namespace, w->held[i].object->name);
	while (gw_take_status(g, NOW, &s, &patch)) {
		struct buf line = { 0 };

		buf_printf(&line, "%d %s/%s %s\n", (int)s.kind, s.namespace, s.name,
			   buf_cstr(&patch));
		buf_cstr(&line);
		list[n++] = line.p;
		patch.n = 0;
	}
	qsort(list, n, sizeof(list[0]), by_text);
	for (size_t i = 0; i < n; i++) {
		buf_adds(&all, list[i]);
		free(list[i]);
	}
	free(list);
	buf_cstr(&all);
	return all.p;
}

static void assert_same_statuses(struct world *w, struct gw *b)
{
	_cleanup_(cleanup_free) char *x = statuses(w, w->gw), *y = statuses(w, b);

	assert_string_equal(x, y);
}

static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	(void)reason;
	(void)size;
	(void)user;
	return (const void *)pattern;
}

static void assert_router_accepts(const struct gw *g)
{
	static const struct l7_calls calls = { compile, NULL };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 }, complaints = { 0 };
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l7_config config;
	struct l7_doc doc;

	gw_document(g, &text);
	if (router_doc_parse((struct str){ text.p, text.n }, ROUTER_JSON, arena, &doc, &errors) ==
		    0 &&
	    l7_config_build(&doc, arena, &calls, &config, &errors, &warnings) == 0)
		return;
	errs_print(&errors, "document", &complaints);
	fail_msg("%s\n%s", buf_cstr(&complaints), buf_cstr(&text));
}

/* What a program knows that only applies the changes it is told. */
struct shadow {
	struct map texts[GW_ENTRY_KINDS]; /* from name to a copy */
};

struct shadow_text {
	char *name, *text;
};

static void shadow_drop(struct map *m, const char *name)
{
	struct shadow_text *t = map_remove(m, name);

	if (!t)
		return;
	free(t->name);
	free(t->text);
	free(t);
}

static void on_change(const struct gw_change *c, void *user)
{
	struct shadow *s = user;
	struct shadow_text *t, *old = map_get(&s->texts[c->kind], c->name);
	_cleanup_(buf_free) struct buf text = { 0 };

	if (c->only_endpoints)
		assert_non_null(old);
	if (!c->entry) {
		assert_non_null(old);
		shadow_drop(&s->texts[c->kind], c->name);
		return;
	}
	gw_entry_json(c->entry, &text);
	t = mem_zalloc(sizeof(*t));
	t->name = mem_strdup(c->name);
	t->text = mem_strdup(buf_cstr(&text));
	shadow_drop(&s->texts[c->kind], c->name);
	map_put(&s->texts[c->kind], t->name, t);
}

static void assert_shadow(const struct shadow *s, const struct gw *g)
{
	for (size_t k = 0; k < GW_ENTRY_KINDS; k++) {
		size_t n = gw_entries(g, (enum gw_entry_kind)k);

		assert_int_equal(s->texts[k].n, n);
		for (size_t i = 0; i < n; i++) {
			const struct gw_entry *e = gw_entry_at(g, (enum gw_entry_kind)k, i);
			const struct shadow_text *t = map_get(&s->texts[k], e->name);
			_cleanup_(buf_free) struct buf text = { 0 };

			gw_entry_json(e, &text);
			assert_non_null(t);
			assert_string_equal(t->text, buf_cstr(&text));
		}
	}
}

static void shadow_free(struct shadow *s)
{
	for (size_t k = 0; k < GW_ENTRY_KINDS; k++) {
		while (s->texts[k].n)
			for (size_t i = 0; i < s->texts[k].cap; i++)
				if (s->texts[k].slots[i].key) {
					shadow_drop(&s->texts[k], s->texts[k].slots[i].key);
					break;
				}
		map_free(&s->texts[k]);
	}
}

static void check(struct world *w, struct shadow *shadow)
{
	struct gw *fresh = world_again(w);

	settle(w);
	tell_addresses(fresh);
	while (gw_work(fresh, 1000))
		continue;
	assert_same_entries(w->gw, fresh);
	assert_same_statuses(w, fresh);
	assert_router_accepts(w->gw);
	gw_take(w->gw, on_change, shadow);
	assert_shadow(shadow, w->gw);
	gw_free(fresh);
}

static void changes_lead_where_a_fresh_start_does(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct shadow shadow = { 0 };
		struct world w;

		dice = seed;
		addressed = 15;
		world_make(&w);
		tell_addresses(w.gw);
		for (int i = 0; i < 200; i++) {
			step(&w);
			if (roll(3) == 0)
				write_statuses(&w);
			if (i > 40 && roll(4) == 0)
				check(&w, &shadow);
		}
		check(&w, &shadow);
		while (w.n_held)
			drop(&w, w.held[0].kind, w.held[0].key);
		check(&w, &shadow);
		shadow_free(&shadow);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_lead_where_a_fresh_start_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
