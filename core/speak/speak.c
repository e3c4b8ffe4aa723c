/* SPDX-License-Identifier: Apache-2.0 */
#include "core/speak/speak.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"

static const char *const reason_names[SPEAK_REASONS] = {
	[SPEAK_ANNOUNCED] = "announced",
	[SPEAK_DELETED] = "serviceDeleted",
	[SPEAK_NOT_LOAD_BALANCER] = "notLoadBalancer",
	[SPEAK_OTHER_CLASS] = "otherLoadBalancerClass",
	[SPEAK_NO_CONFIG] = "noConfiguration",
	[SPEAK_NO_IP] = "noIPAllocated",
	[SPEAK_INVALID_IP] = "invalidIP",
	[SPEAK_IP_NOT_ALLOWED] = "ipNotAllowed",
	[SPEAK_NOT_OWNER] = "notOwner",
	[SPEAK_NO_MATCH] = "noMatchingAdvertisement",
	[SPEAK_CONFLICT] = "conflictingAdvertisements",
	[SPEAK_NODE_NETWORK] = "nodeNetworkUnavailable",
	[SPEAK_NODE_EXCLUDED] = "nodeLabeledExcludeBalancers",
	[SPEAK_NO_LOCAL_ENDPOINTS] = "noLocalEndpoints",
	[SPEAK_NO_ENDPOINTS] = "noEndpoints",
	[SPEAK_SHARED] = "sharedIPWithServiceSelector",
	[SPEAK_NO_INTERFACE] = "noSuchInterface",
	[SPEAK_NO_DATA_PLANE] = "dataPlaneNotReady",
	[SPEAK_NO_PEER] = "noMatchingPeer",
};

static const char *const reason_texts[SPEAK_REASONS] = {
	[SPEAK_ANNOUNCED] = "",
	[SPEAK_DELETED] = "the Service is gone",
	[SPEAK_NOT_LOAD_BALANCER] = "the Service is not of the type LoadBalancer",
	[SPEAK_OTHER_CLASS] = "the Service has another loadBalancerClass",
	[SPEAK_NO_CONFIG] = "there was no valid configuration yet",
	[SPEAK_NO_IP] = "the Service has no address",
	[SPEAK_INVALID_IP] = "the status of the Service has something that is no address",
	[SPEAK_IP_NOT_ALLOWED] = "no IPAddressPool has the addresses of the Service",
	[SPEAK_NOT_OWNER] = "no advertisement of its pool selects this node",
	[SPEAK_NO_MATCH] = "no advertisement selects the Service",
	[SPEAK_CONFLICT] = "two BGPAdvertisements give it different local preferences",
	[SPEAK_NODE_NETWORK] = "the network of the node is unavailable",
	[SPEAK_NODE_EXCLUDED] = ("the node has the label " SPEAK_EXCLUDE_LABEL),
	[SPEAK_NO_LOCAL_ENDPOINTS] =
		"externalTrafficPolicy is Local, and the node has no usable endpoint",
	[SPEAK_NO_ENDPOINTS] = "no endpoint of the Service is ready or serving",
	[SPEAK_SHARED] = "it shares its address, and an L2Advertisement has serviceSelectors",
	[SPEAK_NO_DATA_PLANE] = "the maglevd of the node does not serve it",
	[SPEAK_NO_INTERFACE] = "none of the interfaces of the L2Advertisements exists on the node",
	[SPEAK_NO_PEER] = "no BGPPeer of the node gets it",
};

const char *speak_reason_name(enum speak_reason r)
{
	return reason_names[r];
}

const char *speak_reason_text(enum speak_reason r)
{
	return reason_texts[r];
}

/* ---- nodes ---- */

const struct speak_node *speak_find_node(const struct speak_cluster *c, const char *name)
{
	size_t i = sorted_place(c->n_nodes, k, strcmp(c->nodes[k].name, name) < 0);

	return i < c->n_nodes && strcmp(c->nodes[i].name, name) == 0 ? &c->nodes[i] : NULL;
}

bool speak_is_excluded(const struct speak_cluster *c, const struct speak_node *n)
{
	return !c->ignore_exclude && labels_get(&n->labels, SPEAK_EXCLUDE_LABEL);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_local_endpoint(const struct speak_service *s, const char *node)
{
	return s->n_nodes && bsearch(&node, s->nodes, s->n_nodes, sizeof(*s->nodes), by_text);
}

bool speak_lacks_endpoint(const struct speak_service *s, const char *node)
{
	return s->local && !s->by_data_plane && !has_local_endpoint(s, node);
}

enum speak_reason speak_judge_node(const struct speak_cluster *c, const struct speak_node *n)
{
	if (n->network_unavailable)
		return SPEAK_NODE_NETWORK;
	return speak_is_excluded(c, n) ? SPEAK_NODE_EXCLUDED : SPEAK_ANNOUNCED;
}

/* ---- the pool ---- */

static enum speak_reason find_pool(const struct speak_cluster *c, const struct speak_service *s,
				   const struct metal_pool **ret)
{
	if (!s->n_addresses)
		return SPEAK_NO_IP;
	*ret = metal_pool_of(c->config, s->addresses, s->n_addresses);
	return *ret ? SPEAK_ANNOUNCED : SPEAK_IP_NOT_ALLOWED;
}

/* ---- BGP ---- */

static bool has_conflict(const struct speak_cluster *c, const struct metal_pool *pool,
			 const struct metal_bgp *const *list, size_t n)
{
	const struct metal_place own = { c->own->name, c->own->labels };

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (metal_bgp_conflict(list[i], list[k], pool, &own, 1))
				return true;
	return false;
}

/* Those of the pool that select this node, then those of them that select the Service. */
static enum speak_reason match_bgp(const struct speak_cluster *c, const struct speak_service *s,
				   const struct metal_pool *pool, struct arena *arena,
				   struct speak_bgp *ret)
{
	const struct metal_bgp **list =
		arena_array_of(arena, pool->n_bgp, const struct metal_bgp *);
	size_t here = 0;

	for (size_t i = 0; i < pool->n_bgp; i++) {
		if (!metal_selects(&pool->bgp[i]->nodes, &c->own->labels))
			continue;
		here++;
		if (metal_selects(&pool->bgp[i]->services, &s->labels))
			list[ret->n++] = pool->bgp[i];
	}
	ret->advertisements = list;
	return !here ? SPEAK_NOT_OWNER : !ret->n ? SPEAK_NO_MATCH : SPEAK_ANNOUNCED;
}

static enum speak_reason judge_bgp(const struct speak_cluster *c, const struct speak_service *s,
				   struct arena *arena, struct speak_bgp *ret)
{
	const struct metal_pool *pool = NULL;
	enum speak_reason r = find_pool(c, s, &pool);

	if (r == SPEAK_ANNOUNCED)
		r = match_bgp(c, s, pool, arena, ret);
	if (r == SPEAK_ANNOUNCED && has_conflict(c, pool, ret->advertisements, ret->n))
		r = SPEAK_CONFLICT;
	/* endpoints come before the exclude label: only what is announced is drained */
	if (r == SPEAK_ANNOUNCED && !s->has_endpoint)
		r = SPEAK_NO_ENDPOINTS;
	if (r == SPEAK_ANNOUNCED && speak_lacks_endpoint(s, c->own->name))
		r = SPEAK_NO_LOCAL_ENDPOINTS;
	if (r == SPEAK_ANNOUNCED && s->by_data_plane && !s->is_served)
		r = SPEAK_NO_DATA_PLANE;
	return r == SPEAK_ANNOUNCED ? speak_judge_node(c, c->own) : r;
}

void speak_bgp(const struct speak_cluster *c, const struct speak_service *s, struct arena *arena,
	       struct speak_bgp *ret)
{
	*ret = (struct speak_bgp){ 0 };
	ret->reason = judge_bgp(c, s, arena, ret);
}

/* ---- local networks ---- */

bool speak_l2_selects(const struct speak_l2 *of, const struct labels *node)
{
	for (size_t i = 0; i < of->n; i++)
		if (metal_selects(&of->advertisements[i]->nodes, node))
			return true;
	return false;
}

/* Weights of all advertisements that select the node add up. */
static int score_of(const struct speak_l2 *of, const struct labels *node)
{
	int score = 0;

	for (size_t i = 0; i < of->n; i++)
		if (metal_selects(&of->advertisements[i]->nodes, node))
			score += metal_l2_score(of->advertisements[i], node);
	return score;
}

static bool is_candidate(const struct speak_cluster *c, const struct speak_service *s,
			 const struct speak_l2 *of, const struct speak_node *n)
{
	return n->is_alive && speak_judge_node(c, n) == SPEAK_ANNOUNCED &&
	       speak_l2_selects(of, &n->labels) && !speak_lacks_endpoint(s, n->name);
}

static void elect(const struct speak_cluster *c, const struct speak_service *s, struct arena *arena,
		  struct speak_l2 *ret)
{
	_cleanup_(cleanup_free) struct l2_candidate *list =
		mem_zalloc((c->n_nodes + 1) * sizeof(*list));
	const char **names = arena_array_of(arena, c->n_nodes, const char *);
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < c->n_nodes; i++)
		if (is_candidate(c, s, ret, &c->nodes[i]))
			list[ret->n_candidates++] =
				(struct l2_candidate){ .node = c->nodes[i].name,
						       .score =
							       score_of(ret, &c->nodes[i].labels) };
	l2_elect_by_hash(list, ret->n_candidates, addr_format(&s->addresses[0], text), c->sha256);
	for (size_t i = 0; i < ret->n_candidates; i++)
		names[i] = list[i].node;
	ret->candidates = names;
}

/* The union of those of the advertisements that select this node; one without any means all. */
static void join_interfaces(const struct speak_cluster *c, struct arena *arena,
			    struct speak_l2 *ret)
{
	size_t max = 0, n = 0, kept = 0;
	const char **names;

	for (size_t i = 0; i < ret->n; i++)
		max += ret->advertisements[i]->interfaces.n;
	names = arena_array_of(arena, max, const char *);
	for (size_t i = 0; i < ret->n; i++) {
		const struct metal_l2 *a = ret->advertisements[i];

		if (!metal_selects(&a->nodes, &c->own->labels))
			continue;
		if (!a->interfaces.n)
			return;
		for (size_t k = 0; k < a->interfaces.n; k++)
			names[n++] = a->interfaces.items[k];
	}
	if (n)
		qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	ret->interfaces = (struct metal_texts){ names, kept };
}

static enum speak_reason match_l2(const struct speak_service *s, const struct metal_pool *pool,
				  struct arena *arena, struct speak_l2 *ret)
{
	const struct metal_l2 **list = arena_array_of(arena, pool->n_l2, const struct metal_l2 *);
	bool by_service = false;

	for (size_t i = 0; i < pool->n_l2; i++)
		if (metal_selects(&pool->l2[i]->services, &s->labels)) {
			list[ret->n++] = pool->l2[i];
			by_service |= pool->l2[i]->services.n > 0;
		}
	ret->advertisements = list;
	if (!ret->n)
		return SPEAK_NO_MATCH;
	return s->shared && by_service ? SPEAK_SHARED : SPEAK_ANNOUNCED;
}

/* Why this node does not own the addresses although it may be asked to. */
static enum speak_reason judge_owner(const struct speak_cluster *c, const struct speak_service *s,
				     const struct speak_l2 *of)
{
	if (of->n_candidates && strcmp(of->candidates[0], c->own->name) == 0)
		return s->by_data_plane && !s->is_served ? SPEAK_NO_DATA_PLANE : SPEAK_ANNOUNCED;
	if (!speak_l2_selects(of, &c->own->labels))
		return SPEAK_NO_MATCH;
	if (speak_judge_node(c, c->own) != SPEAK_ANNOUNCED)
		return speak_judge_node(c, c->own);
	return speak_lacks_endpoint(s, c->own->name) ? SPEAK_NO_LOCAL_ENDPOINTS : SPEAK_NOT_OWNER;
}

static enum speak_reason judge_l2(const struct speak_cluster *c, const struct speak_service *s,
				  struct arena *arena, struct speak_l2 *ret)
{
	const struct metal_pool *pool = NULL;
	enum speak_reason r = find_pool(c, s, &pool);

	if (r == SPEAK_ANNOUNCED)
		r = match_l2(s, pool, arena, ret);
	if (r == SPEAK_ANNOUNCED && !s->has_endpoint)
		r = SPEAK_NO_ENDPOINTS;
	if (r != SPEAK_ANNOUNCED)
		return r;
	elect(c, s, arena, ret);
	join_interfaces(c, arena, ret);
	return judge_owner(c, s, ret);
}

void speak_l2(const struct speak_cluster *c, const struct speak_service *s, struct arena *arena,
	      struct speak_l2 *ret)
{
	*ret = (struct speak_l2){ 0 };
	ret->reason = judge_l2(c, s, arena, ret);
}
