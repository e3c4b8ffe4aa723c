/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff: how long to wait before something that failed is tried again.
 *
 * The first delay is `first`; every failure doubles it, up to `last`. Jitter makes a delay shorter
 * by a random part, never longer: what is documented as "at most 30 s" holds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct backoff_policy {
	int64_t first, last; /* ns, 0 < first <= last */
	unsigned jitter;     /* at most so many percent shorter, < 100; 0: exact delays */
};

/*
 * The delay after so many failures in a row, the first of which is 1. *random is the state of
 * base/random.h: the same state gives the same delays. It is left alone without jitter.
 */
int64_t backoff_delay(const struct backoff_policy *p, unsigned failures, uint64_t *random);

/* A count of failures, and the timer that runs until the next attempt. */
struct backoff {
	struct ev_loop *loop;
	struct backoff_policy policy;
	unsigned failures; /* in a row */
	uint64_t random;   /* seeded from the clock; a test may set it */
	ev_timer timer;
	void (*due)(void *user);
	void *user;
};

/* *b must stay in place while it waits. due() is called from the loop. */
void backoff_init(struct backoff *b, struct ev_loop *loop, const struct backoff_policy *policy,
		  void (*due)(void *user), void *user);
/*
 * It failed: due() is called after the next delay. While it waits already this is no further
 * failure, and the timer goes on. Returns the ns until due() either way.
 */
int64_t backoff_start(struct backoff *b);
/* The first attempt: due() is called in the next turn of the loop, and nothing has failed. */
void backoff_now(struct backoff *b);
/* It succeeded, or there is reason to hope: stops the timer, and the next delay is the first. */
void backoff_reset(struct backoff *b);
/* Stops the timer and keeps the count. */
void backoff_stop(struct backoff *b);
bool backoff_waits(struct backoff *b);
/* ns until due(); only while it waits. */
int64_t backoff_remaining(struct backoff *b);
