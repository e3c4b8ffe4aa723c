/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: names are hashed from their end, so that one pass over the host of a request gives the
 * hash of each of its suffixes, and with it the key of each wildcard that it may match.
 */
#include "core/l7/table.h"

#include <stdlib.h>
#include <string.h>

#include "core/l7/hash.h"

#define LABELS_MAX 128 /* a name of 253 bytes has at most 127 */

struct name {
	struct str text; /* of a wildcard without the '*': ".example.com" */
	bool wildcard;
	uint64_t hash;
	const struct l7_host *rules; /* NULL: an empty slot */
	const uint32_t *entries;     /* their indices in the caller's array */
};

struct l7_table {
	struct name *slots;
	size_t mask;
	const struct name *any; /* NULL: there is none */
	size_t labels;		/* of the longest wildcard */
	l7_regex_fn regex;
};

/* ---- names ---- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

struct str l7_host_name(struct str host)
{
	const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;

	if (colon && (host.p[0] != '[' || colon[-1] == ']'))
		host.n = (size_t)(colon - host.p);
	if (host.n > 1 && host.p[host.n - 1] == '.')
		host.n--;
	return host;
}

bool l7_host_covers(struct str name, struct str host)
{
	struct str suffix;

	if (!str_starts(name, STR("*.")))
		return str_ieq(name, host);
	suffix = (struct str){ name.p + 1, name.n - 1 };
	return host.n > suffix.n &&
	       str_ieq((struct str){ host.p + host.n - suffix.n, suffix.n }, suffix);
}

static struct str text_of(struct str host)
{
	if (host.n && host.p[0] == '*')
		return (struct str){ host.p + 1, host.n - 1 };
	return host;
}

static uint64_t hash_of(struct str text, bool wildcard)
{
	uint64_t hash = l7_hash_start(wildcard);

	for (size_t i = text.n; i--;)
		hash = l7_hash_add(hash, lower(text.p[i]));
	return l7_hash_end(hash);
}

static size_t labels_of(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '.';
	return n;
}

/* ---- building ---- */

struct placed {
	struct str host;
	uint32_t entry;
};

static int compare_hosts(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;

	for (size_t i = 0; i < n; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return lower(a.p[i]) - lower(b.p[i]);
	return (a.n > b.n) - (a.n < b.n);
}

static int by_host(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;
	int c = compare_hosts(a->host, b->host);

	return c ? c : (a->entry > b->entry) - (a->entry < b->entry);
}

static void put(struct l7_table *t, const struct name *name)
{
	size_t i = name->hash & t->mask;

	while (t->slots[i].rules)
		i = (i + 1) & t->mask;
	t->slots[i] = *name;
	if (!name->text.n)
		t->any = &t->slots[i];
	if (name->wildcard && labels_of(name->text) > t->labels)
		t->labels = labels_of(name->text);
}

static void add_name(struct l7_table *t, struct arena *arena, const struct l7_entry *entries,
		     const struct placed *placed, size_t n)
{
	const struct l7_match **matches = arena_array_of(arena, n, const struct l7_match *);
	uint32_t *indices = arena_array_of(arena, n, uint32_t);
	struct name name = { .text = text_of(placed->host), .entries = indices };

	for (size_t i = 0; i < n; i++) {
		indices[i] = placed[i].entry;
		matches[i] = &entries[placed[i].entry].match;
	}
	name.wildcard = name.text.n != placed->host.n;
	name.hash = hash_of(name.text, name.wildcard);
	name.rules = l7_host_build(arena, matches, n);
	put(t, &name);
}

const struct l7_table *l7_table_build(struct arena *arena, const struct l7_entry *entries, size_t n,
				      l7_regex_fn regex)
{
	struct l7_table *t = arena_new_of(arena, struct l7_table);
	struct placed *placed = arena_array_of(arena, n, struct placed);
	size_t size = 4;

	while (size < n * 2)
		size *= 2;
	t->slots = arena_array_of(arena, size, struct name);
	t->mask = size - 1;
	t->regex = regex;
	for (size_t i = 0; i < n; i++)
		placed[i] = (struct placed){ entries[i].host, (uint32_t)i };
	if (n)
		qsort(placed, n, sizeof(*placed), by_host);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && str_ieq(placed[first].host, placed[end].host);)
			end++;
		add_name(t, arena, entries, &placed[first], end - first);
	}
	return t;
}

/* ---- searching ---- */

static const struct name *find_name(const struct l7_table *t, struct str text, uint64_t hash,
				    bool wildcard)
{
	for (size_t i = hash & t->mask; t->slots[i].rules; i = (i + 1) & t->mask) {
		const struct name *name = &t->slots[i];

		if (name->hash == hash && name->wildcard == wildcard && str_ieq(name->text, text))
			return name;
	}
	return NULL;
}

static size_t find_in(const struct l7_table *t, const struct name *name, const struct l7_request *r)
{
	size_t i = name ? l7_host_find(name->rules, r, t->regex) : L7_NONE;

	return i == L7_NONE ? L7_NONE : name->entries[i];
}

/* A suffix of a host that starts with a dot. */
struct suffix {
	struct str text;
	uint64_t hash;
};

/* From the longest wildcard that exists to the shortest. */
static size_t find_wildcard(const struct l7_table *t, struct str host, const struct l7_request *r)
{
	struct suffix suffixes[LABELS_MAX];
	uint64_t hash = l7_hash_start(true);
	size_t n = 0, found = L7_NONE;

	for (size_t i = host.n; i-- && n < t->labels && n < LABELS_MAX;) {
		hash = l7_hash_add(hash, lower(host.p[i]));
		if (host.p[i] == '.' && i > 0)
			suffixes[n++] =
				(struct suffix){ { host.p + i, host.n - i }, l7_hash_end(hash) };
	}
	while (n-- && found == L7_NONE)
		found = find_in(t, find_name(t, suffixes[n].text, suffixes[n].hash, true), r);
	return found;
}

size_t l7_table_find(const struct l7_table *t, const struct l7_request *r)
{
	struct str host = l7_host_name(r->host);
	size_t found = L7_NONE;

	if (host.n)
		found = find_in(t, find_name(t, host, hash_of(host, false), false), r);
	if (found == L7_NONE && t->labels)
		found = find_wildcard(t, host, r);
	return found == L7_NONE ? find_in(t, t->any, r) : found;
}
