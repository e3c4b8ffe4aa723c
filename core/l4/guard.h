/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: do not act on a world that only this machine sees (the all-down guard).
 *
 * True while at least one backend is probed and the last result of every probed backend is a
 * failure of this machine's own making (l4_backend_state.last_local). Unknown backends without a
 * result do not count as failing; static, paused and disabled ones are not probed.
 */
#pragma once

#include <stdbool.h>

#include "core/l4/model.h"

bool l4_guard_active(const struct l4_model *m);
