/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: the cluster as the planner sees it.
 *
 * The facts of a pass borrow objects from the caches. Writes go on after the pass, when the caches
 * may have newer objects, so each object that was handed out is held by a reference until the facts
 * are freed.
 */
#pragma once

#include "src/mux/controller.h"

/* Fills the table of kinds. */
void observe_kinds(struct controller *c);
/* Touches everything that exists. */
void observe_all(struct controller *c);

struct observation;

/*
 * Gathers the facts of a key. whole: also what is needed to make a view and to plan all of it:
 * state, namespaces, channels, slices. Without that only what exists of the mux itself.
 */
struct observation *observe(struct controller *c, const char *namespace, const char *name,
			    bool whole);
const struct mux_facts *observation_facts(const struct observation *o);
struct arena *observation_arena(struct observation *o);
struct observation *observation_ref(struct observation *o);
/* Gives a reference back; the first is that of observe(). NULL is allowed. */
void observation_free(struct observation *o);

/* As facts.look, from the caches; what it returns is borrowed until the loop turns. */
void observe_look(struct controller *c, struct arena *arena, const char *namespace,
		  const char *name, struct mux_sight *ret);
