/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info: the state of the speaker as messages of its API (proto/speaker.proto).
 *
 * What a message points to is in the arena, or borrowed from the speaker: it is valid until the
 * speaker changes. The same state gives the same bytes.
 */
#pragma once

#include "base/arena.h"
#include "proto/speaker.pb-c.h"
#include "src/speaker/speaker.h"

Maglev__SpeakerInfo *info_speaker(struct speaker *s, struct arena *a);
/* vip and peer are indexes into the configuration. */
Maglev__AnnouncementInfo *info_announcement(struct speaker *s, size_t vip, struct arena *a);
Maglev__SessionInfo *info_session(struct speaker *s, size_t peer, struct arena *a);
