/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: the all-down guard: do not act on failures that only this machine sees.
 *
 * The guard is active while at least one probed backend has had a result, and the last result of
 * every such backend is a local failure (l4_backend_state.last_local). An unknown backend does
 * not count yet, so adding or resuming one does not lower the guard; static, paused and disabled
 * backends are not probed and do not count. The guard is never active if the configuration turns
 * it off.
 *
 * The scan stops at the first backend that contradicts. The value can change only when a state or
 * a last_local changes.
 *
 * When the guard is lowered, the other backends are still down because of local failures alone.
 * To act on that now would remove all servers just as the machine recovers. So they are spared
 * (l4_backend_state.spared): each is held until its own next failure, of any kind, or until it is
 * up.
 */
#pragma once

#include <stdbool.h>

#include "core/l4/model.h"

bool l4_guard_active(const struct l4_model *m);
/* To be called when the guard was active and no longer is: marks the backends that are spared. */
void l4_guard_lowered(struct l4_model *m);
