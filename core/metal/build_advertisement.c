/* SPDX-License-Identifier: Apache-2.0 */
/* Communities and advertisements, and which pools these select. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "core/metal/build.h"
#include "core/metal/number.h"

#define COMMUNITIES_MAX 63 /* of one advertisement, with FRR */
#define LARGE "large"

/* ---- communities ---- */

struct community {
	bool large;
	uint32_t parts[3];
};

static int parse_part(struct metal__build *b, const char *text, struct str part, uint64_t max,
		      uint32_t *ret)
{
	uint64_t value;
	int r = str_to_u64(part, max, &value);
	const char *shown = metal__quote(b, arena_strndup(b->arena, part.p, part.n));

	if (r < 0)
		return metal__fail(b,
				   "invalid community value: invalid section %s of community %s, "
				   "err: \"strconv.ParseUint: parsing %s: %s\"",
				   shown, metal__quote(b, text), shown,
				   r == -ERANGE ? "value out of range" : "invalid syntax");
	*ret = (uint32_t)value;
	return 0;
}

static size_t split(const char *text, struct str parts[static 4])
{
	struct str rest = str_of(text), part;
	size_t n = 0;

	for (; str_cut(&rest, ':', &part); n++)
		if (n < 4)
			parts[n] = part;
	return n;
}

static int parse_community(struct metal__build *b, const char *text, struct community *ret)
{
	struct str parts[4];
	size_t n = split(text, parts), skip = n == 4;
	struct community c = { .large = n == 4 };

	if (n != 2 && n != 4)
		return metal__miss(b, "invalid community format: %s", text);
	if (c.large && !str_eq(parts[0], STR(LARGE)))
		return metal__fail(
			b,
			"invalid community value: invalid marker for large community, expected "
			"community to be of format large:<uint32>:<uint32>:<uint32> but got %s "
			"instead",
			metal__quote(b, text));
	for (size_t i = skip; i < n; i++)
		if (parse_part(b, text, parts[i], c.large ? UINT32_MAX : UINT16_MAX,
			       &c.parts[i - skip]) < 0)
			return -EINVAL;
	*ret = c;
	return 0;
}

static int compare_communities(const void *a, const void *b)
{
	const struct community *x = a, *y = b;

	if (x->large != y->large)
		return x->large ? 1 : -1;
	for (size_t i = 0; i < 3; i++)
		if (x->parts[i] != y->parts[i])
			return x->parts[i] < y->parts[i] ? -1 : 1;
	return 0;
}

static int compare_aliases(const void *a, const void *b)
{
	const struct metal__alias *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static size_t count_aliases(const struct metal_doc *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_communities; i++)
		n += d->communities[i].n_aliases;
	return n;
}

static int check_alias(struct metal__build *b, const struct metal_alias_doc *d)
{
	struct community ignored;

	if (parse_community(b, d->value ? d->value : "", &ignored) < 0) {
		b->error.passing = false;
		return metal__within(b, "parsing community %s: ", metal__quote(b, d->name));
	}
	return 0;
}

int metal__build_aliases(struct metal__build *b)
{
	size_t n = count_aliases(b->doc), at = 0;
	struct metal__alias *all = arena_array_of(b->arena, n, struct metal__alias);

	for (size_t i = 0; i < b->doc->n_communities; i++)
		for (size_t j = 0; j < b->doc->communities[i].n_aliases; j++) {
			const struct metal_alias_doc *d = &b->doc->communities[i].aliases[j];

			if (check_alias(b, d) < 0)
				return -EINVAL;
			all[at++] = (struct metal__alias){ d->name ? d->name : "", d->value };
		}
	if (n)
		qsort(all, n, sizeof(*all), compare_aliases);
	for (size_t i = 1; i < n; i++)
		if (strcmp(all[i - 1].name, all[i].name) == 0)
			return metal__fail(b, "duplicate definition of community %s",
					   metal__quote(b, all[i].name));
	b->aliases = all;
	b->n_aliases = n;
	return 0;
}

static const char *resolve(const struct metal__build *b, const char *text)
{
	size_t at = sorted_place(b->n_aliases, i, strcmp(b->aliases[i].name, text) < 0);

	return at < b->n_aliases && strcmp(b->aliases[at].name, text) == 0 ? b->aliases[at].value
									   : text;
}

static void format_communities(struct metal__build *b, const struct community *sorted, size_t n,
			       struct metal_bgp *bgp)
{
	const char **small = arena_array_of(b->arena, n, const char *);
	const char **large = arena_array_of(b->arena, n, const char *);
	size_t n_small = 0, n_large = 0;

	for (size_t i = 0; i < n; i++) {
		const struct community *c = &sorted[i];

		if (i && compare_communities(&sorted[i - 1], c) == 0)
			continue;
		if (c->large)
			large[n_large++] = arena_printf(b->arena, "%u:%u:%u", c->parts[0],
							c->parts[1], c->parts[2]);
		else
			small[n_small++] =
				arena_printf(b->arena, "%u:%u", c->parts[0], c->parts[1]);
	}
	bgp->communities = (struct metal_texts){ small, n_small };
	bgp->large_communities = (struct metal_texts){ large, n_large };
}

static int build_communities(struct metal__build *b, const struct metal_bgp_doc *d,
			     struct metal_bgp *bgp)
{
	struct community *all = arena_array_of(b->arena, d->communities.n, struct community);
	size_t n = 0;

	for (size_t i = 0; i < d->communities.n; i++) {
		const char *text = d->communities.items[i];

		if (b->options->early && !strchr(text, ':'))
			continue;
		if (parse_community(b, resolve(b, text), &all[n++]) < 0)
			return metal__join(b, "invalid community %s in BGP advertisement",
					   metal__quote(b, text));
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_communities);
	format_communities(b, all, n, bgp);
	n = bgp->communities.n + bgp->large_communities.n;
	if (n > COMMUNITIES_MAX)
		return metal__fail(b, "max supported communities is %d, got %zu", COMMUNITIES_MAX,
				   n);
	return 0;
}

/* ---- pools ---- */

/* What both kinds of advertisements select pools with. */
struct choice {
	struct metal_texts names; /* sorted */
	const struct labels_selectors *selectors;
};

static bool chooses(const struct choice *c, const struct metal_pool_doc *pool)
{
	if (!c->names.n && !c->selectors->n)
		return true;
	return metal__has_text(c->names, pool->name) ||
	       labels_match_any(c->selectors, &pool->labels);
}

static int check_lists(struct metal__build *b, struct metal_texts pools,
		       const struct labels_selectors *pool_selectors,
		       const struct labels_selectors *nodes,
		       const struct labels_selectors *services)
{
	if (metal__unique(b, pools, "ipAddressPools") < 0 ||
	    metal__unique_selectors(b, pool_selectors, "ipAddressPoolSelectors") < 0 ||
	    metal__unique_selectors(b, nodes, "nodeSelectors") < 0 ||
	    metal__unique_selectors(b, services, "serviceSelectors") < 0)
		return -EINVAL;
	return 0;
}

static int check_selectors(struct metal__build *b, const char *name,
			   const struct labels_selectors *pools,
			   const struct labels_selectors *nodes,
			   const struct labels_selectors *services)
{
	if (metal__valid_selectors(b, nodes) < 0)
		return metal__join(b, "failed to parse node selector for %s", name);
	if (metal__valid_selectors(b, services) < 0)
		return metal__join(b, "failed to parse service selector for %s", name);
	return metal__valid_selectors(b, pools);
}

/* ---- BGP ---- */

static int build_lengths(struct metal__build *b, const struct metal_bgp_doc *d,
			 struct metal_bgp *bgp)
{
	int64_t four = d->length4 ? d->length4 : 32, six = d->length6 ? d->length6 : 128;

	if (d->services.n && four != 32)
		return metal__fail(b,
				   "serviceSelectors and aggregationLength are mutually exclusive, "
				   "both cannot be set in %s",
				   d->name);
	if (d->services.n && six != 128)
		return metal__fail(b,
				   "serviceSelectors and aggregationLengthV6 are mutually "
				   "exclusive, both cannot be set in %s",
				   d->name);
	if (four < 1 || four > 32)
		return metal__fail(b, "invalid aggregation length \"%lld\" for IPv4",
				   (long long)four);
	if (six < 1 || six > 128)
		return metal__fail(b, "invalid aggregation length \"%lld\" for IPv6",
				   (long long)six);
	bgp->length4 = (uint8_t)four;
	bgp->length6 = (uint8_t)six;
	return 0;
}

static int build_bgp(struct metal__build *b, const struct metal_bgp_doc *d, struct metal_bgp *bgp)
{
	*bgp = (struct metal_bgp){ .name = arena_strdup(b->arena, d->name),
				   .local_pref = d->local_pref };
	if (metal__unique(b, d->communities, "community") < 0 ||
	    metal__unique(b, d->peers, "peers") < 0 ||
	    check_lists(b, d->pools, &d->pool_selectors, &d->nodes, &d->services) < 0 ||
	    build_lengths(b, d, bgp) < 0 || build_communities(b, d, bgp) < 0 ||
	    check_selectors(b, d->name, &d->pool_selectors, &d->nodes, &d->services) < 0)
		return -EINVAL;
	bgp->peers = metal__sorted(b, d->peers);
	bgp->nodes = metal__selectors(b, &d->nodes);
	bgp->services = metal__selectors(b, &d->services);
	return 0;
}

/*
 * A prefix that is announced must not be larger than the pool. Of a range, the largest network
 * counts.
 */
static int check_length(struct metal__build *b, const struct metal_bgp *bgp, const char *addresses)
{
	struct metal__range range;
	unsigned shortest = 128, length;

	if (metal__range_parse(b, addresses, &range) < 0)
		return -EINVAL;
	for (size_t i = 0; i < range.n; i++)
		if (range.prefixes[i].length < shortest)
			shortest = range.prefixes[i].length;
	length = range.prefixes->address.family == AF_INET ? bgp->length4 : bgp->length6;
	if (length < shortest)
		return metal__fail(b,
				   "invalid aggregation length %u: prefix %u in this pool is more "
				   "specific than the aggregation length for addresses %s",
				   length, shortest, addresses);
	return 0;
}

static int check_conflict(struct metal__build *b, const struct metal_bgp *bgp,
			  const struct metal_pool *pool)
{
	for (size_t i = 0; i < pool->n_bgp && !bgp->services.n; i++) {
		const struct metal_bgp *other = pool->bgp[i];

		if (!other->services.n &&
		    metal_bgp_conflict(bgp, other, pool, b->nodes, b->n_nodes))
			return metal__fail(
				b,
				"invalid local preference %u: local preferernce %u was already set "
				"for the same type of BGP update. Check existing BGP "
				"advertisements "
				"with common pools and aggregation lengths",
				bgp->local_pref, other->local_pref);
	}
	return 0;
}

static int check_pool(struct metal__build *b, const struct metal_bgp *bgp,
		      const struct metal_pool_doc *d, const struct metal_pool *pool)
{
	for (size_t i = 0; i < d->addresses.n; i++)
		if (check_length(b, bgp, d->addresses.items[i]) < 0)
			return -EINVAL;
	return check_conflict(b, bgp, pool);
}

static int attach_bgp(struct metal__build *b, const struct metal_bgp_doc *d,
		      const struct metal_bgp *bgp, struct metal_pool *pools,
		      const struct metal_bgp ***lists)
{
	struct choice choice = { metal__sorted(b, d->pools), &d->pool_selectors };

	for (size_t i = 0; i < b->config.n_pools; i++) {
		if (!chooses(&choice, &b->doc->pools[i]))
			continue;
		if (check_pool(b, bgp, &b->doc->pools[i], &pools[i]) < 0)
			return -EINVAL;
		lists[i][pools[i].n_bgp++] = bgp;
	}
	return 0;
}

int metal__build_bgp(struct metal__build *b)
{
	size_t n = b->doc->n_bgp, n_pools = b->config.n_pools;
	struct metal_bgp *all = arena_array_of(b->arena, n, struct metal_bgp);
	struct metal_pool *pools = arena_array_of(b->arena, n_pools, struct metal_pool);
	const struct metal_bgp ***lists =
		arena_array_of(b->arena, n_pools, const struct metal_bgp **);

	for (size_t i = 0; i < n_pools; i++) {
		pools[i] = b->config.pools[i];
		pools[i].bgp = lists[i] = arena_array_of(b->arena, n, const struct metal_bgp *);
	}
	for (size_t i = 0; i < n; i++)
		if (build_bgp(b, &b->doc->bgp[i], &all[i]) < 0 ||
		    attach_bgp(b, &b->doc->bgp[i], &all[i], pools, lists) < 0)
			return -EINVAL;
	b->config.pools = pools;
	b->config.bgp = all;
	b->config.n_bgp = n;
	return 0;
}

/* ---- L2 ---- */

static int build_preferences(struct metal__build *b, const struct metal_l2_doc *d,
			     struct metal_l2 *l2)
{
	struct metal_preference *all =
		arena_array_of(b->arena, d->n_preferences, struct metal_preference);

	for (size_t i = 0; i < d->n_preferences; i++) {
		const struct metal_preference_doc *from = &d->preferences[i];
		const char *wrong = labels_selector_check(&from->nodes, b->arena);

		if (wrong) {
			metal__fail(b, "%s", wrong);
			return metal__join(b, "failed to parse preferred node selectors for %s",
					   d->name);
		}
		if (from->weight < 1 || from->weight > 100)
			return metal__fail(b,
					   "invalid weight %lld of preferred node selector in %s",
					   (long long)from->weight, d->name);
		all[i] = (struct metal_preference){ (uint8_t)from->weight,
						    metal__selector(b, &from->nodes) };
	}
	l2->preferences = all;
	l2->n_preferences = d->n_preferences;
	return 0;
}

static int build_l2(struct metal__build *b, const struct metal_l2_doc *d, struct metal_l2 *l2)
{
	*l2 = (struct metal_l2){ .name = arena_strdup(b->arena, d->name) };
	if (check_lists(b, d->pools, &d->pool_selectors, &d->nodes, &d->services) < 0 ||
	    check_selectors(b, d->name, &d->pool_selectors, &d->nodes, &d->services) < 0)
		return -EINVAL;
	l2->interfaces = metal__sorted(b, d->interfaces);
	l2->nodes = metal__selectors(b, &d->nodes);
	l2->services = metal__selectors(b, &d->services);
	return build_preferences(b, d, l2);
}

static void attach_l2(struct metal__build *b, const struct metal_l2_doc *d,
		      const struct metal_l2 *l2, struct metal_pool *pools,
		      const struct metal_l2 ***lists)
{
	struct choice choice = { metal__sorted(b, d->pools), &d->pool_selectors };

	for (size_t i = 0; i < b->config.n_pools; i++)
		if (chooses(&choice, &b->doc->pools[i]))
			lists[i][pools[i].n_l2++] = l2;
}

int metal__build_l2(struct metal__build *b)
{
	size_t n = b->doc->n_l2, n_pools = b->config.n_pools;
	struct metal_l2 *all = arena_array_of(b->arena, n, struct metal_l2);
	struct metal_pool *pools = arena_array_of(b->arena, n_pools, struct metal_pool);
	const struct metal_l2 ***lists =
		arena_array_of(b->arena, n_pools, const struct metal_l2 **);

	for (size_t i = 0; i < n_pools; i++) {
		pools[i] = b->config.pools[i];
		pools[i].l2 = lists[i] = arena_array_of(b->arena, n, const struct metal_l2 *);
	}
	for (size_t i = 0; i < n; i++) {
		if (build_l2(b, &b->doc->l2[i], &all[i]) < 0)
			return -EINVAL;
		attach_l2(b, &b->doc->l2[i], &all[i], pools, lists);
	}
	b->config.pools = pools;
	b->config.l2 = all;
	b->config.n_l2 = n;
	return 0;
}
