/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the table of core/maglev is compared with: population by turns, as in the paper.
 *
 * Every member has a permutation of the slots, given by an offset and a skip, and on its turn takes
 * the next slot of it that is free. With weights, each round adds the weight to a credit, and a
 * turn costs as much as the heaviest weighs. Without modulo and with 16-bit slots: as fast as it
 * gets without another idea.
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
