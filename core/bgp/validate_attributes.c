/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that advertisements and peers have in common: what a route is announced with. */
#include <string.h>

#include "base/cleanup.h"
#include "core/bgp/validate_build.h"

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
			      const struct doc_words *d, struct frr_attributes *a)
{
	size_t standard = 0, large = 0;
	const char **texts = arena_array_of(b->sink.scratch, d->n, const char *);
	const char **larges = arena_array_of(b->sink.scratch, d->n, const char *);
	static const struct str prefix = { "large:", 6 };
	struct schema_texts sorted;

	for (size_t i = 0; i < d->n; i++) {
		const struct doc_text *t = &d->items[i];
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
	sorted = bgp__sorted(b, texts, standard);
	a->communities = sorted.items;
	a->n_communities = sorted.n;
	sorted = bgp__sorted(b, larges, large);
	a->large_communities = sorted.items;
	a->n_large_communities = sorted.n;
}

struct frr_attributes bgp__attributes(struct bgp__build *b, const struct rule_spot *spot,
				      const struct bgp__attribute_docs *d)
{
	static const struct rule_range preference = { "local-preference", 0, UINT32_MAX, 0 },
				       med = { "med", 0, UINT32_MAX, 0 };
	struct frr_attributes a = {
		.has_local_preference = d->local_preference->set,
		.local_preference =
			(uint32_t)rule_number(&b->sink, spot, &preference, d->local_preference),
		.has_med = d->med->set,
		.med = (uint32_t)rule_number(&b->sink, spot, &med, d->med),
	};

	build_communities(b, spot, d->communities, &a);
	return a;
}
