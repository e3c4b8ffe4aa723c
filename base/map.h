/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map: a hash table from names to pointers.
 *
 * Keys are borrowed: they must outlive their entry. The order of the slots is that of the hash
 * and must not reach any output; code that lists names keeps them in a sorted array beside the
 * map. A zeroed struct is an empty map. Values are never freed by the map.
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

/* Frees the slots and leaves an empty map; keys and values belong to the caller. */
void map_free(struct map *m);
/* The value of key; NULL if there is none. */
void *map_get(const struct map *m, const char *key);
/*
 * Adds or replaces; returns the previous value, or NULL. value must not be NULL. A replaced entry
 * borrows the new key.
 */
void *map_put(struct map *m, const char *key, void *value);
/* Removes key; returns its value, or NULL if there was none. */
void *map_remove(struct map *m, const char *key);
