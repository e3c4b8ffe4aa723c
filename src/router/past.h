/* SPDX-License-Identifier: Apache-2.0 */
/* past: the last generations, and what each has changed, as messages of the API. */
#pragma once

#include "proto/router.pb-c.h"
#include "src/router/router.h"

/* All that are kept, the newest first; in the arena. */
Maglev__ListGenerationsResponse *past_list(struct router *r, struct arena *arena);
/*
 * What a generation has changed; 0: the one in force. NULL if that is not known; why then says in a
 * sentence that is cut at size bytes.
 */
Maglev__GenerationDiff *past_diff(struct router *r, uint64_t number, struct arena *arena, char *why,
				  size_t size);
