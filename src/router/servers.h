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

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "src/router/quota.h"

struct servers;
struct charge;

/* Why a server gets no requests, or fewer. */
enum server_flag {
	SERVER_DOWN = 1 << 0,	 /* by its probes */
	SERVER_EJECTED = 1 << 1, /* by failed requests: used only if no other can be */
	SERVER_SLOW = 1 << 2,	 /* came up a short time ago: its share grows */
	SERVER_NOWHERE = 1 << 3, /* its name has not been found yet */
};

struct server {
	uint32_t number; /* of no other server at the same time */
	uint64_t id;	 /* of no other server ever */
	char *host;
	uint16_t port;
	bool tls;
	char *authority;    /* host and port, as in a URL */
	uint64_t key;	    /* names it in sessions; see core/l7/key.h */
	struct endpoint at; /* no address: host is a name, which has several */
	atomic_uint flags;  /* enum server_flag; written by the control thread */
	_Atomic int64_t up; /* with SERVER_SLOW: since when, monotonic ns */
	/* written by data threads */
	struct seats *seats;   /* of its connections */
	atomic_uint failures;  /* requests in a row that failed */
	atomic_bool suspected; /* the control thread is about to look at it */
	struct server *next;   /* in the list of those */
	atomic_uint version;   /* of the addresses of a name; 0: none yet */
	/* the rest is private */
	pthread_mutex_t lock; /* for the addresses of a name */
	struct addr *addresses;
	size_t n_addresses;
	/* the rest is for the control thread */
	struct charge *charge; /* of care.h; NULL: no generation in force has the server */
};

/* Whether it can get requests. From any thread. */
static inline bool server_is_usable(const struct server *s)
{
	const unsigned none = SERVER_DOWN | SERVER_EJECTED | SERVER_NOWHERE;

	return !(atomic_load_explicit(&s->flags, memory_order_relaxed) & none);
}

static inline bool server_has_name(const struct server *s)
{
	return !addr_is_set(&s->at.addr);
}

#define SERVER_ADDRESSES 128 /* of a name; further ones are not used */

/* The addresses of its name; n is at least 1. For the control thread. */
void server_set_addresses(struct server *s, const struct addr *list, size_t n);
/*
 * Copies the addresses and returns their number; *ret_version is their version. From any thread.
 * Takes a lock, so it is only called after the version has changed.
 */
size_t server_get_addresses(struct server *s, struct addr ret[static SERVER_ADDRESSES],
			    unsigned *ret_version);

struct servers *servers_new(void);
/* All references must have been released. */
void servers_free(struct servers *s);
/* The server of a pool, whose quota is given. */
struct server *servers_take(struct servers *s, struct quota *quota, const char *pool,
			    const char *host, uint16_t port, bool tls);
void servers_release(struct server *server);
/* Numbers are below this. */
uint32_t servers_bound(const struct servers *s);
/* The server with that number; NULL if there is none. */
struct server *servers_at(const struct servers *s, uint32_t number);
