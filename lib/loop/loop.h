/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: the one door to libev, and the clocks read through it.
 *
 * Everybody uses libev's watchers as they are. Times of the project are ns; libev's are seconds.
 */
#pragma once

#include <stdint.h>

/* libev's macros cast watchers in ways that our warnings dislike. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#define EV_COMPAT3 0
#include <ev.h>
#pragma GCC diagnostic pop

int64_t loop_monotonic(void); /* ns, CLOCK_MONOTONIC, now */
int64_t loop_realtime(void);  /* ns since the Unix epoch, now */
double loop_seconds(int64_t ns);

/*
 * Loop lag: how long each turn of the loop, from the return of the poll to the next poll, kept
 * others waiting. turn() is told when a turn is over; it should do next to nothing.
 */
struct loop_lag {
	ev_prepare before;
	ev_check after;
	int64_t woke; /* monotonic ns when this turn began, 0 between turns */
	void (*turn)(int64_t ns, void *user);
	void *user;
};

/* *lag must stay in place until stopped. Does not keep ev_run() alive. */
void loop_lag_start(struct loop_lag *lag, struct ev_loop *loop,
		    void (*turn)(int64_t ns, void *user), void *user);
/* Stopping twice is fine. */
void loop_lag_stop(struct loop_lag *lag, struct ev_loop *loop);
