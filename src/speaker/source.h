/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source: what the API shows: the VIPs of a file (info.h), or the Services of a cluster (kube.h).
 *
 * Announcements and sessions have numbers from 0, which mean the same ones as long as the
 * generation is the same. What a message points to is in the arena, or valid until the program
 * changes its state. The same state gives the same bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/who.h"
#include "proto/speaker.pb-c.h"

struct source {
	void *user; /* of all functions */
	uint64_t (*generation)(void *user);
	size_t (*announcements)(void *user);
	size_t (*sessions)(void *user);
	Maglev__SpeakerInfo *(*speaker)(struct arena *a, void *user);
	Maglev__AnnouncementInfo *(*announcement)(size_t i, struct arena *a, void *user);
	Maglev__SessionInfo *(*session)(size_t i, struct arena *a, void *user);
	size_t (*find)(const char *vip, void *user); /* by its name; SIZE_MAX: there is none */
	/*
	 * changed is called when something may have changed, except for sessions, which change by
	 * themselves. It must change nothing. One observer; NULL: none any more.
	 */
	void (*observe)(void (*changed)(void *observer), void *observer, void *user);
	void (*drain)(size_t i, const char *reason, const struct who *who, void *user);
	void (*undrain)(size_t i, const struct who *who, void *user);
	const char *no_drain; /* why there is no drain; NULL: there is */
};
