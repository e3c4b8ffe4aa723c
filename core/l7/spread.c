/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "core/l7/hash.h"
#include "core/maglev/maglev.h"

#define DRAWS 64 /* slots that are drawn before all servers are looked at in turn */

size_t l7_spread_size(size_t n)
{
	return n <= 64 ? 8191 : n <= 640 ? 65537 : 1000003;
}

/* ---- members ---- */

static uint64_t hash_server(uint64_t kind, const struct l7_server *s, size_t twin)
{
	uint64_t hash = l7_hash_start(kind);

	for (const char *p = s->host; *p; p++)
		hash = l7_hash_add(hash, *p);
	hash = l7_hash_add(hash, 0);
	hash = l7_hash_add(hash, (char)(s->port >> 8));
	hash = l7_hash_add(hash, (char)s->port);
	hash += twin;
	return random_next(&hash);
}

/*
 * core/maglev knows members by an address. Servers may be names, or share an address, so theirs is
 * made of hashes. A server that is listed several times is told apart by its number among its
 * twins.
 */
static struct addr address_of(const struct l7_server *s, size_t twin)
{
	struct addr a = { .family = AF_INET6 };

	for (size_t half = 0; half < 2; half++) {
		uint64_t hash = hash_server(201 + half, s, twin);

		for (size_t i = 0; i < 8; i++)
			a.bytes[half * 8 + i] = (uint8_t)(hash >> (8 * i));
	}
	return a;
}

struct sorted {
	struct addr address;
	size_t index;
};

static int by_address(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;
	int order = addr_cmp(&a->address, &b->address);

	return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

static void name_members(const struct l7_server *servers, size_t n, struct maglev_member *members)
{
	_cleanup_(cleanup_free) struct sorted *sorted = mem_zalloc((n + 1) * sizeof(*sorted));
	size_t twin = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct sorted){ address_of(&servers[i], 0), i };
	qsort(sorted, n, sizeof(*sorted), by_address);
	for (size_t i = 0; i < n; i++) {
		bool same = i && addr_cmp(&sorted[i].address, &sorted[i - 1].address) == 0;

		twin = same ? twin + 1 : 0;
		members[sorted[i].index].address =
			twin ? address_of(&servers[sorted[i].index], twin) : sorted[i].address;
	}
}

/*
 * Weights up to MAGLEV_WEIGHT_MAX are taken as they are. Larger ones are scaled down together; none
 * becomes 0.
 */
static void weigh_members(const struct l7_server *servers, size_t n, struct maglev_member *members)
{
	uint64_t most = MAGLEV_WEIGHT_MAX;

	for (size_t i = 0; i < n; i++)
		if (!servers[i].drain && servers[i].weight > most)
			most = servers[i].weight;
	for (size_t i = 0; i < n; i++) {
		uint64_t weight = servers[i].drain ? 0 : servers[i].weight;
		uint64_t scaled = (weight * MAGLEV_WEIGHT_MAX + most / 2) / most;

		members[i].weight = (uint8_t)(weight && !scaled ? 1 : scaled);
	}
}

void l7_spread_build(const struct l7_server *servers, size_t n, uint16_t *slots, size_t size)
{
	_cleanup_(cleanup_free) struct maglev_member *members =
		mem_zalloc((n + 1) * sizeof(*members));

	name_members(servers, n, members);
	weigh_members(servers, n, members);
	maglev_build(members, n, slots, size);
}

/* ---- requests ---- */

static size_t slot_of(uint64_t hash, size_t size)
{
	return (size_t)(((hash >> 32) * size) >> 32);
}

size_t l7_spread_find(const uint16_t *slots, size_t size, const struct l7_schedule *s,
		      const struct l7_fleet *f, uint64_t hash)
{
	uint32_t turn = (uint32_t)hash;
	size_t slot = slot_of(hash, size);

	for (unsigned i = 0; s->n && i < DRAWS; i++) {
		if (f->fitness(slots[slot], f->user) == L7_FIT)
			return slots[slot];
		slot = slot_of(random_next(&hash), size);
	}
	return l7_balance_turn(s, f, &turn);
}
