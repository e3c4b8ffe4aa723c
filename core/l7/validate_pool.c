/* SPDX-License-Identifier: Apache-2.0 */
/* The section pools. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/validate_build.h"

#define HOUR (3600 * NSEC_PER_SEC)
#define SERVER_BYTES 300 /* host and port */

static const struct rule_spot pools_spot = { .name = "pools", .code = "InvalidPool" };

/* ---- servers ---- */

static void build_upstream(struct l7__build *b, const struct rule_spot *spot,
			   const struct l7_doc_upstream *d, struct l7_server *s)
{
	static const struct rule_range port = { "port", 1, UINT16_MAX, 0 },
				       weight = { "weight", 0, L7_WEIGHT_MAX, 1 },
				       idx = { "idx", 0, UINT32_MAX, 0 };

	if (d->host.set)
		s->host = l7__server(b, spot, "host", &d->host);
	else
		rule_fail(&b->sink, spot, "host", d->at, "is required");
	s->port = (uint16_t)rule_number(&b->sink, spot, &port, &d->port);
	if (!d->port.set)
		rule_fail(&b->sink, spot, "port", d->at, "is required");
	s->weight = (uint32_t)rule_number(&b->sink, spot, &weight, &d->weight);
	s->tls = rule_flag(&d->tls, b->pool_tls);
	s->drain = rule_flag(&d->drain, false);
	s->idx = d->idx.set ? (uint32_t)rule_number(&b->sink, spot, &idx, &d->idx)
			    : (uint32_t)b->n_servers;
	b->n_servers++;
}

struct numbered {
	uint32_t idx;
	size_t at;
};

static int by_idx(const void *pa, const void *pb)
{
	const struct numbered *a = pa, *b = pb;

	if (a->idx != b->idx)
		return a->idx < b->idx ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Either all servers of a pool are numbered by the document or none is. */
static void compare_numbers(struct l7__build *b, const struct rule_spot *list,
			    const struct l7_doc_pool *d, const struct l7_server *servers)
{
	struct numbered *sorted = arena_array_of(b->sink.scratch, d->n_upstreams, struct numbered);

	for (size_t i = 0; i < d->n_upstreams; i++) {
		const struct rule_spot spot = { .in = list, .index = i };

		sorted[i] = (struct numbered){ servers[i].idx, i };
		if (d->upstreams[i].idx.set != d->upstreams[0].idx.set)
			rule_fail(&b->sink, &spot, "idx", d->upstreams[i].at,
				  "must be set for all upstreams of a pool or for none");
	}
	if (!d->n_upstreams || !d->upstreams[0].idx.set)
		return;
	qsort(sorted, d->n_upstreams, sizeof(*sorted), by_idx);
	for (size_t i = 1; i < d->n_upstreams; i++) {
		const struct rule_spot spot = { .in = list, .index = sorted[i].at };

		if (sorted[i - 1].idx == sorted[i].idx)
			rule_fail(&b->sink, L7__AS(&spot, "DuplicateUpstreamIndex"), "idx",
				  d->upstreams[sorted[i].at].idx.at,
				  "is already the idx of another upstream of this pool");
	}
}

static void build_upstreams(struct l7__build *b, const struct rule_spot *pool,
			    const struct l7_doc_pool *d, struct l7_pool *p)
{
	const struct rule_spot list = { .in = pool,
					.name = "upstreams",
					.code = "InvalidUpstream" };
	struct l7_server *servers;

	if (!l7__few(b, pool, "upstreams", d->at, d->n_upstreams, L7_SERVERS_MAX))
		return;
	servers = arena_array_of(b->arena, d->n_upstreams, struct l7_server);
	for (size_t i = 0; i < d->n_upstreams; i++)
		build_upstream(b, &(struct rule_spot){ .in = &list, .index = i }, &d->upstreams[i],
			       &servers[i]);
	compare_numbers(b, &list, d, servers);
	p->servers = servers;
	p->n_servers = d->n_upstreams;
}

/* "host:port", "192.0.2.1:80" or "[2001:db8::1]:80" */
static void build_server(struct l7__build *b, const struct rule_spot *spot,
			 const struct doc_text *d, struct l7_server *s)
{
	const char *colon = strrchr(d->v, ':');
	bool bracketed = colon && colon > d->v + 1 && *d->v == '[' && colon[-1] == ']';
	struct doc_text host = *d;
	uint64_t port = 0;

	*s = (struct l7_server){ .weight = 1, .tls = b->pool_tls, .idx = (uint32_t)b->n_servers++ };
	if (!rule_token(&b->sink, spot, NULL, d, SERVER_BYTES))
		return;
	if (!colon || str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0 || !port ||
	    (!bracketed && memchr(d->v, ':', (size_t)(colon - d->v)))) {
		rule_fail(&b->sink, spot, NULL, d->at,
			  "%s must be host:port, for example 192.0.2.1:8080 or [2001:db8::1]:8080",
			  rule_quote(&b->sink, d->v));
		return;
	}
	host.v = arena_strndup(b->sink.scratch, d->v + bracketed,
			       (size_t)(colon - d->v) - 2 * (size_t)bracketed);
	s->host = l7__server(b, spot, NULL, &host);
	s->port = (uint16_t)port;
}

static void build_servers(struct l7__build *b, const struct rule_spot *pool,
			  const struct doc_words *d, struct l7_pool *p)
{
	const struct rule_spot list = { .in = pool, .name = "servers", .code = "InvalidUpstream" };
	struct l7_server *servers;

	if (!l7__few(b, pool, "servers", d->at, d->n, L7_SERVERS_MAX))
		return;
	servers = arena_array_of(b->arena, d->n, struct l7_server);
	for (size_t i = 0; i < d->n; i++)
		build_server(b, &(struct rule_spot){ .in = &list, .index = i }, &d->items[i],
			     &servers[i]);
	p->servers = servers;
	p->n_servers = d->n;
}

/*
 * A list that was written empty is a pool whose servers are all gone, and is answered 503. One that
 * was not written is a mistake.
 */
static void build_members(struct l7__build *b, const struct rule_spot *spot,
			  const struct l7_doc_pool *d, struct l7_pool *p)
{
	if (d->upstreams && d->servers.set)
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "servers", d->servers.at,
			  "must not be used together with upstreams");
	else if (d->upstreams)
		build_upstreams(b, spot, d, p);
	else if (d->servers.set)
		build_servers(b, spot, &d->servers, p);
	else
		rule_fail(&b->sink, L7__AS(spot, "EmptyPool"), NULL, d->at,
			  "needs upstreams or servers");
	if ((d->upstreams && !d->n_upstreams) || (d->servers.set && !d->servers.n))
		rule_doubt(&b->sink, spot, NULL, d->at, "has no upstreams");
}

/* ---- balance ---- */

static void build_hash_key(struct l7__build *b, const struct rule_spot *spot,
			   const struct doc_text *d, struct l7_pool *p)
{
	static const struct {
		struct str start;
		enum l7_key key;
	} kinds[] = { { { "header:", 7 }, L7_KEY_HEADER }, { { "cookie:", 7 }, L7_KEY_COOKIE } };
	struct doc_text name = *d;

	if (p->balance != L7_MAGLEV)
		rule_fail(&b->sink, spot, "hash_key", d->at, "needs balance: maglev");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!str_starts(str_of(d->v), kinds[i].start))
			continue;
		name.v += kinds[i].start.n;
		p->key = kinds[i].key;
		p->key_name = l7__token(b, spot, "hash_key", &name).p;
		return;
	}
	if (strcmp(d->v, "source") != 0)
		rule_fail(&b->sink, spot, "hash_key", d->at,
			  "%s must be source, header:NAME or cookie:NAME",
			  rule_quote(&b->sink, d->v));
}

static void build_balance(struct l7__build *b, const struct rule_spot *spot,
			  const struct l7_doc_pool *d, struct l7_pool *p)
{
	static const char *const list[] = { [L7_ROUND_ROBIN] = "round_robin",
					    [L7_LEAST_REQUEST] = "least_request",
					    [L7_RANDOM_TWO] = "random",
					    [L7_MAGLEV] = "maglev" };
	static const struct rule_words words = { "balance", list, ARRAY_SIZE(list) };

	p->balance = (enum l7_balance)l7__choose(b, spot, &words, &d->balance, L7_ROUND_ROBIN);
	p->key = L7_KEY_SOURCE;
	if (d->hash_key.set)
		build_hash_key(b, spot, &d->hash_key, p);
}

/* ---- probes ---- */

/* A path with or without a query, as it is sent. */
static const char *build_target(struct l7__build *b, const struct rule_spot *spot, const char *word,
				const struct doc_text *d)
{
	const char *query = strchr(d->v, '?');
	struct doc_text path = *d;

	if (!query)
		return l7__path(b, spot, word, d).p;
	path.v = arena_strndup(b->sink.scratch, d->v, (size_t)(query - d->v));
	l7__path(b, spot, word, &path);
	for (const char *p = query; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == '#') {
			rule_fail(&b->sink, L7__AS(spot, "InvalidPath"), word, d->at,
				  "%s has characters that a query cannot have",
				  rule_quote(&b->sink, d->v));
			break;
		}
	return l7__keep(b, d->v).p;
}

/* "200" or "200-299" */
static void build_status(struct l7__build *b, const struct rule_spot *spot,
			 const struct doc_text *d, struct l7_probe *p)
{
	const char *dash = strchr(d->v, '-');
	struct str first = dash ? (struct str){ d->v, (size_t)(dash - d->v) } : str_of(d->v);
	struct str last = dash ? str_of(dash + 1) : first;
	uint64_t low, high;

	if (str_to_u64(first, 599, &low) == 0 && str_to_u64(last, 599, &high) == 0 && low >= 100 &&
	    high >= low) {
		p->low = (unsigned)low;
		p->high = (unsigned)high;
		return;
	}
	rule_fail(&b->sink, spot, "status", d->at,
		  "%s must be one status or a range such as 200-299, from 100 to 599",
		  rule_quote(&b->sink, d->v));
}

static void check_times(struct l7__build *b, const struct rule_spot *spot, const char *word,
			struct place at, const struct l7_probe *p)
{
	if (p->timeout > p->interval)
		rule_fail(&b->sink, spot, word, at, "must not be longer than the interval");
}

/* A key that only one type of probes has, or two. */
static void needs_type(struct l7__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d, const char *types)
{
	if (d->set)
		rule_fail(&b->sink, spot, word, d->at, "needs type: %s", types);
}

/* Without a type, a path makes the difference. */
static void build_type(struct l7__build *b, const struct rule_spot *spot,
		       const struct l7_doc_probe *d, struct l7_probe *p)
{
	static const char *const list[] = {
		[L7_PROBE_HTTP] = "http", [L7_PROBE_GRPC] = "grpc", [L7_PROBE_TCP] = "tcp"
	};
	static const struct rule_words words = { "type", list, ARRAY_SIZE(list) };
	enum l7_probe_type usual = d->path.set ? L7_PROBE_HTTP : L7_PROBE_TCP;

	p->type = (enum l7_probe_type)l7__choose(b, spot, &words, &d->type, (int)usual);
	if (p->type != L7_PROBE_GRPC)
		needs_type(b, spot, "service", &d->service, "grpc");
	if (!d->type.set) {
		if (!d->path.set && (d->host.set || d->status.set))
			rule_fail(&b->sink, spot, "path", d->at,
				  "is required with a host or status");
		return;
	}
	if (p->type != L7_PROBE_HTTP) {
		needs_type(b, spot, "path", &d->path, "http");
		needs_type(b, spot, "status", &d->status, "http");
	}
	if (p->type == L7_PROBE_TCP)
		needs_type(b, spot, "host", &d->host, "http or grpc");
}

static const char *build_service(struct l7__build *b, const struct rule_spot *spot,
				 const struct doc_text *d)
{
	if (!d->set || !*d->v)
		return NULL;
	if (strlen(d->v) > L7_GRPC_NAME_MAX)
		rule_fail(&b->sink, spot, "service", d->at, "is longer than %d bytes",
			  L7_GRPC_NAME_MAX);
	return l7__keep(b, d->v).p;
}

static void build_probe(struct l7__build *b, const struct rule_spot *pool,
			const struct l7_doc_probe *d, struct l7_probe *p)
{
	static const struct rule_range interval = { "interval", 10 * NSEC_PER_MSEC, HOUR,
						    L7_PROBE_INTERVAL },
				       timeout = { "timeout", NSEC_PER_MSEC, HOUR,
						   L7_PROBE_TIMEOUT },
				       rise = { "rise", 1, 1000, 2 }, fall = { "fall", 1, 1000, 3 };
	const struct rule_spot spot = { .in = pool, .name = "probe", .code = "InvalidProbe" };

	p->enabled = true;
	p->interval = rule_duration(&b->sink, &spot, &interval, &d->interval);
	p->timeout = rule_duration(&b->sink, &spot, &timeout, &d->timeout);
	if (!d->timeout.set && p->timeout > p->interval)
		p->timeout = p->interval;
	check_times(b, &spot, "timeout", d->timeout.at, p);
	p->rise = (unsigned)rule_number(&b->sink, &spot, &rise, &d->rise);
	p->fall = (unsigned)rule_number(&b->sink, &spot, &fall, &d->fall);
	build_type(b, &spot, d, p);
	if (p->type == L7_PROBE_HTTP)
		p->path = d->path.set ? build_target(b, &spot, "path", &d->path) : "/";
	p->service = build_service(b, &spot, &d->service);
	p->host = d->host.set ? l7__host(b, &spot, "host", &d->host, false).p : NULL;
	if (d->status.set)
		build_status(b, &spot, &d->status, p);
}

/* The older form of probes: numbers of milliseconds, and off unless it says otherwise. */
static void build_lb_config(struct l7__build *b, const struct rule_spot *pool,
			    const struct l7_doc_lb_config *d, struct l7_probe *p)
{
	static const struct rule_range interval = { "probe_interval_ms", 10, 3600000,
						    L7_PROBE_INTERVAL / NSEC_PER_MSEC },
				       timeout = { "probe_timeout_ms", 1, 3600000,
						   L7_PROBE_TIMEOUT / NSEC_PER_MSEC },
				       rise = { "healthy_threshold", 1, 1000, 2 },
				       fall = { "unhealthy_threshold", 1, 1000, 3 };
	const struct rule_spot spot = { .in = pool, .name = "lb_config", .code = "InvalidProbe" };

	p->enabled = rule_flag(&d->enable, false);
	p->interval = rule_number(&b->sink, &spot, &interval, &d->interval_ms) * NSEC_PER_MSEC;
	p->timeout = rule_number(&b->sink, &spot, &timeout, &d->timeout_ms) * NSEC_PER_MSEC;
	if (!d->timeout_ms.set && p->timeout > p->interval)
		p->timeout = p->interval;
	check_times(b, &spot, "probe_timeout_ms", d->timeout_ms.at, p);
	p->rise = (unsigned)rule_number(&b->sink, &spot, &rise, &d->healthy);
	p->fall = (unsigned)rule_number(&b->sink, &spot, &fall, &d->unhealthy);
	p->path = d->path.set ? build_target(b, &spot, "health_path", &d->path) : "/";
}

static void build_probing(struct l7__build *b, const struct rule_spot *spot,
			  const struct l7_doc_pool *d, struct l7_pool *p)
{
	static const struct l7_doc_lb_config none;

	p->probe.low = L7_PROBE_LOW;
	p->probe.high = L7_PROBE_HIGH;
	if (d->probe.set && d->lb_config.set)
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "probe", d->probe.at,
			  "must not be used together with lb_config");
	else if (d->probe.set)
		build_probe(b, spot, &d->probe, &p->probe);
	else
		build_lb_config(b, spot, d->lb_config.set ? &d->lb_config : &none, &p->probe);
}

/* ---- ejection, limits ---- */

static void build_ejection(struct l7__build *b, const struct rule_spot *pool,
			   const struct l7_doc_ejection *d, struct l7_ejection *e)
{
	static const struct rule_range failures = { "failures", 1, 1000, 5 },
				       time = { "time", NSEC_PER_MSEC, HOUR, 10 * NSEC_PER_SEC },
				       most = { "max_percent", 0, 100, 50 };
	const struct rule_spot spot = { .in = pool, .name = "ejection", .code = "InvalidEjection" };

	if (d->set)
		e->failures = (unsigned)rule_number(&b->sink, &spot, &failures, &d->failures);
	e->time = rule_duration(&b->sink, &spot, &time, &d->time);
	e->most = (unsigned)rule_number(&b->sink, &spot, &most, &d->most);
}

static void build_limits(struct l7__build *b, const struct rule_spot *pool,
			 const struct l7_doc_limits *d, struct l7_limits *l)
{
	static const struct rule_range connections = { "connections", 0, 1000000, 0 },
				       waiting = { "waiting", 0, 1000000, L7_LIMIT_WAITING },
				       wait = { "wait", 0, HOUR, L7_LIMIT_WAIT },
				       requests = { "requests", 0, 1000000, 0 },
				       retries = { "retries", 0, 100, L7_LIMIT_RETRIES },
				       idle = { "idle", 0, 100000, L7_LIMIT_IDLE },
				       idle_time = { "idle_time", 0, HOUR, L7_LIMIT_IDLE_TIME };
	const struct rule_spot spot = { .in = pool, .name = "limits", .code = "InvalidLimits" };

	l->connections = (unsigned)rule_number(&b->sink, &spot, &connections, &d->connections);
	l->waiting = (unsigned)rule_number(&b->sink, &spot, &waiting, &d->waiting);
	l->wait = rule_duration(&b->sink, &spot, &wait, &d->wait);
	l->requests = (unsigned)rule_number(&b->sink, &spot, &requests, &d->requests);
	l->retries = (unsigned)rule_number(&b->sink, &spot, &retries, &d->retries);
	l->idle = (unsigned)rule_number(&b->sink, &spot, &idle, &d->idle);
	l->idle_time = rule_duration(&b->sink, &spot, &idle_time, &d->idle_time);
}

/* ---- TLS ---- */

/* The path of a file, or text that begins like PEM. Whether it can be used is found out later. */
static void build_pem(struct l7__build *b, const struct rule_spot *spot, const char *word,
		      const struct doc_text *d, struct l7_pem *ret)
{
	if (!d->set)
		return;
	if (!*d->v || strlen(d->v) > L7_PEM_MAX)
		rule_fail(&b->sink, spot, word, d->at,
			  "must be the path of a file or PEM text of at most 1 MiB");
	else
		ret->given = l7__keep(b, d->v).p;
}

/* DNS names have no colon. */
static void build_tls_name(struct l7__build *b, const struct rule_spot *spot,
			   const struct doc_text *d, struct l7_tls_name *ret)
{
	ret->uri = strchr(d->v, ':');
	if (!ret->uri)
		ret->value = l7__host(b, spot, NULL, d, false).p;
	else if (rule_token(&b->sink, spot, NULL, d, L7_NAME_MAX))
		ret->value = l7__keep(b, d->v).p;
}

static void build_tls_names(struct l7__build *b, const struct rule_spot *tls,
			    const struct doc_words *d, struct l7_pool_tls *t)
{
	const struct rule_spot list = { .in = tls, .name = "names" };
	struct l7_tls_name *names;

	if (!d->set || !l7__few(b, tls, "names", d->at, d->n, L7_TLS_NAMES_MAX))
		return;
	if (!d->n)
		rule_fail(&b->sink, tls, "names", d->at, "must have at least one name");
	names = arena_array_of(b->arena, d->n, struct l7_tls_name);
	for (size_t i = 0; i < d->n; i++)
		build_tls_name(b, &(struct rule_spot){ .in = &list, .index = i }, &d->items[i],
			       &names[i]);
	t->names = names;
	t->n_names = d->n;
}

/* Authorities and names have no effect if nothing is verified: that is not meant. */
static void check_verify(struct l7__build *b, const struct rule_spot *spot,
			 const struct l7_doc_pool_tls *d, const struct l7_pool_tls *t)
{
	if (!t->verify && d->ca.set)
		rule_fail(&b->sink, spot, "ca", d->ca.at, "has no effect with verify: false");
	if (!t->verify && d->names.set)
		rule_fail(&b->sink, spot, "names", d->names.at, "has no effect with verify: false");
	if (!t->verify && !d->ca.set && !d->names.set)
		rule_doubt(&b->sink, spot, "verify", d->verify.at,
			   "lets any server pass for the right one");
	if (d->certificate.set && !d->key.set)
		rule_fail(&b->sink, spot, "key", d->at, "is required with a certificate");
	if (d->key.set && !d->certificate.set)
		rule_fail(&b->sink, spot, "certificate", d->at, "is required with a key");
}

static void build_tls(struct l7__build *b, const struct rule_spot *pool,
		      const struct l7_doc_pool_tls *d, struct l7_pool_tls *t)
{
	static const char *const list[] = { "1.2", "1.3" };
	static const struct rule_words versions = { "min_version", list, ARRAY_SIZE(list) };
	const struct rule_spot spot = { .in = pool, .name = "tls", .code = "InvalidTls" };

	t->given = d->set;
	t->verify = rule_flag(&d->verify, true);
	t->newest = l7__choose(b, &spot, &versions, &d->min_version, 0) == 1;
	t->name = d->name.set ? l7__server(b, &spot, "name", &d->name) : NULL;
	build_pem(b, &spot, "ca", &d->ca, &t->ca);
	build_pem(b, &spot, "certificate", &d->certificate, &t->certificate);
	build_pem(b, &spot, "key", &d->key, &t->key);
	build_tls_names(b, &spot, &d->names, t);
	check_verify(b, &spot, d, t);
}

/* Without TLS there is no ALPN. Of a pool whose servers are set later nothing is known yet. */
static void build_protocol(struct l7__build *b, const struct rule_spot *spot,
			   const struct l7_doc_pool *d, struct l7_pool *p)
{
	static const char *const list[] = {
		[L7_HTTP1] = "http1", [L7_H2] = "h2", [L7_AUTO] = "auto"
	};
	static const struct rule_words words = { "protocol", list, ARRAY_SIZE(list) };

	p->protocol = (enum l7_server_protocol)l7__choose(b, spot, &words, &d->protocol, L7_HTTP1);
	for (size_t i = 0; p->protocol == L7_AUTO && i < p->n_servers; i++)
		if (!p->servers[i].tls) {
			rule_fail(&b->sink, spot, "protocol", d->protocol.at,
				  "auto needs TLS to all servers of the pool");
			break;
		}
}

/* ---- pools ---- */

static void build_pool(struct l7__build *b, size_t i, struct l7_pool *p)
{
	static const struct rule_range connect = { "connect_timeout", NSEC_PER_MSEC, HOUR,
						   L7_CONNECT_TIMEOUT },
				       slow = { "slow_start", 0, HOUR, 0 };
	const struct l7_doc_pool *d = &b->doc->pools[i];
	const struct rule_spot spot = { .in = &pools_spot, .index = i };
	bool twice = d->name.set && map_get(&b->pools.map, d->name.v) != &d->name;

	p->name = l7__name(b, &spot, d->at, &d->name, twice);
	b->pool_tls = d->tls.set;
	build_members(b, &spot, d, p);
	build_tls(b, &spot, &d->tls, &p->tls);
	build_protocol(b, &spot, d, p);
	build_balance(b, &spot, d, p);
	build_probing(b, &spot, d, p);
	build_ejection(b, &spot, &d->ejection, &p->ejection);
	build_limits(b, &spot, &d->limits, &p->limits);
	p->connect_timeout = rule_duration(&b->sink, &spot, &connect, &d->connect_timeout);
	p->slow_start = rule_duration(&b->sink, &spot, &slow, &d->slow_start);
	p->send_proxy = p->probe.send_proxy = rule_flag(&d->send_proxy, false);
}

void l7__build_pools(struct l7__build *b)
{
	size_t n = b->doc->n_pools;
	struct l7_pool *list = arena_array_of(b->arena, n, struct l7_pool);

	for (size_t i = 0; i < n; i++)
		build_pool(b, i, &list[i]);
	b->config->pools = list;
	b->config->n_pools = n;
}
