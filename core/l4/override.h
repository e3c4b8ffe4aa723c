/* SPDX-License-Identifier: Apache-2.0 */
/*
 * override: the operator's commands on a backend that are in force, with reason and end.
 *
 * A backend can be paused, and it can be enabled or disabled against the file; a backend that is
 * enabled against the file can be paused as well. Each of the two overrides keeps its reason, its
 * end and its operator until it is over, for whatever cause. Beside them a backend can have one
 * planned pause, which begins by itself at a time to come. The engine keeps the clock: it sets a
 * timer to l4_model_next_expiry() and begins or ends what l4_model_expired() returns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/l4/model.h"

enum l4_act { L4_ACT_PAUSED, L4_ACT_DISABLED, L4_ACT_ENABLED };

/* What an operator says with a command. */
struct l4_note {
	const char *reason;    /* "": none; may be any bytes and is cut if it is too long */
	int64_t until;	       /* unix ns: when the override ends by itself; 0: only by command */
	const struct who *who; /* NULL: not known */
	int64_t from;	       /* unix ns: when a pause begins; 0: now */
};

const char *l4_act_name(enum l4_act a); /* "paused", "disabled", "enabled" */

/*
 * The override in force: the pause if there are two. Returns false, with nothing filled, if
 * the file decides.
 */
bool l4_backend_override(const struct l4_backend_state *b, enum l4_act *ret_act,
			 const struct l4_override **ret);

/*
 * Sets reason, end and operator of an override, in place of the previous ones. Does nothing if no
 * such override is in force, because the command only confirmed the file.
 */
void l4_backend_annotate(struct l4_backend_state *b, enum l4_act act, const struct l4_note *note);
/* The same for a weight that was set just now; nothing if it is that of the file. */
void l4_weight_annotate(struct l4_weight *w, const struct l4_note *note, int64_t now);

/* Plans a pause from note->from on, in place of one that was planned before. */
void l4_backend_plan(struct l4_backend_state *b, const struct l4_note *note, int64_t now);
/* Cancels the planned pause. False: there is none. */
bool l4_backend_unplan(struct l4_backend_state *b);
/*
 * Whether there is something to do for the planned pause: it begins, or it is over. That of a
 * disabled backend waits until the backend is enabled or the pause is over.
 */
bool l4_backend_plan_is_due(const struct l4_backend_state *b, int64_t now);
/*
 * Does it. Returns 1 with *ret filled if the backend is paused by that, 0 if it is paused already
 * (then the pause that ends later counts), -ETIME if the pause is over.
 */
int l4_backend_begin_planned(struct l4_backend_state *b, int64_t now, struct health_change *ret);

/* Unix ns at which the next override begins or ends by itself; INT64_MAX if none does. */
int64_t l4_model_next_expiry(const struct l4_model *m);
/* The first backend, by name, with an override that begins or ends by now; NULL: none. */
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
/* Free what these own. */
void l4__forget_past(struct l4_past *past);
void l4__forget_weight(struct l4_weight *w);
/*
 * Replaces *to, an allocated string or NULL, with as much of from as fits; NULL if that is empty.
 */
void l4__set_reason(char **to, const char *from);
