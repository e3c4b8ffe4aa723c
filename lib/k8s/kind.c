/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind: a table of fields compiled to a tree of keys, and blocks of memory for objects.
 *
 * The decoder fills a scratch struct whose strings and lists lie anywhere in an arena. To keep it,
 * two passes over the table follow: the first one adds up the size of the block, the second one
 * copies the struct, then its lists, then its strings after it. Both are one function that places
 * bytes; in the first pass there is no block to write to.
 *
 * Recursion is over tables of the program and never over input.
 */
#include "lib/k8s/kind.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "lib/k8s/kind_private.h"

/* Those of every object. namespace is shared. */
const struct k8s_field k8s__object_fields[] = {
	K8S_FIELD("metadata.name", K8S_STRING, struct k8s_object, name),
	K8S_FIELD("metadata.namespace", K8S_NAME, struct k8s_object, namespace),
	K8S_FIELD("metadata.uid", K8S_STRING, struct k8s_object, uid),
	K8S_FIELD("metadata.generation", K8S_INT, struct k8s_object, generation),
	K8S_FIELD("metadata.deletionTimestamp", K8S_PRESENT, struct k8s_object, deleting),
};
const size_t k8s__n_object_fields = sizeof(k8s__object_fields) / sizeof(k8s__object_fields[0]);

static const struct k8s_field aside_fields[] = {
	K8S_FIELD("kind", K8S_STRING, struct k8s__aside, kind),
	K8S_FIELD("metadata.resourceVersion", K8S_STRING, struct k8s__aside, version),
	K8S_FIELD("reason", K8S_STRING, struct k8s__aside, reason),
	K8S_FIELD("message", K8S_STRING, struct k8s__aside, message),
	K8S_FIELD("code", K8S_INT, struct k8s__aside, code),
};

static const char *const no_keys[] = { NULL };
/* So that annotations are looked at even if the program keeps none. */
static const struct k8s_field mark_field = { .path = "metadata.annotations",
					     .type = K8S_MAP,
					     .keep = no_keys };

/* ---- compiling ---- */

const struct k8s__node *k8s__child(const struct k8s__node *of, struct str key)
{
	const struct k8s__node *n;

	for (n = of->children; n; n = n->next)
		if (n->key.n == key.n && memcmp(n->key.p, key.p, key.n) == 0)
			return n;
	return NULL;
}

static struct k8s__node *add_child(struct k8s_kind *k, struct k8s__node *of, struct str key)
{
	struct k8s__node *n = (struct k8s__node *)(uintptr_t)k8s__child(of, key);

	if (n)
		return n;
	n = arena_alloc(k->arena, sizeof(*n));
	n->key = key;
	n->next = of->children;
	of->children = n;
	return n;
}

static struct k8s__node *add_path(struct k8s_kind *k, struct k8s__node *root, const char *path)
{
	struct str rest = str_of(path), key;
	struct k8s__node *n = root;
	unsigned depth = 0;

	for (; str_cut(&rest, '.', &key); depth++)
		n = add_child(k, n, key);
	assert(depth <= K8S__PATH_MAX);
	return n;
}

static struct k8s__node *compile(struct k8s_kind *k, const struct k8s_layout *layout);

static void add_field(struct k8s_kind *k, struct k8s__node *root, const struct k8s_field *f)
{
	struct k8s__node *n = add_path(k, root, f->path);

	assert(!n->field); /* a path is in the table once */
	n->field = f;
	if (f->type == K8S_LIST)
		n->elements = compile(k, f->of);
}

static struct k8s__node *compile(struct k8s_kind *k, const struct k8s_layout *layout)
{
	struct k8s__node *root = arena_alloc(k->arena, sizeof(*root));

	for (size_t i = 0; i < layout->n_fields; i++)
		add_field(k, root, &layout->fields[i]);
	return root;
}

static void add_common(struct k8s_kind *k)
{
	struct k8s__node *n;

	for (size_t i = 0; i < k8s__n_object_fields; i++)
		add_field(k, k->root, &k8s__object_fields[i]);
	for (size_t i = 0; i < ARRAY_SIZE(aside_fields); i++) {
		n = add_path(k, k->root, aside_fields[i].path);
		if (n->field) /* the program wants a field of this name itself */
			continue;
		n->field = &aside_fields[i];
		n->aside = true;
	}
	n = add_path(k, k->root, mark_field.path);
	n->marks = true;
	if (!n->field) {
		n->field = &mark_field;
		n->aside = true;
	}
}

struct k8s_kind *k8s_kind_new(const struct k8s_layout *layout, struct k8s_names *names)
{
	struct k8s_kind *k = mem_zalloc(sizeof(*k));

	assert(layout && names && layout->size >= sizeof(struct k8s_object));
	k->arena = arena_new();
	k->layout = layout;
	k->names = names;
	k->root = compile(k, layout);
	add_common(k);
	return k;
}

void k8s_kind_free(struct k8s_kind *k)
{
	if (!k)
		return;
	arena_free(k->arena);
	free(k);
}

/* ---- blocks ---- */

/* Where the next bytes of a block go. Without a block only the size is counted. */
struct packer {
	struct k8s_names *names;
	char *block;
	size_t n;
};

/* Room for size bytes; what is given to a counting packer has no address. */
static void *place(struct packer *p, size_t size, size_t align)
{
	size_t at = (p->n + align - 1) / align * align;

	p->n = at + size;
	return p->block ? p->block + at : NULL;
}

static const char *place_string(struct packer *p, const char *text)
{
	size_t size = strlen(text) + 1;
	char *to = place(p, size, 1);

	return to ? memcpy(to, text, size) : NULL;
}

static void place_field(struct packer *p, const struct k8s_field *f, const char *from, char *to);

static void place_fields(struct packer *p, const struct k8s_field *fields, size_t n,
			 const char *from, char *to)
{
	for (size_t i = 0; i < n; i++)
		place_field(p, &fields[i], from, to);
}

static size_t item_size(const struct k8s_field *f)
{
	return f->type == K8S_LIST  ? f->of->size
	       : f->type == K8S_MAP ? sizeof(struct k8s_pair)
				    : sizeof(char *);
}

static void place_item(struct packer *p, const struct k8s_field *f, const char *from, char *to)
{
	const char *const *texts = (const char *const *)from;
	size_t n = f->type == K8S_MAP ? 2 : 1;

	if (f->type == K8S_LIST) {
		place_fields(p, f->of->fields, f->of->n_fields, from, to);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *text = place_string(p, texts[i]);

		if (to)
			((const char **)to)[i] = text;
	}
}

static void place_list(struct packer *p, const struct k8s_field *f, const struct k8s_list *from,
		       struct k8s_list *to)
{
	size_t size = item_size(f);
	char *items = from->n ? place(p, from->n * size, sizeof(void *)) : NULL;

	if (items)
		memcpy(items, from->items, from->n * size);
	for (size_t i = 0; i < from->n; i++)
		place_item(p, f, (const char *)from->items + i * size,
			   items ? items + i * size : NULL);
	if (to)
		to->items = items;
}

static void place_field(struct packer *p, const struct k8s_field *f, const char *from, char *to)
{
	const char *text;

	switch (f->type) {
	case K8S_INT:
	case K8S_BOOL:
	case K8S_PRESENT:
		return; /* copied with the struct */
	case K8S_STRINGS:
	case K8S_MAP:
	case K8S_LIST:
		place_list(p, f, (const void *)(from + f->offset),
			   to ? (void *)(to + f->offset) : NULL);
		return;
	case K8S_STRING:
	case K8S_TEXT:
	case K8S_JSON:
	case K8S_NAME:
		break;
	}
	text = *(const char *const *)(from + f->offset);
	if (!text)
		return;
	if (f->type != K8S_NAME)
		text = place_string(p, text);
	else if (to)
		text = k8s__name_take(p->names, text);
	if (to)
		*(const char **)(to + f->offset) = text;
}

static void pack(const struct k8s_kind *k, struct packer *p, const struct k8s_object *from)
{
	const struct k8s_layout *l = k->layout;
	char *to = place(p, l->size, sizeof(void *));

	if (to)
		memcpy(to, from, l->size);
	place_fields(p, k8s__object_fields, k8s__n_object_fields, (const char *)from, to);
	place_fields(p, l->fields, l->n_fields, (const char *)from, to);
}

size_t k8s_object_size(const struct k8s_kind *k, const struct k8s_object *o)
{
	struct packer count = { .names = k->names };

	pack(k, &count, o);
	return count.n;
}

struct k8s_object *k8s_object_keep(const struct k8s_kind *k, const struct k8s_object *scratch)
{
	struct packer p = { .names = k->names };
	struct k8s_object *o;

	p.block = mem_alloc(k8s_object_size(k, scratch));
	pack(k, &p, scratch);
	o = (struct k8s_object *)(void *)p.block;
	o->refs = 1;
	return o;
}

struct k8s_object *k8s_object_ref(const struct k8s_object *o)
{
	struct k8s_object *counted = (struct k8s_object *)(uintptr_t)o;

	assert(counted->refs > 0);
	counted->refs++;
	return counted;
}

static void drop_names(struct k8s_names *names, const struct k8s_field *fields, size_t n,
		       const char *from)
{
	for (size_t i = 0; i < n; i++) {
		const struct k8s_field *f = &fields[i];
		const struct k8s_list *list = (const void *)(from + f->offset);

		if (f->type == K8S_NAME)
			k8s__name_drop(names, *(const char *const *)(from + f->offset));
		for (size_t j = 0; f->type == K8S_LIST && j < list->n; j++)
			drop_names(names, f->of->fields, f->of->n_fields,
				   (const char *)list->items + j * f->of->size);
	}
}

void k8s_object_unref(const struct k8s_kind *k, const struct k8s_object *o)
{
	struct k8s_object *counted = (struct k8s_object *)(uintptr_t)o;

	if (!o)
		return;
	assert(counted->refs > 0);
	if (--counted->refs > 0)
		return;
	drop_names(k->names, k8s__object_fields, k8s__n_object_fields, (const char *)o);
	drop_names(k->names, k->layout->fields, k->layout->n_fields, (const char *)o);
	free(counted);
}

const char *k8s_map_get(const struct k8s_list *map, const char *key)
{
	const struct k8s_pair *pairs = map->items;
	size_t at = sorted_place(map->n, i, strcmp(pairs[i].key, key) < 0);

	return at < map->n && strcmp(pairs[at].key, key) == 0 ? pairs[at].value : NULL;
}
