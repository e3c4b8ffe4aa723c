/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/plan_addresses.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/vec.h"

/* ---- ranges ---- */

static unsigned width(const struct addr *a)
{
	return a->family == AF_INET ? 4 : 16;
}

static void step(struct addr *a, int by)
{
	for (unsigned i = width(a); i--;) {
		a->bytes[i] = (uint8_t)(a->bytes[i] + by);
		if (a->bytes[i] != (by > 0 ? 0x00 : 0xff))
			return;
	}
}

static int parse_prefix(const char *address, struct str bits, struct plan_range *ret)
{
	struct plan_range r;
	uint64_t n;

	if (addr_parse(address, &r.first) < 0 ||
	    str_to_u64(bits, (uint64_t)width(&r.first) * 8, &n) < 0)
		return -EINVAL;
	r.last = r.first;
	for (unsigned i = (unsigned)n; i < width(&r.first) * 8; i++) {
		r.first.bytes[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
		r.last.bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
	}
	if (n < (uint64_t)width(&r.first) * 8 - 1) {
		step(&r.first, 1);
		step(&r.last, -1);
	}
	*ret = r;
	return 0;
}

int plan_range_parse(const char *text, struct plan_range *ret)
{
	char part[ADDR_STRLEN];
	size_t n = strcspn(text, "/-");
	struct plan_range r;

	if (n >= sizeof(part))
		return -EINVAL;
	memcpy(part, text, n);
	part[n] = '\0';
	if (text[n] == '/')
		return parse_prefix(part, str_of(text + n + 1), ret);
	if (addr_parse(part, &r.first) < 0)
		return -EINVAL;
	r.last = r.first;
	if (text[n] == '-' && addr_parse(text + n + 1, &r.last) < 0)
		return -EINVAL;
	if (r.first.family != r.last.family || addr_cmp(&r.first, &r.last) > 0)
		return -EINVAL;
	*ret = r;
	return 0;
}

static bool is_within(const struct plan_range *ranges, size_t n, const struct addr *a)
{
	for (size_t i = 0; i < n; i++)
		if (addr_cmp(&ranges[i].first, a) <= 0 && addr_cmp(a, &ranges[i].last) <= 0 &&
		    a->family == ranges[i].first.family)
			return true;
	return false;
}

/* ---- who has what ---- */

struct claim {
	struct addr addr;
	const char *key;
};

struct claims {
	VEC(struct claim) items; /* by address */
};

static size_t place_of(const struct claims *c, const struct addr *a)
{
	return sorted_place(c->items.n, i, addr_cmp(&c->items.items[i].addr, a) < 0);
}

static const char *owner_of(const struct claims *c, const struct addr *a)
{
	size_t at = place_of(c, a);

	return at < c->items.n && addr_cmp(&c->items.items[at].addr, a) == 0
		       ? c->items.items[at].key
		       : NULL;
}

static void give(struct claims *c, struct plan_gateway *g, const struct addr *a)
{
	size_t at = place_of(c, a);

	vec_insert_at(&c->items, at);
	c->items.items[at] = (struct claim){ *a, g->key };
	g->given[g->n_given++] = *a;
}

/* ---- the passes ---- */

static bool asks_for(const struct plan_gateway *g, const struct addr *a)
{
	for (size_t i = 0; i < g->n_requested; i++)
		if (addr_cmp(&g->requested[i], a) == 0)
			return true;
	return false;
}

/* Those that have what they ask for first; then by age, then by name. */
static int by_claim(const void *pa, const void *pb)
{
	const struct plan_gateway *a = *(struct plan_gateway *const *)pa;
	const struct plan_gateway *b = *(struct plan_gateway *const *)pb;
	int has = (int)asks_for(b, &b->held) - (int)asks_for(a, &a->held);
	int age = strcmp(a->created, b->created);

	if (has)
		return has;
	return age ? age : strcmp(a->key, b->key);
}

/* All that it asks for, or nothing. */
static void give_requested(struct claims *c, const struct plan_range *ranges, size_t n,
			   struct plan_gateway *g)
{
	for (size_t i = 0; i < g->n_requested; i++) {
		const char *owner = owner_of(c, &g->requested[i]);

		if (owner)
			g->state = PLAN_ADDRESS_TAKEN;
		else if (!is_within(ranges, n, &g->requested[i]))
			g->state = PLAN_ADDRESS_OUTSIDE;
		if (g->state == PLAN_ADDRESS_OK)
			continue;
		g->bad = g->requested[i];
		g->taken = owner;
		return;
	}
	for (size_t i = 0; i < g->n_requested; i++)
		if (!owner_of(c, &g->requested[i]))
			give(c, g, &g->requested[i]);
}

static bool find_free(const struct claims *c, const struct plan_range *ranges, size_t n,
		      struct addr *ret)
{
	for (size_t i = 0; i < n; i++)
		for (struct addr a = ranges[i].first;; step(&a, 1)) {
			if (!owner_of(c, &a)) {
				*ret = a;
				return true;
			}
			if (addr_cmp(&a, &ranges[i].last) == 0)
				break;
		}
	return false;
}

void plan_addresses(const struct plan_range *ranges, size_t n_ranges, struct plan_gateway *gateways,
		    size_t n)
{
	struct plan_gateway **order = mem_alloc((n + 1) * sizeof(struct plan_gateway *));
	struct claims claims = { 0 };
	struct addr found;

	for (size_t i = 0; i < n; i++) {
		gateways[i].state = PLAN_ADDRESS_OK;
		gateways[i].n_given = 0;
		gateways[i].taken = NULL;
		order[i] = &gateways[i];
	}
	qsort(order, n, sizeof(struct plan_gateway *), by_claim);
	for (size_t i = 0; i < n; i++)
		give_requested(&claims, ranges, n_ranges, order[i]);
	for (size_t i = 0; i < n; i++)
		if (!order[i]->n_requested && addr_is_set(&order[i]->held) &&
		    is_within(ranges, n_ranges, &order[i]->held) &&
		    !owner_of(&claims, &order[i]->held))
			give(&claims, order[i], &order[i]->held);
	for (size_t i = 0; i < n; i++) {
		if (order[i]->n_requested || order[i]->n_given)
			continue;
		if (find_free(&claims, ranges, n_ranges, &found))
			give(&claims, order[i], &found);
		else
			order[i]->state = PLAN_ADDRESS_NONE;
	}
	vec_free(&claims.items);
	free(order);
}
