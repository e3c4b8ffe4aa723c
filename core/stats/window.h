/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window: results of the last minute or so, and of all time.
 *
 * Time is cut into slices; a slice that leaves the window is forgotten as a whole, so the window is
 * between (WINDOW_SLICES - 1) and WINDOW_SLICES slices long. Monotonic ns, which may stand still
 * but not go back.
 *
 * Pure; zeroed but for slice, which is more than 0, it is empty.
 */
#pragma once

#include <stdbool.h>

#include "core/stats/histogram.h"

#define WINDOW_SLICES 7

struct tally {
	uint64_t failed;
	struct histogram passed; /* how long those took that passed */
};

struct window {
	int64_t slice;	 /* ns */
	int64_t current; /* number of the slice that is being filled */
	struct tally slices[WINDOW_SLICES];
	struct tally lifetime;
};

/* rtt counts when it passed. */
void window_add(struct window *w, int64_t now, bool passed, int64_t rtt);
/* The sum of what is in the window at that time. */
void window_sum(struct window *w, int64_t now, struct tally *ret);

/* 0 to 1; 1 when there was nothing. */
double tally_success(const struct tally *t);
