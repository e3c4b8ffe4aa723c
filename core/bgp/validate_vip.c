/* SPDX-License-Identifier: Apache-2.0 */
/* The sections advertisements and vips. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/bgp/validate_build.h"

#define PREPEND_MAX 10
#define DAY (24 * 3600 * NSEC_PER_SEC)

static const struct rule_spot advertisements_spot = { .in = &bgp__root, .name = "advertisements" };
static const struct rule_spot vips_spot = { .in = &bgp__root, .name = "vips" };

/* ---- advertisements ---- */

/* Whether text is n numbers up to max, separated by colons. */
static bool is_numbers(struct str text, size_t n, uint64_t max)
{
	struct str part;
	uint64_t value;
	size_t found = 0;

	for (; str_cut(&text, ':', &part); found++)
		if (str_to_u64(part, max, &value) < 0)
			return false;
	return found == n;
}

static bool is_well_known(const char *text)
{
	static const char *const names[] = { "blackhole", "graceful-shutdown", "no-advertise",
					     "no-export", "no-peer" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], text) == 0)
			return true;
	return false;
}

static void build_communities(struct bgp__build *b, const struct rule_spot *spot,
			      const struct bgp_doc_advertisement *d, struct bgp_advertisement *a)
{
	size_t n = d->communities.n, standard = 0, large = 0;
	const char **texts = arena_array_of(b->sink.scratch, n, const char *);
	const char **larges = arena_array_of(b->sink.scratch, n, const char *);
	static const struct str prefix = { "large:", 6 };

	for (size_t i = 0; i < n; i++) {
		const struct doc_text *t = &d->communities.items[i];
		struct str s = str_of(t->v);

		if (str_starts(s, prefix) && is_numbers(str_of(t->v + prefix.n), 3, UINT32_MAX))
			larges[large++] = t->v + prefix.n;
		else if (is_numbers(s, 2, UINT16_MAX) || is_well_known(t->v))
			texts[standard++] = t->v;
		else
			rule_fail(&b->sink, spot, "communities", t->at,
				  "%s must be two numbers up to 65535 (64512:100), a large one "
				  "(large:64512:1:2), or blackhole, graceful-shutdown, "
				  "no-advertise, no-export or no-peer",
				  rule_quote(&b->sink, t->v));
	}
	a->communities = bgp__sorted(b, texts, standard);
	a->large_communities = bgp__sorted(b, larges, large);
}

static void build_listed_peers(struct bgp__build *b, const struct rule_spot *spot,
			       const struct bgp_doc_advertisement *d, struct bgp_advertisement *a)
{
	const struct bgp__names peers = { "peer", b->peers, b->config->n_peers };
	const char **names = arena_array_of(b->sink.scratch, d->peers.n, const char *);
	size_t n = 0;

	for (size_t i = 0; i < d->peers.n; i++)
		if (bgp__find(b, spot, "peers", &d->peers.items[i], &peers) != BGP__NONE)
			names[n++] = d->peers.items[i].v;
	a->peers = bgp__sorted(b, names, n);
	if (d->peers.set && d->peers.n == 0)
		rule_fail(&b->sink, spot, "peers", d->peers.at,
			  "must name at least one peer; without it, all peers are meant");
}

static void build_advertisement(struct bgp__build *b, const struct bgp_doc_advertisement *d,
				struct bgp_advertisement *a)
{
	static const struct rule_range preference = { "local-preference", 0, UINT32_MAX, 0 },
				       med = { "med", 0, UINT32_MAX, 0 },
				       length4 = { "aggregation-length", 1, 32, 32 },
				       length6 = { "aggregation-length-v6", 1, 128, 128 };
	const struct rule_spot spot = { .in = &advertisements_spot, .name = d->name };

	a->name = arena_strdup(b->arena, d->name);
	build_communities(b, &spot, d, a);
	build_listed_peers(b, &spot, d, a);
	a->has_local_preference = d->local_preference.set;
	a->local_preference =
		(uint32_t)rule_number(&b->sink, &spot, &preference, &d->local_preference);
	a->has_med = d->med.set;
	a->med = (uint32_t)rule_number(&b->sink, &spot, &med, &d->med);
	a->length4 = (unsigned)rule_number(&b->sink, &spot, &length4, &d->length4);
	a->length6 = (unsigned)rule_number(&b->sink, &spot, &length6, &d->length6);
}

void bgp__build_advertisements(struct bgp__build *b)
{
	size_t n = b->doc->n_advertisements;
	struct bgp_advertisement *list = arena_array_of(b->arena, n, struct bgp_advertisement);

	b->advertisements = rule_entries(&b->sink, &advertisements_spot, &bgp_schema_advertisement,
					 b->doc->advertisements, n);
	for (size_t i = 0; i < n; i++)
		build_advertisement(b, b->advertisements[i].doc, &list[i]);
	b->config->advertisements = list;
	b->config->n_advertisements = n;
}

/* ---- VIPs ---- */

/* "MAGLEVD/FRONTEND" */
static bool build_source(struct bgp__build *b, const struct rule_spot *spot,
			 const struct doc_text *d, struct bgp_source *s)
{
	const struct bgp__names maglevds = { "maglevd", b->maglevds, b->config->n_maglevds };
	const char *slash = strchr(d->v, '/');
	struct doc_text name = *d;

	if (!slash || slash == d->v || !slash[1]) {
		rule_fail(&b->sink, spot, "frontends", d->at,
			  "%s must be the names of a maglevd and of its frontend, separated by '/'",
			  rule_quote(&b->sink, d->v));
		return false;
	}
	name.v = arena_strndup(b->sink.scratch, d->v, (size_t)(slash - d->v));
	s->maglevd = bgp__find(b, spot, "frontends", &name, &maglevds);
	s->frontend = arena_strdup(b->arena, slash + 1);
	return s->maglevd != BGP__NONE;
}

static void build_sources(struct bgp__build *b, const struct rule_spot *spot,
			  const struct bgp_doc_vip *d, struct bgp_vip *v)
{
	struct bgp_source *list = arena_array_of(b->arena, d->frontends.n, struct bgp_source);
	size_t n = 0;

	for (size_t i = 0; i < d->frontends.n; i++)
		n += build_source(b, spot, &d->frontends.items[i], &list[n]);
	v->sources = list;
	v->n_sources = n;
	if (d->frontends.set && d->frontends.n == 0)
		rule_fail(&b->sink, spot, "frontends", d->frontends.at,
			  "must name at least one frontend; without it, the VIP is always "
			  "announced");
}

static void build_rule(struct bgp__build *b, const struct rule_spot *spot,
		       const struct bgp_doc_vip *d, struct bgp_vip *v)
{
	static const struct rule_range min_up = { "min-up", 0, DAY, 0 },
				       min_servers = { "min-servers", 1, 10000, 1 },
				       hold = { "hold", 0, 7 * DAY, 60 * NSEC_PER_SEC },
				       drain = { "drain-time", 0, DAY, 30 * NSEC_PER_SEC };
	static const char *const list[] = {
		[ANNOUNCE_THEN_WITHDRAW] = "withdraw", [ANNOUNCE_THEN_WORSE] = "worse"
	};
	static const struct rule_words words = { "when-down", list, ARRAY_SIZE(list) };
	struct announce_rule *r = &v->rule;
	int fallback = d->when_down.set ? rule_choose(&b->sink, spot, &words, &d->when_down) : 0;

	r->min_up = rule_duration(&b->sink, spot, &min_up, &d->min_up);
	r->min_servers = (uint32_t)rule_number(&b->sink, spot, &min_servers, &d->min_servers);
	r->hold = rule_duration(&b->sink, spot, &hold, &d->hold);
	r->drain_time = rule_duration(&b->sink, spot, &drain, &d->drain_time);
	r->fallback = fallback > 0 ? (enum announce_fallback)fallback : ANNOUNCE_THEN_WITHDRAW;
}

static void build_worse(struct bgp__build *b, const struct rule_spot *vip,
			const struct bgp_doc_vip *d, struct bgp_vip *v)
{
	static const struct rule_range med = { "med", 0, UINT32_MAX, 0 },
				       prepend = { "prepend", 0, PREPEND_MAX, 0 };
	const struct rule_spot spot = { .in = vip, .name = "worse" };

	v->has_worse_med = d->worse.med.set;
	v->worse_med = (uint32_t)rule_number(&b->sink, &spot, &med, &d->worse.med);
	v->worse_prepend = (unsigned)rule_number(&b->sink, &spot, &prepend, &d->worse.prepend);
	if (v->advertisement == BGP_NONE) {
		if (d->worse.set)
			rule_doubt(&b->sink, vip, "worse", d->worse.at,
				   "has no effect without an advertisement");
		return;
	}
	if (v->rule.fallback == ANNOUNCE_THEN_WORSE && !v->has_worse_med && !v->worse_prepend)
		rule_fail(&b->sink, vip, "worse", d->when_down.at,
			  "needs a med or a prepend with when-down: worse");
	if (d->worse.set && v->rule.fallback != ANNOUNCE_THEN_WORSE)
		rule_doubt(&b->sink, vip, "worse", d->worse.at,
			   "has no effect without when-down: worse");
}

/* The default one, unless the VIP is announced on a local network instead. */
static size_t find_advertisement(struct bgp__build *b, const struct rule_spot *spot,
				 const struct bgp_doc_vip *d)
{
	const struct bgp__names advertisements = { "advertisement", b->advertisements,
						   b->config->n_advertisements };
	const struct doc_text fallback = { .set = true, .at = d->at, .v = "default" };

	if (!d->advertisement.set && d->l2.set)
		return BGP_NONE;
	return bgp__find(b, spot, "advertisement",
			 d->advertisement.set ? &d->advertisement : &fallback, &advertisements);
}

static void build_vip(struct bgp__build *b, const struct bgp_doc_vip *d, struct bgp_vip *v)
{
	const struct rule_spot spot = { .in = &vips_spot, .name = d->name };

	v->name = arena_strdup(b->arena, d->name);
	if (d->address.set)
		rule_address(&b->sink, &spot, "address", AF_UNSPEC, &d->address, &v->address);
	else
		rule_fail(&b->sink, &spot, "address", d->at, "is required");
	v->advertisement = find_advertisement(b, &spot, d);
	bgp__build_vip_l2(b, &spot, d, v);
	build_sources(b, &spot, d, v);
	build_rule(b, &spot, d, v);
	build_worse(b, &spot, d, v);
}

/* ---- prefixes that VIPs share ---- */

struct located {
	struct bgp_prefix prefix;
	size_t vip;
};

static int by_prefix(const void *pa, const void *pb)
{
	const struct located *a = pa, *b = pb;
	int cmp = bgp_prefix_cmp(&a->prefix, &b->prefix);

	return cmp ? cmp : (a->vip > b->vip) - (a->vip < b->vip);
}

/* Neighbours in the order of prefixes: those of one prefix are compared with its first. */
static void compare(struct bgp__build *b, const struct bgp_vip *first, const struct bgp_vip *v)
{
	const struct rule_spot spot = { .in = &vips_spot, .name = v->name };
	const struct rule_entry *e = &b->vips[v - b->config->vips];

	if (first->advertisement != v->advertisement)
		rule_fail(&b->sink, &spot, "advertisement", e->at,
			  "must be that of %s, which has the same prefix",
			  rule_quote(&b->sink, first->name));
}

/* Also of VIPs that are not announced over BGP. */
static void compare_addresses(struct bgp__build *b)
{
	const struct bgp_config *c = b->config;
	struct located *list = arena_array_of(b->sink.scratch, c->n_vips, struct located);
	size_t n = 0, first = 0;

	for (size_t i = 0; i < c->n_vips; i++)
		if (addr_is_set(&c->vips[i].address))
			list[n++] = (struct located){ { c->vips[i].address, 0 }, i };
	if (n)
		qsort(list, n, sizeof(*list), by_prefix);
	for (size_t i = 1; i < n; i++) {
		const struct rule_entry *e = &b->vips[list[i].vip];
		const struct rule_spot spot = { .in = &vips_spot, .name = e->name };

		if (bgp_prefix_cmp(&list[first].prefix, &list[i].prefix) == 0)
			rule_fail(&b->sink, &spot, "address", e->at, "is already the address of %s",
				  rule_quote(&b->sink, c->vips[list[first].vip].name));
		else
			first = i;
	}
}

static void compare_prefixes(struct bgp__build *b)
{
	const struct bgp_config *c = b->config;
	struct located *list = arena_array_of(b->sink.scratch, c->n_vips, struct located);
	size_t n = 0, first = 0;

	for (size_t i = 0; i < c->n_vips; i++)
		if (addr_is_set(&c->vips[i].address) && c->vips[i].advertisement != BGP__NONE)
			list[n++] = (struct located){ bgp_vip_prefix(c, &c->vips[i]), i };
	if (n)
		qsort(list, n, sizeof(*list), by_prefix);
	for (size_t i = 1; i < n; i++)
		if (bgp_prefix_cmp(&list[first].prefix, &list[i].prefix) == 0)
			compare(b, &c->vips[list[first].vip], &c->vips[list[i].vip]);
		else
			first = i;
}

void bgp__build_vips(struct bgp__build *b)
{
	size_t n = b->doc->n_vips;
	struct bgp_vip *list = arena_array_of(b->arena, n, struct bgp_vip);

	b->vips = rule_entries(&b->sink, &vips_spot, &bgp_schema_vip, b->doc->vips, n);
	for (size_t i = 0; i < n; i++)
		build_vip(b, b->vips[i].doc, &list[i]);
	b->config->vips = list;
	b->config->n_vips = n;
	compare_addresses(b);
	compare_prefixes(b);
	bgp__count_l2(b);
}
