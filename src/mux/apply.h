/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: makes the writes of a plan.
 *
 * The writes of a stage are sent at once, up to APPLY_PARALLEL of them; the next stage begins when
 * all of a stage are answered. If one fails because of its own object, the others go on, so that
 * one channel does not keep all from being served, and the pass is tried again afterwards. If the
 * state cannot be stored, or the server has trouble, nothing more is sent. The end is reported when
 * the answers that are still awaited have come.
 */
#pragma once

#include "src/mux/controller.h"

#define APPLY_PARALLEL 16

struct observation;

/* Owns a reference to the observation, in whose arena the plan is. */
struct apply *apply_start(struct key *key, struct observation *o, const struct mux_plan *plan,
			  void (*done)(struct key *key, bool succeeded));
/* Ends it without done(). NULL is allowed. */
void apply_cancel(struct apply *a);
/* Sends nothing more; done() is called when what was sent is answered. NULL is allowed. */
void apply_stop(struct apply *a);
