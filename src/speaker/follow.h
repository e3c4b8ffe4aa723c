/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow: one maglevd: the connection, the stream of its events, and what it last said about its
 * frontends.
 *
 * The stream is opened first, then the list is read, so that no change falls between the two. The
 * list is read again after a reload of maglevd and every few seconds: that notices a connection
 * that is silent, and repairs what a lost event would leave behind.
 *
 * A maglevd that has just started does not know the state of all its servers. As long as a server
 * of a frontend has not been probed, what was known before still counts (struct follow_report),
 * unless the frontend is fit already: a restart of maglevd must not withdraw a route. The same
 * holds until the data plane has its VIP, and then the frontend is not fit either: announcing it
 * would attract packets that nothing forwards.
 */
#pragma once

#include "core/announce/announce.h"
#include "core/bgp/config.h"
#include "lib/loop/loop.h"

struct follow;

struct follow_stats {
	uint64_t connections; /* streams that delivered the first list */
	uint64_t losses;
	uint64_t events;
};

struct follow_config {
	const struct bgp_maglevd *maglevd; /* copied */
	/* Something that was said has changed, or the connection. Must not free the follow. */
	void (*changed)(void *user);
	void *user;
};

/* Connects from the loop. Never fails: a maglevd that cannot be reached is a state. */
struct follow *follow_new(struct ev_loop *loop, const struct follow_config *config);
void follow_free(struct follow *f);
/* Whether it follows the same maglevd in the same way. */
bool follow_is(const struct follow *f, const struct bgp_maglevd *m);
/* Reads the certificates again, for new connections. */
void follow_renew(struct follow *f);
const char *follow_name(const struct follow *f);
bool follow_connected(const struct follow *f);
/* Why it is not connected; "" if it is. */
const char *follow_error(const struct follow *f);
/* Whether it has been connected, or could not be, since the start. */
bool follow_tried(const struct follow *f);
const struct follow_stats *follow_stats(const struct follow *f);
/* What is known about a frontend, for a VIP that needs this many servers. */
struct announce_source follow_source(const struct follow *f, const char *frontend,
				     uint32_t min_servers);
/*
 * Whether the data plane has its VIP, and all of its servers have been probed: until then its table
 * can differ from those of other balancers.
 */
bool follow_is_complete(const struct follow *f, const char *frontend);
