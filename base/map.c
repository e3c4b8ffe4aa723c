/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing, at most three quarters full. Removal moves the following
 * entries back, so there are no tombstones. The hash is FNV-1a without a secret: the names come
 * from the operator's own file, so collisions cannot be provoked from outside.
 */
#include "base/map.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* FNV-1a, 64 bits. Its low bits select the slot, so the high half is folded into them. */
static size_t hash(const char *key)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 0x100000001b3u;
	return (size_t)(h ^ (h >> 32));
}

/*
 * The slot that holds key, or the empty one where it would be inserted. Terminates because at
 * least a quarter of the slots is empty. The map must have slots.
 */
static size_t find(const struct map *m, const char *key)
{
	size_t i = hash(key) & (m->cap - 1);

	while (m->slots[i].key && strcmp(m->slots[i].key, key) != 0)
		i = (i + 1) & (m->cap - 1);
	return i;
}

/* Doubles the slots and inserts every entry again. */
static void grow(struct map *m)
{
	struct map bigger = { .cap = m->cap ? m->cap * 2 : 16, .n = m->n };

	bigger.slots = mem_zalloc(bigger.cap * sizeof(*bigger.slots));
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			bigger.slots[find(&bigger, m->slots[i].key)] = m->slots[i];
	free(m->slots);
	*m = bigger;
}

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

void *map_get(const struct map *m, const char *key)
{
	return m->cap ? m->slots[find(m, key)].value : NULL;
}

void *map_put(struct map *m, const char *key, void *value)
{
	void *old;
	size_t i;

	assert(key && value);
	if (m->n >= m->cap / 4 * 3)
		grow(m);

	i = find(m, key);
	old = m->slots[i].value;
	m->n += !old;
	m->slots[i] = (struct map_slot){ key, value };
	return old;
}

/*
 * Fills the hole with a later entry of the same run that probing had pushed past it, and repeats
 * this for the hole that the move leaves, so that lookups do not stop short. An entry whose home
 * slot lies cyclically after the hole must stay where it is.
 */
static void close_hole(struct map *m, size_t hole)
{
	size_t mask = m->cap - 1;

	for (size_t i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
		size_t home = hash(m->slots[i].key) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		m->slots[i] = (struct map_slot){ 0 };
		hole = i;
	}
}

void *map_remove(struct map *m, const char *key)
{
	void *old;
	size_t i;

	if (!m->cap)
		return NULL;
	i = find(m, key);
	old = m->slots[i].value;
	if (!old)
		return NULL;
	m->slots[i] = (struct map_slot){ 0 };
	m->n--;
	close_hole(m, i);
	return old;
}
