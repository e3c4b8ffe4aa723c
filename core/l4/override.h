/* SPDX-License-Identifier: Apache-2.0 */
/*
 * override: what an operator said about a backend at run time, why, and for how long.
 *
 * A backend can be paused, and it can be enabled or disabled against the file; a backend that is
 * enabled against the file can be paused too. Each of the two keeps its reason and its end until
 * it is over, by whatever hand. The engine keeps the clock: it sets a timer to
 * l4_model_next_expiry(), and ends what l4_model_expired() names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/l4/model.h"

enum l4_act { L4_ACT_PAUSED, L4_ACT_DISABLED, L4_ACT_ENABLED };

const char *l4_act_name(enum l4_act a); /* "paused", "disabled", "enabled" */

/*
 * The override in force: the pause where there are two. False, and nothing filled, where the file
 * is in charge.
 */
bool l4_backend_override(const struct l4_backend_state *b, enum l4_act *ret_act,
			 const struct l4_override **ret);

/*
 * Says why, and until when (unix ns; 0: until somebody ends it). What was said before is gone. The
 * reason may be any bytes, and is cut where it is too long. Nothing happens where no such override
 * is in force: the act only confirmed what the file says.
 */
void l4_backend_annotate(struct l4_backend_state *b, enum l4_act act, const char *reason,
			 int64_t until);

/* Unix ns when the next override ends by itself; INT64_MAX when none does. */
int64_t l4_model_next_expiry(const struct l4_model *m);
/* The first backend, by name, with an override that is over by now; NULL when there is none. */
struct l4_backend_state *l4_model_expired(const struct l4_model *m, int64_t now);
/*
 * Ends the one override of this backend that is over by now (the pause first): the file is in
 * charge of it again. 1 with *ret filled when that changed the state, else 0.
 */
int l4_backend_expire(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret);

/* In force from now on; nothing is said about it yet. */
void l4__begin_override(struct l4_override *o, int64_t now);
/* Forgets what was said about overrides that are not in force any more. */
void l4__settle_overrides(struct l4_backend_state *b);
/* Replaces *to, which it owns, with as much of from as fits; NULL when that is empty. */
void l4__set_reason(char **to, const char *from);
