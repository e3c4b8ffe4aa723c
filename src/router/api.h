/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: the admin API.
 *
 *	POST /routes/update   replaces routes and pools, and listeners if there are any
 *	POST /config/check    only says whether it would
 *	POST /pools/NAME/endpoints   replaces the servers of one pool
 *	POST /rollback        applies an earlier generation again
 *	POST /rollout/promote, /rollout/abort
 *	GET  /routes, /pools, /config
 *	GET  /rollout, /connections, /generation
 *	GET  /generations, /generations/N/config, /generations/N/diff
 *	GET  /healthz, /readyz, /metrics (lib/admin)
 *
 * Without a token and without certificates of clients it listens on a loopback address or a Unix
 * socket only, and requests that a browser or a proxy passes on are refused. /healthz and /readyz
 * need no token.
 */
#pragma once

#include "lib/admin/admin.h"
#include "src/router/access.h"
#include "src/router/metrics.h"
#include "src/router/rollout.h"
#include "src/router/router.h"

struct api;

struct api_config {
	struct ev_loop *loop;
	struct router *router;
	struct rollout *rollout;
	struct admin *admin;
	struct metrics_state *metrics;
	struct endpoint listen; /* of the first configuration, if it has no listeners */
	const char *at;		/* an address with port, or the path of a Unix socket */
	int inherited;		/* its listening socket, from an earlier process; 0: none */
	struct access_config access;
	size_t max_body, max_answer; /* bytes */
};

/* Logs a failure. *config is copied. */
int api_new(const struct api_config *config, struct api **ret);
/* NULL is allowed. */
void api_free(struct api *a);
/* Reads token and certificates again. */
void api_reload(struct api *a);
/* The listening socket, to be passed to another process. */
int api_socket(const struct api *a);
/* That process has taken over: leaves the socket to it. */
void api_hand_over(struct api *a);
/* done is called once, when the last answer was sent. */
void api_drain(struct api *a, void (*done)(void *user), void *user);
