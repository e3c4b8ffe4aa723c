/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: the one door to libev, and the clocks read through it.
 *
 * Everybody uses libev's watchers as they are. Times of the project are ns; libev's are seconds.
 */
#pragma once

#include <stdint.h>

/* libev's macros cast watchers in ways that our warnings dislike; its header is not ours to mend. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#define EV_COMPAT3 0
#include <ev.h>
#pragma GCC diagnostic pop

int64_t loop_monotonic(void); /* ns, CLOCK_MONOTONIC, now */
int64_t loop_realtime(void);  /* ns since the Unix epoch, now */
double loop_seconds(int64_t ns);

/*
 * Loop lag: how long one turn of the loop, from the return of the poll to the next poll, kept
 * others waiting. Started once per loop; the numbers are plain and whoever shows them reads them.
 * The turn that is under way is not in them yet.
 */
struct loop_lag {
	ev_prepare before;
	ev_check after;
	int64_t woke;		 /* monotonic ns when this turn began, 0 between turns */
	int64_t last_ns, max_ns; /* of a turn; max since last loop_lag_take_max() */
	uint64_t turns, over_10ms;
	double sum_seconds; /* of all turns */
};

/* Zeroes *lag and watches; *lag must stay in place until stopped. Does not keep ev_run() alive. */
void loop_lag_start(struct loop_lag *lag, struct ev_loop *loop);
/* The numbers stay. Stopping twice is fine. */
void loop_lag_stop(struct loop_lag *lag, struct ev_loop *loop);
/* The longest turn since the last call, which it forgets. */
int64_t loop_lag_take_max(struct loop_lag *lag);
