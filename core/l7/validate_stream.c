/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of streams: connections that are passed on as they are, and datagrams. */
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l7/validate_build.h"

#define LONGEST (INT64_C(365) * 24 * 3600 * NSEC_PER_SEC)

static const struct rule_spot streams_spot = { .name = "streams", .code = "InvalidStream" };

/* ---- listeners ---- */

static const struct l7_listener *listener_at(const struct l7__build *b, const struct l7_stream *s,
					     size_t i)
{
	return s->listeners[i] == SIZE_MAX ? NULL : &b->config->listeners[s->listeners[i]];
}

/* All must be of protocol tcp, or all of protocol udp. */
static void check_listener(struct l7__build *b, const struct rule_spot *spot, struct place at,
			   const struct l7_stream *s, size_t i)
{
	const struct l7_listener *l = listener_at(b, s, i), *first = listener_at(b, s, 0);

	if (!l)
		return;
	if (l->protocol == L7_HTTP)
		rule_fail(&b->sink, spot, NULL, at,
			  "listener %s must have protocol: tcp or udp; requests of HTTP are for "
			  "routes",
			  rule_quote(&b->sink, l->name));
	else if (first && first->protocol != L7_HTTP && first->protocol != l->protocol)
		rule_fail(&b->sink, spot, NULL, at,
			  "must have the same protocol as listener %s: a stream has either "
			  "connections or datagrams",
			  rule_quote(&b->sink, first->name));
}

static void build_listeners(struct l7__build *b, const struct rule_spot *stream,
			    const struct l7_doc_stream *d, struct l7_stream *s)
{
	const struct rule_spot in = { .in = stream, .name = "listeners" };
	size_t n = d->listeners.n;
	size_t *list = arena_array_of(b->arena, n, size_t);

	if (!n)
		rule_fail(&b->sink, &in, NULL, d->at, "must name at least one listener");
	if (!l7__few(b, &in, NULL, d->listeners.at, n, L7_STREAM_LISTENERS_MAX))
		return;
	s->listeners = list;
	s->n_listeners = n;
	for (size_t i = 0; i < n; i++) {
		const struct rule_spot spot = { .in = &in, .index = i };
		const struct doc_text *name = &d->listeners.items[i];

		list[i] = l7__find(b, &spot, NULL, name, &b->listeners);
		check_listener(b, &spot, name->at, s, i);
	}
}

/* ---- hosts ---- */

/* Only TLS names a host before anything else. */
static void check_named(struct l7__build *b, const struct rule_spot *spot, struct place at,
			const struct l7_stream *s)
{
	for (size_t i = 0; i < s->n_listeners; i++) {
		const struct l7_listener *l = listener_at(b, s, i);

		if (!l || l7__has_tls(l))
			continue;
		rule_fail(&b->sink, spot, NULL, at,
			  "needs TLS at listener %s: a client names no host without it",
			  rule_quote(&b->sink, l->name));
		return;
	}
}

static void build_hosts(struct l7__build *b, const struct rule_spot *stream,
			const struct l7_doc_stream *d, struct l7_stream *s)
{
	const struct rule_spot in = { .in = stream, .name = "hosts" };
	size_t n = d->hosts.n;
	struct str *list = arena_array_of(b->arena, n, struct str);

	if (!d->hosts.set)
		return;
	if (!n)
		rule_fail(&b->sink, &in, NULL, d->hosts.at,
			  "must have at least one host; without it, all are meant");
	if (!l7__few(b, &in, NULL, d->hosts.at, n, L7_ROUTE_HOSTS_MAX))
		return;
	for (size_t i = 0; i < n; i++)
		list[i] = l7__host(b, &(struct rule_spot){ .in = &in, .index = i }, NULL,
				   &d->hosts.items[i], true);
	s->hosts = list;
	s->n_hosts = n;
	if (n)
		check_named(b, &in, d->hosts.at, s);
}

/* ---- backends ---- */

static void build_list(struct l7__build *b, const struct rule_spot *stream,
		       const struct l7_doc_stream *d, struct l7_stream *s)
{
	const struct rule_spot in = { .in = stream, .name = "backends", .code = "InvalidBackend" };
	struct l7_backend *list = arena_array_of(b->arena, d->n_backends, struct l7_backend);
	uint64_t sum = 0;

	if (!l7__few(b, &in, NULL, d->at, d->n_backends, L7_BACKENDS_MAX))
		return;
	for (size_t i = 0; i < d->n_backends; i++) {
		const struct rule_spot spot = { .in = &in, .index = i };

		if (d->backends[i].filters.set)
			rule_fail(&b->sink, &spot, "filters", d->backends[i].filters.at,
				  "cannot be applied to a stream, whose content is not changed");
		l7__build_backend(b, &spot, &d->backends[i], &list[i]);
		sum += list[i].weight;
	}
	if (!sum)
		rule_doubt(&b->sink, &in, NULL, d->at,
			   "has no weight, so every connection is closed");
	s->backends = list;
	s->n_backends = d->n_backends;
}

static void build_backends(struct l7__build *b, const struct rule_spot *spot,
			   const struct l7_doc_stream *d, struct l7_stream *s)
{
	bool named = d->pool.set || d->pool_idx.set;
	struct l7_backend *only;

	if (d->backends && named)
		rule_fail(&b->sink, L7__AS(spot, "ConflictingKeys"), "backends", d->at,
			  "must not be used together with pool or pool_idx");
	else if (d->backends)
		build_list(b, spot, d, s);
	else if (!named)
		rule_fail(&b->sink, L7__AS(spot, "MissingPool"), "pool", d->at,
			  "is required, or pool_idx or backends");
	if (d->backends || !named)
		return;
	only = arena_new_of(b->arena, struct l7_backend);
	only->pool = l7__pool(b, spot, &d->pool, &d->pool_idx);
	only->weight = 1;
	s->backends = only;
	s->n_backends = 1;
}

/* A stream has no header or cookie that could be the key. */
static void check_keys(struct l7__build *b, const struct rule_spot *spot, struct place at,
		       const struct l7_stream *s)
{
	for (size_t i = 0; i < s->n_backends; i++) {
		const struct l7_pool *p = s->backends[i].pool == L7_NO_POOL
						  ? NULL
						  : &b->config->pools[s->backends[i].pool];

		if (p && p->balance == L7_MAGLEV && p->key != L7_KEY_SOURCE)
			rule_doubt(&b->sink, spot, NULL, at,
				   "connections have no header or cookie, so the hash_key of pool "
				   "%s is the client's address",
				   rule_quote(&b->sink, p->name));
	}
}

/* Whether a listener passes TLS on as it is. */
static bool passes_tls(const struct l7__build *b, const struct l7_stream *s)
{
	for (size_t i = 0; i < s->n_listeners; i++) {
		const struct l7_listener *l = listener_at(b, s, i);

		if (l && l->tls.mode == L7_TLS_PASSTHROUGH)
			return true;
	}
	return false;
}

static void check_twice(struct l7__build *b, const struct rule_spot *spot, struct place at,
			const struct l7_stream *s)
{
	for (size_t i = 0; passes_tls(b, s) && i < s->n_backends; i++) {
		const struct l7_pool *p = s->backends[i].pool == L7_NO_POOL
						  ? NULL
						  : &b->config->pools[s->backends[i].pool];

		if (p && p->n_servers && p->servers[0].tls)
			rule_doubt(&b->sink, spot, NULL, at,
				   "the servers of pool %s get TLS within TLS: it has tls, and a "
				   "listener passes TLS on",
				   rule_quote(&b->sink, p->name));
	}
}

/* ---- streams ---- */

static void build_answers(struct l7__build *b, const struct rule_spot *spot,
			  const struct l7_doc_stream *d, struct l7_stream *s, bool udp)
{
	static const struct rule_range range = { "answers", 0, 1000000, 0 };

	s->answers = (unsigned)rule_number(&b->sink, spot, &range, &d->answers);
	if (s->answers && !udp)
		rule_fail(&b->sink, spot, "answers", d->answers.at,
			  "needs protocol: udp: connections have an end");
}

static void build_stream(struct l7__build *b, const struct l7_doc_stream *d, struct map *names,
			 struct l7_stream *s)
{
	static const struct rule_range tcp = { "idle_timeout", NSEC_PER_MSEC, LONGEST,
					       L7_STREAM_IDLE },
				       udp = { "idle_timeout", NSEC_PER_MSEC, LONGEST,
					       L7_SESSION_IDLE };
	const struct rule_spot spot = { .in = &streams_spot,
					.index = (size_t)(d - b->doc->streams) };
	bool twice = d->name.set && map_get(names, d->name.v);
	const struct l7_listener *first;
	bool datagrams;

	s->name = l7__name(b, &spot, d->at, &d->name, twice);
	if (d->name.set && !twice)
		map_put(names, d->name.v, (void *)(uintptr_t)d);
	build_listeners(b, &spot, d, s);
	build_hosts(b, &spot, d, s);
	build_backends(b, &spot, d, s);
	check_keys(b, &spot, d->at, s);
	check_twice(b, &spot, d->at, s);
	first = s->n_listeners ? listener_at(b, s, 0) : NULL;
	datagrams = first && first->protocol == L7_UDP;
	s->idle_timeout = rule_duration(&b->sink, &spot, datagrams ? &udp : &tcp, &d->idle_timeout);
	build_answers(b, &spot, d, s, datagrams);
}

/* ---- two streams for one connection ---- */

static void claim(struct l7__build *b, size_t stream, size_t listener, struct str host,
		  struct map *claims)
{
	const struct l7_stream *s = &b->config->streams[stream], *first;
	const struct rule_spot spot = { .in = &streams_spot, .index = stream };
	const char *key = arena_printf(b->sink.scratch, "%zu %s", listener, host.p);

	b->n_entries++;
	first = map_get(claims, key);
	if (!first)
		map_put(claims, key, (void *)(uintptr_t)s);
	else
		rule_fail(&b->sink, L7__AS(&spot, "DuplicateStream"), "listeners",
			  b->doc->streams[stream].listeners.at,
			  "listener %s has stream %s already%s%s",
			  rule_quote(&b->sink, b->config->listeners[listener].name),
			  rule_quote(&b->sink, first->name), host.n ? " for host " : "",
			  host.n ? rule_quote(&b->sink, host.p) : "");
}

static void claim_all(struct l7__build *b, size_t stream, struct map *claims)
{
	const struct l7_stream *s = &b->config->streams[stream];

	for (size_t i = 0; i < s->n_listeners; i++) {
		if (!listener_at(b, s, i))
			continue;
		if (!s->n_hosts)
			claim(b, stream, s->listeners[i], STR(""), claims);
		for (size_t h = 0; h < s->n_hosts; h++)
			claim(b, stream, s->listeners[i], s->hosts[h], claims);
	}
}

void l7__build_streams(struct l7__build *b)
{
	size_t n = b->doc->n_streams;
	struct l7_stream *list = arena_array_of(b->arena, n, struct l7_stream);
	_cleanup_(map_free) struct map names = { 0 }, claims = { 0 };

	b->config->streams = list;
	b->config->n_streams = n;
	for (size_t i = 0; i < n; i++)
		build_stream(b, &b->doc->streams[i], &names, &list[i]);
	for (size_t i = 0; i < n && b->n_entries <= L7_ENTRIES_MAX; i++)
		claim_all(b, i, &claims);
	if (n && b->n_entries > L7_ENTRIES_MAX)
		rule_fail(&b->sink, L7__AS(&streams_spot, "TooMany"), NULL, b->doc->streams[0].at,
			  "make more than %d entries of listeners times host names, with those of "
			  "routes",
			  L7_ENTRIES_MAX);
}
