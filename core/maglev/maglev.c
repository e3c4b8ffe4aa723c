/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a table is a race for slots.
 *
 * Every member with weight walks over the slots on a path of its own: a pseudo-random sequence
 * that begins with the hash of its address. It takes the free slots on its path. Members walk at
 * a pace proportional to their weight, so their chance to be first at a slot is, too. Chance
 * alone would be uneven, so a quota (quota.c) ends the walk of a member that has its share. When
 * a member is removed, the others find its slots on the paths that they walk anyway (race.c), in
 * the same order as before, and few other slots move.
 *
 * This file gives the walkers their hashes and their order: by weight, the heaviest first, then
 * by hash. A build owns its working memory and frees it. It runs in steps (struct maglev_work),
 * so that a large table does not stall its caller. Every constant in this folder is part of a
 * contract between balancers: changing one moves most flows wherever two versions are in use
 * together. The vectors in maglev_test.c detect such a change.
 */
#include "core/maglev/maglev.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/maglev/race.h"

/*
 * Addresses are hashed as numbers, so that the result does not depend on the machine's byte
 * order.
 */
static uint64_t big_endian(const uint8_t *bytes, size_t n)
{
	uint64_t number = 0;

	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* The family is hashed first: 10.0.0.1 and ::a00:1 must not have the same path. */
static uint64_t hash_address(const struct addr *a)
{
	uint64_t hash = maglev__stir(a->family == AF_INET ? 4 : 16);

	if (a->family == AF_INET)
		return maglev__stir(hash ^ big_endian(a->bytes, 4));
	assert(a->family == AF_INET6);
	hash = maglev__stir(hash ^ big_endian(a->bytes, 8));
	return maglev__stir(hash ^ big_endian(a->bytes + 8, 8));
}

/* Makes a walker of every member with weight; returns their number. */
static size_t enter(const struct maglev_member *members, size_t n, struct maglev_walker *walkers)
{
	size_t entered = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t hash;

		assert(members[i].weight <= MAGLEV_WEIGHT_MAX);
		if (members[i].weight == 0)
			continue;
		hash = hash_address(&members[i].address);
		walkers[entered++] = (struct maglev_walker){
			.hash = hash,
			.path = maglev__stir(hash),
			.index = (uint16_t)i,
			.weight = members[i].weight,
		};
	}
	return entered;
}

/*
 * Orders by hash, and by address if two hashes are equal. Addresses differ, so the order is
 * total.
 */
static bool stands_before(const struct maglev_walker *a, const struct maglev_walker *b,
			  const struct maglev_member *members)
{
	int order;

	if (a->hash != b->hash)
		return a->hash < b->hash;
	order = addr_cmp(&members[a->index].address, &members[b->index].address);
	assert(order != 0);
	return order < 0;
}

/*
 * A bucket sort: hashes are evenly distributed, so each one tells its approximate rank. After
 * that the insertion sort moves hardly anything. This is ten times faster than qsort(), which
 * would take longer than the race.
 */
static void sort_by_hash(const struct maglev_walker *from, size_t n, struct maglev_walker *to,
			 const struct maglev_member *members)
{
	_cleanup_(cleanup_free) uint32_t *ends = mem_zalloc((n + 1) * sizeof(*ends));

	for (size_t i = 0; i < n; i++)
		ends[((from[i].hash >> 32) * n) >> 32]++;
	for (size_t i = 1; i < n; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 0; i < n; i++)
		to[--ends[((from[i].hash >> 32) * n) >> 32]] = from[i];
	for (size_t i = 1; i < n; i++) {
		struct maglev_walker w = to[i];
		size_t at = i;

		for (; at > 0 && stands_before(&w, &to[at - 1], members); at--)
			to[at] = to[at - 1];
		to[at] = w;
	}
}

/* A stable counting sort by weight, the heaviest first, which also fills the groups. */
static void group_by_weight(struct maglev_race *r, const struct maglev_walker *from, size_t n,
			    struct maglev_walker *to)
{
	size_t count[MAGLEV_WEIGHT_MAX + 1] = { 0 }, next[MAGLEV_WEIGHT_MAX + 1], first = 0;

	for (size_t i = 0; i < n; i++)
		count[from[i].weight]++;
	for (unsigned weight = MAGLEV_WEIGHT_MAX; weight > 0; weight--) {
		next[weight] = first;
		if (count[weight] > 0)
			r->groups[r->n_groups++] =
				(struct maglev_group){ first, count[weight], weight };
		first += count[weight];
	}
	for (size_t i = 0; i < n; i++)
		to[next[from[i].weight]++] = from[i];
}

/* More walkers than slots: only the first ones, the heaviest, take part. */
static void stay_away(struct maglev_race *r)
{
	struct maglev_group *last = &r->groups[r->n_groups - 1];

	while (last->first >= r->size)
		last = &r->groups[--r->n_groups - 1];
	last->n = r->size - last->first;
	r->under_way = r->size;
}

struct maglev_work {
	struct maglev_race race;
	bool done;
};

/* Sorts the walkers and sets their quotas. Members without weight are not among the walkers. */
static void line_up(struct maglev_race *r, const struct maglev_member *members, size_t n)
{
	_cleanup_(cleanup_free) struct maglev_walker *sorted = NULL;

	sorted = mem_resize(NULL, n, sizeof(*sorted));
	sort_by_hash(r->walkers, r->under_way, sorted, members);
	group_by_weight(r, sorted, r->under_way, r->walkers);
	if (r->under_way > r->size)
		stay_away(r);
	maglev__set_quotas(r);
	maglev__start(r);
}

struct maglev_work *maglev_begin(const struct maglev_member *members, size_t n, uint16_t *table,
				 size_t size)
{
	struct maglev_work *work = mem_zalloc(sizeof(*work));
	struct maglev_race *r = &work->race;

	assert(n <= MAGLEV_MEMBERS_MAX);
	assert(size >= MAGLEV_SIZE_MIN && size <= MAGLEV_SIZE_MAX);
	for (size_t i = 0; i < size; i++)
		table[i] = MAGLEV_NONE;
	r->table = table;
	r->size = size;
	r->walkers = mem_resize(NULL, n, sizeof(*r->walkers));
	r->under_way = enter(members, n, r->walkers);
	work->done = r->under_way == 0;
	if (!work->done)
		line_up(r, members, n);
	return work;
}

bool maglev_step(struct maglev_work *work)
{
	if (!work->done)
		work->done = maglev__go_on(&work->race);
	return work->done;
}

void maglev_end(struct maglev_work *work)
{
	if (!work)
		return;
	maglev__end(&work->race);
	free(work->race.walkers);
	free(work);
}

void maglev_build(const struct maglev_member *members, size_t n, uint16_t *table, size_t size)
{
	struct maglev_work *work = maglev_begin(members, n, table, size);

	while (!maglev_step(work))
		;
	maglev_end(work);
}
