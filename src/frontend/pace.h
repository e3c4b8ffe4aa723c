/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace: decides when a request is made again.
 *
 * A request is made when its period has passed, or at once when it is wanted (the leading edge),
 * but never while one is under way and never sooner than a gap after the last one began. If it was
 * wanted meanwhile, it is made once more afterwards (the trailing edge). Without a period it is
 * made at the start and when it is wanted, and not otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct pace {
	struct ev_loop *loop;
	ev_timer due;
	int64_t gap, period; /* ns; period 0: none */
	int64_t began;	     /* when the last request began, monotonic ns */
	bool running, under_way, wanted;
	void (*begin)(struct pace *p);
};

/*
 * *p must stay in place. begin() is called from the loop; each call must be followed by one
 * pace_end(), unless pace_stop() comes first.
 */
void pace_init(struct pace *p, struct ev_loop *loop, int64_t gap, int64_t period,
	       void (*begin)(struct pace *p));
/* Starts; the first request is made at once, from the loop. */
void pace_start(struct pace *p);
/* Stops. No pace_end() may follow for a request under way. May be called twice. */
void pace_stop(struct pace *p);
/* Asks for a request as soon as the gap allows. Does nothing while stopped. */
void pace_want(struct pace *p);
/* The request under way is over. */
void pace_end(struct pace *p);
