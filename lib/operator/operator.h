/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator: the frame of a program that follows objects of a Kubernetes cluster and changes them.
 *
 * It puts the pieces of lib/k8s together in the way that every controller needs: configuration from
 * flags, a client whose gate asks the lease, an informer for each row of a table of kinds, a queue
 * of keys, events, and an orderly end.
 *
 * The operator is active while all its caches have been complete once and it leads (or needs no
 * lease). The queue runs only then, so a step never takes an object for absent that was not listed
 * yet:
 *
 *	objects change --> changed() --> operator_add(key) --> (while active) step(key)
 *
 * When the operator becomes active, active(true) adds the keys of everything: changes that were
 * seen before are in the caches, but their turns were another process's.
 *
 * A cache follows a write of our own with a delay. A step that acts before that would plan the same
 * write again. So a program marks what its last write of a kind has made (operator_mark()), and a
 * step that has not operator_seen() that returns QUEUE_FAILED: the change adds the key when it
 * comes, and if it does not come, there is a retry.
 *
 * In a dry run no write leaves the client, not even of a lease or an event, and the operator is
 * active without leading.
 *
 * It never logs: the program does, in the callbacks. All of them are called from the loop. For the
 * main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "lib/k8s/events.h"
#include "lib/k8s/informer.h"
#include "lib/loop/queue.h"
#include "lib/operator/options.h"

struct operator_frame;

#define OPERATOR_OWN_NAMESPACE "" /* of a row: operator_namespace() */

/* A kind that is followed: a row of the program's table. */
struct operator_kind {
	struct k8s_resource resource;
	const struct k8s_layout *layout;
	const char *namespace;	    /* NULL: all */
	const char *label_selector; /* NULL: all */
	const char *field_selector; /* NULL: all */
	bool optional;		    /* may be absent from the cluster */
	/*
	 * The kind of the row before it in another version: it is followed from the start only if
	 * that one, which must be optional, is absent then. Later the program decides.
	 */
	bool alternative;
	/* Indexes 0, 1, ... of its cache; they are called with the operator's user. */
	k8s_index_fn indexes[K8S_INDEXES_MAX];
	/* As of an informer. May be NULL. */
	void (*changed)(enum k8s_change change, const struct k8s_object *old,
			const struct k8s_object *new, void *user);
	void *user; /* of changed(); NULL: the operator's */
};

#define OPERATOR_KINDS_MAX 32

/* Something failed and is tried again. */
struct operator_trouble {
	const char *doing; /* "list", "watch", "check", "lease", "event" */
	const char *what;  /* "services"; the name of the lease; "" */
	enum k8s_code code;
	const char *message;
	int64_t delay; /* ns until the next try; 0: not known */
};

/* Zero means the default. What it points to is borrowed. */
struct operator_config {
	struct ev_loop *loop;
	const struct operator_options *options;
	const char *name;	/* "maglev-mux": user agent, field manager */
	const char *controller; /* "maglev.dev/mux": of events */
	const char *instance;	/* of events; NULL: the host name */
	const struct operator_kind *kinds;
	size_t n_kinds;
	/* One turn of a key (lib/loop/queue.h). NULL: the program has no keys. */
	enum queue_result (*step)(struct queue_item *item, void *user);
	size_t parallel;				/* 1; turns at once */
	struct backoff_policy retry;			/* 100 ms to 30 s, up to 20 % shorter */
	void (*synced)(void *user);			/* all kinds, once; may be NULL */
	void (*active)(bool active, void *user);	/* may be NULL */
	void (*holder)(const char *holder, void *user); /* of the lease, or NULL */
	void (*trouble)(const struct operator_trouble *t, void *user); /* may be NULL */
	void *user;
};

/*
 * Reads the configuration of the client. Errors as of k8s_config_load(); *ret is untouched then.
 * Nothing is asked before operator_start().
 */
int operator_new(const struct operator_config *config, struct operator_frame **ret,
		 struct errs *errors);
/* Frees all at once; the lease is not given back. All keys must be forgotten. NULL is allowed. */
void operator_free(struct operator_frame *op);
void operator_start(struct operator_frame *op);
/*
 * The orderly end: no turn begins any more; when those that run have ended, the lease is given back
 * and done() is called. Caches follow the cluster until operator_free().
 */
void operator_drain(struct operator_frame *op, void (*done)(void *user), void *user);

/* ---- keys ---- */

/* As queue_add(); allowed at any time. The owner zeroes the item before its first use. */
void operator_add(struct operator_frame *op, struct queue_item *item, uint64_t rank);
/* Ends a turn whose step returned QUEUE_PENDING. As queue_done(). */
int64_t operator_done(struct operator_frame *op, struct queue_item *item, enum queue_result result);
/* As queue_forget(), before the item is freed. */
void operator_forget(struct operator_frame *op, struct queue_item *item);

/* ---- the cluster ---- */

bool operator_is_synced(const struct operator_frame *op);
bool operator_is_active(const struct operator_frame *op);
bool operator_is_dry_run(const struct operator_frame *op);
/* For admin_config.unready: NULL once synced, also while another process leads. */
const char *operator_unready(const struct operator_frame *op);
struct k8s_client *operator_client(struct operator_frame *op);
struct k8s_informer *operator_informer(struct operator_frame *op, size_t kind);
const struct k8s_cache *operator_cache(const struct operator_frame *op, size_t kind);
/* Gives a reference to an object of a kind back (k8s_object_ref()). NULL is allowed. */
void operator_unref(const struct operator_frame *op, size_t kind, const struct k8s_object *o);
/* The state of a cache after a write; all zeros is before everything. */
struct operator_mark {
	uint64_t version;
	uint64_t reversed; /* how often the server had gone back in time */
};
/* Of the object in the answer to a write of that kind. */
struct operator_mark operator_mark(const struct operator_frame *op, size_t kind,
				   const struct k8s_result *result);
/* Whether the cache has got there; true as well if the server went back in time meanwhile. */
bool operator_seen(const struct operator_frame *op, size_t kind, struct operator_mark mark);
const char *operator_namespace(const struct operator_frame *op); /* the program's own */
const char *operator_identity(const struct operator_frame *op);	 /* of this process in the lease */
const char *operator_holder(const struct operator_frame *op);	 /* of the lease; "": nobody */
const char *operator_server(const struct operator_frame *op);	 /* the URL of the API server */

/* k8s_call() with the operator's name as field manager. */
int operator_call(struct operator_frame *op, const struct k8s_call_config *config,
		  struct k8s_call **ret);
/* Emits an event; no effect in a dry run and while the operator is not active. */
void operator_emit(struct operator_frame *op, const struct k8s_event *event);

/*
 * Appends the families that every such program has, with this prefix ("maglev_mux_"):
 * kube_requests_total, kube_writes_total, kube_repeats_total, kube_throttled_total,
 * kube_requests_waiting, kube_objects, kube_failures_total, kube_synced, leader,
 * kube_events_total, queue_keys.
 */
void operator_metrics(const struct operator_frame *op, struct buf *out, const char *prefix);
