/* SPDX-License-Identifier: Apache-2.0 */
/* path: how the way to a value is written in complaints: "spec.ports[2].port". */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/* One more step: to a member, or with key NULL to an element. arena is for a short copy of key. */
void json__add_step(struct buf *path, const char *key, size_t index, struct arena *arena);
