/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/plan_kube.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/units.h"
#include "base/vec.h"

/* ---- peers ---- */

static bool is_word(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

/* Texts that go into a line of FRR's configuration, and what they are of the peer. */
static const char *check_peer(const struct metal_peer *p, struct arena *arena)
{
	const struct {
		const char *text, *what;
	} words[] = { { p->password, "password" },
		      { p->interface, "interface" },
		      { p->vrf, "vrf" } };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].text && !is_word(words[i].text))
			return arena_printf(arena,
					    "peer %s has a %s with spaces or control characters, "
					    "which FRR cannot read",
					    p->name, words[i].what);
	return NULL;
}

static uint32_t seconds(int64_t ns)
{
	return (uint32_t)(ns / NSEC_PER_SEC);
}

static struct frr_peer peer_of(const struct metal_peer *p)
{
	static const enum frr_peer_as kinds[] = { [METAL_AS_NUMBER] = FRR_AS_NUMBER,
						  [METAL_AS_INTERNAL] = FRR_AS_INTERNAL,
						  [METAL_AS_EXTERNAL] = FRR_AS_EXTERNAL };

	return (struct frr_peer){
		.name = p->name,
		.address = p->address,
		.interface = p->interface,
		.as_kind = kinds[p->as],
		.asn = p->asn,
		.local_asn = p->local_asn,
		.port = p->port,
		.source = p->source,
		.password = p->password,
		.bfd = p->profile ? p->profile->name : NULL,
		.has_timers = p->has_timers,
		.keepalive_s = seconds(p->keepalive_ns),
		.hold_s = seconds(p->hold_ns),
		.connect_s = seconds(p->connect_ns),
		.ebgp_multihop = p->ebgp_multihop,
		.graceful_restart = p->graceful_restart,
		.ipv4 = metal_peer_carries(p, AF_INET),
		.ipv6 = metal_peer_carries(p, AF_INET6),
	};
}

static struct frr_bfd profile_of(const struct metal_bfd *b)
{
	return (struct frr_bfd){ .name = b->name,
				 .receive_ms = b->receive_ms,
				 .transmit_ms = b->transmit_ms,
				 .multiplier = b->multiplier,
				 .echo_mode = b->echo_mode,
				 .echo_ms = b->echo_ms,
				 .passive = b->passive,
				 .minimum_ttl = b->minimum_ttl };
}

const char *plan_kube_peers(const struct metal_config *c, struct arena *arena,
			    struct bgp_config *ret)
{
	struct bgp_peer *peers = arena_array_of(arena, c->n_peers, struct bgp_peer);
	struct frr_bfd *profiles = arena_array_of(arena, c->n_profiles, struct frr_bfd);
	struct bgp_config made = { .name = "",
				   .peers = peers,
				   .n_peers = c->n_peers,
				   .profiles = profiles,
				   .n_profiles = c->n_profiles };

	for (size_t i = 0; i < c->n_peers; i++) {
		const char *error = check_peer(&c->peers[i], arena);

		if (error)
			return error;
		peers[i] = (struct bgp_peer){ peer_of(&c->peers[i]), c->peers[i].vrf };
		made.asn = c->peers[i].my_asn;
		if (addr_is_set(&c->peers[i].router_id))
			made.router_id = c->peers[i].router_id;
	}
	for (size_t i = 0; i < c->n_profiles; i++)
		profiles[i] = profile_of(&c->profiles[i]);
	*ret = made;
	return NULL;
}

/* ---- classes ---- */

/* Peers that get the same advertisements of a class. */
struct part {
	const struct metal_bgp **advertisements;
	size_t n;
	const char **peers;
	size_t n_peers;
};

struct made_class {
	const char *key;
	uint32_t number;
	bool draining;
	struct part *parts;
	size_t n_parts;
};

struct plan {
	const struct metal_config *config;
	const struct bgp_config *peers;
	struct arena *arena;
	VEC(struct made_class) classes; /* sorted by key */
	/* the class of the last prefix with one advertisement: usually that of the next, too */
	const struct metal_bgp *last;
	bool last_draining;
	const char *last_key;
};

/* A set of advertisements, sorted by name. */
struct set {
	const struct metal_bgp *const *items;
	size_t n;
	bool draining;
};

static const char *key_of(struct plan *p, const struct set *s)
{
	_cleanup_(buf_free) struct buf key = { 0 };

	for (size_t i = 0; i < s->n; i++)
		buf_printf(&key, "%s%s", i ? "+" : "", s->items[i]->name);
	if (s->draining)
		buf_adds(&key, "/draining");
	return arena_strdup(p->arena, buf_cstr(&key));
}

static struct part part_of(struct plan *p, const struct set *s, const char *peer)
{
	struct part part = { arena_array_of(p->arena, s->n, const struct metal_bgp *), 0,
			     arena_array_of(p->arena, p->peers->n_peers, const char *), 0 };

	for (size_t i = 0; i < s->n; i++)
		if (metal_bgp_for_peer(s->items[i], peer))
			part.advertisements[part.n++] = s->items[i];
	return part;
}

static bool same_part(const struct part *a, const struct part *b)
{
	return a->n == b->n && memcmp(a->advertisements, b->advertisements,
				      a->n * sizeof(a->advertisements[0])) == 0;
}

static void add_peer(struct made_class *c, const struct part *of, const char *peer)
{
	size_t i = 0;

	while (i < c->n_parts && !same_part(&c->parts[i], of))
		i++;
	if (i == c->n_parts)
		c->parts[c->n_parts++] = *of;
	c->parts[i].peers[c->parts[i].n_peers++] = peer;
}

static void make_parts(struct plan *p, const struct set *s, struct made_class *c)
{
	c->parts = arena_array_of(p->arena, p->peers->n_peers, struct part);
	for (size_t i = 0; i < p->peers->n_peers; i++) {
		const char *peer = p->peers->peers[i].frr.name;
		const struct part part = part_of(p, s, peer);

		if (part.n)
			add_peer(c, &part, peer);
	}
}

static size_t place_of(const struct plan *p, const char *key)
{
	return sorted_place(p->classes.n, i, strcmp(p->classes.items[i].key, key) < 0);
}

/* Returns the key, which finds the class also after others were added. */
static const char *add_class(struct plan *p, const struct set *s)
{
	const char *key = key_of(p, s);
	size_t i = place_of(p, key);
	struct made_class made = { .key = key, .draining = s->draining };

	if (i < p->classes.n && strcmp(p->classes.items[i].key, key) == 0)
		return p->classes.items[i].key;
	make_parts(p, s, &made);
	vec_insert_at(&p->classes, i);
	p->classes.items[i] = made;
	return key;
}

/* FNV-1a */
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261U;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619U;
	return h;
}

/* As in plan.c: by the hash of the key, the next free one if it is taken. */
static void number_classes(struct plan *p)
{
	_cleanup_(cleanup_free) bool *taken = mem_zalloc(FRR_CLASS_MAX + 1);

	for (size_t i = 0; i < p->classes.n && i < FRR_CLASS_MAX; i++) {
		uint32_t n = hash(p->classes.items[i].key) % FRR_CLASS_MAX;

		while (taken[n])
			n = (n + 1) % FRR_CLASS_MAX;
		taken[n] = true;
		p->classes.items[i].number = n + 1;
	}
}

/* The advertisements of a pool that select all Services, and make the same prefix. */
static void add_pool_class(struct plan *p, const struct metal_pool *pool, bool six, uint8_t length)
{
	const struct metal_bgp **list =
		arena_array_of(p->arena, pool->n_bgp, const struct metal_bgp *);
	struct set s = { list, 0, false };

	for (size_t i = 0; i < pool->n_bgp; i++) {
		const struct metal_bgp *b = pool->bgp[i];

		if (!b->services.n && (six ? b->length6 : b->length4) == length)
			list[s.n++] = b;
	}
	if (s.n)
		add_class(p, &s);
}

static void add_pool_classes(struct plan *p)
{
	for (size_t i = 0; i < p->config->n_pools; i++) {
		const struct metal_pool *pool = &p->config->pools[i];

		for (size_t k = 0; k < pool->n_bgp; k++) {
			if (pool->has4)
				add_pool_class(p, pool, false, pool->bgp[k]->length4);
			if (pool->has6)
				add_pool_class(p, pool, true, pool->bgp[k]->length6);
		}
	}
}

/* ---- prefixes ---- */

/* One advertisement of one prefix. */
struct wanted {
	struct metal_prefix prefix;
	const struct metal_bgp *advertisement;
	bool draining;
};

struct prefix_class {
	struct metal_prefix prefix;
	const char *key;
};

static int compare_prefix(const struct metal_prefix *a, const struct metal_prefix *b)
{
	int r = addr_cmp(&a->address, &b->address);

	return r ? r : (int)a->length - (int)b->length;
}

static int compare_wanted(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;
	int r = compare_prefix(&a->prefix, &b->prefix);

	return r ? r : strcmp(a->advertisement->name, b->advertisement->name);
}

static size_t list_wanted(struct plan *p, const struct plan_announcement *list, size_t n,
			  struct wanted **ret)
{
	struct wanted *all;
	size_t max = 0, count = 0;

	for (size_t i = 0; i < n; i++)
		max += list[i].n_addresses * list[i].n;
	all = arena_array_of(p->arena, max, struct wanted);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i].n_addresses * list[i].n; k++) {
			const struct metal_bgp *b = list[i].advertisements[k % list[i].n];
			const struct addr *a = &list[i].addresses[k / list[i].n];

			all[count++] =
				(struct wanted){ metal_bgp_prefix(b, a), b, list[i].draining };
		}
	if (count)
		qsort(all, count, sizeof(*all), compare_wanted);
	*ret = all;
	return count;
}

/* The class of the n entries of one prefix. It drains if nothing announces it normally. */
static const char *class_of(struct plan *p, const struct wanted *all, size_t n)
{
	const struct metal_bgp **list;
	struct set s = { NULL, 0, true };

	if (n == 1 && all->advertisement == p->last && all->draining == p->last_draining)
		return p->last_key;
	s.items = list = arena_array_of(p->arena, n, const struct metal_bgp *);
	for (size_t i = 0; i < n; i++) {
		if (!s.n || list[s.n - 1] != all[i].advertisement)
			list[s.n++] = all[i].advertisement;
		s.draining &= all[i].draining;
	}
	if (n > 1)
		return add_class(p, &s);
	p->last = all->advertisement;
	p->last_draining = all->draining;
	p->last_key = add_class(p, &s);
	return p->last_key;
}

static size_t classify(struct plan *p, const struct wanted *all, size_t n,
		       struct prefix_class **ret)
{
	struct prefix_class *made = arena_array_of(p->arena, n, struct prefix_class);
	size_t count = 0;

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1;
		     next < n && compare_prefix(&all[i].prefix, &all[next].prefix) == 0;)
			next++;
		made[count++] =
			(struct prefix_class){ all[i].prefix, class_of(p, &all[i], next - i) };
	}
	*ret = made;
	return count;
}

/* ---- routers ---- */

static bool same_vrf(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool takes_family(const struct frr_peer *p, uint8_t family)
{
	return family == AF_INET ? p->ipv4 : p->ipv6;
}

static const struct bgp_peer *find_peer(const struct bgp_config *c, const char *name)
{
	size_t i = sorted_place(c->n_peers, k, strcmp(c->peers[k].frr.name, name) < 0);

	assert(i < c->n_peers);
	return &c->peers[i];
}

static bool reaches(const struct plan *p, const struct made_class *c, const char *vrf,
		    uint8_t family)
{
	for (size_t i = 0; i < c->n_parts; i++)
		for (size_t k = 0; k < c->parts[i].n_peers; k++) {
			const struct bgp_peer *peer = find_peer(p->peers, c->parts[i].peers[k]);

			if (same_vrf(peer->vrf, vrf) && takes_family(&peer->frr, family))
				return true;
		}
	return false;
}

static uint32_t asn_of(const struct metal_config *c, const char *vrf)
{
	for (size_t i = 0; i < c->n_peers; i++)
		if (same_vrf(c->peers[i].vrf, vrf))
			return c->peers[i].my_asn;
	return 0;
}

static struct frr_router make_router(struct plan *p, const char *vrf,
				     const struct prefix_class *list, size_t n)
{
	struct frr_peer *peers = arena_array_of(p->arena, p->peers->n_peers, struct frr_peer);
	struct frr_prefix *prefixes = arena_array_of(p->arena, n, struct frr_prefix);
	struct frr_router r = { .asn = asn_of(p->config, vrf),
				.id = p->peers->router_id,
				.vrf = vrf,
				.peers = peers,
				.prefixes = prefixes };

	for (size_t i = 0; i < p->peers->n_peers; i++)
		if (same_vrf(p->peers->peers[i].vrf, vrf))
			peers[r.n_peers++] = p->peers->peers[i].frr;
	for (size_t i = 0; i < n; i++) {
		const struct made_class *c = &p->classes.items[place_of(p, list[i].key)];

		if (reaches(p, c, vrf, list[i].prefix.address.family))
			prefixes[r.n_prefixes++] =
				(struct frr_prefix){ list[i].prefix.address, list[i].prefix.length,
						     c->number };
	}
	return r;
}

static size_t make_routers(struct plan *p, const struct prefix_class *list, size_t n,
			   struct frr_router *routers)
{
	size_t count = 0;

	for (size_t i = 0; i < p->peers->n_peers; i++) {
		const char *vrf = p->peers->peers[i].vrf;
		size_t known = 0;

		while (known < count && !same_vrf(routers[known].vrf, vrf))
			known++;
		if (known == count)
			routers[count++] = make_router(p, vrf, list, n);
	}
	return count;
}

/* ---- the model ---- */

static void add_texts(const char **list, size_t *n, const struct metal_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		list[(*n)++] = t->items[i];
}

/* RFC 8326: the community for eBGP peers, the lowest preference for iBGP peers. */
static struct frr_attributes attributes_of(struct plan *p, const struct part *part, bool draining)
{
	struct frr_attributes a = { 0 };
	size_t max = 1, max_large = 0;
	const char **plain, **large;

	for (size_t i = 0; i < part->n; i++) {
		max += part->advertisements[i]->communities.n;
		max_large += part->advertisements[i]->large_communities.n;
	}
	a.communities = plain = arena_array_of(p->arena, max, const char *);
	a.large_communities = large = arena_array_of(p->arena, max_large, const char *);
	for (size_t i = 0; i < part->n; i++) {
		const struct metal_bgp *b = part->advertisements[i];

		add_texts(plain, &a.n_communities, &b->communities);
		add_texts(large, &a.n_large_communities, &b->large_communities);
		if (b->local_pref > a.local_preference)
			a.local_preference = b->local_pref;
	}
	a.has_local_preference = a.local_preference > 0 || draining;
	if (draining) {
		plain[a.n_communities++] = "graceful-shutdown";
		a.local_preference = 0;
	}
	return a;
}

static size_t make_classes(struct plan *p, struct frr_class **ret)
{
	struct frr_class *list;
	size_t n = 0, count = 0;

	for (size_t i = 0; i < p->classes.n; i++)
		n += p->classes.items[i].n_parts;
	list = arena_array_of(p->arena, n, struct frr_class);
	for (size_t i = 0; i < p->classes.n; i++)
		for (size_t k = 0; k < p->classes.items[i].n_parts; k++) {
			const struct made_class *c = &p->classes.items[i];
			const struct part *part = &c->parts[k];

			list[count++] =
				(struct frr_class){ .number = c->number,
						    .attributes =
							    attributes_of(p, part, c->draining),
						    .peers = part->peers,
						    .n_peers = part->n_peers };
		}
	*ret = list;
	return count;
}

void plan_kube_text(const struct metal_config *c, const struct bgp_config *peers,
		    const struct plan_announcement *list, size_t n, struct buf *out)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct plan p = { .config = c, .peers = peers, .arena = arena };
	struct frr_router *routers = arena_array_of(arena, peers->n_peers, struct frr_router);
	struct frr_model model = { .routers = routers,
				   .profiles = peers->profiles,
				   .n_profiles = peers->n_profiles };
	struct prefix_class *prefixes;
	struct frr_class *classes;
	struct wanted *wanted;
	size_t n_wanted, n_prefixes;

	add_pool_classes(&p);
	n_wanted = list_wanted(&p, list, n, &wanted);
	n_prefixes = classify(&p, wanted, n_wanted, &prefixes);
	number_classes(&p);
	model.n_routers = make_routers(&p, prefixes, n_prefixes, routers);
	model.n_classes = make_classes(&p, &classes);
	model.classes = classes;
	frr_render(&model, out);
	vec_free(&p.classes);
}

struct metal_texts plan_kube_reached(const struct bgp_config *peers,
				     const struct plan_announcement *a, struct arena *arena)
{
	const char **names = arena_array_of(arena, peers->n_peers, const char *);
	size_t n = 0;

	for (size_t i = 0; i < peers->n_peers; i++) {
		const struct frr_peer *p = &peers->peers[i].frr;
		bool advertised = false, has_family = false;

		for (size_t k = 0; k < a->n; k++)
			advertised |= metal_bgp_for_peer(a->advertisements[k], p->name);
		for (size_t k = 0; k < a->n_addresses; k++)
			has_family |= takes_family(p, a->addresses[k].family);
		if (advertised && has_family)
			names[n++] = p->name;
	}
	return (struct metal_texts){ names, n };
}
