/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info: the state of a speaker with a file as messages of its API (proto/speaker.proto), and what
 * those of a speaker in a cluster have in common with them.
 */
#pragma once

#include "src/speaker/source.h"
#include "src/speaker/speaker.h"

/* Of a speaker with a file; announcements and sessions in the order of its configuration. */
struct source info_source(struct speaker *s);

/* In the arena; since is unix ns. */
Maglev__SessionInfo *info_session(const struct bgp_peer *p, const struct session *one,
				  int64_t since, struct arena *a);
Maglev__SpeakerFrr *info_frr(const struct reload *r, struct arena *a);
