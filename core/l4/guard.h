/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: do not act on a world that only this machine sees (the all-down guard).
 *
 * True while at least one probed backend has had a result, and the last result of every one that
 * has is a failure of this machine's own making (l4_backend_state.last_local). An unknown backend
 * has no say yet, so that adding or resuming one in the middle of it lets nothing loose; static,
 * paused and disabled ones are not probed. Never true where the configuration switches it off.
 *
 * Stops at the first backend that contradicts; its value can change only where a state or a
 * last_local does.
 *
 * When the guard is lowered the others are still down, for the faults of this machine alone; to act
 * on that now would take everything away at the very moment it heals. So they are spared
 * (l4_backend_state.spared): each stays held until its own next failure, of whatever kind, or until
 * it is up.
 */
#pragma once

#include <stdbool.h>

#include "core/l4/model.h"

bool l4_guard_active(const struct l4_model *m);
/* The guard was active and is not any more. */
void l4_guard_lowered(struct l4_model *m);
