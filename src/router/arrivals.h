/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrivals: sessions of datagrams that another process passes to this one. For the control thread.
 *
 * Messages are those of datagrams_hand_over() (flow_pass.h). All have come when the other side has
 * closed its ends; if that takes too long, the router does not wait for the rest.
 */
#pragma once

#include "lib/loop/loop.h"
#include "wire/router_session.h"

struct arrivals;

#define ARRIVALS_LIMIT 5. /* s */

struct arrivals_calls {
	/* A session, and its socket, which belongs to the callee. */
	void (*session)(const struct router_session *s, int fd, void *user);
	/* All have come, or the time is over. Called once; arrivals are freed already. */
	void (*done)(void *user);
	void *user;
};

/* The channel belongs to the arrivals from now on. */
struct arrivals *arrivals_new(struct ev_loop *loop, int channel,
			      const struct arrivals_calls *calls);
/* done() is not called. NULL is allowed. */
void arrivals_free(struct arrivals *a);
