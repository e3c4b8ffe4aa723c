/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff: the delay before a failed operation is tried again.
 *
 * The first delay is `first`; every failure doubles it, up to `last`. Jitter makes a delay
 * shorter by a random part, never longer, so a documented "at most 30 s" holds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct backoff_policy {
	int64_t first, last; /* ns, 0 < first <= last */
	unsigned jitter;     /* at most this many percent shorter, < 100; 0: exact delays */
};

/*
 * The delay in ns after this many failures in a row, counted from 1. *random is a state of
 * base/random.h: the same state gives the same delays. It is not used without jitter.
 */
int64_t backoff_delay(const struct backoff_policy *p, unsigned failures, uint64_t *random);

/* A count of failures, and the timer for the next attempt. */
struct backoff {
	struct ev_loop *loop;
	struct backoff_policy policy;
	unsigned failures; /* in a row */
	uint64_t random;   /* seeded from the clock; a test may set it */
	ev_timer timer;
	void (*due)(void *user);
	void *user;
};

/* *b must not move while it waits. due() is called from the loop. */
void backoff_init(struct backoff *b, struct ev_loop *loop, const struct backoff_policy *policy,
		  void (*due)(void *user), void *user);
/*
 * The operation failed: due() is called after the next delay. If the timer already runs, this is
 * not another failure and the timer continues. Returns the ns until due() in both cases.
 */
int64_t backoff_start(struct backoff *b);
/* For the first attempt: due() is called in the next turn of the loop; the count is reset. */
void backoff_now(struct backoff *b);
/* The operation succeeded or may succeed now: stops the timer; the next delay is `first` again. */
void backoff_reset(struct backoff *b);
/* Stops the timer and keeps the count of failures. */
void backoff_stop(struct backoff *b);
/* Whether the timer runs. */
bool backoff_waits(struct backoff *b);
/* ns until due(); only while the timer runs. */
int64_t backoff_remaining(struct backoff *b);
