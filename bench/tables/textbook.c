/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference for the table of core/maglev: population by turns, as in the Maglev paper.
 *
 * Every member has a permutation of the slots, given by an offset and a skip. On its turn it takes
 * the next free slot of its permutation. With weights, each round adds the weight of a member to
 * its credit, and a turn costs as much as the heaviest weight. There is no modulo and slots have 16
 * bits, so this is as fast as the algorithm gets without a different approach.
 */
#include "bench/tables/textbook.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/mem.h"

struct turn {
	uint32_t next, skip;
	unsigned credit;
};

static uint64_t hash(const struct addr *a, uint64_t salt)
{
	uint64_t h = 0xcbf29ce484222325u ^ salt;

	for (size_t i = 0; i < sizeof(a->bytes); i++)
		h = (h ^ a->bytes[i]) * 0x100000001b3u;
	h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
	return h ^ (h >> 32);
}

static unsigned heaviest(const struct maglev_member *members, size_t n)
{
	unsigned weight = 0;

	for (size_t i = 0; i < n; i++)
		weight = members[i].weight > weight ? members[i].weight : weight;
	return weight;
}

static void take_next(struct turn *t, uint16_t *table, size_t size, size_t index)
{
	uint32_t slot = t->next;

	while (table[slot] != MAGLEV_NONE) {
		slot += t->skip;
		if (slot >= size)
			slot -= (uint32_t)size;
	}
	table[slot] = (uint16_t)index;
	t->next = slot;
}

void textbook_build(const struct maglev_member *members, size_t n, uint16_t *table, size_t size)
{
	_cleanup_(cleanup_free) struct turn *turns = mem_resize(NULL, n, sizeof(*turns));
	unsigned price = heaviest(members, n);
	size_t taken = 0;

	assert(size >= MAGLEV_SIZE_MIN);
	for (size_t i = 0; i < size; i++)
		table[i] = MAGLEV_NONE;
	for (size_t i = 0; i < n; i++) {
		uint32_t offset = (uint32_t)(hash(&members[i].address, 1) % size);
		uint32_t skip = (uint32_t)(hash(&members[i].address, 2) % (size - 1) + 1);

		turns[i] = (struct turn){ offset, skip, 0 };
	}
	while (taken < size && price > 0) {
		for (size_t i = 0; i < n && taken < size; i++) {
			turns[i].credit += members[i].weight;
			if (turns[i].credit < price)
				continue;
			turns[i].credit -= price;
			take_next(&turns[i], table, size, i);
			taken++;
		}
	}
}
