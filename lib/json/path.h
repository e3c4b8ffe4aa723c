/* SPDX-License-Identifier: Apache-2.0 */
/* path: the path to a value in complaints: "spec.ports[2].port". Private to lib/json. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/* Appends one step: a member, or if key is NULL an element. arena is for a short copy of key. */
void json__add_step(struct buf *path, const char *key, size_t index, struct arena *arena);
