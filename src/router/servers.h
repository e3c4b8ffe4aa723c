/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers: the servers of all pools. They outlive generations, so that a swap loses neither their
 * state nor the connections to them.
 *
 * A server belongs to a pool: it is known by the name of the pool, host, port and TLS, so that each
 * pool has its own health, limits and counters. A generation holds references to its servers, and
 * data threads use their numbers (names.h) as indexes of what they keep for them. All functions are
 * for the control thread; data threads read the atomic members.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct servers;
struct charge;

/* Why a server gets no requests, or fewer. */
enum server_flag {
	SERVER_DOWN = 1 << 0,	 /* by its probes */
	SERVER_EJECTED = 1 << 1, /* by failed requests: used only if no other can be */
	SERVER_SLOW = 1 << 2,	 /* came up a short time ago: its share grows */
};

struct server {
	uint32_t number; /* of no other server at the same time */
	uint64_t id;	 /* of no other server ever */
	char *host;
	uint16_t port;
	bool tls;
	char *authority;    /* host and port, as in a URL */
	uint64_t key;	    /* names it in sessions; see core/l7/key.h */
	struct endpoint at; /* no address: the name has not been found yet */
	atomic_uint flags;  /* enum server_flag; written by the control thread */
	_Atomic int64_t up; /* with SERVER_SLOW: since when, monotonic ns */
	/* written by data threads */
	atomic_uint failures;  /* requests in a row that failed */
	atomic_bool suspected; /* the control thread is about to look at it */
	struct server *next;   /* in the list of those */
	/* the rest is for the control thread */
	struct charge *charge; /* of care.h; NULL: no generation in force has the server */
};

/* Whether it can get requests. From any thread. */
static inline bool server_is_usable(const struct server *s)
{
	unsigned flags = atomic_load_explicit(&s->flags, memory_order_relaxed);

	return !(flags & (SERVER_DOWN | SERVER_EJECTED)) && addr_is_set(&s->at.addr);
}

struct servers *servers_new(void);
/* All references must have been released. */
void servers_free(struct servers *s);
struct server *servers_take(struct servers *s, const char *pool, const char *host, uint16_t port,
			    bool tls);
/* One more reference. */
void servers_hold(struct server *server);
void servers_release(struct server *server);
/* Numbers are below this. */
uint32_t servers_bound(const struct servers *s);
/* The server with that number; NULL if there is none. */
struct server *servers_at(const struct servers *s, uint32_t number);
