/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer: a cache that follows the objects of one kind.
 *
 * It lists all objects and then watches for changes, and tells the program about each change once:
 *
 *	LISTING -> WATCHING <-> CHECKING
 *	   ^_________|______________|       the version is too old, or time went backwards
 *
 * Whatever breaks (connections, servers, watches that end, versions that are too old) is mended
 * with growing delays. Objects in the cache stay meanwhile. A new list is compared with the cache:
 * the program is told about differences only, so that no object is missed or told twice. An object
 * that was deleted and made again under its name is a deletion and an addition.
 *
 * Objects are told as they arrive. Before synced() some may be missing, so a program that concludes
 * something from the absence of an object waits until all its informers are synced.
 *
 * Lists are streamed where the server can (sendInitialEvents), else they are read page by page.
 *
 * Servers send bookmarks once a minute. After `silence` without one, or when a connection broke,
 * the server is asked for its current version before the watch begins again: a server that was
 * restored from a backup has a lower one, and a watch from a version of the future would be silent
 * for ever.
 *
 * A kind that is not installed (`optional`) is like one without objects; it is looked for every
 * `absent`, and k8s_informer_poke() looks at once.
 */
#pragma once

#include "lib/k8s/cache.h"
#include "lib/k8s/client.h"

struct k8s_informer;

enum k8s_change { K8S_ADDED, K8S_UPDATED, K8S_DELETED };

enum k8s_informer_state {
	K8S_STOPPED,
	K8S_LISTING,
	K8S_WATCHING,
	K8S_CHECKING, /* asks for the current version */
	K8S_WAITING,  /* after a failure */
	K8S_ABSENT,   /* the kind is not installed */
};

/* What went wrong. */
struct k8s_trouble {
	const char *doing; /* "list", "watch", "check" */
	enum k8s_code code;
	const char *message;
	int64_t delay; /* ns until the next try */
};

/* Zero means the default. Strings and resource are copied. */
struct k8s_informer_config {
	struct k8s_client *client;
	const struct k8s_kind *kind;
	struct k8s_resource resource;
	const char *namespace;	    /* NULL: all */
	const char *label_selector; /* NULL: all */
	const char *field_selector;
	bool optional;	    /* 404 means that the kind is not installed */
	bool paged;	    /* never streams lists */
	unsigned page;	    /* 500; objects */
	size_t max_objects; /* 1,000,000; a list or watch that brings more fails */
	int64_t watch_time; /* 5 minutes; a watch ends after up to twice that */
	int64_t silence;    /* 90 s */
	int64_t absent;	    /* 10 s */
	/*
	 * Objects are borrowed; old is NULL for an addition, new for a deletion. The cache is
	 * already changed. It may stop the informer, but neither start nor free it; so may the
	 * others.
	 */
	void (*changed)(enum k8s_change change, const struct k8s_object *old,
			const struct k8s_object *new, void *user);
	void (*synced)(void *user); /* the cache is complete, for the first time; may be NULL */
	void (*trouble)(const struct k8s_trouble *trouble, void *user); /* may be NULL */
	void *user;
};

struct k8s_informer_stats {
	uint64_t lists, watches, checks;
	uint64_t events;   /* of watches, bookmarks not included */
	uint64_t failures; /* of any kind */
	uint64_t expired;  /* versions that were too old */
	uint64_t reversed; /* time went backwards */
	uint64_t version;  /* the newest that was seen */
	uint64_t odd;	   /* objects with values of other types than expected */
};

/* Nothing is asked before k8s_informer_start(). */
struct k8s_informer *k8s_informer_new(const struct k8s_informer_config *config);
void k8s_informer_free(struct k8s_informer *i); /* NULL is allowed */

/* For lookups, and for indexes before the start. */
struct k8s_cache *k8s_informer_cache(struct k8s_informer *i);
/* Starts, or resumes after a stop where it was. No effect if it runs. */
void k8s_informer_start(struct k8s_informer *i);
/* Asks nothing any more; the cache stays. */
void k8s_informer_stop(struct k8s_informer *i);
/* Does not wait any longer for the next try. */
void k8s_informer_poke(struct k8s_informer *i);

/* Whether the cache was complete once. */
bool k8s_informer_is_synced(const struct k8s_informer *i);
enum k8s_informer_state k8s_informer_state(const struct k8s_informer *i);
const struct k8s_informer_stats *k8s_informer_stats(const struct k8s_informer *i);
const char *k8s_informer_state_name(enum k8s_informer_state state);
