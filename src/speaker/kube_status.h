/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_status: the objects that this speaker has written about its node, kept as they should be.
 *
 * A wish is a kind, a key and the object that should exist. It is compared with the cache of the
 * kind, and nothing is written that is already so. An object of this node that nobody wishes is
 * deleted: what an earlier process has left, and what people made.
 *
 *	(none) --create--> without status --patch status--> as wished
 *
 * An object is found by its labels and not by its name, because a name that consists of two names
 * may be that of another pair: then another name is used. Only a ServiceL2Status has one name in
 * all speakers; the node that owns the addresses replaces that of another node.
 */
#pragma once

#include "base/str.h"
#include "lib/operator/operator.h"
#include "src/speaker/kube_kinds.h"

struct kube_status_set;

/* What should be; texts are copied. */
struct kube_wish {
	const char *namespace, *name;
	const char *labels; /* members of a JSON object: "\"a\":\"b\"" */
	const char *owner;  /* an ownerReference as JSON; NULL: none */
	const char *status; /* JSON */
};

struct kube_status_config {
	struct operator_frame *op;
	const char *node; /* borrowed */
	/* A status was written. before: what it was; NULL: there was none. May be NULL. */
	void (*written)(enum kube_kind kind, const char *key, const char *before, void *user);
	void *user;
};

struct kube_status_stats {
	uint64_t creates, updates, deletes, failures;
};

struct kube_status_set *kube_status_new(const struct kube_status_config *config);
void kube_status_free(struct kube_status_set *s); /* NULL is allowed */

/* No effect if it is wished already. */
void kube_status_wish(struct kube_status_set *s, enum kube_kind kind, const char *key,
		      const struct kube_wish *wish);
/* Nobody wishes it any more. */
void kube_status_drop(struct kube_status_set *s, enum kube_kind kind, const char *key);
/* Between these two all wishes of a kind are made again; those that are not are dropped. */
void kube_status_begin(struct kube_status_set *s, enum kube_kind kind);
void kube_status_end(struct kube_status_set *s, enum kube_kind kind);
/* From now on all wishes of a kind are known: objects without one are deleted. */
void kube_status_complete(struct kube_status_set *s, enum kube_kind kind);

/* For the operator: a turn of a key, a change of a cache, the index 0 of the caches. */
enum queue_result kube_status_step(struct kube_status_set *s, struct queue_item *item);
void kube_status_changed(struct kube_status_set *s, enum kube_kind kind,
			 const struct k8s_object *o);
void kube_status_index(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user);

const struct kube_status_stats *kube_status_stats(const struct kube_status_set *s);
/* The resource and the Kind of one of the kinds. */
const struct k8s_resource *kube_status_resource(enum kube_kind kind);

/*
 * Pure: whether two texts are the same JSON value; the order of members, white space, and members
 * called lastTransitionTime do not count.
 */
bool kube_status_same(const char *a, const char *b);
/*
 * Pure: appends the merge patch that makes a status of another one, {"status":...}. Members that it
 * has and should not have are removed. before: NULL if there is none; wanted has a member.
 */
void kube_status_patch(const char *before, const char *wanted, struct buf *out);
/*
 * Pure: appends a text as the name of an object. hash takes the place of what a name cannot have:
 * more than 253 bytes, or characters other than a-z, 0-9, '-' and '.'.
 */
void kube_status_name(const char *text, bool always_hash, uint32_t hash, struct buf *out);
