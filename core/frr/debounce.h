/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debounce: when the latest configuration is applied.
 *
 *	IDLE --store--> BUSY --done--> IDLE        nothing newer was stored in the meantime
 *	                BUSY --done--> BUSY        something newer was: it is applied at once
 *	                BUSY --failed--> WAITING   the latest is tried again after `retry`
 *	                WAITING --store, time--> BUSY
 *
 * A configuration is stored before it is applied, so that what is applied is always the latest.
 * There is no fixed delay: when idle, a new configuration starts at once, and while one is being
 * applied, newer ones replace each other. At most one is being applied. A new configuration does
 * not wait for the retry of a failed one, because it may be the one that succeeds.
 *
 * Pure: the caller keeps the configuration itself, passes the time, and acts on the verdict.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum debounce_state { DEBOUNCE_IDLE, DEBOUNCE_BUSY, DEBOUNCE_WAITING };

/* Zeroed except for retry, it is idle and has no configuration. */
struct debounce {
	enum debounce_state state;
	uint64_t stored;   /* number of the latest configuration, from 1; 0: none yet */
	uint64_t applying; /* number of the one being applied, while busy */
	uint64_t applied;  /* number of the last one that was applied */
	uint64_t failures; /* in a row */
	int64_t retry;	   /* ns to wait after a failure */
	int64_t due;	   /* while waiting: when to try again */
};

/* All three return true if the caller must now start to apply the latest configuration. */

/* A new configuration was stored. */
bool debounce_store(struct debounce *d);
/* The one being applied has ended. */
bool debounce_done(struct debounce *d, bool success, int64_t now);
/* To be called when `due` has come; earlier calls have no effect. */
bool debounce_tick(struct debounce *d, int64_t now);

/* How many configurations the one being applied stands for: itself and those that it replaced. */
uint64_t debounce_batch(const struct debounce *d);
const char *debounce_state_name(enum debounce_state s); /* "idle", "busy", "waiting" */
