/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube: the Services of a Kubernetes cluster that ask for the Maglev data plane, as entries of the
 * configuration (core/cluster).
 *
 * It follows Services, EndpointSlices and Nodes, and writes nothing to the cluster. Its caches are
 * read by kube_extend(), usually in the child process that reads the configuration: the child has
 * them as they were at the fork.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "core/l4/doc.h"
#include "lib/loop/loop.h"
#include "lib/operator/operator.h"

struct kube;

struct kube_config {
	struct ev_loop *loop;
	const struct operator_options *options; /* borrowed */
	const char *node;			/* of this maglevd; borrowed */
	void (*synced)(void *user);		/* all objects are known, once */
	void (*changed)(void *user); /* after that: kube_extend() may give something else */
	void *user;
};

/* Errors as of operator_new(). Nothing is asked before kube_start(). */
int kube_new(const struct kube_config *config, struct kube **ret, struct errs *errors);
void kube_free(struct kube *k); /* NULL is allowed */
void kube_start(struct kube *k);
const struct operator_frame *kube_operator(const struct kube *k);
/* For struct snapshot_input; user is the struct kube. */
void kube_extend(struct arena *arena, struct l4_doc *doc, struct errs *warnings, const void *user);
