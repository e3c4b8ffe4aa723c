/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions: the BGP and BFD sessions of the configured peers, asked of FRR each second.
 *
 * bgpd and bfdd are asked over their vty sockets, which costs each of them a fraction of a
 * millisecond. While a daemon does not answer, its sessions are not up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/bgp/config.h"
#include "lib/loop/loop.h"

struct sessions;

/* Messages of a BGP session, as FRR counts them. */
enum session_count {
	SESSION_UPDATES_SENT,
	SESSION_UPDATES_RECEIVED,
	SESSION_OPENS_SENT,
	SESSION_OPENS_RECEIVED,
	SESSION_NOTIFICATIONS_SENT,
	SESSION_KEEPALIVES_SENT,
	SESSION_KEEPALIVES_RECEIVED,
	SESSION_REFRESHES_SENT,
	SESSION_TOTAL_SENT,
	SESSION_TOTAL_RECEIVED,
	SESSION_COUNTS
};

#define SESSION_STATE_BYTES 32
#define SESSION_ERROR_BYTES 160

/* One configured peer. */
struct session {
	bool known; /* bgpd has it */
	bool up;
	char state[SESSION_STATE_BYTES]; /* FRR's word, "Established"; "" if not known */
	int64_t since;			 /* monotonic ns, of `up` */
	uint64_t prefixes;		 /* sent */
	uint64_t counts[SESSION_COUNTS];
	bool bfd_known, bfd_up;
	char last_error[SESSION_ERROR_BYTES]; /* why it ended last; "": it never did */
};

/*
 * For the daemons in vty_dir, which is borrowed. again is called when bgpd answers
 * over a new connection, other than the first: it may have been restarted.
 */
struct sessions *sessions_new(struct ev_loop *loop, const char *vty_dir, void (*again)(void *user),
			      void *user);
void sessions_free(struct sessions *s);
/* Asks them from the loop from now on. */
void sessions_start(struct sessions *s);
/* The peers to look for; borrowed until the next call. Peers keep their state by name. */
void sessions_configure(struct sessions *s, const struct bgp_config *config);
/* One for each peer of the configuration. */
const struct session *sessions_list(const struct sessions *s);
/* Why bgpd does not answer; "": it does, or is not asked. */
const char *sessions_problem(const struct sessions *s);
