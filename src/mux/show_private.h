/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of show. */
#pragma once

#include "src/mux/show.h"

struct show__event {
	bool warning;
	char *resource;	     /* "namespace/name" */
	char *message;	     /* "Reason: text", cut */
	int64_t first, last; /* ns since the epoch */
	uint64_t count;
};

struct show {
	struct show_source source;
	int64_t started;
	uint64_t changes;
	struct show__event events[SHOW_EVENTS_MAX]; /* newest first */
	size_t n_events;
};

/* Calls each() for the endpoints of a Service: from its slices, or from Endpoints without any. */
struct show__address {
	const char *address;
	const char *pod_namespace, *pod; /* pod NULL: none */
	bool ready;
	const struct k8s_list *ports; /* of struct mux_endpoint_port */
};

typedef void (*show__address_fn)(const struct show__address *a, void *user);
void show__addresses(const struct mux_sight *sight, show__address_fn each, void *user);
