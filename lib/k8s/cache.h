/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache: the objects of one kind, found by namespace and name or by an index.
 *
 * The cache holds one reference to each object. An index is a function of the program that says
 * under which keys an object is to be found; the cache calls it when an object comes and when it
 * goes, so it must depend on the object alone.
 *
 * Everything is a sorted array of pointers: iteration has a total order, nobody can choose names
 * that collide, and lists arrive sorted, so that they are appended. An object costs its block
 * (kind.h) and 8 to 16 bytes, and twice that for each key of an index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/k8s/kind.h"

struct k8s_cache;

/* Adds a key; the text is copied. */
typedef void (*k8s_index_add_fn)(const char *key, void *to);
/* Calls add(key, to) for each key of the object. */
typedef void (*k8s_index_fn)(const struct k8s_object *o, k8s_index_add_fn add, void *to,
			     void *user);

#define K8S_INDEXES_MAX 8

/* kind is borrowed and must outlive the cache. */
struct k8s_cache *k8s_cache_new(const struct k8s_kind *kind);
void k8s_cache_free(struct k8s_cache *c); /* NULL is allowed */

/* Before the first object. Returns the number of the index, from 0. */
unsigned k8s_cache_index(struct k8s_cache *c, k8s_index_fn fn, void *user);

/*
 * Puts the object, of which the cache takes the reference. Returns the one that it replaces, whose
 * reference is then the caller's; NULL if there was none.
 */
struct k8s_object *k8s_cache_put(struct k8s_cache *c, struct k8s_object *o);
/* Removes; the reference is then the caller's. NULL if there was none. */
struct k8s_object *k8s_cache_remove(struct k8s_cache *c, const char *namespace, const char *name);

/* Borrowed until the object is replaced or removed; NULL if there is none. */
const struct k8s_object *k8s_cache_get(const struct k8s_cache *c, const char *namespace,
				       const char *name);
size_t k8s_cache_count(const struct k8s_cache *c);
/* Objects in the order of namespace and name: 0 <= i < k8s_cache_count(). */
const struct k8s_object *k8s_cache_at(const struct k8s_cache *c, size_t i);
/*
 * The number of objects with this key of an index. They are k8s_cache_found(c, index, *ret_first),
 * and so on, ordered by namespace and name, until the cache changes.
 */
size_t k8s_cache_find(const struct k8s_cache *c, unsigned index, const char *key,
		      size_t *ret_first);
const struct k8s_object *k8s_cache_found(const struct k8s_cache *c, unsigned index, size_t i);
/* By namespace, then name. */
int k8s_object_cmp(const struct k8s_object *a, const struct k8s_object *b);
