/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late: the Endpoints object of a mux follows its slices with some distance.
 *
 * Proxies read slices; a slice has one channel, and a change of it is small. The Endpoints object
 * has all channels, and a server needs up to a second to store it. So when only backends have
 * changed, the slices are written at once, and the object beside them: the next change does not
 * wait for it. It takes at most a fifth of the time, and never waits longer than LATE_MAX.
 */
#pragma once

#include "src/mux/controller.h"

#define LATE_FACTOR 4
#define LATE_MAX (5 * NSEC_PER_SEC)

struct observation;

void late_init(struct key *k);
/* If the plan changes only backends, takes the write of the Endpoints out of it. */
void late_split(struct key *k, struct observation *o, struct mux_plan *plan);
/* Whether the caches have what the last turn wrote; whole: of all kinds. */
bool late_seen(const struct key *k, bool whole);
/* Gives the key another view. The old one is freed when no write borrows from it. */
void late_set_view(struct key *k, struct mux_view *view);
/* Also frees the view. */
void late_free(struct key *k);
