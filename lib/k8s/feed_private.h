/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder of one object, for feed.c. */
#pragma once

#include "base/vec.h"
#include "lib/json/reader.h"
#include "lib/k8s/kind_private.h"

/* Levels of objects and lists that the tables of a program can name. */
#define K8S__DEPTH_MAX 48

enum k8s__level_kind { K8S__OBJECT, K8S__LIST, K8S__STRINGS, K8S__MAP };

struct k8s__level {
	enum k8s__level_kind kind;
	const struct k8s__node *node;	 /* of the object, or of the list */
	char *base;			 /* of the struct that the fields belong to */
	const struct k8s__node *pending; /* K8S__OBJECT: the key whose value comes next */
	const char *key;		 /* K8S__MAP: the same */
	char *items;			 /* of a list so far */
	size_t n, cap;
};

struct k8s__decoder {
	const struct k8s_kind *kind;
	struct arena *arena;
	struct k8s_object *object; /* scratch */
	struct k8s__aside aside;
	struct k8s__level levels[K8S__DEPTH_MAX];
	unsigned depth;
	struct buf json; /* of a K8S_JSON that is being read */
	unsigned json_depth;
	bool initial_end;
};

/* Begins an object; its first token, JSON_TOKEN_OBJECT, was just read. */
void k8s__decode_begin(struct k8s__decoder *d);
/* 1 if the object is complete, 0 if not, -EMSGSIZE if it takes too much memory. */
int k8s__decode(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t);
