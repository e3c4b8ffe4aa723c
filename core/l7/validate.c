/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: the rules of a router's configuration.
 *
 *	validate_text.c		hosts, paths, headers, patterns
 *	validate_pool.c		pools
 *	validate_filter.c	filters of rules and backends
 *	validate_rule.c		routes and their rules
 *	validate_stream.c	streams
 *	this file		listeners, allowed hosts, the access log, and what is common
 *
 * An invalid value is reported once and then counts as not given: an entry keeps its name, so that
 * references to it resolve. Each complaint has a code for clients of the API: that of its section,
 * or one of its own where a client may want to tell it from others.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/validate_build.h"

#define NEAR_ERRORS 20 /* after this many errors, suggestions are left out */

/* ---- in common ---- */

struct str l7__keep(struct l7__build *b, const char *text)
{
	size_t n = strlen(text);

	return (struct str){ arena_strndup(b->arena, text, n), n };
}

const char *l7__name(struct l7__build *b, const struct rule_spot *spot, struct place at,
		     const struct doc_text *d, bool twice)
{
	if (!d->set) {
		rule_fail(&b->sink, L7__AS(spot, "MissingName"), "name", at, "is required");
		return "";
	}
	if (!rule_printable(&b->sink, L7__AS(spot, "InvalidName"), "name", d->at, d->v,
			    L7_NAME_MAX))
		return "";
	if (twice)
		rule_fail(&b->sink, L7__AS(spot, "DuplicateName"), "name", d->at, "%s occurs twice",
			  rule_quote(&b->sink, d->v));
	return arena_strdup(b->arena, d->v);
}

static const char *near_names(struct l7__build *b, const char *name, const struct l7__names *names)
{
	struct near near = { .wanted = str_of(name),
			     .limit = strlen(name) < 4 ? 1 : 2,
			     .max = NEAR_MAX };

	if (b->sink.errors->n >= NEAR_ERRORS)
		return "";
	for (size_t i = 0; i < names->n; i++) {
		const struct doc_text *d = (const void *)(names->docs + i * names->size);

		if (d->set)
			near_consider(&near, d->v);
	}
	return rule_near(&b->sink, &near);
}

size_t l7__find(struct l7__build *b, const struct rule_spot *spot, const char *word,
		const struct doc_text *d, const struct l7__names *names)
{
	const char *found = map_get(&names->map, d->v);

	if (found)
		return (size_t)(found - names->docs) / names->size;
	rule_fail(&b->sink, L7__AS(spot, names->code), word, d->at, "there is no %s %s%s",
		  names->what, rule_quote(&b->sink, d->v), near_names(b, d->v, names));
	return SIZE_MAX;
}

size_t l7__pool(struct l7__build *b, const struct rule_spot *spot, const struct doc_text *name,
		const struct doc_int *idx)
{
	if (name->set && idx->set) {
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "pool_idx", idx->at,
			  "must not be used together with pool");
		return L7_NO_POOL;
	}
	if (name->set)
		return l7__find(b, spot, "pool", name, &b->pools);
	if (idx->v >= 0 && (uint64_t)idx->v < b->pools.n)
		return (size_t)idx->v;
	rule_fail(&b->sink, L7__AS(spot, "InvalidPoolIndex"), NULL, idx->at,
		  "references pool_idx %lld but only %zu pool%s defined", (long long)idx->v,
		  b->pools.n, b->pools.n == 1 ? "" : "s");
	return L7_NO_POOL;
}

bool l7__few(struct l7__build *b, const struct rule_spot *spot, const char *word, struct place at,
	     size_t n, size_t max)
{
	if (n > max)
		rule_fail(&b->sink, L7__AS(spot, "TooMany"), word, at,
			  "has %zu entries; at most %zu are possible", n, max);
	return n <= max;
}

int l7__choose(struct l7__build *b, const struct rule_spot *spot, const struct rule_words *words,
	       const struct doc_text *d, int fallback)
{
	int found = d->set ? rule_choose(&b->sink, spot, words, d) : fallback;

	return found < 0 ? fallback : found;
}

/* ---- listeners ---- */

static const struct rule_spot listeners_spot = { .name = "listeners", .code = "InvalidListener" };

static void build_trusted(struct l7__build *b, const struct rule_spot *listener,
			  const struct doc_words *d, struct proxies *ret)
{
	const struct rule_spot spot = { .in = listener, .name = "trusted_proxies" };
	struct proxy *list = arena_array_of(b->arena, d->n, struct proxy);

	if (!l7__few(b, &spot, NULL, d->at, d->n, PROXIES_MAX))
		return;
	for (size_t i = 0; i < d->n; i++)
		if (proxy_parse(d->items[i].v, &list[i]) < 0)
			rule_fail(&b->sink, &(struct rule_spot){ .in = &spot, .index = i }, NULL,
				  d->items[i].at,
				  "%s must be an address or a prefix, for example 192.0.2.0/24",
				  rule_quote(&b->sink, d->items[i].v));
	*ret = (struct proxies){ .items = list, .n = d->n };
}

/* What is said about the client, and about the request itself. */
static void build_seeing(struct l7__build *b, const struct rule_spot *spot,
			 const struct l7_doc_listener *d, struct l7_listener *l)
{
	static const char *const policies[] = { [L7_FORWARDED_APPEND] = "append",
						[L7_FORWARDED_REPLACE] = "replace",
						[L7_FORWARDED_KEEP] = "keep",
						[L7_FORWARDED_DROP] = "drop" };
	static const char *const fields[] = { "x-forwarded", "forwarded", "both" };
	static const char *const tracing[] = {
		[L7_TRACING_PASS] = "pass", [L7_TRACING_CREATE] = "create", [L7_TRACING_OFF] = "off"
	};
	static const struct rule_words policy_words = { "forwarded", policies,
							ARRAY_SIZE(policies) },
				       field_words = { "forwarded_fields", fields,
						       ARRAY_SIZE(fields) },
				       tracing_words = { "tracing", tracing, ARRAY_SIZE(tracing) };
	static const struct rule_range percent = { "trace_percent", 0, 100, 100 };

	l->forwarded = (enum l7_forwarded)l7__choose(b, spot, &policy_words, &d->forwarded,
						     L7_FORWARDED_APPEND);
	l->fields = (enum l7_forwarded_fields)(l7__choose(b, spot, &field_words, &d->fields, 0) +
					       L7_X_FORWARDED);
	build_trusted(b, spot, &d->trusted, &l->trusted);
	l->tracing =
		(enum l7_tracing)l7__choose(b, spot, &tracing_words, &d->tracing, L7_TRACING_PASS);
	l->trace_percent = (unsigned)rule_number(&b->sink, spot, &percent, &d->trace_percent);
	l->server_timing = rule_flag(&d->server_timing, false);
	if (d->trace_percent.set && l->tracing != L7_TRACING_CREATE)
		rule_doubt(&b->sink, spot, "trace_percent", d->trace_percent.at,
			   "has no effect without tracing: create");
}

static enum l7_paths build_paths(struct l7__build *b, const struct rule_spot *spot,
				 const struct doc_text *d)
{
	static const char *const list[] = { [L7_PATHS_NORMALIZE] = "normalize",
					    [L7_PATHS_STRICT] = "strict",
					    [L7_PATHS_AS_IS] = "as-is" };
	static const struct rule_words words = { "paths", list, ARRAY_SIZE(list) };

	return (enum l7_paths)l7__choose(b, spot, &words, d, L7_PATHS_NORMALIZE);
}

/* What only requests have. The first key that has no effect is enough. */
static void doubt_keys(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_listener *d)
{
	const char *key = d->http2.set	     ? "http2"
			  : d->forwarded.set ? "forwarded"
			  : d->fields.set    ? "forwarded_fields"
			  : d->trusted.set && !rule_flag(&d->expect_proxy, false)
				  ? "trusted_proxies"
			  : d->tracing.set	 ? "tracing"
			  : d->server_timing.set ? "server_timing"
			  : d->paths.set	 ? "paths"
						 : NULL;

	if (key)
		rule_doubt(&b->sink, spot, key, d->at, "has no effect without protocol: http");
}

static void build_protocol(struct l7__build *b, const struct rule_spot *spot,
			   const struct l7_doc_listener *d, struct l7_listener *l)
{
	static const char *const list[] = {
		[L7_HTTP] = "http", [L7_TCP] = "tcp", [L7_UDP] = "udp"
	};
	static const struct rule_words words = { "protocol", list, ARRAY_SIZE(list) };

	l->protocol = (enum l7_protocol)l7__choose(b, spot, &words, &d->protocol, L7_HTTP);
	if (l->protocol == L7_HTTP) {
		l7__check_tls(b, spot, &d->tls, l);
		return;
	}
	doubt_keys(b, spot, d);
	if (l->host.n && !l7__has_tls(l))
		rule_fail(&b->sink, spot, "host", d->host.at,
			  "needs protocol: http or TLS: otherwise a client names no host");
	l7__check_tls(b, spot, &d->tls, l);
	if (l->expect_proxy && l->protocol == L7_UDP)
		rule_fail(&b->sink, spot, "expect_proxy", d->expect_proxy.at,
			  "is not possible with protocol: udp");
}

static void build_listener(struct l7__build *b, const struct l7_doc_listener *d,
			   struct l7_listener *l)
{
	const struct rule_spot spot = { .in = &listeners_spot,
					.index = (size_t)(d - b->doc->listeners) };
	bool twice = d->name.set && map_get(&b->listeners.map, d->name.v) != &d->name;

	l->name = l7__name(b, &spot, d->at, &d->name, twice);
	if (!d->address.set)
		rule_fail(&b->sink, &spot, "address", d->at, "is required");
	else if (endpoint_parse(d->address.v, &l->at) < 0)
		rule_fail(&b->sink, &spot, "address", d->address.at,
			  "%s must be address:port, for example 192.0.2.1:80, [2001:db8::1]:80 or "
			  ":80",
			  rule_quote(&b->sink, d->address.v));
	l->host = d->host.set ? l7__host(b, &spot, "host", &d->host, true) : STR("");
	l->expect_proxy = rule_flag(&d->expect_proxy, false);
	l->http2 = rule_flag(&d->http2, true);
	build_seeing(b, &spot, d, l);
	l->paths = build_paths(b, &spot, &d->paths);
	l7__build_tls(b, &spot, &d->tls, &l->tls);
	build_protocol(b, &spot, d, l);
}

/*
 * What listeners of one address must have in common. Connections that begin with TLS are told apart
 * by the host, whatever follows; all others are of the same protocol.
 */
static void compare_two(struct l7__build *b, const struct rule_spot *spot, struct place at,
			const struct l7_listener *l, const struct l7_listener *first)
{
	const char *other = rule_quote(&b->sink, first->name);

	if (first->expect_proxy != l->expect_proxy)
		rule_fail(&b->sink, spot, "expect_proxy", at,
			  "must be as for listener %s, which has the same address", other);
	if (first->http2 != l->http2 && !(l7__has_tls(first) && l7__has_tls(l)))
		rule_fail(&b->sink, spot, "http2", at,
			  "must be as for listener %s, which has the same address", other);
	if (l7__has_tls(first) != l7__has_tls(l))
		rule_fail(&b->sink, spot, "tls", at,
			  "must be as for listener %s, which has the same address: either all of "
			  "them have TLS, or none",
			  other);
	else if (first->protocol != l->protocol && !(l7__has_tls(first) && l7__has_tls(l)))
		rule_fail(&b->sink, spot, "protocol", at,
			  "must be as for listener %s, which has the same address, unless both "
			  "have TLS",
			  other);
}

/*
 * Listeners with one address share a socket, and are told apart by the host. Port 0 is any.
 * Datagrams have sockets of their own.
 */
static void compare_listener(struct l7__build *b, size_t i, struct map *sockets, struct map *hosts)
{
	const struct l7_listener *l = &b->config->listeners[i], *first;
	const struct rule_spot spot = { .in = &listeners_spot, .index = i };
	struct place at = b->doc->listeners[i].address.at;
	char address[ENDPOINT_STRLEN];
	const char *key, *both;

	if (!l->at.port)
		return;
	key = arena_printf(b->sink.scratch, "%s%s", l->protocol == L7_UDP ? "udp " : "",
			   endpoint_format(&l->at, address));
	both = arena_printf(b->sink.scratch, "%s %s", key, l->host.p);
	first = map_get(hosts, both);
	if (first) {
		rule_fail(&b->sink, L7__AS(&spot, "DuplicateListener"), "address", at,
			  "is the address of listener %s, which has the same host",
			  rule_quote(&b->sink, first->name));
		return;
	}
	map_put(hosts, both, (void *)(uintptr_t)l);
	first = map_get(sockets, key);
	if (!first)
		map_put(sockets, key, (void *)(uintptr_t)l);
	else
		compare_two(b, &spot, at, l, first);
}

static void build_listeners(struct l7__build *b)
{
	size_t n = b->doc->n_listeners;
	struct l7_listener *list = arena_array_of(b->arena, n, struct l7_listener);
	_cleanup_(map_free) struct map sockets = { 0 }, hosts = { 0 };

	b->config->listeners = list;
	b->config->n_listeners = n;
	for (size_t i = 0; i < n; i++)
		build_listener(b, &b->doc->listeners[i], &list[i]);
	for (size_t i = 0; i < n; i++)
		compare_listener(b, i, &sockets, &hosts);
}

/* ---- clients ---- */

static void build_clients(struct l7__build *b)
{
	static const struct rule_range connections = { "connections", 1, 1000000, L7_CLIENTS },
				       each = { "connections_each", 1, 1000000, 0 },
				       sessions = { "sessions", 1, 1000000, L7_SESSIONS },
				       sessions_each = { "sessions_each", 1, 1000000, 0 },
				       requests = { "requests", 0, 1000000000, 0 },
				       head = { "head_bytes", 1024, L7_CLIENT_HEAD,
						L7_CLIENT_HEAD },
				       fields = { "fields", 1, L7_CLIENT_FIELDS, L7_CLIENT_FIELDS },
				       body = { "body_bytes", 0, INT64_C(1) << 53, 0 },
				       rate = { "min_rate", 0, 1000000000, L7_CLIENT_RATE },
				       grace = { "grace", NSEC_PER_SEC, 3600 * NSEC_PER_SEC,
						 L7_CLIENT_GRACE };
	static const struct rule_spot spot = { .name = "clients", .code = "InvalidClients" };
	const struct l7_doc_clients *d = &b->doc->clients;
	struct l7_clients *c = &b->config->clients;

	c->given = d->set;
	c->connections = (unsigned)rule_number(&b->sink, &spot, &connections, &d->connections);
	c->each = (unsigned)rule_number(&b->sink, &spot, &each, &d->each);
	if (!c->each)
		c->each = c->connections / 4 ?: 1;
	c->sessions = (unsigned)rule_number(&b->sink, &spot, &sessions, &d->sessions);
	c->sessions_each =
		(unsigned)rule_number(&b->sink, &spot, &sessions_each, &d->sessions_each);
	if (!c->sessions_each)
		c->sessions_each = c->sessions / 4 ?: 1;
	c->requests = (unsigned)rule_number(&b->sink, &spot, &requests, &d->requests);
	c->head = (unsigned)rule_number(&b->sink, &spot, &head, &d->head);
	c->fields = (unsigned)rule_number(&b->sink, &spot, &fields, &d->fields);
	c->body = (uint64_t)rule_number(&b->sink, &spot, &body, &d->body);
	c->rate = (unsigned)rule_number(&b->sink, &spot, &rate, &d->rate);
	c->grace = rule_duration(&b->sink, &spot, &grace, &d->grace);
}

/* ---- allowed hosts ---- */

static void build_allowed(struct l7__build *b)
{
	static const struct rule_spot spot = { .name = "allowed_hosts" };
	const struct doc_words *d = &b->doc->allowed_hosts;
	struct str *list = arena_array_of(b->arena, d->n, struct str);

	for (size_t i = 0; i < d->n; i++)
		list[i] = l7__host(b, &(struct rule_spot){ .in = &spot, .index = i }, NULL,
				   &d->items[i], true);
	b->config->allowed_hosts = list;
	b->config->n_allowed_hosts = d->n;
}

/* ---- the access log ---- */

static void build_log(struct l7__build *b)
{
	static const struct rule_spot spot = { .name = "access_log", .code = "InvalidAccessLog" };
	static const struct rule_range slow = { "slow", 0, 3600 * NSEC_PER_SEC, 0 };
	const struct rule_spot headers = { .in = &spot,
					   .name = "headers",
					   .code = "InvalidHeader" };
	const struct l7_doc_access_log *d = &b->doc->access_log;
	struct l7_access_log *log = &b->config->log;
	struct str *list = arena_array_of(b->arena, d->headers.n, struct str);

	if (!d->set)
		return;
	log->enabled = true;
	l7__share(b, &spot, (struct l7__share){ &d->percent, &d->fraction }, &log->numerator,
		  &log->denominator);
	log->slow = rule_duration(&b->sink, &spot, &slow, &d->slow);
	log->failed = rule_flag(&d->failed, true);
	if (!l7__few(b, &headers, NULL, d->headers.at, d->headers.n, L7_LOGGED_MAX))
		return;
	for (size_t i = 0; i < d->headers.n; i++)
		list[i] = l7__token(b, &(struct rule_spot){ .in = &headers, .index = i }, NULL,
				    &d->headers.items[i]);
	log->headers = list;
	log->n_headers = d->headers.n;
}

/* ---- the document ---- */

/* The first of each name stays in the map, so that a later one is known as its duplicate. */
static struct l7__names collect(struct l7__names names)
{
	for (size_t i = names.n; i--;) {
		const struct doc_text *d = (const void *)(names.docs + i * names.size);

		if (d->set)
			map_put(&names.map, d->v, (void *)(uintptr_t)d);
	}
	return names;
}

static void collect_names(struct l7__build *b)
{
	b->pools = collect((struct l7__names){
		.what = "pool",
		.code = "UnknownPool",
		.docs = b->doc->n_pools ? (const char *)&b->doc->pools[0].name : "",
		.size = sizeof(struct l7_doc_pool),
		.n = b->doc->n_pools,
	});
	b->listeners = collect((struct l7__names){
		.what = "listener",
		.code = "UnknownListener",
		.docs = b->doc->n_listeners ? (const char *)&b->doc->listeners[0].name : "",
		.size = sizeof(struct l7_doc_listener),
		.n = b->doc->n_listeners,
	});
}

int l7_config_build(const struct l7_doc *doc, struct arena *arena, const struct l7_calls *calls,
		    struct l7_config *ret, struct errs *errors, struct errs *warnings)
{
	_cleanup_(arena_freep) struct arena *scratch = arena_new();
	struct l7_config config = { 0 };
	struct l7__build b = { .doc = doc,
			       .arena = arena,
			       .calls = calls,
			       .sink = { scratch, errors, warnings },
			       .config = &config };
	size_t before = errors->n + errors->dropped;

	assert(calls && calls->compile);
	collect_names(&b);
	build_listeners(&b);
	build_clients(&b);
	l7__build_pools(&b);
	l7__build_routes(&b);
	l7__build_streams(&b);
	build_allowed(&b);
	build_log(&b);
	map_free(&b.pools.map);
	map_free(&b.listeners.map);
	errs_sort(errors);
	errs_sort(warnings);
	if (errors->n + errors->dropped != before)
		return -EINVAL;
	*ret = config;
	return 0;
}
