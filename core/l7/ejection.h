/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ejection: servers that fail requests get none for a time, and servers that came back get few at
 * first. Pure: times are monotonic ns, and now is a parameter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/l7/config.h"
#include "core/l7/retry.h"

/* The longest time, unless the configured one is longer. */
#define L7_EJECTION_MAX INT64_C(300000000000)

/*
 * Whether a try counts as a failure of its server: no connection, an answer that is malformed or
 * ends too early, no answer in time, or one of the statuses 500, 502, 503 and 504. Other statuses
 * are the application's business. What happens after the answer has begun counts only if the
 * server ended it: a client may be slow to take it.
 */
bool l7_try_failed(const struct l7_try *t);

/* When a server was left out last; zeroed: never. */
struct l7_ejected {
	unsigned times; /* in a row */
	int64_t from, until;
};

/*
 * Whether one more of n servers may be left out when `ejected` are already. The first one always
 * may, so that a small share does not mean none.
 */
bool l7_ejection_allowed(const struct l7_ejection *e, size_t n, size_t ejected);
/*
 * Leaves a server out from now on. The time is doubled each time in a row: if the server has been
 * back for less than its last time.
 */
void l7_eject(struct l7_ejected *s, const struct l7_ejection *e, int64_t now);

/*
 * Whether a server that came up `since` ns ago takes a request, so that its share grows evenly over
 * `time`, which is above 0. random is any number.
 */
bool l7_slow_start_takes(int64_t since, int64_t time, uint64_t random);
