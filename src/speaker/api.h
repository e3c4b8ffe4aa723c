/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: the state of the speaker as JSON, and drains, over HTTP.
 *
 *	GET  /state               sessions, VIPs, maglevds, the last reload
 *	POST /vips/NAME/drain     announce with the graceful-shutdown community, then withdraw
 *	POST /vips/NAME/undrain   as its frontends say again
 *
 * Only the Unix socket, whose file is for its owner alone, accepts the last two. /state is also
 * served where the metrics are.
 */
#pragma once

#include "lib/admin/admin.h"
#include "src/speaker/speaker.h"

struct api;

/* Logs a failure. admin's routes are served on the socket too. */
int api_new(struct ev_loop *loop, struct speaker *speaker, struct admin *admin, const char *path,
	    struct api **ret);
void api_free(struct api *a);
/* done is called once, when the last answer was sent. */
void api_drain(struct api *a, void (*done)(void *user), void *user);
/* /state alone, for the listener of the metrics; user is the speaker. */
struct http_mount api_state_mount(struct speaker *speaker);
