/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what becomes of one service: the addresses that it has, and what its users are told.
 *
 * Pure, except that it moves the leases of the ipam, which is the state of the plan itself.
 */
#pragma once

#include "base/arena.h"
#include "core/ipam/ipam.h"
#include "src/controller/kinds.h"

struct plan_event {
	bool warning;
	const char *reason, *note;
};

#define PLAN_EVENTS 6

struct plan {
	struct addr addresses[IPAM_ADDRESSES];
	size_t n;
	const char *pool;   /* NULL: it has no addresses */
	bool keep;	    /* whatever it has now is left as it is */
	const char *failed; /* why it has no addresses although it asks for some; NULL: it has */
	struct plan_event events[PLAN_EVENTS];
	size_t n_events;
};

/* "namespace/name", in the arena. */
const char *plan_key(const struct k8s_object *o, struct arena *arena);
/* Whether a service is ours: it has no class, or the one of the option. */
bool plan_is_ours(const struct service *s, const char *class);
/* Whether it already has addresses: these are looked at before those of services that have none. */
bool plan_has_addresses(const struct service *s);

/* Decides. Texts are in the arena. */
void plan_service(struct ipam *ipam, bool has_pools, const struct service *s, struct arena *arena,
		  struct plan *ret);
/* Whether the service differs from the plan, so that it has to be written. */
bool plan_differs(const struct service *s, const struct plan *p);
/* The first annotation with the old prefix; NULL if there is none. */
const char *plan_old_annotation(const struct service *s);
