/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select: which pools and advertisements apply to a service, an address, a node or a peer.
 *
 * A list of selectors is a list of alternatives; where a resource has none, it applies everywhere.
 */
#include <string.h>

#include "base/sorted.h"
#include "core/metal/build.h"

const struct metal_pool *metal_config_pool(const struct metal_config *c, const char *name)
{
	size_t at = sorted_place(c->n_pools, i, strcmp(c->pools[i].name, name) < 0);

	return at < c->n_pools && strcmp(c->pools[at].name, name) == 0 ? &c->pools[at] : NULL;
}

const struct metal_peer *metal_config_peer(const struct metal_config *c, const char *name)
{
	size_t at = sorted_place(c->n_peers, i, strcmp(c->peers[i].name, name) < 0);

	return at < c->n_peers && strcmp(c->peers[at].name, name) == 0 ? &c->peers[at] : NULL;
}

bool metal_selects(const struct labels_selectors *s, const struct labels *l)
{
	return !s->n || labels_match_any(s, l);
}

/* Some old firmware takes these for addresses of networks. */
static bool is_buggy(const struct addr *a)
{
	return a->family == AF_INET && (a->bytes[3] == 0 || a->bytes[3] == 255);
}

bool metal_pool_has(const struct metal_pool *p, const struct addr *a)
{
	if (p->avoid_buggy_ips && is_buggy(a))
		return false;
	for (size_t i = 0; i < p->n_prefixes; i++)
		if (metal_prefix_has(&p->prefixes[i], a))
			return true;
	return false;
}

static bool has_all(const struct metal_pool *p, const struct addr *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!metal_pool_has(p, &addresses[i]))
			return false;
	return n > 0;
}

const struct metal_pool *metal_pool_of(const struct metal_config *c, const struct addr *addresses,
				       size_t n)
{
	for (size_t i = 0; i < c->n_pools; i++)
		if (has_all(&c->pools[i], addresses, n))
			return &c->pools[i];
	return NULL;
}

bool metal_pool_admits(const struct metal_pool *p, const char *namespace,
		       const struct labels *service)
{
	if (!p->is_pinned)
		return true;
	if (p->some_namespaces && !metal__has_text(p->namespaces, namespace))
		return false;
	return metal_selects(&p->services, service);
}

/* Prefixes of other lengths are other prefixes; with both families both lengths must differ. */
static bool lengths_differ(const struct metal_bgp *a, const struct metal_bgp *b,
			   const struct metal_pool *pool)
{
	return (!pool->has4 || a->length4 != b->length4) &&
	       (!pool->has6 || a->length6 != b->length6);
}

static bool share_peer(const struct metal_bgp *a, const struct metal_bgp *b)
{
	if (!a->peers.n || !b->peers.n)
		return true;
	for (size_t i = 0; i < a->peers.n; i++)
		if (metal__has_text(b->peers, a->peers.items[i]))
			return true;
	return false;
}

bool metal_bgp_conflict(const struct metal_bgp *a, const struct metal_bgp *b,
			const struct metal_pool *pool, const struct metal_place *nodes,
			size_t n_nodes)
{
	if (a->local_pref == b->local_pref || lengths_differ(a, b, pool) || !share_peer(a, b))
		return false;
	for (size_t i = 0; i < n_nodes; i++)
		if (metal_selects(&a->nodes, &nodes[i].labels) &&
		    metal_selects(&b->nodes, &nodes[i].labels))
			return true;
	return false;
}

bool metal_peer_carries(const struct metal_peer *p, uint8_t family)
{
	return p->interface || p->dual_stack || p->address.family == family;
}

bool metal_bgp_for_peer(const struct metal_bgp *b, const char *peer)
{
	return !b->peers.n || metal__has_text(b->peers, peer);
}

struct metal_prefix metal_bgp_prefix(const struct metal_bgp *b, const struct addr *a)
{
	return metal__masked(a, a->family == AF_INET ? b->length4 : b->length6);
}

int metal_l2_score(const struct metal_l2 *l, const struct labels *node)
{
	int score = 0;

	for (size_t i = 0; i < l->n_preferences; i++)
		if (labels_match(&l->preferences[i].nodes, node))
			score += l->preferences[i].weight;
	return score;
}
