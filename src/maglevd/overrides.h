/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overrides: the file of --override-file, which keeps pauses, disables, enables, scheduled pauses
 * and weights over a restart, with reason, operator and end.
 *
 *	{
 *	  "overrides": [
 *	    {"act": "paused", "backend": "web1", "reason": "disk", "operator": "alice",
 *	     "operator_address": "192.0.2.7", "at": 1767225600000000000, "until": 0}
 *	  ]
 *	}
 *
 * A scheduled pause has "from" too, a weight has "frontend", "pool" and "weight". The file is
 * written by lib/config/store.h. What does not fit the configuration at the start is logged and
 * dropped. A file that is not such a text is renamed, so that nothing in it is lost.
 */
#pragma once

#include "base/err.h"
#include "core/l4/kept.h"
#include "lib/config/store.h"
#include "lib/loop/loop.h"

struct engine;
struct overrides;

/*
 * Before engine_start(): reads the file and restores what it keeps. Observes the engine from then
 * on. Logs. NULL if the file cannot be read or moved away: then nothing is kept, and nothing is
 * overwritten. path is borrowed.
 */
struct overrides *overrides_new(struct ev_loop *loop, struct engine *engine, const char *path);
/* NULL is allowed. */
void overrides_free(struct overrides *o);
struct store *overrides_store(struct overrides *o);
const char *overrides_path(const struct overrides *o);

/* The text of the file; pure. Strings of the list must be UTF-8, or are made so. */
void overrides_format(const struct l4_kept_list *list, struct buf *out);
/* -EINVAL, with complaints that name the place, if it is no such text; *ret is untouched then. */
int overrides_parse(struct str text, struct arena *arena, struct l4_kept_list *ret,
		    struct errs *errors);
