/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window: results of about the last minute, and since the start.
 *
 * Time is divided into slices; a slice that leaves the window is dropped as a whole, so the
 * window is between (WINDOW_SLICES - 1) and WINDOW_SLICES slices long. Times are monotonic ns;
 * they may repeat but not decrease.
 *
 * Pure; a struct that is zeroed except for slice, which must be above 0, is empty.
 */
#pragma once

#include <stdbool.h>

#include "core/stats/histogram.h"

#define WINDOW_SLICES 7

struct tally {
	uint64_t failed;
	struct histogram passed; /* durations of the results that passed */
};

struct window {
	int64_t slice;	 /* ns */
	int64_t current; /* number of the slice that is being filled */
	struct tally slices[WINDOW_SLICES];
	struct tally lifetime;
};

/* Adds one result; rtt (ns) is ignored if it failed. */
void window_add(struct window *w, int64_t now, bool passed, int64_t rtt);
/* The sum over the window as of now. Also drops old slices, hence w is not const. */
void window_sum(struct window *w, int64_t now, struct tally *ret);

/* The share of results that passed, 0 to 1; 1 if there are none. */
double tally_success(const struct tally *t);
