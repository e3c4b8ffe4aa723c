/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testing: a configuration from a string, and helpers for a loop, for the tests of maglevd.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"
#include "src/maglevd/snapshot.h"

/* Aborts with the complaints when the text is not a good configuration. */
struct snapshot *testing_snapshot(const char *yaml);

/* Runs the loop until cond(user) holds; false when that takes longer than ten seconds. */
bool testing_wait(struct ev_loop *loop, bool (*cond)(void *user), void *user);
/* Runs the loop for that long: to show that something does not happen. */
void testing_pass(struct ev_loop *loop, double seconds);

/* CPU time of this thread in ns: other processes do not influence it. */
int64_t testing_cpu_time(void);

/* The longest turn of a loop, in CPU time. */
struct testing_turns {
	ev_prepare before;
	ev_check after;
	int64_t began, longest; /* ns */
};
void testing_turns_begin(struct testing_turns *t, struct ev_loop *loop);
/* Returns the longest turn since testing_turns_begin(), ns. */
int64_t testing_turns_end(struct testing_turns *t, struct ev_loop *loop);
