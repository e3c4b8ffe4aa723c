/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: where the shell keeps its history if no flag says so: $XDG_STATE_HOME/maglevc/history,
 * or ~/.local/state/maglevc/history (XDG Base Directory Specification).
 */
#pragma once

#include "base/str.h"

/*
 * Appends the path, and makes the folders that are missing, except the home. Returns a negative
 * errno, with path unchanged, if there can be none.
 */
int history_place(struct buf *path);
