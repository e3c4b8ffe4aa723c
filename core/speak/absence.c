/* SPDX-License-Identifier: Apache-2.0 */
#include "core/speak/absence.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define NAMES_SHOWN 3 /* in a sentence; the others are counted */

static void say(struct speak_absence *ret, enum speak_reason reason, const char *message)
{
	*ret = (struct speak_absence){ reason, message };
}

/* ---- words ---- */

static void add_name(struct buf *out, size_t i, size_t n, const char *name)
{
	if (i < NAMES_SHOWN)
		buf_printf(out, "%s%s", i ? ", " : "", name);
	else if (i + 1 == n)
		buf_printf(out, " and %zu more", n - NAMES_SHOWN);
}

static const char *finish(struct buf *out, struct arena *arena)
{
	return arena_strndup(arena, out->p, out->n);
}

static const char *no_local_text(const struct speak_service *s, const char *kind,
				 struct arena *arena)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_printf(&out,
		   "externalTrafficPolicy is Local, and no node that %s selects has a usable "
		   "endpoint; those with one: ",
		   kind);
	for (size_t i = 0; i < s->n_nodes; i++)
		add_name(&out, i, s->n_nodes, s->nodes[i]);
	if (!s->n_nodes)
		buf_adds(&out, "none");
	return finish(&out, arena);
}

/* ---- before any advertisement ---- */

static bool is_of_a_pool(const struct metal_config *c, const struct addr *a)
{
	return metal_pool_of(c, a, 1) != NULL;
}

/* An address of no pool was given by somebody else: that is not said of every foreign Service. */
static bool has_no_pool(const struct speak_cluster *c, const struct speak_service *s,
			const struct metal_pool **ret_pool, struct speak_absence *ret)
{
	const struct metal_config *config = c->whole ? c->whole : c->config;

	say(ret, SPEAK_ANNOUNCED, "");
	*ret_pool = s->n_addresses ? metal_pool_of(config, s->addresses, s->n_addresses) : NULL;
	for (size_t i = 0; !*ret_pool && i < s->n_addresses; i++)
		if (is_of_a_pool(config, &s->addresses[i]))
			say(ret, SPEAK_IP_NOT_ALLOWED, "no IPAddressPool has all of its addresses");
	return !*ret_pool;
}

static const char *no_advertisement_text(const struct metal_pool *pool, struct arena *arena)
{
	return arena_printf(arena, "no BGPAdvertisement and no L2Advertisement selects the pool %s",
			    pool->name);
}

/* ---- BGP ---- */

static bool is_for_service(const struct metal_bgp *b, const struct speak_service *s)
{
	return metal_selects(&b->services, &s->labels);
}

static bool carries(const struct metal_peer *p, const struct speak_service *s)
{
	for (size_t i = 0; i < s->n_addresses; i++)
		if (metal_peer_carries(p, s->addresses[i].family))
			return true;
	return false;
}

/* Whether a peer of the node gets the Service by this advertisement. */
static bool is_reached(const struct metal_config *all, const struct metal_bgp *b,
		       const struct speak_service *s, const struct labels *node)
{
	for (size_t i = 0; i < all->n_peers; i++) {
		const struct metal_peer *p = &all->peers[i];

		if (metal_bgp_for_peer(b, p->name) && carries(p, s) &&
		    metal_selects(&p->nodes, node))
			return true;
	}
	return false;
}

/* How near a node comes to speaking about the Service itself. */
enum step { STEP_NONE, STEP_SELECTED, STEP_REACHED };

static enum step step_of(const struct metal_config *all, const struct metal_pool *pool,
			 const struct speak_service *s, const struct speak_node *n)
{
	enum step step = STEP_NONE;

	for (size_t i = 0; n->is_alive && i < pool->n_bgp && step != STEP_REACHED; i++) {
		const struct metal_bgp *b = pool->bgp[i];

		if (!is_for_service(b, s) || !metal_selects(&b->nodes, &n->labels))
			continue;
		step = is_reached(all, b, s, &n->labels) ? STEP_REACHED : STEP_SELECTED;
	}
	return step;
}

/* The node gives its own reason, except for endpoints that are elsewhere. */
static bool is_concerned(const struct speak_service *s, const struct speak_node *n)
{
	return !s->has_endpoint || !speak_lacks_endpoint(s, n->name);
}

static bool somebody_speaks(const struct speak_cluster *c, const struct metal_pool *pool,
			    const struct speak_service *s)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (is_concerned(s, &c->nodes[i]) &&
		    step_of(c->whole, pool, s, &c->nodes[i]) == STEP_REACHED)
			return true;
	return false;
}

static enum step best_step(const struct speak_cluster *c, const struct metal_pool *pool,
			   const struct speak_service *s)
{
	enum step best = STEP_NONE;

	for (size_t i = 0; i < c->n_nodes && best != STEP_REACHED; i++) {
		enum step step = step_of(c->whole, pool, s, &c->nodes[i]);

		best = step > best ? step : best;
	}
	return best;
}

static const char *matching_text(const struct metal_pool *pool, const struct speak_service *s,
				 const char *before, const char *after, struct arena *arena)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	size_t n = 0, at = 0;

	for (size_t i = 0; i < pool->n_bgp; i++)
		n += is_for_service(pool->bgp[i], s);
	buf_adds(&out, before);
	for (size_t i = 0; i < pool->n_bgp; i++)
		if (is_for_service(pool->bgp[i], s))
			add_name(&out, at++, n, pool->bgp[i]->name);
	buf_adds(&out, after);
	return finish(&out, arena);
}

/* An advertisement selects the Service, and yet no node speaks about it. */
static void explain_bgp(const struct speak_cluster *c, const struct metal_pool *pool,
			const struct speak_service *s, struct arena *arena,
			struct speak_absence *ret)
{
	switch (best_step(c, pool, s)) {
	case STEP_NONE:
		say(ret, SPEAK_NOT_OWNER,
		    matching_text(pool, s, "no node with a living speaker is selected by ", "",
				  arena));
		return;
	case STEP_SELECTED:
		say(ret, SPEAK_NO_PEER,
		    matching_text(pool, s, "no BGPPeer of a node that ",
				  " selects gets it and carries its family", arena));
		return;
	case STEP_REACHED:
		say(ret, SPEAK_NO_LOCAL_ENDPOINTS, no_local_text(s, "a BGPAdvertisement", arena));
	}
}

static bool bgp_selects(const struct metal_pool *pool, const struct speak_service *s)
{
	for (size_t i = 0; i < pool->n_bgp; i++)
		if (is_for_service(pool->bgp[i], s))
			return true;
	return false;
}

void speak_bgp_absence(const struct speak_cluster *c, const struct speak_service *s,
		       struct arena *arena, struct speak_absence *ret)
{
	const struct metal_pool *pool = NULL;
	struct speak_absence made;

	say(ret, SPEAK_ANNOUNCED, "");
	if (!c->whole)
		return;
	if (has_no_pool(c, s, &pool, &made)) {
		if (c->whole->n_bgp || !c->whole->n_l2)
			*ret = made;
		return;
	}
	if (!pool->n_bgp) {
		if (!pool->n_l2)
			say(ret, SPEAK_NO_MATCH, no_advertisement_text(pool, arena));
		return;
	}
	if (!bgp_selects(pool, s))
		say(ret, SPEAK_NO_MATCH,
		    arena_printf(arena,
				 "no BGPAdvertisement of the pool %s selects the labels of the "
				 "Service",
				 pool->name));
	else if (!somebody_speaks(c, pool, s))
		explain_bgp(c, pool, s, arena, ret);
}

/* ---- local networks ---- */

/* Why none of the selected nodes is a candidate; SPEAK_ANNOUNCED: one would be. */
static enum speak_reason judge_selected(const struct speak_cluster *c, const struct speak_l2 *of)
{
	enum speak_reason reason = SPEAK_NO_MATCH;

	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct speak_node *n = &c->nodes[i];

		if (!n->is_alive || !speak_l2_selects(of, &n->labels))
			continue;
		reason = speak_judge_node(c, n);
		if (reason == SPEAK_ANNOUNCED)
			return reason;
	}
	return reason;
}

static void explain_l2(const struct speak_cluster *c, const struct speak_service *s,
		       const struct speak_l2 *of, struct arena *arena, struct speak_absence *ret)
{
	enum speak_reason reason = judge_selected(c, of);

	if (reason == SPEAK_ANNOUNCED)
		say(ret, SPEAK_NO_LOCAL_ENDPOINTS, no_local_text(s, "an L2Advertisement", arena));
	else if (reason == SPEAK_NO_MATCH)
		say(ret, reason, "no L2Advertisement selects a node with a living speaker");
	else
		say(ret, reason,
		    arena_printf(arena, "of every node that an L2Advertisement selects: %s",
				 speak_reason_text(reason)));
}

void speak_l2_absence(const struct speak_cluster *c, const struct speak_service *s,
		      const struct speak_l2 *of, struct arena *arena, struct speak_absence *ret)
{
	const struct metal_pool *pool = NULL;
	struct speak_absence made;

	say(ret, SPEAK_ANNOUNCED, "");
	if (of->n_candidates)
		return;
	if (has_no_pool(c, s, &pool, &made)) {
		if (c->config->n_l2 || (c->whole && !c->whole->n_bgp))
			*ret = made;
		return;
	}
	if (!pool->n_l2) {
		if (c->whole && !pool->n_bgp)
			say(ret, SPEAK_NO_MATCH, no_advertisement_text(pool, arena));
		return;
	}
	if (!of->n)
		say(ret, SPEAK_NO_MATCH,
		    arena_printf(
			    arena,
			    "no L2Advertisement of the pool %s selects the labels of the Service",
			    pool->name));
	else if (of->reason == SPEAK_SHARED || of->reason == SPEAK_NO_ENDPOINTS)
		say(ret, of->reason, speak_reason_text(of->reason));
	else
		explain_l2(c, s, of, arena, ret);
}

/* ---- who says it ---- */

bool speak_is_reporter(const struct speak_cluster *c, const char *key)
{
	_cleanup_(cleanup_free) struct l2_candidate *list =
		mem_zalloc((c->n_nodes + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].is_alive)
			list[n++] = (struct l2_candidate){ .node = c->nodes[i].name };
	l2_elect_by_hash(list, n, key, c->sha256);
	return n && strcmp(list[0].node, c->own->name) == 0;
}
