/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled form of a layout, for the decoder. */
#pragma once

#include "base/arena.h"
#include "lib/k8s/kind.h"

/* Levels of keys in the path of a field, and of lists in lists. */
#define K8S__PATH_MAX 12

/* A key on the way to fields. */
struct k8s__node {
	struct str key;
	const struct k8s_field *field;	  /* NULL: only a step on the way */
	const struct k8s__node *elements; /* K8S_LIST: the tree of its elements */
	struct k8s__node *children;	  /* siblings are linked */
	struct k8s__node *next;
	bool aside; /* the value belongs to the decoder, see struct k8s__aside */
	bool marks; /* metadata.annotations, where the end of the initial events is marked */
};

struct k8s_kind {
	struct arena *arena;
	const struct k8s_layout *layout;
	struct k8s_names *names;
	struct k8s__node *root;
};

/* What is read from objects of every kind, without being kept. */
struct k8s__aside {
	const char *kind;
	const char *reason, *message; /* of a Status */
	const char *version;	      /* resourceVersion as text */
	int64_t code;
};

extern const struct k8s_field k8s__object_fields[];
extern const size_t k8s__n_object_fields;

const struct k8s__node *k8s__child(const struct k8s__node *of, struct str key);

/* One shared string. It is the caller's until k8s__name_drop(). */
const char *k8s__name_take(struct k8s_names *n, const char *text);
void k8s__name_drop(struct k8s_names *n, const char *text);
