/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section frontends: VIPs, their pools, and the backends they name (FR-2.1, FR-2.2).
 *
 * For every member the question is whether another backend of the frontend has the same address.
 * So backends are sorted by address once, and each gets its twin: the first backend with its
 * address. A frontend then marks the twins that it has seen, which makes the check linear.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define DESCRIPTION_MAX 1024 /* bytes */
#define HOUR (3600 * NSEC_PER_SEC)
#define NO_TWIN SIZE_MAX /* the backend's address is not known */

/* The last frontend that named a twin, and by which backend. */
struct mark {
	size_t frontend; /* index + 1; 0: none */
	size_t backend;
};

/* The state of the visit of one frontend. Its members are visited in the order of the file. */
struct walk {
	struct l4__build *b;
	const size_t *twins; /* per backend */
	struct mark *marks;  /* per backend */
	size_t frontend;
	size_t first; /* the first backend whose family is known; SIZE_MAX: none yet */
	bool mixed;   /* reported already */
};

struct located {
	const struct addr *address;
	size_t backend;
};

static int by_address(const void *pa, const void *pb)
{
	const struct located *a = pa, *b = pb;
	int cmp = addr_cmp(a->address, b->address);

	return cmp ? cmp : (a->backend > b->backend) - (a->backend < b->backend);
}

/* The twin of each backend. Twins are indices of backends, so marks need no other table. */
static const size_t *find_twins(struct l4__build *b)
{
	size_t n = b->config->n_backends;
	struct located *list = arena_array_of(b->sink.scratch, n, struct located);
	size_t *twins = arena_array_of(b->sink.scratch, n, size_t);

	for (size_t i = 0; i < n; i++)
		list[i] = (struct located){ &b->backends[i].address, i };
	if (n)
		qsort(list, n, sizeof(*list), by_address);
	for (size_t i = 0; i < n; i++) {
		size_t backend = list[i].backend;
		bool again = i && addr_cmp(list[i - 1].address, list[i].address) == 0;

		if (!addr_is_set(list[i].address))
			twins[backend] = NO_TWIN;
		else
			twins[backend] = again ? twins[list[i - 1].backend] : backend;
	}
	return twins;
}

/*
 * The same backend in two pools is allowed; two backends with one address are not, since the data
 * plane could not tell them apart.
 */
static void check_twin(struct walk *w, const struct rule_spot *spot, struct place at,
		       size_t backend)
{
	size_t twin = w->twins[backend];
	struct mark *mark;

	if (twin == NO_TWIN)
		return;
	mark = &w->marks[twin];
	if (mark->frontend == w->frontend + 1 && mark->backend != backend)
		rule_fail(&w->b->sink, spot, NULL, at,
			  "has the same address as %s of this frontend",
			  rule_quote(&w->b->sink, w->b->backends[mark->backend].name));
	else
		*mark = (struct mark){ w->frontend + 1, backend };
}

/*
 * The encapsulation of a VIP is that of one family. One error per frontend, however many members
 * are of the other family.
 */
static void check_family(struct walk *w, const struct rule_spot *spot, struct place at,
			 size_t backend)
{
	const struct l4_backend *first, *this = &w->b->backends[backend];

	if (!addr_is_set(&this->address) || w->mixed)
		return;
	if (w->first == SIZE_MAX)
		w->first = backend;
	first = &w->b->backends[w->first];
	if (first->address.family == this->address.family)
		return;
	w->mixed = true;
	rule_fail(&w->b->sink, spot, NULL, at, "is %s, but %s of this frontend is %s",
		  l4__family_name(this->address.family), rule_quote(&w->b->sink, first->name),
		  l4__family_name(first->address.family));
}

/* Returns false if there is no such backend. */
static bool build_member(struct walk *w, const struct rule_spot *pool, const struct doc_member *d,
			 struct l4_member *ret)
{
	static const struct rule_range weight = { "weight", 0, 100, 100 };
	struct rule_spot backends = { .in = pool, .name = "backends" };
	struct rule_spot spot = { .in = &backends, .name = d->backend };
	struct l4__build *b = w->b;
	size_t i = l4_config_backend(b->config, d->backend);

	ret->weight = (unsigned)rule_number(&b->sink, &spot, &weight, &d->weight);
	if (i == SIZE_MAX) {
		rule_fail(&b->sink, &spot, NULL, d->at, "there is no backend %s%s",
			  rule_quote(&b->sink, d->backend),
			  l4__near(b, d->backend, b->backend_entries, b->config->n_backends));
		return false;
	}
	ret->backend = i;
	check_family(w, &spot, d->at, i);
	check_twin(w, &spot, d->at, i);
	return true;
}

/* Backends are sorted by name, so their indices are in the order of the names. */
static int by_backend(const void *pa, const void *pb)
{
	const struct l4_member *a = pa, *b = pb;

	return (a->backend > b->backend) - (a->backend < b->backend);
}

static void sort_members(struct walk *w, const struct rule_spot *spot, const struct doc_pool *d,
			 struct l4_member *members, size_t n)
{
	if (n)
		qsort(members, n, sizeof(*members), by_backend);
	for (size_t i = 1; i < n; i++)
		if (members[i - 1].backend == members[i].backend)
			rule_fail(&w->b->sink, spot, "backends", d->at, "%s is in this pool twice",
				  rule_quote(&w->b->sink, w->b->backends[members[i].backend].name));
}

static void build_pool(struct walk *w, const struct rule_spot *spot, const struct doc_pool *d,
		       struct l4_pool *pool)
{
	static const struct rule_range slow = { "slow-start", 0, HOUR, 0 };
	struct l4_member *members = arena_array_of(w->b->arena, d->n_members, struct l4_member);
	size_t n = 0;

	pool->slow_start = rule_duration(&w->b->sink, spot, &slow, &d->slow_start);
	for (size_t i = 0; i < d->n_members; i++)
		n += build_member(w, spot, &d->members[i], &members[n]);
	sort_members(w, spot, d, members, n);
	pool->members = members;
	pool->n_members = n;
	if (!d->n_members)
		rule_fail(&w->b->sink, spot, "backends", d->at, "must name at least one backend");
}

/* names holds the pools of this frontend so far. */
static void build_pool_name(struct walk *w, const struct rule_spot *spot, const struct doc_pool *d,
			    struct map *names, struct l4_pool *pool)
{
	if (!d->name.set) {
		rule_fail(&w->b->sink, spot, "name", d->at, "is required");
		return;
	}
	if (!rule_printable(&w->b->sink, spot, "name", d->name.at, d->name.v, RULE_NAME_MAX))
		return;
	pool->name = arena_strdup(w->b->arena, d->name.v);
	if (map_put(names, pool->name, pool))
		rule_fail(&w->b->sink, spot, "name", d->name.at,
			  "%s is already a pool of this frontend",
			  rule_quote(&w->b->sink, d->name.v));
}

static void build_pools(struct walk *w, const struct rule_spot *frontend,
			const struct doc_frontend *d, struct l4_frontend *f)
{
	struct l4_pool *pools = arena_array_of(w->b->arena, d->n_pools, struct l4_pool);
	struct rule_spot list = { .in = frontend, .name = "pools" };
	_cleanup_(map_free) struct map names = { 0 };

	for (size_t i = 0; i < d->n_pools; i++) {
		struct rule_spot spot = { .in = &list, .index = i };

		build_pool_name(w, &spot, &d->pools[i], &names, &pools[i]);
		build_pool(w, &spot, &d->pools[i], &pools[i]);
	}
	f->pools = pools;
	f->n_pools = d->n_pools;
}

/* Whether protocol and port are valid, each and together. */
static bool build_key(struct l4__build *b, const struct rule_spot *spot,
		      const struct doc_frontend *d, struct l4_frontend *f)
{
	static const char *const list[] = { "tcp", "udp" };
	static const struct rule_words words = { "protocol", list, ARRAY_SIZE(list) };
	static const struct rule_range range = { "port", 1, UINT16_MAX, 0 };
	static const uint8_t values[] = { IPPROTO_TCP, IPPROTO_UDP };
	size_t before = rule_errors(&b->sink);
	int i = d->protocol.set ? rule_choose(&b->sink, spot, &words, &d->protocol) : -1;

	f->port = (uint16_t)rule_number(&b->sink, spot, &range, &d->port);
	f->protocol = i >= 0 ? values[i] : L4_PROTOCOL_ANY;
	if (d->protocol.set && !d->port.set)
		rule_fail(&b->sink, spot, "port", d->protocol.at,
			  "is required with a protocol; without both, the VIP is for all ports");
	if (d->port.set && !d->protocol.set)
		rule_fail(&b->sink, spot, "protocol", d->port.at,
			  "is required with a port: one of %s; without both, the VIP is for all "
			  "ports",
			  rule_list(&b->sink, &words));
	return rule_errors(&b->sink) == before;
}

static const char *build_description(struct l4__build *b, const struct rule_spot *spot,
				     const struct doc_text *d)
{
	if (!d->set || !*d->v)
		return "";
	rule_printable(&b->sink, spot, "description", d->at, d->v, DESCRIPTION_MAX);
	return arena_strdup(b->arena, d->v);
}

static void build_frontend(struct walk *w, const struct doc_frontend *d, struct l4_frontend *f)
{
	struct rule_spot spot = { .in = &l4__frontends_spot, .name = d->name };
	struct l4__build *b = w->b;
	struct l4__vip *vip = &b->vips[w->frontend];

	f->name = arena_strdup(b->arena, d->name);
	f->description = build_description(b, &spot, &d->description);
	f->src_ip_sticky = rule_flag(&d->src_ip_sticky, false);
	f->flush_on_down = rule_flag(&d->flush_on_down, true);
	if (d->address.set)
		l4__host(b, &spot, "address", &d->address, &f->address);
	else
		rule_fail(&b->sink, &spot, "address", d->at, "is required");
	vip->has_key = build_key(b, &spot, d, f);
	build_pools(w, &spot, d, f);
	if (w->first != SIZE_MAX && !w->mixed)
		vip->family = b->backends[w->first].address.family;
}

void l4__build_frontends(struct l4__build *b)
{
	size_t n = b->doc->n_frontends;
	const struct rule_entry *entries = rule_entries(&b->sink, &l4__frontends_spot,
							&l4_schema_frontend, b->doc->frontends, n);
	struct walk w = {
		.b = b,
		.twins = find_twins(b),
		.marks = arena_array_of(b->sink.scratch, b->config->n_backends, struct mark),
	};

	b->frontend_entries = entries;
	b->frontends = arena_array_of(b->arena, n, struct l4_frontend);
	b->vips = arena_array_of(b->sink.scratch, n, struct l4__vip);
	for (w.frontend = 0; w.frontend < n; w.frontend++) {
		w.first = SIZE_MAX;
		w.mixed = false;
		build_frontend(&w, entries[w.frontend].doc, &b->frontends[w.frontend]);
	}
	b->config->frontends = b->frontends;
	b->config->n_frontends = n;
}
