/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as JSON, and back. */
#include "wire/router_json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "wire/router_doc.h"

static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	return (const void *)pattern;
}

static const struct l7_calls calls = { .compile = compile };

struct loaded {
	struct arena *arena;
	struct errs errors, warnings;
	struct l7_doc doc;
	struct l7_config config;
	int r;
};

static struct loaded load(struct str text, enum router_syntax syntax)
{
	struct loaded l = { .arena = arena_new() };

	l.errors.arena = l.warnings.arena = l.arena;
	l.r = router_doc_parse(text, syntax, l.arena, &l.doc, &l.errors);
	if (l.r == 0)
		l.r = l7_config_build(&l.doc, l.arena, &calls, &l.config, &l.errors, &l.warnings);
	return l;
}

static struct loaded load_good(struct str text, enum router_syntax syntax)
{
	struct loaded l = load(text, syntax);
	_cleanup_(buf_free) struct buf out = { 0 };

	errs_print(&l.errors, "f", &out);
	if (l.r < 0)
		fail_msg("%s%.*s", buf_cstr(&out), (int)text.n, text.p);
	return l;
}

/* Writes a configuration, reads it and writes it again: out has both texts, which are equal. */
static void assert_returns(const struct l7_config *c, struct buf *out)
{
	_cleanup_(buf_free) struct buf again = { 0 };
	struct loaded l;

	router_json_config(c, out);
	l = load_good((struct str){ out->p, out->n }, ROUTER_JSON);
	router_json_config(&l.config, &again);
	assert_string_equal(buf_cstr(out), buf_cstr(&again));
	arena_free(l.arena);
}

static void assert_contains(struct buf *text, const char *part)
{
	if (!strstr(buf_cstr(text), part))
		fail_msg("%s is not in %s", part, buf_cstr(text));
}

/* ---- the shapes of the admin API ---- */

#define API                                                                                        \
	"{\"name\":\"api\",\"host\":\"api.example.com\",\"path_prefix\":\"/api/\",\"pool_idx\":0," \
	"\"strip_prefix\":true}"
#define STATIC                                                                                     \
	"{\"name\":\"static\",\"path_prefix\":\"/static/\",\"pool_idx\":1,\"strip_prefix\":false}"
#define EXACT "{\"name\":\"one\",\"path_exact\":\"/one\",\"pool_idx\":1}"
#define DEFAULT "{\"name\":\"default\",\"path_prefix\":\"/\",\"pool_idx\":0}"
#define LB_CONFIG                                                                                  \
	"\"lb_config\":{\"enable_probing\":true,\"unhealthy_threshold\":4,\"healthy_threshold\":"  \
	"1,\"probe_interval_ms\":5000,\"probe_timeout_ms\":1000,\"health_path\":\"/healthz\"}"
#define POOLS                                                                                      \
	"[{\"name\":\"api-pool\",\"upstreams\":["                                                  \
	"{\"host\":\"10.0.1.5\",\"port\":8001,\"idx\":0,\"tls\":false},"                           \
	"{\"host\":\"10.0.1.6\",\"port\":8001,\"idx\":1,\"tls\":true}]," LB_CONFIG "},"            \
	"{\"name\":\"static-pool\",\"upstreams\":[{\"host\":\"h\",\"port\":9,\"idx\":2,\"tls\":"   \
	"false}]," LB_CONFIG "}]"
#define ROUTES "\"routes\":[" API "," STATIC "," EXACT "],\"default_route\":" DEFAULT

static void the_shapes_are_those_of_the_admin_api(void **state)
{
	struct loaded l = load_good(STR("{" ROUTES ",\"pools\":" POOLS "}"), ROUTER_JSON);
	_cleanup_(buf_free) struct buf out = { 0 };

	router_json_routes(&l.config, 5, &out);
	assert_string_equal(buf_cstr(&out), "{" ROUTES ",\"generation\":5}");
	out.n = 0;
	router_json_pools(&l.config, 6, NULL, &out);
	assert_string_equal(buf_cstr(&out), "{\"pools\":" POOLS ",\"generation\":6}");
	out.n = 0;
	router_json_config(&l.config, &out);
	assert_string_equal(buf_cstr(&out), "{\"listeners\":[]," ROUTES ",\"pools\":" POOLS "}");
	arena_free(l.arena);
}

static void on_server(size_t pool, size_t server, struct buf *out, const void *user)
{
	buf_printf(out, "\"%zu.%zu%s\"", pool, server, (const char *)user);
}

static void servers_may_have_a_state(void **state)
{
	struct loaded l =
		load_good(STR("{\"pools\":[{\"name\":\"a\",\"servers\":[]},"
			      "{\"name\":\"b\",\"servers\":[\"10.0.0.1:80\",\"10.0.0.2:80\"]}]}"),
			  ROUTER_JSON);
	const struct router_json_state with = { on_server, "!" };
	_cleanup_(buf_free) struct buf out = { 0 };

	router_json_pools(&l.config, 1, &with, &out);
	assert_non_null(strstr(buf_cstr(&out), "\"idx\":0,\"tls\":false,\"state\":\"1.0!\"}"));
	assert_non_null(strstr(buf_cstr(&out), "\"idx\":1,\"tls\":false,\"state\":\"1.1!\"}"));
	arena_free(l.arena);
}

static void nothing_is_a_configuration(void **state)
{
	struct loaded l = load_good(STR("{}"), ROUTER_JSON);
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_returns(&l.config, &out);
	assert_string_equal(buf_cstr(&out), "{\"listeners\":[],\"routes\":[],\"pools\":[]}");
	arena_free(l.arena);
}

/* ---- everything at once ---- */

/* Every value differs from its default, so that what is not written is lost and noticed. */
static const char everything[] =
	"listeners:\n"
	"- {name: web, address: '[2001:db8::1]:80', host: '*.example.com', expect_proxy: true, "
	"http2: false, forwarded: replace, paths: strict}\n"
	"- {name: any, address: ':8080', forwarded: keep, paths: as-is, forwarded_fields: "
	"forwarded, "
	"trusted_proxies: [192.0.2.1, '2001:db8::/32'], tracing: create, trace_percent: 7, "
	"server_timing: true}\n"
	"- {name: two, address: ':8081', forwarded_fields: both, tracing: off}\n"
	"- {name: tls, address: ':8443', tls: {certificates: [{certificate: /c, key: /k, ocsp: "
	"/o}, "
	"{certificate: \"-----BEGIN C\\nx\", key: /l}], min_version: 1.3, tickets: false, ciphers: "
	"[A-B, TLS_C], clients: {mode: insecure-fallback, ca: /a, header: X-S}}}\n"
	"access_log: {fraction: {numerator: 1, denominator: 1000}, slow: 2s, failed: false, "
	"headers: [user-agent, referer]}\n"
	"clients: {connections: 50, connections_each: 5, sessions: 40, sessions_each: 4, requests: "
	"6, head_bytes: 2048, fields: 7, "
	"body_bytes: 8, min_rate: 9, grace: 10s}\n"
	"allowed_hosts: [example.com, '*.example.com']\n"
	"pools:\n"
	"- {name: 'a \"b\"', upstreams: [{host: '::1', port: 1, idx: 9, tls: true, weight: 0, "
	"drain: true}], balance: maglev, hash_key: 'cookie:sid', probe: {path: /p, host: h.com, "
	"status: 200-204, interval: 1.5s, timeout: 300ms, rise: 4, fall: 5}, ejection: {failures: "
	"3, time: 7s, max_percent: 20}, limits: {connections: 10, waiting: 11, wait: 12s, "
	"requests: 15, retries: 16, idle: "
	"13, idle_time: 14s}, connect_timeout: 900ms, slow_start: 30s, send_proxy: true, "
	"protocol: auto, tls: {ca: /ca.pem, name: www.example.com, names: [a.example.com, "
	"'spiffe://a/b'], certificate: \"-----BEGIN CERTIFICATE-----\\nx\", key: /key.pem, "
	"min_version: 1.3}}\n"
	"- {name: tcp, servers: ['h_1:2', '[::1]:3'], balance: random, probe: {}}\n"
	"- {name: ms, servers: [], balance: least_request, probe: {path: /, interval: 15500us, "
	"timeout: 1500us}}\n"
	"- {name: key, servers: ['x:1'], balance: maglev, hash_key: header:X-User}\n"
	"- {name: rpc, servers: ['x:1'], probe: {type: grpc, service: a.B, host: h.com}}\n"
	"routes:\n"
	"- name: full\n"
	"  hosts: [a.example.com, '*.example.com']\n"
	"  listeners: [any, web]\n"
	"  rules:\n"
	"  - matches:\n"
	"    - {path: {type: regex, value: '/v[0-9]+'}, method: GET, headers: [{name: X-A, value: "
	"b}, {name: X-B, type: regex, value: 'c.*'}], queries: [{name: 'q q', value: \"\\x01\"}]}\n"
	"    - {path: {type: exact, value: /x}}\n"
	"    - {grpc: {service: a.b.C, method: Get}, headers: [{name: h, value: v}]}\n"
	"    - {grpc: {type: exact, service: a.b.C}}\n"
	"    - {grpc: {method: Get}}\n"
	"    - {grpc: {}}\n"
	"    - {grpc: {type: regex, service: 'a[.].*', method: 'Get|Put'}}\n"
	"    filters:\n"
	"      request_headers: {set: {X-S: '1', X-T: \"\\u00fc\"}, add: {X-U: ''}, remove: "
	"[X-V]}\n"
	"      response_headers: {remove: [Server]}\n"
	"      rewrite: {hostname: b.example.com, path: {type: full, value: /new}}\n"
	"      mirrors: [{pool: tcp}, {pool: tcp, percent: 5}, {pool: ms, fraction: {numerator: 1, "
	"denominator: 1000}}, {pool_idx: 1, fraction: {numerator: 7, denominator: 7}}]\n"
	"      cors: {allow_origins: ['https://*.example.com:8443', 'http://a'], allow_methods: "
	"[GET, PUT], allow_headers: ['*'], expose_headers: [X-E], allow_credentials: true, "
	"max_age: "
	"1h}\n"
	"    backends: [{pool: tcp, weight: 9, filters: {request_headers: {add: {a: b}}}}, "
	"{invalid: "
	"true}]\n"
	"    timeouts: {request: 10s, backend: 2500ms}\n"
	"    retry: {attempts: 0, codes: [503, 500, 503], backoff: 1ms}\n"
	"    persistence: {name: sid, path: /x, lifetime: 1h}\n"
	"  - {name: named, pool: tcp, path_prefix: /p, filters: {rewrite: {hostname: c, path: "
	"{type: "
	"prefix, value: ''}}}, persistence: {type: header, name: X-Sid}}\n"
	"  - {filters: {redirect: {scheme: https, hostname: d, port: 444, status: 308, path: "
	"{type: "
	"prefix, value: /y}}}}\n"
	"  - {pool: tcp, matches: [{method: PUT}], strip_prefix: true, timeouts: {backend: 1s}, "
	"grpc_web: true}\n"
	"  - {backends: []}\n"
	"- {name: short, pool: ms, retry: {codes: [502]}}\n"
	"- {name: to, filters: {redirect: {status: 301, path: {type: full, value: /z}}}}\n"
	"default_route: {backends: [{pool: tcp, weight: 2}], filters: {response_headers: {set: {a: "
	"b}}}}\n";

/* What the text of it must have. */
static const char *const parts[] = {
	"{\"name\":\"web\",\"address\":\"[2001:db8::1]:80\",\"host\":\"*.example.com\","
	"\"expect_proxy\":true,\"http2\":false,\"forwarded\":\"replace\",\"paths\":"
	"\"strict\"}",
	"\"address\":\":8080\",\"forwarded\":\"keep\",\"paths\":\"as-is\","
	"\"forwarded_fields\":\"forwarded\","
	"\"tracing\":\"create\",\"trace_percent\":7,\"server_timing\":true,"
	"\"trusted_proxies\":[\"192.0.2.1/32\",\"2001:db8::/32\"]}",
	"\"forwarded_fields\":\"both\",\"tracing\":\"off\"}",
	"\"access_log\":{\"fraction\":{\"numerator\":1,\"denominator\":1000},\"slow\":"
	"\"2s\",\"failed\":false,\"headers\":[\"user-agent\",\"referer\"]}",
	"\"clients\":{\"connections\":50,\"connections_each\":5,\"sessions\":40,\"sessions_"
	"each\":4,\"requests\":6,"
	"\"head_bytes\":2048,\"fields\":7,\"body_bytes\":8,\"min_rate\":9,"
	"\"grace\":\"10s\"}",
	"\"tls\":{\"mode\":\"terminate\",\"certificates\":[{\"certificate\":\"/c\",\"key\":"
	"\"/k\",\"ocsp\":\"/o\"},{\"certificate\":\"-----BEGIN C\\nx\",\"key\":\"/l\"}],"
	"\"min_version\":\"1.3\",\"tickets\":false,\"ciphers\":[\"A-B\",\"TLS_C\"],"
	"\"clients\":{\"mode\":\"insecure-fallback\",\"ca\":\"/a\",\"header\":\"X-S\"}}",
	"\"allowed_hosts\":[\"example.com\",\"*.example.com\"]",
	"\"name\":\"a \\\"b\\\"\",\"upstreams\":[{\"host\":\"::1\",\"port\":1,\"idx\":9,"
	"\"tls\":true,\"weight\":0,\"drain\":true}],\"probe\":{\"path\":\"/p\","
	"\"status\":\"200-204\",\"host\":\"h.com\",\"interval\":\"1.5s\",\"timeout\":"
	"\"300ms\",\"rise\":4,\"fall\":5},\"balance\":\"maglev\",\"hash_key\":"
	"\"cookie:sid\",\"ejection\":{\"failures\":3,\"time\":\"7s\",\"max_percent\":20},"
	"\"limits\":{\"connections\":10,\"waiting\":11,\"wait\":\"12s\",\"requests\":15,"
	"\"retries\":16,\"idle\":13,"
	"\"idle_time\":\"14s\"},\"connect_timeout\":\"900ms\",\"slow_start\":\"30s\","
	"\"send_proxy\":true,\"protocol\":\"auto\",\"tls\":{\"ca\":\"/ca.pem\",\"name\":"
	"\"www.example.com\",\"names\":[\"a.example.com\",\"spiffe://a/b\"],"
	"\"certificate\":\"-----BEGIN CERTIFICATE-----\\nx\",\"key\":\"/key.pem\","
	"\"min_version\":\"1.3\"}}",
	"\"probe\":{\"interval\":\"5s\",\"timeout\":\"2s\",\"rise\":2,\"fall\":3},"
	"\"balance\":\"random\"}",
	"\"balance\":\"least_request\"",
	"\"hash_key\":\"header:X-User\"",
	"\"probe\":{\"type\":\"grpc\",\"service\":\"a.B\",\"host\":\"h.com\"",
	"\"hosts\":[\"a.example.com\",\"*.example.com\"],\"listeners\":[\"any\",\"web\"]",
	"\"rules\":[{\"name\":\"full/0\",\"matches\":[{\"path\":{\"type\":\"regex\","
	"\"value\":\"/v[0-9]+\"},\"method\":\"GET\",\"headers\":[{\"name\":\"X-A\","
	"\"type\":\"exact\",\"value\":\"b\"},{\"name\":\"X-B\",\"type\":\"regex\","
	"\"value\":\"c.*\"}],\"queries\":[{\"name\":\"q q\",\"type\":\"exact\",\"value\":"
	"\"\\u0001\"}]},{\"path\":{\"type\":\"exact\",\"value\":\"/x\"}},"
	"{\"grpc\":{\"type\":\"exact\",\"service\":\"a.b.C\",\"method\":\"Get\"},"
	"\"headers\":[{\"name\":\"h\",\"type\":\"exact\",\"value\":\"v\"}]},"
	"{\"grpc\":{\"type\":\"exact\",\"service\":\"a.b.C\"}},{\"grpc\":{\"type\":"
	"\"exact\",\"method\":\"Get\"}},{\"grpc\":{\"type\":\"exact\"}},"
	"{\"grpc\":{\"type\":\"regex\",\"service\":\"a[.].*\",\"method\":"
	"\"Get|Put\"}}]",
	"\"backends\":[{\"pool\":\"tcp\",\"weight\":9,\"filters\":{\"request_headers\":{"
	"\"add\":{\"a\":\"b\"}}}},{\"invalid\":true,\"weight\":1}]",
	"\"request_headers\":{\"set\":{\"X-S\":\"1\",\"X-T\":\"\xc3\xbc\"},\"add\":{"
	"\"X-U\":\"\"},\"remove\":[\"X-V\"]},\"response_headers\":{\"remove\":["
	"\"Server\"]}",
	"\"rewrite\":{\"hostname\":\"b.example.com\",\"path\":{\"type\":\"full\","
	"\"value\":\"/new\"}}",
	"\"mirrors\":[{\"pool\":\"tcp\"},{\"pool\":\"tcp\",\"percent\":5},{\"pool\":"
	"\"ms\",\"fraction\":{\"numerator\":1,\"denominator\":1000}},{\"pool\":\"tcp\"}]",
	"\"cors\":{\"allow_origins\":[\"https://*.example.com:8443\",\"http://a\"],"
	"\"allow_methods\":[\"GET\",\"PUT\"],\"allow_headers\":[\"*\"],"
	"\"expose_headers\":[\"X-E\"],\"allow_credentials\":true,\"max_age\":\"1h0m0s\"}",
	"\"timeouts\":{\"request\":\"10s\",\"backend\":\"2.5s\"},\"retry\":{\"attempts\":0,"
	"\"backoff\":\"1ms\",\"codes\":[500,503]},\"persistence\":{\"type\":\"cookie\","
	"\"name\":\"sid\",\"path\":\"/x\",\"lifetime\":\"1h0m0s\"}",
	"{\"name\":\"named\",\"path_prefix\":\"/p\",\"pool_idx\":1,\"strip_prefix\":false,"
	"\"filters\":{\"rewrite\":{\"hostname\":\"c\",\"path\":{\"type\":\"prefix\","
	"\"value\":\"/\"}}},\"persistence\":{\"type\":\"header\",\"name\":\"X-Sid\"}}",
	"{\"name\":\"full/2\",\"path_prefix\":\"/\",\"filters\":{\"redirect\":{\"scheme\":"
	"\"https\",\"hostname\":\"d\",\"path\":{\"type\":\"prefix\",\"value\":\"/y\"},"
	"\"port\":444,\"status\":308}}}",
	"\"pool_idx\":1,\"strip_prefix\":true,\"grpc_web\":true,\"timeouts\":{\"request\":"
	"\"0s\","
	"\"backend\":\"1s\"}}",
	"{\"name\":\"full/4\",\"path_prefix\":\"/\",\"backends\":[]}",
	"{\"name\":\"to\",\"path_prefix\":\"/\",\"filters\":{\"redirect\":{\"path\":{"
	"\"type\":\"full\",\"value\":\"/z\"},\"status\":301}}}",
	"\"default_route\":{\"name\":\"default\",\"path_prefix\":\"/\",\"backends\":[{"
	"\"pool\":\"tcp\",\"weight\":2}],\"filters\":{\"response_headers\":{\"set\":{"
	"\"a\":\"b\"}}}}",
};

static void everything_survives_the_way_to_json_and_back(void **state)
{
	struct loaded l = load_good(str_of(everything), ROUTER_YAML);
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_returns(&l.config, &out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_contains(&out, parts[i]);
	arena_free(l.arena);
}

/* The text of a private key is for another process alone; all others see whether it is the same. */
static void private_keys_are_hidden(void **state)
{
	static const char text[] =
		"listeners: [{name: l, address: ':1', tls: {certificates: ["
		"{certificate: /c, key: \"-----BEGIN PRIVATE KEY-----\\n%s\"}]}}]\n";
	_cleanup_(buf_free) struct buf plain = { 0 }, one = { 0 }, two = { 0 };
	char first[200], second[200];
	struct loaded a, b;

	snprintf(first, sizeof(first), text, "secret");
	snprintf(second, sizeof(second), text, "Secret");
	a = load_good(str_of(first), ROUTER_YAML);
	b = load_good(str_of(second), ROUTER_YAML);
	router_json_whole(&a.config, &plain);
	assert_contains(&plain, "PRIVATE KEY-----\\nsecret");
	router_json_config(&a.config, &one);
	assert_null(strstr(buf_cstr(&one), "secret"));
	assert_contains(&one, "\"key\":\"(hidden, digest ");
	one.n = 0;
	router_json_entry(&a.config, ROUTER_LISTENERS, 0, &one);
	router_json_entry(&b.config, ROUTER_LISTENERS, 0, &two);
	assert_null(strstr(buf_cstr(&one), "secret"));
	assert_string_not_equal(buf_cstr(&one), buf_cstr(&two));
	one.n = 0;
	router_json_entry_whole(&a.config, ROUTER_LISTENERS, 0, &one);
	assert_contains(&one, "PRIVATE KEY-----\\nsecret");
	arena_free(a.arena);
	arena_free(b.arena);
}

/* A pool as it is sent to a router: its key is there, and no number that another pool has given. */
static void a_pool_can_be_sent_alone(void **state)
{
	struct loaded l = load_good(STR("pools: [{name: p, servers: ['10.0.0.1:80'], tls: "
					"{certificate: /c, key: \"-----BEGIN K\"}}]\n"),
				    ROUTER_YAML);
	_cleanup_(buf_free) struct buf out = { 0 };

	router_json_entry_whole(&l.config, ROUTER_POOLS, 0, &out);
	assert_contains(&out, "\"key\":\"-----BEGIN K\"");
	assert_null(strstr(buf_cstr(&out), "idx"));
	arena_free(l.arena);
}

/* JSON is YAML, too, if it is read so. */
static void both_syntaxes_mean_the_same(void **state)
{
	struct loaded yaml = load_good(str_of(everything), ROUTER_YAML);
	_cleanup_(buf_free) struct buf text = { 0 }, again = { 0 };
	struct loaded json;

	router_json_config(&yaml.config, &text);
	json = load_good((struct str){ text.p, text.n }, ROUTER_YAML);
	router_json_config(&json.config, &again);
	assert_string_equal(buf_cstr(&text), buf_cstr(&again));
	arena_free(yaml.arena);
	arena_free(json.arena);
}

/* ---- random ones ---- */

static const char *pick(uint64_t *seed, const char *const *list, size_t n)
{
	return list[random_next(seed) % n];
}

#define PICK(seed, ...)                                                                            \
	pick((seed), (const char *const[]){ __VA_ARGS__ },                                         \
	     ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

#define TWO_MATCHES "matches: [{path: {value: /d}}, {headers: [{name: a, value: b}]}], "

/* Members of a rule, each of which may be absent. */
static void add_random_rule(uint64_t *seed, struct buf *out)
{
	buf_adds(out, PICK(seed, "", "path_prefix: /a, ", "path_prefix: /b/, ", "path_exact: /c, ",
			   "matches: [{method: PUT}], ", TWO_MATCHES));
	buf_adds(out, PICK(seed, "", "timeouts: {request: 1s}, ", "retry: {codes: [500]}, ",
			   "retry: {attempts: 2}, ", "persistence: {}, ",
			   "persistence: {type: header, name: x}, "));
	buf_adds(out, PICK(seed, "", "filters: {request_headers: {remove: [a]}}, ",
			   "filters: {mirrors: [{pool_idx: 0, percent: 100}]}, ",
			   "filters: {rewrite: {hostname: a}}, ", "filters: {rewrite: {}}, ",
			   "filters: {}, "));
	buf_adds(out, PICK(seed, "pool: p0", "pool_idx: 1", "backends: [{pool: p1}]",
			   "backends: [{pool: p1, weight: 0}, {invalid: true, weight: 3}]",
			   "backends: []"));
}

static void add_random_route(uint64_t *seed, size_t i, struct buf *out)
{
	size_t rules = random_next(seed) % 4;

	buf_printf(out, "- {name: r%zu, %s", i,
		   PICK(seed, "", "host: a.com, ", "hosts: [a.com], ", "hosts: ['*.a.com', b], ",
			"listeners: [l], "));
	if (!rules)
		add_random_rule(seed, out);
	else
		buf_adds(out, "rules: [");
	for (size_t r = 0; r < rules; r++) {
		buf_printf(out, "%s{%s", r ? ", " : "", PICK(seed, "", "name: r0, "));
		if (r && strstr(out->p + out->n - strlen("name: r0, "), "name"))
			out->n -= strlen("name: r0, ");
		add_random_rule(seed, out);
		buf_addc(out, '}');
	}
	buf_adds(out, rules ? "]}\n" : "}\n");
}

static void random_routes_survive_the_way_to_json_and_back(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		_cleanup_(buf_free) struct buf text = { 0 }, out = { 0 };
		uint64_t rest = seed;
		struct loaded l;

		buf_adds(&text, "listeners: [{name: l, address: ':1'}]\n"
				"pools: [{name: p0, servers: ['a:1']}, {name: p1, servers: []}]\n"
				"routes:\n");
		for (size_t i = 0; i < 5; i++)
			add_random_route(&rest, i, &text);
		l = load_good(str_of(buf_cstr(&text)), ROUTER_YAML);
		assert_returns(&l.config, &out);
		arena_free(l.arena);
	}
}

/* ---- errors ---- */

static void assert_error(const char *text, const char *want)
{
	struct loaded l = load(str_of(text), ROUTER_JSON);
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(l.r, -EINVAL);
	router_json_error(&l.errors, &l.doc, false, &out);
	assert_string_equal(buf_cstr(&out), want);
	arena_free(l.arena);
}

static void the_first_error_names_the_route(void **state)
{
	assert_error("{\"routes\": [{\"name\": \"api\", \"pool_idx\": 5}], \"pools\": "
		     "[{\"name\": \"a\", \"servers\": []}, {\"name\": \"b\", \"servers\": []}]}",
		     "{\"status\":\"error\",\"error\":\"InvalidPoolIndex\",\"message\":\"Route "
		     "'api' references pool_idx 5 but only 2 pools defined\"}");
	assert_error("{\"pools\": [{\"name\": \"p\", \"upstreams\": [{\"host\": \"h\", "
		     "\"port\": 0}]}]}",
		     "{\"status\":\"error\",\"error\":\"InvalidUpstream\",\"message\":\"Pool 'p': "
		     "upstreams[0].port: must be between 1 and 65535, not 0\"}");
	assert_error("{\"default_route\": {\"name\": \"d\", \"pool_idx\": 0}}",
		     "{\"status\":\"error\",\"error\":\"InvalidPoolIndex\",\"message\":\"Route 'd' "
		     "references pool_idx 0 but only 0 pools defined\"}");
	assert_error("{\"listeners\": [{\"name\": \"l\"}]}",
		     "{\"status\":\"error\",\"error\":\"InvalidListener\",\"message\":\"Listener "
		     "'l': address: is required\"}");
	assert_error("{\"allowed_hosts\": [\"*\"]}",
		     "{\"status\":\"error\",\"error\":\"InvalidHost\",\"message\":"
		     "\"allowed_hosts[0]: \\\"*\\\" is every host; leave the key out\"}");
	assert_error("{\"pools\": [{\"servers\": []}]}",
		     "{\"status\":\"error\",\"error\":\"MissingName\",\"message\":"
		     "\"pools[0].name: is required\"}");
}

static void errors_of_the_parser_have_names_too(void **state)
{
	assert_error("{\"routes\": [{\"name\": \"a\", \"pol\": 1}]}",
		     "{\"status\":\"error\",\"error\":\"UnknownKey\",\"message\":\"Route 'a': pol: "
		     "unknown key; did you mean 'pool'?\"}");
	assert_error("{\"routes\": 1}", "{\"status\":\"error\",\"error\":\"InvalidValue\","
					"\"message\":\"routes: must be a list, not a number\"}");
	assert_error("{\"routes\": ", "{\"status\":\"error\",\"error\":\"InvalidSyntax\","
				      "\"message\":\"line 1, column 12: a value is wanted, not the "
				      "end of the text\"}");
}

static void several_errors_are_listed(void **state)
{
	assert_error("{\"routes\": [{\"name\": \"a\"},\n{\"name\": \"a\", \"pool\": \"x\"}]}",
		     "{\"status\":\"error\",\"error\":\"MissingPool\",\"message\":\"Route 'a': "
		     "pool: is required, or pool_idx, backends or a redirect\",\"errors\":["
		     "{\"error\":\"MissingPool\",\"message\":\"Route 'a': pool: is required, or "
		     "pool_idx, backends or a redirect\",\"line\":1,\"column\":13},"
		     "{\"error\":\"DuplicateName\",\"message\":\"Route 'a': name: \\\"a\\\" occurs "
		     "twice\",\"line\":2,\"column\":10},"
		     "{\"error\":\"UnknownPool\",\"message\":\"Route 'a': pool: there is no pool "
		     "\\\"x\\\"\",\"line\":2,\"column\":23}]}");
}

/* ---- size ---- */

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void add_many(struct buf *out, size_t n)
{
	buf_adds(out, "{\"routes\": [");
	for (size_t i = 0; i < n; i++)
		buf_printf(out,
			   "%s{\"name\": \"namespace-%zu/route-%zu\", \"host\": "
			   "\"host-%zu.example.com\", \"path_prefix\": \"/api/v%zu/\", "
			   "\"pool_idx\": %zu, \"strip_prefix\": true, \"timeouts\": "
			   "{\"request\": \"10s\"}, \"filters\": {\"request_headers\": {\"set\": "
			   "{\"X-Route\": \"%zu\"}}}}",
			   i ? ",\n" : "", i % 100, i, i / 4, i % 4, i % 100, i);
	buf_adds(out, "], \"pools\": [");
	for (size_t i = 0; i < 100; i++)
		buf_printf(out, "%s{\"name\": \"pool-%zu\", \"servers\": [\"10.0.0.%zu:80\"]}",
			   i ? ", " : "", i, i + 1);
	buf_adds(out, "]}");
}

/* The times are shown; the bound is wide enough for a build with sanitizers on a busy machine. */
static void ten_thousand_routes_cost_little_time(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 }, out = { 0 };
	int64_t start, parsed, built, written;
	struct loaded l = { .arena = arena_new() };

	add_many(&text, 10000);
	l.errors.arena = l.warnings.arena = l.arena;
	start = now_us();
	assert_int_equal(router_doc_parse((struct str){ text.p, text.n }, ROUTER_JSON, l.arena,
					  &l.doc, &l.errors),
			 0);
	parsed = now_us();
	assert_int_equal(
		l7_config_build(&l.doc, l.arena, &calls, &l.config, &l.errors, &l.warnings), 0);
	built = now_us();
	router_json_config(&l.config, &out);
	written = now_us();
	print_message("# %zu bytes: parsed in %lld us, checked in %lld us, written in %lld us, "
		      "%zu KiB\n",
		      text.n, (long long)(parsed - start), (long long)(built - parsed),
		      (long long)(written - built), arena_used(l.arena) / 1024);
	assert_true(parsed - start < 2000000 && built - parsed < 2000000);
	arena_free(l.arena);
}

static char *entry(const char *text, enum router_entry kind, size_t i)
{
	struct loaded l = load_good(str_of(text), ROUTER_YAML);
	_cleanup_(buf_free) struct buf out = { 0 };
	char *copy;

	assert_true(i < router_json_entries(&l.config, kind));
	router_json_entry(&l.config, kind, i, &out);
	copy = strdup(buf_cstr(&out));
	arena_free(l.arena);
	return copy;
}

static void check_entries(const char *a, const char *b, enum router_entry kind, bool same)
{
	char *one = entry(a, kind, 0), *two = entry(b, kind, 0);

	assert_int_equal(strcmp(one, two) == 0, same);
	free(one);
	free(two);
}

/* The numbers of pools and servers depend on other entries: they must not count. */
static void an_entry_is_the_same_among_others(void **state)
{
	const char *alone = "routes: [{name: a, pool: p}]\n"
			    "pools: [{name: p, servers: ['10.0.0.1:80']}]";

	check_entries(alone,
		      "routes: [{name: a, pool: p}, {name: b, pool: q}]\n"
		      "pools: [{name: q, servers: ['10.0.0.1:80']},\n"
		      "        {name: p, servers: ['10.0.0.1:80']}]",
		      ROUTER_ROUTES, true);
	check_entries("pools: [{name: p, servers: ['10.0.0.2:80']}]",
		      "pools: [{name: p, upstreams: [{host: 10.0.0.2, port: 80, idx: 9}]}]",
		      ROUTER_POOLS, true);
	check_entries("allowed_hosts: [a]", "allowed_hosts: [a]", ROUTER_REST, true);
}

#define STREAMS(text)                                                                              \
	"listeners: [{name: l, address: ':1', protocol: tcp}]\n"                                   \
	"streams: [{name: s, listeners: [l], " text "}]\npools: [{name: p, servers: []}]"

#define SESSIONS(text)                                                                             \
	"listeners: [{name: l, address: ':1', protocol: udp}]\n"                                   \
	"streams: [{name: s, listeners: [l], " text "}]\npools: [{name: p, servers: []}]"

static void sessions_return(void **state)
{
	struct loaded l = load_good(str_of(SESSIONS("pool: p, answers: 3")), ROUTER_YAML);
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_returns(&l.config, &out);
	assert_contains(&out, "\"idle_timeout\":\"1m0s\",\"answers\":3}]");
	arena_free(l.arena);
}

static void streams_return(void **state)
{
	struct loaded l = load_good(str_of(STREAMS("backends: [{pool: p, weight: 2}, "
						   "{invalid: true}]")),
				    ROUTER_YAML);
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_returns(&l.config, &out);
	assert_contains(&out, "\"protocol\":\"tcp\"");
	assert_contains(&out, "\"streams\":[{\"name\":\"s\",\"listeners\":[\"l\"],\"backends\":"
			      "[{\"pool\":\"p\",\"weight\":2},{\"invalid\":true,\"weight\":1}],"
			      "\"idle_timeout\":\"1h0m0s\"}]");
	arena_free(l.arena);
}

static void a_stream_returns_with_its_hosts(void **state)
{
	struct loaded l = load_good(
		str_of("listeners: [{name: l, address: ':1', protocol: tcp, tls: {mode: "
		       "passthrough}}]\nstreams: [{name: s, listeners: [l], hosts: [a.com, '*.b'], "
		       "pool: p}]\npools: [{name: p, servers: []}]"),
		ROUTER_YAML);
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_returns(&l.config, &out);
	assert_contains(&out, "\"hosts\":[\"a.com\",\"*.b\"],\"pool_idx\":0");
	assert_contains(&out, "\"tls\":{\"mode\":\"passthrough\"");
	arena_free(l.arena);
}

static void an_entry_differs_if_a_key_does(void **state)
{
	static const struct {
		const char *a, *b;
		enum router_entry kind;
	} rows[] = {
		{ "routes: [{name: a, pool: p}]\npools: [{name: p, servers: []}]",
		  "routes: [{name: a, pool: q}]\npools: [{name: q, servers: []}]", ROUTER_ROUTES },
		{ "routes: [{name: a, pool: p}]\npools: [{name: p, servers: []}]",
		  "routes: [{name: a, pool: p, timeouts: {request: 1s}}]\n"
		  "pools: [{name: p, servers: []}]",
		  ROUTER_ROUTES },
		{ "pools: [{name: p, servers: []}]", "pools: [{name: p, servers: ['10.0.0.1:1']}]",
		  ROUTER_POOLS },
		{ "listeners: [{name: l, address: ':80'}]",
		  "listeners: [{name: l, address: ':81'}]", ROUTER_LISTENERS },
		{ "allowed_hosts: [a]", "allowed_hosts: [b]", ROUTER_REST },
		{ STREAMS("pool: p"), STREAMS("backends: [{pool: p}, {invalid: true}]"),
		  ROUTER_STREAMS },
		{ STREAMS("pool: p"), STREAMS("pool: p, idle_timeout: 1s"), ROUTER_STREAMS },
		{ SESSIONS("pool: p"), SESSIONS("pool: p, answers: 1"), ROUTER_STREAMS },
		{ STREAMS("pool: p"), "listeners: [{name: l, address: ':1', protocol: udp}]",
		  ROUTER_LISTENERS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_entries(rows[i].a, rows[i].b, rows[i].kind, false);
}

static void the_default_route_is_an_entry(void **state)
{
	char *text =
		entry("default_route: {pool: p}\npools: [{name: p, servers: []}]", ROUTER_REST, 1);

	assert_non_null(strstr(text, "\"pool\":\"p\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_the_same_among_others),
		cmocka_unit_test(streams_return),
		cmocka_unit_test(a_stream_returns_with_its_hosts),
		cmocka_unit_test(sessions_return),
		cmocka_unit_test(an_entry_differs_if_a_key_does),
		cmocka_unit_test(the_default_route_is_an_entry),
		cmocka_unit_test(the_shapes_are_those_of_the_admin_api),
		cmocka_unit_test(servers_may_have_a_state),
		cmocka_unit_test(nothing_is_a_configuration),
		cmocka_unit_test(everything_survives_the_way_to_json_and_back),
		cmocka_unit_test(private_keys_are_hidden),
		cmocka_unit_test(a_pool_can_be_sent_alone),
		cmocka_unit_test(both_syntaxes_mean_the_same),
		cmocka_unit_test(random_routes_survive_the_way_to_json_and_back),
		cmocka_unit_test(the_first_error_names_the_route),
		cmocka_unit_test(errors_of_the_parser_have_names_too),
		cmocka_unit_test(several_errors_are_listed),
		cmocka_unit_test(ten_thousand_routes_cost_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
