/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller: follows Services and the resources of metallb.io, and writes addresses and statuses.
 *
 * Everything that is to be looked at is a key in the operator's queue, in this order:
 *
 *	configuration            all resources, checked together
 *	services with addresses  they keep what they have
 *	services without         they get what is left
 *	the pending ones         once more, after something became free
 *	statuses                 of the configuration and of pools
 *
 * So after a start no service gets an address that another one already has: all services with
 * addresses are looked at first, and nothing is looked at before all caches are complete.
 */
#pragma once

#include "core/ipam/ipam.h"
#include "core/metal/config.h"
#include "lib/operator/operator.h"
#include "src/controller/options.h"

/* The rows of the table of kinds; the first ones are those of wire/metal.h without Secrets. */
enum kind {
	KIND_METAL = 0,
	KIND_SERVICES = 8,
	KIND_STATUSES, /* ConfigurationStatus */
	KIND_STATES,   /* ConfigurationState */
	KIND_SECRETS,  /* the one of the webhooks */
	KINDS,
};

struct controller;

struct controller_stats {
	uint64_t turns;		    /* looks at a service or at the configuration */
	uint64_t failures;	    /* of these */
	uint64_t allocated, failed; /* allocations */
	size_t pending;		    /* services that wait for an address */
	bool loaded, stale;	    /* the configuration */
};

/* Errors as of operator_new(). options and calls are borrowed. */
struct controller_calls {
	/* The certificates of the webhooks are these from now on (PEM). NULL: no webhooks. */
	void (*certificates)(const char *certificate, const char *key, void *user);
	void (*active)(bool active, void *user);
	void *user;
};
int controller_new(struct ev_loop *loop, const struct options *options,
		   const struct controller_calls *calls, struct controller **ret,
		   struct errs *errors);
void controller_start(struct controller *c);
/* The orderly end: done() is called when no write is under way any more. */
void controller_drain(struct controller *c, void (*done)(void *user), void *user);
void controller_free(struct controller *c); /* NULL is allowed */

struct operator_frame *controller_operator(const struct controller *c);
const struct controller_stats *controller_stats(const struct controller *c);
const struct ipam *controller_ipam(const struct controller *c);
/* The pools in force; NULL: none were valid yet. */
const struct metal_config *controller_pools(const struct controller *c);

/*
 * Checks all resources as they are, with one object in the place of the one of its name (NULL:
 * none). The text of the first mistake is in the arena; NULL: it is valid. For webhooks.
 */
const char *controller_check(const struct controller *c, size_t kind,
			     const struct k8s_object *instead, struct arena *arena);
/* The same for one object alone, beside the nodes. */
const char *controller_check_alone(const struct controller *c, size_t kind,
				   const struct k8s_object *object, struct arena *arena);
