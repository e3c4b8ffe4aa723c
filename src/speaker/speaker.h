/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speaker: the VIPs, what they follow, and what FRR is told.
 *
 *	maglevds --> follow (one each) --> announce_judge (core) --> plan (pure) --> reload --> FRR
 *	                                       announce_judge --> l2 --> ARP and NDP
 *	bgpd --> sessions, and at the start what it already announces (adopt)
 *
 * Nothing is told to FRR before bgpd has said what it runs, and before every maglevd has answered
 * or failed once: a start changes only what has to change. VIPs of l2 do not wait for bgpd. Without
 * a router in the configuration FRR is left alone; once there was one, it is used until the end, so
 * that a router which was removed from the file is removed from FRR. Drains are kept in a file, so
 * that they outlive the process.
 */
#pragma once

#include "base/who.h"
#include "lib/loop/loop.h"
#include "src/speaker/follow.h"
#include "src/speaker/l2.h"
#include "src/speaker/options.h"
#include "src/speaker/reload.h"
#include "src/speaker/sessions.h"
#include "src/speaker/settings.h"

struct speaker;

#define SPEAKER_REASON_SIZE 128 /* bytes, with the NUL; longer reasons are cut */

/* One VIP of the configuration. */
struct speaker_vip {
	const struct bgp_vip *config;
	struct announce announce;
	uint64_t transitions;
	int64_t drained_at;			/* unix ns; 0: not drained */
	char drain_reason[SPEAKER_REASON_SIZE]; /* of the operator; "": none was given */
	struct who drain_who;			/* the operator; zeroed: not known */
};

struct speaker_stats {
	uint64_t reloads, reload_errors; /* of the file */
	int64_t started_at;		 /* unix ns */
	int64_t loaded_at;		 /* unix ns, when the file in force was loaded */
};

/* Owns the settings from now on. options are borrowed. */
struct speaker *speaker_new(struct ev_loop *loop, const struct options *options,
			    struct settings *settings);
void speaker_free(struct speaker *s);

/* Takes a new configuration. VIPs keep their state by address, maglevds their connection. */
void speaker_configure(struct speaker *s, struct settings *settings);
/* A file that was refused, and its first mistake. */
void speaker_refuse(struct speaker *s, const char *mistake);
/* Reads the certificates of all maglevds again. */
void speaker_renew(struct speaker *s);

/* The process is about to end: other members take the VIPs of l2 at once. */
void speaker_leave(struct speaker *s);

/*
 * Drains a VIP, or ends its drain, for an operator. Draining a drained VIP changes only the reason
 * and the operator.
 */
void speaker_drain(struct speaker *s, size_t vip, const char *reason, const struct who *who);
void speaker_undrain(struct speaker *s, size_t vip, const struct who *who);

/*
 * changed is called when something that the API shows may have changed, except for sessions, which
 * change by themselves. It must not change the speaker. One observer; NULL: none any more.
 */
void speaker_observe(struct speaker *s, void (*changed)(void *user), void *user);

/* Of this speaker among others. */
const char *speaker_name(const struct speaker *s);
/* The configuration in force: 1 after the start, 1 more with each reload. */
uint64_t speaker_generation(const struct speaker *s);
/* The first mistake of a newer file that was refused; "": none was. */
const char *speaker_mistake(const struct speaker *s);
/*
 * Unix ns of a monotonic time; 0 stays 0. The same time always gives the same result, unless the
 * clock of the machine was set in between.
 */
int64_t speaker_time(struct speaker *s, int64_t monotonic);
/* Why nothing is announced or changed at all; NULL: all is well. */
const char *speaker_problem(const struct speaker *s);
const struct bgp_config *speaker_config(const struct speaker *s);
const struct speaker_vip *speaker_vips(const struct speaker *s); /* as many as the configuration */
const struct follow *speaker_follow(const struct speaker *s, size_t maglevd);
const struct l2 *speaker_l2(const struct speaker *s);
const struct sessions *speaker_sessions(const struct speaker *s);
const struct reload *speaker_reload(const struct speaker *s);
const struct speaker_stats *speaker_stats(const struct speaker *s);
