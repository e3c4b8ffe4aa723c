/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers: what bgpd and bfdd answer about sessions, as facts about the configured peers.
 *
 * The answers are JSON. A peer that is not in an answer is not known. A value that is absent or of
 * another kind counts as 0 or "", because FRR leaves out what does not apply to a session, and
 * other versions of it have other values.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/bgp/config.h"

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

/* Packets and events of a BFD session, likewise. */
enum session_bfd_count {
	SESSION_BFD_CONTROL_RECEIVED,
	SESSION_BFD_CONTROL_SENT,
	SESSION_BFD_ECHO_RECEIVED,
	SESSION_BFD_ECHO_SENT,
	SESSION_BFD_UPS,
	SESSION_BFD_DOWNS,
	SESSION_BFD_ZEBRA_NOTIFICATIONS,
	SESSION_BFD_COUNTS
};

#define SESSION_ESTABLISHED "Established" /* FRR's word for a session that is up */
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
	char bfd_state[SESSION_STATE_BYTES]; /* FRR's word, "Up"; "" if not known */
	uint64_t bfd_counts[SESSION_BFD_COUNTS];
	char last_error[SESSION_ERROR_BYTES]; /* why it ended last; "": it never did */
};

/*
 * Each reads the answer to one command into list, which has one entry for each peer of c, and
 * overwrites the members that it is about. -EINVAL if text is not JSON of the expected shape: then
 * no peer is known.
 */

/* "show bgp vrf all neighbors json": known, state, prefixes, counts, last_error. */
int answers_bgp(struct str text, const struct bgp_config *c, struct session *list);
/* "show bfd peers json": bfd_known, bfd_up, bfd_state. */
int answers_bfd(struct str text, const struct bgp_config *c, struct session *list);
/* "show bfd peers counters json": bfd_counts. */
int answers_bfd_counters(struct str text, const struct bgp_config *c, struct session *list);
