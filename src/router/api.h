/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: the admin API.
 *
 *	POST /routes/update   replaces routes and pools, and listeners if there are any
 *	POST /config/check    only says whether it would
 *	GET  /routes, /pools, /config
 *	GET  /healthz, /readyz, /metrics (lib/admin)
 *
 * There is no authentication, so it listens on a loopback address or a Unix socket only. Requests
 * that a browser or a proxy passes on are refused.
 */
#pragma once

#include "lib/admin/admin.h"
#include "src/router/metrics.h"
#include "src/router/router.h"

struct api;

struct api_config {
	struct ev_loop *loop;
	struct router *router;
	struct admin *admin;
	struct metrics_state *metrics;
	struct endpoint listen; /* of the first configuration, if it has no listeners */
	const char *at;		/* an address with port, or the path of a Unix socket */
	int inherited;		/* its listening socket, from an earlier process; 0: none */
};

/* Logs a failure. *config is copied. */
int api_new(const struct api_config *config, struct api **ret);
/* NULL is allowed. */
void api_free(struct api *a);
/* The listening socket, to be passed to another process. */
int api_socket(const struct api *a);
/* That process has taken over: leaves the socket to it. */
void api_hand_over(struct api *a);
/* done is called once, when the last answer was sent. */
void api_drain(struct api *a, void (*done)(void *user), void *user);
