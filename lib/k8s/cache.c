/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache: one sorted array of objects, and one of (key, object) for each index.
 */
#include "lib/k8s/cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "lib/k8s/kind_private.h"

struct entry {
	const char *key; /* shared, see names.c */
	const struct k8s_object *object;
};

struct index {
	k8s_index_fn fn;
	void *user;
	VEC(struct entry) entries; /* sorted */
};

struct k8s_cache {
	const struct k8s_kind *kind;
	VEC(struct k8s_object *) objects; /* sorted */
	struct index indexes[K8S_INDEXES_MAX];
	unsigned n_indexes;
};

/* ---- order ---- */

static int cmp_name(const struct k8s_object *o, const char *namespace, const char *name)
{
	int d = strcmp(o->namespace, namespace);

	return d ? d : strcmp(o->name, name);
}

int k8s_object_cmp(const struct k8s_object *a, const struct k8s_object *b)
{
	return cmp_name(a, b->namespace, b->name);
}

static int entry_cmp(const struct entry *e, const char *key, const struct k8s_object *o)
{
	int d = strcmp(e->key, key);

	return d ? d : k8s_object_cmp(e->object, o);
}

/* Lists arrive sorted, so the last object is looked at first. */
static size_t place_of(const struct k8s_cache *c, const char *namespace, const char *name)
{
	size_t n = c->objects.n;

	if (n && cmp_name(c->objects.items[n - 1], namespace, name) < 0)
		return n;
	return sorted_place(n, i, cmp_name(c->objects.items[i], namespace, name) < 0);
}

static bool is_at(const struct k8s_cache *c, size_t at, const char *namespace, const char *name)
{
	return at < c->objects.n && cmp_name(c->objects.items[at], namespace, name) == 0;
}

/* ---- indexes ---- */

/* What an index function adds to, or removes from. */
struct change {
	struct k8s_names *names;
	struct index *index;
	const struct k8s_object *object;
};

static size_t entry_place(const struct change *c, const char *key)
{
	const struct index *x = c->index;

	return sorted_place(x->entries.n, i, entry_cmp(&x->entries.items[i], key, c->object) < 0);
}

static bool has_entry(const struct change *c, size_t at, const char *key)
{
	return at < c->index->entries.n &&
	       entry_cmp(&c->index->entries.items[at], key, c->object) == 0;
}

static void on_add(const char *key, void *to)
{
	const struct change *c = to;
	size_t at = entry_place(c, key);

	if (has_entry(c, at, key)) /* the function named a key twice */
		return;
	vec_insert_at(&c->index->entries, at);
	c->index->entries.items[at] = (struct entry){ k8s__name_take(c->names, key), c->object };
}

static void on_drop(const char *key, void *to)
{
	const struct change *c = to;
	size_t at = entry_place(c, key);

	if (!has_entry(c, at, key))
		return;
	k8s__name_drop(c->names, c->index->entries.items[at].key);
	vec_remove_at(&c->index->entries, at);
}

static void index_object(struct k8s_cache *c, const struct k8s_object *o, k8s_index_add_fn what)
{
	for (unsigned i = 0; i < c->n_indexes; i++) {
		struct change change = { c->kind->names, &c->indexes[i], o };

		c->indexes[i].fn(o, what, &change, c->indexes[i].user);
	}
}

unsigned k8s_cache_index(struct k8s_cache *c, k8s_index_fn fn, void *user)
{
	assert(fn && c->objects.n == 0 && c->n_indexes < K8S_INDEXES_MAX);
	c->indexes[c->n_indexes].fn = fn;
	c->indexes[c->n_indexes].user = user;
	return c->n_indexes++;
}

/* ---- objects ---- */

struct k8s_cache *k8s_cache_new(const struct k8s_kind *kind)
{
	struct k8s_cache *c = mem_zalloc(sizeof(*c));

	assert(kind);
	c->kind = kind;
	return c;
}

void k8s_cache_free(struct k8s_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->objects.n; i++)
		k8s_object_unref(c->kind, c->objects.items[i]);
	vec_free(&c->objects);
	for (unsigned i = 0; i < c->n_indexes; i++) {
		for (size_t j = 0; j < c->indexes[i].entries.n; j++)
			k8s__name_drop(c->kind->names, c->indexes[i].entries.items[j].key);
		vec_free(&c->indexes[i].entries);
	}
	free(c);
}

struct k8s_object *k8s_cache_put(struct k8s_cache *c, struct k8s_object *o)
{
	size_t at = place_of(c, o->namespace, o->name);
	struct k8s_object *old = NULL;

	if (is_at(c, at, o->namespace, o->name)) {
		old = c->objects.items[at];
		index_object(c, old, on_drop);
	} else {
		vec_insert_at(&c->objects, at);
	}
	c->objects.items[at] = o;
	index_object(c, o, on_add);
	return old;
}

struct k8s_object *k8s_cache_remove(struct k8s_cache *c, const char *namespace, const char *name)
{
	size_t at = place_of(c, namespace, name);
	struct k8s_object *old;

	if (!is_at(c, at, namespace, name))
		return NULL;
	old = c->objects.items[at];
	index_object(c, old, on_drop);
	vec_remove_at(&c->objects, at);
	return old;
}

const struct k8s_object *k8s_cache_get(const struct k8s_cache *c, const char *namespace,
				       const char *name)
{
	size_t at = place_of(c, namespace, name);

	return is_at(c, at, namespace, name) ? c->objects.items[at] : NULL;
}

size_t k8s_cache_count(const struct k8s_cache *c)
{
	return c->objects.n;
}

const struct k8s_object *k8s_cache_at(const struct k8s_cache *c, size_t i)
{
	assert(i < c->objects.n);
	return c->objects.items[i];
}

size_t k8s_cache_find(const struct k8s_cache *c, unsigned index, const char *key, size_t *ret_first)
{
	const struct index *x = &c->indexes[index];
	size_t first, end;

	assert(index < c->n_indexes);
	first = sorted_place(x->entries.n, i, strcmp(x->entries.items[i].key, key) < 0);
	end = sorted_place(x->entries.n, i, strcmp(x->entries.items[i].key, key) <= 0);
	*ret_first = first;
	return end - first;
}

const struct k8s_object *k8s_cache_found(const struct k8s_cache *c, unsigned index, size_t i)
{
	assert(index < c->n_indexes && i < c->indexes[index].entries.n);
	return c->indexes[index].entries.items[i].object;
}
