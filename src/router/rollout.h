/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rollout: a generation that gets a growing part of the requests, and is given up if more of them
 * fail than before (core/l7/rollout.h decides).
 *
 * Clients are told apart by their address, so that one client sees one generation, or by
 * connection. There is at most one rollout at a time. For the control thread. Steps are logged.
 */
#pragma once

#include "core/l7/rollout.h"
#include "src/router/router.h"

struct rollout;

enum rollout_state {
	ROLLOUT_NONE, /* there was none yet */
	ROLLOUT_RUNNING,
	ROLLOUT_FINISHED, /* the new generation is in force */
	ROLLOUT_RETURNED, /* it was given up because of its errors */
	ROLLOUT_ABORTED,  /* by an operator */
};
#define ROLLOUT_STATES 5

struct rollout_config {
	struct l7_rollout how;
	bool by_connection;
};

/* Of the present rollout, or the last one. */
struct rollout_status {
	enum rollout_state state;
	struct rollout_config config;
	uint64_t generation, from; /* the new one and the old one */
	unsigned share;		   /* per cent */
	int64_t at;		   /* ns since the epoch: when the share or the state changed */
	struct l7_tally before;	   /* requests of the old one, since the start of the rollout */
	struct l7_tally after;	   /* of the new one, since the start */
};

struct rollout *rollout_new(struct ev_loop *loop, struct router *router);
/* To be called before the router is freed. NULL is allowed. */
void rollout_free(struct rollout *r);
/* Takes the settings. As router_try(). */
int rollout_start(struct rollout *r, struct settings *settings, const struct rollout_config *config,
		  const struct history_origin *origin, struct buf *why);
/* The operator decides. -ENOENT if there is no rollout. */
int rollout_promote(struct rollout *r);
int rollout_abort(struct rollout *r);

struct rollout_status rollout_status(const struct rollout *r);
const char *rollout_state_name(enum rollout_state state);
/* How many have ended that way. */
uint64_t rollout_count(const struct rollout *r, enum rollout_state state);
