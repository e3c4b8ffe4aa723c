/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of streams, and of protocols and TLS of listeners. */
#include "wire/router_doc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/config.h"

#define POOL "pools: [{name: p, servers: ['10.0.0.1:80']}]\n"
#define SERVED(text) "pools: [{name: p, servers: ['10.0.0.1:80'], " text "}]\n"
#define LISTENERS(text) "listeners: [" text "]\n"
#define STREAM(text)                                                                               \
	LISTENERS("{name: l, address: ':1', protocol: tcp}, {name: u, address: ':1', protocol: "   \
		  "udp}, {name: h, address: ':2'}")                                                \
	"streams: [{name: s, " text "}]\n" POOL

#define PASSED(text)                                                                               \
	LISTENERS("{name: l, address: ':1', protocol: tcp, tls: {mode: passthrough}}")             \
	"streams: [" text "]\n" POOL
#define TLS(text) LISTENERS("{name: l, address: ':1', tls: " text "}")
#define PAIR "certificates: [{certificate: /c, key: /k}]"

struct loaded {
	struct arena *arena;
	struct errs errors, warnings;
	struct l7_config config;
	int r;
};

static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	return (const void *)pattern;
}

/* The caller frees the arena. */
static struct loaded load(const char *text)
{
	static const struct l7_calls calls = { .compile = compile };
	struct loaded l = { .arena = arena_new() };
	struct l7_doc doc;

	l.errors.arena = l.warnings.arena = l.arena;
	assert_int_equal(router_doc_parse(str_of(text), ROUTER_YAML, l.arena, &doc, &l.errors), 0);
	l.r = l7_config_build(&doc, l.arena, &calls, &l.config, &l.errors, &l.warnings);
	return l;
}

static void assert_only(const struct errs *list, const char *complaint, const char *text)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	errs_print(list, "f", &out);
	if (list->n != 1 || !strstr(buf_cstr(&out), complaint))
		fail_msg("\"%s\" is wanted for\n%snot %s", complaint, text, buf_cstr(&out));
}

static const struct {
	const char *text, *code, *complaint;
} mistakes[] = {
	{ LISTENERS("{name: l, address: ':80', protocol: sctp}"), "InvalidListener",
	  "listeners[0].protocol: \"sctp\" is not one of http, tcp, udp" },
	{ LISTENERS("{name: l, address: ':80', protocol: tcp, host: a.com}"), "InvalidListener",
	  "listeners[0].host: needs protocol: http or TLS" },
	{ LISTENERS("{name: l, address: ':53', protocol: udp, expect_proxy: true}"),
	  "InvalidListener", "listeners[0].expect_proxy: is not possible with protocol: udp" },
	{ LISTENERS("{name: l, address: ':80', host: a}, {name: m, address: ':80', protocol: tcp}"),
	  "InvalidListener", "listeners[1].protocol: must be as for listener \"l\"" },

	{ STREAM("listeners: [l]"), "MissingPool", "streams[0].pool: is required" },
	{ STREAM("pool: p"), "InvalidStream", "streams[0].listeners: must name at least one" },
	{ STREAM("pool: p, listeners: [k]"), "UnknownListener",
	  "streams[0].listeners[0]: there is no listener \"k\"" },
	{ STREAM("pool: p, listeners: [h]"), "InvalidStream",
	  "streams[0].listeners[0]: listener \"h\" must have protocol: tcp or udp" },
	{ STREAM("pool: p, listeners: [l, u]"), "InvalidStream",
	  "streams[0].listeners[1]: must have the same protocol as listener \"l\"" },
	{ STREAM("pool: p, listeners: [l, l]"), "DuplicateStream",
	  "streams[0].listeners: listener \"l\" has stream \"s\" already" },
	{ STREAM("pool: p, listeners: [l], hosts: [a.com]"), "InvalidStream",
	  "streams[0].hosts: needs TLS at listener \"l\"" },
	{ STREAM("pool: p, listeners: [l], hosts: []"), "InvalidStream",
	  "streams[0].hosts: must have at least one host" },
	{ STREAM("pool: q, listeners: [l]"), "UnknownPool", "streams[0].pool" },
	{ STREAM("pool_idx: 1, listeners: [l]"), "InvalidPoolIndex", "but only 1 pool" },
	{ STREAM("pool: p, backends: [{pool: p}], listeners: [l]"), "ConflictingKeys",
	  "streams[0].backends: must not be used together" },
	{ STREAM("backends: [{weight: 1}], listeners: [l]"), "MissingPool",
	  "streams[0].backends[0].pool: is required" },
	{ STREAM("backends: [{pool: p, filters: {}}], listeners: [l]"), "InvalidBackend",
	  "streams[0].backends[0].filters: cannot be applied to a stream" },
	{ STREAM("pool: p, listeners: [l], answers: 1"), "InvalidStream",
	  "streams[0].answers: needs protocol: udp" },
	{ STREAM("pool: p, listeners: [l], idle_timeout: 0s"), "InvalidStream",
	  "streams[0].idle_timeout: must be" },
	{ STREAM("pool: p, listeners: [l]}, {name: s, pool: p, listeners: [u]"), "DuplicateName",
	  "streams[1].name: \"s\" occurs twice" },
	{ STREAM("pool: p, listeners: [l]}, {name: t, pool: p, listeners: [l]"), "DuplicateStream",
	  "streams[1].listeners: listener \"l\" has stream \"s\" already" },
	{ STREAM("pool: p, listeners: [l]") "routes: [{name: a, pool: p, listeners: [l]}]\n",
	  "InvalidRoute", "routes[0].listeners[0]: listener \"l\" must have protocol: http" },

	/* hosts of streams */
	{ PASSED("{name: s, listeners: [l], pool: p, hosts: ['a b']}"), "InvalidHost",
	  "streams[0].hosts[0]" },
	{ PASSED("{name: s, listeners: [l], pool: p, hosts: [a.com]}, "
		 "{name: t, listeners: [l], pool: p, hosts: [b.com, A.com]}"),
	  "DuplicateStream", "listener \"l\" has stream \"s\" already for host \"a.com\"" },
	{ PASSED("{name: s, listeners: [l], pool: p}, {name: t, listeners: [l], pool: p}"),
	  "DuplicateStream", "listener \"l\" has stream \"s\" already" },

	/* TLS of listeners */
	{ TLS("{}"), "InvalidTls", "listeners[0].tls.certificates: must have at least one entry" },
	{ TLS("{certificates: [{certificate: /c}]}"), "InvalidTls",
	  "listeners[0].tls.certificates[0].key: is required" },
	{ TLS("{certificates: [{certificate: '', key: /k}]}"), "InvalidTls",
	  "tls.certificates[0].certificate: must be the path of a file or PEM text" },
	{ TLS("{certificates: [{certificate: /c, key: /k, ocsp: '-----BEGIN X'}]}"), "InvalidTls",
	  "tls.certificates[0].ocsp: must be the path of a file" },
	{ TLS("{min_version: 1.1, " PAIR "}"), "InvalidTls",
	  "tls.min_version: \"1.1\" is not one of 1.2, 1.3" },
	{ TLS("{mode: both, " PAIR "}"), "InvalidTls",
	  "tls.mode: \"both\" is not one of terminate, passthrough" },
	{ TLS("{ciphers: [], " PAIR "}"), "InvalidTls", "tls.ciphers: must have at least one" },
	{ TLS("{ciphers: ['A:B'], " PAIR "}"), "InvalidTls", "tls.ciphers[0]: \"A:B\" must be" },
	{ TLS("{clients: {mode: require}, " PAIR "}"), "InvalidTls",
	  "tls.clients.ca: is required" },
	{ TLS("{clients: {mode: maybe, ca: /c}, " PAIR "}"), "InvalidTls",
	  "\"maybe\" is not one of require, optional, insecure-fallback" },
	{ TLS("{clients: {ca: /c, header: 'a b'}, " PAIR "}"), "InvalidTls", "tls.clients.header" },
	{ TLS("{mode: passthrough}"), "InvalidTls", "tls.mode: passthrough needs protocol: tcp" },
	{ LISTENERS("{name: l, address: ':1', protocol: tcp, tls: {mode: passthrough, " PAIR "}}"),
	  "InvalidTls", "tls.certificates: is not possible with mode: passthrough" },
	{ LISTENERS("{name: l, address: ':1', protocol: udp, tls: {" PAIR "}}"), "InvalidTls",
	  "listeners[0].tls: is not possible with protocol: udp" },
	{ LISTENERS("{name: l, address: ':1', tls: {" PAIR "}}, {name: m, address: ':1', host: a}"),
	  "InvalidListener", "listeners[1].tls: must be as for listener \"l\"" },
};

static void every_mistake_is_told_with_its_place_and_code(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct loaded l = load(mistakes[i].text);

		assert_int_equal(l.r, -EINVAL);
		assert_only(&l.errors, mistakes[i].complaint, mistakes[i].text);
		assert_string_equal(l.errors.items[0].code, mistakes[i].code);
		arena_free(l.arena);
	}
}

#define ENDED_TWICE                                                                                \
	LISTENERS("{name: l, address: ':1', protocol: tcp, tls: {mode: passthrough}}")             \
	"streams: [{name: s, listeners: [l], pool: p}]\n" SERVED("tls: {ca: /ca}")

/* What is taken, but probably not meant. */
static const struct {
	const char *text, *complaint;
} doubts[] = {
	{ LISTENERS("{name: l, address: ':1', protocol: tcp, paths: strict}"),
	  "listeners[0].paths: has no effect without protocol: http" },
	{ LISTENERS("{name: l, address: ':1', protocol: tcp, trusted_proxies: ['::1']}, {name: m, "
		    "address: ':2', protocol: tcp, trusted_proxies: ['::1'], expect_proxy: true}"),
	  "listeners[0].trusted_proxies: has no effect without protocol: http" },
	{ STREAM("listeners: [l], backends: [{pool: p, weight: 0}]"),
	  "streams[0].backends: has no weight, so every connection is closed" },
	{ LISTENERS("{name: l, address: ':1', protocol: tcp}") "streams: [{name: s, listeners: "
							       "[l], pool: p}]\n" SERVED(
								       "balance: maglev, hash_key: "
								       "'header:a'"),
	  "streams[0]: connections have no header or cookie" },
	{ ENDED_TWICE, "streams[0]: the servers of pool \"p\" get TLS within TLS" },
};

static void doubts_are_told_but_do_no_harm(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(doubts); i++) {
		struct loaded l = load(doubts[i].text);

		assert_int_equal(l.r, 0);
		assert_only(&l.warnings, doubts[i].complaint, doubts[i].text);
		arena_free(l.arena);
	}
}

static void datagrams_and_connections_have_addresses_of_their_own(void **state)
{
	struct loaded l =
		load(LISTENERS("{name: a, address: ':53', protocol: udp}, "
			       "{name: b, address: ':53', protocol: tcp}, {name: c, address: "
			       "':80'}") "streams: [{name: dns, listeners: [a], pool: p}, "
					 "{name: xfer, listeners: [b], "
					 "backends: [{pool: p, weight: 3}, {invalid: true}], "
					 "idle_timeout: 5s}]\n" POOL);
	const struct l7_stream *s = l.config.streams;

	assert_int_equal(l.config.n_streams, 2);
	assert_int_equal(l.config.listeners[0].protocol, L7_UDP);
	assert_int_equal(l.config.listeners[1].protocol, L7_TCP);
	assert_int_equal(l.config.listeners[2].protocol, L7_HTTP);
	assert_true(s[0].idle_timeout == L7_SESSION_IDLE);
	assert_true(s[1].idle_timeout == 5 * NSEC_PER_SEC);
	assert_int_equal(s[1].listeners[0], 1);
	assert_int_equal(s[1].n_backends, 2);
	assert_int_equal(s[1].backends[0].weight, 3);
	assert_true(s[1].backends[1].pool == L7_NO_POOL);
	arena_free(l.arena);
}

static void hosts_of_one_listener_may_belong_to_several_streams(void **state)
{
	struct loaded l =
		load(PASSED("{name: s, listeners: [l], pool: p, hosts: [A.com, '*.b.com']}, "
			    "{name: t, listeners: [l], pool: p}"));
	struct l7_stream_entries e;

	assert_int_equal(l.r, 0);
	e = l7_config_streams(&l.config, 0, l.arena);
	assert_int_equal(e.n, 3);
	assert_string_equal(e.entries[0].host.p, "a.com");
	assert_int_equal(e.streams[1], 0);
	assert_int_equal(e.entries[2].host.n, 0);
	assert_int_equal(e.streams[2], 1);
	arena_free(l.arena);
}

static void listeners_with_tls_share_an_address_whatever_their_protocol(void **state)
{
	struct loaded l = load(LISTENERS(
		"{name: w, address: ':1', host: a.com, tls: {" PAIR "}}, {name: r, address: ':1', "
		"host: b.com, protocol: tcp, tls: {" PAIR "}}, {name: l, address: ':1', protocol: "
		"tcp, tls: {mode: passthrough}}") POOL);

	assert_int_equal(l.r, 0);
	assert_int_equal(l.config.n_listeners, 3);
	arena_free(l.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mistake_is_told_with_its_place_and_code),
		cmocka_unit_test(doubts_are_told_but_do_no_harm),
		cmocka_unit_test(datagrams_and_connections_have_addresses_of_their_own),
		cmocka_unit_test(hosts_of_one_listener_may_belong_to_several_streams),
		cmocka_unit_test(listeners_with_tls_share_an_address_whatever_their_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
