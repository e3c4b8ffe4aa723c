/* SPDX-License-Identifier: Apache-2.0 */
/* kube_state: what the files of kube share. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "core/l2/alive.h"
#include "core/speak/absence.h"
#include "lib/loop/task.h"
#include "lib/operator/operator.h"
#include "src/speaker/follow.h"
#include "src/speaker/kube.h"
#include "src/speaker/kube_kinds.h"
#include "src/speaker/kube_l2.h"
#include "src/speaker/kube_status.h"
#include "src/speaker/plan_kube.h"
#include "src/speaker/reload.h"
#include "src/speaker/sessions.h"

/* A valid configuration for this node, with references counted. */
struct kube_config {
	unsigned refs;
	struct arena *arena;
	struct metal_config metal;
	struct metal_config all; /* with the peers and BGP advertisements of other nodes */
	bool has_all;		 /* false: those of another node are not valid */
	struct bgp_config frr;	 /* peers and profiles only */
};

/* What a decision is made from; the same for all Services until something of it changes. */
struct kube_view {
	unsigned refs;
	struct arena *arena;
	struct kube_config *config;
	struct speak_cluster cluster;
};

/* A Service of type LoadBalancer, or one that was announced. */
struct kube_entry {
	struct kube *of;
	struct queue_item queued;
	char *key; /* "namespace/name" */
	char *namespace, *name, *uid;
	struct kube_view *view; /* of the decision; NULL: none yet */
	struct arena *arena;	/* of the decision */
	const struct addr *addresses;
	size_t n_addresses;
	struct speak_bgp bgp;
	struct speak_l2 l2;
	/* What this node says for all of them: nobody announces it, and nobody else says why. */
	struct speak_absence bgp_absence, l2_absence;
	int64_t since;	      /* unix ns; of what is announced, or not */
	uint64_t transitions; /* of that */
	bool draining;	      /* announced over BGP with the graceful-shutdown community */
	/* its frontends in the maglevd of this node, if it asks for the data plane */
	bool by_data_plane;
	const char *const *frontends;
	size_t n_frontends;
	struct announce plane; /* what they say; outlives a decision */
};

/* One address of a Service, in the list that the API shows. */
struct kube_shown {
	char *service; /* its key */
	char *name;    /* of the announcement */
	size_t address;
};

struct kube_stats {
	uint64_t configs, config_errors; /* that were valid, and that were not */
	uint64_t updates;		 /* changes of objects that were looked at */
	uint64_t transitions;		 /* of Services, over BGP or on a local network */
};

struct kube {
	struct ev_loop *loop;
	const struct options *options;
	char *node;
	char label[KUBE_LABEL_SIZE]; /* the node, as the value of labels and in heartbeats */
	char *node_selectors[3];     /* of the statuses of this node */
	struct operator_kind kinds[KUBE_KINDS];
	struct operator_frame *op;
	struct kube_status_set *status;
	struct kube_l2 *l2;
	struct reload *reload;
	struct sessions *sessions;
	bool sessions_started;

	struct alive alive;
	ev_timer due; /* when a node may be dead */

	struct kube_config *config; /* NULL: there was no valid one yet */
	struct kube_view *view;
	char *mistake; /* of the configuration; NULL: none */
	bool config_changed, nodes_changed;
	bool claim_again; /* the nodes that are alive have changed */
	ev_timer refresh; /* at once, if one of these is set */

	VEC(struct kube_entry *) entries; /* sorted by key */
	struct queue queue;		  /* of entries to be judged */
	struct task task;
	bool judged;	   /* all of them, once */
	bool unapplied;	   /* a decision has changed since the last apply */
	bool was_included; /* this node, at the last look */
	bool draining;	   /* it got the exclude label since, and drain_time is not over */
	ev_timer drained;  /* when the drain of the node is over */

	/* the own Lease, and what dead nodes have left */
	char *holder;
	ev_timer renew;
	struct k8s_call *lease_call;
	struct k8s_call *key_call; /* creates the Secret of the heartbeats */
	struct k8s_call *sweep_call;
	char *sweeping; /* the label of the node whose objects are removed; NULL: none */
	size_t sweep_kind;
	void (*released)(void *user);
	void *released_user;

	struct follow *follow; /* the maglevd of this node; NULL without --maglevd */
	int64_t follow_since;
	ev_timer plane; /* when its word counts or ends to count */

	ev_timer publish; /* of the sessions */

	/* what the API shows */
	VEC(struct kube_shown) shown; /* sorted by name */
	bool shown_old;		      /* Services or addresses have changed since */
	int64_t shown_at;	      /* monotonic ns */
	uint64_t generation;	      /* of the list, and of the peers */
	void (*observer)(void *user); /* NULL: none */
	void *observer_user;
	int64_t epoch;		       /* see epoch.h */
	int64_t started_at, loaded_at; /* unix ns */
	const struct api *api;	       /* for its metrics; NULL: there is none */
	struct kube_stats stats;
};

/* ---- kube_view.c ---- */

void kube_config_unref(struct kube_config *c); /* NULL is allowed */
struct kube_view *kube_view_ref(struct kube_view *v);
void kube_view_unref(struct kube_view *v); /* NULL is allowed */
/* Builds the configuration from the caches. Keeps the old one and sets the mistake if it is bad. */
void kube__reconfigure(struct kube *k);
/* Replaces the view; NULL while there is no configuration or no such node. */
void kube__review(struct kube *k);
/* Refreshes from the loop. */
void kube__refresh_soon(struct kube *k);

/* ---- kube_services.c ---- */

void kube__services_init(struct kube *k);
void kube__services_free(struct kube *k);
/* A Service or one of its slices has changed. */
void kube__service_changed(struct kube *k, const char *namespace, const char *name);
void kube__judge_all(struct kube *k);
void kube__judge_again(struct kube_entry *e);
/* Whether a Service that is announced would have no pool. Its key, or NULL. */
const char *kube__orphaned_by(struct kube *k, const struct metal_config *c);
/* A status of the Service was written; before: what it was, NULL: there was none. */
void kube__written(struct kube *k, enum kube_kind kind, const char *key, const char *before);
bool kube__is_announced(const struct kube_entry *e);

/* NULL: there is none. */
const struct kube_entry *kube__find(const struct kube *k, const char *key);

/* ---- kube_info.c ---- */

/* Makes the list of what is shown; after a change of the peers at once. */
void kube__show_again(struct kube *k);
/* Something that is shown may have changed. */
void kube__shown_changed(struct kube *k);
void kube__info_free(struct kube *k);
/* Of a peer of the configuration in force; NULL: there is none. */
const struct session *kube__session(const struct kube *k, const char *peer);

/* ---- kube_plane.c ---- */

void kube__plane_init(struct kube *k);
void kube__plane_start(struct kube *k);
void kube__plane_free(struct kube *k);
/* Reads whether the Service asks for the data plane, and by which frontends it is served. */
void kube__plane_read(const struct kube_entry *e, const struct kube_service *s,
		      struct kube_entry *made);
/* Whether the maglevd of this node serves it. */
bool kube__plane_serves(struct kube_entry *e, const struct kube_entry *made);
/* Whether the maglevd has not said anything yet that a first decision should wait for. */
bool kube__plane_is_awaited(const struct kube *k);

/* ---- kube_lease.c ---- */

/*
 * From now on other nodes count on this one: Lease and heartbeats. Not before it has a
 * configuration and knows what it owns, or an address could have an owner that does not answer.
 */
void kube__take_part(struct kube *k);
void kube__lease_free(struct kube *k);
void kube__lease_release(struct kube *k, void (*done)(void *user), void *user);
void kube__lease_changed(struct kube *k, const struct kube_lease *old,
			 const struct kube_lease *new);
/* Decides again who is alive; refreshes if that has changed. */
void kube__judge_alive(struct kube *k);
/* The key of the heartbeats: from the Secret, which is created if there is none. */
void kube__find_key(struct kube *k);

/* ---- kube_sessions.c ---- */

/* The sessions and the result of the configuration, as statuses. */
void kube__publish(struct kube *k);
void kube__publish_config(struct kube *k);
/* Appends a string as JSON. */
void kube__json(struct buf *out, const char *text);
/* An ownerReference to the node; "" if it is not known. */
void kube__own_by_node(struct kube *k, struct buf *out);
