/* SPDX-License-Identifier: Apache-2.0 */
/* What is derived from a configuration. */
#include "core/l7/config.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- entries ---- */

static bool is_wild(struct str host)
{
	return host.n > 1 && host.p[0] == '*';
}

static bool ends_with(struct str s, struct str end)
{
	return s.n >= end.n && str_ieq((struct str){ s.p + s.n - end.n, end.n }, end);
}

/* Whether "*.example.com" stands for host, which may be a wildcard itself. */
static bool covers(struct str wild, struct str host)
{
	struct str suffix = { wild.p + 1, wild.n - 1 };

	return is_wild(wild) && host.n > suffix.n && ends_with(host, suffix);
}

/* Whether some host belongs to both names. An empty one is every host. */
static bool intersect(struct str a, struct str b)
{
	return !a.n || !b.n || str_ieq(a, b) || covers(a, b) || covers(b, a);
}

static bool belongs(const struct l7_route *r, size_t listener)
{
	for (size_t i = 0; i < r->n_listeners; i++)
		if (r->listeners[i] == listener)
			return true;
	return r->n_listeners == 0;
}

/* Adds the matches of a route under one name; without room it only counts. */
static void add_matches(const struct l7_route *route, struct str host, struct l7_entry *entries,
			struct l7_target *targets, size_t *n)
{
	for (size_t i = 0; i < route->n_rules; i++) {
		const struct l7_rule *rule = &route->rules[i];

		for (size_t m = 0; m < rule->n_matches; m++, (*n)++) {
			if (!entries)
				continue;
			entries[*n] = (struct l7_entry){ host, rule->matches[m] };
			entries[*n].match.order = (uint32_t)*n;
			targets[*n] = (struct l7_target){ route, rule, &rule->matches[m] };
		}
	}
}

static size_t add_routes(const struct l7_config *c, size_t listener, struct l7_entry *entries,
			 struct l7_target *targets)
{
	struct str only = c->n_listeners ? c->listeners[listener].host : STR("");
	size_t n = 0;

	if (c->n_listeners && c->listeners[listener].protocol != L7_HTTP)
		return 0;
	for (size_t i = 0; i < c->n_routes; i++) {
		const struct l7_route *r = &c->routes[i];

		if (!belongs(r, listener))
			continue;
		if (!r->n_hosts)
			add_matches(r, STR(""), entries, targets, &n);
		for (size_t h = 0; h < r->n_hosts; h++)
			if (intersect(only, r->hosts[h]))
				add_matches(r, r->hosts[h], entries, targets, &n);
	}
	return n;
}

/* Requests come in that form. A path that the policy refuses stays: no request has it. */
static void fit_path(struct l7_entry *entry, struct l7_target *target, enum l7_paths policy,
		     struct arena *arena)
{
	struct l7_match *m = &entry->match;
	_cleanup_(buf_free) struct buf form = { 0 };

	if (m->kind == L7_REGEX || m->grpc || l7_path_is_plain(m->path) ||
	    l7_path_normalize(m->path, policy, &form) < 0)
		return;
	m->path = (struct str){ arena_strndup(arena, form.p, form.n), form.n };
	target->match = m;
}

struct l7_entries l7_config_entries(const struct l7_config *c, size_t listener, struct arena *arena)
{
	enum l7_paths policy = c->n_listeners ? c->listeners[listener].paths : L7_PATHS_NORMALIZE;
	size_t n = add_routes(c, listener, NULL, NULL);
	struct l7_entry *entries = arena_array_of(arena, n, struct l7_entry);
	struct l7_target *targets = arena_array_of(arena, n, struct l7_target);

	assert(listener < c->n_listeners || (!listener && !c->n_listeners));
	add_routes(c, listener, entries, targets);
	for (size_t i = 0; i < n; i++)
		fit_path(&entries[i], &targets[i], policy, arena);
	return (struct l7_entries){ entries, targets, n };
}

/* ---- streams ---- */

static void add_stream(struct l7_stream_entries *to, struct str host, size_t stream)
{
	struct l7_entry *entries = (void *)(uintptr_t)to->entries;
	size_t *streams = (void *)(uintptr_t)to->streams;

	if (entries) {
		entries[to->n] = (struct l7_entry){
			.host = host,
			.match = { .kind = L7_PREFIX, .path = STR("/"), .order = (uint32_t)to->n }
		};
		streams[to->n] = stream;
	}
	to->n++;
}

static bool has_stream(const struct l7_stream *s, size_t listener)
{
	for (size_t i = 0; i < s->n_listeners; i++)
		if (s->listeners[i] == listener)
			return true;
	return false;
}

/* Without room for entries it only counts. */
static void add_streams(const struct l7_config *c, size_t listener, struct l7_stream_entries *to)
{
	struct str only = c->listeners[listener].host;

	for (size_t i = 0; i < c->n_streams; i++) {
		const struct l7_stream *s = &c->streams[i];

		if (!has_stream(s, listener))
			continue;
		if (!s->n_hosts)
			add_stream(to, STR(""), i);
		for (size_t h = 0; h < s->n_hosts; h++)
			if (intersect(only, s->hosts[h]))
				add_stream(to, s->hosts[h], i);
	}
}

struct l7_stream_entries l7_config_streams(const struct l7_config *c, size_t listener,
					   struct arena *arena)
{
	struct l7_stream_entries count = { 0 }, r = { 0 };

	assert(listener < c->n_listeners);
	add_streams(c, listener, &count);
	r.entries = arena_array_of(arena, count.n, struct l7_entry);
	r.streams = arena_array_of(arena, count.n, size_t);
	add_streams(c, listener, &r);
	return r;
}

/* ---- backends ---- */

size_t l7_pick_backend(const struct l7_backend *backends, size_t n, uint64_t random)
{
	uint64_t sum = 0, point;

	for (size_t i = 0; i < n; i++)
		sum += backends[i].weight;
	assert(sum <= UINT32_MAX);
	if (!sum)
		return L7_NONE;
	/* the upper half of random, as a part of the sum */
	point = ((random >> 32) * sum) >> 32;
	for (size_t i = 0; i < n; i++) {
		if (point < backends[i].weight)
			return i;
		point -= backends[i].weight;
	}
	return L7_NONE;
}

bool l7_mirror_takes(const struct l7_mirror *m, uint64_t random)
{
	return random % m->denominator < m->numerator;
}

bool l7_config_allows(const struct l7_config *c, struct str host)
{
	if (!c->n_allowed_hosts)
		return true;
	for (size_t i = 0; i < c->n_allowed_hosts; i++)
		if (l7_host_covers(c->allowed_hosts[i], l7_host_name(host)))
			return true;
	return false;
}
