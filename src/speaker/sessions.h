/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions: the BGP and BFD sessions of the configured peers, asked of FRR each second.
 *
 * bgpd and bfdd are asked over their vty sockets, which costs each of them a fraction of a
 * millisecond. While a daemon does not answer, its sessions are not up.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/speaker/answers.h"

struct sessions;

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
/* Whether bgpd has answered, or failed to, since the start. */
bool sessions_asked(const struct sessions *s);
/* Why bgpd does not answer; "": it does, or is not asked. */
const char *sessions_problem(const struct sessions *s);
