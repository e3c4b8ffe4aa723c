/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#pragma once

#include "lib/k8s/lease.h"
#include "lib/loop/task.h"
#include "lib/operator/operator.h"

struct operator__follow {
	struct operator_frame *op;
	struct k8s_kind *kind;
	struct k8s_informer *informer;
};

struct operator_frame {
	struct operator_config config;
	char *namespace, *identity, *host;
	struct k8s_config *cluster;
	struct k8s_client *client;
	struct k8s_lease *lease; /* NULL: none is needed */
	struct k8s_events *events;
	struct k8s_names *names;
	struct k8s_kind *bare; /* without fields, for versions */
	struct operator__follow follows[OPERATOR_KINDS_MAX];
	struct queue queue;
	struct task task; /* runs the queue */
	bool synced, active;
	/* the end */
	bool draining;
	void (*drained)(void *user);
	void *drained_user;
	ev_timer end;
};
