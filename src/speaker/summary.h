/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary: what the state of a VIP means, in a sentence for people. Pure.
 *
 *	announced to tor1, tor2
 *	announced, but no session is up
 *	withdrawn: local/www is down
 *	announced on eth0
 *	standby, lb2 owns it
 */
#pragma once

#include "base/arena.h"
#include "core/announce/announce.h"
#include "proto/speaker.pb-c.h"

struct summary_facts {
	const Maglev__AnnouncementInfo *announcement; /* complete but for the summary */
	enum announce_state state;
	enum announce_reason reason;
	uint32_t min_servers;
	const char *frr_error; /* why FRR does not have the latest configuration; "": it does */
	const char *why;       /* in place of the reason; NULL: the reason says it */
};

/* In the arena. */
char *summary_of(const struct summary_facts *f, struct arena *a);
