/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: the only include of libev, and clocks.
 *
 * Programs use libev's watchers directly. Times in the project are ns; libev's are seconds.
 *
 * A loop and all that is on it (watchers, tasks, queues, streams, servers) belong to the thread
 * that runs the loop. Of all functions on a loop only ev_async_send() may be called in other
 * threads. The main thread makes the loops before it starts the threads that run them, because
 * libev initialises variables of the process in ev_loop_new(); before that it blocks all signals,
 * which the new threads inherit. The default loop, and with it signals and child processes, is for
 * the main thread.
 */
#pragma once

#include <stdint.h>

/* libev's macros cast watchers in ways that our warnings reject. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#define EV_COMPAT3 0
#include <ev.h>
#pragma GCC diagnostic pop

int64_t loop_monotonic(void); /* ns, CLOCK_MONOTONIC, now */
int64_t loop_realtime(void);  /* ns since the Unix epoch, now */
double loop_seconds(int64_t ns);

/*
 * Loop lag: the duration of each turn of the loop, from the return of the poll to the next poll;
 * events that arrive meanwhile wait that long. turn() is called at the end of each turn and
 * should be cheap.
 */
struct loop_lag {
	ev_prepare before;
	ev_check after;
	int64_t woke; /* monotonic ns when this turn began, 0 between turns */
	void (*turn)(int64_t ns, void *user);
	void *user;
};

/* *lag must not move until it is stopped. It does not keep ev_run() alive. */
void loop_lag_start(struct loop_lag *lag, struct ev_loop *loop,
		    void (*turn)(int64_t ns, void *user), void *user);
/* Stopping twice is allowed. */
void loop_lag_stop(struct loop_lag *lag, struct ev_loop *loop);
