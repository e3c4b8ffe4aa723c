/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a router's configuration, from its bytes to the configuration or its complaints. */
#include "wire/router_doc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/config.h"

static const char *example; /* the path of deploy/examples/router.yaml */

#define POOL "pools: [{name: p, servers: ['10.0.0.1:80']}]\n"
#define ROUTE(text) "routes: [{name: a, " text "}]\n" POOL
#define PLAIN(text) "routes: [{name: a, pool: p, " text "}]\n" POOL
#define FILTERS(text) PLAIN("filters: {" text "}")
#define MATCH(text) PLAIN("matches: [{" text "}]")
#define BACKENDS(text) "routes: [{name: a, backends: [" text "]}]\n" POOL
#define POOLED(text) "pools: [{name: p, " text "}]\n"
#define SERVED(text) POOLED("servers: ['10.0.0.1:80'], " text)
#define UPSTREAM(text) POOLED("upstreams: [{" text "}]")
#define LISTENERS(text) "listeners: [" text "]\n"

struct loaded {
	struct arena *arena;
	struct errs errors, warnings;
	struct l7_config config;
	int parsed, built;
};

/* A pattern compiles to itself, unless it has a bracket that nothing closes. */
static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	assert_string_equal(user, "user");
	if (!strchr(pattern, '(') || strchr(pattern, ')'))
		return (const void *)pattern;
	snprintf(reason, size, "missing )");
	return NULL;
}

/* The caller frees the arena. */
static struct loaded load(const char *text, enum router_syntax syntax)
{
	static char user[] = "user";
	static const struct l7_calls calls = { compile, user };
	struct loaded l = { .arena = arena_new(), .built = -EINVAL };
	struct l7_doc doc;

	l.errors.arena = l.warnings.arena = l.arena;
	l.parsed = router_doc_parse(str_of(text), syntax, l.arena, &doc, &l.errors);
	if (l.parsed == 0)
		l.built = l7_config_build(&doc, l.arena, &calls, &l.config, &l.errors, &l.warnings);
	return l;
}

/* Of a text without mistakes. */
static struct loaded load_good(const char *text, enum router_syntax syntax)
{
	struct loaded l = load(text, syntax);
	_cleanup_(buf_free) struct buf out = { 0 };

	errs_print(&l.errors, "f", &out);
	if (l.built < 0)
		fail_msg("%s\n%s", text, buf_cstr(&out));
	return l;
}

/* ---- every rule once ---- */

static const struct {
	const char *text, *code, *complaint;
} mistakes[] = {
	/* names */
	{ "routes: [{pool: p}]\n" POOL, "MissingName", "routes[0].name: is required" },
	{ "routes: [{name: '', pool: p}]\n" POOL, "InvalidName", "must not be empty" },
	{ "routes: [{name: a, pool: p}, {name: a, pool: p}]\n" POOL, "DuplicateName",
	  "routes[1].name: \"a\" occurs twice" },
	{ "pools: [{name: p, servers: []}, {name: p, servers: []}]\n", "DuplicateName",
	  "pools[1].name: \"p\" occurs twice" },
	{ "pools: [{servers: []}]\n", "MissingName", "pools[0].name: is required" },
	{ LISTENERS("{name: l, address: ':1'}, {name: l, address: ':2'}"), "DuplicateName",
	  "listeners[1].name: \"l\" occurs twice" },
	{ "routes: [{name: a, rules: [{name: r, pool: p}, {name: r, pool: p}]}]\n" POOL,
	  "DuplicateName", "routes[0].rules[1].name: \"r\" occurs twice" },

	/* listeners */
	{ LISTENERS("{name: l}"), "InvalidListener", "listeners[0].address: is required" },
	{ LISTENERS("{name: l, address: '80'}"), "InvalidListener", "must be address:port" },
	{ LISTENERS("{name: l, address: ':80', host: 'a b'}"), "InvalidHost",
	  "listeners[0].host: \"a b\" is not a host name or a wildcard" },
	{ LISTENERS("{name: l, address: ':80', forwarded: no}"), "InvalidListener",
	  "\"no\" is not one of append, replace, keep, drop" },
	{ LISTENERS("{name: l, address: ':80', forwarded_fields: all}"), "InvalidListener",
	  "\"all\" is not one of x-forwarded, forwarded, both" },
	{ LISTENERS("{name: l, address: ':80', tracing: yes}"), "InvalidListener",
	  "\"yes\" is not one of pass, create, off" },
	{ LISTENERS("{name: l, address: ':80', tracing: create, trace_percent: 101}"),
	  "InvalidListener", "listeners[0].trace_percent" },
	{ LISTENERS("{name: l, address: ':80', trusted_proxies: ['::1', 10.0.0.0/33]}"),
	  "InvalidListener",
	  "listeners[0].trusted_proxies[1]: \"10.0.0.0/33\" must be an address or a prefix" },
	/* the access log */
	{ "access_log: {percent: 101}\n", "InvalidAccessLog", "access_log.percent" },
	{ "access_log: {percent: 1, fraction: {numerator: 1}}\n", "ConflictingKeys",
	  "access_log.fraction: must not be used together with percent" },
	{ "access_log: {fraction: {numerator: 2, denominator: 1}}\n", "InvalidAccessLog",
	  "must not be larger than the denominator, which is 1" },
	{ "access_log: {headers: ['a b']}\n", "InvalidHeader", "access_log.headers[0]" },
	{ "access_log: {headers: [a, b, c, d, e, f, g, h, i]}\n", "TooMany", "at most 8" },
	{ LISTENERS("{name: l, address: ':80', host: A.b}, {name: m, address: ':80', host: a.B}"),
	  "DuplicateListener", "listeners[1].address: is the address of listener \"l\"" },
	{ LISTENERS("{name: l, address: ':80'}, {name: m, address: ':80', host: a, "
		    "expect_proxy: true}"),
	  "InvalidListener", "listeners[1].expect_proxy: must be as for listener \"l\"" },
	{ LISTENERS("{name: l, address: ':80'}, {name: m, address: ':80', host: a, http2: false}"),
	  "InvalidListener", "listeners[1].http2: must be as for listener \"l\"" },

	{ LISTENERS("{name: l, address: ':80', paths: loose}"), "InvalidListener",
	  "listeners[0].paths: \"loose\" is not one of normalize, strict, as-is" },

	/* clients */
	{ "clients: {connections: 0}\n", "InvalidClients",
	  "clients.connections: must be between 1" },
	{ "clients: {connections_each: 0}\n", "InvalidClients", "must be between 1" },
	{ "clients: {sessions: 0}\n", "InvalidClients", "clients.sessions: must be between 1" },
	{ "clients: {sessions_each: 0}\n", "InvalidClients", "must be between 1" },
	{ "clients: {requests: -1}\n", "InvalidClients", "must be between 0" },
	{ "clients: {head_bytes: 20000}\n", "InvalidClients", "must be between 1024 and 16384" },
	{ "clients: {fields: 101}\n", "InvalidClients", "must be between 1 and 100" },
	{ "clients: {body_bytes: -1}\n", "InvalidClients", "must be between 0" },
	{ "clients: {min_rate: -1}\n", "InvalidClients", "must be between 0" },
	{ "clients: {grace: 10ms}\n", "InvalidClients", "clients.grace: must be" },

	/* hosts */
	{ PLAIN("host: '*'"), "InvalidHost", "\"*\" is every host; leave the key out" },
	{ PLAIN("host: 'a.com:80'"), "InvalidHost", "must not have a port" },
	{ PLAIN("host: 'a.*.com'"), "InvalidHost", "is not a host name or a wildcard" },
	{ PLAIN("host: '*a.com'"), "InvalidHost", "is not a host name or a wildcard" },
	{ PLAIN("host: '*.'"), "InvalidHost", "is not a host name or a wildcard" },
	{ PLAIN("host: a..com"), "InvalidHost", "is not a host name or a wildcard" },
	{ PLAIN("host: -a.com"), "InvalidHost", "is not a host name or a wildcard" },
	{ PLAIN("host: a, hosts: [b]"), "ConflictingKeys",
	  "routes[0].hosts: must not be used together with host" },
	{ PLAIN("hosts: []"), "InvalidRoute", "must have at least one host" },
	{ PLAIN("hosts: [a, b_c]"), "InvalidHost", "routes[0].hosts[1]: \"b_c\" is not a host" },
	{ "allowed_hosts: [a, 'b:1']\n", "InvalidHost", "allowed_hosts[1]: \"b:1\" must not" },
	{ PLAIN("listeners: []"), "InvalidRoute", "must name at least one listener" },
	{ PLAIN("listeners: [wbe]") LISTENERS("{name: web, address: ':80'}"), "UnknownListener",
	  "routes[0].listeners[0]: there is no listener \"wbe\"; did you mean \"web\"?" },

	/* paths */
	{ PLAIN("path_prefix: x"), "InvalidPath",
	  "routes[0].path_prefix: \"x\" must start with '/'" },
	{ PLAIN("path_exact: ''"), "InvalidPath", "routes[0].path_exact: \"\" must start" },
	{ PLAIN("path_prefix: '/a?b'"), "InvalidPath", "characters that a path cannot have" },
	{ PLAIN("path_prefix: '/a b'"), "InvalidPath", "characters that a path cannot have" },
	{ PLAIN("path_prefix: '/%zz'"), "InvalidPath", "characters that a path cannot have" },
	{ PLAIN("path_prefix: '/a//b'"), "InvalidPath", "must not have '//'" },
	{ PLAIN("path_prefix: '/a/../b'"), "InvalidPath", "must not have '//', '/./' or '/../'" },
	{ PLAIN("path_prefix: '/a/..'"), "InvalidPath", "must not end with" },
	{ PLAIN("path_prefix: '/a%2Fb'"), "InvalidPath", "must not have an encoded '/'" },

	/* matches */
	{ PLAIN("path_prefix: /, matches: [{method: GET}]"), "ConflictingKeys",
	  "routes[0].matches: must not be used together with path_prefix" },
	{ MATCH("path: {type: glob, value: /}"), "InvalidMatch",
	  "routes[0].matches[0].path.type: \"glob\" is not one of exact, regex, prefix" },
	{ MATCH("path: {type: exact}"), "InvalidMatch", "path.value: is required" },
	{ MATCH("path: {type: regex, value: '('}"), "InvalidRegex",
	  "path.value: \"(\" is not a regular expression: missing )" },
	{ MATCH("path: {type: regex, value: ''}"), "InvalidRegex", "must have 1 to 1024 bytes" },
	{ MATCH("path: {value: x}"), "InvalidPath", "path.value: \"x\" must start with '/'" },
	{ MATCH("method: get"), "InvalidMatch", "\"get\" must be in capital letters" },
	{ MATCH("method: 'G T'"), "InvalidMatch", "\"G T\" is not a token" },
	{ MATCH("grpc: {service: a}, path: {value: /}"), "ConflictingKeys",
	  "routes[0].matches[0].grpc: must not be used together with path, method or queries" },
	{ MATCH("grpc: {}, method: POST"), "ConflictingKeys", "matches[0].grpc: must not" },
	{ MATCH("grpc: {}, queries: [{name: a, value: b}]"), "ConflictingKeys",
	  "matches[0].grpc: must not" },
	{ MATCH("grpc: {type: prefix}"), "InvalidMatch", "\"prefix\" is not one of exact, regex" },
	{ MATCH("grpc: {service: a/b}"), "InvalidMatch",
	  "grpc.service: \"a/b\" must be the name of a service of at most 500 bytes" },
	{ MATCH("grpc: {service: a..b}"), "InvalidMatch", "grpc.service: \"a..b\" must be" },
	{ MATCH("grpc: {service: a.}"), "InvalidMatch", "grpc.service: \"a.\" must be" },
	{ MATCH("grpc: {service: 1a}"), "InvalidMatch", "grpc.service: \"1a\" must be" },
	{ MATCH("grpc: {method: a.b}"), "InvalidMatch",
	  "grpc.method: \"a.b\" must be the name of a method" },
	{ MATCH("grpc: {type: regex, method: '('}"), "InvalidRegex",
	  "grpc.method: \"(\" is not a regular expression" },
	{ PLAIN("matches: [{grpc: {service: a}}], strip_prefix: true"), "InvalidMatch",
	  "routes[0].matches: must match by prefix only" },
	{ MATCH("headers: [{value: x}]"), "InvalidMatch", "headers[0].name: is required" },
	{ MATCH("headers: [{name: x}]"), "InvalidMatch", "headers[0].value: is required" },
	{ MATCH("headers: [{name: 'a b', value: x}]"), "InvalidMatch", "is not a token" },
	{ MATCH("headers: [{name: a, type: prefix, value: x}]"), "InvalidMatch",
	  "\"prefix\" is not one of exact, regex" },
	{ MATCH("queries: [{name: a, type: regex, value: '('}]"), "InvalidRegex",
	  "queries[0].value: \"(\" is not a regular expression" },
	{ MATCH("queries: [{name: '', value: x}]"), "InvalidMatch",
	  "queries[0].name: is required" },

	/* backends */
	{ "routes: [{name: a}]\n" POOL, "MissingPool",
	  "routes[0].pool: is required, or pool_idx, backends or a redirect" },
	{ "routes: [{name: api, pool_idx: 5}]\n" POOL, "InvalidPoolIndex",
	  "routes[0]: references pool_idx 5 but only 1 pool defined" },
	{ "routes: [{name: api, pool_idx: -1}]\n" POOL, "InvalidPoolIndex", "pool_idx -1" },
	{ "routes: [{name: a, pool: q}]\n" POOL, "UnknownPool",
	  "routes[0].pool: there is no pool \"q\"; did you mean \"p\"?" },
	{ PLAIN("pool_idx: 0"), "ConflictingKeys",
	  "routes[0].pool_idx: must not be used together with pool" },
	{ PLAIN("backends: [{pool: p}]"), "ConflictingKeys",
	  "routes[0].backends: must not be used together with pool" },
	{ BACKENDS("{weight: 1}"), "MissingPool", "backends[0].pool: is required" },
	{ BACKENDS("{pool: p, invalid: true}"), "ConflictingKeys",
	  "backends[0].invalid: must not be used together with a pool" },
	{ BACKENDS("{pool: p, weight: 1000001}"), "InvalidBackend",
	  "backends[0].weight: must be between 0 and 1000000, not 1000001" },
	{ BACKENDS("{pool: p, weight: -1}"), "InvalidBackend", "must be between 0 and 1000000" },
	{ BACKENDS("{pool_idx: 1}"), "InvalidPoolIndex",
	  "routes[0].backends[0]: references pool_idx 1 but only 1 pool defined" },
	{ BACKENDS("{pool: p, filters: {rewrite: {hostname: '*.a'}}}"), "InvalidHost",
	  "backends[0].filters.rewrite.hostname: \"*.a\" must not be a wildcard" },

	/* rules */
	{ PLAIN("rules: [{pool: p}]"), "ConflictingKeys",
	  "routes[0].pool: must be in a rule, because the route has rules" },
	{ "routes: [{name: a, rules: []}]\n", "InvalidRule", "must have at least one rule" },
	{ "default_route: {pool_idx: 0}\n", "InvalidPoolIndex",
	  "default_route: references pool_idx 0 but only 0 pools defined" },

	/* filters */
	{ FILTERS("request_headers: {set: {'a b': x}}"), "InvalidHeader",
	  "filters.request_headers.set: \"a b\" is not a token" },
	{ FILTERS("response_headers: {add: {A: 1, a: 2}}"), "InvalidHeader",
	  "filters.response_headers.add: \"a\" occurs twice" },
	{ FILTERS("request_headers: {remove: [A, a]}"), "InvalidHeader",
	  "filters.request_headers.remove: \"a\" occurs twice" },
	{ FILTERS("request_headers: {set: {a: \"x\\r\\ny: z\"}}"), "InvalidHeader",
	  "is not the value of a header" },
	{ FILTERS("request_headers: {set: {Host: a}}"), "InvalidHeader",
	  "\"Host\" is changed by rewrite.hostname" },
	{ FILTERS("response_headers: {remove: [Transfer-Encoding]}"), "InvalidHeader",
	  "belongs to the connection" },
	{ FILTERS("redirect: {scheme: https}"), "ConflictingKeys",
	  "routes[0].pool: must not be used together with a redirect" },
	{ ROUTE("backends: [{pool: p}], filters: {redirect: {scheme: https}}"), "ConflictingKeys",
	  "routes[0].backends: must not be used together with a redirect" },
	{ ROUTE("filters: {redirect: {scheme: ftp}}"), "InvalidRedirect",
	  "\"ftp\" is not one of http, https" },
	{ ROUTE("filters: {redirect: {port: 0}}"), "InvalidRedirect", "between 1 and 65535" },
	{ ROUTE("filters: {redirect: {scheme: https, status: 304}}"), "InvalidRedirect",
	  "must be 301, 302, 303, 307 or 308, not 304" },
	{ ROUTE("filters: {redirect: {path: {value: /x}}}"), "InvalidRedirect",
	  "redirect.path.type: is required: full or prefix" },
	{ ROUTE("filters: {redirect: {path: {type: full}}}"), "InvalidRedirect",
	  "redirect.path.value: is required" },
	{ ROUTE("filters: {redirect: {scheme: https}, rewrite: {hostname: b}}"), "ConflictingKeys",
	  "filters.rewrite: must not be used together with redirect" },
	{ PLAIN("path_exact: /x, filters: {rewrite: {path: {type: prefix, value: /y}}}"),
	  "InvalidMatch", "routes[0]: must match by prefix only" },
	{ PLAIN("matches: [{path: {type: regex, value: x}}], strip_prefix: true"), "InvalidMatch",
	  "routes[0].matches: must match by prefix only" },
	{ PLAIN("strip_prefix: true, filters: {rewrite: {path: {type: full, value: /y}}}"),
	  "ConflictingKeys", "routes[0].strip_prefix: must not be used together" },
	{ FILTERS("rewrite: {path: {type: suffix, value: /y}}"), "InvalidRewrite",
	  "\"suffix\" is not one of full, prefix" },
	{ FILTERS("mirrors: [{percent: 5}]"), "MissingPool", "mirrors[0].pool: is required" },
	{ FILTERS("mirrors: [{pool: p, percent: 101}]"), "InvalidMirror",
	  "mirrors[0].percent: must be between 0 and 100, not 101" },
	{ FILTERS("mirrors: [{pool: p, percent: 1, fraction: {numerator: 1}}]"), "ConflictingKeys",
	  "mirrors[0].fraction: must not be used together with percent" },
	{ FILTERS("mirrors: [{pool: p, fraction: {numerator: 3, denominator: 2}}]"),
	  "InvalidMirror", "must not be larger than the denominator, which is 2" },
	{ FILTERS("mirrors: [{pool: p, fraction: {denominator: 2}}]"), "InvalidMirror",
	  "fraction.numerator: is required" },
	{ FILTERS("mirrors: [{pool: p, fraction: {numerator: 0, denominator: 0}}]"),
	  "InvalidMirror", "fraction.denominator: must be between 1" },
	{ FILTERS("cors: {}"), "InvalidCors", "cors.allow_origins: is required" },
	{ FILTERS("cors: {allow_origins: [www.example.com]}"), "InvalidCors",
	  "cors.allow_origins[0]: \"www.example.com\" is not an origin" },
	{ FILTERS("cors: {allow_origins: ['https://a/x']}"), "InvalidCors", "is not an origin" },
	{ FILTERS("cors: {allow_origins: ['https://a:x']}"), "InvalidCors", "is not an origin" },
	{ FILTERS("cors: {allow_origins: ['*', 'https://a']}"), "InvalidCors",
	  "cors.allow_origins: must have \"*\" alone" },
	{ FILTERS("cors: {allow_origins: ['*'], allow_headers: ['a b']}"), "InvalidCors",
	  "cors.allow_headers[0]: \"a b\" is not a token" },
	{ FILTERS("cors: {allow_origins: ['*'], max_age: 1500ms}"), "InvalidCors",
	  "must be a whole number of seconds" },

	/* timeouts, retry, persistence */
	{ PLAIN("timeouts: {request: 1s, backend: 2s}"), "InvalidTimeout",
	  "timeouts.backend: must not be longer than request" },
	{ PLAIN("timeouts: {request: -1s}"), "InvalidTimeout", "must be at least 0s, not -1s" },
	{ PLAIN("retry: {codes: [399]}"), "InvalidRetry",
	  "retry.codes: \"399\" must be a status from 400 to 599" },
	{ PLAIN("retry: {codes: [5xx]}"), "InvalidRetry", "must be a status from 400 to 599" },
	{ PLAIN("retry: {attempts: 1001}"), "InvalidRetry", "must be between 0 and 1000" },
	{ PLAIN("persistence: {type: ip}"), "InvalidPersistence",
	  "\"ip\" is not one of cookie, header" },
	{ PLAIN("persistence: {type: header}"), "InvalidPersistence",
	  "persistence.name: is required with type: header" },
	{ PLAIN("persistence: {type: header, name: x, lifetime: 1s}"), "InvalidPersistence",
	  "persistence.lifetime: needs type: cookie" },
	{ PLAIN("persistence: {type: header, name: x, path: /}"), "InvalidPersistence",
	  "persistence.path: needs type: cookie" },
	{ PLAIN("persistence: {name: 'a b'}"), "InvalidPersistence", "is not a token" },
	{ PLAIN("persistence: {path: '/a;b'}"), "InvalidPersistence",
	  "persistence.path: must not contain ';'" },
	{ PLAIN("persistence: {path: x}"), "InvalidPath", "persistence.path: \"x\" must start" },
	{ PLAIN("persistence: {lifetime: 10ms}"), "InvalidPersistence", "whole number of seconds" },

	/* pools */
	{ "pools: [{name: p}]\n", "EmptyPool", "pools[0]: needs upstreams or servers" },
	{ POOLED("upstreams: [], servers: []"), "ConflictingKeys",
	  "pools[0].servers: must not be used together with upstreams" },
	{ POOLED("servers: [a]"), "InvalidUpstream",
	  "pools[0].servers[0]: \"a\" must be host:port" },
	{ POOLED("servers: ['a:0']"), "InvalidUpstream", "\"a:0\" must be host:port" },
	{ POOLED("servers: ['::1:80']"), "InvalidUpstream", "\"::1:80\" must be host:port" },
	{ POOLED("servers: ['a/b:80']"), "InvalidUpstream",
	  "\"a/b\" is neither an address nor a host name" },
	{ UPSTREAM("port: 1"), "InvalidUpstream", "pools[0].upstreams[0].host: is required" },
	{ UPSTREAM("host: a"), "InvalidUpstream", "pools[0].upstreams[0].port: is required" },
	{ UPSTREAM("host: a, port: 65536"), "InvalidUpstream", "between 1 and 65535" },
	{ UPSTREAM("host: 0.0.0.0, port: 1"), "InvalidUpstream", "is the unspecified address" },
	{ UPSTREAM("host: a, port: 1, weight: -1"), "InvalidUpstream", "between 0 and 1000000" },
	{ UPSTREAM("host: a, port: 1, idx: -1"), "InvalidUpstream", "idx: must be between 0" },
	{ UPSTREAM("host: a, port: 1, idx: 7}, {host: b, port: 1, idx: 7"),
	  "DuplicateUpstreamIndex", "pools[0].upstreams[1].idx: is already the idx of another" },
	{ UPSTREAM("host: a, port: 1, idx: 7}, {host: b, port: 1"), "InvalidUpstream",
	  "pools[0].upstreams[1].idx: must be set for all upstreams of a pool or for none" },
	{ SERVED("balance: fast"), "InvalidPool",
	  "\"fast\" is not one of round_robin, least_request, random, maglev" },
	{ SERVED("hash_key: source"), "InvalidPool", "hash_key: needs balance: maglev" },
	{ SERVED("balance: maglev, hash_key: path"), "InvalidPool",
	  "\"path\" must be source, header:NAME or cookie:NAME" },
	{ SERVED("balance: maglev, hash_key: 'header:'"), "InvalidPool", "is not a token" },
	{ SERVED("probe: {}, lb_config: {}"), "ConflictingKeys",
	  "pools[0].probe: must not be used together with lb_config" },
	{ SERVED("probe: {path: x}"), "InvalidPath", "probe.path: \"x\" must start with '/'" },
	{ SERVED("probe: {status: 200}"), "InvalidProbe", "probe.path: is required with a host" },
	{ SERVED("probe: {type: ftp}"), "InvalidProbe", "\"ftp\" is not one of http, grpc, tcp" },
	{ SERVED("probe: {type: tcp, path: /}"), "InvalidProbe", "probe.path: needs type: http" },
	{ SERVED("probe: {type: tcp, host: a}"), "InvalidProbe",
	  "probe.host: needs type: http or grpc" },
	{ SERVED("probe: {type: grpc, status: 200}"), "InvalidProbe",
	  "probe.status: needs type: http" },
	{ SERVED("probe: {path: /, service: a}"), "InvalidProbe",
	  "probe.service: needs type: grpc" },
	{ SERVED("probe: {path: /, status: 200-}"), "InvalidProbe",
	  "must be one status or a range" },
	{ SERVED("probe: {path: /, status: 300-200}"), "InvalidProbe", "one status or a range" },
	{ SERVED("probe: {path: /, status: 99}"), "InvalidProbe", "one status or a range" },
	{ SERVED("probe: {path: /, host: 'a:1'}"), "InvalidHost", "probe.host: \"a:1\"" },
	{ SERVED("probe: {interval: 1s, timeout: 2s}"), "InvalidProbe",
	  "probe.timeout: must not be longer than the interval" },
	{ SERVED("probe: {interval: 1ms}"), "InvalidProbe", "must be at least 10ms, not 1ms" },
	{ SERVED("probe: {rise: 0}"), "InvalidProbe", "probe.rise: must be between 1" },
	{ SERVED("probe: {fall: 0}"), "InvalidProbe", "probe.fall: must be between 1" },
	{ SERVED("lb_config: {probe_interval_ms: 0}"), "InvalidProbe",
	  "lb_config.probe_interval_ms: must be between 10 and 3600000, not 0" },
	{ SERVED("lb_config: {probe_interval_ms: 100, probe_timeout_ms: 200}"), "InvalidProbe",
	  "lb_config.probe_timeout_ms: must not be longer than the interval" },
	{ SERVED("lb_config: {unhealthy_threshold: 0}"), "InvalidProbe", "must be between 1" },
	{ SERVED("lb_config: {healthy_threshold: 0}"), "InvalidProbe", "must be between 1" },
	{ SERVED("lb_config: {health_path: '?a'}"), "InvalidPath",
	  "lb_config.health_path: \"\" must start with '/'" },
	{ SERVED("probe: {path: '/a?b c'}"), "InvalidPath",
	  "probe.path: \"/a?b c\" has characters that a query cannot have" },
	{ SERVED("lb_config: {health_path: healthz}"), "InvalidPath",
	  "lb_config.health_path: \"healthz\" must start with '/'" },
	{ SERVED("ejection: {failures: 0}"), "InvalidEjection", "must be between 1 and 1000" },
	{ SERVED("ejection: {time: 0s}"), "InvalidEjection", "must be at least 1ms, not 0s" },
	{ SERVED("ejection: {max_percent: 101}"), "InvalidEjection", "between 0 and 100" },
	{ SERVED("limits: {connections: -1}"), "InvalidLimits", "must be between 0" },
	{ SERVED("limits: {waiting: -1}"), "InvalidLimits", "must be between 0" },
	{ SERVED("limits: {wait: -1s}"), "InvalidLimits", "must be at least 0s" },
	{ SERVED("limits: {requests: -1}"), "InvalidLimits", "must be between 0" },
	{ SERVED("limits: {retries: 101}"), "InvalidLimits", "must be between 0 and 100" },
	{ SERVED("limits: {idle: -1}"), "InvalidLimits", "must be between 0" },
	{ SERVED("limits: {idle_time: -1s}"), "InvalidLimits", "must be at least 0s" },
	{ SERVED("connect_timeout: 0s"), "InvalidPool", "must be at least 1ms, not 0s" },
	{ SERVED("slow_start: -1s"), "InvalidPool", "must be at least 0s" },
	{ SERVED("protocol: h3"), "InvalidPool", "\"h3\" is not one of http1, h2, auto" },
	{ SERVED("protocol: auto"), "InvalidPool",
	  "protocol: auto needs TLS to all servers of the pool" },
	{ POOLED("protocol: auto, tls: {}, upstreams: [{host: a, port: 1, tls: false}]"),
	  "InvalidPool", "protocol: auto needs TLS to all servers of the pool" },
	{ SERVED("tls: {ca: ''}"), "InvalidTls", "tls.ca: must be the path of a file or PEM" },
	{ SERVED("tls: {certificate: /c}"), "InvalidTls", "tls.key: is required with" },
	{ SERVED("tls: {key: /k}"), "InvalidTls", "tls.certificate: is required with a key" },
	{ SERVED("tls: {name: '*.a'}"), "InvalidTls", "tls.name: \"*.a\" is neither an address" },
	{ SERVED("tls: {ca: /c, verify: false}"), "InvalidTls", "tls.ca: has no effect with" },
	{ SERVED("tls: {names: [a], verify: false}"), "InvalidTls", "tls.names: has no effect" },
	{ SERVED("tls: {names: []}"), "InvalidTls", "tls.names: must have at least one name" },
	{ SERVED("tls: {names: [a_b]}"), "InvalidHost", "tls.names[0]: \"a_b\" is not a host" },
	{ SERVED("tls: {names: ['a:b c']}"), "InvalidTls", "tls.names[0]" },
	{ SERVED("tls: {min_version: 1.1}"), "InvalidTls", "\"1.1\" is not one of 1.2, 1.3" },

	/* the parse phase */
	{ "routs: []\n", "UnknownKey", "routs: unknown key; did you mean 'routes'?" },
	{ PLAIN("path_prefx: /"), "UnknownKey",
	  "routes[0].path_prefx: unknown key; did you mean 'path_prefix'?" },
	{ "routes: [{name: a, pool_idx: '0'}]\n" POOL, "InvalidValue", "must be a whole number" },
};

static void every_mistake_is_told_with_its_place_and_code(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct loaded l = load(mistakes[i].text, ROUTER_YAML);
		_cleanup_(buf_free) struct buf out = { 0 };

		errs_print(&l.errors, "f", &out);
		assert_int_equal(l.built, -EINVAL);
		if (l.errors.n != 1 || !strstr(buf_cstr(&out), mistakes[i].complaint) ||
		    !l.errors.items[0].code ||
		    strcmp(l.errors.items[0].code, mistakes[i].code) != 0)
			fail_msg("%s: \"%s\" is wanted for\n%snot %s: %s", mistakes[i].code,
				 mistakes[i].complaint, mistakes[i].text,
				 l.errors.n ? l.errors.items[0].code : "", buf_cstr(&out));
		assert_true(l.errors.items[0].at.line > 0);
		arena_free(l.arena);
	}
}

/* What is taken, but probably not meant. */
static const struct {
	const char *text, *complaint;
} doubts[] = {
	{ ROUTE("filters: {redirect: {}}"), "filters.redirect: leads back to where" },
	{ FILTERS("rewrite: {}"), "filters.rewrite: changes nothing" },
	{ PLAIN("path_prefix: /a, path_exact: /b"), "path_prefix: has no effect with path_exact" },
	{ PLAIN("strip_prefix: true, path_exact: /b"), "strip_prefix: has no effect with" },
	{ BACKENDS("{pool: p, weight: 0}"), "backends: has no weight, so every request is" },
	{ BACKENDS(""), "backends: has no weight" },
	{ POOLED("upstreams: []"), "pools[0]: has no upstreams" },
	{ POOLED("servers: []"), "pools[0]: has no upstreams" },
	{ SERVED("tls: {verify: false}"),
	  "pools[0].tls.verify: lets any server pass for the right one" },
	{ MATCH("headers: [{name: A, value: x}, {name: a, value: y}]"),
	  "headers[1].name: occurs twice; only the first condition counts" },
};

static void doubts_are_told_but_do_no_harm(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(doubts); i++) {
		struct loaded l = load_good(doubts[i].text, ROUTER_YAML);
		_cleanup_(buf_free) struct buf out = { 0 };

		errs_print(&l.warnings, "f", &out);
		if (l.warnings.n != 1 || !strstr(buf_cstr(&out), doubts[i].complaint))
			fail_msg("\"%s\" is wanted for\n%snot %s", doubts[i].complaint,
				 doubts[i].text, buf_cstr(&out));
		arena_free(l.arena);
	}
}

/* ---- lists that are too long ---- */

static void add_times(struct buf *out, size_t n, const char *item)
{
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		buf_printf(out, "%s%zu%s", item, i, *item == '{' ? "}" : "");
	}
}

static void lists_have_bounds(void **state)
{
	static const struct {
		const char *start, *item, *end;
		size_t most;
	} lists[] = {
		{ "hosts: [", "h", "]", L7_ROUTE_HOSTS_MAX },
		{ "rules: [", "{pool_idx: 0, name: r", "]", L7_RULES_MAX },
		{ "matches: [", "{method: M", "]", L7_MATCHES_MAX },
		{ "matches: [{headers: [", "{value: x, name: h", "]}]", L7_CONDITIONS_MAX },
		{ "matches: [{queries: [", "{value: x, name: q", "]}]", L7_CONDITIONS_MAX },
		{ "backends: [", "{pool: p, weight: ", "]", L7_BACKENDS_MAX },
		{ "filters: {request_headers: {remove: [", "h", "]}}", L7_EDITS_MAX },
		{ "filters: {mirrors: [", "{pool: p, percent: ", "]}", L7_MIRRORS_MAX },
		{ "filters: {cors: {allow_origins: [", "https://h", "]}}", 64 },
		{ "filters: {cors: {allow_origins: ['*'], allow_methods: [", "M", "]}}", 9 },
		{ "filters: {cors: {allow_origins: ['*'], expose_headers: [", "h", "]}}", 64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t extra = 0; extra < 2; extra++) {
			_cleanup_(buf_free) struct buf text = { 0 };
			bool pooled = strstr(lists[i].start, "backends") ||
				      strstr(lists[i].start, "rules");
			struct loaded l;

			buf_printf(&text, "routes: [{name: a, %s%s", pooled ? "" : "pool: p, ",
				   lists[i].start);
			add_times(&text, lists[i].most + extra, lists[i].item);
			buf_printf(&text, "%s}]\n" POOL, lists[i].end);
			l = extra ? load(buf_cstr(&text), ROUTER_YAML)
				  : load_good(buf_cstr(&text), ROUTER_YAML);
			assert_int_equal(l.errors.n, extra);
			if (extra)
				assert_string_equal(l.errors.items[0].code, "TooMany");
			arena_free(l.arena);
		}
}

static void pools_have_a_bound(void **state)
{
	for (size_t extra = 0; extra < 2; extra++) {
		_cleanup_(buf_free) struct buf text = { 0 };
		struct loaded l;

		buf_adds(&text, "{\"pools\": [{\"name\": \"p\", \"servers\": [");
		for (size_t i = 0; i < L7_SERVERS_MAX + extra; i++)
			buf_printf(&text, "%s\"h:%zu\"", i ? "," : "", i % UINT16_MAX + 1);
		buf_adds(&text, "]}]}");
		l = load(buf_cstr(&text), ROUTER_JSON);
		assert_int_equal(l.errors.n, extra);
		if (extra)
			assert_string_equal(l.errors.items[0].code, "TooMany");
		arena_free(l.arena);
	}
}

static void texts_have_bounds(void **state)
{
	static const struct {
		const char *start, *end, *code;
		size_t most; /* of x between the two */
	} texts[] = {
		{ "name: ", "", "InvalidName", L7_NAME_MAX },
		{ "name: a, path_prefix: /", "", "InvalidPath", L7_PATH_MAX - 1 },
		{ "name: a, matches: [{path: {type: regex, value: ", "}}]", "InvalidRegex",
		  L7_PATH_MAX },
		{ "name: a, host: ", ".com", "InvalidHost", 63 },
		{ "name: a, matches: [{headers: [{name: a, value: ", "}]}]", "InvalidMatch", 4096 },
		{ "name: a, matches: [{queries: [{name: a, type: regex, value: ", "}]}]",
		  "InvalidRegex", 4096 },
		{ "name: a, filters: {request_headers: {set: {a: ", "}}}", "InvalidHeader", 4096 },
		{ "name: a, filters: {request_headers: {remove: [", "]}}", "InvalidHeader", 256 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t extra = 0; extra < 2; extra++) {
			_cleanup_(buf_free) struct buf text = { 0 };
			struct loaded l;

			buf_printf(&text, "routes: [{pool: p, %s", texts[i].start);
			for (size_t x = 0; x < texts[i].most + extra; x++)
				buf_addc(&text, 'x');
			buf_printf(&text, "%s}]\n" POOL, texts[i].end);
			l = extra ? load(buf_cstr(&text), ROUTER_YAML)
				  : load_good(buf_cstr(&text), ROUTER_YAML);
			assert_int_equal(l.errors.n, extra);
			if (extra)
				assert_string_equal(l.errors.items[0].code, texts[i].code);
			arena_free(l.arena);
		}
}

static void the_tables_have_a_bound(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct loaded l;

	/* 62 routes of 256 hosts and 64 matches are 1,015,808 entries */
	buf_adds(&text, "routes:\n- {name: r0, pool: p, hosts: &h [");
	add_times(&text, L7_ROUTE_HOSTS_MAX, "h");
	buf_adds(&text, "], matches: &m [");
	add_times(&text, L7_MATCHES_MAX, "{method: M");
	buf_adds(&text, "]}\n");
	for (size_t i = 1; i < 62; i++)
		buf_printf(&text, "- {name: r%zu, pool: p, hosts: *h, matches: *m}\n", i);
	buf_adds(&text, POOL);
	l = load(buf_cstr(&text), ROUTER_YAML);
	assert_int_equal(l.errors.n, 1);
	assert_string_equal(l.errors.items[0].code, "TooMany");
	assert_string_equal(l.errors.items[0].key, "routes[61]");
	arena_free(l.arena);
}

/* ---- what is allowed ---- */

static void all_mistakes_are_told_at_once_in_order(void **state)
{
	struct loaded l = load("pools: [{name: p, servers: [a]}]\n"
			       "routes:\n- {name: a, pool: q, path_prefix: x}\n- {pool: p}\n",
			       ROUTER_YAML);

	assert_int_equal(l.built, -EINVAL);
	assert_int_equal(l.errors.n, 4);
	assert_string_equal(l.errors.items[0].code, "InvalidUpstream");
	assert_string_equal(l.errors.items[1].code, "UnknownPool");
	assert_string_equal(l.errors.items[2].code, "InvalidPath");
	assert_string_equal(l.errors.items[3].code, "MissingName");
	arena_free(l.arena);
}

static void tls_of_a_pool_holds_for_each_server_that_does_not_differ(void **state)
{
	struct loaded l =
		load_good("pools: [{name: p, tls: {name: 192.0.2.1, names: ['a.b', "
			  "'urn:x']}, upstreams: [{host: a, port: 1}, {host: a, port: 2, "
			  "tls: false}]}, {name: q, upstreams: [{host: a, port: 1, tls: "
			  "true}]}, {name: r, tls: {}, protocol: auto, servers: ['a:1']}]\n",
			  ROUTER_YAML);
	const struct l7_pool *p = l.config.pools;

	assert_true(p[0].servers[0].tls && !p[0].servers[1].tls);
	assert_string_equal(p[0].tls.name, "192.0.2.1");
	assert_true(p[0].tls.n_names == 2 && !p[0].tls.names[0].uri && p[0].tls.names[1].uri);
	assert_string_equal(p[0].tls.names[1].value, "urn:x");
	assert_true(p[1].servers[0].tls && !p[1].tls.given && p[1].tls.verify);
	assert_true(p[2].servers[0].tls && p[2].protocol == L7_AUTO);
	arena_free(l.arena);
}

static void the_smallest_route_has_defaults(void **state)
{
	struct loaded l = load_good("routes: [{name: a, pool: p}]\n" POOL, ROUTER_YAML);
	const struct l7_rule *r = &l.config.routes[0].rules[0];
	const struct l7_pool *p = &l.config.pools[0];

	assert_int_equal(l.config.n_listeners, 0);
	assert_int_equal(l.config.clients.connections, L7_CLIENTS);
	assert_int_equal(l.config.clients.each, L7_CLIENTS / 4);
	assert_int_equal(l.config.clients.head, L7_CLIENT_HEAD);
	assert_int_equal(l.config.clients.grace, L7_CLIENT_GRACE);
	assert_null(l.config.fallback);
	assert_int_equal(l.config.routes[0].n_hosts, 0);
	assert_string_equal(r->name, "a");
	assert_true(r->n_matches == 1 && r->matches[0].kind == L7_PREFIX);
	assert_true(str_eq(r->matches[0].path, STR("/")));
	assert_true(r->n_backends == 1 && r->backends[0].pool == 0 && r->backends[0].weight == 1);
	assert_true(!r->filters.rewrite && !r->filters.redirect && !r->persistence.enabled);
	assert_true(!r->request_timeout && !r->try_timeout);
	assert_int_equal(r->retry.attempts, L7_RETRY_ATTEMPTS);
	assert_int_equal(r->retry.backoff, 25 * NSEC_PER_MSEC);
	assert_int_equal(r->retry.n_codes, 0);
	assert_string_equal(p->servers[0].host, "10.0.0.1");
	assert_true(p->servers[0].port == 80 && p->servers[0].weight == 1 && !p->servers[0].tls);
	assert_true(p->protocol == L7_HTTP1 && p->tls.verify && !p->tls.given && !p->tls.newest);
	assert_true(p->balance == L7_ROUND_ROBIN && !p->probe.enabled && !p->ejection.failures);
	assert_int_equal(p->limits.connections, 0);
	assert_int_equal(p->connect_timeout, 5 * NSEC_PER_SEC);
	assert_int_equal(l.warnings.n, 0);
	arena_free(l.arena);
}

/* From the design of the admin API, as it was sent. */
static const char update[] =
	"{\"routes\": [{\"name\": \"api\", \"host\": \"api.example.com\", "
	"\"path_prefix\": \"/api/\", \"pool_idx\": 0, \"strip_prefix\": true},"
	"{\"name\": \"static\", \"path_prefix\": \"/static/\", \"pool_idx\": 1, "
	"\"strip_prefix\": true}],"
	"\"default_route\": {\"name\": \"default\", \"path_prefix\": \"/\", \"pool_idx\": 0, "
	"\"strip_prefix\": false},"
	"\"pools\": [{\"name\": \"api-pool\", \"upstreams\": ["
	"{\"host\": \"10.0.1.5\", \"port\": 8001, \"idx\": 0, \"tls\": false},"
	"{\"host\": \"10.0.1.6\", \"port\": 8001, \"idx\": 1, \"tls\": false}],"
	"\"lb_config\": {\"enable_probing\": true, \"probe_interval_ms\": 5000, "
	"\"health_path\": \"/healthz\"}},"
	"{\"name\": \"static-pool\", \"upstreams\": ["
	"{\"host\": \"10.0.2.5\", \"port\": 9000, \"idx\": 2, \"tls\": false}],"
	"\"lb_config\": {\"enable_probing\": false}}]}";

static void the_update_of_the_admin_api_is_taken_as_it_is(void **state)
{
	struct loaded l = load_good(update, ROUTER_JSON);
	const struct l7_config *c = &l.config;
	const struct l7_rule *r = &c->routes[0].rules[0];

	assert_true(c->n_routes == 2 && c->n_pools == 2 && c->fallback && !l.warnings.n);
	assert_true(str_eq(c->routes[0].hosts[0], STR("api.example.com")));
	assert_true(str_eq(r->matches[0].path, STR("/api/")));
	assert_int_equal(r->filters.rewrite->edit, L7_PATH_PREFIX);
	assert_true(str_eq(r->filters.rewrite->path, STR("/")));
	assert_int_equal(c->routes[1].rules[0].backends[0].pool, 1);
	assert_string_equal(c->fallback->name, "default");
	assert_null(c->fallback->filters.rewrite);
	assert_int_equal(c->pools[0].servers[1].idx, 1);
	assert_true(c->pools[0].probe.enabled && !c->pools[1].probe.enabled);
	assert_int_equal(c->pools[0].probe.interval, 5 * NSEC_PER_SEC);
	assert_int_equal(c->pools[0].probe.timeout, 2 * NSEC_PER_SEC);
	assert_true(c->pools[0].probe.rise == 2 && c->pools[0].probe.fall == 3);
	assert_string_equal(c->pools[0].probe.path, "/healthz");
	arena_free(l.arena);
}

/* Members that are null are not there; path_exact goes before path_prefix. */
static void what_the_first_router_took_is_taken(void **state)
{
	struct loaded l = load_good(
		"{\"allowed_hosts\": [\"*.Example.com\"], \"routes\": [{\"name\": \"a\", "
		"\"path_prefix\": \"/a\", \"path_exact\": \"/b\", \"pool_idx\": 0, "
		"\"strip_prefix\": true, \"host\": null}], \"pools\": [{\"name\": \"p\", "
		"\"upstreams\": [{\"host\": \"h\", \"port\": 1, \"idx\": 63}], \"lb_config\": "
		"{\"enable_probing\": false, \"unhealthy_threshold\": 3, "
		"\"healthy_threshold\": 2, \"probe_interval_ms\": 5000, "
		"\"probe_timeout_ms\": 2000, \"health_path\": \"/\"}}]}",
		ROUTER_JSON);

	assert_int_equal(l.config.routes[0].n_hosts, 0);
	assert_int_equal(l.config.routes[0].rules[0].matches[0].kind, L7_EXACT);
	assert_null(l.config.routes[0].rules[0].filters.rewrite);
	assert_true(str_eq(l.config.allowed_hosts[0], STR("*.example.com")));
	assert_int_equal(l.config.pools[0].servers[0].idx, 63);
	assert_int_equal(l.warnings.n, 2);
	arena_free(l.arena);
}

static void a_pool_may_be_written_without_servers(void **state)
{
	struct loaded l = load_good("pools: [{name: p, upstreams: []}, {name: q, servers: []}]\n"
				    "routes: [{name: a, pool: p}, {name: b, backends: []}]\n",
				    ROUTER_YAML);

	assert_true(l.config.pools[0].n_servers == 0 && l.config.pools[1].n_servers == 0);
	assert_int_equal(l.config.routes[1].rules[0].n_backends, 0);
	assert_int_equal(l.warnings.n, 3);
	arena_free(l.arena);
}

static void probes_have_a_type(void **state)
{
	struct loaded l = load_good("pools: [{name: a, servers: ['x:1'], probe: {type: http}},"
				    "{name: b, servers: ['x:1'], probe: {type: grpc, service: ''}},"
				    "{name: c, servers: ['x:1'], probe: {type: tcp}},"
				    "{name: d, servers: ['x:1'], probe: {path: /x}},"
				    "{name: e, servers: ['x:1'], probe: {}}]\nroutes: []\n",
				    ROUTER_YAML);
	static const struct {
		enum l7_probe_type type;
		const char *path;
	} want[] = { { L7_PROBE_HTTP, "/" },
		     { L7_PROBE_GRPC, NULL },
		     { L7_PROBE_TCP, NULL },
		     { L7_PROBE_HTTP, "/x" },
		     { L7_PROBE_TCP, NULL } };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct l7_probe *p = &l.config.pools[i].probe;

		assert_int_equal(p->type, want[i].type);
		assert_true(cstr_eq(p->path, want[i].path));
		assert_null(p->service);
	}
	arena_free(l.arena);
}

static void calls_of_grpc_have_paths(void **state)
{
	static const struct {
		const char *text;
		enum l7_kind kind;
		const char *path;
	} rows[] = {
		{ "service: a.B, method: C", L7_EXACT, "/a.B/C" },
		{ "service: .a.B_1, method: _c", L7_EXACT, "/.a.B_1/_c" },
		{ "service: a.B", L7_PREFIX, "/a.B" },
		{ "service: a.B, method: ''", L7_PREFIX, "/a.B" },
		{ "method: C", L7_METHOD, "/C" },
		{ "", L7_PREFIX, "/" },
		{ "type: regex", L7_PREFIX, "/" },
		{ "type: regex, service: 'a.*'", L7_REGEX, "/a.*/[^/]+" },
		{ "type: regex, method: 'a.*'", L7_REGEX, "/[^/]+/a.*" },
		{ "type: regex, service: b, method: 'a.*'", L7_REGEX, "/b/a.*" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(cleanup_free) char *text = NULL;
		struct loaded l;
		const struct l7_match *m;

		assert_true(asprintf(&text,
				     "routes: [{name: a, pool: p, matches: [{grpc: {%s}}]}]\n" POOL,
				     rows[i].text) > 0);
		l = load_good(text, ROUTER_YAML);
		m = &l.config.routes[0].rules[0].matches[0];
		assert_non_null(m->grpc);
		assert_int_equal(m->kind, rows[i].kind);
		assert_true(str_eq(m->path, str_of(rows[i].path)));
		assert_true(m->kind != L7_REGEX || !m->grpc->method.n || m->grpc->method_regex);
		arena_free(l.arena);
	}
}

static void of_two_conditions_on_one_name_the_first_counts(void **state)
{
	struct loaded l = load_good(
		MATCH("headers: [{name: A, value: x}, {name: a, value: y}], "
		      "queries: [{name: q, value: x}, {name: Q, value: y}, {name: q, value: z}]"),
		ROUTER_YAML);
	const struct l7_match *m = &l.config.routes[0].rules[0].matches[0];

	assert_true(m->n_headers == 1 && m->n_queries == 2);
	assert_true(str_eq(m->headers[0].value, STR("x")));
	assert_int_equal(l.warnings.n, 2);
	arena_free(l.arena);
}

static void rules_have_names_by_their_number(void **state)
{
	struct loaded l = load_good("routes: [{name: a, rules: [{pool: p}, {name: x, pool: p}, "
				    "{pool: p}]}]\n" POOL,
				    ROUTER_YAML);
	const struct l7_rule *r = l.config.routes[0].rules;

	assert_string_equal(r[0].name, "a/0");
	assert_string_equal(r[1].name, "x");
	assert_string_equal(r[2].name, "a/2");
	arena_free(l.arena);
}

static void an_invalid_backend_keeps_its_share(void **state)
{
	struct loaded l = load_good(
		"routes: [{name: a, backends: [{pool: p, weight: 3}, {invalid: true}]}]\n" POOL,
		ROUTER_YAML);
	const struct l7_backend *b = l.config.routes[0].rules[0].backends;

	assert_true(b[0].pool == 0 && b[0].weight == 3);
	assert_true(b[1].pool == L7_NO_POOL && b[1].weight == 1);
	arena_free(l.arena);
}

static void an_address_may_have_one_listener_for_each_host(void **state)
{
	struct loaded l = load_good(
		LISTENERS("{name: a, address: ':80'}, {name: b, address: ':80', host: b.com}, "
			  "{name: c, address: '127.0.0.1:80'}, {name: d, address: ':0'}, "
			  "{name: e, address: ':0', forwarded: drop}") PLAIN("listeners: [e, b]"),
		ROUTER_YAML);

	assert_int_equal(l.config.n_listeners, 5);
	assert_int_equal(l.config.routes[0].listeners[0], 4);
	assert_int_equal(l.config.routes[0].listeners[1], 1);
	assert_int_equal(l.config.listeners[4].forwarded, L7_FORWARDED_DROP);
	arena_free(l.arena);
}

/* ---- the example, and size ---- */

static void the_shipped_example_is_ten_lines_without_warnings(void **state)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	FILE *f = fopen(example, "r");
	size_t lines = 0;
	struct loaded l;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF) {
		buf_addc(&text, (char)c);
		lines += c == '\n';
	}
	fclose(f);
	l = load_good(buf_cstr(&text), ROUTER_YAML);
	assert_int_equal(l.warnings.n, 0);
	assert_true(l.config.n_listeners && l.config.n_routes && l.config.n_pools);
	assert_true(lines <= 12); /* with the SPDX line and what it says about itself */
	arena_free(l.arena);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mistake_is_told_with_its_place_and_code),
		cmocka_unit_test(doubts_are_told_but_do_no_harm),
		cmocka_unit_test(lists_have_bounds),
		cmocka_unit_test(pools_have_a_bound),
		cmocka_unit_test(texts_have_bounds),
		cmocka_unit_test(the_tables_have_a_bound),
		cmocka_unit_test(all_mistakes_are_told_at_once_in_order),
		cmocka_unit_test(the_smallest_route_has_defaults),
		cmocka_unit_test(tls_of_a_pool_holds_for_each_server_that_does_not_differ),
		cmocka_unit_test(the_update_of_the_admin_api_is_taken_as_it_is),
		cmocka_unit_test(what_the_first_router_took_is_taken),
		cmocka_unit_test(a_pool_may_be_written_without_servers),
		cmocka_unit_test(probes_have_a_type),
		cmocka_unit_test(calls_of_grpc_have_paths),
		cmocka_unit_test(of_two_conditions_on_one_name_the_first_counts),
		cmocka_unit_test(rules_have_names_by_their_number),
		cmocka_unit_test(an_invalid_backend_keeps_its_share),
		cmocka_unit_test(an_address_may_have_one_listener_for_each_host),
		cmocka_unit_test(the_shipped_example_is_ten_lines_without_warnings),
	};

	if (argc != 2)
		return 2;
	example = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
