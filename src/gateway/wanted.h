/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wanted: follows single Secrets and ConfigMaps, those that are referred to and no others.
 *
 * Each is an informer of one object (namespace and name), as the kubelet does it: a program that
 * lists all Secrets of a cluster has all of them in its memory, and needs the right to read them.
 */
#pragma once

#include "lib/operator/operator.h"
#include "src/gateway/facts.h"

#define WANTED_MAX 4096 /* objects; more are not followed, which is logged */

struct wanted;

struct wanted_config {
	struct operator_frame *op; /* borrowed */
	/* As of an informer. */
	void (*changed)(enum gw_kind kind, const struct k8s_object *old,
			const struct k8s_object *new, void *user);
	/* One more is known, whether it exists or not. */
	void (*known)(void *user);
	void *user;
};

struct wanted *wanted_new(const struct wanted_config *config);
void wanted_free(struct wanted *w); /* NULL is allowed; without changed() */

/*
 * An object is wanted, or not any more. Nothing is followed or forgotten before wanted_step(), so
 * this may be called while objects are used.
 */
void wanted_set(struct wanted *w, enum gw_kind kind, const char *namespace, const char *name,
		bool wanted);
/* Follows and forgets. Not from within callbacks. */
void wanted_step(struct wanted *w);
/* How many are followed, and how many of them are not known yet. */
size_t wanted_count(const struct wanted *w);
size_t wanted_pending(const struct wanted *w);
