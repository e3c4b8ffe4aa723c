/* SPDX-License-Identifier: Apache-2.0 */
/* epoch: monotonic times as unix times that stay the same. */
#pragma once

#include <stdlib.h>

#include "base/units.h"
#include "lib/loop/loop.h"

#define EPOCH_CLOCK_SET (NSEC_PER_SEC / 10) /* a clock that moved by more was set */

/*
 * Unix ns of a monotonic time; 0 stays 0. The same time always gives the same result, unless the
 * clock of the machine was set in between. *epoch is kept for the next call; 0 before the first.
 */
static inline int64_t epoch_time(int64_t *epoch, int64_t monotonic)
{
	int64_t now = loop_realtime() - loop_monotonic();

	if (llabs(now - *epoch) > EPOCH_CLOCK_SET)
		*epoch = now;
	return monotonic ? *epoch + monotonic : 0;
}
