/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map: names to pointers.
 *
 * Keys are borrowed: they must outlive their entry. Iteration order is that of the hash and never
 * reaches the outside; whoever shows names keeps them in a sorted array beside the map.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_slot {
	const char *key;
	void *value;
};

struct map {
	struct map_slot *slots;
	size_t n, cap; /* cap is 0 or a power of two */
};

void map_free(struct map *m);
/* NULL when absent. */
void *map_get(const struct map *m, const char *key);
/* Adds or replaces; returns the value that was there, or NULL. value must not be NULL. */
void *map_put(struct map *m, const char *key, void *value);
/* Returns the value that was there, or NULL. */
void *map_remove(struct map *m, const char *key);
