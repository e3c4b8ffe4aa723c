/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd: the open connections of a server, and which of them is closed when another one comes and
 * there is no room.
 *
 * A server has room for `max` connections, and two rules keep some clients from taking all of it. A
 * source, which is an IPv4 address or an IPv6 /64, has at most `per_source` connections. All remote
 * clients together leave `reserve` connections to local ones, which come over loopback or a Unix
 * socket and have no bound per source.
 *
 * A new connection for which there is no room may replace one that is worth less: one of its own
 * source if that is at its bound, one of any remote client if it is remote, one of anyone if it is
 * local. Owners rank their connections, and the one with the lowest rank is replaced; of several,
 * the one that has had its rank for longest. A connection in use has no rank and is not replaced.
 *
 * The crowd keeps account and chooses; the owner opens and closes connections.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/addr.h"

struct stream_limits {
	size_t max;
	size_t per_source;
	size_t reserve;
};

/* The limits of a server: per_source 0 means a quarter of max; the reserve is 1/64 of max. */
struct stream_limits stream_limits(size_t max, size_t per_source);

#define STREAM_RANKS 3		 /* 0 is the lowest */
#define STREAM_KEPT STREAM_RANKS /* in use: never replaced */

/* Part of a connection; zeroed before it joins. */
struct stream_member {
	struct stream__crowd_source *source; /* NULL: local */
	bool joined, local;
	unsigned rank;
	TAILQ_ENTRY(stream_member) ranked, of_source;
};

TAILQ_HEAD(stream_members, stream_member);

/* Part of the server. Owners may read `remote` and `local`; the rest is private. */
struct stream_crowd {
	struct stream_limits limits;
	size_t remote, local;			      /* connections */
	void *sources;				      /* a tree of struct stream__crowd_source */
	struct stream_members ranks[2][STREAM_RANKS]; /* remote and local, oldest first */
};

/* Whether there is room for a connection, and if not, which one it may replace. */
enum stream_room {
	STREAM_ROOM,
	STREAM_ROOM_OF_SOURCE, /* one of the same source */
	STREAM_ROOM_OF_REMOTE, /* one of any remote client */
	STREAM_ROOM_OF_ANYONE, /* a remote one, else a local one */
};

/* The facts of which that depends. */
struct stream_situation {
	size_t remote, local; /* open connections */
	size_t of_source;     /* those of the source of the new one */
	bool is_local;	      /* the new one */
};

/* The decision alone; pure. */
enum stream_room stream_decide(const struct stream_limits *limits,
			       const struct stream_situation *now);

void stream_crowd_init(struct stream_crowd *crowd, const struct stream_limits *limits);
/* Every member must have left. */
void stream_crowd_end(struct stream_crowd *crowd);
/*
 * Decides for a connection from this peer, which is unset for a Unix socket. True: it may join, but
 * if *ret_victim is not NULL only after that one was closed and has left. `but` (may be NULL) is
 * not chosen.
 */
bool stream_crowd_admit(const struct stream_crowd *crowd, const struct endpoint *peer,
			const struct stream_member *but, struct stream_member **ret_victim);
/* The connection to be closed if anything at all must be, for example for lack of descriptors. */
struct stream_member *stream_crowd_least(const struct stream_crowd *crowd,
					 const struct stream_member *but);
/* A connection is open; it has no rank. */
void stream_crowd_join(struct stream_crowd *crowd, struct stream_member *m,
		       const struct endpoint *peer);
/* Sets the rank from now on, also if it is the same. Nothing if m has not joined. */
void stream_crowd_rank(struct stream_crowd *crowd, struct stream_member *m, unsigned rank);
/* The connection is closed. Nothing if m has not joined. */
void stream_crowd_leave(struct stream_crowd *crowd, struct stream_member *m);
