/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/vec.h"

#define CLASSES_MAX FRR_CLASS_MAX

/* A class and what it is for. */
struct made_class {
	const char *key;
	struct frr_class class;
};

struct plan {
	const struct bgp_config *config;
	struct arena *arena;
	VEC(struct made_class) classes; /* sorted by key */
};

/* ---- classes ---- */

static const char *key_of(struct plan *p, const struct bgp_vip *v, enum announce_state s)
{
	const char *name = p->config->advertisements[v->advertisement].name;

	switch (s) {
	case ANNOUNCE_WITHDRAWN:
	case ANNOUNCE_UP:
		return arena_printf(p->arena, "%s/announced", name);
	case ANNOUNCE_DRAINING:
		return arena_printf(p->arena, "%s/draining", name);
	case ANNOUNCE_WORSE:
		break;
	}
	return arena_printf(p->arena, "%s/worse/%s%u/%u", name, v->has_worse_med ? "med" : "",
			    v->worse_med, v->worse_prepend);
}

static struct frr_class class_of(const struct bgp_advertisement *a)
{
	return (struct frr_class){ .has_local_preference = a->has_local_preference,
				   .local_preference = a->local_preference,
				   .has_med = a->has_med,
				   .med = a->med,
				   .communities = a->communities.items,
				   .n_communities = a->communities.n,
				   .large_communities = a->large_communities.items,
				   .n_large_communities = a->large_communities.n,
				   .peers = a->peers.items,
				   .n_peers = a->peers.n };
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* RFC 8326: the community for eBGP peers, the lowest preference for iBGP peers. */
static void make_draining(struct plan *p, struct frr_class *c)
{
	const char **texts = arena_array_of(p->arena, c->n_communities + 1, const char *);
	size_t n = 0;

	for (size_t i = 0; i < c->n_communities; i++)
		if (strcmp(c->communities[i], "graceful-shutdown") != 0)
			texts[n++] = c->communities[i];
	texts[n++] = "graceful-shutdown";
	qsort(texts, n, sizeof(*texts), by_text);
	c->communities = texts;
	c->n_communities = n;
	c->has_local_preference = true;
	c->local_preference = 0;
}

static void make_worse(const struct bgp_vip *v, struct frr_class *c)
{
	if (v->has_worse_med) {
		c->has_med = true;
		c->med = v->worse_med;
	}
	c->prepend = v->worse_prepend;
}

static size_t place_of(const struct plan *p, const char *key)
{
	return sorted_place(p->classes.n, i, strcmp(p->classes.items[i].key, key) < 0);
}

static void add_class(struct plan *p, const struct bgp_vip *v, enum announce_state s)
{
	const char *key = key_of(p, v, s);
	size_t i = place_of(p, key);
	struct frr_class class;

	if (i < p->classes.n && strcmp(p->classes.items[i].key, key) == 0)
		return;
	class = class_of(&p->config->advertisements[v->advertisement]);
	if (s == ANNOUNCE_DRAINING)
		make_draining(p, &class);
	if (s == ANNOUNCE_WORSE)
		make_worse(v, &class);
	vec_insert_at(&p->classes, i);
	p->classes.items[i] = (struct made_class){ key, class };
}

/* FNV-1a */
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261U;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619U;
	return h;
}

/*
 * A number from 1 to CLASSES_MAX by the key's hash, the next free one if it is taken. The classes
 * are visited in the order of their keys, so the result does not depend on the order of the file.
 */
static void number_classes(struct plan *p)
{
	_cleanup_(cleanup_free) bool *taken = mem_zalloc(CLASSES_MAX + 1);

	for (size_t i = 0; i < p->classes.n && i < CLASSES_MAX; i++) {
		uint32_t n = hash(p->classes.items[i].key) % CLASSES_MAX;

		while (taken[n])
			n = (n + 1) % CLASSES_MAX;
		taken[n] = true;
		p->classes.items[i].class.number = n + 1;
	}
}

static void make_classes(struct plan *p)
{
	for (size_t i = 0; i < p->config->n_vips; i++) {
		const struct bgp_vip *v = &p->config->vips[i];

		if (v->advertisement == BGP_NONE)
			continue;
		add_class(p, v, ANNOUNCE_UP);
		add_class(p, v, ANNOUNCE_DRAINING);
		if (v->rule.fallback == ANNOUNCE_THEN_WORSE)
			add_class(p, v, ANNOUNCE_WORSE);
	}
	number_classes(p);
}

/* ---- prefixes ---- */

struct wanted {
	struct bgp_prefix prefix;
	const struct bgp_vip *vip;
	enum announce_state state;
};

/* Better states first. */
static int rank(enum announce_state s)
{
	static const int ranks[] = { [ANNOUNCE_UP] = 0,
				     [ANNOUNCE_WORSE] = 1,
				     [ANNOUNCE_DRAINING] = 2,
				     [ANNOUNCE_WITHDRAWN] = 3 };

	return ranks[s];
}

static int by_prefix(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;
	int cmp = bgp_prefix_cmp(&a->prefix, &b->prefix);

	if (!cmp)
		cmp = rank(a->state) - rank(b->state);
	return cmp ? cmp : strcmp(a->vip->name, b->vip->name);
}

/* Each prefix that is sent once, with its best state. */
static size_t list_wanted(struct plan *p, const enum announce_state *states, struct wanted **ret)
{
	const struct bgp_config *c = p->config;
	struct wanted *list = arena_array_of(p->arena, c->n_vips, struct wanted);
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < c->n_vips; i++)
		if (c->vips[i].advertisement != BGP_NONE && announce_is_sent(states[i]))
			list[n++] = (struct wanted){ bgp_vip_prefix(c, &c->vips[i]), &c->vips[i],
						     states[i] };
	if (n)
		qsort(list, n, sizeof(*list), by_prefix);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || bgp_prefix_cmp(&list[kept - 1].prefix, &list[i].prefix) != 0)
			list[kept++] = list[i];
	*ret = list;
	return kept;
}

/* ---- routers ---- */

bool plan_reaches(const struct bgp_config *c, const struct bgp_vip *v, const struct bgp_peer *p)
{
	const struct schema_texts *peers;

	if (v->advertisement == BGP_NONE ||
	    (v->address.family == AF_INET ? !p->frr.ipv4 : !p->frr.ipv6))
		return false;
	peers = &c->advertisements[v->advertisement].peers;
	return peers->n == 0 || bsearch(&p->frr.name, peers->items, peers->n, sizeof(*peers->items),
					by_text) != NULL;
}

static bool same_vrf(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool reaches_vrf(const struct plan *p, const struct bgp_vip *v, const char *vrf)
{
	for (size_t i = 0; i < p->config->n_peers; i++)
		if (same_vrf(p->config->peers[i].vrf, vrf) &&
		    plan_reaches(p->config, v, &p->config->peers[i]))
			return true;
	return false;
}

static struct frr_router make_router(struct plan *p, const char *vrf, const struct wanted *wanted,
				     size_t n)
{
	const struct bgp_config *c = p->config;
	struct frr_peer *peers = arena_array_of(p->arena, c->n_peers, struct frr_peer);
	struct frr_prefix *prefixes = arena_array_of(p->arena, n, struct frr_prefix);
	struct frr_router r = { c->asn, c->router_id, vrf, peers, 0, prefixes, 0 };

	for (size_t i = 0; i < c->n_peers; i++)
		if (same_vrf(c->peers[i].vrf, vrf))
			peers[r.n_peers++] = c->peers[i].frr;
	for (size_t i = 0; i < n; i++) {
		const struct wanted *w = &wanted[i];
		size_t class = place_of(p, key_of(p, w->vip, w->state));

		if (reaches_vrf(p, w->vip, vrf))
			prefixes[r.n_prefixes++] =
				(struct frr_prefix){ w->prefix.address, w->prefix.length,
						     p->classes.items[class].class.number };
	}
	return r;
}

/* One router for each VRF that a peer is in. */
static size_t make_routers(struct plan *p, const struct wanted *wanted, size_t n_wanted,
			   struct frr_router *routers)
{
	const struct bgp_config *c = p->config;
	size_t n = 0;

	for (size_t i = 0; i < c->n_peers; i++) {
		size_t known = 0;

		while (known < n && !same_vrf(routers[known].vrf, c->peers[i].vrf))
			known++;
		if (known == n)
			routers[n++] = make_router(p, c->peers[i].vrf, wanted, n_wanted);
	}
	return n;
}

void plan_text(const struct bgp_config *c, const enum announce_state *states, struct buf *out)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct plan p = { .config = c, .arena = arena };
	struct frr_router *routers = arena_array_of(arena, c->n_peers, struct frr_router);
	struct frr_model model = { .routers = routers,
				   .profiles = c->profiles,
				   .n_profiles = c->n_profiles };
	struct frr_class *classes;
	struct wanted *wanted;
	size_t n;

	make_classes(&p);
	n = list_wanted(&p, states, &wanted);
	model.n_routers = make_routers(&p, wanted, n, routers);
	classes = arena_array_of(arena, p.classes.n, struct frr_class);
	for (size_t i = 0; i < p.classes.n; i++)
		classes[i] = p.classes.items[i].class;
	model.classes = classes;
	model.n_classes = p.classes.n;
	frr_render(&model, out);
	vec_free(&p.classes);
}
