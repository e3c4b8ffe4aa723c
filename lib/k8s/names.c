/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: strings that many objects share, such as those of namespaces, nodes and classes.
 *
 * A sorted set with a count of references for each string: what no object uses is freed, so that
 * names which come and go do not add up. It is not a hash table because users of the cluster choose
 * the names.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "lib/k8s/kind_private.h"

struct name {
	size_t refs;
	char text[];
};

struct k8s_names {
	VEC(struct name *) all; /* sorted */
};

struct k8s_names *k8s_names_new(void)
{
	return mem_zalloc(sizeof(struct k8s_names));
}

void k8s_names_free(struct k8s_names *n)
{
	if (!n)
		return;
	assert(n->all.n == 0);
	vec_free(&n->all);
	free(n);
}

size_t k8s_names_count(const struct k8s_names *n)
{
	return n->all.n;
}

static size_t place_of(const struct k8s_names *n, const char *text)
{
	return sorted_place(n->all.n, i, strcmp(n->all.items[i]->text, text) < 0);
}

static struct name *name_new(const char *text)
{
	size_t size = strlen(text) + 1;
	struct name *name = mem_alloc(sizeof(*name) + size);

	name->refs = 0;
	memcpy(name->text, text, size);
	return name;
}

const char *k8s__name_take(struct k8s_names *n, const char *text)
{
	size_t at = place_of(n, text);

	if (at == n->all.n || strcmp(n->all.items[at]->text, text) != 0) {
		vec_insert_at(&n->all, at);
		n->all.items[at] = name_new(text);
	}
	n->all.items[at]->refs++;
	return n->all.items[at]->text;
}

void k8s__name_drop(struct k8s_names *n, const char *text)
{
	struct name *name;

	if (!text)
		return;
	name = (struct name *)((uintptr_t)text - offsetof(struct name, text));
	assert(name->refs > 0);
	if (--name->refs > 0)
		return;
	vec_remove_at(&n->all, place_of(n, text));
	free(name);
}
