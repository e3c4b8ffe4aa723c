/* SPDX-License-Identifier: Apache-2.0 */
/*
 * override: the operator's commands on a backend that are in force, with reason and end.
 *
 * A backend can be paused, and it can be enabled or disabled against the file; a backend that is
 * enabled against the file can be paused as well. Each of the two overrides keeps its reason and
 * its end until it is over, for whatever cause. The engine keeps the clock: it sets a timer to
 * l4_model_next_expiry() and ends what l4_model_expired() returns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/l4/model.h"

enum l4_act { L4_ACT_PAUSED, L4_ACT_DISABLED, L4_ACT_ENABLED };

const char *l4_act_name(enum l4_act a); /* "paused", "disabled", "enabled" */

/*
 * The override in force: the pause if there are two. Returns false, with nothing filled, if
 * the file decides.
 */
bool l4_backend_override(const struct l4_backend_state *b, enum l4_act *ret_act,
			 const struct l4_override **ret);

/*
 * Sets the reason and the end (unix ns; 0: only by command) of an override, in place of the
 * previous ones. The reason may be any bytes and is cut if it is too long. Does nothing if no
 * such override is in force, because the command only confirmed the file.
 */
void l4_backend_annotate(struct l4_backend_state *b, enum l4_act act, const char *reason,
			 int64_t until);

/* Unix ns at which the next override ends by itself; INT64_MAX if none does. */
int64_t l4_model_next_expiry(const struct l4_model *m);
/* The first backend, by name, with an override that has ended by now; NULL if there is none. */
struct l4_backend_state *l4_model_expired(const struct l4_model *m, int64_t now);
/*
 * Ends one override of this backend that is over by now (the pause first), so that the file
 * decides again. Returns 1 with *ret filled if that changed the state, else 0.
 */
int l4_backend_expire(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret);

/* Starts an override: in force from now on, without reason and end. */
void l4__begin_override(struct l4_override *o, int64_t now);
/* Clears the details of overrides that are no longer in force. */
void l4__settle_overrides(struct l4_backend_state *b);
/*
 * Replaces *to, an allocated string or NULL, with as much of from as fits; NULL if that is empty.
 */
void l4__set_reason(char **to, const char *from);
