/* SPDX-License-Identifier: Apache-2.0 */
/* private: what the files of the controller share. */
#pragma once

#include "base/map.h"
#include "lib/k8s/update.h"
#include "src/controller/controller.h"
#include "src/controller/plan.h"
#include "wire/metal.h"

/* Lower ranks go first. */
enum rank { RANK_CONFIG, RANK_ASSIGNED, RANK_UNASSIGNED, RANK_PENDING, RANK_STATUS };

struct key;

/* One look at a key. */
typedef enum queue_result (*turn_fn)(struct controller *c, struct key *k);

/* Something to be looked at: a service, a pool, or a part of the configuration. */
struct key {
	struct controller *of;
	turn_fn turn;
	struct queue_item item;
	char *id; /* "namespace/name" of a service, name of a pool; NULL: a part */
	size_t kind;
	struct operator_mark mark; /* of its last write */
	struct k8s_call *call;	   /* its write under way */
	char *said;		   /* the last events of a service */
	bool pending;		   /* a service that waits for an address */
	ev_timer soon;		   /* of a pool: its status is written after a while */
};

struct controller {
	struct ev_loop *loop;
	const struct options *options;
	struct controller_calls calls;
	struct operator_frame *op;
	struct operator_kind rows[KINDS];
	char *secret_selector;
	struct map services, pools; /* keys by id */
	struct key config, retry, status, state, bundles;
	struct k8s_update *update; /* of the bundles, under way */
	char *bundle;		   /* the authority in base64 */
	struct ipam *ipam;
	struct arena *arena; /* of the pools in force */
	const struct metal_config *in_force;
	char *error;	  /* of all resources; NULL: valid */
	char *pool_error; /* of the pools alone */
	bool checked;	  /* the configuration was looked at since we are active */
	struct controller_stats stats;
};

/* ---- config.c ---- */
enum queue_result config__turn(struct controller *c, struct key *k);

/* ---- services.c ---- */
struct key *services__key(struct controller *c, const struct k8s_object *o);
void services__add(struct controller *c, const struct k8s_object *o);
void services__add_all(struct controller *c);
enum queue_result services__retry_turn(struct controller *c, struct key *k);
/* Something became free: those that wait are looked at again. */
void services__room(struct controller *c);

/* ---- statuses.c ---- */
/* The usage of a pool has changed. name may be NULL. */
void statuses__pool(struct controller *c, const char *name);
enum queue_result statuses__status_turn(struct controller *c, struct key *k);
enum queue_result statuses__state_turn(struct controller *c, struct key *k);

/* ---- bundles.c ---- */
enum queue_result bundles__turn(struct controller *c, struct key *k);
/* The Secret of the webhooks; NULL: there is none. */
const struct secret *bundles__secret(const struct controller *c);
/* The name under which the API server calls. */
const char *bundles__server(const struct controller *c, struct arena *arena);

/* ---- controller.c ---- */
struct key *controller__key(struct controller *c, struct map *in, const char *id, size_t kind,
			    turn_fn turn);
void controller__drop(struct controller *c, struct map *from, struct key *k);
/*
 * A write of a key: its turn ends when the answer is there. In a dry run it is only told. Returns
 * what the turn returns.
 */
enum queue_result controller__write(struct controller *c, struct key *k,
				    const struct k8s_call_config *call);
