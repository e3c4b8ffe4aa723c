/* SPDX-License-Identifier: Apache-2.0 */
/* testing: a configuration from a string, and waiting on a loop, for the tests of this room. */
#pragma once

#include <stdbool.h>

#include "lib/loop/loop.h"
#include "src/maglevd/snapshot.h"

/* Aborts with the complaints when the text is not a good configuration. */
struct snapshot *testing_snapshot(const char *yaml);

/* Turns the loop until cond(user) holds; false when that takes longer than ten seconds. */
bool testing_wait(struct ev_loop *loop, bool (*cond)(void *user), void *user);
/* Turns the loop for that long: for showing that something does not happen. */
void testing_pass(struct ev_loop *loop, double seconds);
