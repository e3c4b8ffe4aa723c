/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: building and searching.
 *
 * rules[] holds all rules in the order of l7_match_cmp(), but with those of one path next to each
 * other. A slot of the hash table names the run of rules of one path. Regular expressions are tried
 * one after the other: most of them after the exact paths, those for methods of gRPC of any service
 * before the rules for everything.
 */
#include "core/l7/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/l7/grpc.h"
#include "core/l7/hash.h"

#define DEPTH_MAX L7_PATH_MAX /* segments of the longest prefix: each has a slash */
#define DEPTH_BITS 64	      /* the last bit stands for all that are deeper */

struct rule {
	const struct l7_match *match;
	size_t index;
};

/* The rules of one path. */
struct run {
	uint64_t hash;
	struct str path; /* of a prefix without the slash at its end */
	enum l7_kind kind;
	uint32_t first, n; /* n 0: an empty slot */
};

/* A part of rules[] that has no path. */
struct part {
	size_t first, n;
};

struct l7_host {
	struct rule *rules;
	size_t n;
	struct part regexes, method_regexes;
	struct run *slots;
	size_t mask;	 /* their number, a power of two, less one */
	size_t depth;	 /* segments of the longest prefix */
	uint64_t depths; /* bit i: prefixes with i segments exist */
	bool has_exact, has_method;
};

/* ---- building ---- */

static struct str key_of(const struct l7_match *m)
{
	return m->kind == L7_PREFIX ? l7_prefix(m->path) : m->path;
}

/* As l7_match_cmp(), but paths of one length are kept together. */
static int by_path(const void *pa, const void *pb)
{
	const struct l7_match *a = ((const struct rule *)pa)->match;
	const struct l7_match *b = ((const struct rule *)pb)->match;
	struct str x = key_of(a), y = key_of(b);

	if (a->kind == b->kind && a->kind != L7_REGEX && x.n == y.n && x.n) {
		int c = memcmp(x.p, y.p, x.n);

		if (c)
			return c;
	}
	return l7_match_cmp(a, b);
}

/* Regular expressions have none. */
static bool same_path(const struct l7_match *a, const struct l7_match *b)
{
	return a->kind == b->kind && a->kind != L7_REGEX && str_eq(key_of(a), key_of(b));
}

static size_t depth_of(struct str prefix)
{
	size_t depth = 0;

	for (size_t i = 0; i < prefix.n; i++)
		depth += prefix.p[i] == '/';
	return depth;
}

static uint64_t bit_of(size_t depth)
{
	return UINT64_C(1) << (depth < DEPTH_BITS ? depth : DEPTH_BITS - 1);
}

static uint64_t hash_of(struct str path, enum l7_kind kind)
{
	uint64_t hash = l7_hash_start(kind == L7_PREFIX);

	for (size_t i = 0; i < path.n; i++)
		hash = l7_hash_add(hash, path.p[i]);
	return l7_hash_end(hash);
}

static void put(struct l7_host *h, const struct run *run)
{
	size_t i = run->hash & h->mask;

	while (h->slots[i].n)
		i = (i + 1) & h->mask;
	h->slots[i] = *run;
}

static void add_run(struct l7_host *h, size_t first, size_t n)
{
	const struct l7_match *m = h->rules[first].match;
	struct run run = {
		.path = key_of(m), .kind = m->kind, .first = (uint32_t)first, .n = (uint32_t)n
	};

	assert(run.path.n <= L7_PATH_MAX);
	run.hash = hash_of(run.path, run.kind);
	put(h, &run);
	h->has_exact |= run.kind == L7_EXACT;
	h->has_method |= run.kind == L7_METHOD;
	if (run.kind == L7_PREFIX) {
		size_t depth = depth_of(run.path);

		h->depths |= bit_of(depth);
		if (depth > h->depth)
			h->depth = depth;
	}
}

static void add_regexes(struct l7_host *h, size_t first, size_t n)
{
	bool late = l7_match_is_method(h->rules[first].match);
	struct part *part = late ? &h->method_regexes : &h->regexes;

	if (!part->n)
		part->first = first;
	part->n += n;
}

static size_t table_size(size_t n)
{
	size_t size = 4;

	while (size < n * 2)
		size *= 2;
	return size;
}

const struct l7_host *l7_host_build(struct arena *arena, const struct l7_match *const *matches,
				    size_t n)
{
	struct l7_host *h = arena_new_of(arena, struct l7_host);
	size_t size = table_size(n);

	h->rules = arena_array_of(arena, n, struct rule);
	h->slots = arena_array_of(arena, size, struct run);
	h->mask = size - 1;
	h->n = n;
	for (size_t i = 0; i < n; i++)
		h->rules[i] = (struct rule){ matches[i], i };
	if (n)
		qsort(h->rules, n, sizeof(*h->rules), by_path);
	for (size_t first = 0, end; first < n; first = end) {
		const struct l7_match *m = h->rules[first].match;

		for (end = first + 1; end < n && same_path(m, h->rules[end].match);)
			end++;
		if (m->kind == L7_REGEX)
			add_regexes(h, first, end - first);
		else
			add_run(h, first, end - first);
	}
	return h;
}

/* ---- searching ---- */

static size_t try_run(const struct l7_host *h, size_t first, size_t n, const struct l7_request *r,
		      l7_regex_fn regex)
{
	for (size_t i = first; i < first + n; i++)
		if (l7_match_rest(h->rules[i].match, r, regex))
			return h->rules[i].index;
	return L7_NONE;
}

static size_t try_path(const struct l7_host *h, struct str path, uint64_t hash, enum l7_kind kind,
		       const struct l7_request *r, l7_regex_fn regex)
{
	for (size_t i = hash & h->mask; h->slots[i].n; i = (i + 1) & h->mask) {
		const struct run *run = &h->slots[i];

		if (run->hash == hash && run->kind == kind && str_eq(run->path, path))
			return try_run(h, run->first, run->n, r, regex);
	}
	return L7_NONE;
}

static size_t try_regexes(const struct l7_host *h, struct part part, const struct l7_request *r,
			  l7_regex_fn regex)
{
	for (size_t i = part.first; i < part.first + part.n; i++)
		if (l7_match_all(h->rules[i].match, r, regex))
			return h->rules[i].index;
	return L7_NONE;
}

/* A possible prefix of a path: so many bytes of it, and their hash. */
struct edge {
	size_t n;
	uint64_t hash;
};

/* Finds the edges of a path, up to the depth of the longest prefix; returns how many. */
static size_t find_edges(const struct l7_host *h, struct str path, struct edge edges[])
{
	uint64_t hash = l7_hash_start(true);
	size_t depth = 0;

	for (size_t i = 0; i < path.n; i++) {
		if (path.p[i] == '/') {
			edges[depth] = (struct edge){ i, l7_hash_end(hash) };
			if (depth++ == h->depth)
				return depth;
		}
		hash = l7_hash_add(hash, path.p[i]);
	}
	edges[depth] = (struct edge){ path.n, l7_hash_end(hash) };
	return depth + 1;
}

/* Rules for a method of gRPC: its key is the path from the second slash. */
static size_t try_methods(const struct l7_host *h, const struct l7_request *r, l7_regex_fn regex)
{
	struct str service, method, key;
	size_t found = L7_NONE;

	if (!h->has_method && !h->method_regexes.n)
		return L7_NONE;
	if (!l7_grpc_split(r->path, &service, &method))
		return L7_NONE;
	key = (struct str){ method.p - 1, method.n + 1 };
	if (h->has_method)
		found = try_path(h, key, hash_of(key, L7_METHOD), L7_METHOD, r, regex);
	return found == L7_NONE ? try_regexes(h, h->method_regexes, r, regex) : found;
}

static size_t try_prefixes(const struct l7_host *h, const struct l7_request *r, l7_regex_fn regex)
{
	struct edge edges[DEPTH_MAX + 1];
	size_t n = find_edges(h, r->path, edges), found = L7_NONE;

	while (n-- && found == L7_NONE) {
		if (!n)
			found = try_methods(h, r, regex);
		if (found == L7_NONE && h->depths & bit_of(n))
			found = try_path(h, (struct str){ r->path.p, edges[n].n }, edges[n].hash,
					 L7_PREFIX, r, regex);
	}
	return found;
}

size_t l7_host_find(const struct l7_host *h, const struct l7_request *r, l7_regex_fn regex)
{
	size_t found = L7_NONE;

	if (h->has_exact)
		found = try_path(h, r->path, hash_of(r->path, L7_EXACT), L7_EXACT, r, regex);
	if (found == L7_NONE && h->regexes.n)
		found = try_regexes(h, h->regexes, r, regex);
	return found == L7_NONE ? try_prefixes(h, r, regex) : found;
}
