/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: objects from the bytes of an answer: a list, a watch, or one object.
 *
 * The bytes may arrive in pieces of any size. No tree is built: tokens go straight into a scratch
 * struct of the kind, which is reported when its JSON is complete and is used again for the next
 * object. Memory is bounded by the largest object (K8S_OBJECT_BYTES of text), however long the
 * list or the watch is.
 */
#pragma once

#include "lib/k8s/kind.h"

#define K8S_OBJECT_BYTES ((size_t)16 << 20)  /* of JSON of one object */
#define K8S_OBJECT_MEMORY ((size_t)64 << 20) /* of its scratch */

enum k8s_feed_mode {
	K8S_FEED_LIST,	 /* { "metadata": ..., "items": [ ... ] } */
	K8S_FEED_WATCH,	 /* { "type": ..., "object": ... } ... */
	K8S_FEED_OBJECT, /* the object itself */
};

enum k8s_feed_type {
	K8S_FEED_ITEM, /* of a list, or the object itself */
	K8S_FEED_ADDED,
	K8S_FEED_MODIFIED,
	K8S_FEED_DELETED,
	K8S_FEED_BOOKMARK, /* only object->version is set */
	K8S_FEED_ERROR,	   /* the watch has failed: code, reason, message */
};

struct k8s_feed_event {
	enum k8s_feed_type type;
	const struct k8s_object
		*object;  /* scratch: valid during the callback; see k8s_object_keep() */
	bool initial_end; /* a bookmark after the initial events of a streaming list */
	/* of a Status */
	int64_t code;
	const char *reason, *message; /* "" if absent */
};

/* What a list says about itself. Valid when its end was reported. */
struct k8s_feed_list {
	uint64_t version; /* resourceVersion */
	const char *more; /* token for the next page; "" after the last one */
};

struct k8s_feed;

/* Returns false to stop: k8s_feed_take() then returns -ECANCELED. */
typedef bool (*k8s_feed_fn)(const struct k8s_feed_event *event, void *user);

/* kind and user are borrowed. */
struct k8s_feed *k8s_feed_new(const struct k8s_kind *kind, enum k8s_feed_mode mode, k8s_feed_fn fn,
			      void *user);
/* NULL is allowed. Not within the callback. */
void k8s_feed_free(struct k8s_feed *f);

/*
 * The next bytes. -EBADMSG if they are not what the mode says: not JSON, over a limit, an object
 * without a name or with a version that is not a number (k8s_feed_reason()); -ECANCELED if the
 * callback wants no more. After an error every call fails the same way.
 */
int k8s_feed_take(struct k8s_feed *f, const char *p, size_t n);
/*
 * No more bytes will come. -EBADMSG if something is unfinished, or if a list or object is missing.
 */
int k8s_feed_end(struct k8s_feed *f);
const char *k8s_feed_reason(const struct k8s_feed *f);
/* After k8s_feed_end() of a list. Valid as long as f. */
const struct k8s_feed_list *k8s_feed_list(const struct k8s_feed *f);
/* Objects that were reported. */
uint64_t k8s_feed_count(const struct k8s_feed *f);
