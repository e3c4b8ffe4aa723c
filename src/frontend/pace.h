/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace: how often something is asked for.
 *
 * It is asked for when its period has passed, or at once when it is wanted (the leading edge), but
 * never while it is under way and never sooner than a gap after it last began. If it was wanted
 * meanwhile, it is asked for once more afterwards (the trailing edge). Without a period it is asked
 * for at the start and whenever it is wanted, and not otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct pace {
	struct ev_loop *loop;
	ev_timer due;
	int64_t gap, period; /* ns; period 0: none */
	int64_t began;	     /* monotonic ns */
	bool running, under_way, wanted;
	void (*begin)(struct pace *p);
};

/* *p stays in place. begin() is called from the loop, and pace_end() belongs to each call. */
void pace_init(struct pace *p, struct ev_loop *loop, int64_t gap, int64_t period,
	       void (*begin)(struct pace *p));
/* From now on; the first time at once. */
void pace_start(struct pace *p);
/* What was under way does not count any more. Twice is fine. */
void pace_stop(struct pace *p);
void pace_want(struct pace *p);
void pace_end(struct pace *p);
