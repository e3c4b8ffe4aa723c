/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: clocks in nanoseconds, and a stopwatch for the turns of a libev loop.
 *
 * A turn begins when the poll returns and ends when the loop is about to poll again; an event
 * that arrives in between waits for that long. libev calls check watchers right after the poll
 * and prepare watchers right before it, so one of each, at the outermost priorities, makes the
 * stopwatch. The time inside the poll is idle time and is not counted.
 *
 * The watchers do not keep the loop alive: ev_run() returns when only they are left.
 */
#include "lib/loop/loop.h"

#include <assert.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;
	int r = clock_gettime(id, &ts);

	assert(r == 0);
	return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t loop_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t loop_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}

double loop_seconds(int64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

static void on_woken(struct ev_loop *loop, ev_check *w, int revents)
{
	struct loop_lag *lag = container_of(w, struct loop_lag, after);

	lag->woke = loop_monotonic();
}

static void on_about_to_poll(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct loop_lag *lag = container_of(w, struct loop_lag, before);
	int64_t took;

	if (!lag->woke) /* the first poll: there was no turn before it */
		return;

	took = loop_monotonic() - lag->woke;
	lag->woke = 0;
	lag->turn(took, lag->user);
}

void loop_lag_start(struct loop_lag *lag, struct ev_loop *loop,
		    void (*turn)(int64_t ns, void *user), void *user)
{
	assert(lag && loop && turn);

	*lag = (struct loop_lag){ .turn = turn, .user = user };
	ev_prepare_init(&lag->before, on_about_to_poll);
	ev_set_priority(&lag->before, EV_MINPRI);
	ev_prepare_start(loop, &lag->before);
	ev_unref(loop);
	ev_check_init(&lag->after, on_woken);
	ev_set_priority(&lag->after, EV_MAXPRI);
	ev_check_start(loop, &lag->after);
	ev_unref(loop);
}

/* ev_ref() before each stop undoes the ev_unref() of the start; libev requires this order. */
void loop_lag_stop(struct loop_lag *lag, struct ev_loop *loop)
{
	assert(lag && loop);

	if (!ev_is_active(&lag->before))
		return;
	ev_ref(loop);
	ev_check_stop(loop, &lag->after);
	ev_ref(loop);
	ev_prepare_stop(loop, &lag->before);
}
